//===- Chance.h - Cases whose outputs are random ----------------*- C++ -*-===//
//
// The specification gives the distribution of Bernoulli and of Dropout in training,
// not the numbers: those in ONNX's files come from NumPy's generator. Such a case
// passes when the element types, the shapes and every value are possible, each
// element is 1, or kept, as often as its probability says, and no element says
// anything of its neighbour or of the run before.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "BackendCases.h"

namespace tcc::conformance {

bool isRandom(const Case &testCase);

using RunOnce = llvm::function_ref<llvm::Expected<std::vector<reference::Tensor>>(
    llvm::ArrayRef<reference::Tensor>)>;

/// Runs the case many times, from a seed on that is always the same: the first thing that is not
/// as the specification says, or nothing.
std::optional<std::string> unlikelihood(const Case &testCase, const DataSet &set, RunOnce run);

} // namespace tcc::conformance
