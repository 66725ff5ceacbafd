//===- Bag.h - Bags of embeddings ---------------------------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

enum BagMode : int64_t { kSumOfBag = 0, kMeanOfBag = 1, kMaximumOfBag = 2 };

/// The bag of `bags` that each of `count` indices is in, as i64: the last that begins up to there.
mlir::Value bagOfEach(PrimBuilder &b, mlir::Value offsets, Dim count, Dim bags);

} // namespace tcc::aten
