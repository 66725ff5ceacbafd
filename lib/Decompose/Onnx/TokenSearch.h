//===- TokenSearch.h - Choosing the next token --------------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// The rules of com.microsoft's GreedySearch, Sampling and BeamSearch.
mlir::LogicalResult greedySearch(NodeContext &c);
mlir::LogicalResult sampling(NodeContext &c);
mlir::LogicalResult beamSearch(NodeContext &c);

/// `scores` [B, V] with -inf for each token that would end an n-gram again which the sequence, in
/// `ids` [B, L], holds.
mlir::Value withoutRepeats(PrimBuilder &b, mlir::Value ids, mlir::Value scores, int64_t n);

/// `scores` [B, V] in which the tokens of `ids` [B, L] have less: positive ones divided by
/// `penalty`, a scalar, negative ones times it.
mlir::Value withPenalty(PrimBuilder &b, mlir::Value ids, mlir::Value scores, mlir::Value penalty);

/// The tokens of Whisper that its texts with times are made of; a time's token is `firstTime` or
/// after it.
struct TimeTokens {
  int64_t end, start, translate, transcribe, startOfLanguageModel, noTimes, firstTime;
};
/// `scores` [B, V] with -inf for what may not follow the tokens of `ids` [B, L]: times stand in
/// pairs, but for the first one, do not decrease, and are chosen where they are likelier together
/// than any other token.
mlir::Value withTimes(PrimBuilder &b, mlir::Value ids, mlir::Value scores, const TimeTokens &t);

} // namespace tcc
