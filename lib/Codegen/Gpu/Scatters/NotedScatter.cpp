//===- NotedScatter.cpp - The last update of each place of a tile ---------===//
//
// Of updates that replace what was there, the last one of a place counts. A block has a tile of the
// result: some places of a line, or of neighbouring lines where these lie across memory. It looks
// at all updates of these lines, notes in shared memory the largest number of those that go to each
// of its places, and writes each place once: that update, or what was there. Nothing is sorted,
// copied first or waited for.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kThreads = 256;
constexpr int64_t kNumber = sizeof(int32_t); ///< bytes of an update's number in shared memory

namespace {

/// Lines of a scatter along an axis, all of which have indices.
struct NotedLines {
  int64_t places, updates, lines;
  int64_t inner; ///< neighbouring lines, in memory
};

/// A block's part of them.
struct NotedTile {
  int64_t places, lines;
  double cost(const NotedLines &all, int64_t bytes, const GpuArch &arch) const;
};

} // namespace

static std::optional<NotedLines> linesOf(prim::ScatterAlongOp op) {
  auto x = tensorType(op.getX()), indices = tensorType(op.getIndices());
  unsigned axis = op.getAxis();
  if (op.getKind() != prim::ScatterKind::assign || !x.hasStaticShape() ||
      !indices.hasStaticShape() || !x.getElementType().isIntOrFloat() ||
      (sameForAllLines(op) && x.getNumElements() != x.getDimSize(axis)))
    return std::nullopt;
  for (auto [i, extent] : llvm::enumerate(indices.getShape()))
    if (i != axis && extent != x.getDimSize(unsigned(i)))
      return std::nullopt;
  NotedLines all{x.getDimSize(axis), indices.getDimSize(axis), 1,
                 volumeOf(x.getShape().drop_front(axis + 1))};
  if (all.places == 0 || all.updates == 0 || x.getNumElements() == 0)
    return std::nullopt;
  all.lines = x.getNumElements() / all.places;
  return all;
}

/// Microseconds: rounds of reads that a thread waits for, and what memory gives.
double NotedTile::cost(const NotedLines &all, int64_t bytes, const GpuArch &arch) const {
  constexpr double kRound = 0.6, kInFlight = 4, kBytes = 4e6, kBlocks = 8; // of a multiprocessor
  double blocks = double(llvm::divideCeil(all.lines, lines) * llvm::divideCeil(all.places, places));
  double waves = std::max(1.0, blocks / (kBlocks * double(arch.multiprocessors)));
  // Of neighbouring lines a warp reads parts of several rows.
  constexpr double kAcross = 4;
  auto rounds = [&](double elements) {
    return std::ceil(elements / double(kThreads) / kInFlight) * (lines > 1 ? kAcross : 1);
  };
  double own = kRound * (rounds(double(all.updates * lines)) + rounds(double(places * lines)));
  double read = blocks * double(all.updates * lines) * double(sizeof(int64_t)) +
                2 * double(all.lines * all.places) * double(bytes);
  return 2 + waves * own + read / kBytes;
}

