//===- KeyRange.h - The keys that a query may see ----------------*- C++ -*-===//
//
// A causal mask, a window or the length of a cache leaves each query a range of the keys. Where
// the score of attention (Analysis/AttentionForm.h) is chosen between what was computed and minus
// infinity by comparing the position of the key with something that depends on the query alone,
// the bounds of that range are known before any score is, and templates skip the keys outside.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/Elemental.h"

namespace tcc::codegen {

/// For score i of a row: lhs(i) >= rhs(i), or >, where one side grows by one with each key and
/// the other stays.
struct KeyBound {
  mlir::Value lhs, rhs;      ///< integers
  llvm::SmallVector<int> at; ///< each of their axes: the score's axis that it follows, or -1
  bool strict;               ///< > instead of >=
  bool isUpper;              ///< `rhs` grows: keys up to a bound are seen, else those from it on
};

/// What bounds the keys that `score` has a finite value for; its last axis is that of the keys.
llvm::SmallVector<KeyBound> keyBounds(mlir::Value score);

/// What else hides keys: a score is minus infinity unless `value`, a bool, is `holds`.
struct KeyCondition {
  mlir::Value value;
  llvm::SmallVector<int> at; ///< as of KeyBound
  bool holds;
};

/// The bounds of a score, and what it is where they hide nothing: `seen` is the score without the
/// selections that its bounds say all of. With what `conditions` say as well, it is `chosen`: the
/// score without any selection of minus infinity.
struct KeyMask {
  llvm::SmallVector<KeyBound> bounds;
  mlir::Value seen;
  llvm::SmallVector<KeyCondition> conditions;
  mlir::Value chosen;
};
KeyMask keyMaskOf(mlir::Value score);

/// What bounds the indices along the last axis at which `condition`, a tensor of truth values,
/// holds; empty where no bounds say all of it.
llvm::SmallVector<KeyBound> boundsOf(mlir::Value condition);

/// The keys that are seen: [begin, end), i64 values that may lie outside of the tensor.
struct KeyRange {
  mlir::Value begin, end;
};

/// Whether a condition holds as it should, an i1, for the score at `at`.
mlir::Value emitKeyCondition(Elemental &e, const KeyCondition &condition, llvm::ArrayRef<Coord> at);

/// The range of the row at `at` (all axes of the score but the last) within `all`.
KeyRange emitKeyRange(Elemental &e, llvm::ArrayRef<KeyBound> bounds, llvm::ArrayRef<Coord> at,
                      KeyRange all);

} // namespace tcc::codegen
