//===- Suppression.h - The best of boxes that overlap ------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"
#include <limits>

namespace tcc {

struct Suppression {
  static constexpr double kLowest = -std::numeric_limits<double>::infinity();

  mlir::Value boxes;    ///< [images, boxes, 4]
  mlir::Value scores;   ///< [images, classes, boxes]
  Dim most;             ///< boxes of one class that are taken
  mlir::Value overlap;  ///< f32 scalar: boxes that share more of their union are dropped
  mlir::Value score{};  ///< f32 scalar: only boxes above it are taken; null: all
  bool centers = false; ///< boxes are (x, y, width, height), else two corners
};

/// The boxes that are kept, by falling score in each class: rows (image, class, box) of i64. Null,
/// with a fault, when the operands do not fit together.
mlir::Value suppress(PrimBuilder &b, const Suppression &o);

} // namespace tcc
