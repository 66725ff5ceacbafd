//===- GroupedWeights.h - Small integers with scales in panels --*- C++ -*-===//
//
// Language models are shipped with weights of 4 bits that have a scale, and often a zero point, for
// each group of 32 or so along the sum. Layout puts them into panels as they are (#cpu.grouped),
// and code generation widens them where it multiplies; how they lie is here, below both.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tcc {

/// Words of 32 bits, [panels][groups][rows][width]: of each group in a panel first its integers,
/// perWord() of k in a word with the first in the lowest bits, then a row of scales (f32), then one
/// of offsets (f32) unless each is -zero * scale. Columns past the last are zero.
struct GroupedShape {
  int64_t columns, groups, group, width;
  unsigned bits;               ///< of an integer: 2, 4 or 8
  std::optional<int64_t> zero; ///< of all groups

  int64_t k() const { return groups * group; }
  int64_t panels() const { return (columns + width - 1) / width; }
  int64_t perWord() const { return 32 / bits; }
  int64_t integerRows() const { return group / perWord(); }
  int64_t rows() const { return integerRows() + (zero ? 1 : 2); }
  int64_t panelWords() const { return groups * groupWords(); }
  int64_t groupWords() const { return rows() * width; }
  /// As the shape of a tensor.
  llvm::SmallVector<int64_t, 4> dims() const { return {panels(), groups, rows(), width}; }
};

/// What is packed: integer * scale + offset.
struct GroupedSource {
  llvm::ArrayRef<uint8_t> integers; ///< (column, k) at column * columnStride + k * kStride
  int64_t columnStride, kStride;
  llvm::ArrayRef<float> scales,
      offsets; ///< [columns][groups]; no offsets where the shape has a zero
};

/// The bytes of the panels.
std::vector<char> packGroups(const GroupedSource &source, const GroupedShape &shape);

/// And back: to[column * columnStride + k * kStride] = integer * scale + offset, rounded once.
void unpackGroups(const char *packed, const GroupedShape &shape, int64_t columnStride,
                  int64_t kStride, float *to);

} // namespace tcc
