//===- NarrowTypes.h - Element types narrower than registers -----*- C++ -*-===//
//
// Registers hold f32 for 16-bit and narrower floats and i8 for 2- and 4-bit
// integers. These functions round and wrap as the narrow type would, and convert
// between register and memory forms.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tcc::codegen {

/// `x` (compute type) rounded to the values that `elementType` can hold.
mlir::Value roundToStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type elementType,
                           bool saturate);
/// `x` (compute type) reduced to the low bits of a 2- or 4-bit type.
mlir::Value wrapToStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type elementType);
/// Between a register of compute type and what lies in memory.
mlir::Value fromStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value v, mlir::Type elementType);
mlir::Value toStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value v, mlir::Type elementType);
/// `x` (compute type of `from`) read as another element type of the same width.
mlir::Value bitcastElement(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type from,
                           mlir::Type to);
/// An f64, or an integer, as an f32 that rounds to `to`, or to any narrower float, as `x` itself
/// does: of the two f32 around it the one whose last bit is set.
mlir::Value floatToOdd(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type to);
mlir::Value integerToOdd(mlir::ImplicitLocOpBuilder &b, mlir::Value x, bool isUnsigned);
/// The next value of a narrow float after x towards y.
mlir::Value nextNarrow(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y,
                       mlir::Type elementType);
/// Between an f32 value and the bits (i8) of an 8-bit or 4-bit float.
mlir::Value packFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type elementType,
                       bool saturate);
mlir::Value unpackFloat8(mlir::ImplicitLocOpBuilder &b, mlir::Value bits, mlir::Type elementType);
/// What arith.truncf from f32 to f16 or bf16 and arith.extf back mean, in integer vectors: for
/// targets that would convert one element after the other, or not exactly.
mlir::Value truncateFloat(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type elementType);
mlir::Value extendFloat(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
/// Whether a type is narrower than a byte. At run time its elements lie one a byte.
bool isSubByte(mlir::Type elementType);

} // namespace tcc::codegen
