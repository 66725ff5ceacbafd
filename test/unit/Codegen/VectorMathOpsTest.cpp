// Operations, types and shapes that VectorMathTest's table of functions leaves out.
#include "KernelRunner.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>

using namespace tcc;

namespace {

/// A kernel that computes %r : `rType` of %x : `xType` and %y : `yType`, read from and
/// written to the arrays of its arguments.
struct Compiled {
  std::unique_ptr<mlir::MLIRContext> context = test::kernelContext();
  std::unique_ptr<test::CompiledKernels> kernels;

  Compiled(const std::string &xType, const std::string &yType, const std::string &rType,
           const std::string &body, const char *cpu = "native", bool rough = false) {
    auto access = [](const std::string &type) { return " {alignment = 1 : i64} : " + type; };
    std::string text = R"(func.func @k(%args: !llvm.ptr, %begin: i64, %end: i64) {
      %p1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %p2 = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, i64
      %ax = llvm.load %args : !llvm.ptr -> !llvm.ptr
      %ay = llvm.load %p1 : !llvm.ptr -> !llvm.ptr
      %ar = llvm.load %p2 : !llvm.ptr -> !llvm.ptr
      %x = llvm.load %ax)" +
                       access("!llvm.ptr -> " + xType) + "\n%y = llvm.load %ay" +
                       access("!llvm.ptr -> " + yType) + "\n" + body + "\nllvm.store %r, %ar" +
                       access(rType + ", !llvm.ptr") + "\nreturn\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    REQUIRE(module);
    CpuTarget target = llvm::cantFail(CpuTarget::create(cpu));
    auto options = codegen::ExpandMathOptions::forTarget(target);
    options.roughWhereNarrowed = rough;
    codegen::expandMath(*module, options);
    REQUIRE(mlir::succeeded(mlir::verify(*module)));
    kernels = std::make_unique<test::CompiledKernels>(*module, target);
  }
  void run(const void *x, const void *y, void *r) const {
    int64_t args[] = {reinterpret_cast<int64_t>(x), reinterpret_cast<int64_t>(y),
                      reinterpret_cast<int64_t>(r)};
    kernels->get("k")(args, 0, 1);
  }
};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// `x` rounded to nearest even, of the two bf16 values around it.
float nearestBfloat(float x) {
  if (!std::isfinite(x))
    return x;
  uint32_t bits = bitsOf(x), down = bits & 0xffff0000, rest = bits & 0xffff;
  bool up = rest > 0x8000 || (rest == 0x8000 && (down >> 16 & 1));
  return fromBits(up ? down + 0x10000 : down);
}

} // namespace

TEST_CASE("math.fma is exact where the target has no such instruction") {
  Compiled kernel("vector<16xf32>", "vector<16xf32>", "vector<16xf32>",
                  "%r = math.fma %x, %y, %x : vector<16xf32>", "v2");
  test::KernelFn fn = kernel.kernels->get("k");
  float x[16], y[16], r[16];
  int64_t args[] = {reinterpret_cast<int64_t>(x), reinterpret_cast<int64_t>(y),
                    reinterpret_cast<int64_t>(r)};
  std::mt19937 random(1);
  for (int round = 0; round < 100000; ++round) {
    for (int i = 0; i < 16; ++i) {
      uint32_t a = random(), b = random();
      if (i % 2) // x * y nearly cancels x
        b = 0xbf800000 + static_cast<int32_t>(b % 65) - 32;
      std::memcpy(&x[i], &a, 4), std::memcpy(&y[i], &b, 4);
    }
    fn(args, 0, 1);
    for (int i = 0; i < 16; ++i)
      if (float want = std::fma(x[i], y[i], x[i]);
          !(r[i] == want || (std::isnan(r[i]) && std::isnan(want))))
        FAIL("fma(" << x[i] << ", " << y[i] << ") = " << r[i] << ", exactly " << want);
  }
}

