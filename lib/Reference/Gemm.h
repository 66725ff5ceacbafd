//===- Gemm.h - Matrix products in the wide types --------------*- C++ -*-===//
#pragma once
#include "Reference/Wide.h"

namespace tcc::reference {

/// c [m, n] = a [m, k] times b [k, n], all row-major. Each sum runs over k in
/// order, so that the result does not depend on the machine.
void gemm(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c);
void gemm(int64_t m, int64_t n, int64_t k, const uint64_t *a, const uint64_t *b, uint64_t *c);
void gemm(int64_t m, int64_t n, int64_t k, const Complex *a, const Complex *b, Complex *c);

} // namespace tcc::reference
