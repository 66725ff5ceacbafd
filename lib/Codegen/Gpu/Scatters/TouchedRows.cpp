//===- TouchedRows.cpp - Few updates of rows, in one phase ----------------===//
//
// Where no more rows are updated than there are, most of what is done is a copy, and an order of
// all updates is not needed to do it. Each block notes in its shared memory, a bit a row, which
// rows have updates, and which of them more than one. It then copies its part of the rows that have
// none, and does its part of the updates:
//
//   - one that is alone in its row: by the threads that have it, at once;
//   - others: a warp looks at the indices of all updates. Where its own is the first of the row
//   (the
//     last, where updates replace what was there), it does all of the row, in their order.
//
// So nobody waits for another block, and what is read beside the tensors are the indices, which
// stay in shared memory too.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kThreads = 512;
constexpr int64_t kBits = 32; // rows of a word

static int64_t wordsOf(const device::UpdateList &list) {
  return int64_t(llvm::divideCeil(list.slots, kBits));
}

/// Numbers of 32 bits: two bits a row, and the row of each update.
static int64_t numbersOf(const device::UpdateList &list) {
  return 2 * wordsOf(list) + list.updates;
}

bool device::scheduleTouchedRows(ScheduleChoice &s, kernel::LaunchOp launch, const UpdateList &list,
                                 unsigned lanes, const GpuArch &arch) {
  // Fewer are looked at by everybody; of more, where many meet, a sort takes less time.
  constexpr int64_t kLeast = 64, kMost = 8192;
  constexpr int64_t kLeastElements = 1 << 14; // of the tensor
  constexpr int64_t kMostShared = 80 << 10;   // bytes, of two blocks of a multiprocessor
  Operation *op = specialOf(launch);
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  int64_t bytes = numbersOf(list) * int64_t(sizeof(int32_t));
  if ((along && !sameForAllLines(along)) || list.open || list.updates < kLeast ||
      list.updates > std::min(kMost, list.slots) || list.slots * list.points < kLeastElements ||
      bytes > std::min<int64_t>(kMostShared, arch.sharedBytes))
    return false;
  int64_t across = int64_t(llvm::divideCeil(list.points, lanes));
  int64_t accesses = std::max(list.slots, list.updates) * across;
  constexpr int64_t kBlocks = 2; // of a multiprocessor
  s.threads = kThreads;
  s.resident = kBlocks;
  s.lanes = lanes;
  s.rowThreads = unsigned(std::min<int64_t>(GpuArch::warp, llvm::PowerOf2Ceil(across)));
  s.sharedBytes = unsigned(bytes);
  s.split = unsigned(std::min<int64_t>(kBlocks * arch.multiprocessors,
                                       int64_t(llvm::divideCeil(accesses, kThreads))));
  return true;
}

/// The word of a row's bit, and the bit. `again`: of those that say whether it has more updates.
std::pair<Value, Value> SortedScatter::bitOf(Value slot, bool again) {
  slot = arith::IndexCastUIOp::create(b, b.getI32Type(), slot);
  Value bits = f.i32(kBits), word = arith::DivUIOp::create(b, slot, bits);
  if (again)
    word = arith::AddIOp::create(b, word, f.i32(wordsOf(list)));
  Value at = f.at(touched, b.getI32Type(), arith::IndexCastUIOp::create(b, b.getIndexType(), word));
  return {at, arith::ShLIOp::create(b, f.i32(1), arith::RemUIOp::create(b, slot, bits))};
}

/// The row of an update, or the number of all rows: as it was noted.
Value SortedScatter::notedSlot(Value update) {
  Value at = f.at(touched, b.getI32Type(), f.e.addIndex(f.e.index(2 * wordsOf(list)), update));
  return arith::IndexCastUIOp::create(b, b.getIndexType(),
                                      LLVM::LoadOp::create(b, b.getI32Type(), at));
}

Value SortedScatter::hasBit(Value slot, bool again) {
  auto [at, bit] = bitOf(slot, again);
  Value set = arith::AndIOp::create(b, LLVM::LoadOp::create(b, b.getI32Type(), at), bit);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, set, f.i32(0));
}

