//===- VectorMathEmitter.h - Formulas that emit IR --------------*- C++ -*-===//
//
// `Fp`, `Int` and `Mask` are SSA values, scalars or vectors alike, with C++'s
// operators, so that an expansion reads as the formula it is. Constants in a
// formula take the type of the value beside them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen::vmath {

/// Where the formulas of one expansion go, and what the target can do.
struct Emitter {
  mlir::ImplicitLocOpBuilder &builder;
  ExpandMathOptions options;
};

/// A floating-point value: f32 or f64, or a vector of one.
struct Fp {
  Emitter *e;
  mlir::Value v;

  mlir::Type type() const { return v.getType(); }
  bool isF64() const { return mlir::getElementTypeOrSelf(v).isF64(); }
  Fp constant(double c) const;
  Fp constant(const llvm::APFloat &c) const;
  Fp infinity() const;
  Fp nan() const;
};

/// A signless integer value as wide as the floating-point values beside it.
struct Int {
  Emitter *e;
  mlir::Value v;

  mlir::Type type() const { return v.getType(); }
  Int constant(int64_t c) const;
};

struct Mask {
  Emitter *e;
  mlir::Value v;
};

Fp operator+(Fp a, Fp b);
Fp operator-(Fp a, Fp b);
Fp operator*(Fp a, Fp b);
Fp operator/(Fp a, Fp b);
Fp operator-(Fp a);
inline Fp operator+(Fp a, double b) { return a + a.constant(b); }
inline Fp operator-(Fp a, double b) { return a - a.constant(b); }
inline Fp operator*(Fp a, double b) { return a * a.constant(b); }
inline Fp operator/(Fp a, double b) { return a / a.constant(b); }
inline Fp operator+(double a, Fp b) { return b.constant(a) + b; }
inline Fp operator-(double a, Fp b) { return b.constant(a) - b; }
inline Fp operator*(double a, Fp b) { return b.constant(a) * b; }
inline Fp operator/(double a, Fp b) { return b.constant(a) / b; }

// Ordered comparisons: false where an operand is NaN.
Mask operator<(Fp a, Fp b);
Mask operator<=(Fp a, Fp b);
Mask operator==(Fp a, Fp b);
inline Mask operator>(Fp a, Fp b) { return b < a; }
inline Mask operator>=(Fp a, Fp b) { return b <= a; }
inline Mask operator<(Fp a, double b) { return a < a.constant(b); }
inline Mask operator<=(Fp a, double b) { return a <= a.constant(b); }
inline Mask operator>(Fp a, double b) { return a > a.constant(b); }
inline Mask operator>=(Fp a, double b) { return a >= a.constant(b); }
inline Mask operator==(Fp a, double b) { return a == a.constant(b); }

Int operator+(Int a, Int b);
Int operator-(Int a, Int b);
Int operator*(Int a, Int b);
Int operator&(Int a, Int b);
Int operator|(Int a, Int b);
Int operator^(Int a, Int b);
Int operator<<(Int a, Int b);
/// Arithmetic shift; `lshr` is the logical one.
Int operator>>(Int a, Int b);
Int lshr(Int a, Int b);
inline Int operator+(Int a, int64_t b) { return a + a.constant(b); }
inline Int operator-(Int a, int64_t b) { return a - a.constant(b); }
inline Int operator-(int64_t a, Int b) { return b.constant(a) - b; }
inline Int operator&(Int a, int64_t b) { return a & a.constant(b); }
inline Int operator|(Int a, int64_t b) { return a | a.constant(b); }
inline Int operator^(Int a, int64_t b) { return a ^ a.constant(b); }
inline Int operator<<(Int a, int64_t b) { return a << a.constant(b); }
inline Int operator>>(Int a, int64_t b) { return a >> a.constant(b); }
inline Int lshr(Int a, int64_t b) { return lshr(a, a.constant(b)); }
Mask operator==(Int a, int64_t b);
Mask operator!=(Int a, int64_t b);
Mask operator<(Int a, int64_t b);

