//===- Attention.h - Scaled dot-product attention ----------------*- C++ -*-===//
//
// One form for every operator that contains attention, so that later phases have
// one pattern to recognise: dot, scale, bias, softmax, dot.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

struct Attention {
  mlir::Value query;     ///< [B, N, S, H]
  mlir::Value key;       ///< [B, N or a divisor of it, T, H]
  mlir::Value value;     ///< [B, as key, T, V]
  double scale = 0;      ///< 0: 1 / sqrt(H)
  mlir::Value bias{};    ///< added to the scores, broadcast to [B, N, S, T], or null
  mlir::Value allowed{}; ///< i1, likewise: where false, a score is -inf; or null
  double softcap = 0;
  bool emptyRows = false; ///< a query may see no key at all: its result is 0
  mlir::Value sink{};     ///< a score beside those of the keys, of a value of 0, broadcast to
                          ///< [B, N, S, 1], or null
};

struct Attended {
  mlir::Value result;  ///< [B, N, S, V]
  mlir::Value scores;  ///< scaled products, [B, N, S, T], as are the next three
  mlir::Value capped;  ///< after the softcap
  mlir::Value masked;  ///< with bias and mask
  mlir::Value weights; ///< after the softmax
};
Attended attend(PrimBuilder &b, const Attention &a);

/// [B, S, N * H] as [B, N, S, H] and back.
mlir::Value splitHeads(PrimBuilder &b, mlir::Value x, int64_t heads);
mlir::Value mergeHeads(PrimBuilder &b, mlir::Value x);
/// Query i sees keys up to i + offset: i1 [S, T].
mlir::Value causalMask(PrimBuilder &b, Dim queries, Dim keys, Dim offset);

/// x [.., S, .., H] turned by the angles whose cosines and sines are `cos` and
/// `sin`, which broadcast to [.., S, .., rotated / 2]; features past `rotated`
/// (0: all) stay.
mlir::Value rotate(PrimBuilder &b, mlir::Value x, mlir::Value cos, mlir::Value sin, int64_t rotated,
                   bool interleaved);

} // namespace tcc