void SortedScatter::noteTouched() {
  constexpr int64_t kInFlight = 8;
  f.loop(f.thread, f.e.index(2 * wordsOf(list)), kThreads, [&](Value word) {
    LLVM::StoreOp::create(b, f.i32(0), f.at(touched, b.getI32Type(), word));
  });
  f.barrier();
  Value count = f.e.index(list.updates), last = f.e.index(list.updates - 1);
  f.loop(f.thread, count, kThreads * kInFlight, [&](Value first) {
    SmallVector<std::pair<Value, Value>> found; // rows, and whether they are rows
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < kInFlight; ++i) {
      f.e.forget();
      Value number = f.e.addIndex(first, f.e.index(i * kThreads));
      numbers.push_back(f.minIndex(number, last)); // the last one several times is as good as once
      Value slot = slotIndexOf(numbers.back());
      found.push_back({slot, arith::AndIOp::create(b, f.less(number, count),
                                                   f.less(slot, f.e.index(list.slots)))});
    }
    for (auto [found, number] : llvm::zip(found, numbers))
      LLVM::StoreOp::create(
          b, arith::IndexCastUIOp::create(b, b.getI32Type(), found.first),
          f.at(touched, b.getI32Type(), f.e.addIndex(f.e.index(2 * wordsOf(list)), number)));
    for (auto [slot, inside] : found)
      f.when(inside, [&, slot = slot] {
        auto set = [&](bool again) {
          auto [at, bit] = bitOf(slot, again);
          Value before = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::_or, at, bit,
                                                   LLVM::AtomicOrdering::monotonic, "block");
          return Value(arith::AndIOp::create(b, before, bit));
        };
        Value there = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, set(false), f.i32(0));
        f.when(there, [&] { set(true); });
      });
  });
  f.barrier();
}

/// What an update makes of `old`, which is null where it replaces it.
Value SortedScatter::oldAt(const Coords &to) {
  return kind == prim::ScatterKind::assign ? Value() : read(x, to);
}

/// Updates that are alone in their row: each by the threads of a row, or several times as many
/// where that is longer.
void SortedScatter::updateAlone() {
  int64_t across = f.schedule.getRowThreads(), lanes = f.schedule.getLanes(),
          groups = int64_t(f.schedule.getSplit()) * kThreads / across,
          tiles = int64_t(llvm::divideCeil(list.points, across * lanes));
  Value own = f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(across)), f.e.index(lanes));
  Value group = f.e.divIndex(f.globalThread(), f.e.index(across));
  f.loop(group, f.e.index(list.updates * tiles), groups, [&](Value item) {
    f.e.forget();
    Value update = f.e.divIndex(item, f.e.index(tiles)),
          tile = f.e.remIndex(item, f.e.index(tiles));
    Value point = f.e.addIndex(f.e.mulIndex(tile, f.e.index(across * lanes)), own);
    Value slot = notedSlot(update);
    Value safe = f.minIndex(slot, f.e.index(list.slots - 1));
    Value acts = arith::AndIOp::create(b, f.less(point, f.e.index(list.points)),
                                       f.less(slot, f.e.index(list.slots)));
    acts = arith::AndIOp::create(
        b, acts,
        arith::XOrIOp::create(b, hasBit(safe, true),
                              arith::ConstantOp::create(b, b.getBoolAttr(true))));
    f.when(acts, [&] {
      Coords to = target(slot, point);
      f.when(hasUpdates(to), [&] {
        f.e.setLanes(unsigned(lanes));
        Value old = oldAt(to), v = read(updates, source(update, point));
        if (v)
          f.e.store(f.results[0], neighbours(to), updatedElement(f, kind, old, v));
        f.e.setLanes(1);
      });
    });
  });
}

/// Of the updates in [first, end), as many as a warp has lanes at a time: the bits of those that go
/// to `slot`.
Value SortedScatter::votes(Value begin, Value first, Value end, Value slot) {
  Value lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  Value number = f.e.addIndex(begin, lane);
  Value goes = notedSlot(f.minIndex(number, f.e.index(list.updates - 1)));
  Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, goes, slot);
  mine = arith::AndIOp::create(b, mine, f.less(number, end));
  mine = arith::AndIOp::create(b, mine,
                               arith::CmpIOp::create(b, arith::CmpIPredicate::uge, number, first));
  return NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(-1), mine, NVVM::VoteSyncKind::ballot);
}

