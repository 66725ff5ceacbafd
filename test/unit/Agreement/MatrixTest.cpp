// Factors of matrices and Fourier transforms: kernels in blocks and lanes beside the interpreter's
// textbook loops, for extents that end within a block and for several CPUs.
#include "../../RandomTensor.h"
#include "../../SpectralCheck.h"
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

std::string typeText(llvm::ArrayRef<int64_t> shape, llvm::StringRef element) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + element.str() + ">";
}

Tensor randomTensor(DType type, llvm::ArrayRef<int64_t> shape, unsigned seed) {
  std::mt19937 engine(seed);
  return test::randomTensor(engine, type, shape, -1, 1);
}

/// Added to each element of the diagonals: what is solved with it is well conditioned.
Tensor withDiagonal(const Tensor &x, double more) {
  std::vector<double> values = x.reals();
  int64_t m = x.shape().back(), n = x.shape().drop_back().back();
  for (int64_t i = 0; i < x.elements(); ++i)
    if (i % m == i / m % n)
      values[i] += more;
  return Tensor::ofReals(x.dtype(), x.shape(), values);
}

mlir::OwningOpRef<mlir::ModuleOp> parsed(const std::string &arguments, const std::string &op,
                                         unsigned results, const std::string &types) {
  std::string names;
  for (unsigned i = 0; i < results; ++i)
    names += (i ? ", %r" : "%r") + std::to_string(i);
  std::string text = "func.func @main(" + arguments + ") -> (" + types + ") {\n  " + names + " = " +
                     op + "\n  return " + names + " : " + types + "\n}\n";
  return mlir::parseSourceString<mlir::ModuleOp>(text, &primContext());
}

/// The largest difference, relative to the largest expected value.
double difference(const Tensor &want, const Tensor &got) {
  std::vector<double> w = want.reals(), g = got.reals();
  double most = 1e-300, worst = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::isnan(w[i]) && std::isnan(g[i]))
      continue;
    most = std::max(most, std::abs(w[i]));
    worst =
        std::max(worst, std::isnan(g[i]) || std::isnan(w[i]) ? HUGE_VAL : std::abs(w[i] - g[i]));
  }
  return want.shape() == got.shape() ? worst / most : HUGE_VAL;
}

void agree(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs, const std::string &cpu, DType type,
           double factor) {
  Outputs want = interpreted(module, inputs);
  llvm::Expected<Outputs> got = compiled(module, inputs, cpu);
  if (!got)
    FAIL(llvm::toString(got.takeError()));
  double unit = type == DType::F64 ? 0x1p-53 : 0x1p-24;
  for (auto [w, g] : llvm::zip_equal(want, *got)) {
    if (w.dtype() == DType::I64)
      CHECK(w.integers() == g.integers());
    else
      CHECK(difference(w, g) < factor * unit);
  }
}

struct Form {
  std::string element;
  DType type;
};
const Form kForms[] = {{"f32", DType::F32}, {"f64", DType::F64}};

/// A baseline that has a few cases only.
bool isOther(const std::string &cpu) { return cpu != runnableCpus().back(); }

} // namespace

TEST_CASE("LU and QR of matrices of many shapes agree with the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (auto [n, m] : {std::pair(1, 1),
                          {3, 3},
                          {5, 9},
                          {9, 5},
                          {16, 16},
                          {17, 40},
                          {40, 17},
                          {33, 33},
                          {70, 70},
                          {64, 24},
                          {24, 64}})
        if (!isOther(cpu) || n == 17)
          DYNAMIC_SECTION(cpu << " " << form.element << " " << n << " x " << m) {
            llvm::SmallVector<int64_t> shape = {2, n, m}, rows = {2, n};
            std::string x = typeText(shape, form.element), i = typeText(rows, "i64"),
                        tau = typeText(rows, form.element);
            Tensor in = randomTensor(form.type, shape, n * 100 + m);
            double factor = 400.0 * std::max(n, m);
            for (std::string flag : {"", "{pivoting = false} "}) {
              std::string types = x + ", " + i + ", " + i;
              auto module = parsed(
                  "%x: " + x, "prim.lu %x " + flag + ": (" + x + ") -> (" + types + ")", 3, types);
              REQUIRE(module);
              agree(*module, flag.empty() ? in : withDiagonal(in, 2.0 * n), cpu, form.type, factor);
            }
            auto module = parsed("%x: " + x, "prim.qr %x : (" + x + ") -> (" + x + ", " + tau + ")",
                                 2, x + ", " + tau);
            REQUIRE(module);
            agree(*module, in, cpu, form.type, factor);
          }
}

