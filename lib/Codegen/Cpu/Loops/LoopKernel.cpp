//===- LoopKernel.cpp - One point at a time -------------------------------===//
//
// All results have one shape. A task is a run of points along one axis, or a block of such rows
// where operands lie across them (#cpu.loop_schedule); inside, vectors of neighbouring points, then
// single points. The points of the axes behind, few, are done together and stored interleaved.
// Where the last axis is put together from pieces, a row is done piece by piece (LoopPieces.cpp);
// a long piece that lies in an operand as it is stored is copied (CopiedRuns.cpp). Windows of a
// pool are taken from lines that are made of its rows before (WindowLines.cpp), sums of far rows
// from such as groups of those have come to (RowGroups.cpp). Where a row joins
// lines point by point and begins or ends among them, it is made of vectors of each line.
//
// Where the result lies over no operand, points may be done twice: the last block of rows, and the
// last vector of a row of one, end where the rows do.
//
//===----------------------------------------------------------------------===//
#include "../Rows/MaskedRows.h"
#include "../Rows/PeriodicLines.h"
#include "../Rows/WindowLines.h"
#include "CopiedRuns.h"
#include "LoopPieces.h"
#include "PastCaches.h"
#include "RowGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Analysis/InPlace.h"
#include "tcc/Analysis/PlanarConv.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class LoopEmitter {
public:
  LoopEmitter(KernelFrame &f, cpu::LoopScheduleAttr schedule, bool pastCaches, WindowLines *lines,
              RowGroups *groups)
      : f(f), windows(lines), groups(groups), out(f.results[0]), axis(schedule.getAxis()),
        blockAxis(schedule.getBlockAxis()), lanes(schedule.getLanes()), chunk(schedule.getChunk()),
        blockRows(schedule.getBlockRows()), copiedPoints(schedule.getCopiedPoints()),
        shared(schedule.getShared()), pastCaches(pastCaches),
        innerPoints(pointsAfter(cast<RankedTensorType>(f.launch.getResultTypes()[0]), axis)),
        mayRepeat(overwritableInputs(f.launch).empty()) {
    if (axis + 1 == out.extents.size()) {
      if (!windows) {
        pieces = piecesOf(f.launch);
        openPieces = openPiecesOf(f.launch);
      }
      phases = phasedLines(f.launch);
      if (!windows && pieces.empty() && !openPieces && !phases)
        masked = maskedRowsOf(f.launch, lanes, f.cpu);
      if (axis > 0)
        inner = innerRows(f.launch);
      widenBorders();
    }
  }
  void emitTask(Value task);
  /// Tasks [begin, end): of so many at a time the lines of their windows come first.
  void emitWithLines(Value begin, Value end);
  /// Runs of as many points, each of neighbours along the innermost axes.
  void store(ArrayRef<Coords> points, size_t run);

private:
  /// A run of points along the axis of a row, or of a block of rows.
  struct Run {
    Coords outer;
    Value low, high;
  };
  Run runOf(Value task);
  void widenBorders();
  void emitRow(const Coords &outer, Value low, Value high);
  void storeRow(const Coords &outer, ArrayRef<Value> places);
  void emitPieces(const Coords &outer, Value low, Value high);
  void emitOpenPieces(const Coords &outer, Value low, Value high);
  void emitPhases(const Coords &outer, const PhasedLines &lines, Value low, Value high);
  void emitPiece(const Coords &outer, Value low, Value high, int64_t begin, int64_t end,
                 function_ref<void(ArrayRef<Value>)> body);
  bool copies(const Coords &outer, Value from, Value to, std::optional<PointRange> range) {
    int64_t points = range ? std::min(range->second - range->first, chunk) : chunk;
    // The C library stores past the caches only what is longer than a task's run.
    if (pastCaches && range && range->first % lanes == 0 && range->second % lanes == 0)
      return false;
    return copiedPoints && points >= *copiedPoints && copiedRun(f, lanes, outer, from, to, range);
  }
  void emitBlock(const Coords &outer, Value low, Value high);
  void storeSharedRows(const Coords &outer, Value first, Value place);
  void emitFullBlock(const Coords &outer, Value first, Value low, Value high);

  KernelFrame &f;
  WindowLines *windows; ///< null: each point takes its windows from memory
  RowGroups *groups;    ///< null: each point reduces what it is made of
  const Memory &out;
  unsigned axis, blockAxis, lanes;
  int64_t chunk, blockRows;
  std::optional<int64_t> copiedPoints;
  bool shared, pastCaches;
  int64_t innerPoints;
  bool mayRepeat;              ///< what is stored is not read
  SmallVector<int64_t> pieces; ///< where they begin, but for the first; none: the row is one
  std::optional<RowRange> inner;
  std::optional<PhasedLines> phases;
  prim::ConcatOp openPieces; ///< whose lengths a run knows; null: none
  std::optional<MaskedRows> masked;
};

} // namespace

