//===- LogAddExp.h - Sums of numbers kept as logarithms ----------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc::aten {

/// log(exp(x) + exp(y)) of two floats of one shape, or with base 2, without overflow:
/// max + log(1 + exp(-|x - y|)).
mlir::Value logAddExp(PrimBuilder &b, mlir::Value x, mlir::Value y, bool base2 = false);

} // namespace tcc::aten
