//===- OrderedBlockKernel.cpp - Lines that a block sorts ------------------===//
//
// sort and top-k with a block a line. Pairs of elements are compared and exchanged in a bitonic
// network whose every exchange leaves the earlier element at the lower place, so that lines of any
// length need no padding: a pair that reaches past the end is left out. Ties go to the lower index,
// which makes the order total: the result is stable, whatever order elements come in.
//
// Lines that fit lie in shared memory meanwhile, longer ones of a sort in the results. The first
// few of a longer line are kept in order in shared memory: of the rest, a stretch at a time,
// threads put behind them what comes before the last of them, and when there is no room for more,
// and at the end, all are ordered again. Where lines are few, blocks have parts of one, leave what
// they kept in scratch memory, and the last of them orders it.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class OrderedBlock {
public:
  OrderedBlock(device::KernelFrame &f, Value x, unsigned axis, bool descending);
  void run();

private:
  struct Entry {
    Value value, place;
  };
  Coords coords(Value i) {
    Coords at(line);
    at[axis] = Coord::uniform(i);
    return at;
  }
  Entry elementAt(Value i);
  Entry get(Value slot);
  void set(Value slot, Entry entry);
  Value before(Entry x, Entry y);
  void exchange(Value low, Value high, Value count);
  void order(Value count);
  /// body(i) for the i of the thread in [0, count).
  void each(Value count, llvm::function_ref<void(Value)> body) {
    f.loop(f.thread, count, f.schedule.getThreads(), body);
  }
  void considerRest(int64_t first, int64_t slots);
  void store();
  void join();

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Value x;
  unsigned axis;
  bool descending;
  Type e, computed;
  Value length, kept;             ///< of the block's part of the line, which begins at `offset`
  Value offset;                   ///< null: it is the whole line
  Value number;                   ///< of the line
  int64_t parts = 1, longest = 0; ///< of a line; elements of one
  Coords line;
  Value values, places; ///< in shared memory; null: in the results
};

} // namespace

OrderedBlock::OrderedBlock(device::KernelFrame &f, Value x, unsigned axis, bool descending)
    : f(f), b(f.b), x(x), axis(axis), descending(descending), e(tensorType(x).getElementType()),
      computed(computeType(e)) {
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  length = extents[axis];
  kept = f.results[0].extents[axis];
  others.erase(others.begin() + axis);
  number = f.block;
  if (f.schedule.getScratchBytes()) {
    auto shape = tensorType(x).getShape();
    parts = f.schedule.getSplit() * shape[axis] / tensorType(x).getNumElements();
    longest = int64_t(llvm::divideCeil(shape[axis], parts));
    number = f.e.divIndex(f.block, f.e.index(parts));
    offset = f.e.mulIndex(f.e.remIndex(f.block, f.e.index(parts)), f.e.index(longest));
    length = f.minIndex(f.e.index(longest), f.e.subIndex(length, offset));
  }
  for (Value i : f.delinearize(number, others))
    line.push_back(Coord::uniform(i));
  line.insert(line.begin() + axis, Coord::uniform(f.e.index(0)));
}

OrderedBlock::Entry OrderedBlock::elementAt(Value i) {
  if (offset)
    i = f.e.addIndex(offset, i);
  Value v = f.e.eval(x, coords(i));
  f.failed |= !v;
  Type place = values ? b.getI32Type() : b.getI64Type();
  return {v, arith::IndexCastOp::create(b, place, i)};
}

OrderedBlock::Entry OrderedBlock::get(Value slot) {
  f.e.forget();
  if (!values)
    return {f.e.load(f.results[0], coords(slot)), f.e.load(f.results[1], coords(slot))};
  Type stored = f.asStored(computed), i32 = b.getI32Type();
  Value read = LLVM::LoadOp::create(b, stored, f.at(values, stored, slot));
  return {f.asComputed(read, computed), LLVM::LoadOp::create(b, i32, f.at(places, i32, slot))};
}

void OrderedBlock::set(Value slot, Entry entry) {
  if (!values) {
    f.e.store(f.results[0], coords(slot), entry.value);
    f.e.store(f.results[1], coords(slot), entry.place);
    return;
  }
  Value stored = f.asStored(entry.value);
  LLVM::StoreOp::create(b, stored, f.at(values, stored.getType(), slot));
  LLVM::StoreOp::create(b, entry.place, f.at(places, b.getI32Type(), slot));
}

