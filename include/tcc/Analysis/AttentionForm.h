//===- AttentionForm.h - softmax(scores) * values ----------------*- C++ -*-===//
//
// Attention as it stands in the IR: a product of queries and keys, what is done to each of
// its elements, a softmax over the keys and a product with the values. Fusion recognises it
// to make one kernel of it; templates ask for its parts in the kernel's region. Nothing but
// the operators says what it is, so that what evaluates primitives evaluates it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {

/// exp(score - shift) / divisor, times the values. The rows of both products are the same in
/// row-major order; the last axis of `score` is that of the keys. `shift` and `divisor` have
/// an element a row, followed by a unit axis or not.
struct AttentionForm {
  prim::DotOp scores;      ///< queries times keys
  mlir::Value score;       ///< what the softmax is of: computed from each score
  prim::ReduceOp top, sum; ///< over the keys: the largest score, and of exponentials
  mlir::Value shift;       ///< a function of `top` alone
  mlir::Value divisor;     ///< a function of `sum` alone
  prim::DotOp values;      ///< weights times values
  /// Weights that are not a number are 0: those of a row all are, or none is, since no exponential
  /// exceeds one.
  bool dropsNaN = false;
  llvm::SetVector<mlir::Operation *> ops; ///< from `scores` to `values`
};

/// What `values` is the last product of. Null where it is none, or somebody else needs a
/// part of it.
std::optional<AttentionForm> matchAttention(prim::DotOp values);

/// What keys and values are put together from, a cache and what comes to it: as many parts of
/// both, one behind the other along the keys.
struct JoinedKeys {
  prim::ConcatOp keys, values;
};
/// Null where they are not, or somebody else needs what they are put together to.
std::optional<JoinedKeys> joinedKeys(const AttentionForm &form);

/// The form of a launch of kind attention.
AttentionForm attentionOf(kernel::LaunchOp launch);

} // namespace tcc
