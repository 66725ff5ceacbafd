//===- Splat.h - Values that repeat one known element ----------*- C++ -*-===//
#pragma once
#include "mlir/IR/PatternMatch.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::simplify {

/// The one element that `value` repeats; null when it is not known to. Looks
/// through views, since a splat of dynamic shape is a broadcast.
mlir::Attribute splatOf(mlir::Value value);
std::optional<llvm::APFloat> floatSplat(mlir::Value value);
std::optional<llvm::APInt> intSplat(mlir::Value value);

/// Whether `value` repeats `number`, compared as a float or an integer; a float
/// zero matches 0.0 only, not -0.0.
bool isSplat(mlir::Value value, int64_t number);

/// A value of `like`'s shape that repeats `scalar`; null when `like` has a dynamic
/// shape and is no splat itself.
mlir::Value splatLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like,
                      mlir::Attribute scalar);

inline mlir::Type elementOf(mlir::Value value) { return tensorType(value).getElementType(); }
/// Integers of any signedness, bool apart.
inline bool isInteger(mlir::Value value) {
  return mlir::isa<mlir::IntegerType>(elementOf(value)) && !elementOf(value).isInteger(1);
}
inline bool isFloat(mlir::Value value) { return mlir::isa<mlir::FloatType>(elementOf(value)); }

} // namespace tcc::simplify
