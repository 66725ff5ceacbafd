//===- LineKernel.cpp - Lines along an axis, in vectors -------------------===//
//
// Scans and places of extrema go along an axis, each step from the one before. Where that
// is not the last axis, lines that are neighbours along the last one are done a line a lane,
// a block of them a task. Where it is, the lanes are elements of a line: they are scanned, or
// looked for an extremum each (Common/LineKernel.cpp) or for elements that may be among the first.
// Sorting takes a line after the other (SortKernel.cpp).
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool walksInLanes(Operation *op) {
  return isa<prim::CumulativeOp, prim::ArgReduceOp>(op) || keepsFirstInLanes(op);
}

/// Elements that a run of a row needs, times the lanes, to hide how long what is stored takes to
/// come back.
constexpr int64_t kLeastScanned = 4;

/// Elements of a row in a task of a scan across rows that adds each row to the one that it stored
/// before: a run that memory gives at its speed, which registers do not hold, and half of it where
/// there are few tasks. 0: the lanes carry what they have seen, because a row is too short, or what
/// is stored is rounded. Of a row of open length a run asks whether it is.
static int64_t scannedRun(Operation *op, cpu::SpecialScheduleAttr schedule) {
  constexpr int64_t kLeastBytes = 2048, kMostBytes = 4096, kTasks = 4;
  auto scan = dyn_cast<prim::CumulativeOp>(op);
  if (!scan || scan.getExclusive())
    return 0;
  RankedTensorType type = tensorType(scan.getX());
  Type e = type.getElementType();
  int64_t extent = type.getShape().back();
  bool isOpen = ShapedType::isDynamic(extent);
  bool isLong = isOpen || extent >= kLeastScanned * schedule.getLanes();
  if (!isLong || computeType(e) != storageType(e))
    return 0;
  int64_t bytes = computeType(e).getIntOrFloatBitWidth() / 8, others = 1;
  for (auto [axis, d] : llvm::enumerate(type.getShape().drop_back()))
    if (static_cast<int64_t>(axis) != static_cast<int64_t>(scan.getAxis()))
      others *= ShapedType::isDynamic(d) ? kTasks : std::max<int64_t>(1, d);
  if (isOpen)
    return (others < kTasks ? kLeastBytes : kMostBytes) / bytes;
  int64_t shared = llvm::divideCeil(extent, llvm::divideCeil(kTasks, std::min(others, kTasks)));
  return std::min(extent, std::clamp(shared, kLeastBytes / bytes, kMostBytes / bytes));
}

int64_t tcc::codegen::linesPerTask(Operation *op, cpu::SpecialScheduleAttr schedule) {
  auto [x, axis] = *lineAxis(op);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  bool across = walksInLanes(op) && axis + 1 < shape.size();
  if (int64_t run = across ? scannedRun(op, schedule) : 0)
    return run;
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
  if (ShapedType::isDynamic(extent))
    return isa<prim::ArgReduceOp>(op) ? lanes : lanes / kTurns;
  return lanesFor(lanes, extent / kTurns);
}

/// Columns [low, high) of the lines at `at`, row after row.
static void emitScannedRows(KernelFrame &f, prim::CumulativeOp op, Coords at, Value length,
                            Value low, Value high, unsigned lanes) {
  Type e = tensorType(op.getX()).getElementType();
  Value one = f.e.index(1), extent = f.results[0].extents.back();
  auto placeOf = [&](Value i) {
    return op.getReverse() ? f.e.subIndex(f.e.subIndex(length, one), i) : i;
  };
  auto rows = [&](Value first, unsigned count, bool isFirst) {
    Value place = placeOf(first);
    Value before = op.getReverse() ? f.e.addIndex(place, one) : f.e.subIndex(place, one);
    f.narrowingLoop(
        low, high, lanes,
        [&](Value column) {
          at.back() = Coord::affine(column, f.e.lanes() > 1 ? 1 : 0);
          Coords stored(at);
          stored[op.getAxis()] = Coord::uniform(before);
          Value none = arith::ConstantOp::create(f.b, neutralElement(op.getKind(), e));
          Value carried = !isFirst          ? f.e.load(f.results[0], stored)
                          : f.e.lanes() > 1 ? f.e.splat(none, f.e.lanes())
                                            : none;
          // All is read before anything is written: the result may lie where the operand does.
          SmallVector<Value> sums;
          SmallVector<Coords> places;
          for (unsigned i = 0; i < count; ++i) {
            at[op.getAxis()] = Coord::uniform(placeOf(f.e.addIndex(first, f.e.index(i))));
            Value v = f.e.evalVector(op.getX(), at);
            f.failed |= !v;
            if (!v)
              return;
            carried = emitCombine(f.b, op.getKind(), e, carried, v);
            sums.push_back(carried);
            places.push_back(at);
          }
          for (auto [place, sum] : llvm::zip_equal(places, sums))
            f.e.store(f.results[0], place, sum);
        },
        /*masksEnd=*/true, getConstantIntValue(extent).value_or(0));
  };
  // Of some rows together what came before is read once.
  constexpr int64_t kTogether = 4;
  Value n = f.e.index(kTogether), begun = f.minIndex(one, length);
  f.loop(f.e.index(0), begun, 1, [&](Value i) { rows(i, 1, /*isFirst=*/true); });
  Value whole = f.e.mulIndex(f.e.divIndex(f.e.subIndex(length, begun), n), n);
  Value rest = f.e.addIndex(begun, whole);
  f.loop(begun, rest, kTogether, [&](Value i) { rows(i, kTogether, /*isFirst=*/false); });
  f.loop(rest, length, 1, [&](Value i) { rows(i, 1, /*isFirst=*/false); });
}

