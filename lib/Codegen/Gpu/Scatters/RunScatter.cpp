//===- RunScatter.cpp - Rows that are updated by runs of others -----------===//
//
// Threads have a row each, or a few elements of one, and go over its run from its beginning to its
// end, several updates at a time: bags of embeddings, above all. Rows are few elements, so that a
// warp has one rather than vectors of 16 bytes a thread, and as many updates are on their way as
// registers hold.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

void device::scheduleRunScatter(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr unsigned kLeastThreads = 64, kRegisters = 32, kMostInFlight = 16;
  constexpr int64_t kOpen = 256; // what an open extent is taken for
  auto x = cast<RankedTensorType>(launch.getResultTypes()[0]);
  int64_t points = volumeOf(x.getShape().drop_front()), rows = x.getShape().front();
  points = points < 0 ? kOpen : std::max<int64_t>(points, 1);
  rows = ShapedType::isDynamic(rows) ? kOpen : rows;
  s.lanes = x.getRank() > 1 ? lanesFor(launch, x) : 1;
  while (s.lanes > 1 && points / s.lanes < GpuArch::warp)
    s.lanes /= 2;
  int64_t across = llvm::divideCeil(points, s.lanes);
  s.rowThreads = unsigned(std::min<int64_t>(GpuArch::warp, llvm::PowerOf2Ceil(across)));
  s.vectors = std::min(kMostInFlight, kRegisters / s.lanes);
  s.threads = GpuArch::threads;
  int64_t all = rows * int64_t(llvm::divideCeil(across, s.rowThreads)) * s.rowThreads;
  while (s.threads > kLeastThreads && all < int64_t(s.threads) * arch.multiprocessors)
    s.threads /= 2;
}

namespace {

class RunScatter {
public:
  RunScatter(KernelFrame &f, prim::ScatterRunsOp op)
      : f(f), b(f.b), op(op), extents(extentsOf(f, op.getX())),
        count(extentsOf(f, op.getUpdates()).front()) {}
  void run();

private:
  Value beginOf(Value row);
  Value read(Value from, Value row);
  Value withRun(Value begin, Value end, Value old);

  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ScatterRunsOp op;
  SmallVector<Value> extents; ///< of the result
  Value count;                ///< of updates
  Coords inner;               ///< the thread's place in a row
};

} // namespace

/// Where the run of `row` begins, or the last one ends.
Value RunScatter::beginOf(Value row) {
  Value last = f.e.subIndex(extents[0], f.e.index(1));
  f.e.forget();
  Value read = f.e.eval(op.getBegins(), {Coord::uniform(f.minIndex(row, last))});
  Type wide = b.getI64Type();
  if (read.getType() != wide)
    read = arith::ExtSIOp::create(b, wide, read);
  Value none = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  read = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, read, none),
                                arith::IndexCastOp::create(b, wide, count));
  Value begin = arith::IndexCastOp::create(b, b.getIndexType(), read);
  return arith::SelectOp::create(b, f.less(row, extents[0]), begin, count);
}

/// Where updates are rows that are taken from a table, which ones.
static Value placesBehind(Value updates) {
  Operation *op = updates.getDefiningOp();
  if (auto take = dyn_cast_or_null<prim::TakeOp>(op))
    return take.getAxis() == 0 && tensorType(take.getIndices()).getRank() == 1 ? take.getIndices()
                                                                               : Value();
  if (op && prim::isElementwise(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        if (Value places = placesBehind(operand))
          return places;
  return {};
}

/// The thread's elements of a row.
Value RunScatter::read(Value from, Value row) {
  Coords at = {Coord::uniform(row)};
  llvm::append_range(at, inner);
  Value v = f.e.evalVector(from, at);
  f.failed |= !v;
  return v;
}

Value RunScatter::withRun(Value begin, Value end, Value old) {
  unsigned inFlight = f.schedule.getVectors();
  Value last = f.e.subIndex(end, f.e.index(1)), places = placesBehind(op.getUpdates());
  auto add = [&](OpBuilder &, Location, Value first, ValueRange carried) {
    Value sum = carried[0];
    f.e.nested([&] {
      f.e.forget();
      SmallVector<std::pair<Value, Value>> found; // elements, and whether they are of the run
      for (unsigned i = 0; i < inFlight; ++i) {
        Value number = f.e.addIndex(first, f.e.index(i));
        found.push_back({f.minIndex(number, last), f.less(number, end)});
        if (places) // all are read, and known then, before the first row is
          f.e.eval(places, {Coord::uniform(found.back().first)});
      }
      for (auto &[v, inside] : found)
        v = read(op.getUpdates(), v);
      for (auto [v, inside] : found)
        if (v)
          sum = arith::SelectOp::create(b, inside, updatedElement(f, op.getKind(), sum, v), sum);
    });
    scf::YieldOp::create(b, sum);
  };
  auto loop = scf::ForOp::create(b, begin, end, f.e.index(inFlight), ValueRange{old}, add);
  f.e.forget();
  return loop.getResult(0);
}

void RunScatter::run() {
  int64_t across = f.schedule.getRowThreads(), lanes = f.schedule.getLanes();
  ArrayRef<Value> row = ArrayRef(extents).drop_front();
  Value points = f.volume(row), one = f.e.index(1), together = f.e.index(across * lanes);
  Value tiles = f.e.divIndex(f.e.addIndex(points, f.e.subIndex(together, one)), together);
  Value slot = f.e.addIndex(
      f.e.mulIndex(f.e.divIndex(f.block, tiles), f.e.index(f.schedule.getThreads() / across)),
      f.e.divIndex(f.thread, f.e.index(across)));
  Value point =
      f.e.addIndex(f.e.mulIndex(f.e.remIndex(f.block, tiles), together),
                   f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(across)), f.e.index(lanes)));
  Value inside = arith::AndIOp::create(b, f.less(slot, extents[0]), f.less(point, points));
  f.when(inside, [&] {
    Value begin = beginOf(slot), end = beginOf(f.e.addIndex(slot, one));
    for (Value i : f.delinearize(point, row))
      inner.push_back(Coord::uniform(i));
    f.e.setLanes(unsigned(lanes));
    if (lanes > 1) {
      f.e.bindAligned(inner.back().base);
      inner.back().step = 1;
    }
    if (Value old = read(op.getX(), slot)) {
      Coords at = {Coord::uniform(slot)};
      llvm::append_range(at, inner);
      f.e.store(f.results[0], at, withRun(begin, end, old));
    }
    f.e.setLanes(1);
  });
}

void device::emitRunScatter(KernelFrame &f) {
  RunScatter(f, cast<prim::ScatterRunsOp>(specialOf(f.launch))).run();
}
