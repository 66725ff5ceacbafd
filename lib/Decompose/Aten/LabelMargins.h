//===- LabelMargins.h - Margins between the classes of rows -----*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// What multilabel_margin_loss and its gradient read. Targets are the classes of each row before
/// its first -1.
struct LabelMargins {
  Dims shape;           ///< of the scores
  Dims rows;            ///< [N, C], of a vector or a number too
  mlir::Value ofPairs;  ///< [N, target, class] x[class] - x[target] + 1, wide
  mlir::Value isOwn;    ///< [N, target, class] i1: the class is this target
  mlir::Value isTarget; ///< [N, C] i1
  mlir::Value counted;  ///< [N, target, class] i1: a target beside a class that is none
};

/// Fails where `self` and `target` are no rows of equal extents.
mlir::FailureOr<LabelMargins> labelMargins(AtenNode &a);

} // namespace tcc::aten