constexpr const char *kTriangles[] = {"unit = false, upper = false", "unit = false, upper = true",
                                      "unit = true, upper = false", "unit = true, upper = true"};

/// What is solved with triangles of type `t` and sides of type `x`.
static auto solveOf(const std::string &t, const std::string &x, const std::string &flags) {
  return parsed("%t: " + t + ", %x: " + x,
                "prim.triangular_solve %t, %x {" + flags + "} : (" + t + ", " + x + ") -> " + x, 1,
                x);
}

TEST_CASE("what is solved with matrices agrees with the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (auto [n, m] : {std::pair(1, 1), {5, 1}, {16, 3}, {33, 7}, {48, 150}, {70, 64}})
        if (!isOther(cpu) || n == 33)
          DYNAMIC_SECTION(cpu << " " << form.element << " " << n << " x " << m) {
            std::string t = typeText({2, n, n}, form.element),
                        x = typeText({2, n, m}, form.element), tau = typeText({2, n}, form.element);
            Tensor square = withDiagonal(randomTensor(form.type, {2, n, n}, n), n),
                   sides = randomTensor(form.type, {2, n, m}, m);
            double factor = 100.0 * n;
            for (std::string flags : kTriangles) {
              auto module = solveOf(t, x, flags);
              REQUIRE(module);
              // A diagonal of ones needs small numbers beside it.
              bool unit = llvm::StringRef(flags).starts_with("unit = true");
              Tensor triangle = square;
              if (unit) {
                std::vector<double> values = square.reals();
                for (double &v : values)
                  v /= 2 * n;
                triangle = Tensor::ofReals(form.type, square.shape(), values);
              }
              agree(*module, {triangle, sides}, cpu, form.type, factor);
            }
            // Symmetric with a large diagonal: positive definite.
            std::vector<double> values = square.reals();
            for (int64_t b = 0; b < 2; ++b)
              for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < i; ++j)
                  values[(b * n + j) * n + i] = values[(b * n + i) * n + j];
            Tensor positive = Tensor::ofReals(form.type, square.shape(), values);
            auto factors = parsed("%x: " + t, "prim.cholesky %x : (" + t + ") -> " + t, 1, t);
            REQUIRE(factors);
            agree(*factors, positive, cpu, form.type, factor);
            auto reflect = parsed(
                "%p: " + t + ", %t: " + tau + ", %y: " + x,
                "prim.reflect %p, %t, %y : (" + t + ", " + tau + ", " + x + ") -> " + x, 1, x);
            REQUIRE(reflect);
            agree(
                *reflect,
                {randomTensor(form.type, {2, n, n}, 7), randomTensor(form.type, {2, n}, 8), sides},
                cpu, form.type, factor * 1e4);
          }
}