TEST_CASE("powers with a known exponent") {
  for (double y : {0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 2.5}) {
    Compiled kernel("vector<16xf32>", "vector<16xf32>", "vector<16xf32>",
                    "%c = arith.constant dense<" + std::to_string(y) +
                        "> : vector<16xf32>\n%r = math.powf %x, %c : vector<16xf32>");
    float x[16] = {0,   -0.f, 1,    -1,     2,      -2,       0.3f,      1e20f,
                   NAN, 7,    9.5f, 1e-20f, 3e-39f, INFINITY, -INFINITY, 123456};
    float r[16];
    kernel.run(x, x, r);
    for (int i = 0; i < 16; ++i) {
      double want = std::pow(double(x[i]), y);
      INFO(x[i] << "^" << y << " = " << r[i] << ", exactly " << want);
      double ulp = std::max(std::abs(want) * 0x1p-23, 0x1p-149);
      CHECK((same(r[i], static_cast<float>(want)) || std::abs(r[i] - want) <= 1.5 * ulp));
    }
  }
}

TEST_CASE("narrow types are computed in f32") {
  for (const std::string &cpu : test::hostLevels()) {
    INFO(cpu);
    Compiled kernel("vector<16xf16>", "vector<16xbf16>", "vector<16xf32>", R"(
    %s = math.sin %x : vector<16xf16>
    %c = math.cos %x : vector<16xf16>
    %q = math.sqrt %y : vector<16xbf16>
    %s32 = arith.extf %s : vector<16xf16> to vector<16xf32>
    %c32 = arith.extf %c : vector<16xf16> to vector<16xf32>
    %q32 = arith.extf %q : vector<16xbf16> to vector<16xf32>
    %t = arith.mulf %s32, %c32 : vector<16xf32>
    %r = arith.addf %t, %q32 : vector<16xf32>)",
                    cpu.c_str());
    _Float16 x[16];
    uint16_t y[16];
    float r[16];
    for (int i = 0; i < 16; ++i) {
      x[i] = static_cast<_Float16>(i * 0.37f);
      y[i] = 0x4000 + i; // bf16 from 2 up
    }
    kernel.run(x, y, r);
    for (int i = 0; i < 16; ++i) {
      float yf = fromBits(uint32_t(y[i]) << 16);
      float s = static_cast<_Float16>(std::sin(float(x[i])));
      float c = static_cast<_Float16>(std::cos(float(x[i])));
      CHECK(std::abs(r[i] - (s * c + std::sqrt(yf))) <= std::sqrt(yf) * 0x1p-8);
    }
  }
}

TEST_CASE("f32 rounds to bf16 and f16 in the same way on every CPU") {
  // Around every value of the narrow type and every midpoint between two, and random bits.
  std::vector<float> values = {0.f, -0.f, INFINITY, -INFINITY, NAN, 65519.9f, 65520.f, FLT_MAX};
  std::mt19937 random(3);
  for (uint32_t upper = 0; upper < 0x10000; upper += 7)
    for (uint32_t lower : {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0x0fff, 0x1000, 0x1001, 0xffff})
      values.push_back(fromBits(upper << 16 | lower));
  for (int i = 0; i < 100000; ++i)
    values.push_back(fromBits(random()));
  values.resize(values.size() / 16 * 16);
  for (const std::string &cpu : test::hostLevels()) {
    Compiled kernel("vector<16xf32>", "vector<16xf32>", "vector<32xi16>", R"(
    %b = arith.truncf %x : vector<16xf32> to vector<16xbf16>
    %h = arith.truncf %x : vector<16xf32> to vector<16xf16>
    %bi = arith.bitcast %b : vector<16xbf16> to vector<16xi16>
    %hi = arith.bitcast %h : vector<16xf16> to vector<16xi16>
    %r = vector.shuffle %bi, %hi [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]
      : vector<16xi16>, vector<16xi16>)",
                    cpu.c_str());
    test::KernelFn fn = kernel.kernels->get("k");
    uint16_t r[32];
    for (size_t i = 0; i < values.size(); i += 16) {
      int64_t args[] = {reinterpret_cast<int64_t>(&values[i]), 0, reinterpret_cast<int64_t>(r)};
      fn(args, 0, 1);
      for (int k = 0; k < 16; ++k) {
        float x = values[i + k], half = 0;
        _Float16 h;
        std::memcpy(&h, &r[16 + k], 2), half = h;
        float wantHalf = static_cast<_Float16>(x);
        if (!same(half, wantHalf) || !same(fromBits(uint32_t(r[k]) << 16), nearestBfloat(x)))
          FAIL(cpu << ": " << x << " (" << bitsOf(x) << ") gives bf16 " << r[k] << " and f16 "
                   << half);
      }
    }
  }
}

