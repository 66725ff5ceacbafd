//===- FloatParts.h - Floats as integers -------------------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tcc::codegen::device {

/// The parts of numbers of a type, as integers.
struct FloatParts {
  FloatParts(KernelFrame &f, mlir::Type type)
      : f(f), b(f.b), word(b.getIntegerType(type.getIntOrFloatBitWidth())),
        mantissaBits(type.isF64() ? 52 : 23), infinity(type.isF64() ? 2047 : 255) {}

  mlir::Value constant(int64_t c) const {
    return mlir::arith::ConstantOp::create(b, b.getIntegerAttr(word, c));
  }
  mlir::Value bitsOf(mlir::Value v) const { return mlir::arith::BitcastOp::create(b, word, v); }
  mlir::Value magnitudeOf(mlir::Value number) const {
    int64_t bits = word.isInteger(64) ? INT64_MAX : INT32_MAX;
    return mlir::arith::AndIOp::create(b, number, constant(bits));
  }
  mlir::Value isNegative(mlir::Value bits) const {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt, bits, constant(0));
  }
  mlir::Value isZero(mlir::Value magnitude) const {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, magnitude, constant(0));
  }
  mlir::Value isInfinity(mlir::Value magnitude) const {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, magnitude,
                                       constant(infinity << mantissaBits));
  }
  /// Of 32 bits; that of subnormal numbers is 1.
  mlir::Value exponentOf(mlir::Value magnitude) const {
    mlir::Value field = mlir::arith::ShRUIOp::create(b, magnitude, constant(mantissaBits));
    if (!field.getType().isInteger(32))
      field = mlir::arith::TruncIOp::create(b, b.getI32Type(), field);
    return mlir::arith::MaxUIOp::create(b, field, f.i32(1));
  }
  /// The exponent, or one more than that of infinity for what is no number.
  mlir::Value rankOf(mlir::Value magnitude) const {
    mlir::Value isNan = mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ugt, magnitude,
                                                    constant(infinity << mantissaBits));
    return mlir::arith::SelectOp::create(b, isNan, f.i32(infinity + 1), exponentOf(magnitude));
  }
  /// Of 64 bits.
  mlir::Value mantissaOf(mlir::Value magnitude) const {
    int64_t leading = int64_t(1) << mantissaBits;
    mlir::Value isNormal = mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::uge,
                                                       magnitude, constant(leading));
    mlir::Value mantissa = mlir::arith::AndIOp::create(b, magnitude, constant(leading - 1));
    mlir::Value first = mlir::arith::SelectOp::create(b, isNormal, constant(leading), constant(0));
    mantissa = mlir::arith::OrIOp::create(b, mantissa, first);
    return word.isInteger(64)
               ? mantissa
               : mlir::Value(mlir::arith::ExtUIOp::create(b, b.getI64Type(), mantissa));
  }
  mlir::Value isFinite(mlir::Value exponent) const {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ult, exponent,
                                       f.i32(infinity));
  }

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type word;
  int64_t mantissaBits, infinity; ///< infinity: the exponent that it has
};

} // namespace tcc::codegen::device
