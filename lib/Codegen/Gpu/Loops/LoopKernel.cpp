//===- LoopKernel.cpp - Points of one shape -------------------------------===//
//
// A thread computes a few vectors of neighbouring points, 16 bytes each where the
// operands allow it; the threads of a block lie side by side, so that their accesses
// join. All vectors of a thread are read before a function is called or one is written: that
// keeps several loads in flight, and a result may lie in an operand's place. Where all is at the
// result's own point, points are numbered through, and rows of any length are cut into whole
// vectors. Of open extents, and of others that make no whole vectors, a thread more has what is
// less than one. Where points along another axis have much in common, a thread has several of
// these instead (SharedPoints.h). The elements of a check that was joined with the kernel
// (JoinedChecks.cpp) are shared by its threads, those of a thread next to the points that it reads.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

struct Point {
  Coords at;
  Value inside; ///< null: always
  SmallVector<Value> elements;
};

class LoopEmitter {
public:
  explicit LoopEmitter(device::KernelFrame &f)
      : f(f), extents(f.results[0].extents), check(joinedCheck(f.launch)) {
    if (isFlat(f.launch))
      flatten();
    for (Value d : ArrayRef(extents).take_front(extents.empty() ? 0 : extents.size() - 1))
      units.push_back(d);
    if (!extents.empty())
      units.push_back(f.e.divIndex(extents.back(), f.e.index(f.schedule.getLanes())));
    if (unsigned before = f.schedule.getDepth()) {
      Value &along = units[units.size() - 1 - before];
      along = f.e.divIndex(along, f.e.index(f.schedule.getVectors()));
    }
    total = f.volume(units);
  }
  void run();

private:
  void runPoints();
  void flatten();
  Point pointOf(Value task, unsigned together);
  void runShared();
  void evaluate(Point &point);
  void store(const Point &point);
  void runOpen(Value task);
  Value blocks();
  Value anyBad();
  Value look();
  void tell(Value before);

  device::KernelFrame &f;
  SmallVector<Value> extents, units; ///< units: extents counted in vectors
  Value total;
  prim::ReduceOp check; ///< null: none was joined
};

} // namespace

bool device::isFlat(kernel::LaunchOp launch) {
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getRank() == 0 ||
           (tensor.getShape() == space.getShape() && !tensor.getEncoding());
  };
  auto atPoint = [&](Operation &op) {
    auto broadcast = dyn_cast<prim::BroadcastOp>(op);
    auto constant = dyn_cast<prim::ConstantOp>(op);
    return prim::isElementwise(&op) || (broadcast && broadcast.getAxes().empty()) ||
           (constant && cast<DenseElementsAttr>(constant.getElements()).isSplat());
  };
  return space.getRank() > 0 &&
         llvm::all_of(launch.getBody().front().without_terminator(), atPoint) &&
         llvm::all_of(launch.getBody().getArgumentTypes(), fits) &&
         llvm::all_of(launch.getResultTypes(), fits);
}

void LoopEmitter::flatten() {
  extents = {f.volume(extents)};
  for (BlockArgument argument : f.launch.getBody().getArguments())
    if (const Memory *memory = f.e.memoryOf(argument); memory && !memory->extents.empty()) {
      Memory flat = *memory;
      flat.extents = extents;
      f.e.bindMemory(argument, flat);
    }
  for (Memory &memory : f.results)
    memory.extents = extents;
}

/// The vector that `task` numbers; past the end, the last one, which must not be stored.
/// `together`: of a thread.
Point LoopEmitter::pointOf(Value task, unsigned together) {
  Point point;
  unsigned perBlock = f.schedule.getThreads() * together;
  auto known = getConstantIntValue(total);
  if (!known || *known % perBlock != 0) {
    point.inside = f.less(task, total);
    Value last = f.e.subIndex(total, f.e.index(1));
    task = arith::MinUIOp::create(f.b, task, last);
  }
  SmallVector<Value> index = f.delinearize(task, units);
  for (Value i : index)
    point.at.push_back(Coord::uniform(i));
  if (!index.empty() && f.schedule.getLanes() > 1) {
    Value first = arith::MulIOp::create(f.b, index.back(), f.e.index(f.schedule.getLanes()));
    f.e.bindAligned(first);
    point.at.back() = Coord::affine(first, 1);
  }
  return point;
}

