//===- OwnedRows.cpp - Updates of rows, of which each block finds its own -===//
//
// A block has neighbouring rows of the result. It reads all indices and keeps the updates of its
// rows, in the order that they came in; so nobody waits for another block, and what would be a sort
// of all updates is one of the few of a block, in its shared memory:
//
//   noted      each warp looks at as many neighbours of all updates, and keeps those of the block
//              together, where its part begins
//   gathered   all of the block, one behind the other
//   placed     a warp that does a row puts the updates of it where those of the rows before end
//
// Then the warp reads the row and its updates, several at a time, and writes what they add up to. A
// row without updates is copied that way. An update is a row of the block and a number, of 16 bits
// each.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kThreads = 1024, kWarps = kThreads / GpuArch::warp;
constexpr int64_t kNumberBits = 16;

/// Updates that a warp looks at.
static int64_t shareOf(const device::UpdateList &list) {
  return int64_t(llvm::alignTo(llvm::divideCeil(list.updates, kWarps), GpuArch::warp));
}

/// Numbers of 32 bits in shared memory: updates of each row, and of each warp; updates as they are
/// noted, and then placed; and gathered.
static int64_t numbersOf(const device::UpdateList &list, int64_t rows) {
  return rows + kWarps + 2 * kWarps * shareOf(list);
}

bool device::scheduleOwnedRows(ScheduleChoice &s, kernel::LaunchOp launch, const UpdateList &list,
                               unsigned lanes, const GpuArch &arch) {
  // Fewer are looked at by everybody; more take each block as long as a sort.
  constexpr int64_t kLeast = 64, kMost = 16384, kLeastElements = 1 << 14;
  constexpr int64_t kMostOfRow = 16;          // which one thread adds up in their order
  constexpr int64_t kMostRows = int64_t(256); // of a block
  auto along = dyn_cast<prim::ScatterAlongOp>(specialOf(launch));
  if ((along && !sameForAllLines(along)) || list.open || list.last || list.updates < kLeast ||
      list.updates > std::min(kMost, list.slots * kMostOfRow) || list.updates <= list.slots ||
      list.slots * list.points < kLeastElements)
    return false;
  int64_t rows = int64_t(llvm::divideCeil(list.slots, arch.multiprocessors));
  int64_t bytes = numbersOf(list, rows) * int64_t(sizeof(int32_t));
  if (rows > kMostRows || bytes > arch.sharedBytes)
    return false;
  while (lanes > 1 && list.points < int64_t(lanes) * GpuArch::warp)
    lanes /= 2;
  s.threads = kThreads;
  s.resident = 1;
  s.lanes = lanes;
  s.rowThreads = GpuArch::warp;
  s.rows = unsigned(rows);
  s.sharedBytes = unsigned(bytes);
  s.split = unsigned(llvm::divideCeil(list.slots, rows));
  return true;
}

/// In shared memory, number `number` of the array that begins behind `before` others. i32
Value SortedScatter::ownedAt(int64_t before, Value number) {
  return f.at(touched, b.getI32Type(), f.e.addIndex(f.e.index(before), number));
}

static Value loaded(ImplicitLocOpBuilder &b, Value at) {
  return LLVM::LoadOp::create(b, b.getI32Type(), at);
}

static Value asIndex(ImplicitLocOpBuilder &b, Value number) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), number);
}

/// Which lanes' `mine` is true, how many of them come before this one, and how many there are.
static std::pair<Value, Value> ranked(device::KernelFrame &f, Value lane, Value mine) {
  ImplicitLocOpBuilder &b = f.b;
  Type i32 = b.getI32Type();
  Value bits = NVVM::VoteSyncOp::create(b, i32, f.i32(-1), mine, NVVM::VoteSyncKind::ballot);
  Value bit = arith::ShLIOp::create(b, f.i32(1), arith::IndexCastUIOp::create(b, i32, lane));
  Value before = arith::AndIOp::create(b, bits, arith::SubIOp::create(b, bit, f.i32(1)));
  return {math::CtPopOp::create(b, before), math::CtPopOp::create(b, bits)};
}

