//===- Gemm.h - Matrix products in the wide types --------------*- C++ -*-===//
#pragma once
#include "Reference/Wide.h"

namespace tcc::reference {

/// Row-major elements of any type, widened as they are read.
struct Matrix {
  const char *data;
  DType type;
  int64_t columns;

  template <typename W> void row(int64_t row, int64_t column, int64_t count, W *to) const {
    widen(type, data + (row * columns + column) * elementBytes(type), count, to);
  }
};

/// c [m, n] = a [m, k] times b [k, n]. Each sum runs over k in order, so that
/// the result does not depend on the machine.
void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, double *c);
void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, uint64_t *c);
void gemm(int64_t m, int64_t n, int64_t k, const Matrix &a, const Matrix &b, Complex *c);

} // namespace tcc::reference
