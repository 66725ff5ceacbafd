// Every function of the math dialect against libm in the next wider type.
//   VectorMathTest            accuracy, on a million arguments a function
//   VectorMathTest '[dense]'  the same on 20 million, with the figures
//   VectorMathTest '[bench]'  ns per element, from cache
#include "tcc/Codegen/Common/VectorMath.h"
#include "KernelRunner.h"
#include "VectorMathCases.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <thread>

using namespace tcc;
using test::MathCase;

namespace {

std::string vectorType(const std::string &element, int lanes) {
  return lanes == 0 ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
}

/// A kernel that applies `op` to x (and y) elementwise into z, `lanes` at a time; 0
/// stands for scalars.
std::string kernelText(const std::string &name, const MathCase &c, const std::string &element,
                       int lanes) {
  std::string type = vectorType(element, lanes);
  std::string load = " = llvm.load %p# {alignment = 4 : i64} : !llvm.ptr -> " + type + "\n";
  std::string text = "func.func @" + name + R"((%args: !llvm.ptr, %begin: i64, %end: i64) {
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %ay = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %y = llvm.load %ay : !llvm.ptr -> !llvm.ptr
  %az = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %z = llvm.load %az : !llvm.ptr -> !llvm.ptr
  %step = arith.constant )" +
                     std::to_string(std::max(lanes, 1)) + R"( : i64
  scf.for %i = %begin to %end step %step : i64 {
)";
  for (std::string p : {"x", "y", "z"})
    text += "    %p" + p + " = llvm.getelementptr %" + p +
            "[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " + element + "\n";
  for (std::string p : {"x", "y"}) {
    if (p == "y" && c.arity == 1)
      continue;
    text += "    %v" + p + " = llvm.load %p" + p + " {alignment = 4 : i64} : !llvm.ptr -> " + type +
            "\n";
  }
  text += "    %r = " + c.op + " %vx" + (c.arity == 2 ? ", %vy" : "") + " : " + type + "\n";
  text +=
      "    llvm.store %r, %pz {alignment = 4 : i64} : " + type + ", !llvm.ptr\n  }\n  return\n}\n";
  return text;
}

const int allLanes[] = {16, 8, 4, 1, 0};
std::string kernelName(const MathCase &c, int lanes) {
  return llvm::StringRef(c.op).split('.').second.str() + "_" + std::to_string(lanes);
}

struct Kernels {
  std::unique_ptr<mlir::MLIRContext> context = test::kernelContext();
  std::unique_ptr<test::CompiledKernels> compiled;

  Kernels(const std::string &element, const char *cpu, llvm::ArrayRef<int> lanes = allLanes) {
    std::string text;
    for (const MathCase &c : test::mathCases())
      for (int n : lanes)
        text += kernelText(kernelName(c, n), c, element, n);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    REQUIRE(module);
    CpuTarget target = llvm::cantFail(CpuTarget::create(cpu));
    codegen::expandMath(*module, codegen::ExpandMathOptions::forTarget(target));
    compiled = std::make_unique<test::CompiledKernels>(*module, target);
  }

  template <typename T>
  std::vector<T> run(const MathCase &c, int lanes, const std::vector<T> &x,
                     const std::vector<T> &y) {
    std::vector<T> z(x.size());
    int64_t args[] = {reinterpret_cast<int64_t>(x.data()), reinterpret_cast<int64_t>(y.data()),
                      reinterpret_cast<int64_t>(z.data())};
    compiled->get(kernelName(c, lanes))(args, 0, x.size());
    return z;
  }
};

struct Worst {
  double ulps = 0;
  double x = 0, y = 0, got = 0, want = 0;
};

template <typename T>
Worst worstError(const MathCase &c, const std::vector<T> &x, const std::vector<T> &y,
                 const std::vector<T> &z) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    double ulps, want;
    if constexpr (sizeof(T) == 4) {
      want = c.exactForF32(x[i], y[i]);
      ulps = test::ulpError<float, double>(z[i], want);
    } else {
      long double exact = c.exact(x[i], y[i]);
      want = static_cast<double>(exact);
      ulps = test::ulpError<double, long double>(z[i], exact);
    }
    if (ulps > worst.ulps)
      worst = {ulps, double(x[i]), double(y[i]), double(z[i]), want};
  }
  return worst;
}

