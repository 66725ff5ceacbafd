// Transformed weights are held against the plain convolution, and the choice of layers against
// what was measured (docs/Rationale/winograd.md).
#include "tcc/Dialect/Cpu/Winograd.h"
#include <catch2/catch.hpp>
#include <random>

using namespace tcc;

static CpuTarget get(llvm::StringRef cpu) {
  return llvm::cantFail(CpuTarget::create(cpu, "x86_64-linux"));
}

TEST_CASE("tiles where they save time") {
  for (llvm::StringRef cpu : {"v2", "v3", "v4"}) {
    CHECK(prefersWinograd(get(cpu), {1, 56, 56, 64, 64}));
    CHECK(prefersWinograd(get(cpu), {1, 14, 14, 256, 256}));
    CHECK(prefersWinograd(get(cpu), {-1, -1, -1, 128, 128}));
    CHECK(prefersWinograd(get(cpu), {8, 14, 14, 128, 96}));
    CHECK_FALSE(prefersWinograd(get(cpu), {1, 224, 224, 3, 64}));
    CHECK_FALSE(prefersWinograd(get(cpu), {1, 56, 56, 64, 2}));
    CHECK_FALSE(prefersWinograd(get(cpu), {1, 3, 3, 256, 256})); // transforming weights costs more
    CHECK_FALSE(prefersWinograd(get(cpu), {1, 56, 56, 1 << 14, 64}));
    CHECK(prefersWinograd(get(cpu), {1, 14, 14, 32, 32, 0, /*groups=*/32}));
    CHECK(prefersWinograd(get(cpu), {1, 28, 28, 56, 64, 0, /*groups=*/4}));
    CHECK_FALSE(prefersWinograd(get(cpu), {1, 28, 28, 56, 57, 0, /*groups=*/4})); // no whole panels
  }
}

TEST_CASE("transformed weights compute the convolution") {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  constexpr int64_t filters = 10, channels = 3;
  float weights[filters][channels][3][3], d[4][4];
  for (float &w : llvm::MutableArrayRef(&weights[0][0][0][0], filters * channels * 9))
    w = uniform(engine);
  for (float &v : llvm::MutableArrayRef(&d[0][0], 16))
    v = uniform(engine);
  PanelShape shape{2, kWinogradPoints, channels, 8};
  std::vector<float> packed(shape.elements());
  packWinograd(&weights[0][0][0][0], filters, shape, 0, shape.groups, packed.data());

  constexpr double B[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  constexpr double A[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
  for (int64_t f = 0; f < 16; ++f)
    for (int64_t c = 0; c < channels; ++c)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          double tiled = 0, direct = 0;
          for (int p = 0; p < 16; ++p) {
            double v = 0;
            for (int u = 0; u < 16; ++u)
              v += B[p / 4][u / 4] * B[p % 4][u % 4] * d[u / 4][u % 4];
            float point = packed[((f / 8 * 16 + p) * channels + c) * 8 + f % 8];
            tiled += A[i][p / 4] * A[j][p % 4] * v * point;
          }
          for (int t = 0; t < 9 && f < filters; ++t)
            direct += double(d[i + t / 3][j + t % 3]) * weights[f][c][t / 3][t % 3];
          CHECK(tiled == Approx(direct).margin(1e-6));
        }
}
