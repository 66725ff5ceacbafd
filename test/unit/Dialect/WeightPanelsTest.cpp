// Panels are packed by the compiler and read by kernels that know nothing but addresses, so the
// order of every element is held here, beside the widths that are chosen.
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

using namespace tcc;

static CpuTarget get(llvm::StringRef cpu) {
  return llvm::cantFail(CpuTarget::create(cpu, "x86_64-linux"));
}

TEST_CASE("panel widths waste little") {
  CHECK(choosePanelWidth(get("v4"), 768) == 48);
  CHECK(choosePanelWidth(get("v4"), 64) == 64);
  CHECK(choosePanelWidth(get("v4"), 10) == 16);
  CHECK(choosePanelWidth(get("v3"), 64) % 8 == 0);
  // A last vector by four rows would wait for itself.
  CHECK(choosePanelWidth(get("v3"), 96) == 24);
  CHECK(choosePanelWidth(get("v3"), 32) == 16);
  CHECK(choosePanelWidth(get("v3"), 128) == 16);
  PanelShape shape = packedPanels(get("v4"), 2, 100, 9);
  CHECK(shape.panels * shape.width >= 100);
}

TEST_CASE("any rows are packed as all of them") {
  // A matrix of 70 x 37 (k x n) as it comes and transposed, of elements of 1 to 8 bytes.
  constexpr int64_t k = 70, n = 37;
  for (unsigned bytes : {1, 2, 4, 8})
    for (bool transposed : {false, true}) {
      std::vector<char> source(k * n * bytes);
      for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<char>(i * 11 + i / 256);
      PanelShape shape{1, 5, k, 8};
      PanelAxis column{n, transposed ? k : 1}, along{k, transposed ? 1 : n};
      PanelPacking packing{shape, {1, 0}, column, {along}};
      auto whole = packPanels(source.data(), bytes, packing);
      int64_t row = shape.width * bytes;
      for (int64_t first : {0, 1, 69, 70, 133, 349})
        for (int64_t last : {first, first + 1, std::min(first + 140, shape.rows())}) {
          std::vector<char> part((last - first) * row + 1, 'x');
          packPanelRows(source.data(), bytes, packing, first, last, part.data());
          CHECK(part.back() == 'x');
          CHECK(std::equal(part.begin(), part.end() - 1, whole.begin() + first * row));
        }
      for (int64_t r = 0; r < shape.rows(); ++r)
        for (int64_t lane = 0; lane < shape.width; ++lane) {
          int64_t c = r / k * shape.width + lane, at = c * column.stride + r % k * along.stride;
          std::vector<char> expected(bytes, 0);
          if (c < n)
            std::copy_n(source.begin() + at * bytes, bytes, expected.begin());
          CHECK(std::equal(expected.begin(), expected.end(),
                           whole.begin() + (r * shape.width + lane) * bytes));
        }
    }
}

TEST_CASE("sixteen elements along k need not be neighbours, nor in order") {
  std::vector<int32_t> weights(5 * 32);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = int32_t(i);
  PanelShape shape{1, 1, 32, 8};
  auto bytes = packPanels(reinterpret_cast<char *>(weights.data()), 4,
                          {shape, {1, 0}, {5, 32}, {{2, 16}, {4, 1}, {4, 4}}});
  auto *packed = reinterpret_cast<const int32_t *>(bytes.data());
  for (int k = 0; k < 32; ++k)
    for (int column = 0; column < 8; ++column) {
      int at = k / 16 * 16 + k % 16 / 4 + k % 4 * 4;
      CHECK(packed[k * 8 + column] == (column < 5 ? column * 32 + at : 0));
    }
}

TEST_CASE("packing permutes k and pads columns with zeros") {
  // Two groups of OIHW weights, 3 outputs, 2 inputs, 1x2: k runs over w, then c.
  float weights[2][3][2][2];
  for (int i = 0; i < 24; ++i)
    (&weights[0][0][0][0])[i] = i + 1;
  PanelShape shape{2, 2, 4, 2};
  llvm::SmallVector<char, 0> bytes =
      packPanels(reinterpret_cast<char *>(weights), 4, {shape, {2, 12}, {3, 4}, {{2, 1}, {2, 2}}});
  float packed[2][2][2][2][2]; // group, panel, w, c, column
  REQUIRE(bytes.size() == sizeof packed);
  std::memcpy(packed, bytes.data(), sizeof packed);
  for (int g = 0; g < 2; ++g)
    for (int n = 0; n < 4; ++n)
      for (int w = 0; w < 2; ++w)
        for (int c = 0; c < 2; ++c)
          CHECK(packed[g][n / 2][w][c][n % 2] == (n < 3 ? weights[g][n][c][w] : 0));
}

