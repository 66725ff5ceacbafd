//===- ColumnKernel.cpp - Few points, each of a long reduction ------------===//
//
// Sums over leading axes: neighbouring results read neighbouring elements, but there are
// too few of them to fill the machine with a thread each. The threads of a block are a
// square: one side are neighbouring results, the other shares the elements of each.
// A thread keeps several loads in flight; its partial results meet in shared memory and
// are combined in a fixed order.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
        element(tensorType(reduce.getX()).getElementType()) {}
  void run();

private:
  static constexpr unsigned side = kColumnSide, inFlight = 4;
  Value valueAt(ArrayRef<Value> point, Value number);
  Value partial(ArrayRef<Value> point);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ReduceOp reduce;
  Type element;
  SmallVector<Value> reduced; ///< extents
  Value length, share;        ///< of the reduction; the thread's number in it
};

} // namespace

Value ColumnEmitter::valueAt(ArrayRef<Value> point, Value number) {
  SmallVector<Value> inner = f.delinearize(number, reduced);
  Coords at;
  unsigned kept = 0;
  for (int64_t axis = 0; axis < tensorType(reduce.getX()).getRank(); ++axis) {
    const auto *it = llvm::find(reduce.getAxes(), axis);
    bool isKept = it == reduce.getAxes().end();
    at.push_back(Coord::uniform(isKept ? point[kept++] : inner[it - reduce.getAxes().begin()]));
  }
  return f.e.eval(reduce.getX(), at);
}

/// What the thread's share of the elements combines to.
Value ColumnEmitter::partial(ArrayRef<Value> point) {
  Value neutral = arith::ConstantOp::create(b, neutralElement(reduce.getKind(), element));
  Value step = f.e.index(int64_t(side) * inFlight);
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.subIndex(step, f.e.index(1))), step);
  auto loop = scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value total = f.e.nested([&] {
    SmallVector<Value> values;
    Value first = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step), share);
    for (unsigned i = 0; i < inFlight; ++i) {
      Value number = f.e.addIndex(first, f.e.index(int64_t(i) * side));
      Value inside = f.less(number, length);
      Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(length, f.e.index(1)));
      Value v = valueAt(point, safe);
      f.failed |= !v;
      values.push_back(v ? Value(arith::SelectOp::create(b, inside, v, neutral)) : neutral);
    }
    for (unsigned n = inFlight; n > 1; n /= 2)
      for (unsigned i = 0; i < n / 2; ++i)
        values[i] = emitCombine(b, reduce.getKind(), element, values[i], values[i + n / 2]);
    return emitCombine(b, reduce.getKind(), element, loop.getRegionIterArg(0), values[0]);
  });
  scf::YieldOp::create(b, total);
  return loop.getResult(0);
}

void ColumnEmitter::run() {
  for (int64_t axis : reduce.getAxes())
    reduced.push_back(f.e.extent(reduce.getX(), axis));
  length = f.volume(reduced);
  Value column = f.e.remIndex(f.thread, f.e.index(side));
  share = f.e.divIndex(f.thread, f.e.index(side));
  Value number = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(side)), column);
  Value points = f.volume(f.results[0].extents), inside = f.less(number, points);
  Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(points, f.e.index(1)));
  SmallVector<Value> point = f.delinearize(safe, f.results[0].extents);
  Value mine = partial(point);
  Type computed = mine.getType(), stored = f.asStored(computed);
  Value shared = f.shared(stored, side * side, "partials");
  Value place = f.e.addIndex(f.e.mulIndex(share, f.e.index(side)), column);
  LLVM::StoreOp::create(b, f.asStored(mine), f.at(shared, stored, place));
  f.barrier();
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
  f.when(arith::AndIOp::create(b, leads, inside), [&] {
    SmallVector<Value> parts;
    for (unsigned i = 0; i < side; ++i) {
      Value from = f.e.addIndex(f.e.index(int64_t(i) * side), column);
      Value v = LLVM::LoadOp::create(b, stored, f.at(shared, stored, from));
      parts.push_back(f.asComputed(v, computed));
    }
    for (unsigned n = side; n > 1; n /= 2)
      for (unsigned i = 0; i < n / 2; ++i)
        parts[i] = emitCombine(b, reduce.getKind(), element, parts[i], parts[i + n / 2]);
    Value total = parts[0];
    f.e.bindProvider(reduce.getResult(), [total](ArrayRef<Coord>) { return total; });
    Coords at;
    for (Value i : point)
      at.push_back(Coord::uniform(i));
    SmallVector<Value> elements;
    for (Value value : f.yield().getValues()) {
      elements.push_back(f.e.eval(value, at));
      f.failed |= !elements.back();
    }
    for (auto [memory, v] : llvm::zip(f.results, elements))
      if (v)
        f.e.store(memory, at, v);
  });
}

void device::emitColumnKernel(KernelFrame &f) { ColumnEmitter(f).run(); }
