//===- AttentionEmitter.h - One attention kernel on the CPU ------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: see AttentionKernel.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/MatrixTile.h"
#include "AttentionSpec.h"
#include "tcc/Codegen/Common/KeyRange.h"

namespace tcc::codegen {

/// A matrix in scratch memory.
struct Buffer {
  mlir::Value base;
  int64_t stride; ///< elements from row to row
};

/// Some keys of the part at hand.
struct KeyBlock {
  Index first, count;
  Index most; ///< that exist, whether or not they are seen
  bool whole; ///< as many as a block has
};

/// Keys of a block: [first, last).
struct KeySpan {
  Index first, last;
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelFrame &f, cpu::AttentionScheduleAttr schedule, AttentionSpec spec,
                   AttentionForm form);
  void run();

private:
  void allocate();
  /// Finds the operands of a task: block `block` of the queries of an entry.
  void beginTask(Index entry, Index block);
  /// Goes over the keys of task `share` of those that share them.
  void emitKeys(Index share);
  /// The blocks of the part's keys that task `share` has.
  std::pair<Index, Index> sharedBlocks(Index share);
  void selectPart(const KeyPart &of);
  void copyQueries();
  void runWhole();
  void runSplit();
  void keepPart(Index task);
  void combineParts(Index task);
  mlir::Value partAt(Index task, Index row, int64_t element);
  void startRows();
  /// The keys that a query of the task sees, of all parts; keeps those that each one sees.
  std::pair<Index, Index> seenKeys();
  /// The keys of a block that one of `count` queries sees.
  KeySpan seenBy(const KeyBlock &keys, Index row, int64_t count);
  /// Calls `body` for tiles of `height` queries, with the keys that they see, where there are any.
  void forSeeingTiles(const KeyBlock &keys, int64_t height,
                      llvm::function_ref<void(Index row, const KeySpan &seen)> body);
  void forKeyBlocks(Index firstBlock, Index lastBlock,
                    llvm::function_ref<void(const KeyBlock &)> body);
  void emitScores(const KeyBlock &keys);
  /// Whether queries are multiplied by the part's keys where those lie: see AttentionRows.cpp.
  bool scoresByKey() const;
  void emitScoresByKey(const KeyBlock &keys);
  void emitPanel(const KeyBlock &keys, Index panel, llvm::ArrayRef<unsigned> widths);
  /// Calls `body` for tiles of queries of which one sees a key of the panel.
  void forTilesSeeing(const KeyBlock &keys, Index panel, llvm::function_ref<void(Index row)> body);
  /// The same products by a matrix unit: see AttentionMatrix.cpp.
  void allocateForMatrix();
  void copyMatrixQueries();
  void emitMatrixScores(const KeyBlock &keys);
  void emitMatrixValues(const KeyBlock &keys);
  void emitMatrixValues(const KeyBlock &keys, Index column);
  /// The weights of the row from `key` on, as a matrix unit takes them: in place of its scores.
  mlir::Value matrixWeights(Index row, Index key);
  void storeMatrixWeights(mlir::Value weights, Index row, Index key);
  int64_t matrixDepth() const { return llvm::alignTo(depth, panelKeys); }
  /// Fetches what the scores of a tile are masked or biased with from memory.
  void fetchForScores(const KeyBlock &keys, Index panel, Index row, unsigned count);
  /// Whether L2 does not hold the keys and values of all entries.
  bool comesFromAfar();
  /// Fetches the share of the tile at `row` of the keys behind a panel and of its values.
  void fetchBehind(const KeyBlock &keys, Index panel, Index row);
  /// Fetches the query that the next task has in place of `row`.
  void fetchNextQuery(Index row);
  void fetchLines(mlir::Value from, int64_t bytes);
  RegisterTile tileOf(unsigned rows, llvm::ArrayRef<unsigned> widths);
  /// The first key of those that a row has weights of.
  Index firstWeight(const KeySpan &seen);
  void emitSoftmax(const KeyBlock &keys);
  void emitSoftmaxRow(const KeyBlock &keys, Index row, const KeySpan &ofTile);
  /// Stores the scores of a row, and gives the largest: lanes.
  mlir::Value emitScoresOfRow(const KeyBlock &keys, Index row, const KeySpan &ofTile);
  mlir::Value emitScore(mlir::Value score, const KeyBlock &keys, Index row, Index key,
                        mlir::Value mask, Coords at);
  void emitValues(const KeyBlock &keys);
  void fetchAhead(PanelSource &source, int64_t columns);
  void emitValuePanel(const KeyBlock &keys, Index column, llvm::ArrayRef<unsigned> widths);
  void emitResults();
  /// What the sums of a row are multiplied by; where `isNaN` (null: never) they are 0.
  struct RowScale {
    mlir::Value factor, isNaN;
  };
  RowScale finalScale(Index row);
  mlir::Value scaled(mlir::Value sums, const RowScale &scale);
  /// What scores are shifted by under the top `top`.
  mlir::Value ownShift(mlir::Value top);
  /// The sum of a row's exponentials.
  mlir::Value rowSum(Index row);