void LoopEmitter::store(ArrayRef<Coords> points, size_t run) {
  // All is read before anything is written: a result may lie in an operand's place.
  SmallVector<SmallVector<Value>> elements;
  for (Value value : f.yield().getValues()) {
    elements.emplace_back();
    for (const Coords &at : points) {
      elements.back().push_back(f.e.eval(value, at));
      if (!elements.back().back()) {
        f.failed = true;
        return;
      }
    }
  }
  for (auto [memory, values] : llvm::zip(f.results, elements))
    for (size_t first = 0; first < points.size(); first += run)
      f.e.storeAll(memory, points.slice(first, run), ArrayRef(values).slice(first, run));
}

LoopEmitter::Run LoopEmitter::runOf(Value task) {
  Value line = out.extents[axis], points = f.e.index(chunk);
  SmallVector<Value> outer(ArrayRef(out.extents).take_front(axis));
  if (blockRows > 1)
    outer[blockAxis] = f.e.divIndex(f.e.addIndex(outer[blockAxis], f.e.index(blockRows - 1)),
                                    f.e.index(blockRows));
  Value chunks = f.e.divIndex(f.e.addIndex(line, f.e.index(chunk - 1)), points);
  Coords at;
  for (Value i : f.delinearize(f.e.divIndex(task, chunks), outer))
    at.push_back(Coord::uniform(i));
  Value low = f.e.mulIndex(f.e.remIndex(task, chunks), points);
  Value high = f.minIndex(f.e.addIndex(low, points), line);
  if (getConstantIntValue(chunks) == 1) {
    low = f.e.index(0);
    high = line;
  }
  return {at, low, high};
}

void LoopEmitter::emitTask(Value task) {
  Run run = runOf(task);
  blockRows > 1 ? emitBlock(run.outer, run.low, run.high) : emitRow(run.outer, run.low, run.high);
}

void LoopEmitter::emitWithLines(Value begin, Value end) {
  constexpr int64_t together = WindowLines::kTogether;
  f.loop(begin, end, together, [&](Value first) {
    Value behind = f.minIndex(f.e.addIndex(first, f.e.index(together)), end);
    f.loop(first, behind, 1, [&](Value task) {
      Run run = runOf(task);
      windows->choose(f.e.subIndex(task, first), run.low);
      windows->fill(run.outer, run.high);
    });
    f.loop(first, behind, 1, [&](Value task) {
      Run run = runOf(task);
      windows->choose(f.e.subIndex(task, first), run.low);
      emitRow(run.outer, run.low, run.high);
    });
  });
}

/// The pixels of a line whose windows reach over the image are few: a vector with masked reads does
/// them and others as well.
void LoopEmitter::widenBorders() {
  int64_t extent = getConstantIntValue(out.extents[axis]).value_or(0), vector = lanes;
  if (extent < 2 * vector || llvm::none_of(f.launch.getBody().getOps<prim::ConvOp>(), isPlanar))
    return;
  for (int64_t &begin : pieces)
    begin = begin < vector ? vector : std::min(begin, extent - vector);
  pieces.erase(llvm::unique(pieces), pieces.end());
}

