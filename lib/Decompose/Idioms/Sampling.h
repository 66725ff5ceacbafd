//===- Sampling.h - Weighted reads at computed positions ---------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// One of the elements around a fractional position along one axis.
struct SampleTap {
  mlir::Value position; ///< [N, places...] i64 within the axis, or i32 that count all pixels
  mlir::Value weight;   ///< [N, places...], or less by broadcasting
};

/// The sum (or, with `kind`, the maximum) over all choices of one tap an axis of
/// x ([N, ..., spatial...]) at those positions times the product of the weights:
/// [N, ..., places...].
mlir::Value sampleAt(PrimBuilder &b, mlir::Value x,
                     llvm::ArrayRef<llvm::SmallVector<SampleTap>> taps,
                     prim::ReduceKind kind = prim::ReduceKind::sum);

/// The two elements around a position as one linear interpolation takes them;
/// positions outside of [-1, extent] weigh nothing (RoiAlign), or with `zeros`
/// the elements outside of x do (DeformConv).
llvm::SmallVector<SampleTap> linearTaps(PrimBuilder &b, mlir::Value position, Dim extent,
                                        bool zeros);

} // namespace tcc