TEST_CASE("bytes are multiplied in the groups that the target has") {
  CpuTarget vnni = get("sapphirerapids"), plain = get("v3");
  CpuTarget arm = llvm::cantFail(CpuTarget::create("neoverse-v1", "aarch64-linux"));
  CpuTarget neon = llvm::cantFail(CpuTarget::create("generic", "aarch64-linux"));
  for (bool lhs : {false, true})
    for (bool rhs : {false, true}) {
      CHECK(byteSteps(vnni, lhs, rhs).size == 4);
      CHECK(byteSteps(vnni, lhs, rhs).flipsLhs == (lhs == rhs));
      CHECK(byteSteps(arm, lhs, rhs).size == 4);
      CHECK(byteSteps(arm, lhs, rhs).flipsLhs == (lhs != rhs));
      CHECK(byteSteps(plain, lhs, rhs).size == 2);
      CHECK(!byteSteps(plain, lhs, rhs).flipsLhs);
      CHECK(byteSteps(neon, lhs, rhs).size == 1);
    }
  CHECK(convByteSteps(vnni, {16, 1, 1, 9}, true, false).size == 1); // depthwise
  CHECK(convByteSteps(vnni, {1, 64, 3, 49}, true, false).size == 4);
  CHECK(convByteSteps(vnni, {1, 64, 15, 300}, true, false).size == 1); // gathered in blocks
}

TEST_CASE("steps that saturate are taken of weights that never make them") {
  CpuTarget plain = get("v3"), old = get("v2"), vnni = get("sapphirerapids");
  CHECK(saturatingSteps(plain, true, false).size == 4);
  CHECK(!saturatingSteps(plain, true, false).flipsLhs);
  CHECK(saturatingSteps(plain, false, false).flipsLhs);
  CHECK(saturatingSteps(plain, true, true).size == 1); // the weights are signed
  CHECK(saturatingSteps(old, true, false).size == 1);
  CHECK(saturatingSteps(vnni, true, false).size == 1);
  CHECK(byteStepsOf(plain, 2, false, false, 16).lhsBits == 16);
  CHECK(byteStepsOf(plain, 4, false, false, 8).flipsLhs);
  auto fits = [&](std::array<int8_t, 6> column) {
    DotSteps steps = saturatingSteps(plain, true, false);
    PanelPacking packing{{1, 1, 2, 8, steps}, {1, 6}, {1, 1}, {{6, 1}}};
    return fitsSaturatingSteps(reinterpret_cast<const char *>(column.data()), packing);
  };
  CHECK(fits({64, 64, -64, -64, 127, 1}));
  CHECK(fits({127, -128, -128, 0, 0, -128})); // of two signs, they cannot add up
  CHECK(!fits({0, 0, 64, 65, 0, 0}));
  CHECK(!fits({0, 0, 0, 0, -64, -65}));
  CHECK(fits({0, 64, 65, 0, 0, 0})); // pairs are the even and the odd number after it
}

TEST_CASE("steps of bytes are filled up, and the column sums follow") {
  // Two taps of three channels for two columns; both operands signed.
  int8_t weights[2][2][3] = {{{1, 2, 3}, {4, 5, 6}}, {{-1, -2, -3}, {-4, -5, -128}}};
  DotSteps steps{4, true, false, false};
  PanelShape shape{1, 1, 2, 4, steps, 3};
  llvm::SmallVector<char, 0> bytes =
      packPanels(reinterpret_cast<char *>(weights), 1, {shape, {1, 0}, {2, 6}, {{2, 3}, {3, 1}}});
  REQUIRE(bytes.size() == 3 * 4 * 4);
  for (int tap = 0; tap < 2; ++tap)
    for (int column = 0; column < 4; ++column)
      for (int i = 0; i < 4; ++i)
        CHECK(bytes[(tap * 4 + column) * 4 + i] ==
              (column < 2 && i < 3 ? weights[column][tap][i] : 0));
  int32_t sums[4];
  std::memcpy(sums, bytes.data() + 32, sizeof sums);
  CHECK(sums[0] == -128 * 21);
  CHECK(sums[1] == 128 * 143);
  CHECK((sums[2] == 0 && sums[3] == 0));
}

TEST_CASE("pairs of bf16 are neighbours") {
  CHECK(bfloatSteps(get("sapphirerapids")).size == 2);
  CHECK(bfloatSteps(get("v4")).size == 1);
  // Three rows of k for two columns; the second pair is filled up.
  uint16_t weights[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  PanelShape shape{1, 1, 2, 4, bfloatSteps(get("sapphirerapids"))};
  PanelPacking packing{shape, {1, 0}, {2, 1}, {{3, 2}}};
  llvm::SmallVector<char, 0> packed = packPanels(reinterpret_cast<char *>(weights), 2, packing);
  REQUIRE(packed.size() == 2 * 4 * 2 * sizeof(uint16_t));
  uint16_t panels[2][4][2], back[3][2];
  std::memcpy(panels, packed.data(), sizeof panels);
  for (int step = 0; step < 2; ++step)
    for (int column = 0; column < 4; ++column)
      for (int i = 0; i < 2; ++i)
        CHECK(panels[step][column][i] ==
              (column < 2 && 2 * step + i < 3 ? weights[2 * step + i][column] : 0));
  unpackPanels(packed.data(), 2, packing, reinterpret_cast<char *>(back));
  CHECK(std::memcmp(back, weights, sizeof back) == 0);
}
