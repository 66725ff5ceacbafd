// The functions that the math dialect lacks, on f32 and f64 vectors, and exponentials whose range
// is known.
#include "KernelRunner.h"
#include "VectorMathCases.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>

using namespace tcc;

namespace {

using EmitFunction = mlir::Value (*)(mlir::ImplicitLocOpBuilder &, mlir::Value);

/// Applies `function` to `x`, a multiple of 8 values, 8 at a time.
template <typename T> std::vector<T> apply(EmitFunction function, std::vector<T> x) {
  std::string type = sizeof(T) == 4 ? "vector<8xf32>" : "vector<8xf64>";
  std::string element = sizeof(T) == 4 ? "f32" : "f64";
  std::string text = R"(func.func @k(%args: !llvm.ptr, %begin: i64, %end: i64) {
    %p1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %ax = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %ay = llvm.load %p1 : !llvm.ptr -> !llvm.ptr
    %step = arith.constant 8 : i64
    scf.for %i = %begin to %end step %step : i64 {
      %px = llvm.getelementptr %ax[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
                     element + R"(
      %py = llvm.getelementptr %ay[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
                     element + R"(
      %x = llvm.load %px {alignment = 4 : i64} : !llvm.ptr -> )" +
                     type + R"(
      %r = arith.negf %x {replaced} : )" +
                     type + R"(
      llvm.store %r, %py {alignment = 4 : i64} : )" +
                     type + ", !llvm.ptr\n}\nreturn\n}";
  auto context = test::kernelContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  module->walk([&](mlir::arith::NegFOp op) {
    if (!op->hasAttr("replaced"))
      return;
    mlir::ImplicitLocOpBuilder builder(op.getLoc(), op);
    op.replaceAllUsesWith(function(builder, op.getOperand()));
    op.erase();
  });
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("native"));
  codegen::expandMath(*module, codegen::ExpandMathOptions::forTarget(cpu));
  test::CompiledKernels kernels(*module, cpu);
  std::vector<T> y(x.size());
  int64_t args[] = {reinterpret_cast<int64_t>(x.data()), reinterpret_cast<int64_t>(y.data())};
  kernels.get("k")(args, 0, x.size());
  return y;
}

/// The largest error where `x` is in [low, high], against a long double reference.
template <typename T>
double worst(EmitFunction function, double low, double high, long double (*exact)(long double),
             size_t count = 1 << 16) {
  std::vector<T> x(count);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(low + (high - low) * i / (x.size() - 1));
  std::vector<T> y = apply<T>(function, x);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
    double ulps = test::ulpError<T, Wide>(y[i], static_cast<Wide>(exact(x[i])));
    if (ulps > largest) {
      largest = ulps;
      UNSCOPED_INFO("f(" << double(x[i]) << ") = " << double(y[i]) << ", exactly "
                         << double(exact(x[i])) << ", off by " << ulps << " ulp");
    }
  }
  return largest;
}

const double infinity = INFINITY;

mlir::Value expNotPositive(mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
  auto result = mlir::math::ExpOp::create(b, x);
  result->setAttr(codegen::kNotPositive, b.getUnitAttr());
  return result;
}

mlir::Value sigmoid(mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
  auto type = mlir::cast<mlir::ShapedType>(x.getType());
  mlir::Attribute number = b.getFloatAttr(type.getElementType(), 1.0);
  mlir::Value one = mlir::arith::ConstantOp::create(b, mlir::DenseElementsAttr::get(type, number));
  mlir::Value e = mlir::math::ExpOp::create(b, mlir::arith::NegFOp::create(b, x));
  return mlir::arith::DivFOp::create(b, one, mlir::arith::AddFOp::create(b, one, e));
}

long double exactSigmoid(long double x) { return 1 / (1 + expl(-x)); }
long double exactExp(long double x) { return expl(x); }
long double exactLgamma(long double x) { return lgammal(x); }