// Many of few rows are lanes of vectors, the last of which are a part of one.
TEST_CASE("batches of small matrices agree with the interpreter", "[long]") {
  constexpr int64_t kCount = 21;
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (auto [n, m] : {std::pair(1, 1), {2, 1}, {3, 3}, {4, 8}, {5, 2}, {6, 6}, {6, 3}})
        if (!isOther(cpu) || n == 5)
          DYNAMIC_SECTION(cpu << " " << form.element << " " << n << " x " << m) {
            llvm::SmallVector<int64_t> shape = {kCount, n, m}, rows = {kCount, n};
            std::string x = typeText(shape, form.element), i = typeText(rows, "i64"),
                        t = typeText({kCount, n, n}, form.element);
            Tensor in = randomTensor(form.type, shape, n * 100 + m);
            Tensor square = withDiagonal(randomTensor(form.type, {kCount, n, n}, n), 2 * n);
            // In the first of them row 0 is 0, and so is a pivot without exchanges.
            std::vector<double> values = in.reals();
            std::fill_n(values.begin(), m, 0.0);
            in = Tensor::ofReals(form.type, shape, values);
            double factor = 400.0 * std::max(n, m);
            for (std::string flag : {"", "{pivoting = false} "}) {
              std::string types = x + ", " + i + ", " + i;
              auto module = parsed(
                  "%x: " + x, "prim.lu %x " + flag + ": (" + x + ") -> (" + types + ")", 3, types);
              agree(*module, flag.empty() ? in : withDiagonal(in, 2.0 * n), cpu, form.type, factor);
            }
            for (std::string flags : kTriangles)
              agree(*solveOf(t, x, flags), {square, in}, cpu, form.type, factor);
            auto factors = parsed("%x: " + t, "prim.cholesky %x : (" + t + ") -> " + t, 1, t);
            agree(*factors, square, cpu, form.type, factor);
          }
}

TEST_CASE("a matrix that is not positive definite shows on the diagonal", "[long]") {
  auto module =
      parsed("%x: tensor<40x40xf32>", "prim.cholesky %x : (tensor<40x40xf32>) -> tensor<40x40xf32>",
             1, "tensor<40x40xf32>");
  REQUIRE(module);
  std::vector<double> values(1600);
  for (int64_t i = 0; i < 40; ++i)
    values[i * 41] = i == 21 ? -1 : 4;
  llvm::Expected<Outputs> got =
      compiled(*module, Tensor::ofReals(DType::F32, {40, 40}, values), runnableCpus().back());
  if (!got)
    FAIL(llvm::toString(got.takeError()));
  std::vector<double> l = (*got)[0].reals();
  for (int64_t i = 0; i < 40; ++i)
    CHECK((i < 21 ? l[i * 41] == 2 : i > 21 || !(l[i * 41] > 0)));
}

TEST_CASE("eigenvalues and singular values of hard matrices", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (auto [n, m] :
         {std::pair(1, 1), {2, 2}, {3, 2}, {9, 9}, {17, 5}, {33, 33}, {40, 1}, {70, 61}})
      for (bool symmetric : {true, false}) {
        if ((symmetric && n != m) || (isOther(cpu) && n != 9 && n != 17))
          continue;
        DYNAMIC_SECTION(cpu << " " << n << " x " << m << " " << symmetric) {
          int64_t count = 0;
          std::vector<double> x = hardMatrices(n, m, symmetric, count);
          SpectralText text(count, n, m, symmetric);
          Tensor input = Tensor::ofReals(DType::F64, {count, n, m}, x);
          for (bool vectors : {true, false}) {
            auto module = parsed("%x: " + text.in, text.op(vectors), text.results(), text.types);
            REQUIRE(module);
            Outputs want = interpreted(*module, input);
            llvm::Expected<Outputs> got = compiled(*module, input, cpu);
            if (!got)
              FAIL(llvm::toString(got.takeError()));
            std::vector<double> values = want[symmetric ? 1 : 2].reals();
            for (const Outputs *outputs : {&want, &*got})
              checkSpectral(*outputs, values, x, count, n, m, symmetric, vectors);
          }
        }
      }
}

TEST_CASE("what is not finite has no eigenvalues", "[long]") {
  std::vector<double> values(25, 1);
  values[6] = HUGE_VAL;
  auto module = parsed("%x: tensor<5x5xf64>",
                       "prim.symmetric_eigen %x {vectors = true} : (tensor<5x5xf64>) -> "
                       "(tensor<5x5xf64>, tensor<5xf64>, tensor<5x8xf64>)",
                       3, "tensor<5x5xf64>, tensor<5xf64>, tensor<5x8xf64>");
  REQUIRE(module);
  llvm::Expected<Outputs> got =
      compiled(*module, Tensor::ofReals(DType::F64, {5, 5}, values), runnableCpus().back());
  if (!got)
    FAIL(llvm::toString(got.takeError()));
  for (double v : (*got)[1].reals())
    CHECK(std::isnan(v));
}

