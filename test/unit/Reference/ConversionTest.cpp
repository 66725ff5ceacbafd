// The interpreter decides what a cast means for folding and for --verify, so its edges are held by
// number: NaN, overflow, rounding once, narrow floats.
#include "Fixture.h"
#include <bit>

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

static Tensor castTo(const Tensor &x, DType type, bool saturate = true) {
  return result("cast", x, saturate ? "" : "saturate = false", typeText(type, x.shape()));
}

TEST_CASE("float to integer truncates and clamps, NaN is 0") {
  Reals x = {1.9, -1.9, 300, -300, 1e30, -1e30, kInf, -kInf, kNaN};
  struct Row {
    DType type;
    Integers want;
  };
  const std::vector<Row> rows = {
      {DType::I2, {1, -1, 1, -2, 1, -2, 1, -2, 0}},
      {DType::I4, {1, -1, 7, -8, 7, -8, 7, -8, 0}},
      {DType::U4, {1, 0, 15, 0, 15, 0, 15, 0, 0}},
      {DType::I8, {1, -1, 127, -128, 127, -128, 127, -128, 0}},
      {DType::U8, {1, 0, 255, 0, 255, 0, 255, 0, 0}},
      {DType::I32, {1, -1, 300, -300, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0}},
      {DType::U32, {1, 0, 300, 0, UINT32_MAX, 0, UINT32_MAX, 0, 0}},
      {DType::I64, {1, -1, 300, -300, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0}},
      {DType::U64, {1, 0, 300, 0, -1, 0, -1, 0, 0}},
      {DType::Bool, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
  };
  for (DType from : {DType::F32, DType::F64})
    for (const Row &row : rows) {
      INFO(dtypeName(row.type).str());
      checkIntegers(castTo(reals(from, {9}, x), row.type), row.want);
    }
}

TEST_CASE("integers wrap into narrower ones") {
  checkIntegers(castTo(ints(DType::I32, {4}, {300, -300, 128, -1}), DType::I8),
                {44, -44, -128, -1});
  checkIntegers(castTo(ints(DType::I64, {3}, {-1, 16, 9}), DType::U4), {15, 0, 9});
  checkIntegers(castTo(ints(DType::I64, {3}, {-1, 8, 7}), DType::I4), {-1, -8, 7});
  checkIntegers(castTo(ints(DType::U8, {2}, {200, 7}), DType::I8), {-56, 7});
  checkIntegers(castTo(ints(DType::I8, {2}, {-1, 7}), DType::U64), {-1, 7});
  checkIntegers(castTo(ints(DType::I64, {2}, {256, 0}), DType::Bool), {1, 0});
  checkIntegers(castTo(ints(DType::Bool, {2}, {1, 0}), DType::I64), {1, 0});
}

TEST_CASE("integers round to floats once") {
  int64_t hard = (int64_t(1) << 62) + (int64_t(1) << 38) + 1; // just above a tie of f32
  checkReals(castTo(i64({2}, {hard, -hard}), DType::F32), {0x1.000002p62, -0x1.000002p62});
  checkReals(castTo(i64({1}, {hard - 1}), DType::F32), {0x1p62});
  checkReals(castTo(i64({1}, {INT64_MAX}), DType::F64), {0x1p63});
  checkReals(castTo(ints(DType::U64, {1}, {-1}), DType::F32), {0x1p64});
  checkReals(castTo(i64({2}, {65519, 65520}), DType::F16), {65504, kInf});
  checkReals(castTo(i64({2}, {257, 259}), DType::BF16), {256, 260});
}

TEST_CASE("narrow floats: saturating and not") {
  Reals x = {460, 470, 1e9, kInf, -kInf, kNaN, 1e-9, -0.3};
  struct Row {
    DType type;
    Reals saturated, plain;
  };
  // The last is -0.3 at the type's spacing.
  const std::vector<Row> rows = {
      {DType::F8E4M3FN,
       {448, 448, 448, 448, -448, kNaN, 0, -0.3125},
       {448, kNaN, kNaN, kNaN, kNaN, kNaN, 0, -0.3125}},
      {DType::F8E4M3FNUZ,
       {240, 240, 240, 240, -240, kNaN, 0, -0.3125},
       {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 0, -0.3125}},
      {DType::F8E5M2,
       {448, 448, 57344, 57344, -57344, kNaN, 0, -0.3125},
       {448, 448, kInf, kInf, -kInf, kNaN, 0, -0.3125}},
      {DType::F8E5M2FNUZ,
       {448, 448, 57344, 57344, -57344, kNaN, 0, -0.3125},
       {448, 448, kNaN, kNaN, kNaN, kNaN, 0, -0.3125}},
      {DType::F4E2M1FN, {6, 6, 6, 6, -6, 0, 0, -0.5}, {6, 6, 6, 6, -6, 0, 0, -0.5}},
      {DType::F8E8M0FNU,
       {512, 512, 0x1p30, kNaN, kNaN, kNaN, 0x1p-30, 0.25},
       {512, 512, 0x1p30, kNaN, kNaN, kNaN, 0x1p-30, 0.25}},
      {DType::F16,
       {460, 470, kInf, kInf, -kInf, kNaN, 0, -0.300048828125},
       {460, 470, kInf, kInf, -kInf, kNaN, 0, -0.300048828125}},
  };
  for (const Row &row : rows) {
    INFO(dtypeName(row.type).str());
    checkReals(castTo(reals(DType::F64, {8}, x), row.type, true), row.saturated);
    checkReals(castTo(reals(DType::F64, {8}, x), row.type, false), row.plain);
  }
  checkReals(castTo(f32({4}, {0, 1.5, 3, 0x1.8p127}), DType::F8E8M0FNU, true),
             {0x1p-127, 2, 4, 0x1p127});
  checkReals(castTo(f32({1}, {0x1.8p127}), DType::F8E8M0FNU, false), {kNaN});
  // f64 to f16 rounds once: through f32 this would be a tie.
  checkReals(castTo(reals(DType::F64, {1}, {1 + 0x1p-11 + 0x1p-40}), DType::F16), {1 + 0x1p-10});
}

TEST_CASE("complex casts") {
  Tensor c = Tensor::ofComplex(DType::C128, {2}, {{1.5, 2}, {0, 3}});
  checkReals(castTo(c, DType::F32), {1.5, 0});
  checkIntegers(castTo(c, DType::Bool), {1, 1});
  CHECK(castTo(c, DType::C64).complex(0) == std::complex<double>(1.5, 2));
  CHECK(castTo(f32({1}, {2}), DType::C64).complex(0) == std::complex<double>(2, 0));
}

TEST_CASE("bitcast") {
  Tensor bits = result("bitcast", f32({2}, {1, -2}), "", "tensor<2xi32>");
  checkIntegers(bits, {0x3f800000, static_cast<int32_t>(0xc0000000)});
  checkReals(result("bitcast", bits, "", "tensor<2xf32>"), {1, -2});
  checkIntegers(result("bitcast", ints(DType::I4, {2}, {-1, 3}), "", "tensor<2xui4>"), {15, 3});
  checkIntegers(result("bitcast", ints(DType::U4, {2}, {15, 3}), "", "tensor<2xi4>"), {-1, 3});
  checkReals(result("bitcast", ints(DType::U4, {2}, {15, 3}), "", "tensor<2xf4E2M1FN>"), {-6, 1.5});
  checkReals(result("bitcast", ints(DType::I16, {1}, {0x3c00}), "", "tensor<1xf16>"), {1});
}

TEST_CASE("comparisons") {
  Tensor a = f32({4}, {1, 2, kNaN, 3}), b = f32({4}, {2, 2, kNaN, 1});
  const std::vector<std::pair<const char *, Integers>> rows = {
      {"eq", {0, 1, 0, 0}}, {"ne", {1, 0, 1, 1}}, {"lt", {1, 0, 0, 0}},
      {"le", {1, 1, 0, 0}}, {"gt", {0, 0, 0, 1}}, {"ge", {0, 1, 0, 1}}};
  for (const auto &[predicate, want] : rows) {
    INFO(predicate);
    std::string attribute = "predicate = #prim<pred " + std::string(predicate) + ">";
    checkIntegers(result("compare", {a, b}, attribute, "tensor<4xi1>"), want);
  }
  auto less = [](const Tensor &x, const Tensor &y) {
    return result("compare", {x, y}, "predicate = #prim<pred lt>", "tensor<1xi1>").integer(0);
  };
  CHECK(less(i64({1}, {INT64_MAX - 1}), i64({1}, {INT64_MAX})) == 1);
  CHECK(less(ints(DType::U64, {1}, {-1}), ints(DType::U64, {1}, {1})) == 0);
  CHECK(less(ints(DType::I8, {1}, {-1}), ints(DType::I8, {1}, {1})) == 1);
}

TEST_CASE("select and complex parts") {
  Tensor condition = ints(DType::Bool, {3}, {1, 0, 1});
  checkIntegers(
      result("select", {condition, i64({3}, {1, 2, 3}), i64({3}, {4, 5, 6})}, "", "tensor<3xi64>"),
      {1, 5, 3});
  Tensor c = result("complex", {f32({2}, {1, 2}), f32({2}, {3, 4})}, "", "tensor<2xcomplex<f32>>");
  CHECK(c.complex(1) == std::complex<double>(2, 4));
  checkReals(result("real", c, "", "tensor<2xf32>"), {1, 2});
  checkReals(result("imag", c, "", "tensor<2xf32>"), {3, 4});
}
