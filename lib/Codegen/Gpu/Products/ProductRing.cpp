//===- ProductRing.cpp - Products whose slices come by copies -------------===//
//
// Where both operands lie in memory as they are multiplied, asynchronous copies bring their slices
// to a ring of stages in shared memory: each round starts those of the slice that is stages - 1
// ahead. Nothing is held in registers on its way, so these hold what the next k needs instead: a
// thread reads it from shared memory before it adds the products of this one, the first of a slice
// before the last of the slice before. So a warp finds something to issue in nearly every cycle,
// even where a scheduler has but one or two.
//
// Of rows or columns that are no whole tiles the last tile begins further ahead, where all of its
// rows are inside, and stores only those that are its own: then addresses of all copies of a thread
// lie at constant distances.
//
//===----------------------------------------------------------------------===//
#include "ProductKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

void ProductEmitter::shareRing() {
  auto dot = cast<prim::DotOp>(p.op);
  for (unsigned which : {0u, 1u})
    direct.push_back(*directOperand(dot, which, sumElement));
  int64_t bytes = sliceElements() * s.getVectors() * (sum.getIntOrFloatBitWidth() / 8);
  shape.slicesOfGroup = unsigned(s.getSharedBytes() / bytes);
  operands = slicesBegin = f.dynamicShared();
  SmallVector<Value> ofBatch;
  for (const Coord &c : batch)
    ofBatch.push_back(c.base);
  for (bool left : {true, false}) {
    const DirectOperand &operand = direct[left ? 0 : 1];
    int64_t width = left ? s.getRows() : s.getColumns();
    Value &tile = left ? rowTile : columnTile, extent = left ? rows : columns;
    if (operand.own >= width && operand.own % width != 0) {
      (left ? firstRow : firstColumn) = tile;
      tile = f.minIndex(tile, f.e.index(operand.own - width));
    }
    copies.emplace_back(f, operand, shapeOf(left), TileThreads{shape.threads, member},
                        sharedOf(left), ofBatch, tile, extent);
  }
}

SmallVector<Value> ProductEmitter::multiplyRing() {
  int64_t stages = shape.slicesOfGroup, depth = s.getDepth();
  Value end = f.minIndex(endInner, inner);
  bool whole = getConstantIntValue(inner).value_or(1) % depth == 0;
  Value ofGroup = f.e.mulIndex(groupNumber, f.e.index(stages));
  // Where the copies of the next slice begin; they become a group, which may be empty.
  auto copySlice = [&](MutableArrayRef<Value> from, Value stage, Value round) {
    for (auto [copied, at] : llvm::zip_equal(copies, from)) {
      copied.copy(at, f.e.addIndex(ofGroup, stage), round, end, whole);
      at = copied.next(at);
    }
    commitCopies(b);
  };
  auto later = [&](Value round, int64_t slices) {
    return f.e.addIndex(round, f.e.index(slices * depth));
  };
  auto afterStage = [&](Value stage) -> Value {
    Value next = f.e.addIndex(stage, f.e.index(1));
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, f.e.index(stages));
    return arith::SelectOp::create(b, wraps, f.e.index(0), next);
  };
  auto awaitSlice = [&] {
    awaitCopies(b, unsigned(stages - 2));
    f.barrier();
  };
  Values from;
  for (CopiedTile &copied : copies)
    from.push_back(copied.from(firstInner));
  for (int64_t i = 0; i + 1 < stages; ++i)
    copySlice(from, f.e.index(i), later(firstInner, i));
  // What a loop carries: sums, then what the first k of the slice needs, stages, addresses.
  Values carried = zeroSums();
  if (ahead) {
    awaitSlice();
    for (bool left : {true, false})
      llvm::append_range(carried, fragment(left, ofGroup, 0));
  }
  size_t values = carried.size();
  carried.append({f.e.index(0), f.e.index(stages - 1)});
  llvm::append_range(carried, from);
  auto loop = scf::ForOp::create(b, firstInner, endInner, f.e.index(depth), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Values next = f.e.nested([&] {
      ValueRange in = loop.getRegionIterArgs(), rest = in.drop_front(values);
      Value stage = rest[0], filled = rest[1], after = afterStage(stage);
      Values from(rest.drop_front(2)), added;
      auto copyLater = [&] { copySlice(from, filled, later(loop.getInductionVar(), stages - 1)); };
      if (ahead) {
        added = multiplyAhead(in.take_front(values), f.e.addIndex(ofGroup, stage),
                              f.e.addIndex(ofGroup, after), [&](unsigned k) {
                                if (k == 1)
                                  copyLater();
                                if (k + 1 == depth)
                                  awaitSlice();
                              });
      } else {
        awaitSlice();
        copyLater();
        added = multiplyOnUnits(f.e.addIndex(ofGroup, stage), in.take_front(values));
      }
      added.append({after, stage});
      llvm::append_range(added, from);
      return added;
    });
    scf::YieldOp::create(b, next);
  }
  awaitCopies(b, 0);
  return Values(loop.getResults().take_front(shape.sums()));
}