TEST_CASE("every f16 widens to f32") {
  for (const std::string &cpu : test::hostLevels()) {
    Compiled kernel("vector<16xf16>", "vector<16xf16>", "vector<16xf32>",
                    "%r = arith.extf %x : vector<16xf16> to vector<16xf32>", cpu.c_str());
    test::KernelFn fn = kernel.kernels->get("k");
    for (uint32_t code = 0; code < 0x10000; code += 16) {
      uint16_t x[16];
      float r[16];
      for (int i = 0; i < 16; ++i)
        x[i] = code + i;
      int64_t args[] = {reinterpret_cast<int64_t>(x), 0, reinterpret_cast<int64_t>(r)};
      fn(args, 0, 1);
      for (int i = 0; i < 16; ++i) {
        _Float16 h;
        std::memcpy(&h, &x[i], 2);
        if (!same(r[i], static_cast<float>(h)))
          FAIL(cpu << ": " << x[i] << " widens to " << r[i]);
      }
    }
  }
}

TEST_CASE("a vector.fma without the instruction") {
  Compiled kernel("vector<4xf32>", "vector<4xf32>", "vector<4xf32>", R"(
    %r = vector.fma %x, %y, %y : vector<4xf32>)",
                  "v2");
  float x[4] = {-5, 0.5f, 7, NAN}, y[4] = {3, 2, 1, 1}, r[4];
  kernel.run(x, y, r);
  CHECK(r[0] == -12);
  CHECK(r[1] == 3);
  CHECK(r[2] == 8);
  CHECK(std::isnan(r[3]));
}

TEST_CASE("sin and cos of one value share its reduction") {
  auto context = test::kernelContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @k(%x: vector<2x4xf32>) -> (vector<2x4xf32>, vector<2x4xf32>) {
      %c = math.cos %x : vector<2x4xf32>
      %s = math.sin %x : vector<2x4xf32>
      return %s, %c : vector<2x4xf32>, vector<2x4xf32>
    })",
                                                        context.get());
  REQUIRE(module);
  codegen::expandMath(*module);
  int branches = 0, left = 0;
  module->walk([&](mlir::Operation *op) {
    branches += mlir::isa<mlir::scf::IfOp>(op);
    left += mlir::isa<mlir::math::SinOp, mlir::math::CosOp, mlir::math::SincosOp>(op);
  });
  CHECK(branches == 1);
  CHECK(left == 0);
  CHECK(mlir::succeeded(mlir::verify(*module)));
}

TEST_CASE("sines of what is at most 1 need no reduction") {
  struct Case {
    const char *body;
    double (*exact)(double);
  };
  const Case cases[] = {{"%f = math.cos %x : vector<64xf32>\n%r = math.sin %f : vector<64xf32>",
                         [](double x) { return std::sin(std::cos(x)); }},
                        {"%f = math.sin %x : vector<64xf32>\n%r = math.cos %f : vector<64xf32>",
                         [](double x) { return std::cos(std::sin(x)); }},
                        {"%f = math.tanh %x : vector<64xf32>\n%r = math.sin %f : vector<64xf32>",
                         [](double x) { return std::sin(std::tanh(x)); }},
                        {"%f = math.erf %x : vector<64xf32>\n%r = math.cos %f : vector<64xf32>",
                         [](double x) { return std::cos(std::erf(x)); }}};
  for (const Case &c : cases) {
    INFO(c.body);
    Compiled compiled("vector<64xf32>", "f32", "vector<64xf32>", c.body, "native", false);
    double worst = 0;
    for (int step = -200; step < 200; ++step) {
      float x[64], y = 0, r[64];
      for (int i = 0; i < 64; ++i)
        x[i] = static_cast<float>((step + i / 64.0) * 0.06);
      compiled.run(x, &y, r);
      for (int i = 0; i < 64; ++i) {
        double want = c.exact(x[i]);
        worst = std::max(worst, std::abs(r[i] - want) / (std::abs(want) + 1e-30));
      }
    }
    // Three units of the last place, of both functions.
    CHECK(worst < 3 * 0x1p-23);
  }
  auto context = test::kernelContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @k(%x: vector<4xf32>) -> vector<4xf32> {
      %c = math.cos %x : vector<4xf32>
      %s = math.sin %c : vector<4xf32>
      return %s : vector<4xf32>
    })",
                                                        context.get());
  REQUIRE(module);
  codegen::expandMath(*module);
  int branches = 0;
  module->walk([&](mlir::scf::IfOp) { ++branches; });
  CHECK(branches == 1);
}

