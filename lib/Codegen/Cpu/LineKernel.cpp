//===- LineKernel.cpp - Lines along an axis, in vectors -------------------===//
//
// Scans and places of extrema go along an axis, each step from the one before. Where that
// is not the last axis, lines that are neighbours along the last one are done a line a lane,
// a block of them a task. Where it is, the lanes are elements of a line: they are scanned, or
// looked for an extremum each (Common/LineKernel.cpp) or for elements that may be among the first.
// Sorting takes a line after the other (SortKernel.cpp).
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool walksInLanes(Operation *op) { return isa<prim::CumulativeOp, prim::ArgReduceOp>(op); }

int64_t tcc::codegen::linesPerTask(Operation *op, cpu::SpecialScheduleAttr schedule) {
  auto [x, axis] = *lineAxis(op);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  bool across = walksInLanes(op) && axis + 1 < shape.size();
  constexpr int64_t kFewest = 4; // of which a part is masked
  return across ? lanesFor(schedule.getLanes(), std::max(shape.back(), kFewest)) : 1;
}

/// Elements of a line that are looked at at once: a few times in a line, or what the lanes
/// have found costs more to bring together than it saved.
static unsigned lanesAlong(KernelFrame &f, Operation *op, RankedTensorType type, unsigned axis) {
  constexpr int64_t kTurns = 4;
  auto schedule = cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr());
  if (!isa<prim::CumulativeOp, prim::ArgReduceOp, prim::TopKOp>(op) || axis + 1 != type.getRank())
    return 1;
  int64_t extent = type.getShape().back();
  if (isa<prim::CumulativeOp>(op)) {
    Type element = computeType(type.getElementType());
    return lanesFor(f.cpu.lanes(std::max(32u, element.getIntOrFloatBitWidth())), extent);
  }
  unsigned lanes = lanesFor(schedule.getLanes(), extent);
  return ShapedType::isDynamic(extent) ? lanes / kTurns : lanesFor(lanes, extent / kTurns);
}

void tcc::codegen::emitLines(KernelFrame &f, Operation *op) {
  auto [x, axis] = *lineAxis(op);
  auto type = cast<RankedTensorType>(x.getType());
  unsigned along = lanesAlong(f, op, type, axis);
  int64_t lines = linesPerTask(op, cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr()));
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  if (lines > 1)
    others.back() =
        f.e.divIndex(f.e.addIndex(others.back(), f.e.index(lines - 1)), f.e.index(lines));
  others.erase(others.begin() + axis);
  Value length = extents[axis];
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Coords at;
    for (Value i : f.delinearize(task, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    if (sortsWords(op, f.cpu))
      return emitSortedLine(f, op, at, length);
    if (lines == 1)
      return emitLine(f, op, at, length, along);
    Value low = f.e.mulIndex(at.back().base, f.e.index(lines));
    Value high = f.minIndex(f.e.addIndex(low, f.e.index(lines)), extents.back());
    f.narrowingLoop(
        low, high, lines,
        [&](Value line) {
          at.back() = Coord::affine(line, f.e.lanes() > 1 ? 1 : 0);
          emitLine(f, op, at, length);
        },
        /*masksEnd=*/true, getConstantIntValue(extents.back()).value_or(0));
  });
}
