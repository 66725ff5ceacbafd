//===- InsertedPart.h - Rows of what a loop carries --------------*- C++ -*-===//
//
// A recurrent layer inserts a row into its outputs in each turn. Whoever makes the row may write it
// right there, and nothing is left to launch.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc {

/// What a launch inserts, in the body of a loop, into a tensor that the loop carries and nobody
/// else reads: elements that lie together, from a multiple of `elements` on.
struct InsertedPart {
  unsigned whole, part;     ///< inputs of the launch
  mlir::OpFoldResult first; ///< which multiple: a scalar of the host
  int64_t elements;         ///< of a place along the first axis of the whole
  /// The launch that makes the part, after `first` is known.
  kernel::LaunchOp maker;

  /// Nothing where `launch` is no such launch.
  static std::optional<InsertedPart> of(kernel::LaunchOp launch);
};

/// Whether `region` is what a turn of a loop does.
bool isBodyOfLoop(mlir::Region *region);

} // namespace tcc
