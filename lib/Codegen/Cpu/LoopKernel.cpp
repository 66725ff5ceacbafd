//===- LoopKernel.cpp - One point at a time -------------------------------===//
//
// All results have one shape. A task is a run of points along one axis (LoopCut);
// inside, vectors of neighbouring points, then single points.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Elements that a point sums up, if it does.
static int64_t workPerPoint(kernel::LaunchOp launch) {
  constexpr int64_t kTypical = 64;
  int64_t most = 1;
  auto count = [&](ArrayRef<int64_t> extents) {
    int64_t product = 1;
    for (int64_t d : extents)
      product *= ShapedType::isDynamic(d) ? kTypical : std::max<int64_t>(d, 1);
    most = std::max(most, product);
  };
  for (Operation &op : launch.getBody().front()) {
    if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
      SmallVector<int64_t> extents;
      for (int64_t axis : reduce.getAxes())
        extents.push_back(cast<RankedTensorType>(reduce.getX().getType()).getDimSize(axis));
      count(extents);
    } else if (auto pool = dyn_cast<prim::PoolOp>(op)) {
      count(pool.getWindow());
    } else if (isa<prim::DotOp, prim::ConvOp>(op)) {
      count(ArrayRef<int64_t>{ShapedType::kDynamic});
    }
  }
  return most;
}

LoopCut tcc::codegen::cutLoop(kernel::LaunchOp launch) {
  /// Points of about this much work make a task worth a thread.
  constexpr int64_t kGrainPoints = 16384, kMostPoints = 4096, kFewPoints = 4;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  LoopCut cut{0, 1, kMostPoints, 1};
  if (type.getRank() == 0)
    return cut;
  cut.axis = type.getRank() - 1;
  while (cut.axis > 0) {
    int64_t extent = type.getDimSize(cut.axis), next = type.getDimSize(cut.axis - 1);
    bool few =
        !ShapedType::isDynamic(extent) && extent > 0 && cut.innerPoints * extent < kFewPoints;
    if (!few || (extent != 1 && !ShapedType::isDynamic(next) && next < extent))
      break;
    cut.innerPoints *= extent;
    --cut.axis;
  }
  int64_t work = workPerPoint(launch) * cut.innerPoints;
  cut.chunk = std::max<int64_t>(64, kMostPoints / work / 64 * 64); // a multiple of the lanes
  int64_t extent = type.getDimSize(cut.axis);
  int64_t points = ShapedType::isDynamic(extent) ? 256 : std::clamp<int64_t>(extent, 1, cut.chunk);
  cut.grain = std::max<int64_t>(1, kGrainPoints / (points * work));
  return cut;
}

bool tcc::codegen::emitLoopKernel(KernelFrame &f) {
  const Memory &out = f.results[0];
  auto store = [&](ArrayRef<Coord> at) {
    for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
      Value v = f.e.eval(value, at);
      if (!v) {
        f.failed = true;
        return;
      }
      f.e.store(memory, at, v);
    }
  };
  if (out.extents.empty()) {
    f.loop(f.begin, f.end, 1, [&](Value) { store({}); });
    return !f.failed;
  }
  LoopCut cut = cutLoop(f.launch);
  ArrayRef<Value> extents = out.extents;
  auto type = cast<RankedTensorType>(f.launch.getResultTypes()[0]);
  ValueRange outer = extents.take_front(cut.axis);
  Value line = extents[cut.axis], chunk = f.e.index(cut.chunk);
  SmallVector<Value> innerExtents(extents.drop_front(cut.axis + 1));
  unsigned lanes = lanesFor(f.cpu, f.launch, type.getDimSize(cut.axis));
  Value chunks = f.e.divIndex(f.e.addIndex(line, f.e.index(cut.chunk - 1)), chunk);
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Coords at;
    for (Value i : f.delinearize(f.e.divIndex(task, chunks), outer))
      at.push_back(Coord::uniform(i));
    Value low = f.e.mulIndex(f.e.remIndex(task, chunks), chunk);
    Value high = f.minIndex(f.e.addIndex(low, chunk), line);
    if (getConstantIntValue(chunks) == 1) {
      low = f.e.index(0);
      high = line;
    }
    f.vectorLoop(low, high, lanes, true, [&](Value i) {
      Coords point = at;
      point.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
      for (int64_t inner = 0; inner < cut.innerPoints; ++inner) {
        Coords here = point;
        for (Value c : f.delinearize(f.e.index(inner), innerExtents))
          here.push_back(Coord::uniform(c));
        store(here);
      }
    });
  });
  return !f.failed;
}
