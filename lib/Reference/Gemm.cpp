//===- Gemm.cpp - Matrix products in the wide types ----------------------===//
//
// The usual three loops of blocks: a panel of b stays in the second-level cache,
// a strip of it and a strip of a in the first, and a tile of c in registers. The
// strips are packed so that the inner loop reads both sequentially. No fused
// multiply-add: where the processor has none the bits would differ.
//
//===----------------------------------------------------------------------===//
#include "Reference/Gemm.h"
#include <algorithm>
#include <vector>

namespace tcc::reference {

namespace {

constexpr int64_t kTileRows = 4, kTileColumns = 16;
constexpr int64_t kPanelDepth = 256, kPanelColumns = 512;

#if defined(__x86_64__)
#define TCC_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TCC_CLONES
#endif

/// c[kTileRows][kTileColumns] += strip of a times strip of b.
TCC_CLONES void multiplyTile(int64_t depth, const double *a, const double *b, double *c) {
#pragma clang fp contract(off)
  double sums[kTileRows][kTileColumns];
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kTileColumns; ++j)
      sums[i][j] = c[i * kTileColumns + j];
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t i = 0; i < kTileRows; ++i)
      for (int64_t j = 0; j < kTileColumns; ++j)
        sums[i][j] += a[p * kTileRows + i] * b[p * kTileColumns + j];
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = 0; j < kTileColumns; ++j)
      c[i * kTileColumns + j] = sums[i][j];
}

/// b's rows [row, row + depth) and columns [column, column + width), as strips.
void packColumns(const double *b, int64_t n, int64_t row, int64_t depth, int64_t column,
                 int64_t width, double *to) {
  for (int64_t j = 0; j < width; j += kTileColumns)
    for (int64_t p = 0; p < depth; ++p) {
      int64_t have = std::min(kTileColumns, width - j);
      to = std::copy_n(b + (row + p) * n + column + j, have, to);
      to = std::fill_n(to, kTileColumns - have, 0.0);
    }
}

void packRows(const double *a, int64_t k, int64_t row, int64_t have, int64_t column, int64_t depth,
              double *to) {
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t i = 0; i < kTileRows; ++i)
      *to++ = i < have ? a[(row + i) * k + column + p] : 0.0;
}

/// c's tile at (row, column) += the packed strips.
void addTile(int64_t rows, int64_t columns, int64_t n, int64_t depth, const double *a,
             const double *b, double *c) {
  double tile[kTileRows * kTileColumns] = {};
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(c + i * n, columns, tile + i * kTileColumns);
  multiplyTile(depth, a, b, tile);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(tile + i * kTileColumns, columns, c + i * n);
}

template <typename W>
void gemmPlain(int64_t m, int64_t n, int64_t k, const W *a, const W *b, W *c) {
  std::fill_n(c, m * n, W(0));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
}

} // namespace

void gemm(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c) {
  std::fill_n(c, m * n, 0.0);
  std::vector<double> panel(kPanelDepth * kPanelColumns), strip(kPanelDepth * kTileRows);
  for (int64_t j0 = 0; j0 < n; j0 += kPanelColumns)
    for (int64_t p0 = 0; p0 < k; p0 += kPanelDepth) {
      int64_t width = std::min(kPanelColumns, n - j0), depth = std::min(kPanelDepth, k - p0);
      packColumns(b, n, p0, depth, j0, width, panel.data());
      for (int64_t i = 0; i < m; i += kTileRows) {
        int64_t rows = std::min(kTileRows, m - i);
        packRows(a, k, i, rows, p0, depth, strip.data());
        for (int64_t j = 0; j < width; j += kTileColumns)
          addTile(rows, std::min(kTileColumns, width - j), n, depth, strip.data(),
                  panel.data() + j * depth, c + i * n + j0 + j);
      }
    }
}

void gemm(int64_t m, int64_t n, int64_t k, const uint64_t *a, const uint64_t *b, uint64_t *c) {
  gemmPlain(m, n, k, a, b, c);
}

void gemm(int64_t m, int64_t n, int64_t k, const Complex *a, const Complex *b, Complex *c) {
  gemmPlain(m, n, k, a, b, c);
}

} // namespace tcc::reference