mlir::Value lgamma(mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
  return codegen::emitLgamma(b, x);
}
long double exactI0(long double x) { return std::cyl_bessel_il(0, std::abs(x)); }
long double exactI1(long double x) { return std::copysign(std::cyl_bessel_il(1, std::abs(x)), x); }

} // namespace

TEST_CASE("dense accuracy of functions that math lacks", "[.dense]") {
  constexpr size_t kMany = 4 << 20, kFew = 1 << 18;
  auto print = [](const char *name, double ulps) { std::printf("%-28s %.3f ulp\n", name, ulps); };
  print("exp, f32, [-103, 0]", worst<float>(expNotPositive, -103, 0, exactExp, kMany));
  print("exp, f32, [-1, 0]", worst<float>(expNotPositive, -1, 0, exactExp, kMany));
  print("exp, f64, [-700, 0]", worst<double>(expNotPositive, -700, 0, exactExp, kMany));
  print("exp, f64, [-1, 0]", worst<double>(expNotPositive, -1, 0, exactExp, kMany));
  print("sigmoid, f32, [-89, 100]", worst<float>(sigmoid, -89, 100, exactSigmoid, kMany));
  print("sigmoid, f32, [-2, 2]", worst<float>(sigmoid, -2, 2, exactSigmoid, kMany));
  print("sigmoid, f64, [-700, 40]", worst<double>(sigmoid, -700, 40, exactSigmoid, kMany));
  print("lgamma, f32, [0.1, 40]", worst<float>(lgamma, 0.1, 40, exactLgamma, kMany));
  print("lgamma, f64, [5, 400]", worst<double>(lgamma, 5, 400, exactLgamma, kMany));
  print("i0, f32, [-80, 80]", worst<float>(codegen::emitBesselI0, -80, 80, exactI0, kFew));
  print("i1, f32, [-80, 80]", worst<float>(codegen::emitBesselI1, -80, 80, exactI1, kFew));
  print("i0, f64, [0, 600]", worst<double>(codegen::emitBesselI0, 0, 600, exactI0, kFew));
}

TEST_CASE("exponentials that need no choice of factors") {
  CHECK(worst<float>(expNotPositive, -103, 0, exactExp) <= 0.9);
  CHECK(worst<float>(expNotPositive, -1e-3, 0, exactExp) <= 0.9);
  CHECK(worst<double>(expNotPositive, -700, 0, exactExp) <= 1);
  std::vector<float> y =
      apply<float>(expNotPositive, {float(-infinity), -1e30f, -200, -104, 0, -0.0f, NAN, -50});
  CHECK((y[0] == 0 && y[1] == 0 && y[2] == 0 && y[3] == 0 && y[4] == 1 && y[5] == 1));
  CHECK(std::isnan(y[6]));

  CHECK(worst<float>(sigmoid, -89, 100, exactSigmoid) <= 2.5);
  CHECK(worst<float>(sigmoid, -2, 2, exactSigmoid) <= 2.5);
  y = apply<float>(sigmoid,
                   {float(-infinity), float(infinity), -1e30f, 1e30f, 0, -0.0f, NAN, -100});
  CHECK((y[0] == 0 && y[1] == 1 && y[2] == 0 && y[3] == 1 && y[4] == 0.5f && y[5] == 0.5f));
  CHECK((std::isnan(y[6]) && y[7] == 0));
}

TEST_CASE("lgamma") {
  CHECK(worst<float>(lgamma, 0.1, 40, exactLgamma) <= 0.51);
  CHECK(worst<double>(lgamma, 5, 400, exactLgamma) <= 2.1);
}

/// `function` of numbers that are not rounded to 16 bits.
template <mlir::Value (*function)(mlir::ImplicitLocOpBuilder &, mlir::Value, bool)>
mlir::Value wide(mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
  return function(b, x, /*narrow=*/false);
}

using EmitNarrow = mlir::Value (*)(mlir::ImplicitLocOpBuilder &, mlir::Value, bool);

