//===- ComplexMath.h - Functions of complex numbers in two parts -*- C++ -*-===//
//
// What SplitComplex writes for operators on complex values, and rules for their
// absolute values. Branch cuts and values on the axes are those of C's complex.h,
// as in torch and NumPy; the formulas with products of square roots are Kahan's
// (Branch Cuts for Complex Elementary Functions, 1987).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc::complexmath {

struct Parts {
  mlir::Value re, im;
};
Parts partsOf(PrimBuilder &b, mlir::Value z);
mlir::Value joined(PrimBuilder &b, Parts z);

/// Of real numbers or complex ones.
inline bool isComplex(mlir::Value v) { return mlir::isa<mlir::ComplexType>(PrimBuilder::elem(v)); }
mlir::Type realType(mlir::Type elementType);
mlir::Value realPart(PrimBuilder &b, mlir::Value v);
mlir::Value magnitudeOf(PrimBuilder &b, mlir::Value v);
mlir::Value conjugate(PrimBuilder &b, mlir::Value v);

/// |z|, without overflow in between.
mlir::Value magnitude(PrimBuilder &b, Parts z);
Parts times(PrimBuilder &b, Parts x, Parts y);
Parts quotient(PrimBuilder &b, Parts x, Parts y);
Parts inverse(PrimBuilder &b, Parts z);
Parts power(PrimBuilder &b, Parts x, Parts y);
/// The product along an axis, which stays with one place, and all products on the way to it.
Parts productOver(PrimBuilder &b, Parts z, int64_t axis);
Parts runningProduct(PrimBuilder &b, Parts z, int64_t axis);

using Function = Parts (*)(PrimBuilder &, Parts);
/// The complex form of the real function that a unary prim operator is, or null.
Function function(mlir::Operation *op);

} // namespace tcc::complexmath