Value OrderedBlock::before(Entry x, Entry y) {
  Value less = comesBefore(f, e, descending, x.value, y.value);
  Value greater = comesBefore(f, e, descending, y.value, x.value);
  Value lower = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x.place, y.place);
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  return arith::OrIOp::create(b, less, arith::SelectOp::create(b, greater, no, lower));
}

/// Puts the entries at `low` < `high` in order, if both are among the first `count`.
void OrderedBlock::exchange(Value low, Value high, Value count) {
  f.when(f.less(high, count), [&] {
    Entry x = get(low), y = get(high);
    f.when(before(y, x), [&] {
      set(low, y);
      set(high, x);
    });
  });
}

/// Orders the first `count` entries, which all threads see, and sees what they then are.
void OrderedBlock::order(Value count) {
  Type index = b.getIndexType();
  Value one = f.e.index(1), two = f.e.index(2);
  // Runs of `size` become ordered: first each element of a run's halves is compared with the one
  // that lies as far from the run's other end, then halves of halves with each other.
  // Sizes and distances are powers of two, by which nobody has to divide.
  auto modulo = [&](Value i, Value power) -> Value {
    return arith::AndIOp::create(b, i, f.e.subIndex(power, one));
  };
  auto pairs = [&](Value size, llvm::function_ref<void(Value)> body) {
    Value all = f.e.addIndex(count, f.e.subIndex(size, one));
    each(f.e.divIndex(f.e.subIndex(all, modulo(all, size)), two), body);
    f.barrier();
  };
  auto split = [&](Value pair, Value half) {
    Value offset = modulo(pair, half);
    return std::pair(f.e.mulIndex(f.e.subIndex(pair, offset), two), offset);
  };
  auto doubling = [&](OpBuilder &, Location, ValueRange size) {
    Value ordered = f.e.divIndex(size[0], two);
    scf::ConditionOp::create(b, f.less(ordered, count), size);
  };
  auto merge = [&](OpBuilder &, Location, ValueRange arguments) {
    Value size = arguments[0], half = f.e.divIndex(size, two);
    pairs(size, [&](Value pair) {
      auto [run, offset] = split(pair, half);
      Value end = f.e.subIndex(f.e.addIndex(run, size), one);
      exchange(f.e.addIndex(run, offset), f.e.subIndex(end, offset), count);
    });
    auto apart = [&](OpBuilder &, Location, ValueRange distance) {
      Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, distance[0], f.e.index(0));
      scf::ConditionOp::create(b, more, distance);
    };
    auto closer = [&](OpBuilder &, Location, ValueRange arguments) {
      Value distance = arguments[0];
      pairs(size, [&](Value pair) {
        auto [run, offset] = split(pair, distance);
        Value low = f.e.addIndex(run, offset);
        exchange(low, f.e.addIndex(low, distance), count);
      });
      scf::YieldOp::create(b, f.e.divIndex(distance, two));
    };
    scf::WhileOp::create(b, TypeRange{index}, ValueRange{f.e.divIndex(half, two)}, apart, closer);
    scf::YieldOp::create(b, f.e.mulIndex(size, two));
  };
  scf::WhileOp::create(b, TypeRange{index}, ValueRange{two}, doubling, merge);
}

/// With the `first` elements in order, looks at the others.
void OrderedBlock::considerRest(int64_t first, int64_t slots) {
  constexpr int64_t kInFlight = 4; // elements of a thread
  int64_t keep = *getConstantIntValue(kept), step = int64_t(f.schedule.getThreads()) * kInFlight,
          stretch = std::min(step, (slots - keep) / 2);
  Value found = f.shared(b.getI32Type(), 1, "found"), end = f.e.subIndex(length, f.e.index(1));
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0));
  auto forget = [&] {
    f.when(leads, [&] { LLVM::StoreOp::create(b, f.i32(0), found); });
    f.barrier();
  };
  auto foundNow = [&] {
    Value count = LLVM::LoadOp::create(b, b.getI32Type(), found);
    f.barrier(); // nobody adds to it before
    return Value(arith::IndexCastUIOp::create(b, b.getIndexType(), count));
  };
  forget();
  f.loop(f.e.index(first), length, stretch, [&](Value begin) {
    Entry last = get(f.e.index(keep - 1));
    f.loop(f.thread, f.e.index(stretch), step, [&](Value own) {
      SmallVector<std::pair<Entry, Value>> elements; // and whether they are there
      for (int64_t i = 0; i < kInFlight; ++i) {
        Value offset = f.e.addIndex(own, f.e.index(i * f.schedule.getThreads()));
        Value place = f.e.addIndex(begin, offset);
        Value there =
            arith::AndIOp::create(b, f.less(offset, f.e.index(stretch)), f.less(place, length));
        elements.push_back({elementAt(f.minIndex(place, end)), there});
        if (f.failed)
          return;
      }
      for (auto &[entry, there] : elements)
        f.when(arith::AndIOp::create(b, there, before(entry, last)), [&, &entry = entry] {
          Value number = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, found, f.i32(1),
                                                   LLVM::AtomicOrdering::monotonic);
          Value behind = arith::IndexCastUIOp::create(b, b.getIndexType(), number);
          set(f.e.addIndex(kept, behind), entry);
        });
    });
    f.barrier();
    Value count = foundNow();
    f.when(f.less(f.e.index(slots - keep - stretch), count), [&] {
      order(f.e.addIndex(kept, count));
      forget();
    });
  });
  order(f.e.addIndex(kept, foundNow()));
}

