//===- Quantization.h - The family of torch's quantization -------*- C++ -*-===//
#pragma once

namespace tcc {
class RuleSet;

void populateAtenQuantizationRules(RuleSet &rules);
} // namespace tcc