/// Scans of lines that fill a part of a vector: each step waits for the one before, so that some
/// tasks are done beside each other. The first task that is left.
static Value emitScansBeside(KernelFrame &f, prim::CumulativeOp op,
                             function_ref<Coords(Value)> lineOf, Value length, int64_t lines) {
  constexpr int64_t kBeside = 4;
  Value n = f.e.index(kBeside), extent = f.results[0].extents.back();
  Value whole = f.e.mulIndex(f.e.divIndex(f.e.subIndex(f.end, f.begin), n), n);
  Value end = f.e.addIndex(f.begin, whole);
  f.loop(f.begin, end, kBeside, [&](Value task) {
    SmallVector<Coords> beside;
    for (int64_t i = 0; i < kBeside; ++i)
      beside.push_back(lineOf(f.e.addIndex(task, f.e.index(i))));
    f.narrowingLoop(
        f.e.index(0), extent, lines,
        [&](Value line) {
          for (Coords &at : beside)
            at.back() = Coord::affine(line, f.e.lanes() > 1 ? 1 : 0);
          emitScans(f, op, beside, length);
        },
        /*masksEnd=*/true, getConstantIntValue(extent).value_or(0));
  });
  return end;
}

void tcc::codegen::emitLines(KernelFrame &f, Operation *op) {
  auto [x, axis] = *lineAxis(op);
  auto type = cast<RankedTensorType>(x.getType());
  unsigned along = lanesAlong(f, op, type, axis);
  auto schedule = cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr());
  int64_t lines = linesPerTask(op, schedule);
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  if (lines > 1)
    others.back() =
        f.e.divIndex(f.e.addIndex(others.back(), f.e.index(lines - 1)), f.e.index(lines));
  others.erase(others.begin() + axis);
  Value length = extents[axis];
  auto lineOf = [&](Value task) {
    Coords at;
    for (Value i : f.delinearize(task, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    return at;
  };
  Value begin = f.begin;
  if (auto scan = dyn_cast<prim::CumulativeOp>(op);
      scan && lines > 1 && !scannedRun(op, schedule) && getConstantIntValue(others.back()) == 1)
    begin = emitScansBeside(f, scan, lineOf, length, lines);
  f.loop(begin, f.end, 1, [&](Value task) {
    Coords at = lineOf(task);
    if (ranksLine(op, f.cpu))
      return emitRankedLine(f, op, at);
    if (sortsWords(op, f.cpu))
      return emitSortedLine(f, op, at, length);
    if (lines == 1)
      return emitLine(f, op, at, length, along);
    Value low = f.e.mulIndex(at.back().base, f.e.index(lines));
    Value high = f.minIndex(f.e.addIndex(low, f.e.index(lines)), extents.back());
    // The ranks of what comes first fill registers by themselves.
    Type e = computeType(type.getElementType());
    int64_t run = scannedRun(op, schedule);
    unsigned width = keepsFirstInLanes(op) ? f.cpu.lanes(std::max(32u, e.getIntOrFloatBitWidth()))
                     : run                 ? schedule.getLanes()
                                           : lines;
    auto carried = [&] {
      f.narrowingLoop(
          low, high, std::min<unsigned>(width, lines),
          [&](Value line) {
            at.back() = Coord::affine(line, f.e.lanes() > 1 ? 1 : 0);
            if (keepsFirstInLanes(op))
              return emitFirstInLanes(f, cast<prim::TopKOp>(op), at, length);
            emitLine(f, op, at, length);
          },
          /*masksEnd=*/true, getConstantIntValue(extents.back()).value_or(0));
    };
    if (!run)
      return carried();
    auto stored = [&] {
      emitScannedRows(f, cast<prim::CumulativeOp>(op), at, length, low, high, schedule.getLanes());
    };
    if (getConstantIntValue(extents.back()))
      return stored();
    Value least = f.e.index(kLeastScanned * schedule.getLanes()), count = f.e.subIndex(high, low);
    using P = arith::CmpIPredicate;
    f.when(arith::CmpIOp::create(f.b, P::uge, count, least), stored);
    f.when(arith::CmpIOp::create(f.b, P::ult, count, least), carried);
  });
}
