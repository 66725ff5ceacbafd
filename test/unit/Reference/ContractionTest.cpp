//===- ContractionTest.cpp - Products, convolutions and transforms -------===//
//
// Sums are compared with the definition, written as loops over all indices, on shapes small enough
// for it.
//
//===----------------------------------------------------------------------===//
#include "Fixture.h"
#include "Reference/Gemm.h"
#include <numbers>

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

static Tensor dot(const Tensor &lhs, const Tensor &rhs, const std::string &lhsBatch,
                  const std::string &rhsBatch, const std::string &lhsContract,
                  const std::string &rhsContract, DType type, const Shape &shape) {
  auto list = [](const std::string &text) {
    return "array<i64" + (text.empty() ? "" : ": " + text) + ">";
  };
  return result("dot", {lhs, rhs},
                "lhs_batch = " + list(lhsBatch) + ", rhs_batch = " + list(rhsBatch) +
                    ", lhs_contract = " + list(lhsContract) +
                    ", rhs_contract = " + list(rhsContract),
                typeText(type, shape));
}

TEST_CASE("dot: matrices, batches, transposed and contracted axes") {
  Tensor a = counting(DType::F32, {2, 3}), b = counting(DType::F32, {3, 2});
  checkReals(dot(a, b, "", "", "1", "0", DType::F32, {2, 2}), {10, 13, 28, 40});
  checkReals(dot(a, a, "", "", "1", "1", DType::F32, {2, 2}), {5, 14, 14, 50});
  checkReals(dot(a, b, "", "", "0, 1", "1, 0", DType::F32, {}), {50});
  checkReals(dot(a, f32({2}, {1, 10}), "", "", "0", "0", DType::F32, {3}), {30, 41, 52});
  // Weights of 8 bits are widened.
  Tensor bytes = Tensor::ofIntegers(DType::I8, {3}, {1, -2, 3});
  checkReals(dot(a, bytes, "", "", "1", "0", DType::F32, {2}), {4, 10});
  checkReals(dot(f32({2}, {1, 2}), f32({2}, {3, 4}), "", "", "", "", DType::F32, {2, 2}),
             {3, 4, 6, 8});
  Tensor c = counting(DType::F32, {2, 2, 2});
  checkReals(dot(c, c, "0", "0", "2", "1", DType::F32, {2, 2, 2}), {2, 3, 6, 11, 46, 55, 66, 79});
  // The batch axis in the middle on one side.
  checkReals(dot(c, c, "1", "0", "2", "1", DType::F32, {2, 2, 2}), {2, 3, 10, 19, 26, 31, 66, 79});
}

TEST_CASE("dot: types") {
  Tensor a = ints(DType::I8, {1, 2}, {-128, 127}), b = ints(DType::I8, {2, 1}, {-128, 127});
  checkIntegers(dot(a, b, "", "", "1", "0", DType::I32, {1, 1}), {128 * 128 + 127 * 127});
  Tensor u = ints(DType::U8, {1, 2}, {255, 2});
  checkIntegers(dot(u, b, "", "", "1", "0", DType::I32, {1, 1}), {255 * -128 + 254});
  checkIntegers(dot(i64({1}, {INT64_MAX}), i64({1}, {2}), "", "", "0", "0", DType::I64, {}), {-2});
  Tensor h = reals(DType::BF16, {1000}, Reals(1000, 1));
  checkReals(dot(h, h, "", "", "0", "0", DType::F32, {}), {1000});
  Tensor z = Tensor::ofComplex(DType::C64, {2}, {{1, 1}, {0, 2}});
  CHECK(dot(z, z, "", "", "0", "0", DType::C64, {}).complex(0) == std::complex<double>(-4, 2));
  checkReals(dot(f32({2, 0}, {}), f32({0, 2}, {}), "", "", "1", "0", DType::F32, {2, 2}),
             {0, 0, 0, 0});
}

