//===- OrderedLine.cpp - sort and top-k ---------------------------------===//
//
// A line's first k elements in order, k being the extent of the result: a heap of
// k whose root is the last of those kept. It is filled with the first k elements;
// each further element that comes before the root replaces it; then the root is
// moved to the end again and again (heapsort). Ties go to the lower index, which
// makes the order total and the result stable, in O(n log k) without scratch.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// The heap of one line, kept in the results themselves.
class LineHeap {
public:
  LineHeap(LaunchFrame &f, Coords at, unsigned axis, Type e, bool descending)
      : f(f), at(std::move(at)), axis(axis), e(e), descending(descending) {}

  struct Entry {
    Value value, place;
  };
  Entry get(Value slot) {
    f.e.forget();
    return {f.e.load(f.results[0], coords(slot)), f.e.load(f.results[1], coords(slot))};
  }
  void set(Value slot, Entry entry) {
    f.e.store(f.results[0], coords(slot), entry.value);
    f.e.store(f.results[1], coords(slot), entry.place);
  }
  /// Whether x comes before y.
  Value before(Entry x, Entry y) {
    Value less = comesBefore(f, e, descending, x.value, y.value);
    Value greater = comesBefore(f, e, descending, y.value, x.value);
    Value lower = arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, x.place, y.place);
    Value no = arith::ConstantOp::create(f.b, f.b.getBoolAttr(false));
    Value tie = arith::SelectOp::create(f.b, greater, no, lower);
    Value yes = arith::ConstantOp::create(f.b, f.b.getBoolAttr(true));
    return arith::SelectOp::create(f.b, less, yes, tie);
  }
  void siftDown(Value start, Value size);

private:
  Coords coords(Value slot) {
    Coords c(at);
    c[axis] = Coord::uniform(slot);
    return c;
  }
  LaunchFrame &f;
  Coords at;
  unsigned axis;
  Type e;
  bool descending;
};

} // namespace

/// Moves the entry at `start` down until neither child comes after it.
void LineHeap::siftDown(Value start, Value size) {
  ImplicitLocOpBuilder &b = f.b;
  Type index = b.getIndexType(), i1 = b.getI1Type();
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  auto loop = scf::WhileOp::create(b, TypeRange{index, i1}, ValueRange{start, yes});
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locs(2, b.getLoc());
  Block *head = b.createBlock(&loop.getBefore(), {}, TypeRange{index, i1}, locs);
  Value slot = head->getArgument(0);
  Value child = f.e.addIndex(f.e.mulIndex(slot, f.e.index(2)), f.e.index(1));
  Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, child, size);
  Value go = arith::AndIOp::create(b, has, head->getArgument(1));
  scf::ConditionOp::create(b, go, head->getArguments());

  Block *body = b.createBlock(&loop.getAfter(), {}, TypeRange{index, i1}, locs);
  slot = body->getArgument(0);
  child = f.e.addIndex(f.e.mulIndex(slot, f.e.index(2)), f.e.index(1));
  Value right = f.e.addIndex(child, f.e.index(1));
  Value hasRight = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, right, size);
  Value safeRight = arith::SelectOp::create(b, hasRight, right, child);
  Value rightLast = before(get(child), get(safeRight));
  Value last = arith::SelectOp::create(b, rightLast, safeRight, child);
  Entry mine = get(slot), other = get(last);
  Value swap = before(mine, other);
  auto branch = scf::IfOp::create(b, swap, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(branch.thenBlock());
    set(slot, other);
    set(last, mine);
  }
  scf::YieldOp::create(b, ValueRange{last, swap});
}

void tcc::codegen::emitOrderedLine(LaunchFrame &f, Value x, unsigned axis, bool descending,
                                   Coords at, Value length, unsigned along) {
  Type e = cast<RankedTensorType>(x.getType()).getElementType();
  Value kept = f.results[0].extents[axis];
  LineHeap heap(f, at, axis, e, descending);
  auto element = [&](Value i) -> LineHeap::Entry {
    Coords source(at);
    source[axis] = Coord::uniform(i);
    Value v = f.e.eval(x, source);
    f.failed |= !v;
    return {v, arith::IndexCastOp::create(f.b, f.b.getI64Type(), i)};
  };
  f.loop(f.e.index(0), kept, 1, [&](Value i) {
    LineHeap::Entry entry = element(i);
    if (!f.failed)
      heap.set(i, entry);
  });
  if (f.failed)
    return;
  Value half = f.e.divIndex(kept, f.e.index(2));
  f.loop(f.e.index(0), half, 1,
         [&](Value i) { heap.siftDown(f.e.subIndex(f.e.subIndex(half, f.e.index(1)), i), kept); });
  // With nothing kept there is no root to compare with.
  Value any = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, kept, f.e.index(0));
  Value from = arith::SelectOp::create(f.b, any, kept, length);
  auto consider = [&](Value i) {
    LineHeap::Entry entry = element(i), root = heap.get(f.e.index(0));
    Value better = heap.before(entry, root);
    auto branch = scf::IfOp::create(f.b, better, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(branch.thenBlock());
    heap.set(f.e.index(0), entry);
    heap.siftDown(f.e.index(0), kept);
  };
  if (along > 1) {
    Value n = f.e.index(along), left = f.e.subIndex(length, from);
    Value middle = f.e.addIndex(from, f.e.mulIndex(f.e.divIndex(left, n), n));
    f.loop(from, middle, along, [&](Value i) {
      f.e.setLanes(along);
      Coords source(at);
      source[axis] = Coord::affine(i, 1);
      Value v = f.e.evalVector(x, source);
      f.e.setLanes(1);
      // Of equal elements those here are the later ones.
      Value root = f.e.splat(heap.get(f.e.index(0)).value, along);
      forEachLane(f, i, comesBefore(f, e, descending, v, root), {}, [&](Value at, ValueRange) {
        consider(at);
        return SmallVector<Value>();
      });
    });
    from = middle;
  }
  f.loop(from, length, 1, consider);
  f.loop(f.e.index(1), kept, 1, [&](Value i) {
    Value end = f.e.subIndex(kept, i);
    LineHeap::Entry root = heap.get(f.e.index(0)), tail = heap.get(end);
    heap.set(f.e.index(0), tail);
    heap.set(end, root);
    heap.siftDown(f.e.index(0), end);
  });
}