/// `function` on numbers of `Element`.
template <typename Element, EmitNarrow function>
mlir::Value narrowed(mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
  auto type = mlir::cast<mlir::ShapedType>(x.getType());
  mlir::Type narrow = type.clone(Element::get(b.getContext()));
  mlir::Value rounded = mlir::arith::TruncFOp::create(b, narrow, x);
  x = mlir::arith::ExtFOp::create(b, type, rounded);
  mlir::Value y = function(b, x, /*narrow=*/true);
  y = mlir::arith::TruncFOp::create(b, narrow, y);
  return mlir::arith::ExtFOp::create(b, type, y);
}

/// The largest error of all numbers with so many bits of exponent and mantissa, in units of the
/// last place: of those above 0, and below, where 2^-20 more do not count. Between the poles the
/// function has zeros.
std::pair<double, double> worstOfAll(EmitFunction function, long double (*exactly)(long double),
                                     int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  std::vector<float> x;
  for (int sign : {1, -1})
    for (int raw = 0; raw < ((1 << exponentBits) - 1) << mantissaBits; ++raw) {
      int exponent = raw >> mantissaBits, mantissa = raw & ((1 << mantissaBits) - 1);
      double value = exponent ? std::ldexp((1 << mantissaBits) + mantissa, exponent - bias)
                              : std::ldexp(mantissa, 1 - bias);
      x.push_back(static_cast<float>(sign * std::ldexp(value, -mantissaBits)));
    }
  std::vector<float> y = apply<float>(function, x);
  double largest[2] = {};
  for (size_t i = 0; i < x.size(); ++i) {
    long double exact = exactly(x[i]);
    if (std::isnan(exact)) {
      CHECK(std::isnan(y[i]));
      continue;
    }
    bool overflows = std::fabs(exact) >= std::ldexp(2 - std::ldexp(0.5, -mantissaBits), bias);
    if (overflows) {
      INFO("of " << x[i] << ": " << y[i]);
      CHECK(std::isinf(y[i]));
      continue;
    }
    int exponent = std::max(exact == 0 ? 1 - bias : std::ilogb(double(exact)), 1 - bias);
    double error = std::fabs(double(y[i] - exact)) - (x[i] < 0 ? 0x1p-20 : 0);
    double ulps = error / std::ldexp(1.0, exponent - mantissaBits);
    double &there = largest[x[i] < 0];
    if (!(ulps <= there)) {
      UNSCOPED_INFO("of " << x[i] << ": " << y[i] << ", exactly " << double(exact));
      there = ulps;
    }
  }
  return {largest[0], largest[1]};
}

/// By the asymptotic series from 20 on.
long double exactDigamma(long double x) {
  constexpr long double pi = 3.14159265358979323846264338327950288L;
  if (x == 0)
    return std::signbit(x) ? INFINITY : -INFINITY;
  if (x < 0 && x == std::floor(x))
    return NAN;
  if (x < 0)
    return exactDigamma(1 - x) - pi / std::tan(pi * (x - std::round(x)));
  long double below = 0;
  for (; x < 20; x += 1)
    below += 1 / x;
  long double z = 1 / (x * x);
  long double series =
      z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132)))));
  return std::log(x) - 0.5L / x - series - below;
}

/// Whether the largest errors over all numbers of 16 bits are those of rounding, and hardly more.
template <EmitNarrow function> void checkNarrow(long double (*exactly)(long double)) {
  auto [half, negativeHalf] = worstOfAll(narrowed<mlir::Float16Type, function>, exactly, 5, 10);
  auto [brain, negativeBrain] = worstOfAll(narrowed<mlir::BFloat16Type, function>, exactly, 8, 7);
  CHECK(half <= 0.52);
  CHECK(negativeHalf <= 0.52);
  CHECK(brain <= 0.51);
  CHECK(negativeBrain <= 0.51);
}

