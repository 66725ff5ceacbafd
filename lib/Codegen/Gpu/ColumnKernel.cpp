//===- ColumnKernel.cpp - Few points, each of a long reduction ------------===//
//
// Sums over leading axes: neighbouring results read neighbouring elements, but there are
// too few of them to fill the machine with a thread each. The threads of a block are a
// square: one side are neighbouring results, a vector of them each, the other shares the
// elements of each. A thread keeps several loads in flight; its partial results meet in
// shared memory and are combined in a fixed order. Where even the blocks are few, several
// share the same results: they meet in scratch memory in the same way.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

prim::ReduceOp device::columnReduction(kernel::LaunchOp launch) {
  prim::ReduceOp found;
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  for (Operation &op : launch.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<prim::ReduceOp>(op);
    if (isa<prim::PoolOp>(op) || (reduce && found))
      return {};
    if (reduce)
      found = reduce;
  }
  // Whoever reads it does so at the results' own point.
  if (!found || tensorType(found.getResult()).getShape() != space.getShape() ||
      space.getRank() == 0)
    return {};
  for (Operation *user : found->getUsers())
    if (!prim::isElementwise(user) && !isa<kernel::YieldOp>(user))
      return {};
  return found;
}

namespace {

class ColumnEmitter {
public:
  explicit ColumnEmitter(device::KernelFrame &f)
      : f(f), b(f.b), reduce(columnReduction(f.launch)),
        element(tensorType(reduce.getX()).getElementType()), lanes(f.schedule.getLanes()) {}
  void run();

private:
  static constexpr unsigned side = kColumnSide, inFlight = 4;
  Value valueAt(ArrayRef<Coord> point, Value number);
  Value combine(Value x, Value y) { return emitCombine(b, reduce.getKind(), element, x, y); }
  Value tree(SmallVector<Value> parts);
  Value partial(ArrayRef<Coord> point);
  Value partialOfParts(Value group);
  Value reduceBlock(Value mine);
  Value partAt(Value group, Value part);
  void finish(ArrayRef<Coord> point, Value inside, Value total);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ReduceOp reduce;
  Type element;
  unsigned lanes;
  Value neutral, shared;
  SmallVector<Value> reduced; ///< extents
  Value length;               ///< of the reduction
  Value column, share;        ///< of the thread in the block
  Value part;                 ///< of the blocks that share results
};

} // namespace

Value ColumnEmitter::valueAt(ArrayRef<Coord> point, Value number) {
  SmallVector<Value> inner = f.delinearize(number, reduced);
  Coords at;
  unsigned kept = 0;
  for (int64_t axis = 0; axis < tensorType(reduce.getX()).getRank(); ++axis) {
    const auto *it = llvm::find(reduce.getAxes(), axis);
    bool isKept = it == reduce.getAxes().end();
    at.push_back(isKept ? point[kept++] : Coord::uniform(inner[it - reduce.getAxes().begin()]));
  }
  return f.e.evalVector(reduce.getX(), at);
}

Value ColumnEmitter::tree(SmallVector<Value> parts) {
  for (size_t n = parts.size(); n > 1; n /= 2)
    for (size_t i = 0; i < n / 2; ++i)
      parts[i] = combine(parts[i], parts[i + n / 2]);
  return parts[0];
}

/// What the thread's share of the elements combines to.
Value ColumnEmitter::partial(ArrayRef<Coord> point) {
  int64_t apart = int64_t(side) * f.schedule.getSplit();
  Value step = f.e.index(apart * inFlight);
  Value begin = share;
  if (part)
    begin = f.e.addIndex(f.e.mulIndex(part, f.e.index(side)), share);
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.subIndex(step, f.e.index(1))), step);
  auto loop = scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value total = f.e.nested([&] {
    SmallVector<Value> values;
    Value first = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step), begin);
    for (unsigned i = 0; i < inFlight; ++i) {
      Value number = f.e.addIndex(first, f.e.index(i * apart));
      Value inside = f.less(number, length);
      Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(length, f.e.index(1)));
      Value v = valueAt(point, safe);
      f.failed |= !v;
      values.push_back(v ? Value(arith::SelectOp::create(b, inside, v, neutral)) : neutral);
    }
    return combine(loop.getRegionIterArg(0), tree(values));
  });
  scf::YieldOp::create(b, total);
  return loop.getResult(0);
}

