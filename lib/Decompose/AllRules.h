//===- AllRules.h - The families of decomposition rules ----------*- C++ -*-===//
#pragma once

namespace tcc {
class RuleSet;

// One line a family; each is defined in the file of its name.
void populateOnnxElementwiseRules(RuleSet &rules);

void populateAllRules(RuleSet &rules);

} // namespace tcc
