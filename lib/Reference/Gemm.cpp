//===- Gemm.cpp - Matrix products in the wide types ----------------------===//
//
// The usual three loops of blocks: a panel of b stays in the second-level cache,
// a strip of it and a strip of a in the first, and a tile of c in registers. The
// strips are packed, and widened on the way, so that the inner loop reads both
// sequentially. With few rows packing would cost more than it saves: then b is
// streamed once. No fused multiply-add: where the processor has none the bits
// would differ.
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
void packColumns(const Matrix &b, int64_t row, int64_t depth, int64_t column, int64_t width,
                 double *to) {
  double line[kPanelColumns];
  for (int64_t p = 0; p < depth; ++p) {
    b.row(row + p, column, width, line);
    for (int64_t j = 0; j < width; j += kTileColumns) {
      double *strip = to + j * depth + p * kTileColumns;
      int64_t have = std::min(kTileColumns, width - j);
      std::fill_n(std::copy_n(line + j, have, strip), kTileColumns - have, 0.0);
    }
  }
}

void packRows(const Matrix &a, int64_t row, int64_t have, int64_t column, int64_t depth,
              double *to) {
  double line[kPanelDepth];
  for (int64_t i = 0; i < kTileRows; ++i) {
    if (i < have)
      a.row(row + i, column, depth, line);
    else
      std::fill_n(line, depth, 0.0);
    for (int64_t p = 0; p < depth; ++p)
      to[p * kTileRows + i] = line[p];
  }
}

/// c's tile of `rows` by `columns` += the packed strips.
void addTile(int64_t rows, int64_t columns, int64_t n, int64_t depth, const double *a,
             const double *b, double *c) {
  double tile[kTileRows * kTileColumns] = {};
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(c + i * n, columns, tile + i * kTileColumns);
  multiplyTile(depth, a, b, tile);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(tile + i * kTileColumns, columns, c + i * n);
}

template <typename W> void multiplyAdd(W *sums, W factor, const W *x, int64_t count) {
  for (int64_t j = 0; j < count; ++j)
    sums[j] += factor * x[j];
}
template <> void multiplyAdd(Complex *sums, Complex factor, const Complex *x, int64_t count) {
  // Without the recovery of infinities that C99 asks of a complex product.
  double re = factor.real(), im = factor.imag();
  for (int64_t j = 0; j < count; ++j)
    sums[j] += Complex(re * x[j].real() - im * x[j].imag(), re * x[j].imag() + im * x[j].real());
}

/// Streams b once for each `kTileRows` rows of a.
template <typename W>
void gemmByRows(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, W *c) {
  std::fill_n(c, m * n, W(0));
  std::vector<W> factors(kTileRows * k);
  W line[kRun];
  for (int64_t i0 = 0; i0 < m; i0 += kTileRows) {
    int64_t rows = std::min(kTileRows, m - i0);
    a.row(i0, 0, rows * k, factors.data());
    for (int64_t j = 0; j < n; j += kRun) {
      int64_t count = std::min(kRun, n - j);
      for (int64_t p = 0; p < k; ++p) {
        b.row(p, j, count, line);
        for (int64_t i = 0; i < rows; ++i)
          multiplyAdd(c + (i0 + i) * n + j, factors[i * k + p], line, count);
      }
    }
  }
}

} // namespace

void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, double *c) {
  if (m <= kTileRows)
    return gemmByRows(m, n, k, a, b, c);
  std::fill_n(c, m * n, 0.0);
  std::vector<double> panel(kPanelDepth * kPanelColumns), strip(kPanelDepth * kTileRows);
  for (int64_t j0 = 0; j0 < n; j0 += kPanelColumns)
    for (int64_t p0 = 0; p0 < k; p0 += kPanelDepth) {
      int64_t width = std::min(kPanelColumns, n - j0), depth = std::min(kPanelDepth, k - p0);
      packColumns(b, p0, depth, j0, width, panel.data());
      for (int64_t i = 0; i < m; i += kTileRows) {
        int64_t rows = std::min(kTileRows, m - i);
        packRows(a, i, rows, p0, depth, strip.data());
        for (int64_t j = 0; j < width; j += kTileColumns)
          addTile(rows, std::min(kTileColumns, width - j), n, depth, strip.data(),
                  panel.data() + j * depth, c + i * n + j0 + j);
      }
    }
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, uint64_t *c) {
  gemmByRows(m, n, k, a, b, c);
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, Complex *c) {
  gemmByRows(m, n, k, a, b, c);
}

} // namespace tcc::reference
