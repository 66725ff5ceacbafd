// Factors of matrices, and what is solved with them, by the threads of a block: on the simulated
// device against the reference interpreter, for extents that end within a panel.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

std::string typeText(llvm::ArrayRef<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + element + ">";
}

DType typeOf(const std::string &element) { return element == "f32" ? DType::F32 : DType::F64; }

/// A function of `operands` that gives all of `results`.
std::string call(llvm::ArrayRef<std::string> operands, llvm::ArrayRef<std::string> results,
                 const std::string &op, const std::string &flags = "") {
  std::string arguments, names, from, given, to;
  for (auto [i, type] : llvm::enumerate(operands)) {
    std::string comma = i ? ", " : "", name = "%x" + std::to_string(i);
    arguments += comma + name + ": " + type;
    names += comma + name;
    from += comma + type;
  }
  for (auto [i, type] : llvm::enumerate(results)) {
    std::string comma = i ? ", " : "";
    given += comma + "%r" + std::to_string(i);
    to += comma + type;
  }
  return "func.func @main(" + arguments + ") -> (" + to + ") {\n  " + given + " = prim." + op +
         " " + names + " " + flags + " : (" + from + ") -> (" + to + ")\n  return " + given +
         " : " + to + "\n}\n";
}

std::string lu(int64_t batch, int64_t n, int64_t m, const std::string &element,
               const std::string &flags = "") {
  std::string x = typeText({batch, n, m}, element), i = typeText({batch, n}, "i64");
  return call(x, {x, i, i}, "lu", flags);
}

std::string qr(int64_t batch, int64_t n, int64_t m, const std::string &element) {
  std::string x = typeText({batch, n, m}, element);
  return call(x, {x, typeText({batch, n}, element)}, "qr");
}

/// Random with `more` on the diagonals.
Tensor withDiagonal(DType type, int64_t batch, int64_t n, int64_t m, double more) {
  Tensor x = random(type, {batch, n, m});
  std::vector<double> values = x.reals();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < std::min(n, m); ++i)
      values[(b * n + i) * m + i] += more;
  return Tensor::ofReals(type, x.shape(), values);
}

/// Symmetric and positive definite.
Tensor positive(DType type, int64_t batch, int64_t n) {
  Tensor x = withDiagonal(type, batch, n, n, 4.0 * n);
  std::vector<double> values = x.reals();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        values[(b * n + j) * n + i] = values[(b * n + i) * n + j];
  return Tensor::ofReals(type, x.shape(), values);
}

/// T of which the diagonal is `more` and the rest small.
Tensor triangle(DType type, int64_t batch, int64_t n, double more) {
  Tensor x = random(type, {batch, n, n});
  std::vector<double> values = x.reals();
  for (int64_t i = 0; i < x.elements(); ++i)
    values[i] = values[i] / n + (i % (n * n) % (n + 1) == 0 ? more : 0);
  return Tensor::ofReals(type, x.shape(), values);
}

struct Extents {
  int64_t n, m;
};

} // namespace

TEST_CASE("LU and QR of matrices of many shapes by a block") {
  for (const std::string element : {"f32", "f64"})
    for (auto [n, m] : {Extents{1, 1},
                        {3, 3},
                        {5, 9},
                        {9, 5},
                        {16, 16},
                        {17, 40},
                        {40, 17},
                        {33, 33},
                        {70, 70},
                        {64, 24},
                        {24, 64},
                        {20, 300}}) {
      INFO(element << " " << n << " x " << m);
      Tensor x = random(typeOf(element), {2, n, m});
      check(lu(2, n, m, element), {x});
      check(lu(2, n, m, element, "{pivoting = false}"),
            {withDiagonal(typeOf(element), 2, n, m, 4.0 * n)});
      check(qr(2, n, m, element), {x});
    }
}

TEST_CASE("a matrix without an inverse has zeros for pivots") {
  std::vector<double> values(20 * 20);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 20; ++j)
      values[i * 20 + j] = j == 7 ? 0 : double((i * 7 + j * 3) % 11) - 5 + (i == j ? 16 : 0);
  Tensor x = Tensor::ofReals(DType::F64, {1, 20, 20}, values);
  check(lu(1, 20, 20, "f64"), {x});
  check(qr(1, 20, 20, "f64"), {x});
  Tensor zeros = Tensor::ofReals(DType::F32, {1, 18, 18}, std::vector<double>(18 * 18));
  check(lu(1, 18, 18, "f32"), {zeros});
  check(qr(1, 18, 18, "f32"), {zeros});
}

TEST_CASE("what is solved with matrices by a block") {
  for (const std::string element : {"f32", "f64"})
    for (auto [n, m] : {Extents{1, 1}, {5, 1}, {16, 3}, {33, 7}, {48, 50}, {70, 64}}) {
      INFO(element << " " << n << " x " << m);
      DType type = typeOf(element);
      std::string t = typeText({2, n, n}, element), x = typeText({2, n, m}, element);
      Tensor sides = random(type, {2, n, m});
      for (const char *unit : {"false", "true"})
        for (const char *upper : {"false", "true"}) {
          std::string flags = std::string("{unit = ") + unit + ", upper = " + upper + "}";
          Tensor left = triangle(type, 2, n, unit == std::string("true") ? 1 : 3);
          check(call({t, x}, {x}, "triangular_solve", flags), {left, sides});
        }
      check(call({t}, {t}, "cholesky"), {positive(type, 2, n)});
      std::string tau = typeText({2, n}, element);
      check(call({t, tau, x}, {x}, "reflect"),
            {triangle(type, 2, n, 0), random(type, {2, n}), sides});
    }
}

TEST_CASE("fewer reflections than columns, of many rows") {
  std::string packed = typeText({90, 21}, "f32"), y = typeText({90, 5}, "f32");
  Tensor v = random(DType::F32, {90, 21}, -0.1, 0.1), x = random(DType::F32, {90, 5});
  check(call({packed, typeText({19}, "f32"), y}, {y}, "reflect"), {v, random(DType::F32, {19}), x});
}

TEST_CASE("a matrix that is not positive definite shows on the diagonal") {
  std::vector<double> values(40 * 40);
  for (int64_t i = 0; i < 40; ++i)
    values[i * 41] = i == 21 ? -1 : 4;
  std::string x = typeText({40, 40}, "f32");
  // From there on all is NaN, the interpreter's as well.
  check(call({x}, {x}, "cholesky"), {Tensor::ofReals(DType::F32, {40, 40}, values)});
}

TEST_CASE("ptxas takes kernels of matrices, without spills", "[long]") {
  for (const char *name : {"sm_80", "sm_90a"}) {
    const GpuArch &arch = *GpuArch::find(name);
    for (auto [n, element] :
         {std::pair(16, "f32"), {256, "f32"}, {1024, "f32"}, {100, "f64"}, {512, "f64"}}) {
      INFO(name << " " << n << " " << element);
      std::string t = typeText({n, n}, element), tau = typeText({n}, element);
      std::string places = typeText({n}, "i64");
      for (const std::string &text :
           {call({t}, {t, places, places}, "lu"), call({t}, {t}, "cholesky"),
            call({t}, {t, tau}, "qr"), call({t, tau, t}, {t}, "reflect"),
            call({t, t}, {t}, "triangular_solve", "{unit = false, upper = true}")}) {
        INFO(text);
        checkAssembles(ptxOf(text, arch), arch);
      }
    }
  }
}