TEST_CASE("dot: blocked products of every remainder") {
  for (auto [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>(5, 17, 300), {33, 600, 257}, {1, 1, 1000}}) {
    std::vector<double> a(m * k), b(k * n), c(m * n);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<double>(i * 7 % 23) - 11;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = static_cast<double>(i * 5 % 19) - 9;
    gemm(m, n, k, {reinterpret_cast<const char *>(a.data()), DType::F64, k},
         {reinterpret_cast<const char *>(b.data()), DType::F64, n}, c.data());
    unsigned wrong = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += a[i * k + p] * b[p * n + j];
        wrong += sum != c[i * n + j];
      }
    CHECK(wrong == 0);
  }
}

namespace {
struct Conv {
  std::string strides = "1", dilations = "1", inputDilation = "1", low = "0", high = "0";
  int groups = 1;
  bool last = false;
  Tensor operator()(const Tensor &x, const Tensor &w, DType type, const Shape &shape) const {
    auto list = [](const std::string &text) { return "array<i64: " + text + ">"; };
    return result("conv", {x, w},
                  "strides = " + list(strides) + ", dilations = " + list(dilations) +
                      ", input_dilation = " + list(inputDilation) + ", low = " + list(low) +
                      ", high = " + list(high) + ", groups = " + std::to_string(groups) + " : i64" +
                      (last ? ", channels_last = true" : ""),
                  typeText(type, shape));
  }
};
} // namespace

TEST_CASE("conv: one axis, every attribute") {
  Tensor x = f32({1, 1, 5}, {1, 2, 3, 4, 5}), w = f32({1, 1, 2}, {1, 10});
  checkReals(Conv{}(x, w, DType::F32, {1, 1, 4}), {21, 32, 43, 54});
  checkReals(Conv{.strides = "2"}(x, w, DType::F32, {1, 1, 2}), {21, 43});
  checkReals(Conv{.dilations = "3"}(x, w, DType::F32, {1, 1, 2}), {41, 52});
  checkReals(Conv{.low = "1", .high = "1"}(x, w, DType::F32, {1, 1, 6}), {10, 21, 32, 43, 54, 5});
  checkReals(Conv{.low = "-1"}(x, w, DType::F32, {1, 1, 3}), {32, 43, 54});
  // 1 0 2 0 3 0 4 0 5: a transposed convolution of stride 2.
  checkReals(Conv{.inputDilation = "2"}(x, w, DType::F32, {1, 1, 8}), {1, 20, 2, 30, 3, 40, 4, 50});
}

TEST_CASE("conv: channels, groups and layouts") {
  Tensor x = f32({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  checkReals(Conv{}(x, f32({2, 2, 1}, {1, 1, 1, -1}), DType::F32, {1, 2, 3}),
             {11, 22, 33, -9, -18, -27});
  checkReals(Conv{.groups = 2}(x, f32({4, 1, 1}, {1, 2, 3, 4}), DType::F32, {1, 4, 3}),
             {1, 2, 3, 2, 4, 6, 30, 60, 90, 40, 80, 120});
  checkReals(Conv{.last = true}(f32({1, 3, 2}, {1, 10, 2, 20, 3, 30}),
                                f32({2, 2, 1}, {1, 1, 1, -1}), DType::F32, {1, 3, 2}),
             {11, -9, 22, -18, 33, -27});
  checkIntegers(Conv{}(ints(DType::U8, {1, 1, 2}, {255, 255}),
                       ints(DType::I8, {1, 1, 2}, {-128, 1}), DType::I32, {1, 1, 1}),
                {255 * -127});
}

TEST_CASE("conv: two axes against the definition") {
  Tensor x = counting(DType::F32, {2, 4, 7, 6}), w = counting(DType::F32, {6, 2, 3, 2});
  Tensor y = Conv{.strides = "2, 1",
                  .dilations = "1, 2",
                  .inputDilation = "1, 1",
                  .low = "1, 0",
                  .high = "1, 2",
                  .groups = 2}(x, w, DType::F32, {2, 6, 4, 6});
  auto at = [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    bool inside = i >= 0 && i < 7 && j >= 0 && j < 6;
    return inside ? static_cast<double>(((n * 4 + c) * 7 + i) * 6 + j) : 0.0;
  };
  Reals want;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 6; ++o)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 6; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t u = 0; u < 3; ++u)
              for (int64_t v = 0; v < 2; ++v)
                sum += at(n, o / 3 * 2 + c, i * 2 + u - 1, j + v * 2) *
                       static_cast<double>(((o * 2 + c) * 3 + u) * 2 + v);
          want.push_back(sum);
        }
  checkReals(y, want);
}

