//===- Rounding.h - How far roundings alone move a result --------*- C++ -*-===//
#pragma once
#include "tcc/Verify/ReferenceRuns.h"

namespace tcc {
class WeightTable;

/// The interpreter on the inputs of `runs`, one after the other on one state, as if every
/// operator's result had been rounded by another machine: a bit more or less, by `seed`. Gives
/// the results of the last run, in the order of the function's. `tf32`: the operands of products of
/// f32 were rounded to 11 bits.
llvm::Expected<std::vector<reference::Tensor>> roundedResults(mlir::func::FuncOp function,
                                                              const WeightTable &weights,
                                                              llvm::ArrayRef<ReferenceRun> runs,
                                                              uint64_t seed, bool tf32 = false);

/// How far two tensors are apart, over all elements.
struct Distance {
  double largest = 0, rootMeanSquare = 0;
  bool finite = true; ///< no element is finite in one tensor only, or infinite in another way

  /// Tensors of other shapes are infinitely far apart.
  static Distance between(const reference::Tensor &x, const reference::Tensor &y);
  void include(const Distance &other);
  bool within(const Distance &other, double times) const {
    return finite && largest <= times * other.largest &&
           rootMeanSquare <= times * other.rootMeanSquare;
  }
};

} // namespace tcc
