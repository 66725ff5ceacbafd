//===- PresentTaps.h - Taps that some filters do not have --------*- C++ -*-===//
//
// What a rule knows of the filters that it makes and no operator tells: the phases of a transposed
// convolution share a window of which most have only a part, and the weights of other taps are
// zero. Kernels need not multiply by those.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tcc::prim {

/// On a conv of at most 64 taps: the filters of each group are as many equal runs as there are
/// masks, whose bits say which taps a run has, the last axis of the window first.
inline constexpr llvm::StringLiteral kPresentTaps = "prim.present_taps";

inline void setPresentTaps(mlir::Operation *op, llvm::ArrayRef<int64_t> masks) {
  op->setDiscardableAttr(kPresentTaps, mlir::DenseI64ArrayAttr::get(op->getContext(), masks));
}
/// None: all filters have all taps.
inline llvm::ArrayRef<int64_t> presentTaps(mlir::Operation *op) {
  auto masks =
      mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(op->getDiscardableAttr(kPresentTaps));
  return masks ? masks.asArrayRef() : llvm::ArrayRef<int64_t>();
}

} // namespace tcc::prim
