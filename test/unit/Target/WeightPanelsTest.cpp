#include "tcc/Target/WeightPanels.h"
#include <catch2/catch.hpp>
#include <cstring>

using namespace tcc;

static CpuTarget get(llvm::StringRef cpu) {
  return llvm::cantFail(CpuTarget::create(cpu, "x86_64-linux"));
}

TEST_CASE("panel widths waste little") {
  CHECK(choosePanelWidth(get("v4"), 768) == 48);
  CHECK(choosePanelWidth(get("v4"), 64) == 64);
  CHECK(choosePanelWidth(get("v4"), 10) == 16);
  CHECK(choosePanelWidth(get("v3"), 64) % 8 == 0);
  PanelShape shape = packedPanels(get("v4"), 2, 100, 9);
  CHECK(shape.panels * shape.width >= 100);
}

TEST_CASE("packing permutes k and pads columns with zeros") {
  // Two groups of OIHW weights, 3 outputs, 2 inputs, 1x2: k runs over w, then c.
  float weights[2][3][2][2];
  for (int i = 0; i < 24; ++i)
    (&weights[0][0][0][0])[i] = i + 1;
  PanelShape shape{2, 2, 4, 2};
  llvm::SmallVector<char, 0> bytes =
      packPanels(reinterpret_cast<char *>(weights), 4, shape, {2, 12}, {3, 4}, {{2, 1}, {2, 2}});
  float packed[2][2][2][2][2]; // group, panel, w, c, column
  REQUIRE(bytes.size() == sizeof packed);
  std::memcpy(packed, bytes.data(), sizeof packed);
  for (int g = 0; g < 2; ++g)
    for (int n = 0; n < 4; ++n)
      for (int w = 0; w < 2; ++w)
        for (int c = 0; c < 2; ++c)
          CHECK(packed[g][n / 2][w][c][n % 2] == (n < 3 ? weights[g][n][c][w] : 0));
}