/// Rows whose windows lie inside of an image have code that does not ask.
void LoopEmitter::emitRow(const Coords &outer, Value low, Value high) {
  if (!inner)
    return emitPieces(outer, low, high);
  Value row = outer.back().base, first = f.e.index(inner->first);
  Value inside = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ult, f.e.subIndex(row, first),
                                       f.e.index(inner->second - inner->first));
  auto branch = scf::IfOp::create(f.b, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] {
    Coords at = outer;
    // Never folded: the range is known of this value alone.
    at.back() = Coord::uniform(arith::MaxSIOp::create(f.b, row, first));
    f.e.bindRange(at.back().base, inner->first, inner->second);
    emitPieces(at, low, high);
  });
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { emitPieces(outer, low, high); });
}

/// All points of a row, which `outer` says, at these places along the axis: at each, those of the
/// axes behind it.
void LoopEmitter::storeRow(const Coords &outer, ArrayRef<Value> places) {
  SmallVector<Value> innerExtents(ArrayRef(out.extents).drop_front(axis + 1));
  SmallVector<Coords> points;
  for (Value i : places)
    for (int64_t inner = 0; inner < innerPoints; ++inner) {
      Coords &point = points.emplace_back(outer);
      point.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
      for (Value c : f.delinearize(f.e.index(inner), innerExtents))
        point.push_back(Coord::uniform(c));
    }
  store(points, innerPoints);
}

void LoopEmitter::emitPieces(const Coords &outer, Value low, Value high) {
  auto rowOfPoints = [&](ArrayRef<Value> places) { storeRow(outer, places); };
  if (phases)
    return emitPhases(outer, *phases, low, high);
  if (openPieces)
    return emitOpenPieces(outer, low, high);
  if (groups)
    groups->fill(outer, low, high);
  if (!f.launch.getBody().getOps<prim::ReduceOp>().empty())
    return f.narrowingLoop(
        low, high, lanes, [&](Value i) { rowOfPoints(i); }, /*masksEnd=*/true,
        mayRepeat && !groups ? getConstantIntValue(out.extents[axis]).value_or(0) : 0);
  if (masked)
    return emitMaskedRow(
        f, *masked, outer, low, high, lanes, mayRepeat, [&](Value i) { rowOfPoints(i); },
        [&] { f.overlappingLoop(low, high, lanes, true, rowOfPoints); });
  if (pieces.empty()) {
    std::optional<PointRange> range;
    if (auto extent = getConstantIntValue(out.extents[axis]))
      range = {0, *extent};
    if (copies(outer, low, high, range))
      return;
    return f.overlappingLoop(low, high, lanes, true, [&](ArrayRef<Value> places) {
      if (range)
        for (Value i : places)
          f.e.bindRange(i, range->first, range->second);
      rowOfPoints(places);
    });
  }
  for (size_t piece = 0; piece <= pieces.size(); ++piece)
    emitPiece(outer, low, high, piece ? pieces[piece - 1] : 0,
              piece < pieces.size() ? pieces[piece] : *getConstantIntValue(out.extents[axis]),
              rowOfPoints);
}

/// What of [low, high) lies in each operand, one after the other.
void LoopEmitter::emitOpenPieces(const Coords &outer, Value low, Value high) {
  Value begin = f.e.index(0);
  for (auto [input, value] : llvm::enumerate(openPieces.getInputs())) {
    Value end = f.e.addIndex(begin, f.e.extent(value, axis));
    auto bounded = [&](Value v) -> Value {
      return arith::MaxSIOp::create(f.b, f.minIndex(v, end), begin);
    };
    Value from = bounded(low), to = bounded(high);
    f.e.bindPiece(Elemental::Piece{openPieces, static_cast<unsigned>(input), begin});
    if (!copies(outer, from, to, std::nullopt))
      f.overlappingLoop(from, to, lanes, /*lowAligned=*/false,
                        [&](ArrayRef<Value> places) { storeRow(outer, places); });
    f.e.bindPiece(std::nullopt);
    begin = end;
  }
}

