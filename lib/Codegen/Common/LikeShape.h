//===- LikeShape.h - Types and constants of a value's shape ------*- C++ -*-===//
//
// Element operators work on scalars and on vectors alike: what stands beside a value has its shape.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tcc::codegen {

/// A vector of `element` if `shape` is a vector, of as many lanes; else `element`.
inline mlir::Type likeType(mlir::Type element, mlir::Value shape) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(shape.getType()))
    return mlir::VectorType::get(vector.getShape(), element);
  return element;
}

/// `value` in all lanes of such a type.
inline mlir::Value constantLike(mlir::ImplicitLocOpBuilder &b, mlir::TypedAttr value,
                                mlir::Value shape) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(likeType(value.getType(), shape)))
    value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
  return mlir::arith::ConstantOp::create(b, value);
}

/// `v` as an element of the type of `like`, a float or an integer, in all of its lanes.
inline mlir::Value number(mlir::ImplicitLocOpBuilder &b, double v, mlir::Value like) {
  mlir::Type e = mlir::getElementTypeOrSelf(like.getType());
  if (mlir::isa<mlir::FloatType>(e))
    return constantLike(b, b.getFloatAttr(e, v), like);
  llvm::APInt bits(64, static_cast<uint64_t>(static_cast<int64_t>(v)));
  return constantLike(b, b.getIntegerAttr(e, bits.sextOrTrunc(e.getIntOrFloatBitWidth())), like);
}

} // namespace tcc::codegen
