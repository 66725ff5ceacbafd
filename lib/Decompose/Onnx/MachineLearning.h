//===- MachineLearning.h - Rule tables of ai.onnx.ml -------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

void populateOnnxMachineLearningRules(RuleSet &rules);
void populateOnnxNamedTreeRules(RuleSet &rules);
void populateOnnxSupportVectorRules(RuleSet &rules);
void populateOnnxTreeEnsembleRules(RuleSet &rules);

} // namespace tcc