Mask operator&(Mask a, Mask b);
Mask operator|(Mask a, Mask b);
Mask operator^(Mask a, Mask b);
Mask operator~(Mask a);

Fp select(Mask m, Fp a, Fp b);
Int select(Mask m, Int a, Int b);
inline Fp select(Mask m, double a, Fp b) { return select(m, b.constant(a), b); }
inline Fp select(Mask m, Fp a, double b) { return select(m, a, a.constant(b)); }
inline Int select(Mask m, int64_t a, Int b) { return select(m, b.constant(a), b); }
inline Int select(Mask m, Int a, int64_t b) { return select(m, a, a.constant(b)); }

Fp abs(Fp x);
Fp sqrt(Fp x);
Fp roundEven(Fp x);
Fp trunc(Fp x);
Fp floor(Fp x);
Fp ceil(Fp x);
Fp copySign(Fp magnitude, Fp sign);
/// The smaller or larger of x and c; a NaN in x stays, so no select follows.
Fp atMost(Fp x, double c);
Fp atLeast(Fp x, double c);
Mask isNaN(Fp x);

/// a * b + c, fused where the target can; otherwise rounded twice.
Fp mulAdd(Fp a, Fp b, Fp c);
inline Fp mulAdd(Fp a, double b, Fp c) { return mulAdd(a, a.constant(b), c); }
inline Fp mulAdd(Fp a, Fp b, double c) { return mulAdd(a, b, a.constant(c)); }
inline Fp mulAdd(Fp a, double b, double c) { return mulAdd(a, a.constant(b), a.constant(c)); }
/// Horner's rule, the coefficient of the highest power first.
Fp poly(Fp x, llvm::ArrayRef<double> coefficients);

Int bits(Fp x);
Fp fromBits(Int x);
/// Signed conversions to and from the integer as wide as the float.
Int toInt(Fp x);
Fp toFp(Int x);
Fp toF64(Fp x);
Fp toF32(Fp x);
Int toI64(Int x);
Int toI32(Int x);
/// x * 2^n where 2^n is a normal number.
Fp scaleByPowerOfTwo(Fp x, Int n);
/// The 128 bits of a * b, both unsigned: low and high half.
std::pair<Int, Int> wideProduct(Int a, Int b);
/// 2^n for a normal result.
Fp powerOfTwo(Int n, Fp like);

/// `like` with another element type.
mlir::Type withElementType(mlir::Type like, mlir::Type element);

/// The target multiplies `x` by a power of two in one instruction (AVX-512's scalef),
/// which needs no care for overflow and underflow.
bool hasScale(Fp x);
/// x * 2^n for an integral n, where `hasScale(x)`.
Fp scale(Fp x, Fp n);

/// The target picks lanes from a table of 32 by an instruction (AVX-512), of f32.
bool hasLookup(Fp x);
/// The same from a table of 8 (AVX2).
bool hasShortLookup(Fp x);
/// Entry i of a table of 32 where `hasLookup`, of 8 where `hasShortLookup`; the lowest bits of `i`
/// count.
Fp lookup(Int i, llvm::ArrayRef<double> table);

/// Whether `m` holds in any lane.
mlir::Value anyLane(Mask m);
/// `usual`, or what `rare` makes if `m` holds in any lane: code that ordinary
/// arguments jump over.
llvm::SmallVector<mlir::Value> ifAnyLane(Mask m, mlir::ValueRange usual,
                                         llvm::function_ref<llvm::SmallVector<mlir::Value>()> rare);
/// Calls a private function of the module around, made by `body` on first use.
llvm::SmallVector<mlir::Value>
callHelper(Emitter &e, llvm::StringRef name, mlir::ValueRange arguments, mlir::TypeRange results,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(Emitter &, mlir::ValueRange)> body);
/// `base` and the shape of `type`, for the name of a helper.
std::string helperName(llvm::StringRef base, mlir::Type type);
/// Calls `name` of libm, once per lane.
Fp callLibm(llvm::StringRef name, llvm::ArrayRef<Fp> arguments);

