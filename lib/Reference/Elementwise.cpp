//===- Elementwise.cpp - One value a point -------------------------------===//
//
// A table: each operator as a function of the wide types it is defined on. The
// loops around them are one template (see Wide.h).
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include "Reference/SpecialFunctions.h"
#include <bit>
#include <cmath>

namespace tcc::reference {

namespace {

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename W, auto function> void unaryLoop(const Tensor &x, Tensor &result) {
  W in[kRun], out[kRun];
  for (int64_t first = 0; first < x.elements(); first += kRun) {
    int64_t length = std::min(kRun, x.elements() - first);
    widen(x.dtype(), at(x, first), length, in);
    for (int64_t i = 0; i < length; ++i)
      out[i] = function(in[i]);
    narrow(result.dtype(), out, length, at(result, first));
  }
}

template <typename W, auto function>
void binaryLoop(const Tensor &lhs, const Tensor &rhs, Tensor &result) {
  W a[kRun], b[kRun], out[kRun];
  for (int64_t first = 0; first < lhs.elements(); first += kRun) {
    int64_t length = std::min(kRun, lhs.elements() - first);
    widen(lhs.dtype(), at(lhs, first), length, a);
    widen(rhs.dtype(), at(rhs, first), length, b);
    for (int64_t i = 0; i < length; ++i)
      out[i] = function(a[i], b[i]);
    narrow(result.dtype(), out, length, at(result, first));
  }
}

template <typename Op, auto function> llvm::Expected<Tensor> unary(Op op, Operands operands) {
  const Tensor &x = operands[0];
  llvm::Expected<Tensor> result = Tensor::allocate(resultDType(op), x.shape());
  if (!result)
    return result;
  bool defined = withWide(x.dtype(), [&]<typename W>() {
    if constexpr (std::is_invocable_v<decltype(function), W>)
      unaryLoop<W, function>(x, *result);
    return std::is_invocable_v<decltype(function), W>;
  });
  if (!defined)
    return undefinedOn(x.dtype());
  return result;
}

template <typename Op, auto function> llvm::Expected<Tensor> binary(Op op, Operands operands) {
  if (llvm::Error error = checkSameShapes(operands))
    return error;
  DType type = operands[0].dtype();
  llvm::Expected<Tensor> result = Tensor::allocate(resultDType(op), operands[0].shape());
  if (!result)
    return result;
  bool defined = withWide(type, [&]<typename W>() {
    if constexpr (std::is_invocable_v<decltype(function), W, W>)
      binaryLoop<W, function>(operands[0], operands[1], *result);
    return std::is_invocable_v<decltype(function), W, W>;
  });
  if (!defined)
    return undefinedOn(type);
  return result;
}

//===----------------------------------------------------------------------===//
// What the tables are made of
//===----------------------------------------------------------------------===//

template <typename W> constexpr bool isReal = std::is_same_v<W, double>;
template <typename W> constexpr bool isInteger = std::is_integral_v<W>;
template <typename W>
concept RealWide = isReal<W>;
template <typename W>
concept IntegerWide = isInteger<W>;
template <typename W>
concept FieldWide = isReal<W> || std::is_same_v<W, Complex>;
template <typename W>
concept OrderedWide = isReal<W> || isInteger<W>;

template <typename Op, auto function> void addUnary(Evaluators &all) {
  all.add<Op, unary<Op, function>>();
}
template <typename Op, auto function> void addBinary(Evaluators &all) {
  all.add<Op, binary<Op, function>>();
}

// A complex product without the recovery of infinities that C99 asks for.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

struct Mul {
  template <OrderedWide W> W operator()(W a, W b) const { return wrapMul(a, b); }
  Complex operator()(Complex a, Complex b) const { return product(a, b); }
};
struct Div {
  template <FieldWide W> W operator()(W a, W b) const { return a / b; }
  uint64_t operator()(uint64_t a, uint64_t b) const { return b == 0 ? 0 : a / b; }
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0)
      return 0;
    return b == -1 ? wrapSub<int64_t>(0, a) : a / b;
  }
};
struct Mod {
  double operator()(double a, double b) const {
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  uint64_t operator()(uint64_t a, uint64_t b) const { return b == 0 ? 0 : a % b; }
  int64_t operator()(int64_t a, int64_t b) const {
    if (b == 0 || b == -1)
      return 0;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct Rem {
  double operator()(double a, double b) const { return std::fmod(a, b); }
  uint64_t operator()(uint64_t a, uint64_t b) const { return b == 0 ? 0 : a % b; }
  int64_t operator()(int64_t a, int64_t b) const { return b == 0 || b == -1 ? 0 : a % b; }
};
struct FloorDiv {
  // The quotient is rounded to f32 first, as code for narrower floats does too.
  double operator()(double a, double b) const { return std::floor(static_cast<float>(a / b)); }
  uint64_t operator()(uint64_t a, uint64_t b) const { return Div()(a, b); }
  int64_t operator()(int64_t a, int64_t b) const {
    int64_t quotient = Div()(a, b);
    bool inexact = b != 0 && b != -1 && a % b != 0;
    return inexact && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
};
double floorDivF64(double a, double b) { return std::floor(a / b); }

struct Pow {
  double operator()(double a, double b) const { return std::pow(a, b); }
  Complex operator()(Complex a, Complex b) const {
    if (b == 0.0)
      return 1;
    return a == 0.0 && b.real() > 0 ? 0 : std::pow(a, b);
  }
  uint64_t operator()(uint64_t base, uint64_t exponent) const {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
      if (exponent & 1)
        result *= base;
    return result;
  }
  int64_t operator()(int64_t base, int64_t exponent) const {
    if (exponent >= 0)
      return static_cast<int64_t>(
          (*this)(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
    if (base == -1)
      return exponent & 1 ? -1 : 1;
    return base == 1 ? 1 : 0;
  }
};
struct Maximum {
  template <OrderedWide W> W operator()(W a, W b) const { return isNan(a) || a > b ? a : b; }
};
struct Minimum {
  template <OrderedWide W> W operator()(W a, W b) const { return isNan(a) || a < b ? a : b; }
};
struct Gcd {
  uint64_t operator()(uint64_t a, uint64_t b) const { return std::gcd(a, b); }
  int64_t operator()(int64_t a, int64_t b) const {
    auto magnitude = [](int64_t x) {
      return x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    };
    return static_cast<int64_t>(std::gcd(magnitude(a), magnitude(b)));
  }
};
struct Abs {
  double operator()(double x) const { return std::fabs(x); }
  uint64_t operator()(uint64_t x) const { return x; }
  int64_t operator()(int64_t x) const { return x < 0 ? wrapSub<int64_t>(0, x) : x; }
};
struct Sign {
  double operator()(double x) const { return x > 0 ? 1 : x < 0 ? -1 : x; }
  template <IntegerWide W> W operator()(W x) const { return x > 0 ? W(1) : x == 0 ? W(0) : W(-1); }
};
struct ShiftRight {
  uint64_t operator()(uint64_t a, uint64_t b) const { return b < 64 ? a >> b : 0; }
  int64_t operator()(int64_t a, int64_t b) const { return a >> (b < 0 || b > 63 ? 63 : b); }
};
struct ShiftLeft {
  template <IntegerWide W> W operator()(W a, W b) const {
    auto amount = static_cast<uint64_t>(b);
    return amount < 64 ? static_cast<W>(static_cast<uint64_t>(a) << amount) : W(0);
  }
};

double roundEven(double x) { return std::nearbyint(x); }

double lgammaSafe(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

template <FieldWide W> W logistic(W x) { return W(1) / (W(1) + std::exp(-x)); }

struct Expm1 {
  double operator()(double x) const { return std::expm1(x); }
  // e^(a+bi) - 1 = expm1(a) cos b - 2 sin^2(b/2) + i e^a sin b
  Complex operator()(Complex x) const {
    double half = std::sin(x.imag() / 2);
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
            std::exp(x.real()) * std::sin(x.imag())};
  }
};
struct Log1p {
  double operator()(double x) const { return std::log1p(x); }
  // log|1 + z| = log1p(2a + a^2 + b^2) / 2
  Complex operator()(Complex z) const {
    double a = z.real(), b = z.imag();
    double magnitude = std::fabs(a) < 0.5 && std::fabs(b) < 0.5
                           ? std::log1p(a * (2 + a) + b * b) / 2
                           : std::log(std::hypot(1 + a, b));
    return {magnitude, std::atan2(b, 1 + a)};
  }
};

//===----------------------------------------------------------------------===//
// Operators that depend on the width or the format
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> floorDiv(prim::FloorDivOp op, Operands operands) {
  if (operands[0].dtype() == DType::F64)
    return binary<prim::FloorDivOp, floorDivF64>(op, operands);
  return binary<prim::FloorDivOp, FloorDiv{}>(op, operands);
}

/// Of bool only a shift by 0 leaves anything; other widths are cut off when narrowed.
llvm::Expected<Tensor> shiftLeft(prim::ShiftLeftOp op, Operands operands) {
  if (operands[0].dtype() == DType::Bool)
    return binary<prim::ShiftLeftOp, []<IntegerWide W>(W a, W b) -> W { return a & ~b; }>(op,
                                                                                          operands);
  return binary<prim::ShiftLeftOp, ShiftLeft{}>(op, operands);
}

unsigned logicalWidth(DType type) { return type == DType::Bool ? 1 : bitWidth(type); }

uint64_t complement(uint64_t x, unsigned width) { return x ^ (~uint64_t(0) >> (64 - width)); }

/// `function` of the element's bits, zero-extended, and its width.
template <typename Op, uint64_t (*function)(uint64_t, unsigned)>
llvm::Expected<Tensor> onBits(Op, Operands operands) {
  const Tensor &x = operands[0];
  if (isFloat(x.dtype()) || isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result)
    return result;
  unsigned width = logicalWidth(x.dtype());
  uint64_t run[kRun], mask = ~uint64_t(0) >> (64 - width);
  for (int64_t first = 0; first < x.elements(); first += kRun) {
    int64_t length = std::min(kRun, x.elements() - first);
    widen(x.dtype(), at(x, first), length, run);
    for (int64_t i = 0; i < length; ++i)
      run[i] = function(run[i] & mask, width);
    narrow(x.dtype(), run, length, at(*result, first));
  }
  return result;
}

/// The next pattern after `from` towards `to`: sign and magnitude count up from
/// zero. f8E8M0FNU has no sign.
template <typename Pattern> Pattern nextPattern(DType type, Pattern from, double a, double b) {
  if (type == DType::F8E8M0FNU)
    return static_cast<Pattern>(a < b ? from + 1 : from - 1);
  Pattern signBit = static_cast<Pattern>(Pattern(1) << (bitWidth(type) - 1));
  if (a == 0)
    return static_cast<Pattern>(b < 0 ? signBit | 1 : 1);
  auto next = static_cast<Pattern>((a < b) == (a > 0) ? from + 1 : from - 1);
  bool lost = next == signBit && (type == DType::F8E4M3FNUZ || type == DType::F8E5M2FNUZ);
  return lost ? Pattern(0) : next;
}

llvm::Expected<Tensor> nextafter(prim::NextafterOp, Operands operands) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  if (llvm::Error error = checkSameShapes(operands))
    return error;
  if (!isFloat(lhs.dtype()))
    return undefinedOn(lhs.dtype());
  llvm::Expected<Tensor> result = Tensor::allocate(lhs.dtype(), lhs.shape());
  if (!result)
    return result;
  std::vector<double> as = lhs.reals(), bs = rhs.reals();
  withBytes(elementBytes(lhs.dtype()), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>)
      for (int64_t i = 0; i < lhs.elements(); ++i) {
        double a = as[i], b = bs[i];
        bool stays = isNan(a) || isNan(b) || a == b;
        result->mutableAs<T>()[i] = !stays     ? nextPattern(lhs.dtype(), lhs.as<T>()[i], a, b)
                                    : isNan(a) ? lhs.as<T>()[i]
                                               : rhs.as<T>()[i];
      }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

#define FIELD(expression) []<FieldWide W>(W x) -> W { return expression; }
#define REAL(expression) []<RealWide W>(W x) -> W { return expression; }

void addFieldFunctions(Evaluators &all) {
  using namespace prim;
  addUnary<ExpOp, FIELD(std::exp(x))>(all);
  addUnary<LogOp, FIELD(std::log(x))>(all);
  addUnary<Log10Op, FIELD(std::log10(x))>(all);
  addUnary<SqrtOp, FIELD(std::sqrt(x))>(all);
  addUnary<RsqrtOp, FIELD(W(1) / std::sqrt(x))>(all);
  addUnary<SinOp, FIELD(std::sin(x))>(all);
  addUnary<CosOp, FIELD(std::cos(x))>(all);
  addUnary<TanOp, FIELD(std::tan(x))>(all);
  addUnary<AsinOp, FIELD(std::asin(x))>(all);
  addUnary<AcosOp, FIELD(std::acos(x))>(all);
  addUnary<AtanOp, FIELD(std::atan(x))>(all);
  addUnary<SinhOp, FIELD(std::sinh(x))>(all);
  addUnary<CoshOp, FIELD(std::cosh(x))>(all);
  addUnary<TanhOp, FIELD(std::tanh(x))>(all);
  addUnary<AsinhOp, FIELD(std::asinh(x))>(all);
  addUnary<AcoshOp, FIELD(std::acosh(x))>(all);
  addUnary<AtanhOp, FIELD(std::atanh(x))>(all);
  addUnary<LogisticOp, FIELD(logistic(x))>(all);
  addUnary<Exp2Op, FIELD(isReal<W> ? W(std::exp2(std::real(x))) : std::exp(x * std::log(2.0)))>(
      all);
  addUnary<Log2Op, FIELD(isReal<W> ? W(std::log2(std::real(x))) : std::log(x) / std::log(2.0))>(
      all);
  addUnary<Expm1Op, Expm1{}>(all);
  addUnary<Log1pOp, Log1p{}>(all);
}

void addRealFunctions(Evaluators &all) {
  using namespace prim;
  addUnary<ErfOp, REAL(std::erf(x))>(all);
  addUnary<ErfcOp, REAL(std::erfc(x))>(all);
  addUnary<ErfinvOp, REAL(erfinv(x))>(all);
  addUnary<LgammaOp, REAL(lgammaSafe(x))>(all);
  addUnary<DigammaOp, REAL(digamma(x))>(all);
  addUnary<BesselI0Op, REAL(besselI0(x))>(all);
  addUnary<BesselI1Op, REAL(besselI1(x))>(all);
  addUnary<FloorOp, REAL(std::floor(x))>(all);
  addUnary<CeilOp, REAL(std::ceil(x))>(all);
  addUnary<RoundOp, REAL(roundEven(x))>(all);
  addUnary<TruncOp, REAL(std::trunc(x))>(all);
  addUnary<IsNanOp, REAL(std::isnan(x))>(all);
  addUnary<IsInfOp, REAL(std::isinf(x))>(all);
  addUnary<IsFiniteOp, REAL(std::isfinite(x))>(all);
}

#undef FIELD
#undef REAL

void addArithmetic(Evaluators &all) {
  using namespace prim;
  addUnary<NegOp, []<typename W>(W x) { return isInteger<W> ? wrapSub(W(0), x) : -x; }>(all);
  addUnary<AbsOp, Abs{}>(all);
  addUnary<SignOp, Sign{}>(all);
  addBinary<AddOp, []<typename W>(W a, W b) { return wrapAdd(a, b); }>(all);
  addBinary<SubOp, []<typename W>(W a, W b) { return wrapSub(a, b); }>(all);
  addBinary<MulOp, Mul{}>(all);
  addBinary<DivOp, Div{}>(all);
  all.add<FloorDivOp, floorDiv>();
  addBinary<RemOp, Rem{}>(all);
  addBinary<ModOp, Mod{}>(all);
  addBinary<PowOp, Pow{}>(all);
  addBinary<GcdOp, Gcd{}>(all);
  addBinary<Atan2Op, []<RealWide W>(W a, W b) { return std::atan2(a, b); }>(all);
  addBinary<MaximumOp, Maximum{}>(all);
  addBinary<MinimumOp, Minimum{}>(all);
  addBinary<FmaxOp, []<RealWide W>(W a, W b) { return std::fmax(a, b); }>(all);
  addBinary<FminOp, []<RealWide W>(W a, W b) { return std::fmin(a, b); }>(all);
  addBinary<CopysignOp, []<RealWide W>(W a, W b) { return std::copysign(a, b); }>(all);
  all.add<NextafterOp, nextafter>();
}

void addBitwise(Evaluators &all) {
  using namespace prim;
  addBinary<AndOp, []<IntegerWide W>(W a, W b) -> W { return a & b; }>(all);
  addBinary<OrOp, []<IntegerWide W>(W a, W b) -> W { return a | b; }>(all);
  addBinary<XorOp, []<IntegerWide W>(W a, W b) -> W { return a ^ b; }>(all);
  all.add<ShiftLeftOp, shiftLeft>();
  addBinary<ShiftRightOp, ShiftRight{}>(all);
  all.add<NotOp, onBits<NotOp, complement>>();
}

} // namespace

void addElementwise(Evaluators &all) {
  addFieldFunctions(all);
  addRealFunctions(all);
  addArithmetic(all);
  addBitwise(all);
}

} // namespace tcc::reference
