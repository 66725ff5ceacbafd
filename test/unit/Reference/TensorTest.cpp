// Elements of the interpreter's tensors, every pattern of the narrow floats held against LLVM's
// APFloat.
#include "Fixture.h"
#include "Reference/FloatFormat.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

namespace {

struct FormatRow {
  DType type;
  const FloatFormat &format;
  const llvm::fltSemantics &semantics;
};

const FormatRow kFormats[] = {
    {DType::F16, kF16, llvm::APFloat::IEEEhalf()},
    {DType::BF16, kBF16, llvm::APFloat::BFloat()},
    {DType::F8E4M3FN, kF8E4M3FN, llvm::APFloat::Float8E4M3FN()},
    {DType::F8E4M3FNUZ, kF8E4M3FNUZ, llvm::APFloat::Float8E4M3FNUZ()},
    {DType::F8E5M2, kF8E5M2, llvm::APFloat::Float8E5M2()},
    {DType::F8E5M2FNUZ, kF8E5M2FNUZ, llvm::APFloat::Float8E5M2FNUZ()},
    {DType::F4E2M1FN, kF4E2M1FN, llvm::APFloat::Float4E2M1FN()},
};

double byLlvm(const llvm::fltSemantics &semantics, unsigned bits, uint32_t pattern) {
  llvm::APFloat value(semantics, llvm::APInt(bits, pattern));
  return value.convertToDouble();
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

} // namespace

TEST_CASE("every pattern of every narrow float decodes as LLVM's") {
  for (const FormatRow &row : kFormats) {
    INFO(dtypeName(row.type).str());
    unsigned wrong = 0;
    for (uint32_t pattern = 0; pattern < (1u << row.format.bits); ++pattern) {
      double want = byLlvm(row.semantics, row.format.bits, pattern);
      wrong += !same(decode(row.format, pattern), want);
      Tensor tensor = llvm::cantFail(Tensor::allocate(row.type, {}));
      std::memcpy(tensor.mutableData(), &pattern, elementBytes(row.type));
      wrong += !same(tensor.real(0), want);
    }
    CHECK(wrong == 0);
  }
  for (uint32_t pattern = 0; pattern < 255; ++pattern)
    CHECK(decodeE8M0(pattern) == std::ldexp(1.0, static_cast<int>(pattern) - 127));
}

TEST_CASE("rounding to narrow floats agrees with LLVM's") {
  for (const FormatRow &row : kFormats) {
    INFO(dtypeName(row.type).str());
    unsigned wrong = 0;
    auto check = [&](double x) {
      llvm::APFloat value(x);
      bool lost = false;
      value.convert(row.semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
      double want = value.convertToDouble();
      if (row.format.bits == 4 && std::fabs(x) > 6)
        return; // saturates here, whatever LLVM does
      wrong += !same(decode(row.format, encode(row.format, x, false)), want);
    };
    // All values, the midpoints between neighbours, and what is next to those.
    for (uint32_t pattern = 0; pattern < (1u << row.format.bits); ++pattern) {
      double a = decode(row.format, pattern), b = decode(row.format, pattern + 1);
      if (!std::isfinite(a) || !std::isfinite(b))
        continue;
      double middle = (a + b) / 2;
      for (double x : {a, middle, std::nextafter(middle, a), std::nextafter(middle, b), a * 1.01})
        check(x);
    }
    for (double x : {1e-300, -1e-300, 0.0, -0.0, kInf, -kInf, 1e300, 464.0, 465.0, 65519.99,
                     65520.0, 61439.0, 61440.0, 248.0, 247.9, 0x1.ffp127, 0x1.fefp127})
      check(x);
    CHECK(wrong == 0);
  }
}

TEST_CASE("sub-byte types are packed low bits first") {
  struct Row {
    DType type;
    std::vector<uint8_t> packed;
    Integers values;
  };
  for (const Row &row :
       {Row{DType::I4, {0x2f, 0x08}, {-1, 2, -8}}, Row{DType::U4, {0x2f, 0x08}, {15, 2, 8}},
        Row{DType::I2, {0b11100100, 0b10}, {0, 1, -2, -1, -2}},
        Row{DType::U2, {0b11100100, 0b10}, {0, 1, 2, 3, 2}}}) {
    INFO(dtypeName(row.type).str());
    std::vector<char> bytes(row.packed.begin(), row.packed.end());
    auto count = static_cast<int64_t>(row.values.size());
    Tensor tensor = llvm::cantFail(Tensor::fromPacked(row.type, {count}, bytes));
    checkIntegers(tensor, row.values);
    CHECK(tensor.packed() == bytes);
    checkIntegers(ints(row.type, {count}, row.values), row.values);
  }
  Tensor f4 = llvm::cantFail(Tensor::fromPacked(DType::F4E2M1FN, {3}, {char(0x71), char(0x0a)}));
  checkReals(f4, {0.5, 6, -1});
}

TEST_CASE("a weight's bytes are shared") {
  WeightTable table;
  std::vector<char> bytes(8);
  float values[2] = {1.5f, -2};
  std::memcpy(bytes.data(), values, 8);
  table.addOwned("w", DType::F32, {2}, bytes);
  const Weight *weight = table.lookup("w");
  Tensor tensor = llvm::cantFail(Tensor::fromWeight(*weight));
  checkReals(tensor, {1.5, -2});
  CHECK(tensor.data() == weight->bytes.data());
}

TEST_CASE("impossible shapes are errors") {
  CHECK(!elementCount({-1}));
  CHECK(!elementCount({INT64_MAX, 2}));
  CHECK(elementCount({INT64_MAX / 16, 0}) == 0);
  CHECK(elementCount({}) == 1);
  auto huge = Tensor::allocate(DType::F32, {1 << 25, 1 << 25});
  REQUIRE(!huge);
  CHECK(llvm::toString(huge.takeError()) == "no memory for a tensor of shape [33554432, 33554432]");
  auto wrong = Tensor::fromPacked(DType::F32, {2}, {0, 0});
  REQUIRE(!wrong);
  CHECK(llvm::toString(wrong.takeError()) == "a tensor of f32 and shape [2] has 8 bytes, not 2");
}

TEST_CASE("splats") {
  CHECK(f32({3}, {2, 2, 2}).isSplat());
  CHECK(!f32({3}, {2, 2, 3}).isSplat());
  CHECK(!f32({2}, {0.0, -0.0}).isSplat());
  CHECK(f32({}, {1}).isSplat());
  CHECK(!f32({0}, {}).isSplat());
}