/// Vectors of each line that is joined, from the first point of which the row has all neighbours to
/// the last, and the others one by one.
void LoopEmitter::emitPhases(const Coords &outer, const PhasedLines &lines, Value low, Value high) {
  Value count = f.e.index(lines.count), first = f.e.index(lines.first);
  Value begin = f.e.divIndex(f.e.addIndex(low, f.e.index(lines.first + lines.count - 1)), count);
  Value end = f.e.divIndex(f.e.addIndex(high, first), count);
  auto bounded = [&](Value v, Value least) -> Value {
    if (getConstantIntValue(v) && getConstantIntValue(least))
      return f.e.index(std::max(*getConstantIntValue(v), *getConstantIntValue(least)));
    return arith::MaxSIOp::create(f.b, v, least);
  };
  auto place = [&](Value point) { return f.e.subIndex(f.e.mulIndex(point, count), first); };
  Value wholeFrom = f.minIndex(place(begin), high), wholeTo = bounded(place(end), wholeFrom);
  auto single = [&](Value i) { storeRow(outer, i); };
  f.loop(low, wholeFrom, 1, single);
  end = bounded(end, begin);
  for (auto [low, high] : llvm::zip(lines.pieces, ArrayRef(lines.pieces).drop_front())) {
    auto within = [&](Value v) { return bounded(f.minIndex(v, f.e.index(high)), f.e.index(low)); };
    bool isPart = lines.pieces.size() > 2;
    f.vectorLoop(isPart ? within(begin) : begin, isPart ? within(end) : end,
                 lanesFor(lanes, high - low), /*lowAligned=*/false, [&](Value point) {
                   if (isPart)
                     f.e.bindRange(point, low, high);
                   // Never folded: that it is a multiple is seen.
                   Value product = arith::MulIOp::create(f.b, point, count);
                   SmallVector<Coords> points;
                   for (int64_t phase = 0; phase < lines.count; ++phase) {
                     Value at = f.e.addIndex(product, f.e.index(phase - lines.first));
                     points.push_back(outer);
                     points.back().push_back(Coord::affine(at, f.e.lanes() > 1 ? lines.count : 0));
                   }
                   store(points, lines.count);
                 });
  }
  f.loop(wholeTo, high, 1, single);
}

/// What of [low, high) lies in [begin, end), where `body` reads the same operands all along.
void LoopEmitter::emitPiece(const Coords &outer, Value low, Value high, int64_t begin, int64_t end,
                            function_ref<void(ArrayRef<Value>)> body) {
  auto bounded = [&](Value v) -> Value {
    if (auto known = getConstantIntValue(v))
      return f.e.index(std::clamp(*known, begin, end));
    return arith::MaxSIOp::create(f.b, f.minIndex(v, f.e.index(end)), f.e.index(begin));
  };
  Value from = bounded(low), to = bounded(high);
  if (auto first = getConstantIntValue(from); first && first == getConstantIntValue(to))
    return;
  if (copies(outer, from, to, PointRange(begin, end)))
    return;
  f.overlappingLoop(from, to, lanesFor(lanes, end - begin), begin == 0,
                    [&](ArrayRef<Value> places) {
                      for (Value i : places)
                        f.e.bindRange(i, begin, end);
                      body(places);
                    });
}

/// A whole block, which may begin before the last one's end, or the rows that are left, one after
/// the other.
void LoopEmitter::emitBlock(const Coords &outer, Value low, Value high) {
  Value extent = out.extents[blockAxis], rows = f.e.index(blockRows);
  // Never folded: reads are recognised by it.
  Value first = arith::MulIOp::create(f.b, outer[blockAxis].base, rows);
  auto known = getConstantIntValue(extent);
  if (known && *known % blockRows == 0)
    return emitFullBlock(outer, first, low, high);
  if (known && *known > blockRows && mayRepeat)
    return emitFullBlock(outer, arith::MinUIOp::create(f.b, first, f.e.index(*known - blockRows)),
                         low, high);
  Value end = f.e.addIndex(first, rows);
  Value whole = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ule, end, extent);
  auto branch = scf::IfOp::create(f.b, whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { emitFullBlock(outer, first, low, high); });
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.loop(first, extent, 1, [&](Value row) {
    Coords at = outer;
    at[blockAxis] = Coord::uniform(row);
    emitRow(at, low, high);
  });
}

