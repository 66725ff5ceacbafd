//===- VectorMathDivision.cpp - Vectors of integers, divided --------------===//
//
// CPUs divide vectors of floats, but integers one by one. The quotient of two integers of less than
// 2^53 lies at least 1 / y below the next integer, which is more than f64 rounds it by, so that its
// integral part is exact; the same holds for f32 and integers of 16 bits. The product of quotient
// and divisor is not larger than the dividend, so the remainder is exact too.
//
// Integers of 64 bits are converted by way of the mantissa of 1.5 * 2^52, which no vectors before
// AVX-512 do otherwise, and which takes them below 2^50. If one is larger, the whole vector is done
// one by one. Divisors that are known are left alone: LLVM multiplies instead.
//
//===----------------------------------------------------------------------===//
#include "VectorMathDivision.h"
#include "VectorMathEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tcc::codegen::vmath {
namespace {

constexpr int64_t kMantissa = 0x4338000000000000; // of 1.5 * 2^52, to which an integer is added
constexpr double kBias = 0x1.8p52;

/// Whether `v` is made of constants alone.
bool isKnown(Value v, unsigned depth = 6) {
  Operation *op = v.getDefiningOp();
  return op && depth > 0 && op->getNumRegions() == 0 &&
         isa<arith::ArithDialect, vector::VectorDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), [&](Value x) { return isKnown(x, depth - 1); });
}

bool takesRemainder(Operation *op) { return isa<arith::RemSIOp, arith::RemUIOp>(op); }
bool isSigned(Operation *op) { return isa<arith::DivSIOp, arith::RemSIOp>(op); }

/// Of integers of 64 bits below 2^50.
Int divideWide(Int x, Int y, bool remainder) {
  auto toFloat = [](Int v) { return fromBits(v + kMantissa) - kBias; };
  Fp dividend = toFloat(x), divisor = toFloat(y), q = trunc(dividend / divisor);
  Fp result = remainder ? mulAdd(-q, divisor, dividend) : q;
  return bits(result + kBias) - kMantissa;
}

/// Of signed integers that `element` holds exactly, as do floats their quotients' integral parts.
Int divideNarrow(Int x, Int y, bool remainder, Type element) {
  ImplicitLocOpBuilder &b = x.e->builder;
  Type type = withElementType(x.type(), element);
  Value quotient = arith::DivFOp::create(b, arith::SIToFPOp::create(b, type, x.v),
                                         arith::SIToFPOp::create(b, type, y.v));
  Int q{x.e, arith::FPToSIOp::create(b, x.type(), quotient)};
  return remainder ? x - q * y : q;
}

} // namespace

bool dividesIntegers(Operation *op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  auto element = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
  return element && llvm::is_contained({8u, 16u, 32u, 64u}, element.getWidth()) &&
         !isKnown(op->getOperand(1));
}

Value divideIntegers(Operation *op, const ExpandMathOptions &options) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Emitter e{b, options};
  Type type = op->getResult(0).getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  bool remainder = takesRemainder(op);
  auto extended = [&](unsigned i, unsigned bits) -> Int {
    Value x = op->getOperand(i);
    Type wide = withElementType(type, b.getIntegerType(bits));
    if (wide == type)
      return {&e, x};
    return {&e, isSigned(op) ? Value(arith::ExtSIOp::create(b, wide, x))
                             : Value(arith::ExtUIOp::create(b, wide, x))};
  };
  auto narrowed = [&](Int v) -> Value {
    return v.type() == type ? v.v : Value(arith::TruncIOp::create(b, type, v.v));
  };
  if (width <= 16)
    return narrowed(divideNarrow(extended(0, 32), extended(1, 32), remainder, b.getF32Type()));
  Int x = extended(0, width), y = extended(1, width);
  if (width == 32 && isSigned(op))
    return divideNarrow(x, y, remainder, b.getF64Type()).v;
  x = extended(0, 64);
  y = extended(1, 64);
  Value result = narrowed(divideWide(x, y, remainder));
  if (width == 32)
    return result;
  constexpr int64_t kLimit = int64_t(1) << 50; // whose negative over -1 fits as well
  Int high = isSigned(op) ? lshr((x + kLimit) | (y + kLimit), 51) : lshr(x | y, 50);
  return ifAnyLane(high != 0, result,
                   [&]() -> SmallVector<Value> { return {b.clone(*op)->getResult(0)}; })[0];
}

bool makesWideIntegers(Operation *op, const ExpandMathOptions &options) {
  if (!isa<arith::FPToSIOp>(op) || !options.hasAvx2)
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  return type && type.getNumElements() >= 4 && type.getElementType().isInteger(64) &&
         getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth() >= 32;
}

Value makeWideIntegers(Operation *op, const ExpandMathOptions &options) {
  constexpr double kUnit = 0x1.8p52, kLimit = 0x1p51; // sums of the two are whole numbers
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Emitter e{b, options};
  Value x = op->getOperand(0);
  Type f64 = withElementType(x.getType(), b.getF64Type());
  Fp wide{&e, x.getType() == f64 ? x : Value(arith::ExtFOp::create(b, f64, x))};
  Int sum = bits(trunc(wide) + kUnit);
  Value usual = (sum - bits(wide.constant(kUnit))).v;
  return ifAnyLane(~(abs(wide) < kLimit), usual,
                   [&]() -> SmallVector<Value> { return {b.clone(*op)->getResult(0)}; })[0];
}

} // namespace tcc::codegen::vmath