TEST_CASE("what is only rounded to bf16 is computed to 17 bits") {
  struct Case {
    const char *body; ///< %g from %x
    double (*exact)(double);
  };
  const Case cases[] = {
      {R"(%c = arith.constant dense<0.707106769> : vector<64xf32>
          %z = arith.mulf %x, %c : vector<64xf32>
          %f = math.erf %z : vector<64xf32>
          %s = arith.addf %f, %one : vector<64xf32>
          %h = arith.mulf %x, %half : vector<64xf32>
          %g = arith.mulf %h, %s : vector<64xf32>)",
       [](double x) { return 0.5 * x * std::erfc(-x * double(0.707106769f)); }},
      {R"(%z = arith.mulf %x, %half : vector<64xf32>
          %f = math.tanh %z : vector<64xf32>
          %s = arith.addf %one, %f : vector<64xf32>
          %g = arith.mulf %x, %s : vector<64xf32>)",
       [](double x) { return 2 * x / (1 + std::exp(-x)); }},
      {R"(%k = arith.constant dense<1.7> : vector<64xf32>
          %z = arith.mulf %k, %x : vector<64xf32>
          %f = math.tanh %z : vector<64xf32>
          %s = arith.addf %f, %one : vector<64xf32>
          %h = arith.mulf %half, %x : vector<64xf32>
          %g = arith.mulf %s, %h : vector<64xf32>)",
       [](double x) { return x / (1 + std::exp(-2 * double(1.7f) * x)); }},
      {R"(%n = arith.negf %x : vector<64xf32>
          %f = math.exp %n : vector<64xf32>
          %s = arith.addf %one, %f : vector<64xf32>
          %g = arith.divf %x, %s : vector<64xf32>)",
       [](double x) { return x / (1 + std::exp(-x)); }},
      {"%g = math.exp %x : vector<64xf32>", [](double x) { return std::exp(x); }},
      {R"(%d = arith.constant 3.7e-20 : f32
          %s = vector.broadcast %d : f32 to vector<64xf32>
          %g = arith.divf %x, %s : vector<64xf32>)",
       [](double x) { return x / double(3.7e-20f); }},
      {"%g = math.sin %x : vector<64xf32>", [](double x) { return std::sin(x); }},
      {"%g = math.cos %x : vector<64xf32>", [](double x) { return std::cos(x); }},
      {"%g = math.tan %x : vector<64xf32>", [](double x) { return std::tan(x); }},
      {"%g = math.asinh %x : vector<64xf32>", [](double x) { return std::asinh(x); }},
      {"%z = arith.mulf %x, %large : vector<64xf32>\n%g = math.asinh %z : vector<64xf32>",
       [](double x) { return std::asinh(double(float(x) * 1.0e37f)); }},
      {"%g = math.acosh %x : vector<64xf32>", [](double x) { return std::acosh(x); }},
      {"%z = arith.mulf %x, %small : vector<64xf32>\n%g = math.atanh %z : vector<64xf32>",
       [](double x) { return std::atanh(double(float(x) * 0.08f)); }},
      {"%g = math.atan %x : vector<64xf32>", [](double x) { return std::atan(x); }},
      {"%g = math.sinh %x : vector<64xf32>", [](double x) { return std::sinh(x); }},
      {"%g = math.cosh %x : vector<64xf32>", [](double x) { return std::cosh(x); }},
      {"%g = math.erfc %x : vector<64xf32>", [](double x) { return std::erfc(x); }},
      {R"(%k = arith.constant dense<1.0e5> : vector<64xf32>
          %z = arith.mulf %x, %k : vector<64xf32>
          %g = math.tan %z : vector<64xf32>)",
       [](double x) { return std::tan(double(float(x) * 1.0e5f)); }},
      {R"(%k = arith.constant dense<7.7e3> : vector<64xf32>
          %z = arith.mulf %x, %k : vector<64xf32>
          %g = math.sin %z : vector<64xf32>)",
       [](double x) { return std::sin(double(float(x) * 7.7e3f)); }},
      {R"(%k = arith.constant dense<1.0e5> : vector<64xf32>
          %z = arith.mulf %x, %k : vector<64xf32>
          %g = math.cos %z : vector<64xf32>)",
       [](double x) { return std::cos(double(float(x) * 1.0e5f)); }},
      {R"(%k = arith.constant dense<8.1e3> : vector<64xf32>
          %l = arith.mulf %x, %k : vector<64xf32>
          %n = arith.truncf %l : vector<64xf32> to vector<64xf16>
          %z = arith.extf %n : vector<64xf16> to vector<64xf32>
          %g = math.sin %z : vector<64xf32>)",
       [](double x) { return std::sin(double(_Float16(float(x) * 8.1e3f))); }},
      {R"(
          %g = math.tanh %x : vector<64xf32>)",
       [](double x) { return std::tanh(x); }},
      {R"(%n = arith.truncf %x : vector<64xf32> to vector<64xf16>
          %z = arith.extf %n : vector<64xf16> to vector<64xf32>
          %c = math.cos %z : vector<64xf32>
          %g = math.sin %c : vector<64xf32>)",
       [](double x) { return std::sin(std::cos(double(_Float16(float(x))))); }}};
  for (const Case &c : cases) {
    std::string body = "%one = arith.constant dense<1.0> : vector<64xf32>\n"
                       "%half = arith.constant dense<0.5> : vector<64xf32>\n"
                       "%small = arith.constant dense<0.08> : vector<64xf32>\n"
                       "%large = arith.constant dense<1.0e37> : vector<64xf32>\n" +
                       std::string(c.body) +
                       "\n%r = arith.truncf %g : vector<64xf32> to vector<64xbf16>";
    INFO(body);
    Compiled rough("vector<64xf32>", "f32", "vector<64xbf16>", body, "native", true);
    double worst = 0;
    for (int step = -200; step < 200; ++step) {
      float x[64], y = 0;
      uint16_t r[64];
      for (int i = 0; i < 64; ++i)
        x[i] = static_cast<float>((step + i / 64.0) * 0.06);
      rough.run(x, &y, r);
      for (int i = 0; i < 64; ++i) {
        uint32_t bits = uint32_t(r[i]) << 16;
        float got;
        std::memcpy(&got, &bits, 4);
        double want = c.exact(x[i]);
        worst = std::max(worst, std::abs(got - want) / (std::abs(want) + 1e-9));
      }
    }
    // Half a unit of bf16, and a little.
    CHECK(worst < 0x1p-8 * (1 + 0x1p-7));
  }
  // Infinities, NaN and zeros.
  struct Edge {
    const char *name;
    uint16_t of[4]; // infinity, -infinity, NaN (0x7fc0 stands for any), -0
  } edges[] = {
      {"tanh", {0x3f80, 0xbf80, 0x7fc0, 0x8000}},  {"asinh", {0x7f80, 0xff80, 0x7fc0, 0x8000}},
      {"acosh", {0x7f80, 0x7fc0, 0x7fc0, 0x7fc0}}, {"atanh", {0x7fc0, 0x7fc0, 0x7fc0, 0x8000}},
      {"atan", {0x3fc9, 0xbfc9, 0x7fc0, 0x8000}},  {"sinh", {0x7f80, 0xff80, 0x7fc0, 0x8000}},
      {"cosh", {0x7f80, 0x7f80, 0x7fc0, 0x3f80}},  {"erfc", {0, 0x4000, 0x7fc0, 0x3f80}}};
  for (const Edge &edge : edges) {
    INFO(edge.name);
    Compiled function("vector<4xf32>", "f32", "vector<4xbf16>",
                      "%g = math." + std::string(edge.name) + R"( %x : vector<4xf32>
    %r = arith.truncf %g : vector<4xf32> to vector<4xbf16>)",
                      "native", true);
    float x[4] = {INFINITY, -INFINITY, NAN, -0.0f}, y = 0;
    uint16_t r[4];
    function.run(x, &y, r);
    for (int i = 0; i < 4; ++i)
      CHECK((edge.of[i] == 0x7fc0 ? (r[i] & 0x7fff) > 0x7f80 : r[i] == edge.of[i]));
  }
  Compiled gelu("vector<4xf32>", "f32", "vector<4xbf16>", R"(
    %one = arith.constant dense<1.0> : vector<4xf32>
    %f = math.erf %x : vector<4xf32>
    %g = arith.addf %f, %one : vector<4xf32>
    %r = arith.truncf %g : vector<4xf32> to vector<4xbf16>)",
                "native", true);
  float x[4] = {INFINITY, -INFINITY, NAN, 0}, y = 0;
  uint16_t r[4];
  gelu.run(x, &y, r);
  CHECK(r[0] == 0x4000);
  CHECK(r[1] == 0);
  CHECK((r[2] & 0x7fff) > 0x7f80);
  CHECK(r[3] == 0x3f80);
  x[3] = 0;
  Compiled sine("vector<4xf32>", "f32", "vector<4xbf16>", R"(
    %g = math.sin %x : vector<4xf32>
    %r = arith.truncf %g : vector<4xf32> to vector<4xbf16>)",
                "native", true);
  x[1] = -0.0f;
  sine.run(x, &y, r);
  CHECK((r[0] & 0x7fff) > 0x7f80);
  CHECK(r[1] == 0x8000);
  CHECK((r[2] & 0x7fff) > 0x7f80);
  CHECK(r[3] == 0);
}

