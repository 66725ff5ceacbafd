//===- TurnedWgmma.cpp - Columns times rows, of 32 bits -------------------===//
//
// wgmma transposes operands of 16 bits alone. Where the right operand of 32 bits lies in rows of
// memory, along its columns, a block multiplies the transposes in the other order: its columns are
// the rows of the instruction's left operand, which comes out of registers, whose words threads
// read from wherever they lie, and left's rows are the instruction's columns. The sums are those of
// the transposed tile.
//
// A thread reads the words of the next stage while those of the one before are multiplied: the
// stages of a pair have registers of their own, which a chain has read when the next one but one
// has begun.
//
//===----------------------------------------------------------------------===//
#include "WgmmaTileKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// What a thread has of the instruction's left operand: of each eight k its own and the one four
/// further, of two rows. Which column of the tile a row is is free: warps in pairs share a slice of
/// 32 columns, of which a warp has 16 bytes at a time so that its lanes meet in no bank, whatever
/// the swizzle.
struct TurnedLane {
  static constexpr int64_t sliceColumns = 32, lineBytes = 128, steps = 4, words = 4;
};

} // namespace

/// The words of a stage that the thread multiplies, rounded to nearest. `places`: of the first step
/// of k.
SmallVector<Value> WgmmaTileEmitter::columnWords(Value stage, ValueRange places) {
  Value begin = add(mul(stage, t.stageBytes()), c(t.leftBytes()));
  Values words;
  for (int64_t step = 0; step < TurnedLane::steps; ++step)
    for (Value place : places) {
      Value at = add(add(begin, place), c(step * 8 * TurnedLane::lineBytes));
      Value v = LLVM::LoadOp::create(b, b.getF32Type(), bytesBehind(shared, at));
      words.push_back(
          NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), v, NVVM::FPRoundingMode::RNA));
    }
  return words;
}

/// The sums of all of the block's steps, of the transposed tile.
Value WgmmaTileEmitter::multiplyTurned() {
  // Bytes from the begin of right's slices to the words of the first eight k.
  Value inK = band(lane, 3), high = shr(lane, 4), low = band(shr(lane, 2), 3);
  Value slice = mul(shr(warp, 1), TurnedLane::sliceColumns * TurnedLane::lineBytes);
  Values places;
  for (int64_t later : {0, 1})
    for (int64_t half : {0, 1}) {
      Value chunk = bxor(add(mul(band(warp, 1), 2), c(half)), inK);
      chunk = add(chunk, mul(bxor(high, later), 4));
      Value line = mul(add(inK, c(4 * later)), TurnedLane::lineBytes);
      places.push_back(add(add(slice, line), add(mul(chunk, 16), mul(low, 4))));
    }
  SmallVector<Values, 2> words(2); // of the stages of a pair
  auto chain = [&](Value sums, Value stage, Value parity, Values &own) -> Value {
    awaitBarrier(b, full(stage), parity);
    own = columnWords(stage, places);
    auto rows = WgmmaOperand::at(b, add(sharedAddress, mul(stage, t.stageBytes())), 0, true);
    beginChain(b);
    for (unsigned i = 0; i < TurnedLane::steps; ++i)
      sums = instruction.multiply(b, sums,
                                  ArrayRef(own).slice(i * TurnedLane::words, TurnedLane::words),
                                  rows.step(b, i * 16), /*rightByInner=*/true);
    endChain(b);
    return sums;
  };
  auto giveBack = [&](Value stage, Value also) {
    Value leads = equal(band(tid, 127), c(0));
    if (also)
      leads = arith::AndIOp::create(b, leads, also);
    if (wraps())
      f.when(leads, [&] { arriveAtBarrier(b, empty(stage)); });
  };
  Value sums = LLVM::ZeroOp::create(b, wgmmaSums(b, t.instructionColumns(), instruction.sum()));
  auto loop = scf::ForOp::create(b, c(0), shr(steps, 1), c(1), ValueRange{sums, c(0), c(0), c(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getRegionIterArg(1), parity = loop.getRegionIterArg(2);
    Value isLater =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getInductionVar(), c(0));
    Value added = chain(loop.getRegionIterArg(0), stage, parity, words[0]);
    awaitReads(b, 1, {});
    giveBack(loop.getRegionIterArg(3), isLater);
    auto [second, turn] = next(stage, parity);
    added = chain(added, second, turn, words[1]);
    awaitReads(b, 1, words[0]);
    giveBack(stage, {});
    auto [after, nextTurn] = next(second, turn);
    scf::YieldOp::create(b, ValueRange{added, after, nextTurn, second});
  }
  sums = awaitChains(b, loop.getResult(0), 0);
  if (m.steps() % each == 0 && each % 2 == 0)
    return sums;
  auto last = scf::IfOp::create(b, sums.getType(), equal(band(steps, 1), c(1)), true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(last.thenBlock());
  Value added = chain(sums, loop.getResult(1), loop.getResult(2), words[0]);
  scf::YieldOp::create(b, awaitChains(b, added, 0, words[0]));
  b.setInsertionPointToStart(last.elseBlock());
  scf::YieldOp::create(b, sums);
  return last.getResult(0);
}

/// Where number `i` of the thread's sums goes, in bytes: of each eight rows it has two neighbours,
/// at two columns.
Value WgmmaTileEmitter::placeOfSum(unsigned i) {
  Value row = add(mul(band(lane, 3), 2), c(i / 4 * 8 + i % 2));
  Value column = add(mul(shr(warp, 1), TurnedLane::sliceColumns),
                     add(mul(add(mul(band(warp, 1), 2), c(i % 4 / 2)), 4),
                         add(mul(shr(lane, 4), 16), band(shr(lane, 2), 3))));
  return add(mul(row, sumPitch()), mul(column, 4));
}
