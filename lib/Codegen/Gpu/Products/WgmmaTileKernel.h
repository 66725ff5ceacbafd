//===- WgmmaTileKernel.h - One tile of a product a block ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The kernel of WgmmaTileKernel.cpp: what is fetched and multiplied is
// there, what becomes of the sums in WgmmaTileEpilogue.cpp, and in TurnedWgmma.cpp how columns are
// multiplied by rows.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../WordArithmetic.h"
#include "EpilogueOperands.h"
#include "LeftSlices.h"
#include "Product.h"
#include "WgmmaInstructions.h"
#include "WgmmaTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tcc::codegen::device {

class WgmmaTileEmitter : WordArithmetic {
public:
  WgmmaTileEmitter(KernelFrame &f, MatrixProduct matrices, Product product)
      : WordArithmetic(f), m(std::move(matrices)), p(std::move(product)),
        t(WgmmaTile::of(f.schedule, m.turned)), split(f.schedule.getSplit()),
        each(llvm::divideCeil(m.steps(), split)),
        instruction(m.instruction(t.instructionColumns())),
        early(std::min<int64_t>({f.schedule.getKept(), t.stages, each})) {
    if (mlir::BlockArgument residual = residualOf(f.launch, m.op))
      earlyOperands.push_back({residual, false});
    for (mlir::BlockArgument argument : perColumnOf(f.launch, m.op))
      earlyOperands.push_back({argument, true});
  }
  void run();

private:
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;
  Value full(Value stage) { return bytesBehind(shared, add(mul(stage, 8), c(t.barrierOffset()))); }
  Value empty(Value stage) {
    return bytesBehind(shared, add(mul(stage, 8), c(t.barrierOffset() + 8 * t.stages)));
  }
  /// Whether a stage is filled a second time.
  bool wraps() const { return each > t.stages; }
  Value tensorMap(unsigned which) {
    return f.function.getArgument(f.function.getNumArguments() - m.tensorMaps(t.rows) + which);
  }
  std::pair<Value, Value> next(Value stage, Value parity);

  void prepare();
  void fetch();
  void fetchLeft(ValueRange window, Value step, Value stage);
  void fetchRight(Value step, Value stage);
  Value multiplyStage(Value sums, Value stage, Value parity, bool isFirst);
  Value multiplyAll();
  Values columnWords(Value stage, ValueRange places);
  Value multiplyTurned();
  Value placeOfSum(unsigned number);
  void leave(Value sums);
  void meetCluster();
  void leaveCluster();
  llvm::SmallVector<Value> totalsOf(Value unit);
  std::pair<Value, Product::Finished> finished(Value unit, llvm::ArrayRef<Value> totals);
  bool liesAlongRows();
  unsigned widestRun();
  /// Bytes from a row of sums to the next. Where neighbouring threads take them along rows, no more
  /// than two of a warp meet in a bank.
  unsigned sumPitch() const {
    return alongRows && !t.turned ? t.sumPitch() / 128 * 128 + 8 : t.sumPitch();
  }
  int64_t units() const { return int64_t(t.rows) * t.columns / lanes; }
  /// Units that the threads of all blocks of a tile finish at once.
  int64_t round() const { return int64_t(split) * t.multiplying(); }
  Value unitAt(int64_t first) { return add(add(tid, mul(rank, t.multiplying())), c(first)); }
  std::pair<Value, Value> inTile(Value unit);
  std::pair<Value, Value> placeOf(Value unit);
  /// What follows the product reads, and is on its way before the sums are done.
  struct EarlyOperand {
    mlir::BlockArgument argument;
    bool isPerColumn; ///< else a residual
  };
  int64_t earlyUnits(const EarlyOperand &operand);
  llvm::SmallVector<mlir::Type> earlyTypes();
  llvm::SmallVector<Value> fetchEarly();
  void bindEarly(size_t unit);
  void finish();

  MatrixProduct m;
  Product p;
  WgmmaTile t;
  unsigned split;
  int64_t each; ///< steps of a block, the last one's at most
  WgmmaInstruction instruction;
  int64_t early;                  ///< steps whose weights are fetched before earlier work ends
  Value shared, sharedAddress;    ///< aligned to 1024
  llvm::SmallVector<Value> parts; ///< the shared memory of the tile's blocks, the own first
  Value tid, warp, lane, rank;
  Value firstRow, firstColumn, firstStep, steps; ///< of the block
  Value rows, endRow; ///< of the result, and behind those that the block stores, index
  std::optional<RowTiles> rowTiles;
  std::optional<LeftSlices> leftSlices; ///< not of windows
  bool alongRows = false;               ///< neighbours of the result are rows
  unsigned lanes = 1;                   ///< neighbouring columns that a thread finishes
  llvm::SmallVector<EarlyOperand> earlyOperands;
  llvm::SmallVector<Value> earlyValues; ///< as earlyTypes
};

} // namespace tcc::codegen::device