// The functions, each on f32 or f64. One file a family.
Fp exp(Fp x);
Fp exp2(Fp x);
Fp expm1(Fp x);
Fp log(Fp x);
Fp log2(Fp x);
Fp log10(Fp x);
Fp log1p(Fp x);
std::pair<Fp, Fp> sincos(Fp x);
Fp sin(Fp x);
Fp cos(Fp x);
Fp tan(Fp x);
Fp asin(Fp x);
Fp acos(Fp x);
Fp atan(Fp x);
Fp atan2(Fp y, Fp x);
Fp sinh(Fp x);
Fp cosh(Fp x);
Fp tanh(Fp x);
Fp asinh(Fp x);
Fp acosh(Fp x);
Fp atanh(Fp x);
Fp erf(Fp x);
Fp erfc(Fp x);
Fp pow(Fp x, Fp y);
/// C's fmod.
Fp remainder(Fp x, Fp y);
/// a * b + c rounded once, where the target has no instruction for it.
Fp fusedMulAdd(Fp a, Fp b, Fp c);

// Parts that several families use, on f32.

/// (e^2x - 1) / 2 and that plus 1, for -10 <= x <= 10.
std::pair<Fp, Fp> halfExpm1OfTwice(Fp x);
/// e^x / 2 for 0 <= x; infinity from 89.42 on.
Fp halfExp(Fp x);
/// e^x for x <= 0.
Fp expNotPositive(Fp x);
/// e^x to be added to 1.
Fp expBesideOne(Fp x);
/// The target raises 2 to a power of f32 by its exponent's bits alone.
bool needsFactors(Fp x);
/// 1 / (1 + e^-x) of f32.
Fp logistic(Fp x);

/// `function`, which needs exact products, or `name` of libm where the target does not fuse a
/// multiplication and an addition.
Fp exactF64(Fp (*function)(Fp), llvm::StringRef name, Fp x);

/// Chains of extremes as bare instructions, where those lose what is no number.
void expandExtrema(mlir::Operation *root);

// The families' f64 halves.

Fp expF64(Fp x);
Fp exp2F64(Fp x);
Fp expm1F64(Fp x);
Fp tanhF64(Fp x);
Fp logF64(Fp x);
Fp log2F64(Fp x);
Fp log10F64(Fp x);
Fp log1pF64(Fp x);
Fp sinF64(Fp x);
Fp cosF64(Fp x);
std::pair<Fp, Fp> sincosF64(Fp x);
/// For |x| < 10^6.
std::pair<Fp, Fp> sincosNearF64(Fp x);
Fp tanF64(Fp x);
Fp asinF64(Fp x);
Fp acosF64(Fp x);
Fp atanF64(Fp x);
Fp atan2F64(Fp y, Fp x);
Fp sinhF64(Fp x);
Fp coshF64(Fp x);
Fp asinhF64(Fp x);
Fp acoshF64(Fp x);
Fp atanhF64(Fp x);
Fp erfF64(Fp x);
Fp erfcF64(Fp x);
Fp lgammaF64(Fp x);
/// x^y for x >= 0, NaN apart.
Fp powMagnitudeF64(Fp x, Fp y);
/// e^x / scale and (e^x - 1) / scale for a power of two `scale`, where e^x / scale is normal.
Fp expOverF64(Fp x, double scale);
Fp expm1OverF64(Fp x, double scale);

// Parts in f64 that are exact enough for an f32 result.

/// log2 of a positive normal number, relative error 2^-38; nonsense elsewhere.
Fp log2Rough(Fp x);
/// 2^x with x clamped to [-1000, 1000], relative error 2^-34.
Fp exp2Rough(Fp x);
/// The same where the result is a normal number.
Fp exp2RoughNormal(Fp x);

/// The kernel's target is not known yet.
inline constexpr ExpandMathOptions anyTarget = {.hasFma = false, .mayFuse = true};

/// `function`, written for f64, on a scalar or vector of any float type.
mlir::Value viaF64(mlir::ImplicitLocOpBuilder &b, mlir::Value x, Fp (*function)(Fp));

} // namespace tcc::codegen::vmath