/// Whether an update in [first, end) goes to `slot`.
Value SortedScatter::anyIn(Value first, Value end, Value slot) {
  constexpr int64_t kInFlight = 8;
  Value step = f.e.index(kInFlight * GpuArch::warp), zero = f.i32(0);
  auto more = [&](OpBuilder &, Location, ValueRange carried) {
    Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, carried[1], zero);
    scf::ConditionOp::create(b, arith::AndIOp::create(b, none, f.less(carried[0], end)), carried);
  };
  auto look = [&](OpBuilder &, Location, ValueRange carried) {
    Value found = zero;
    f.e.nested([&] {
      for (int64_t i = 0; i < kInFlight; ++i) {
        f.e.forget();
        Value begin = f.e.addIndex(carried[0], f.e.index(i * GpuArch::warp));
        found = arith::OrIOp::create(b, found, votes(begin, first, end, slot));
      }
    });
    scf::YieldOp::create(b, ValueRange{f.e.addIndex(carried[0], step), found});
  };
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType(), b.getI32Type()},
                                   ValueRange{first, zero}, more, look);
  f.e.forget();
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getResult(1), zero);
}

/// `old` after all updates from number `first` on that go to `slot`, a few of them at a time.
Value SortedScatter::withAll(Value slot, Value point, Value first, Value old) {
  constexpr unsigned kInFlight = 4, kLooks = 8; // updates, and looks at as many as a warp has lanes
  Type i32 = b.getI32Type();
  auto some = [&](OpBuilder &, Location, ValueRange carried) {
    Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, carried[0], f.i32(0));
    scf::ConditionOp::create(b, more, carried);
  };
  // Of the looks from `begin` on, what `bits` says of one.
  auto addAll = [&](Value begin, Value bits, Value sum) -> Value {
    auto add = [&](OpBuilder &, Location, ValueRange carried) {
      Value left = carried[0], sum = carried[1];
      f.e.nested([&] {
        SmallVector<std::pair<Value, Value>> values; // and whether there are so many
        for (unsigned i = 0; i < kInFlight; ++i) {
          Value there = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, left, f.i32(0));
          Value bit = LLVM::CountTrailingZerosOp::create(b, i32, left, /*is_zero_poison=*/false);
          Value number =
              f.e.addIndex(begin, arith::IndexCastUIOp::create(b, b.getIndexType(), bit));
          number = arith::SelectOp::create(b, there, number, first);
          f.e.forget();
          values.push_back({read(updates, source(number, point)), there});
          left = arith::AndIOp::create(b, left, arith::SubIOp::create(b, left, f.i32(1)));
        }
        for (auto [v, there] : values)
          if (v)
            sum = arith::SelectOp::create(b, there, updatedElement(f, kind, sum, v), sum);
      });
      scf::YieldOp::create(b, ValueRange{left, sum});
    };
    return scf::WhileOp::create(b, TypeRange{i32, sum.getType()}, ValueRange{bits, sum}, some, add)
        .getResult(1);
  };
  auto each = [&](OpBuilder &, Location, Value begin, ValueRange sums) {
    Value sum = sums[0];
    f.e.nested([&] {
      SmallVector<std::pair<Value, Value>> looks;
      for (unsigned i = 0; i < kLooks; ++i) {
        Value from = f.e.addIndex(begin, f.e.index(int64_t(i) * GpuArch::warp));
        looks.push_back({from, votes(from, first, f.e.index(list.updates), slot)});
      }
      for (auto [from, bits] : looks)
        sum = addAll(from, bits, sum);
    });
    scf::YieldOp::create(b, sum);
  };
  Value warp = f.e.index(GpuArch::warp);
  Value begin = f.e.subIndex(first, f.e.remIndex(first, warp));
  auto loop = scf::ForOp::create(b, begin, f.e.index(list.updates),
                                 f.e.index(int64_t(kLooks) * GpuArch::warp), ValueRange{old}, each);
  f.e.forget();
  return loop.getResult(0);
}