/// All forms of the operator, along `axis` of `shape`.
static void fouriersAgree(const std::string &cpu, const Form &form,
                          const llvm::SmallVector<int64_t> &shape, int64_t axis) {
  int64_t n = shape[axis];
  llvm::SmallVector<int64_t> halves(shape);
  halves[axis] = n / 2 + 1;
  std::string all = typeText(shape, form.element), half = typeText(halves, form.element);
  std::string body, names, types;
  unsigned next = 0;
  for (std::string flags : {" {inverse = false}", " {inverse = true, scale = 0.25 : f64}"})
    for (auto [operands, from, to] : {std::tuple("%x, %y", all, all),
                                      {"%x", all, half},
                                      {"%x", all, all},
                                      {"%u, %v", half, all}}) {
      bool toReal = operands[1] == 'u', fromReal = operands[2] == 0;
      std::string results = toReal ? to : to + ", " + to;
      std::string name = "%r" + std::to_string(next++);
      body += "  " + name + (toReal ? "" : ":2") + " = prim.fourier " + operands + " axis " +
              std::to_string(axis) + flags + " : (" + from + (fromReal ? "" : ", " + from) +
              ") -> (" + results + ")\n";
      names += (names.empty() ? "" : ", ") + (toReal ? name : name + "#0, " + name + "#1");
      types += (types.empty() ? "" : ", ") + results;
    }
  std::string text = "func.func @main(%x: " + all + ", %y: " + all + ", %u: " + half +
                     ", %v: " + half + ") -> (" + types + ") {\n" + body + "  return " + names +
                     " : " + types + "\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &primContext());
  REQUIRE(module);
  std::vector<Tensor> inputs;
  for (const auto &s : {shape, shape, halves, halves})
    inputs.push_back(randomTensor(form.type, s, n + inputs.size()));
  agree(*module, inputs, cpu, form.type, 40);
}

TEST_CASE("Fourier transforms of many lengths agree with the interpreter", "[long]") {
  using Shape = llvm::SmallVector<int64_t>;
  constexpr int64_t kLengths[] = {1, 2, 3, 4, 7, 8, 12, 16, 30, 64, 77, 100, 128, 400};
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (auto [i, n] : llvm::enumerate(kLengths)) {
        if (isOther(cpu) && n != 30 && n != 64)
          continue;
        auto [shape, axis] =
            std::initializer_list<std::pair<Shape, int64_t>>{
                {{37, n}, 1}, {{64, n}, 1}, {{2, n, 3}, 1}, {{2, n, 41}, 1}, {{n, 64}, 0}}
                .begin()[i % 5];
        DYNAMIC_SECTION(cpu << " " << form.element << " " << typeText(shape, "") << axis) {
          fouriersAgree(cpu, form, shape, axis);
        }
      }
}

// Lines that are done one by one, or two real ones at a time, of which one may be missing; with
// large prime factors, as convolutions.
TEST_CASE("Fourier transforms of long lines agree with the interpreter", "[long]") {
  constexpr int64_t kLengths[] = {64, 66, 67, 91, 221, 256, 362, 509, 1000, 2048, 4095};
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (int64_t n : kLengths)
        if (!isOther(cpu) || n == 66 || n == 67)
          for (int64_t lines : {1, 6})
            DYNAMIC_SECTION(cpu << " " << form.element << " " << lines << " x " << n) {
              fouriersAgree(cpu, form, {lines, n}, 1);
            }
}