template <typename T> bool sameBits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b));
}

template <typename T> void checkAccuracy(const char *cpu, int64_t count, bool print) {
  constexpr bool isF32 = sizeof(T) == 4;
  Kernels kernels(isF32 ? "f32" : "f64", cpu);
  std::vector<T> x = test::sampleArguments<T>(count, 1), y = test::sampleArguments<T>(count, 2);
  // All special values meet all others.
  for (size_t i = 0; i < 10000; ++i)
    x[i] = test::sampleArguments<T>(100, 1)[i % 100],
    y[i] = test::sampleArguments<T>(100, 1)[i / 100];
  for (const MathCase &c : test::mathCases()) {
    std::vector<T> z = kernels.run(c, 16, x, y);
    Worst worst = worstError(c, x, y, z);
    if (print)
      std::printf("%-14s %s %-6s %.3f ulp at %a, %a\n", c.op.c_str(), isF32 ? "f32" : "f64", cpu,
                  worst.ulps, worst.x, worst.y);
    INFO(c.op << "(" << worst.x << ", " << worst.y << ") = " << worst.got << ", exactly "
              << worst.want);
    CHECK(worst.ulps <= (isF32 ? c.ulpsF32 : c.ulpsF64));
    std::vector<T> fewX(x.begin(), x.begin() + 20000), fewY(y.begin(), y.begin() + 20000);
    for (int lanes : {8, 4, 1, 0}) {
      std::vector<T> other = kernels.run(c, lanes, fewX, fewY);
      int64_t different = 0;
      for (size_t i = 0; i < other.size(); ++i)
        different += !sameBits(other[i], z[i]);
      INFO(c.op << " on " << lanes << " lanes");
      CHECK(different == 0);
    }
  }
}

} // namespace

TEST_CASE("f32 functions are accurate") { checkAccuracy<float>("native", 1 << 20, false); }
TEST_CASE("f32 functions are accurate without fused multiply-add") {
  checkAccuracy<float>("v2", 1 << 20, false);
}
TEST_CASE("functions are accurate on every CPU by name") {
  for (const std::string &cpu : test::hostLevels()) {
    checkAccuracy<float>(cpu.c_str(), 1 << 15, false);
    checkAccuracy<double>(cpu.c_str(), 1 << 15, false);
  }
}
TEST_CASE("f64 functions are accurate") { checkAccuracy<double>("native", 1 << 18, false); }

TEST_CASE("dense accuracy", "[.dense]") {
  checkAccuracy<float>("native", 20 << 20, true);
  checkAccuracy<float>("v2", 4 << 20, true);
  checkAccuracy<double>("native", 4 << 20, true);
  checkAccuracy<double>("v2", 4 << 20, true);
}

TEST_CASE("speed", "[.bench]") {
  // Within the first-level cache; the arrays lie apart so that a store never shares
  // the lower address bits of the next loads.
  constexpr int64_t n = 1024;
  alignas(64) static char memory[3 * (8 * n + 512)];
  for (std::string element : {"f32", "f64"}) {
    const int lanes[] = {16};
    Kernels kernels(element, "native", lanes);
    char *x = memory, *y = x + 8 * n + 512, *z = y + 8 * n + 512;
    for (int64_t i = 0; i < n; ++i)
      for (char *p : {x, y}) {
        double wide = 0.1 + 0.8 * i / n;
        float narrow = wide;
        element == "f32" ? std::memcpy(p + 4 * i, &narrow, 4) : std::memcpy(p + 8 * i, &wide, 8);
      }
    int64_t args[] = {reinterpret_cast<int64_t>(x), reinterpret_cast<int64_t>(y),
                      reinterpret_cast<int64_t>(z)};
    for (const MathCase &c : test::mathCases()) {
      test::KernelFn fn = kernels.compiled->get(kernelName(c, 16));
      auto many = [&] {
        for (int i = 0; i < 100; ++i)
          fn(args, 0, n);
      };
      double seconds = test::measure(many, 0.1).best / 100;
      std::printf("%-14s %s %.3f ns\n", c.op.c_str(), element.c_str(), seconds / n * 1e9);
    }
  }
}