/// Adds `load`, and what it is computed from behind `begin`, if all of it can be moved before that.
static void collectAddress(Operation *load, Operation *begin, SetVector<Operation *> &found) {
  SetVector<Operation *> slice;
  slice.insert(load);
  for (size_t i = 0; i < slice.size(); ++i)
    for (Value operand : slice[i]->getOperands()) {
      Operation *from = operand.getDefiningOp();
      if (!from || from->getBlock() != begin->getBlock() || from->isBeforeInBlock(begin))
        continue;
      if (from->getNumRegions() || isa<math::MathDialect>(from->getDialect()) ||
          !(isPure(from) || isa<LLVM::LoadOp>(from)))
        return;
      slice.insert(from);
    }
  found.insert(slice.begin(), slice.end());
}

/// Reads all before the first function. Functions become branches, for what few arguments need, and
/// over a branch no load is moved: then each vector would be waited for alone.
static void readFirst(Block &block) {
  auto functions = llvm::make_filter_range(
      block, [](Operation &op) { return isa<math::MathDialect>(op.getDialect()); });
  if (functions.empty())
    return;
  Operation *begin = &*functions.begin();
  SetVector<Operation *> found;
  for (Operation *op = begin; op; op = op->getNextNode()) {
    auto load = dyn_cast<LLVM::LoadOp>(op);
    if (load && !load.getVolatile_() && load.getOrdering() == LLVM::AtomicOrdering::not_atomic)
      collectAddress(op, begin, found);
    else if (!isMemoryEffectFree(op))
      break;
  }
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : order)
    op->moveBefore(begin);
}

void LoopEmitter::evaluate(Point &point) {
  for (Value value : f.yield().getValues().drop_back(check ? 1 : 0)) {
    point.elements.push_back(f.e.eval(value, point.at));
    f.failed |= !point.elements.back();
    if (f.failed)
      return;
  }
}

void LoopEmitter::store(const Point &point) {
  // Of a check there is one answer, behind the results.
  for (auto [memory, element] : llvm::zip(f.results, point.elements))
    f.e.store(memory, point.at, element);
}

/// One vector, or the points behind all of them.
void LoopEmitter::runOpen(Value task) {
  Value lanes = f.e.index(f.schedule.getLanes());
  auto at = [&](Value first, unsigned step) {
    f.e.setLanes(step ? f.schedule.getLanes() : 1);
    Point point{{step ? Coord::affine(first, 1) : Coord::uniform(first)}, {}, {}};
    evaluate(point);
    if (!f.failed)
      store(point);
  };
  f.when(f.less(task, total), [&] {
    Value first = f.e.mulIndex(task, lanes);
    f.e.bindAligned(first);
    at(first, 1);
  });
  f.when(arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, task, total),
         [&] { f.loop(f.e.mulIndex(total, lanes), extents[0], 1, [&](Value i) { at(i, 0); }); });
}

//===----------------------------------------------------------------------===//
// A check
//===----------------------------------------------------------------------===//

/// As Grid.cpp has it.
Value LoopEmitter::blocks() {
  Value ofBlock =
      f.e.index(int64_t(f.schedule.getThreads()) * f.schedule.getVectors() * f.schedule.getLanes());
  Value points = f.volume(f.results[0].extents);
  points = arith::MaxUIOp::create(f.b, points, f.e.index(1));
  return f.e.divIndex(f.e.addIndex(points, f.e.subIndex(ofBlock, f.e.index(1))), ofBlock);
}

/// Whether any of the thread's part of what is checked is bad: as many neighbours as it has points.
Value LoopEmitter::anyBad() {
  unsigned threads = f.schedule.getThreads(), vectors = f.schedule.getVectors(),
           lanes = f.schedule.getLanes();
  SmallVector<Value> shape = extentsOf(f, check.getX());
  Value all = f.volume(shape), last = f.e.subIndex(all, f.e.index(1));
  Value own = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(int64_t(threads) * vectors)), f.thread);
  Value begin = f.e.mulIndex(own, f.e.index(lanes));
  Value step = f.e.mulIndex(blocks(), f.e.index(int64_t(threads) * vectors * lanes));
  Value none = arith::ConstantOp::create(f.b, f.b.getBoolAttr(false));
  auto look = [&](OpBuilder &, Location, Value first, ValueRange carried) {
    Value bad = carried[0];
    f.e.nested([&] {
      for (unsigned v = 0; v < vectors; ++v)
        for (unsigned i = 0; i < lanes; ++i) {
          f.e.forget();
          Value number = f.e.addIndex(first, f.e.index(int64_t(v) * threads * lanes + i));
          Coords at; // the last one several times is as good as once
          for (Value c : f.delinearize(f.minIndex(number, last), shape))
            at.push_back(Coord::uniform(c));
          Value found = f.e.eval(check.getX(), at);
          f.failed |= !found;
          if (found)
            bad = arith::OrIOp::create(f.b, bad, found);
        }
    });
    scf::YieldOp::create(f.b, bad);
  };
  auto loop = scf::ForOp::create(f.b, begin, all, step, ValueRange{none}, look);
  f.e.forget();
  return loop.getResult(0);
}

