//===- ViewFactors.h - What a chain of views does to its source --*- C++ -*-===//
//
// Transposes, reshapes and slices with known starts only cut the axes of a value
// into factors, leave out a part and put the factors in another order. Following a
// chain of them factor by factor tells whether it is a plain reshape, a single
// transpose, or memory that can be read in place with strides.
//
//   [1, 128, 768]  reshape  [1, 128, 12, 64]     768 is cut into 12 x 64
//                  transpose [1, 12, 128, 64]    axes: {}, {12}, {128}, {64}
//
// Simplify composes views with it, fusion and code generation let products read
// their operands through it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

class ViewFactors {
public:
  /// A part of one axis of the source, at start(axis) + i * scale for i < extent.
  struct Factor {
    mlir::OpFoldResult extent;
    unsigned axis;
    int64_t scale;
  };
  /// Factors that make an axis of the view, outermost first; none: a unit axis.
  using Axis = llvm::SmallVector<unsigned, 2>;
  using ExtentsFn = llvm::function_ref<llvm::SmallVector<mlir::OpFoldResult>(mlir::Value)>;

  /// How `view` comes about from as far back as it can be followed through
  /// operators for which `through` holds. `extents` gives those of any value.
  static ViewFactors of(mlir::Value view, ExtentsFn extents,
                        llvm::function_ref<bool(mlir::Operation *)> through);

  mlir::Value source() const { return base; }
  llvm::ArrayRef<mlir::OpFoldResult> sourceExtents() const { return baseExtents; }
  /// First index taken of each axis of the source.
  llvm::ArrayRef<int64_t> starts() const { return baseStarts; }
  const Factor &factor(unsigned id) const { return factors[id]; }
  /// Factors in the order of the source.
  llvm::ArrayRef<unsigned> order() const { return sourceOrder; }
  llvm::ArrayRef<Axis> axes() const { return viewAxes; }
  /// Operators between source and view.
  unsigned length() const { return steps; }

  /// Whether stepping over the whole of `inner` is one step of `outer` in the
  /// memory of a densely stored source.
  bool nested(unsigned outer, unsigned inner) const;
  /// Whether a densely stored source can be read in place, one stride an axis: that
  /// of the last factor of the axis.
  bool isStrided() const;

private:
  ViewFactors(mlir::Value source, llvm::ArrayRef<mlir::OpFoldResult> extents);
  bool apply(mlir::Operation *view, llvm::ArrayRef<mlir::OpFoldResult> extents);
  bool regroup(llvm::ArrayRef<mlir::OpFoldResult> extents);
  bool takeFactors(mlir::OpFoldResult extent, llvm::SmallVectorImpl<unsigned> &flat, Axis &axis);
  bool slice(prim::SliceOp op, llvm::ArrayRef<mlir::OpFoldResult> extents);
  /// Cuts the factor into outer x `inner` and returns the inner one.
  unsigned split(unsigned id, int64_t inner);

  mlir::Value base;
  llvm::SmallVector<mlir::OpFoldResult> baseExtents;
  llvm::SmallVector<int64_t> baseStarts;
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<unsigned> sourceOrder;
  llvm::SmallVector<Axis> viewAxes;
  unsigned steps = 0;
};

} // namespace tcc