/// What the threads of a column have, combined; right in those of share 0.
Value ColumnEmitter::reduceBlock(Value mine) {
  auto vector = dyn_cast<VectorType>(mine.getType());
  Type computed = vector ? vector.getElementType() : mine.getType(), stored = f.asStored(computed);
  auto at = [&](Value row, unsigned lane) {
    Value place = f.e.addIndex(f.e.mulIndex(row, f.e.index(side)), column);
    return f.at(shared, stored, f.e.addIndex(place, f.e.index(int64_t(lane) * side * side)));
  };
  auto laneOf = [&](Value v, unsigned lane) {
    return vector ? Value(vector::ExtractOp::create(b, v, int64_t(lane))) : v;
  };
  for (unsigned lane = 0; lane < lanes; ++lane)
    LLVM::StoreOp::create(b, f.asStored(laneOf(mine, lane)), at(share, lane));
  f.barrier();
  SmallVector<Value> totals;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> parts;
    for (unsigned i = 0; i < side; ++i)
      parts.push_back(
          f.asComputed(LLVM::LoadOp::create(b, stored, at(f.e.index(i), lane)), computed));
    totals.push_back(tree(parts));
  }
  return vector ? Value(vector::FromElementsOp::create(b, vector, totals)) : totals[0];
}

Value ColumnEmitter::partAt(Value group, Value number) {
  Type stored = f.asStored(cast<TypedAttr>(neutralElement(reduce.getKind(), element)).getType());
  Value row = f.e.addIndex(f.e.mulIndex(group, f.e.index(f.schedule.getSplit())), number);
  Value place = f.e.addIndex(f.e.mulIndex(row, f.e.index(side)), column);
  return f.scratchAt(0, stored, f.e.mulIndex(place, f.e.index(lanes)));
}

/// The same of the parts that blocks left in scratch memory.
Value ColumnEmitter::partialOfParts(Value group) {
  int64_t split = f.schedule.getSplit();
  auto vector = dyn_cast<VectorType>(neutral.getType());
  Type computed = vector ? vector.getElementType() : neutral.getType();
  Value total = neutral;
  for (int64_t first = 0; first < split; first += side) {
    Value number = f.e.addIndex(f.e.index(first), share);
    Value from = partAt(group, f.minIndex(number, f.e.index(split - 1)));
    SmallVector<Value> read;
    for (unsigned lane = 0; lane < lanes; ++lane)
      read.push_back(
          f.asComputed(LLVM::LoadOp::create(b, f.asStored(computed),
                                            f.at(from, f.asStored(computed), f.e.index(lane))),
                       computed));
    Value v = vector ? Value(vector::FromElementsOp::create(b, vector, read)) : read[0];
    total =
        combine(total, arith::SelectOp::create(b, f.less(number, f.e.index(split)), v, neutral));
  }
  return total;
}

void ColumnEmitter::finish(ArrayRef<Coord> point, Value inside, Value total) {
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
  f.when(arith::AndIOp::create(b, leads, inside), [&] {
    f.e.bindProvider(reduce.getResult(), [total](ArrayRef<Coord>) { return total; });
    SmallVector<Value> elements;
    for (Value value : f.yield().getValues()) {
      elements.push_back(f.e.eval(value, point));
      f.failed |= !elements.back();
    }
    for (auto [memory, v] : llvm::zip(f.results, elements))
      if (v)
        f.e.store(memory, point, v);
  });
}

void ColumnEmitter::run() {
  for (int64_t axis : reduce.getAxes())
    reduced.push_back(f.e.extent(reduce.getX(), axis));
  length = f.volume(reduced);
  f.e.setLanes(lanes);
  neutral = arith::ConstantOp::create(b, neutralElement(reduce.getKind(), element));
  shared = f.shared(f.asStored(neutral.getType()), int64_t(side) * side * lanes, "partials");
  if (lanes > 1)
    neutral = f.e.splat(neutral, lanes);
  column = f.e.remIndex(f.thread, f.e.index(side));
  share = f.e.divIndex(f.thread, f.e.index(side));
  Value group = f.block;
  if (f.schedule.getSplit() > 1) {
    part = f.e.remIndex(f.block, f.e.index(f.schedule.getSplit()));
    group = f.e.divIndex(f.block, f.e.index(f.schedule.getSplit()));
  }
  Value number = f.e.addIndex(f.e.mulIndex(group, f.e.index(side)), column);
  SmallVector<Value> units(f.results[0].extents);
  units.back() = f.e.divIndex(units.back(), f.e.index(lanes));
  Value points = f.volume(units), inside = f.less(number, points);
  Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(points, f.e.index(1)));
  Coords point;
  for (Value i : f.delinearize(safe, units))
    point.push_back(Coord::uniform(i));
  if (lanes > 1) {
    Value first = arith::MulIOp::create(b, point.back().base, f.e.index(lanes));
    f.e.bindAligned(first);
    point.back() = Coord::affine(first, 1);
  }
  Value total = reduceBlock(partial(point));
  if (!part)
    return finish(point, inside, total);
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
  f.when(leads, [&] {
    Value to = partAt(group, part);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value v = lanes > 1 ? Value(vector::ExtractOp::create(b, total, int64_t(lane))) : total;
      LLVM::StoreOp::create(b, f.asStored(v), f.at(to, f.asStored(v.getType()), f.e.index(lane)));
    }
  });
  f.inLastBlock(group, f.schedule.getSplit(),
                [&] { finish(point, inside, reduceBlock(partialOfParts(group))); });
}

void device::emitColumnKernel(KernelFrame &f) { ColumnEmitter(f).run(); }