/// Counts the bad ones, in the upper half of a number, and the blocks whose threads have all
/// looked; what there was before, valid in the first thread of the block.
Value LoopEmitter::look() {
  ImplicitLocOpBuilder &b = f.b;
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(n));
  };
  Value counter = f.scratch;
  auto count = [&](int64_t n) -> Value {
    return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, counter, number(n),
                                     LLVM::AtomicOrdering::monotonic, "device");
  };
  f.when(anyBad(), [&] { count(int64_t(1) << 32); });
  f.barrier();
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0));
  auto branch = scf::IfOp::create(
      b, leads, [&](OpBuilder &, Location) { scf::YieldOp::create(b, count(1)); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, number(-1)); });
  return branch.getResult(0);
}

/// By the last block to look, whether any is bad.
void LoopEmitter::tell(Value before) {
  ImplicitLocOpBuilder &b = f.b;
  Type i32 = b.getI32Type();
  auto half = [&](bool upper) -> Value {
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    Value v = upper ? Value(arith::ShRUIOp::create(b, before, shift)) : before;
    return arith::TruncIOp::create(b, i32, v);
  };
  Value most = arith::IndexCastUIOp::create(b, i32, f.e.subIndex(blocks(), f.e.index(1)));
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0));
  Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, half(false), most);
  f.when(arith::AndIOp::create(b, leads, last), [&] {
    Value bad = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, half(true), f.i32(0));
    Value nothing = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    LLVM::StoreOp::create(b, nothing, f.scratch);
    f.e.setLanes(1);
    f.e.store(f.results[1], {}, bad);
  });
}

void LoopEmitter::run() {
  f.e.setLanes(1);
  if (!check)
    return runPoints();
  Value before = look();
  // Of no points nothing is read.
  getConstantIntValue(total) ? runPoints()
                             : f.when(f.less(f.e.index(0), total), [&] { runPoints(); });
  if (!f.failed)
    tell(before);
}

/// Neighbours along another axis than the last one.
void LoopEmitter::runShared() {
  Value thread = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(f.schedule.getThreads())), f.thread);
  Point first = pointOf(thread, 1);
  Coord &along = first.at[first.at.size() - 1 - f.schedule.getDepth()];
  Value begin = f.e.mulIndex(along.base, f.e.index(f.schedule.getVectors()));
  SmallVector<Point> points;
  for (unsigned v = 0; v < f.schedule.getVectors(); ++v) {
    along = Coord::uniform(f.e.addIndex(begin, f.e.index(v)));
    points.push_back(first);
    evaluate(points.back());
    if (f.failed)
      return;
  }
  readFirst(*f.b.getInsertionBlock());
  auto storeAll = [&] {
    for (const Point &point : points)
      store(point);
  };
  first.inside ? f.when(first.inside, storeAll) : storeAll();
}

void LoopEmitter::runPoints() {
  f.e.setLanes(f.schedule.getLanes());
  if (f.schedule.getDepth())
    return runShared();
  unsigned threads = f.schedule.getThreads(), vectors = f.schedule.getVectors();
  Value first =
      f.e.addIndex(f.e.mulIndex(f.block, f.e.index(int64_t(threads) * vectors)), f.thread);
  auto known = extents.empty() ? std::nullopt : getConstantIntValue(extents.back());
  if (f.schedule.getLanes() > 1 && isFlat(f.launch) && (!known || *known % f.schedule.getLanes()))
    return runOpen(first);
  SmallVector<Point> points;
  for (unsigned v = 0; v < vectors; ++v) {
    points.push_back(pointOf(f.e.addIndex(first, f.e.index(int64_t(v) * threads)), vectors));
    evaluate(points.back());
    if (f.failed)
      return;
  }
  readFirst(*f.b.getInsertionBlock());
  for (const Point &point : points)
    point.inside ? f.when(point.inside, [&] { store(point); }) : store(point);
}

void device::emitLoopKernel(KernelFrame &f) { LoopEmitter(f).run(); }