/// The rows of a block at `place`, all of which are computed before one is stored.
void LoopEmitter::storeSharedRows(const Coords &outer, Value first, Value place) {
  SmallVector<Coords> points(blockRows, outer);
  for (auto [row, at] : llvm::enumerate(points)) {
    at[blockAxis] = Coord::uniform(f.e.addIndex(first, f.e.index(row)));
    at.push_back(Coord::affine(place, 1));
  }
  store(points, 1);
}

/// Vectors of all rows while there are lanes for one. What is left is one more vector, which does
/// some points again where that changes nothing and half of it or more is new, else narrower ones,
/// then single points.
void LoopEmitter::emitFullBlock(const Coords &outer, Value first, Value low, Value high) {
  auto begin = getConstantIntValue(low), end = getConstantIntValue(high);
  auto vectors = [&](unsigned n, Value from, Value to) {
    f.e.setLanes(n);
    f.loop(from, to, n, [&](Value i) {
      if (to != high)
        f.e.bindAligned(i);
      if (shared)
        return storeSharedRows(outer, first, i);
      unsigned rows = std::min<int64_t>(blockRows, n);
      for (int64_t block = 0; block < blockRows; block += rows) {
        Value base = block ? Value(arith::AddIOp::create(f.b, first, f.e.index(block))) : first;
        for (unsigned row = 0; row < rows; ++row) {
          f.e.setRowBlock({base, rows, row});
          Coords at = outer;
          at[blockAxis] = Coord::uniform(f.e.addIndex(base, f.e.index(row)));
          storeRow(at, i);
        }
      }
    });
    f.e.setLanes(1);
  };
  for (unsigned n = lanes; n >= 4; n /= 2) {
    Value count = f.e.index(n);
    Value middle =
        f.e.addIndex(low, f.e.mulIndex(f.e.divIndex(f.e.subIndex(high, low), count), count));
    auto from = getConstantIntValue(low), to = getConstantIntValue(middle);
    if (!from || from != to) {
      vectors(n, low, middle);
      low = middle;
    }
    int64_t rest = begin && end ? *end - *to : 0;
    if (rest > (n > 4 ? n / 2 : 0) && mayRepeat && *end - *begin >= n) {
      vectors(n, f.e.index(*end - n), high);
      return;
    }
  }
  if (auto from = getConstantIntValue(low); from && from == getConstantIntValue(high))
    return;
  f.loop(first, f.e.addIndex(first, f.e.index(blockRows)), 1, [&](Value row) {
    f.loop(low, high, 1, [&](Value i) {
      Coords at = outer;
      at[blockAxis] = Coord::uniform(row);
      storeRow(at, i);
    });
  });
}

bool tcc::codegen::emitLoopKernel(KernelFrame &f, cpu::LoopScheduleAttr schedule) {
  keepPeriods(f, schedule.getLanes());
  std::optional<WindowLines> lines;
  if (schedule.getWindowLines())
    lines.emplace(f, schedule.getChunk());
  std::optional<RowGroups> groups;
  if (prim::ReduceOp op = groupedRows(f.launch, f.cpu); op && schedule.getBlockRows() == 1)
    groups.emplace(f, op, schedule.getChunk());
  auto emit = [&](bool pastCaches) {
    LoopEmitter emitter(f, schedule, pastCaches, lines ? &*lines : nullptr,
                        groups ? &*groups : nullptr);
    if (lines)
      return emitter.emitWithLines(f.begin, f.end);
    f.loop(f.begin, f.end, 1, [&](Value task) {
      f.results[0].extents.empty() ? emitter.store(Coords(), 1) : emitter.emitTask(task);
    });
  };
  schedule.getPastCaches() ? emitPastCaches(f, emit) : emit(/*pastCaches=*/false);
  return !f.failed;
}