/// Numbers that lie as pairs, along `axis` of `shape`, there and back; and of real ones the first
/// half. What is read is computed: a sum of numbers, and products.
static void pairsAgree(const std::string &cpu, const Form &form,
                       const llvm::SmallVector<int64_t> &shape, int64_t axis) {
  auto text = [&](int64_t length, std::optional<int64_t> last) {
    llvm::SmallVector<int64_t> all(shape);
    all[axis] = length;
    if (last)
      all.push_back(*last);
    return typeText(all, form.element);
  };
  int64_t n = shape[axis], h = n / 2 + 1;
  std::string all = text(n, {}), half = text(h, {}), body, axes = " axis " + std::to_string(axis);
  auto part = [&](const std::string &name, const std::string &of, int64_t length, int which) {
    std::string starts = "[", steps = "[", pairs = text(length, 2), one = text(length, 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      starts += "0, ";
      steps += "1, ";
    }
    starts += std::to_string(which) + "]";
    body += "  %s" + name + " = prim.slice %" + of + " starts " + starts + "() steps " + steps +
            "1] sizes() : (" + pairs + ") -> " + one + "\n  %" + name + " = prim.reshape %s" +
            name + " sizes() : (" + one + ") -> " + text(length, {}) + "\n";
  };
  auto joined = [&](const std::string &name, const std::string &of, int64_t length) {
    std::string one = text(length, 1), from = text(length, {});
    for (std::string i : {"0", "1"})
      body += "  %" + name + i + " = prim.reshape %" + of + "#" + i + " sizes() : (" + from +
              ") -> " + one + "\n";
    body += "  %" + name + " = prim.concat %" + name + "0, %" + name + "1 axis " +
            std::to_string(shape.size()) + " : (" + one + ", " + one + ") -> " + text(length, 2) +
            "\n";
  };
  part("re", "x", n, 0);
  part("im", "x", n, 1);
  part("u", "h", h, 0);
  part("v", "h", h, 1);
  std::string two = all + ", " + all;
  body += "  %sum = prim.add %re, %im : (" + two + ") -> " + all +
          "\n  %square = prim.mul %v, %v : (" + half + ", " + half + ") -> " + half +
          "\n  %f:2 = prim.fourier %re, %im" + axes + " {inverse = false} : (" + two + ") -> (" +
          two + ")\n  %b:2 = prim.fourier %sum, %im" + axes +
          " {inverse = true, scale = 0.25 : f64} : (" + two + ") -> (" + two +
          ")\n  %r:2 = prim.fourier %sum" + axes + " {inverse = false} : (" + all + ") -> (" +
          half + ", " + half + ")\n  %back = prim.fourier %u, %square" + axes +
          " {inverse = true} : (" + half + ", " + half + ") -> (" + all + ")\n";
  joined("p", "f", n);
  joined("q", "b", n);
  joined("w", "r", h);
  std::string pairs = text(n, 2), halves = text(h, 2);
  std::string program = "func.func @main(%x: " + pairs + ", %h: " + halves + ") -> (" + pairs +
                        ", " + pairs + ", " + halves + ", " + all + ") {\n" + body +
                        "  return %p, %q, %w, %back : " + pairs + ", " + pairs + ", " + halves +
                        ", " + all + "\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &primContext());
  REQUIRE(module);
  llvm::SmallVector<int64_t> whole(shape), first(shape);
  first[axis] = h;
  whole.push_back(2);
  first.push_back(2);
  agree(*module, {randomTensor(form.type, whole, n), randomTensor(form.type, first, n + 1)}, cpu,
        form.type, 60);
}

TEST_CASE("Fourier transforms of pairs agree with the interpreter", "[long]") {
  using Shape = llvm::SmallVector<int64_t>;
  // Beside each other in lanes, short and long, whole tasks or not; alone; before other axes.
  const std::pair<Shape, int64_t> shapes[] = {
      {{37, 5}, 1}, {{64, 7}, 1},     {{3, 16}, 1},   {{35, 30}, 1}, {{64, 100}, 1},
      {{6, 66}, 1}, {{3, 67}, 1},     {{2, 509}, 1},  {{5, 400}, 1}, {{2, 30, 3}, 1},
      {{8, 41}, 0}, {{2, 12, 70}, 1}, {{12, 5, 7}, 0}};
  for (const std::string &cpu : runnableCpus())
    for (const Form &form : kForms)
      for (const auto &[shape, axis] : shapes)
        if (!isOther(cpu) || shape.back() == 30 || shape.back() == 66)
          DYNAMIC_SECTION(cpu << " " << form.element << " " << typeText(shape, "") << axis) {
            pairsAgree(cpu, form, shape, axis);
          }
}
