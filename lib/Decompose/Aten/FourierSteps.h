//===- FourierSteps.h - What ATen's transforms are made of --------*- C++ -*-===//
//
// Transforms along one axis of complex tensors, or of real ones in f32 or f64.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The sum over the axis, not divided by anything in either direction but times `scale`; z may
/// be real.
mlir::Value transformed(AtenNode &a, mlir::Value z, int64_t axis, bool inverse, double scale = 1);
/// The first n / 2 + 1 of real numbers' sums.
mlir::Value spectrum(AtenNode &a, mlir::Value x, int64_t axis, double scale = 1);
/// The real signal of `length` elements whose half spectrum z is, times `scale`.
mlir::Value realSignal(AtenNode &a, mlir::Value z, int64_t axis, Dim length, double scale = 1);

} // namespace tcc::aten