TEST_CASE("lgamma and digamma of 16 bits") {
  SECTION("lgamma") { checkNarrow<codegen::emitLgamma>(exactLgamma); }
  SECTION("digamma") { checkNarrow<codegen::emitDigamma>(exactDigamma); }
}

/// By Newton's steps on erfc.
long double exactErfinv(long double x) {
  long double a = std::fabs(x);
  if (a >= 1)
    return a == 1 ? std::copysign(INFINITY, x) : NAN;
  long double y = a < 0.5L ? a : std::sqrt(-std::log(1 - a));
  for (int step = 0; step < 100; ++step)
    y -= (a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y)) /
         (1.1283791670955125738961589L * std::exp(-y * y));
  return std::copysign(y, x);
}

TEST_CASE("erfinv of 16 bits") {
  auto [half, negativeHalf] =
      worstOfAll(narrowed<mlir::Float16Type, codegen::emitErfinv>, exactErfinv, 5, 10);
  auto [brain, negativeBrain] =
      worstOfAll(narrowed<mlir::BFloat16Type, codegen::emitErfinv>, exactErfinv, 8, 7);
  CHECK(half <= 0.52);
  CHECK(negativeHalf <= 0.52);
  CHECK(brain <= 0.51);
  CHECK(negativeBrain <= 0.51);
}

TEST_CASE("digamma") {
  const std::pair<double, double> exact[] = {
      {1e-300, -0x1.7e43c8800759bp+996}, {1e-05, -0x1.86a093c353ea9p+16},
      {0.1, -0x1.4d8f668552b02p+3},      {0.5, -0x1.f6a897d3214fcp+0},
      {1, -0x1.2788cfc6fb619p-1},        {1.4616, -0x1.04f02a764ee0ap-15},
      {2, 0x1.b0ee6072093cep-2},         {3.7, 0x1.2aca9308f7e52p+0},
      {9.99, 0x1.2016f32733d79p+1},      {10, 0x1.20396dc85cc95p+1},
      {15.5, 0x1.5aa773d2666e7p+1},      {1e3, 0x1.ba1078189c03cp+2},
      {1e15, 0x1.144f69ff9ffc4p+5},      {-0.5, 0x1.2aed059bd608ap-5},
      {-1e-05, 0x1.869f6c3a84229p+16},   {-1.5, 0x1.680425af12b5ep-1},
      {-2.75, -0x1.f584a5562319cp+0},    {-10.3, 0x1.2a64d19f6c3ccp+2},
      {-100.25, 0x1.f045737bcae4cp+2},   {2, 0x1.b0ee6072093cep-2},
      {2, 0x1.b0ee6072093cep-2},         {2, 0x1.b0ee6072093cep-2},
      {2, 0x1.b0ee6072093cep-2},         {2, 0x1.b0ee6072093cep-2}};
  std::vector<double> x;
  for (auto [argument, value] : exact)
    x.push_back(argument);
  std::vector<double> y = apply<double>(wide<codegen::emitDigamma>, x);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO("digamma(" << x[i] << ") = " << y[i]);
    CHECK(std::abs(y[i] - exact[i].second) <= 1e-15 + 4e-15 * std::abs(exact[i].second));
  }
  std::vector<float> edges =
      apply<float>(wide<codegen::emitDigamma>, {0.f, -0.f, -1, -7, INFINITY, -INFINITY, NAN, 1});
  CHECK(edges[0] == -infinity);
  CHECK(edges[1] == infinity);
  for (int i : {2, 3, 5, 6})
    CHECK(std::isnan(edges[i]));
  CHECK(edges[4] == infinity);
  CHECK(edges[7] == -0x1.2788cfp-1f);
}

