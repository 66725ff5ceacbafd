//===- SampleInputs.h - Seeded inputs that fit a model -----------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Reference/Tensor.h"

namespace tcc {

/// Sizes for dims that are open: `leading` for the first axis of an input, which mostly is the
/// batch, `other` for the rest; a dim's range, and its value where it has one already, go first.
struct SampleSizes {
  int64_t leading, other;
};

/// To be tried in order until the model takes one.
llvm::ArrayRef<SampleSizes> sampleSizes();

/// The same values for the same function: reals in [-1, 1), integers and booleans 0 or 1, which are
/// good as mask, token and index alike.
llvm::Expected<std::vector<reference::Tensor>> sampleInputs(mlir::func::FuncOp function,
                                                            SampleSizes sizes);

} // namespace tcc