namespace {

/// Quotients and remainders of `lanes` integers at a time against C's.
template <typename T> void checkDivision(const std::string &type, int lanes, const char *cpu) {
  bool isSigned = std::is_signed_v<T>;
  std::string vector = "vector<" + std::to_string(lanes) + "x" + type + ">";
  auto compiled = [&](const char *op) {
    return Compiled(
        vector, vector, vector,
        "%r = arith." + std::string(op) + (isSigned ? "si" : "ui") + " %x, %y : " + vector, cpu);
  };
  Compiled quotient = compiled("div"), remainder = compiled("rem");
  std::vector<T> edges = {
      0, 1, 2, 3, 7, 100, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  for (int bit = 3; bit < std::numeric_limits<T>::digits; ++bit)
    for (int off : {-1, 0, 1}) {
      T value = static_cast<T>((uint64_t(1) << bit) + off);
      edges.push_back(value);
      if (isSigned)
        edges.push_back(static_cast<T>(-value));
    }
  std::mt19937_64 random(7);
  std::vector<T> x(lanes), y(lanes), q(lanes), r(lanes);
  for (int round = 0; round < 4000; ++round) {
    for (int lane = 0; lane < lanes; ++lane) {
      auto any = [&]() -> T {
        return random() % 4 ? edges[random() % edges.size()]
                            : static_cast<T>(random() >> (random() % 64));
      };
      x[lane] = any();
      do
        y[lane] = any();
      while (y[lane] == 0 || (isSigned && x[lane] == std::numeric_limits<T>::min() &&
                              y[lane] == static_cast<T>(-1)));
    }
    quotient.run(x.data(), y.data(), q.data());
    remainder.run(x.data(), y.data(), r.data());
    for (int lane = 0; lane < lanes; ++lane) {
      INFO(type << " " << +x[lane] << " / " << +y[lane]);
      REQUIRE(q[lane] == static_cast<T>(x[lane] / y[lane]));
      REQUIRE(r[lane] == static_cast<T>(x[lane] % y[lane]));
    }
  }
}

} // namespace

TEST_CASE("vectors of integers are divided exactly") {
  for (const char *cpu : {"native", "x86-64-v2"}) {
    checkDivision<int8_t>("i8", 32, cpu);
    checkDivision<uint8_t>("i8", 16, cpu);
    checkDivision<int16_t>("i16", 16, cpu);
    checkDivision<uint16_t>("i16", 8, cpu);
    checkDivision<int32_t>("i32", 8, cpu);
    checkDivision<uint32_t>("i32", 8, cpu);
    checkDivision<int64_t>("i64", 4, cpu);
    checkDivision<uint64_t>("i64", 8, cpu);
  }
}
