//===- MachineLearning.h - Rule tables of ai.onnx.ml -------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

void populateOnnxMachineLearningRules(RuleSet &rules);
void populateOnnxTreeEnsembleRules(RuleSet &rules);

} // namespace tcc
