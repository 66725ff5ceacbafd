//===- AttentionFrame.h - What kernels of attention start from ---*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Templates differ in how they multiply. What they have in common
// is here: which rows and keys there are, the keys that a tile of rows sees, what the region makes
// of a product (the score), of the largest score (the shift) and of the sum (the divisor), and
// where a result goes.
//
// A row that has seen nothing but minus infinity is shifted by 0. NaNs come by way of the sum:
// the largest score of a row passes over them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/Product.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Codegen/Common/KeyRange.h"

namespace tcc::codegen::device {

/// What a thread carries from key to key of its rows: the largest score of each so far, the sum of
/// exponentials shifted by it, and the sums of those times the values, row by row.
struct RunningRows {
  llvm::SmallVector<mlir::Value> tops, sums, results;

  llvm::SmallVector<mlir::Value> all() const;
  /// As `all` gave them.
  static RunningRows of(mlir::ValueRange values, unsigned rows);
};

/// exp(x - shift) as 2^(x factor + term).
struct ShiftedPowers {
  mlir::Value factor, term;
};
/// Models hide keys by the lowest finite number, whose product with `factor`, log2(e) or more, is
/// minus infinity: a row that has seen nothing else yet would have 2^inf for weights. Numbers of
/// that size that differ are so far apart that any factor gives 2^-inf for them, and equal ones
/// have 1.
ShiftedPowers withoutOverflow(mlir::ImplicitLocOpBuilder &b, mlir::Value shift, mlir::Value factor,
                              mlir::Value term);

class AttentionFrame {
public:
  AttentionFrame(KernelFrame &f, AttentionForm form);

  /// Rows and keys of matrix `number` of the batch are meant from here on.
  void enter(mlir::Value number);

  /// The index of a row in the score's shape, without the axis of the keys; of the last row
  /// past the end.
  Coords rowAt(mlir::Value row);
  /// The range of keys that some of `count` rows from `first` on see, the same in all threads:
  /// indices up to the number of keys, of which the second may come before the first.
  std::pair<mlir::Value, mlir::Value> seenKeys(mlir::Value first, unsigned count);
  /// Whether later rows may see more keys than earlier ones.
  bool bounded() const { return !bounds.empty(); }
  /// What the softmax is of at `lanes` keys from `key` on (a multiple of `lanes`, which divides
  /// the keys): `products` are the queries times the keys there.
  mlir::Value score(llvm::ArrayRef<Coord> row, mlir::Value key, unsigned lanes,
                    mlir::Value products);
  /// How many neighbours of at most `most` keys `score` takes: they divide the keys.
  unsigned scoreLanes(unsigned most) const;

  /// What the sums of a row's products with values are multiplied by; where `isNaN` (null:
  /// never) the results are 0.
  struct RowScale {
    mlir::Value factor, isNaN;
  };
  /// For a row's largest score and the sum of its exponentials shifted by ownShift(top). Nulls
  /// after an error.
  RowScale finalScale(llvm::ArrayRef<Coord> row, mlir::Value top, mlir::Value sum);
  /// `sums`, one or several, times the factor.
  mlir::Value scaled(mlir::Value sums, const RowScale &scale);
  /// How many neighbouring columns of at most `most` a store takes: they divide the columns.
  unsigned storeLanes(unsigned most);
  /// Stores results at `lanes` columns of a row.
  void store(mlir::Value row, mlir::Value column, unsigned lanes, mlir::Value results);

  mlir::Value number(double v);
  mlir::Value larger(mlir::Value x, mlir::Value y);
  /// What a row is shifted by whose largest score so far is `top`.
  mlir::Value ownShift(mlir::Value top);
  /// exp(x - shift), as matrix units need it: the hardware's power of two. Its error of 2 units of
  /// f32 is far below that of 16-bit weights.
  mlir::Value power(mlir::Value x, const ShiftedPowers &shifted);
  ShiftedPowers shiftedBy(mlir::Value shift);
  /// exp(x - y), for a y that is finite or where NaN is right.
  mlir::Value expOfDifference(mlir::Value x, mlir::Value y);

  KernelFrame &f;
  AttentionForm form;
  Product scores, values;
  mlir::Value batches, rows, keys, depth; ///< extents
  int64_t width;                          ///< columns of the values
  mlir::Value batchNumber;
  Coords batch;

private:
  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<KeyBound> bounds;
};

} // namespace tcc::codegen::device
