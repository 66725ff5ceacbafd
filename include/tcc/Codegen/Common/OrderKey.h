//===- OrderKey.h - Elements as integers in their order ----------*- C++ -*-===//
//
// What sorts by digits or words compare instead of elements.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaunchFrame.h"

namespace tcc::codegen {

/// Bits of a key, and of half of one that is wide.
inline constexpr unsigned kKeyBits = 32;

/// Whether keys of elements have 64 bits.
bool hasWideKeys(mlir::Type elementType);

/// Integers of some width, in as many lanes as there are at hand.
struct IntegerLanes {
  LaunchFrame &f;
  mlir::Type of(unsigned bits);
  mlir::Value constant(int64_t v, unsigned bits);
};

/// 32 bits, or 64 where keys are wide, that compare, unsigned, as the elements `v` do, or the other
/// way round: NaN is the largest, and zeros are equal.
mlir::Value orderKey(LaunchFrame &f, mlir::Value v, mlir::Type elementType, bool descending);

} // namespace tcc::codegen
