//===- Unique.h - Distinct elements, from primitives -------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// As prim.unique: the distinct elements or rows, where each appears first, which
/// one each input is, and how often it appears.
struct Distinct {
  mlir::Value values, first, inverse, counts;
};

/// The distinct elements of a rank-1 tensor, or rows of a rank-2 one whose number
/// of columns is known and moderate; nullopt for any other.
std::optional<Distinct> distinct(PrimBuilder &b, mlir::Value x, bool sorted);

} // namespace tcc