/// Notes the updates that go to the block's rows; how many each warp has.
Value SortedScatter::noteOwn(Value warp, Value lane) {
  constexpr unsigned kInFlight = 8;
  int64_t rows = f.schedule.getRows(), part = shareOf(list);
  Type i32 = b.getI32Type();
  f.loop(f.thread, f.e.index(rows), kThreads,
         [&](Value row) { LLVM::StoreOp::create(b, f.i32(0), ownedAt(0, row)); });
  f.barrier();
  Value low = f.e.mulIndex(f.block, f.e.index(rows));
  Value high = f.minIndex(f.e.addIndex(low, f.e.index(rows)), f.e.index(list.slots));
  Value begin = f.e.mulIndex(warp, f.e.index(part));
  Value end = f.minIndex(f.e.addIndex(begin, f.e.index(part)), f.e.index(list.updates));
  auto look = [&](OpBuilder &, Location, Value first, ValueRange carried) {
    Value count = carried[0];
    f.e.nested([&] {
      SmallVector<std::array<Value, 3>> found; // updates, rows, and whether they are the block's
      for (unsigned i = 0; i < kInFlight; ++i) {
        f.e.forget();
        Value number = f.e.addIndex(f.e.addIndex(first, f.e.index(i * GpuArch::warp)), lane);
        Value slot = slotIndexOf(f.minIndex(number, f.e.index(list.updates - 1)));
        Value mine = arith::AndIOp::create(
            b, arith::CmpIOp::create(b, arith::CmpIPredicate::ule, low, slot), f.less(slot, high));
        found.push_back(
            {number, f.e.subIndex(slot, low), arith::AndIOp::create(b, mine, f.less(number, end))});
      }
      for (auto [number, row, mine] : found) {
        auto [rank, all] = ranked(f, lane, mine);
        Value place = f.e.addIndex(begin, asIndex(b, arith::AddIOp::create(b, count, rank)));
        f.when(mine, [&, number = number, row = row] {
          Value word = arith::ShLIOp::create(b, arith::IndexCastUIOp::create(b, i32, row),
                                             f.i32(kNumberBits));
          word = arith::OrIOp::create(b, word, arith::IndexCastUIOp::create(b, i32, number));
          LLVM::StoreOp::create(b, word, ownedAt(rows + kWarps, place));
          LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, ownedAt(0, row), f.i32(1),
                                    LLVM::AtomicOrdering::monotonic, "block");
        });
        count = arith::AddIOp::create(b, count, all);
      }
    });
    scf::YieldOp::create(b, count);
  };
  auto loop = scf::ForOp::create(b, begin, end, f.e.index(int64_t(kInFlight) * GpuArch::warp),
                                 ValueRange{f.i32(0)}, look);
  f.e.forget();
  Value count = loop.getResult(0);
  f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0)),
         [&] { LLVM::StoreOp::create(b, count, ownedAt(rows, warp)); });
  f.barrier();
  return count;
}

/// Of `count` updates that the warp has noted; how many the block has.
Value SortedScatter::gatherOwn(Value warp, Value lane, Value count) {
  int64_t rows = f.schedule.getRows(), part = shareOf(list), noted = rows + kWarps,
          gathered = noted + kWarps * part;
  static_assert(kWarps == GpuArch::warp, "a lane has what a warp has noted");
  Type i32 = b.getI32Type();
  Value theirs = loaded(b, ownedAt(rows, lane));
  auto sum = [&](Value v) { return asIndex(b, reduceWarp(b, v, prim::ReduceKind::sum, i32)); };
  Value before = sum(arith::SelectOp::create(b, f.less(lane, warp), theirs, f.i32(0)));
  Value all = sum(theirs), begin = f.e.mulIndex(warp, f.e.index(part));
  f.loop(lane, asIndex(b, count), GpuArch::warp, [&](Value i) {
    Value word = loaded(b, ownedAt(noted, f.e.addIndex(begin, i)));
    LLVM::StoreOp::create(b, word, ownedAt(gathered, f.e.addIndex(before, i)));
  });
  f.barrier();
  return all;
}

