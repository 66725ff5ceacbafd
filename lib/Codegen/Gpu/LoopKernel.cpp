//===- LoopKernel.cpp - Points of one shape -------------------------------===//
//
// A thread computes a few vectors of neighbouring points, 16 bytes each where the
// operands allow it; the threads of a block lie side by side, so that their accesses
// join. All vectors of a thread are read before the first is written: that keeps
// several loads in flight, and a result may lie in an operand's place.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

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
    for (Value d : ArrayRef(extents).take_front(extents.empty() ? 0 : extents.size() - 1))
      units.push_back(d);
    if (!extents.empty())
      units.push_back(f.e.divIndex(extents.back(), f.e.index(f.schedule.getLanes())));
    total = f.volume(units);
  }
  void run();

private:
  Point pointOf(Value task);

  device::KernelFrame &f;
  SmallVector<Value> extents, units; ///< units: extents counted in vectors
  Value total;
};

} // namespace

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

void LoopEmitter::run() {
  f.e.setLanes(f.schedule.getLanes());
  unsigned threads = f.schedule.getThreads(), vectors = f.schedule.getVectors();
  Value first =
      f.e.addIndex(f.e.mulIndex(f.block, f.e.index(int64_t(threads) * vectors)), f.thread);
  SmallVector<Point> points;
  for (unsigned v = 0; v < vectors; ++v) {
    Point &point =
        points.emplace_back(pointOf(f.e.addIndex(first, f.e.index(int64_t(v) * threads))));
    for (Value value : f.yield().getValues()) {
      point.elements.push_back(f.e.eval(value, point.at));
      if (!point.elements.back()) {
        f.failed = true;
        return;
      }
    }
  }
  for (Point &point : points) {
    auto store = [&] {
      for (auto [memory, element] : llvm::zip(f.results, point.elements))
        f.e.store(memory, point.at, element);
    };
    point.inside ? f.when(point.inside, store) : store();
  }
}

void device::emitLoopKernel(KernelFrame &f) { LoopEmitter(f).run(); }