  /// The index of a query of the task in the score's shape, without the axis of the keys.
  Coords rowCoords(Index row);
  /// The same for a value with one element a row, whose last axis may be a unit axis.
  Coords perRow(mlir::Value value, llvm::ArrayRef<Coord> at);

  mlir::Value at(const Buffer &buffer, Index row, Index column) {
    return k.address(buffer.base, f32, k.mulAdd(row, k.constant(buffer.stride), column));
  }
  /// The elements of `buffer` from `row` on, as the left operand of a product.
  RowSource rowsFrom(const Buffer &buffer, Index row) {
    RowSource source;
    source.element = f32;
    source.base = at(buffer, row, k.constant(0));
    source.rowStride = k.constant(buffer.stride);
    source.kStride = k.constant(1);
    return source;
  }
  mlir::Value number(double v) {
    return mlir::arith::ConstantOp::create(k.builder, k.loc, k.builder.getF32FloatAttr(v));
  }
  mlir::Value splat(mlir::Value v) { return k.broadcast(v, lanes); }
  mlir::Value larger(mlir::Value x, mlir::Value y) {
    mlir::Value isLarger =
        mlir::arith::CmpFOp::create(k.builder, k.loc, mlir::arith::CmpFPredicate::OGT, x, y);
    return mlir::arith::SelectOp::create(k.builder, k.loc, isLarger, x, y);
  }
  /// All lanes of `v` combined.
  mlir::Value fold(mlir::Value v,
                   llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  mlir::Value exp(mlir::Value x);
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(k.builder, k.loc, x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(k.builder, k.loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(k.builder, k.loc, x, y);
  }
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value z) {
    return emitMultiplyAdd(k, f.cpu, x, y, z);
  }

  KernelFrame &f;
  cpu::AttentionScheduleAttr schedule;
  AttentionSpec spec;
  AttentionForm form;
  KernelBuilder k;
  mlir::Type f32, bf16;
  unsigned lanes;
  mlir::VectorType lanesType;
  int64_t depth, width, panelKeys, panelColumns;
  int64_t keyGrain; ///< keys that a tile's row has weights of are these, times some
  llvm::SmallVector<KeyBound> bounds;
  mlir::Value seenScore; ///< the score, without what the bounds say
  bool onlyUpper;        ///< no bound hides the first keys
  bool streams;          ///< keys and values are read by one tile of queries: once
  bool oneBlock;         ///< all keys are one block: nothing runs
  bool far;              ///< keys and values come from beyond L2, for several tiles of queries

  Buffer queries, scores, results;
  mlir::Value panel, valuePanel; ///< packed; null: of no part
  std::optional<MatrixTile> matrix;
  mlir::Value matrixSums; ///< of weights and values
  mlir::Value tops, sums, corrections;
  mlir::Value rowRanges; ///< i64: the first key that each query sees, and the end
  mlir::Value parts;     ///< what tasks that share keys found

  // Of the task at hand
  llvm::SmallVector<mlir::Value> batch;
  Index entry, firstRow, rows;  ///< rows: those that exist
  std::pair<Index, Index> seen; ///< keys, where there are bounds

  // Of the part at hand
  Index partFirst; ///< of the entry's keys
  bool packsValues;
};

} // namespace tcc::codegen