TEST_CASE("weights that lie in panels are read in order") {
  // Two columns of a panel, then one and padding, of the matrix 1 2 3 / 4 5 6.
  std::vector<float> panels = {1, 2, 4, 5, 3, 0, 6, 0};
  WeightTable table;
  table.add("w", f32({1, 2, 2, 2}, {panels.begin(), panels.end()}).toWeight());
  constexpr llvm::StringLiteral text =
      R"(func.func @main(%x: tensor<1x2x2xf32>) -> tensor<1x2x3xf32> {
    %w = prim.weight "w" : tensor<2x3xf32, #cpu.panels<k = [0], columns = 1, width = 2>>
    %0 = prim.dot %x, %w batch [] x [] contract [2] x [0] : (tensor<1x2x2xf32>,
      tensor<2x3xf32, #cpu.panels<k = [0], columns = 1, width = 2>>) -> tensor<1x2x3xf32>
    return %0 : tensor<1x2x3xf32>
  })";
  checkReals(run(text, {f32({1, 2, 2}, {1, 0, 1, 10})}, table)[0], {1, 2, 3, 41, 52, 63});
  WeightTable narrow;
  narrow.add("w", f32({1, 3, 2, 1}, {1, 4, 2, 5, 3, 6}).toWeight());
  std::string error = errorOf(text, {f32({1, 2, 2}, {1, 0, 1, 10})}, narrow);
  CHECK(error.find("f32[1, 3, 2, 1] where tensor<1x2x2x2xf32> is expected") != std::string::npos);
}

TEST_CASE("conv: extents that do not fit are named") {
  std::string error = errorOf(
      R"(func.func @main(%x: tensor<1x?x5xf32>, %w: tensor<1x2x2xf32>) -> tensor<1x1x4xf32> {
    %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>,
      input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64}
      : (tensor<1x?x5xf32>, tensor<1x2x2xf32>) -> tensor<1x1x4xf32>
    return %0 : tensor<1x1x4xf32>
  })",
      {counting(DType::F32, {1, 3, 5}), counting(DType::F32, {1, 2, 2})});
  CHECK(error.find("x of shape [1, 3, 5], w of shape [1, 2, 2] and 1 groups do not give shape "
                   "[1, 1, 4]") != std::string::npos);
}

TEST_CASE("fft of any length against the definition, and back") {
  for (int64_t n : {1, 2, 7, 12, 30, 128}) {
    std::vector<std::complex<double>> x;
    for (int64_t i = 0; i < 2 * n; ++i)
      x.emplace_back(static_cast<double>(i * 7 % 11) - 5, static_cast<double>(i * 3 % 5));
    Tensor in = Tensor::ofComplex(DType::C128, {2, n}, x);
    Tensor out = result("fft", in, "axis = 1 : i64, inverse = false");
    Tensor back = result("fft", out, "axis = 1 : i64, inverse = true");
    double worst = 0;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += x[row * n + j] *
                 std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                     static_cast<double>(n));
        worst = std::max(worst, std::abs(sum - out.complex(row * n + k)));
        worst = std::max(worst, std::abs(x[row * n + k] - back.complex(row * n + k)));
      }
    INFO(n);
    CHECK(worst < 1e-11);
  }
  Tensor columns = result("fft", Tensor::ofComplex(DType::C64, {2, 2}, {1, 2, 3, 4}),
                          "axis = 0 : i64, inverse = false");
  CHECK(columns.complex(3) == std::complex<double>(-2, 0));
}
