//===- LoopKernel.cpp - Points of one shape -------------------------------===//
//
// A thread computes a few vectors of neighbouring points, 16 bytes each where the
// operands allow it; the threads of a block lie side by side, so that their accesses
// join. All vectors of a thread are read before a function is called or one is written: that
// keeps several loads in flight, and a result may lie in an operand's place. Where all is at the
// result's own point, points are numbered through, and rows of any length are cut into whole
// vectors. Of open extents, and of others that make no whole vectors, a thread more has what is
// less than one.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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
  explicit LoopEmitter(device::KernelFrame &f) : f(f), extents(f.results[0].extents) {
    if (isFlat(f.launch))
      flatten();
    for (Value d : ArrayRef(extents).take_front(extents.empty() ? 0 : extents.size() - 1))
      units.push_back(d);
    if (!extents.empty())
      units.push_back(f.e.divIndex(extents.back(), f.e.index(f.schedule.getLanes())));
    total = f.volume(units);
  }
  void run();

private:
  void flatten();
  Point pointOf(Value task);
  void evaluate(Point &point);
  void store(const Point &point);
  void runOpen(Value task);

  device::KernelFrame &f;
  SmallVector<Value> extents, units; ///< units: extents counted in vectors
  Value total;
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
Point LoopEmitter::pointOf(Value task) {
  Point point;
  unsigned perBlock = f.schedule.getThreads() * f.schedule.getVectors();
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
  for (Value value : f.yield().getValues()) {
    point.elements.push_back(f.e.eval(value, point.at));
    f.failed |= !point.elements.back();
    if (f.failed)
      return;
  }
}

void LoopEmitter::store(const Point &point) {
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

void LoopEmitter::run() {
  f.e.setLanes(f.schedule.getLanes());
  unsigned threads = f.schedule.getThreads(), vectors = f.schedule.getVectors();
  Value first =
      f.e.addIndex(f.e.mulIndex(f.block, f.e.index(int64_t(threads) * vectors)), f.thread);
  auto known = extents.empty() ? std::nullopt : getConstantIntValue(extents.back());
  if (f.schedule.getLanes() > 1 && isFlat(f.launch) && (!known || *known % f.schedule.getLanes()))
    return runOpen(first);
  SmallVector<Point> points;
  for (unsigned v = 0; v < vectors; ++v) {
    points.push_back(pointOf(f.e.addIndex(first, f.e.index(int64_t(v) * threads))));
    evaluate(points.back());
    if (f.failed)
      return;
  }
  readFirst(*f.b.getInsertionBlock());
  for (const Point &point : points)
    point.inside ? f.when(point.inside, [&] { store(point); }) : store(point);
}

void device::emitLoopKernel(KernelFrame &f) { LoopEmitter(f).run(); }
