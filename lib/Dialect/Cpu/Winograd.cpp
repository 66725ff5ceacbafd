//===- Winograd.cpp - 3x3 convolutions with fewer multiplications ---------===//
#include "tcc/Dialect/Cpu/Winograd.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
namespace tcc {

int64_t winogradScratch(const CpuTarget &cpu) {
  constexpr int64_t stackLimit = 512 << 10;
  return std::min(cpu.l2Bytes / 2, stackLimit);
}

int64_t winogradTileBytes(int64_t channels, int64_t panelWidth) {
  constexpr int64_t gap = 32; // between rows, for the cache's sets
  return kWinogradPoints * (channels + gap + panelWidth) * int64_t(sizeof(float));
}

PanelShape winogradPanels(int64_t width, int64_t filters, int64_t channels) {
  return {(filters + width - 1) / width, kWinogradPoints, channels, width};
}

SmallVector<int64_t, 4> winogradWidths(const CpuTarget &cpu, const WinogradExtents &extents) {
  SmallVector<int64_t, 4> widths = panelWidths(cpu, extents.filters);
  if (extents.groups > 1)
    erase_if(widths, [&](int64_t width) { return extents.filters % width != 0; });
  return widths;
}

bool fitsWinograd(const CpuTarget &cpu, const WinogradExtents &extents) {
  constexpr int64_t fewest = 8; // channels or filters: below, transforms outweigh products
  if (extents.channels < fewest || extents.filters < fewest)
    return false;
  SmallVector<int64_t, 4> widths = winogradWidths(cpu, extents);
  if (widths.empty())
    return false;
  int64_t width = widths.front();
  return registerTileRows(cpu, width / cpu.lanes(32)) *
             winogradTileBytes(extents.channels, width) <=
         winogradScratch(cpu);
}

bool prefersWinograd(const CpuTarget &cpu, const WinogradExtents &extents) {
  constexpr int64_t typicalExtent = 28; // assumed where the extent is unknown
  int64_t lanes = cpu.lanes(32), channels = extents.channels, filters = extents.filters;
  if (!fitsWinograd(cpu, extents))
    return false;
  double batch = extents.batch > 0 ? extents.batch : 1;
  double rows = extents.height > 0 ? extents.height : typicalExtent;
  double columns = extents.width > 0 ? extents.width : typicalExtent;
  double tiles = batch * std::ceil(rows / kWinogradOutputs) * std::ceil(columns / kWinogradOutputs);

  // Cycles of two cores, measured on Zen 4. Weights come from memory once a run, and from a near
  // cache again for each block of tiles that fits into scratch. With 256 bits two vectors are
  // multiplied a cycle.
  constexpr double cores = 2, bytesPerCycle = 16, againPerCycle = 40, inputCycles = 36,
                   outputCycles = 60;
  double perCycle = cpu.fma && cpu.vectorBits <= 256 ? 2 : 1;
  double inputVectors = channels / lanes + llvm::popcount(uint64_t(channels % lanes));
  double outputVectors = std::ceil(double(filters) / lanes);
  double products = channels * outputVectors;
  double direct = batch * rows * columns * 9 * products / cores / perCycle;
  double transforms = inputCycles * inputVectors + outputCycles * outputVectors;
  double inTiles = tiles * (kWinogradPoints * products / perCycle + transforms) / cores;
  double weightBytes = double(channels) * filters * sizeof(float);
  double moreBytes = (kWinogradPoints - 9) * weightBytes;
  int64_t width = winogradWidths(cpu, extents).front();
  double tileRows = registerTileRows(cpu, width / lanes);
  double together =
      tileRows * std::floor(winogradScratch(cpu) / (tileRows * winogradTileBytes(channels, width)));
  // A vector of results is written as planes, an element in each: where these share sets, every
  // line is fetched again.
  constexpr double scatteredCycles = 6;
  if (extents.planeBytes && shareSets(extents.planeBytes, width))
    inTiles += scatteredCycles * batch * rows * columns * filters / cores;
  double again = (std::ceil(tiles / together) - 1) * kWinogradPoints * weightBytes;
  // Of several groups all that is compared is as many times as much. What one sums is short, so
  // that points took up to 1.3 times as long as this says.
  constexpr double margin = 0.9, marginOfGroups = 0.75;
  return inTiles + moreBytes / bytesPerCycle + again / againPerCycle <
         (extents.groups > 1 ? marginOfGroups : margin) * direct;
}

/// G g G^T for one 3x3 filter, in double: rounded once.
static void transform(const float *g, double *points) {
  double columns[4][3];
  for (int j = 0; j < 3; ++j) {
    double a = g[j], b = g[3 + j], c = g[6 + j];
    columns[0][j] = a;
    columns[1][j] = (a + b + c) / 2;
    columns[2][j] = (a - b + c) / 2;
    columns[3][j] = c;
  }
  for (int i = 0; i < 4; ++i) {
    auto [a, b, c] = columns[i];
    points[4 * i] = a;
    points[4 * i + 1] = (a + b + c) / 2;
    points[4 * i + 2] = (a - b + c) / 2;
    points[4 * i + 3] = c;
  }
}

void packWinograd(const float *weights, int64_t filters, const PanelShape &shape,
                  int64_t firstPanel, int64_t endPanel, float *packed) {
  int64_t channels = shape.k, width = shape.width;
  for (int64_t panel = firstPanel; panel < endPanel; ++panel)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t column = 0; column < width; ++column) {
        int64_t filter = panel * width + column;
        double points[kWinogradPoints] = {};
        if (filter < filters)
          transform(weights + (filter * channels + c) * 9, points);
        float *to =
            packed + ((panel - firstPanel) * kWinogradPoints * channels + c) * width + column;
        for (int64_t p = 0; p < kWinogradPoints; ++p)
          to[p * channels * width] = static_cast<float>(points[p]);
      }
}

/// G has a left inverse, which takes rows 0, 1 minus 2, and 3.
void unpackWinograd(const float *packed, int64_t filters, const PanelShape &shape, float *weights) {
  int64_t channels = shape.k, width = shape.width;
  for (int64_t filter = 0; filter < filters; ++filter)
    for (int64_t c = 0; c < channels; ++c) {
      auto point = [&](int64_t i, int64_t j) -> double {
        int64_t slice = filter / width * kWinogradPoints + i * 4 + j;
        return packed[(slice * channels + c) * width + filter % width];
      };
      auto column = [&](int64_t i, int64_t j) {
        return i == 1 ? point(1, j) - point(2, j) : point(i == 0 ? 0 : 3, j);
      };
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 3; ++j) {
          double v = j == 1 ? column(i, 1) - column(i, 2) : column(i, j == 0 ? 0 : 3);
          weights[(filter * channels + c) * 9 + i * 3 + j] = static_cast<float>(v);
        }
    }
}

} // namespace tcc
