//===- WgmmaAttention.h - Attention on wgmma, in parts -----------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. What the parts of the template share: WgmmaAttention.cpp is the
// block and its pipeline, WgmmaSoftmax.cpp what a thread does with its scores and results.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/Product.h"
#include "../Products/WgmmaInstructions.h"
#include "../WordArithmetic.h"
#include "BoxedAttention.h"
#include "tcc/Codegen/Common/KeyRange.h"

namespace tcc::codegen::device {

class WgmmaAttentionEmitter : WordArithmetic {
public:
  WgmmaAttentionEmitter(KernelFrame &f, const BoxedAttention &attention);
  void run();

private:
  static constexpr unsigned kRows = 2; ///< of a thread: row and row + 8

  /// What a thread knows of its rows while it goes over the keys.
  struct State {
    mlir::Value results;                            ///< sums of a warp group
    llvm::SmallVector<mlir::Value, 2> tops, totals; ///< a row each; totals: of the thread's keys
    llvm::SmallVector<mlir::Value, 32> weights;     ///< of the last block, not multiplied yet
    llvm::SmallVector<mlir::Value, 2> corrections;  ///< of what came before; not carried

    llvm::SmallVector<mlir::Value> all() const;
    static State of(mlir::ValueRange values);
  };

  mlir::Value number(double v) {
    return mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(v)));
  }

  // WgmmaAttention.cpp: the block and its pipeline.
  void prepare();
  void forTiles(llvm::function_ref<void()> body);
  void forParts(llvm::function_ref<void()> body);
  mlir::Value rounds();
  mlir::Value tileIn(mlir::Value round);
  void prepareTile(mlir::Value round, mlir::Value tile, mlir::Value number);
  mlir::Value headsTogether();
  void prepareTask(mlir::Value number);
  void prepareKeys();
  mlir::Value sharedAt(mlir::Value offset);
  enum class Barrier : uint8_t {
    FullQueries,
    EmptyQueries,
    FullKeys,
    FullValues,
    EmptyKeys,
    EmptyValues
  };
  mlir::Value barrier(Barrier which, mlir::Value stage);
  mlir::Value stageOf(mlir::Value turn) {
    return band(add(turnsBefore, turn), BoxedAttentionTile::stages - 1);
  }
  mlir::Value parityOf(mlir::Value turn) {
    return band(shr(add(turnsBefore, turn), llvm::Log2_32(BoxedAttentionTile::stages)), 1);
  }
  mlir::Value keyAt(mlir::Value turn) { return mul(sub(lastBlock, turn), t.keys); }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) {
    return f.e.divIndex(f.e.addIndex(x, f.e.index(y - 1)), f.e.index(y));
  }
  mlir::Value tensorMap(unsigned which);
  void fetch();
  void fetchQueries();
  void fetchBlock(mlir::Value turn);
  void fetchKeys(const BoxOperand &box, unsigned map, bool byInner, int64_t columns,
                 mlir::Value offset, mlir::Value firstKey, mlir::Value full);
  llvm::SmallVector<mlir::Value> placeOf(const BoxOperand &box, unsigned map, mlir::Value row,
                                         mlir::Value column);
  void compute();
  void computeTile();
  mlir::Value multiplyKeys(mlir::Value stage, unsigned keys);
  mlir::Value multiplyValues(mlir::Value results, mlir::ValueRange weights, mlir::Value stage);
  State visit(mlir::Value turn, State state, bool isMasked);
  State visitAll(mlir::Value from, mlir::Value to, State state, bool isMasked);
  void giveBack(Barrier which, mlir::Value stage);
  void awaitTurn();
  void passTurn();

  // WgmmaSoftmax.cpp: scores, weights and results of a thread.
  void prepareThread();
  bool fillsTiles() const { return a.rows >= 0 && a.rows % t.rows == 0; }
  llvm::SmallVector<mlir::Value> rowAxesAt(mlir::Value row);
  Coords rowCoords(mlir::Value row);
  KeyRange seenBy(mlir::Value row);
  llvm::SmallVector<mlir::Value> coreOf(mlir::Value scores, mlir::Value firstKey);
  llvm::SmallVector<mlir::Value> seenKeys(mlir::Value firstKey);
  void hide(llvm::MutableArrayRef<mlir::Value> scores, mlir::ValueRange seen);
  void mask(llvm::MutableArrayRef<mlir::Value> scores, mlir::Value firstKey);
  void softmax(mlir::Value scores, mlir::Value firstKey, mlir::ValueRange seen, State &state,
               bool isFirst, bool isMasked);
  mlir::Value exp2(mlir::Value x);
  mlir::Value shiftOf(mlir::Value top);
  mlir::Value scaled(mlir::Value results, mlir::ValueRange factors);
  mlir::Value overRow(mlir::Value v, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>);
  /// What the results of a row are multiplied by; where `isNaN` (null: never) they are 0.
  struct RowScale {
    mlir::Value factor, isNaN;
  };
  RowScale finalScale(mlir::Value row, mlir::Value top, mlir::Value total);
  void exchangeBlocks(llvm::MutableArrayRef<mlir::Value> own);
  void store(const State &state);

  const BoxedAttention &a;
  AttentionForm form;
  BoxedAttentionTile t;
  Product values;
  WgmmaInstruction byValues;
  unsigned firstKeys; ///< of the last block of keys, which comes first, that are looked at
  bool hasUpper, hasLower, hasTail;  ///< what hides keys: bounds, the end of the last block
  mlir::Value shared, sharedAddress; ///< aligned to 1024
  mlir::Value tid, warp, block, grid;
  mlir::Value heads, rowTiles, rowCount, keyCount; ///< index; rowTiles: of a head
  mlir::Value turnsBefore;                         ///< blocks of keys before this tile
  mlir::Value queryStage, queryParity;             ///< of this tile
  mlir::Value batchNumber;
  llvm::SmallVector<mlir::Value> batch, otherRows; ///< index
  mlir::Value rowTile;                             ///< the tile's first row along the tiled axis
  mlir::Value lastBlock, blocks;                   ///< of keys that somebody sees
  mlir::Value wholeFrom, wholeTo;                  ///< turns whose keys all rows see
  mlir::Value consumer, lane, leads;
  mlir::Value part;                               ///< of the tile that the warp group has
  llvm::SmallVector<mlir::Value, 2> rows;         ///< the thread's, along the tiled axis; index
  llvm::SmallVector<mlir::Value, 2> begins, ends; ///< keys they see, less the lane's first one
  WgmmaOperand left;
};

} // namespace tcc::codegen::device
