//===- AttentionParts.cpp - Parts of a row's keys brought together --------===//
#include "AttentionParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

Value AttentionParts::sharedFloat(unsigned base, Value number) {
  Value bytes = f.e.addIndex(f.e.mulIndex(number, f.e.index(4)), f.e.index(base));
  return f.at(shared, b.getI8Type(), bytes);
}

void AttentionParts::leaveRow(Value sharer, Value row, Value top, Value sum) {
  Value line = f.e.addIndex(f.e.mulIndex(sharer, f.e.index(t.rows)), row);
  LLVM::StoreOp::create(b, top, sharedFloat(topsAt(), line), 4);
  LLVM::StoreOp::create(b, sum, sharedFloat(sumsAt(), line), 4);
}

void AttentionParts::leaveResults(Value sharer, Value row, Value column, ArrayRef<Value> two) {
  Value line = f.e.addIndex(f.e.mulIndex(sharer, f.e.index(t.rows)), row);
  Value at = f.e.addIndex(f.e.mulIndex(line, f.e.index(AttentionTile::resultPitch(m))), column);
  auto pair = VectorType::get({2}, b.getF32Type());
  LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, pair, two), sharedFloat(0, at), 8);
}

AttentionParts::Part AttentionParts::merged(const Part &x, const Part &y) {
  Value top = a.larger(x.top, y.top);
  ShiftedPowers shifted = a.shiftedBy(a.ownShift(top));
  Value left = a.power(x.top, shifted), right = a.power(y.top, shifted);
  auto times = [&](Value v, Value factor) -> Value {
    if (auto type = dyn_cast<VectorType>(v.getType()))
      factor = vector::BroadcastOp::create(b, type, factor);
    return arith::MulFOp::create(b, v, factor);
  };
  return {top, arith::AddFOp::create(b, times(x.sum, left), times(y.sum, right)),
          arith::AddFOp::create(b, times(x.results, left), times(y.results, right))};
}

/// What all warps of the block found for columns of a row of its tile.
AttentionParts::Part AttentionParts::fromWarps(Value row, Value column) {
  Part whole;
  for (unsigned i = 0; i < t.sharing(); ++i) {
    Value line = f.e.addIndex(row, f.e.index(int64_t(i) * t.rows));
    auto load = [&](Type type, unsigned base, Value number, unsigned alignment) -> Value {
      return LLVM::LoadOp::create(b, type, sharedFloat(base, number), alignment);
    };
    Value at = f.e.addIndex(f.e.mulIndex(line, f.e.index(AttentionTile::resultPitch(m))), column);
    Part one{load(b.getF32Type(), topsAt(), line, 4), load(b.getF32Type(), sumsAt(), line, 4),
             load(results, 0, at, std::min(lanes * 4, 16u))};
    whole = i ? merged(whole, one) : one;
  }
  return whole;
}

Value AttentionParts::scratchFloat(Value part, Value row, Value column) {
  Value split = f.e.index(f.schedule.getSplit());
  Value number = f.e.addIndex(f.e.mulIndex(place.tileNumber, split), part);
  Value line = f.e.addIndex(f.e.mulIndex(number, f.e.index(t.rows)), row);
  Value at = f.e.addIndex(f.e.mulIndex(line, f.e.index(AttentionTile::scratchPitch(m))), column);
  return f.scratchAt(0, b.getF32Type(), at);
}

/// The same of all blocks that share the row. Several parts are read before one is used: a thread
/// has one row of them, and would wait for memory once a part.
AttentionParts::Part AttentionParts::fromBlocks(Value row, Value column) {
  constexpr unsigned kTogether = 8;
  auto partAt = [&](Value number) {
    auto load = [&](Type type, Value at, unsigned alignment) -> Value {
      return LLVM::LoadOp::create(b, type, scratchFloat(number, row, at), alignment);
    };
    return Part{load(b.getF32Type(), f.e.index(AttentionTile::scratchTop(m)), 4),
                load(b.getF32Type(), f.e.index(AttentionTile::scratchTop(m) + 1), 4),
                load(results, column, std::min(lanes * 4, 16u))};
  };
  unsigned split = f.schedule.getSplit(), together = std::min(split, kTogether);
  while (split % together != 0)
    --together;
  auto partsFrom = [&](Value first) {
    SmallVector<Part> parts;
    for (unsigned i = 0; i < together; ++i)
      parts.push_back(partAt(f.e.addIndex(first, f.e.index(i))));
    return parts;
  };
  auto mergedAll = [&](ArrayRef<Part> parts, Part whole) {
    for (const Part &part : parts)
      whole = merged(whole, part);
    return whole;
  };
  SmallVector<Part> parts = partsFrom(f.e.index(0));
  Part whole = mergedAll(ArrayRef(parts).drop_front(), parts.front());
  if (split == together)
    return whole;
  auto loop = scf::ForOp::create(b, f.e.index(together), f.e.index(split), f.e.index(together),
                                 ValueRange{whole.top, whole.sum, whole.results});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange in = loop.getRegionIterArgs();
  Part next = mergedAll(partsFrom(loop.getInductionVar()), {in[0], in[1], in[2]});
  scf::YieldOp::create(b, ValueRange{next.top, next.sum, next.results});
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

/// Runs `body` for all neighbouring columns of the tile's rows, shared by the block's threads.
void AttentionParts::forUnits(function_ref<void(Value, Value)> body) {
  int64_t perRow = m.width / lanes;
  f.loop(f.thread, f.e.index(int64_t(t.rows) * perRow), f.schedule.getThreads(), [&](Value unit) {
    Value row = f.e.divIndex(unit, f.e.index(perRow));
    Value column = f.e.mulIndex(f.e.remIndex(unit, f.e.index(perRow)), f.e.index(lanes));
    f.when(f.less(f.e.addIndex(place.rowTile, row), a.rows), [&] { body(row, column); });
  });
}

void AttentionParts::store(Value row, Value column, const Part &whole) {
  Value inTensor = f.e.addIndex(place.rowTile, row);
  AttentionFrame::RowScale scale = a.finalScale(a.rowAt(inTensor), whole.top, whole.sum);
  if (scale.factor)
    a.store(inTensor, column, lanes, a.scaled(whole.results, scale));
}

void AttentionParts::finish() {
  unsigned split = f.schedule.getSplit();
  if (split == 1) {
    forUnits([&](Value row, Value column) { store(row, column, fromWarps(row, column)); });
    return;
  }
  forUnits([&](Value row, Value column) {
    Part found = fromWarps(row, column);
    LLVM::StoreOp::create(b, found.results, scratchFloat(place.part, row, column),
                          std::min(lanes * 4, 16u));
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, f.e.index(0));
    f.when(isFirst, [&] {
      Value at = f.e.index(AttentionTile::scratchTop(m));
      LLVM::StoreOp::create(b, found.top, scratchFloat(place.part, row, at), 4);
      at = f.e.index(AttentionTile::scratchTop(m) + 1);
      LLVM::StoreOp::create(b, found.sum, scratchFloat(place.part, row, at), 4);
    });
  });
  f.inLastBlock(place.tileNumber, split, [&] {
    forUnits([&](Value row, Value column) { store(row, column, fromBlocks(row, column)); });
  });
}