bool device::scheduleNotedScatter(ScheduleChoice &s, Operation *op, const GpuArch &arch) {
  constexpr int64_t kMostPlaces = 8192; // of a tile: 32 KB
  constexpr int64_t kMostUpdates = 32768, kSector = 32, kFewUpdates = 16;
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  std::optional<NotedLines> all = along ? linesOf(along) : std::nullopt;
  if (!all || all->updates < kFewUpdates)
    return false;
  int64_t bytes = elementBytes(tensorType(along.getX()).getElementType());
  // Neighbouring lines: a sector of memory, or more where they have few places.
  std::optional<NotedTile> best;
  double least = 0;
  for (int64_t lines = 1; lines <= std::max<int64_t>(1, std::min<int64_t>(all->inner, 64));
       lines *= 2)
    for (int64_t parts = 1; parts <= 4 * arch.multiprocessors; parts *= 2) {
      NotedTile tile{int64_t(llvm::divideCeil(all->places, parts)), lines};
      bool sectors = lines * bytes >= kSector || lines * 2 > all->inner;
      if (!sectors || tile.places * lines > kMostPlaces || all->updates * lines > kMostUpdates)
        continue;
      double cost = tile.cost(*all, bytes, arch);
      if (!best || cost < least) {
        best = tile;
        least = cost;
      }
    }
  // Microseconds of what else there is: a sort of the updates, or a maximum of their numbers in
  // memory, which are cleared before and read when all places are copied. 64 updates of each of
  // 24,576 lines of 512 took 184 us so, where 45 were expected without the places (H100).
  constexpr double kElse = 10, kEach = 2.2e-5, kBytes = 4e6;
  double places = double(all->lines * all->places) * double(2 * (bytes + kNumber)) / kBytes;
  if (!best || least > kElse + kEach * double(all->updates * all->lines) + places)
    return false;
  s.threads = kThreads;
  s.rows = unsigned(best->places);
  s.columns = unsigned(best->lines);
  s.sharedBytes = unsigned(best->places * best->lines * kNumber);
  return true;
}

int64_t device::notedScatterTiles(prim::ScatterAlongOp op, Schedule schedule) {
  NotedLines all = *linesOf(op);
  int64_t outer = all.lines / all.inner;
  return outer * int64_t(llvm::divideCeil(all.inner, schedule.getColumns())) *
         int64_t(llvm::divideCeil(all.places, schedule.getRows()));
}

namespace {

class NotedScatter {
public:
  NotedScatter(KernelFrame &f, prim::ScatterAlongOp op)
      : f(f), b(f.b), op(op), axis(op.getAxis()), all(*linesOf(op)), rows(f.schedule.getRows()),
        columns(f.schedule.getColumns()), extents(extentsOf(f, op.getX())) {}
  void run();

private:
  /// Place or update `number` of line `line` of the tile.
  Coords at(Value number, Value line) const {
    Coords coords;
    Value within = f.e.addIndex(firstLine, line);
    ArrayRef<Value> around(extents);
    for (Value i : f.delinearize(outer, around.take_front(axis)))
      coords.push_back(Coord::uniform(i));
    coords.push_back(Coord::uniform(number));
    for (Value i : f.delinearize(within, around.drop_front(axis + 1)))
      coords.push_back(Coord::uniform(i));
    return coords;
  }
  Value read(Value from, Coords at) {
    Value v = f.e.eval(from, at);
    f.failed |= !v;
    return v;
  }
  Value noted(Value slot) { return f.at(numbers, b.getI32Type(), slot); }
  void note();
  void write();

  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ScatterAlongOp op;
  unsigned axis;
  NotedLines all;
  int64_t rows, columns; ///< places and lines of the tile
  SmallVector<Value> extents;
  Value numbers;                      ///< in shared memory: of the last update, plus one
  Value outer, firstLine, firstPlace; ///< the tile's
};

} // namespace

void NotedScatter::note() {
  constexpr int64_t kInFlight = 4;
  Value count = f.e.index(all.updates * columns), last = f.e.index(all.updates * columns - 1);
  f.loop(f.thread, count, kThreads * kInFlight, [&](Value first) {
    struct Found {
      Value goes, slot, number;
    };
    SmallVector<Found> found;
    for (int64_t i = 0; i < kInFlight; ++i) {
      f.e.forget();
      Value task = f.minIndex(f.e.addIndex(first, f.e.index(i * kThreads)), last);
      Value update = f.e.divIndex(task, f.e.index(columns)),
            line = f.e.remIndex(task, f.e.index(columns));
      Value exists = f.less(f.e.addIndex(firstLine, line), f.e.index(all.inner));
      Value safe = f.minIndex(line, f.e.subIndex(f.e.index(all.inner - 1), firstLine));
      Value index = read(op.getIndices(), at(update, safe));
      if (!index)
        return;
      auto [inside, place] = checkedIndex(f, index, extents[axis]);
      Value within = f.e.subIndex(place, firstPlace);
      Value goes = arith::AndIOp::create(b, arith::AndIOp::create(b, inside, exists),
                                         f.less(within, f.e.index(rows)));
      Value slot = f.e.addIndex(f.e.mulIndex(within, f.e.index(columns)), line);
      Value number =
          arith::IndexCastUIOp::create(b, b.getI32Type(), f.e.addIndex(update, f.e.index(1)));
      found.push_back({goes, slot, number});
    }
    for (const Found &one : found)
      f.when(one.goes, [&] {
        LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umax, noted(one.slot), one.number,
                                  LLVM::AtomicOrdering::monotonic, "block");
      });
  });
}

