//===- Product.h - Contractions and convolutions as matrices -----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A contraction is a batch of matrix products; a convolution
// is the product of its pixels by its filters over window and channels, a group each.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include <functional>
#include <optional>

namespace tcc::codegen::device {

/// Elements of an operand: `tensor` at `at` where `inside` holds (null: always), else 0.
struct ProductOperand {
  mlir::Value tensor;
  Coords at;
  mlir::Value inside;
};

/// A product as a batch of matrices, of elements that are evaluated where they are needed.
struct Product {
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value> batch, rows, columns, inner; ///< extents
  using Operand = std::function<ProductOperand(
      llvm::ArrayRef<Coord> batch, llvm::ArrayRef<Coord> own, llvm::ArrayRef<Coord> inner)>;
  Operand left, right;
  /// The result's index.
  std::function<Coords(llvm::ArrayRef<Coord> batch, llvm::ArrayRef<Coord> row,
                       llvm::ArrayRef<Coord> column)>
      at;
  mlir::Type leftElement, rightElement;
  bool leftInnerFirst = true, rightInnerFirst = true; ///< neighbours in memory differ in `inner`

  /// The elements' values, of compute type; null after an error.
  static mlir::Value eval(KernelFrame &f, const ProductOperand &operand);
  /// What follows the product at one point or at neighbouring columns, stored. `sums` are the
  /// sums there, `batchNumber` and `row` one number each.
  void store(KernelFrame &f, mlir::Value batchNumber, mlir::Value row, llvm::ArrayRef<Coord> column,
             mlir::Value sums) const;
  /// The same in two steps, so that what several points read is on its way at once: a value for
  /// each result, and where it goes.
  struct Finished {
    llvm::SmallVector<mlir::Value, 1> values;
    llvm::SmallVector<Coords, 1> places;
  };
  Finished finish(KernelFrame &f, mlir::Value batchNumber, mlir::Value row,
                  llvm::ArrayRef<Coord> column, mlir::Value sums) const;
  static void store(KernelFrame &f, const Finished &finished);
};

/// The axis of a tensor along which neighbours lie in memory: the last one of several elements.
int64_t innermostAxis(mlir::Value v);

/// The product that `f.launch` is made of; null after an error was emitted.
std::optional<Product> productIn(KernelFrame &f);
Product productFrom(KernelFrame &f, prim::DotOp dot);

/// Elements of one operand of one matrix of the batch, by their own index and k.
struct OperandSource {
  Product::Operand operand;
  Coords batch;
  llvm::SmallVector<mlir::Value> own, inner; ///< extents
  mlir::Type element;
  bool innerFirst;    ///< neighbours in memory differ in k
  bool runs = true;   ///< neighbours may be read together
  bool whole = false; ///< the open extent along which they lie is one that vectors divide
};
OperandSource sourceOf(const Product &product, bool left, llvm::ArrayRef<Coord> batch);

/// How many neighbours, in k or in the own index, can be read at once: at most 16 bytes that
/// never cross a row of anything, and `most` of them.
struct OperandRuns {
  unsigned lanes = 1;
  bool direct = false; ///< 4 bytes or more that lie in memory as they are, aligned
};
OperandRuns runsOf(KernelFrame &f, const OperandSource &source, unsigned most = 16);

/// The index of `lanes` neighbours from element `number` of `extents` on; of the last ones past
/// the end.
Coords runCoords(KernelFrame &f, mlir::Value number, llvm::ArrayRef<mlir::Value> extents,
                 unsigned lanes);

Coords uniform(llvm::ArrayRef<mlir::Value> indices);

/// Row and column of tile `number` of a matrix. Eight rows of tiles go together: their operands
/// stay in the L2 cache.
std::pair<mlir::Value, mlir::Value> tileIn(KernelFrame &f, mlir::Value number,
                                           mlir::Value tilesDown, mlir::Value tilesAcross);

/// How many of the `split` blocks that may share a tile have a part of its sums, where only a run
/// knows how many tiles there are, or slices of k in each. The host counts blocks by it and the
/// kernel finds its part by it.
mlir::Value partsOfProduct(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tiles,
                           mlir::Value steps, Schedule schedule);
/// Parts of k that blocks have of a tile: those of the schedule, or what a run makes of them.
struct ProductParts {
  mlir::Value count, tile, part; ///< of all; the block's
  bool open = false;             ///< there may be one

  /// `tiles` of the launch, each with so many slices of k.
  static ProductParts of(KernelFrame &f, mlir::Value tiles, mlir::Value steps);
};

/// Of a tile whose k is cut in parts, a block each: every thread leaves its `sums`, a multiple of
/// four of prim type `sum`, in scratch memory, and those of the last block to come add up what all
/// have left there, in order of the parts, for `finish`. One part's sums are finished as they are.
void shareSums(KernelFrame &f, const ProductParts &parts, llvm::ArrayRef<mlir::Value> sums,
               mlir::Type sum, llvm::function_ref<void(mlir::ValueRange)> finish);

} // namespace tcc::codegen::device
