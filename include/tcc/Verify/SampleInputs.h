//===- SampleInputs.h - Seeded inputs that fit a model -----------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Reference/Tensor.h"
#include <optional>

namespace tcc {

/// Sizes for dims that are open: `leading` for the first axis of an input, which mostly is the
/// batch, `other` for the rest; a dim's range, and its value where it has one already, go first.
/// With `anyAxis`, `leading` is also for the only open axis of an input with other axes, as that of
/// the state of a recurrent model, [layers, batch, size].
struct SampleSizes {
  int64_t leading, other;
  bool anyAxis = false;
};

/// To be tried in order until the model takes one.
llvm::ArrayRef<SampleSizes> sampleSizes();
/// To be tried then: sizes that are no multiple of anything, and one.
llvm::ArrayRef<SampleSizes> moreSampleSizes();

/// What integers of one element are compared with, a sampling rate for instance: worth trying,
/// since the model may take nothing else, or do something else. Not more than a few.
llvm::SmallVector<int64_t> comparedIntegers(mlir::func::FuncOp function);

struct SampleChoice {
  SampleSizes sizes;
  std::optional<int64_t> integer; ///< of inputs of one integer, if given
  size_t run;                     ///< other values for each
};

/// The same values for the same choice: reals in [-1, 1), integers and booleans 0 or 1, which are
/// good as mask, token and index alike. Nothing for arguments that are state.
llvm::Expected<std::vector<reference::Tensor>> sampleInputs(mlir::func::FuncOp function,
                                                            const SampleChoice &choice);

} // namespace tcc
