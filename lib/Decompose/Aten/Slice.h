//===- Slice.h - Ranges along an axis ----------------------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// `start:end` along an axis of this extent, as Python clamps it.
struct SliceRange {
  Dim start, size;
  int64_t step;
};
/// Absent ends stand for the whole axis; `step` is positive.
SliceRange clampedRange(PrimBuilder &b, Dim extent, std::optional<Dim> start,
                        std::optional<Dim> end, int64_t step);
/// The axis `dim` of `self`, which parts are taken along.
mlir::FailureOr<int64_t> partedAxis(AtenNode &a);
/// An index that counts from the end when negative.
Dim wrappedIndex(PrimBuilder &b, Dim index, Dim extent);
/// `update` written over x along one axis.
mlir::Value writeRange(PrimBuilder &b, mlir::Value x, mlir::Value update, int64_t axis,
                       const SliceRange &range);

} // namespace tcc::aten