void NotedScatter::write() {
  constexpr int64_t kInFlight = 4;
  Value count = f.e.index(rows * columns), last = f.e.index(rows * columns - 1);
  Value elsewhere = liesElsewhere(f, op.getX());
  f.loop(f.thread, count, kThreads * kInFlight, [&](Value first) {
    struct Place {
      Coords at;
      Value v, writes;
    };
    SmallVector<Place> places;
    for (int64_t i = 0; i < kInFlight; ++i) {
      f.e.forget();
      Value task = f.e.addIndex(first, f.e.index(i * kThreads)), slot = f.minIndex(task, last);
      Value place = f.e.addIndex(firstPlace, f.e.divIndex(slot, f.e.index(columns))),
            line = f.e.remIndex(slot, f.e.index(columns));
      Value exists = arith::AndIOp::create(
          b, f.less(f.e.addIndex(firstLine, line), f.e.index(all.inner)),
          arith::AndIOp::create(b, f.less(task, count), f.less(place, extents[axis])));
      Value safeLine = f.minIndex(line, f.e.subIndex(f.e.index(all.inner - 1), firstLine));
      Value safePlace = f.minIndex(place, f.e.index(all.places - 1));
      Value number = LLVM::LoadOp::create(b, b.getI32Type(), noted(slot));
      Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, number, f.i32(0));
      // Where there is none, the first one is read, and not used.
      Value update = arith::IndexCastUIOp::create(
          b, b.getIndexType(),
          arith::SubIOp::create(b, arith::MaxUIOp::create(b, number, f.i32(1)), f.i32(1)));
      Value old = read(op.getX(), at(safePlace, safeLine)),
            next = read(op.getUpdates(), at(update, safeLine));
      if (!old || !next)
        return;
      Value writes =
          elsewhere
              ? Value(arith::AndIOp::create(b, exists, arith::OrIOp::create(b, has, elsewhere)))
              : exists;
      places.push_back(
          {at(safePlace, safeLine), arith::SelectOp::create(b, has, next, old), writes});
    }
    for (const Place &one : places)
      f.when(one.writes, [&] { f.e.store(f.results[0], one.at, one.v); });
  });
}

void NotedScatter::run() {
  numbers = f.dynamicShared();
  Value parts = f.e.index(llvm::divideCeil(all.places, rows)),
        groups = f.e.index(llvm::divideCeil(all.inner, columns));
  firstPlace = f.e.mulIndex(f.e.remIndex(f.block, parts), f.e.index(rows));
  Value group = f.e.divIndex(f.block, parts);
  firstLine = f.e.mulIndex(f.e.remIndex(group, groups), f.e.index(columns));
  outer = f.e.divIndex(group, groups);
  f.loop(f.thread, f.e.index(rows * columns), kThreads,
         [&](Value slot) { LLVM::StoreOp::create(b, f.i32(0), noted(slot)); });
  f.barrier();
  note();
  f.barrier();
  write();
}

void device::emitNotedScatter(KernelFrame &f) {
  NotedScatter(f, cast<prim::ScatterAlongOp>(specialOf(f.launch))).run();
}
