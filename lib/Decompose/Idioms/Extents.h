//===- Extents.h - Arithmetic on shapes that rules share ---------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// total / parts, both given as extents, with the factors they share cancelled.
struct Ratio {
  llvm::SmallVector<Dim> above, below; ///< symbols
  int64_t p = 1, q = 1;                ///< constants

  Ratio(llvm::ArrayRef<Dim> total, llvm::ArrayRef<Dim> parts);
  /// Whether the division leaves no rest, whatever the extents.
  bool exact() const { return below.empty() && q == 1; }
  bool isOne() const { return exact() && above.empty() && p == 1; }
  Dim quotient(PrimBuilder &b) const;
};

} // namespace tcc
