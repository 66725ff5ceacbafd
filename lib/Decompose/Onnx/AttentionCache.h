//===- AttentionCache.h - Keys and values of earlier tokens ------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// `fresh` [B, N, S, H] at the places `at` [B or 1, S] of the cache [B, N, T, H].
mlir::Value writeTokens(PrimBuilder &b, mlir::Value cache, mlir::Value at, mlir::Value fresh);

/// A cache that grows with each call, or one that has places for all tokens, of which so many are
/// taken ("past_present_share_buffer"). In a beam search a token may be of another beam: the
/// indirection [B, beams, T] says which.
class AttentionCache {
public:
  /// Where the operands are: how many tokens are held, the number of beams, and the indirection.
  struct Operands {
    size_t length, width, beams;
  };
  static mlir::FailureOr<AttentionCache> read(NodeContext &c, const Operands &operands,
                                              bool shares);
  /// The cache with `fresh`, which becomes what is attended to.
  mlir::Value append(mlir::Value past, mlir::Value &fresh) const;
  /// How many tokens are held before.
  Dim before(mlir::Value past) const { return shares ? length : b.dim(past, 2); }

private:
  explicit AttentionCache(PrimBuilder &b) : b(b) {}
  mlir::Value ofBeams(mlir::Value held) const;

  PrimBuilder &b;
  bool shares = false;
  Dim length;
  mlir::Value beams; ///< or null
};

} // namespace tcc