/// Places the `count` updates of row `row` of the block, of `all`; where they begin.
Value SortedScatter::placeOwn(Value row, Value lane, Value count, Value all) {
  int64_t rows = f.schedule.getRows(), noted = rows + kWarps,
          gathered = noted + kWarps * shareOf(list);
  Type i32 = b.getI32Type();
  auto add = [&](OpBuilder &, Location, Value other, ValueRange carried) {
    scf::YieldOp::create(b,
                         Value(arith::AddIOp::create(b, carried[0], loaded(b, ownedAt(0, other)))));
  };
  Value warp = f.e.index(GpuArch::warp), zero = f.e.index(0);
  Value start = scf::ForOp::create(b, lane, row, warp, ValueRange{f.i32(0)}, add).getResult(0);
  start = asIndex(b, reduceWarp(b, start, prim::ReduceKind::sum, i32));
  auto look = [&](OpBuilder &, Location, Value first, ValueRange carried) {
    f.e.nested([&] {
      Value number = f.e.addIndex(first, lane);
      Value safe = f.minIndex(number, f.e.index(list.updates - 1));
      Value word = loaded(b, ownedAt(gathered, safe));
      Value of = asIndex(b, arith::ShRUIOp::create(b, word, f.i32(kNumberBits)));
      Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, of, row);
      auto [rank, found] = ranked(f, lane, arith::AndIOp::create(b, mine, f.less(number, all)));
      Value place = f.e.addIndex(start, asIndex(b, arith::AddIOp::create(b, carried[0], rank)));
      mine = arith::AndIOp::create(b, mine, f.less(number, all));
      f.when(mine, [&] {
        Value update = arith::AndIOp::create(b, word, f.i32((1 << kNumberBits) - 1));
        LLVM::StoreOp::create(b, update, ownedAt(noted, place));
      });
      scf::YieldOp::create(b, Value(arith::AddIOp::create(b, carried[0], found)));
    });
  };
  Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, zero);
  Value end = arith::SelectOp::create(b, none, zero, all);
  scf::ForOp::create(b, zero, end, warp, ValueRange{f.i32(0)}, look);
  f.e.forget();
  NVVM::SyncWarpOp::create(b, f.i32(-1));
  return start;
}

/// `old` after `count` updates, the numbers of which begin at `start`.
Value SortedScatter::withOwn(Value start, Value count, Value point, Value old) {
  const unsigned inFlight = f.schedule.getLanes() > 2 ? 4 : 8;
  int64_t noted = int64_t(f.schedule.getRows()) + kWarps;
  auto add = [&](OpBuilder &, Location, Value first, ValueRange carried) {
    Value sum = carried[0];
    f.e.nested([&] {
      Value last = f.e.subIndex(count, f.e.index(1));
      SmallVector<std::pair<Value, Value>> values; // and whether there are so many
      for (unsigned i = 0; i < inFlight; ++i) {
        f.e.forget();
        Value number = f.e.addIndex(first, f.e.index(i));
        Value safe = f.e.addIndex(start, f.minIndex(number, last));
        Value update = asIndex(b, loaded(b, ownedAt(noted, safe)));
        values.push_back({read(updates, source(update, point)), f.less(number, count)});
      }
      for (auto [v, there] : values)
        if (v)
          sum = arith::SelectOp::create(b, there, updatedElement(f, kind, sum, v), sum);
    });
    scf::YieldOp::create(b, sum);
  };
  auto loop = scf::ForOp::create(b, f.e.index(0), count, f.e.index(inFlight), ValueRange{old}, add);
  f.e.forget();
  return loop.getResult(0);
}

void SortedScatter::runOwned() {
  touched = f.dynamicShared();
  int64_t rows = f.schedule.getRows(), lanes = f.schedule.getLanes(), warp = GpuArch::warp,
          tiles = int64_t(llvm::divideCeil(list.points, warp * lanes));
  Value lane = f.e.remIndex(f.thread, f.e.index(warp)),
        number = f.e.divIndex(f.thread, f.e.index(warp));
  Value all = gatherOwn(number, lane, noteOwn(number, lane));
  f.loop(number, f.e.index(rows * tiles), kWarps, [&](Value item) {
    f.e.forget();
    Value row = f.e.divIndex(item, f.e.index(tiles)), tile = f.e.remIndex(item, f.e.index(tiles));
    Value slot = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(rows)), row);
    f.when(f.less(slot, f.e.index(list.slots)), [&] {
      Value point =
          f.e.mulIndex(f.e.addIndex(f.e.mulIndex(tile, f.e.index(warp)), lane), f.e.index(lanes));
      // All lanes vote; those behind the row's end do its last points again.
      Value within = f.minIndex(point, f.e.index((list.points - 1) / lanes * lanes));
      Coords to = target(slot, within);
      Value goes = hasUpdates(to);
      // Where indices are fewer along other axes, lanes that have no updates read others'.
      Value from = arith::SelectOp::create(b, goes, within, f.e.index(0));
      f.e.setLanes(unsigned(lanes));
      Value old = read(x, to);
      f.e.setLanes(1);
      if (!old)
        return;
      Value count = asIndex(b, loaded(b, ownedAt(0, row)));
      Value start = placeOwn(row, lane, count, all);
      f.e.setLanes(unsigned(lanes));
      Value sum = withOwn(start, count, from, old);
      f.when(f.less(point, f.e.index(list.points)), [&] {
        Value v = arith::SelectOp::create(b, goes, sum, old);
        f.e.store(f.results[0], neighbours(to), v);
      });
      f.e.setLanes(1);
    });
  });
}
