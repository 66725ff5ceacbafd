//===- Classes.h - What the classifiers of ai.onnx.ml share ------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// `post_transform` of scores [samples, classes]; null when it has no rule.
mlir::Value transformScores(NodeContext &c, mlir::Value scores);

/// Whether it is PROBIT, which one score of two classes has not: ONNX Runtime leaves the second one
/// as memory was.
bool isProbit(NodeContext &c);

/// The numbers that classes are called by, from the attribute `name`; fails when
/// the node calls them by text.
mlir::FailureOr<llvm::SmallVector<int64_t>> classLabels(NodeContext &c, llvm::StringRef name);

/// A classifier's results: labels[at] as i64 and the scores as f32; fails where transformScores
/// gave none.
mlir::LogicalResult giveClasses(NodeContext &c, llvm::ArrayRef<int64_t> labels, mlir::Value at,
                                mlir::Value scores);

/// The place of the largest score of each sample, the first of equals.
mlir::Value largestClass(PrimBuilder &b, mlir::Value scores);

/// The operand as [samples, features] of floats: f64 stays, all else is f32.
mlir::FailureOr<mlir::Value> samples(NodeContext &c);

/// A float list attribute as a tensor of `element`, or null when it is absent or empty.
mlir::Value floatTable(NodeContext &c, llvm::StringRef name, mlir::Type element);

} // namespace tcc