/// Rows of several updates, each by a warp, or several where it is longer than a warp's accesses.
void SortedScatter::updateTogether() {
  int64_t warp = GpuArch::warp, lanes = f.schedule.getLanes(),
          warps = int64_t(f.schedule.getSplit()) * kThreads / warp,
          tiles = int64_t(llvm::divideCeil(list.points, warp * lanes));
  Value lane = f.e.remIndex(f.thread, f.e.index(warp));
  Value number = f.e.divIndex(f.globalThread(), f.e.index(warp));
  f.loop(number, f.e.index(list.updates * tiles), warps, [&](Value item) {
    f.e.forget();
    Value update = f.e.divIndex(item, f.e.index(tiles)),
          tile = f.e.remIndex(item, f.e.index(tiles));
    Value slot = notedSlot(update);
    Value safe = f.minIndex(slot, f.e.index(list.slots - 1));
    Value several =
        arith::AndIOp::create(b, f.less(slot, f.e.index(list.slots)), hasBit(safe, true));
    f.when(several, [&] {
      bool assigns = kind == prim::ScatterKind::assign;
      Value next = f.e.addIndex(update, f.e.index(1)), zero = f.e.index(0);
      Value other =
          assigns ? anyIn(next, f.e.index(list.updates), slot) : anyIn(zero, update, slot);
      Value mine =
          arith::XOrIOp::create(b, other, arith::ConstantOp::create(b, b.getBoolAttr(true)));
      f.when(mine, [&] {
        Value point =
            f.e.mulIndex(f.e.addIndex(f.e.mulIndex(tile, f.e.index(warp)), lane), f.e.index(lanes));
        // All lanes vote; those behind the row's end do its last points again.
        Value within = f.minIndex(point, f.e.index((list.points - 1) / lanes * lanes));
        Coords to = target(slot, within);
        Value acts =
            arith::AndIOp::create(b, f.less(point, f.e.index(list.points)), hasUpdates(to));
        // Where indices are fewer along other axes, lanes that have no updates read others'.
        Value from = arith::SelectOp::create(b, hasUpdates(to), within, zero);
        f.e.setLanes(unsigned(lanes));
        Value v;
        if (assigns)
          v = read(updates, source(update, from));
        else if (Value old = read(x, to))
          v = withAll(slot, from, update, old);
        if (v)
          f.when(acts, [&] { f.e.store(f.results[0], neighbours(to), v); });
        f.e.setLanes(1);
      });
    });
  });
}

/// Of a place in the result, its row.
Value SortedScatter::slotAt(ArrayRef<Coord> at) {
  if (along)
    return at[along.getAxis()].base;
  Value slot = f.e.index(0);
  for (unsigned i = 0; i < depth; ++i)
    slot = f.e.addIndex(f.e.mulIndex(slot, extents[i]), at[i].base);
  return slot;
}

void SortedScatter::copyUntouched() {
  constexpr int64_t kInFlight = 4;
  int64_t lanes = f.schedule.getLanes(), count = list.slots * list.points / lanes,
          step = int64_t(f.schedule.getSplit()) * kThreads;
  f.loop(f.globalThread(), f.e.index(count), step * kInFlight, [&](Value first) {
    SmallVector<std::pair<Coords, Value>> copied;
    for (int64_t i = 0; i < kInFlight; ++i) {
      f.e.forget();
      Value number = f.minIndex(f.e.addIndex(first, f.e.index(i * step)), f.e.index(count - 1));
      Coords at;
      for (Value c : f.delinearize(f.e.mulIndex(number, f.e.index(lanes)), extents))
        at.push_back(Coord::uniform(c));
      f.e.setLanes(unsigned(lanes));
      if (Value v = read(x, at))
        copied.push_back({at, v});
      f.e.setLanes(1);
    }
    for (auto &[at, v] : copied) {
      Value goes = arith::AndIOp::create(b, hasBit(slotAt(at), false), hasUpdates(at));
      Value plain =
          arith::XOrIOp::create(b, goes, arith::ConstantOp::create(b, b.getBoolAttr(true)));
      f.when(plain, [&, at = at, v = v] {
        f.e.setLanes(unsigned(lanes));
        f.e.store(f.results[0], neighbours(at), v);
        f.e.setLanes(1);
      });
    }
  });
}

void SortedScatter::runTouched() {
  touched = f.dynamicShared();
  noteTouched();
  updateAlone();
  updateTogether();
  Value elsewhere = liesElsewhere(f, x);
  elsewhere ? f.when(elsewhere, [&] { copyUntouched(); }) : copyUntouched();
}
