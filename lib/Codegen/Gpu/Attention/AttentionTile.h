//===- AttentionTile.h - What attention needs for matrix units ---*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which attention the templates for matrix units take, and how
// blocks of the one for mma.sync tile it: decided once here, read by fusion's policy, the schedule
// and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/MmaTile.h"
#include "tcc/Analysis/AttentionForm.h"

namespace tcc::codegen::device {

/// What a schedule has to know of attention; extents that are not known are -1.
struct MatrixAttention {
  int64_t batch, rows, keys;
  int64_t depth, width; ///< of a query and of a value; known
  MatrixInstruction scores, values;

  /// As they lie in shared memory.
  unsigned depthFilled() const { return unsigned(llvm::alignTo(depth, 16)); }
  unsigned widthFilled() const { return unsigned(llvm::alignTo(width, 16)); }
};

/// Null unless matrix units multiply both: 16-bit floats of one type in each product. Fusion asks
/// before there is a launch, so nothing but the operators of the form counts.
std::optional<MatrixAttention> matrixAttention(const AttentionForm &form);

/// Whether attention of f32 should take less in the general form, which skips keys and keeps scores
/// to itself, than as two products and a softmax.
bool generalAttention(const AttentionForm &form, const GpuArch &arch);

/// A block's part of the queries and, in each step, of the keys, and what a warp has of both. Warps
/// that have the same queries share the keys of a step, and add up what they found at the end.
struct AttentionTile {
  unsigned rows, keys, warpRows, warpKeys;

  unsigned sharing() const { return keys / warpKeys; } ///< warps of the same queries
  unsigned threads() const { return rows / warpRows * sharing() * 32; }
  unsigned rowThreads() const { return 4 * sharing(); }
  unsigned queryBytes(const MatrixAttention &a) const { return rows * (a.depthFilled() * 2 + 16); }
  unsigned stageBytes(const MatrixAttention &a) const {
    return keys * ((a.depthFilled() + a.widthFilled()) * 2 + 32);
  }
  /// Of what warps found, when all keys were seen: rows of floats, then tops and sums.
  static unsigned resultPitch(const MatrixAttention &a) { return a.widthFilled() + 8; }
  unsigned resultBytes(const MatrixAttention &a) const {
    return sharing() * rows * (resultPitch(a) + 2) * 4;
  }
  unsigned sharedBytes(const MatrixAttention &a, unsigned stages) const {
    return std::max(queryBytes(a) + stages * stageBytes(a), resultBytes(a));
  }
  /// Floats of scratch memory for each row of each part of its keys: the results, top and sum.
  static unsigned scratchTop(const MatrixAttention &a) {
    return unsigned(llvm::alignTo(a.width, 8));
  }
  static unsigned scratchPitch(const MatrixAttention &a) { return scratchTop(a) + 8; }

  static llvm::ArrayRef<AttentionTile> all();
  /// The one that a schedule names.
  static AttentionTile of(Schedule schedule);
};

} // namespace tcc::codegen::device