TEST_CASE("erfinv inverts erf") {
  std::vector<float> x;
  for (int i = -2000; i < 2000; ++i)
    x.push_back(i / 2000.f);
  for (int i = 0; i < 24; ++i)
    x.push_back(1 - std::ldexp(1.f, -i - 1));
  std::vector<float> y = apply<float>(wide<codegen::emitErfinv>, x);
  CHECK(y[0] == -infinity);
  double largest = 0;
  for (size_t i = 1; i < x.size(); ++i) {
    if (x[i] == 0) {
      CHECK(y[i] == 0);
      continue;
    }
    // erf(y) - x over its derivative is how far y is from the exact value.
    long double v = y[i], wrong = x[i] > 0.5 ? (1 - (long double)x[i]) - erfcl(v)
                                             : erfl(v) - (long double)x[i];
    long double distance = wrong / (1.1283791670955125738961589L * expl(-v * v));
    double ulps = std::abs(double(distance)) / std::ldexp(1.0, std::ilogb(y[i]) - 23);
    largest = std::max(largest, ulps);
  }
  CHECK(largest <= 0.51);
  std::vector<double> edges =
      apply<double>(wide<codegen::emitErfinv>, {1, -1, 1.5, NAN, -0.0, 0.5, 0.9999999999, 1e-300});
  CHECK(edges[0] == infinity);
  CHECK(edges[1] == -infinity);
  CHECK(std::isnan(edges[2]));
  CHECK(std::isnan(edges[3]));
  CHECK(std::signbit(edges[4]));
  CHECK(edges[5] == Approx(0.47693627620446987338).epsilon(1e-15));
  CHECK(edges[6] == Approx(4.5728249585449249378).epsilon(1e-14));
  CHECK(edges[7] == Approx(0.88622692545275801365e-300).epsilon(1e-15));
}

TEST_CASE("modified Bessel functions of 16 bits") {
  constexpr size_t kFew = 1 << 12;
  auto i0 = [](mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
    return codegen::emitRoughBessel(b, x, /*first=*/false);
  };
  auto i1 = [](mlir::ImplicitLocOpBuilder &b, mlir::Value x) {
    return codegen::emitRoughBessel(b, x, /*first=*/true);
  };
  // Units of f32, of which a unit of f16 has 8192.
  CHECK(worst<float>(i0, -80, 80, exactI0, kFew) <= 64);
  CHECK(worst<float>(i1, -80, 80, exactI1, kFew) <= 64);
  CHECK(apply<float>(i0, {0.f, -0.f, INFINITY, -INFINITY, 200, -200, 1e-30f, 1e30f}) ==
        std::vector<float>{1, 1, INFINITY, INFINITY, INFINITY, INFINITY, 1, INFINITY});
  std::vector<float> y = apply<float>(i1, {0.f, -0.f, 1e-30f, INFINITY, -INFINITY, NAN, 200, -200});
  CHECK((y[0] == 0 && !std::signbit(y[0]) && std::signbit(y[1]) &&
         std::abs(y[2] / 5e-31f - 1) < 1e-5f));
  CHECK((y[3] == INFINITY && y[4] == -INFINITY && std::isnan(y[5]) && y[6] == INFINITY));
}

TEST_CASE("modified Bessel functions") {
  constexpr size_t kFew = 4096; // the reference is slow
  CHECK(worst<float>(codegen::emitBesselI0, -80, 80, exactI0, kFew) <= 0.51);
  CHECK(worst<float>(codegen::emitBesselI1, -80, 80, exactI1, kFew) <= 0.51);
  CHECK(worst<double>(codegen::emitBesselI0, 0, 600, exactI0, kFew) <= 5);
  std::vector<float> edges =
      apply<float>(codegen::emitBesselI1, {0.f, -0.f, 1e-30f, INFINITY, -INFINITY, NAN, 200, -200});
  CHECK(edges[0] == 0);
  CHECK(std::signbit(edges[1]));
  CHECK(edges[2] == 0.5e-30f);
  CHECK(edges[3] == infinity);
  CHECK(edges[4] == -infinity);
  CHECK(std::isnan(edges[5]));
  CHECK(edges[6] == infinity);
  CHECK(edges[7] == -infinity);
}
