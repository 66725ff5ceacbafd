//===- Dequantized.h - Floats that were integers of few bits ---*- C++ -*-===//
//
// Quantised models say (integers - zeros) * scales of whatever a product takes, and round what it
// gives to such integers again. This finds both and takes them apart.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Simplify/Splat.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

namespace tcc::simplify {

/// What a product's operand is multiplied by or less of, repeated along the other axes.
struct Parameter {
  mlir::Value value;               ///< i32 or f32, without axes of one element
  llvm::SmallVector<int64_t> axes; ///< of the operand
};

/// (integers - zeros) * scales. Numbers that are known are one, or one for each index of an axis;
/// others are values of a run.
struct Dequantized {
  mlir::Value integers;
  std::vector<double> zeros, scales;
  std::optional<Parameter> zero, scale; ///< instead of zeros, of scales
  bool hasZeros() const { return zero || zeros.size() != 1 || zeros[0] != 0; }
  /// One number each, both known.
  bool isUniform() const { return zeros.size() == 1 && scales.size() == 1; }
};

class Dequantizer {
public:
  explicit Dequantizer(const WeightTable &weights) : weights(weights) {}
  /// What a few operators make of constants.
  std::optional<reference::Tensor> evaluate(mlir::Value value, unsigned depth = 0);
  /// The finite numbers of a constant that is the same everywhere but along `axis`.
  std::optional<std::vector<double>> numbers(mlir::Value value, std::optional<int64_t> axis);
  /// Takes `value`, of bytes, apart, whose scales and zero points may differ along `axis`.
  std::optional<Dequantized> dequantized(mlir::Value value, std::optional<int64_t> axis);
  /// The same where a run may know them, which must not differ along the axes `summed`, also behind
  /// views of what has one of each.
  std::optional<Dequantized> dequantizedInRun(mlir::OpBuilder &b, mlir::Value value,
                                              std::optional<int64_t> axis,
                                              llvm::ArrayRef<int64_t> summed);

private:
  std::optional<Dequantized> takeApart(mlir::OpBuilder *b, mlir::Value value,
                                       std::optional<int64_t> axis, llvm::ArrayRef<int64_t> summed);
  const WeightTable &weights;
};

/// A vector of `numbers`, or one number without axes.
mlir::Value constantOf(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<float> numbers);
mlir::Value constantOf(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int32_t> numbers);

/// Whether `value` has the elements of one operand in another order, or some of them.
bool isView(mlir::Value value);
/// What the operator `view` makes of `x` instead of its operand.
mlir::Value viewOf(mlir::OpBuilder &b, mlir::Operation *view, mlir::Value x);

/// The open ones of `dims`, of a value of `type`.
llvm::SmallVector<mlir::Value> openSizes(mlir::OpBuilder &b, mlir::Location loc,
                                         mlir::RankedTensorType type,
                                         llvm::ArrayRef<mlir::OpFoldResult> dims);

} // namespace tcc::simplify