/// Those that are kept, in order.
void OrderedBlock::store() {
  each(kept, [&](Value i) {
    Entry entry = get(i);
    f.e.store(f.results[0], coords(i), entry.value);
    f.e.store(f.results[1], coords(i), arith::ExtSIOp::create(b, b.getI64Type(), entry.place));
  });
}

/// Of the parts of a line, the last block to be done orders what each has kept.
void OrderedBlock::join() {
  Type stored = f.asStored(computed), i32 = b.getI32Type();
  int64_t keep = *getConstantIntValue(kept),
          bytes = int64_t(f.schedule.getSplit()) * keep *
                  std::max<int64_t>(1, stored.getIntOrFloatBitWidth() / 8);
  bytes = int64_t(llvm::alignTo(bytes, sizeof(int32_t)));
  Value all = f.e.index(parts * keep), first = f.e.mulIndex(f.block, kept);
  each(kept, [&](Value i) {
    Entry entry = get(i);
    Value at = f.e.addIndex(first, i);
    LLVM::StoreOp::create(b, f.asStored(entry.value), f.scratchAt(0, stored, at));
    LLVM::StoreOp::create(b, entry.place, f.scratchAt(bytes, i32, at));
  });
  f.inLastBlock(number, unsigned(parts), [&] {
    Value begin = f.e.mulIndex(number, all);
    each(all, [&](Value i) {
      Value at = f.e.addIndex(begin, i);
      Value read = LLVM::LoadOp::create(b, stored, f.scratchAt(0, stored, at));
      set(i, {f.asComputed(read, computed),
              LLVM::LoadOp::create(b, i32, f.scratchAt(bytes, i32, at))});
    });
    f.barrier();
    order(all);
    store();
  });
}

void OrderedBlock::run() {
  int64_t slots = f.schedule.getKept();
  Value begins = length;
  if (slots) {
    places = f.dynamicShared();
    values = f.at(places, b.getI8Type(), f.e.index(OrderedRoom::of(slots, e).values));
    int64_t all = parts > 1 ? longest : *getConstantIntValue(length);
    int64_t few = std::clamp<int64_t>(4 * *getConstantIntValue(kept), slots / 8, slots);
    // A part is as many elements longer as there are parts, at most.
    if (slots < all || (parts > 1 && 2 * few + parts < all))
      begins = f.e.index(few);
  }
  each(begins, [&](Value i) {
    Entry entry = elementAt(i);
    if (!f.failed)
      set(i, entry);
  });
  if (f.failed)
    return;
  f.barrier();
  order(begins);
  if (!slots)
    return;
  if (begins != length)
    considerRest(*getConstantIntValue(begins), slots);
  parts > 1 ? join() : store();
}

OrderedRoom OrderedRoom::of(int64_t slots, Type element) {
  unsigned bits = computeType(element).getIntOrFloatBitWidth();
  auto places = static_cast<unsigned>(llvm::alignTo(slots * sizeof(int32_t), sizeof(int64_t)));
  return {places, static_cast<unsigned>(places + slots * std::max(bits / 8, 1u))};
}

void device::emitOrderedBlockKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  if (auto sort = dyn_cast<prim::SortOp>(op))
    return OrderedBlock(f, sort.getX(), sort.getAxis(), sort.getDescending()).run();
  auto first = cast<prim::TopKOp>(op);
  OrderedBlock(f, first.getX(), first.getAxis(), first.getLargest()).run();
}
