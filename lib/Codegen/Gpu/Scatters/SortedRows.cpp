//===- SortedRows.cpp - Updates of rows, which are in order ---------------===//
//
// Threads that have a row each, or a few elements of one, go from its first update on as long as
// updates go to it, several at a time. Of those of which only the last counts, it is known.
//
// Where few rows have many updates, other threads have parts of them, as long as each other, and
// leave what they sum in scratch memory; then the parts are added up, in their order. So results
// repeat there as well.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

Value SortedScatter::updateCount() {
  if (!list.open)
    return f.e.index(list.updates);
  SmallVector<Value> all = extentsOf(f, indices);
  if (tuples)
    return f.volume(ArrayRef(all).drop_back());
  return rows ? all[along.getAxis()] : f.volume(all);
}

Value SortedScatter::slotCount() {
  if (!list.open)
    return f.e.index(list.slots);
  if (tuples)
    return f.volume(ArrayRef(extents).take_front(depth));
  return rows ? extents[along.getAxis()] : f.volume(extents);
}

Value SortedScatter::pointCount() {
  if (!list.open)
    return f.e.index(list.points);
  if (tuples)
    return f.volume(ArrayRef(extents).drop_front(depth));
  SmallVector<Value> inner(extents);
  inner.erase(inner.begin() + along.getAxis());
  return rows ? f.volume(inner) : f.e.index(1);
}

Value SortedScatter::hasUpdates(ArrayRef<Coord> to) {
  Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  if (along && rows)
    for (auto [i, extent] : llvm::enumerate(extentsOf(f, indices)))
      if (auto known = getConstantIntValue(extent);
          i != along.getAxis() && (!known || known != getConstantIntValue(extents[i])))
        inside = arith::AndIOp::create(b, inside, f.less(to[i].base, extent));
  return inside;
}

Value SortedScatter::firstOf(Value slot, ArrayRef<Coord> to) {
  Value first = LLVM::LoadOp::create(b, b.getI32Type(), firstAt(slot));
  first = arith::IndexCastUIOp::create(b, b.getIndexType(), first);
  return arith::SelectOp::create(b, hasUpdates(to), first, f.e.index(0));
}

/// Which update is number `number` of those in order.
Value SortedScatter::placeOf(Value number) {
  Value place =
      arith::IndexCastUIOp::create(b, b.getIndexType(), sort->sortedPlace(f.e.index(0), number));
  if (list.lines == 1)
    return place;
  Value before = f.e.subIndex(number, f.e.remIndex(number, f.e.index(list.meeting)));
  return f.e.addIndex(before, place); // which is one in its line
}

Value SortedScatter::read(Value from, Coords at) {
  Value v = f.e.evalVector(from, neighbours(std::move(at)));
  f.failed |= !v;
  return v;
}

/// What becomes of `old` by the updates from number `first` - 1 on, and before `end`, that go to
/// the slot.
Value SortedScatter::withUpdates(Value slot, Value point, Value first, Value end, Value old) {
  // A thread that has one element and many updates of it waits for memory alone.
  constexpr int64_t kMany = 16;
  bool waits = f.schedule.getLanes() == 1 && list.updates >= kMany * list.slots;
  unsigned inFlight = waits ? 16 : 4;
  Type index = b.getIndexType();
  Value wanted = arith::IndexCastUIOp::create(b, b.getI32Type(), slot);
  Value one = f.e.index(1), all = f.e.index(list.updates);
  auto some = [&](OpBuilder &, Location, ValueRange carried) {
    Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, carried[0], f.e.index(0));
    scf::ConditionOp::create(b, more, carried);
  };
  auto update = [&](OpBuilder &, Location, ValueRange carried) {
    f.e.forget();
    Value begin = f.e.subIndex(carried[0], one), last = f.e.subIndex(all, one), own;
    SmallVector<std::pair<Value, Value>> found; // updates, and whether they go to the slot
    for (unsigned i = 0; i < inFlight; ++i) {
      Value number = f.e.addIndex(begin, f.e.index(i)), safe = f.minIndex(number, last);
      Value goes = sort->sortedKey(f.e.index(0), safe);
      Value mine = arith::AndIOp::create(
          b, f.less(number, end), arith::CmpIOp::create(b, arith::CmpIPredicate::eq, goes, wanted));
      Value place = placeOf(safe);
      // What goes elsewhere is not read.
      own = i == 0 ? place : Value(arith::SelectOp::create(b, mine, place, own));
      found.push_back({own, mine});
    }
    Value sum = carried[1];
    SmallVector<Value> values;
    for (auto &[place, mine] : found)
      values.push_back(read(updates, source(place, point)));
    for (auto [one, v] : llvm::zip(found, values))
      if (v)
        sum = arith::SelectOp::create(b, one.second, updatedElement(f, kind, sum, v), sum);
    Value next = f.e.addIndex(carried[0], f.e.index(inFlight));
    scf::YieldOp::create(
        b, ValueRange{arith::SelectOp::create(b, found.back().second, next, f.e.index(0)), sum});
    f.e.forget();
  };
  return scf::WhileOp::create(b, TypeRange{index, old.getType()}, ValueRange{first, old}, some,
                              update)
      .getResult(1);
}

Coords SortedScatter::neighbours(Coords at) {
  if (f.e.lanes() > 1) {
    f.e.bindAligned(at.back().base);
    at.back().step = 1;
  }
  return at;
}

void SortedScatter::updateRow(Value slot, Value point) {
  Coords to = target(slot, point);
  Value first = firstOf(slot, to);
  f.e.setLanes(f.schedule.getLanes());
  list.last ? writeLast(to, point, first) : writeRow(to, slot, point, first);
  f.e.setLanes(1);
}

void SortedScatter::writeRow(const Coords &to, Value slot, Value point, Value first) {
  auto write = [&] {
    Coords at = neighbours(to);
    Value old = f.e.evalVector(x, at);
    f.failed |= !old;
    if (old)
      f.e.store(f.results[0], at,
                parts() > 1 ? withSums(slot, point, first, old)
                            : withUpdates(slot, point, first, f.e.index(list.updates), old));
  };
  if (Value elsewhere = liesElsewhere(f, x)) {
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, f.e.index(0));
    f.when(arith::OrIOp::create(b, some, elsewhere), write);
  } else {
    write();
  }
}

/// The result as it is without updates, a part of it by each block.
void SortedScatter::copyAll(Value item) {
  // Vectors of a thread; beside blocks that sort, which have registers for few threads, more.
  const int64_t kInFlight = list.lines > 1 ? 8 : 4;
  int64_t row = tensorType(x).getShape().back(), blocks = f.schedule.getSplit(),
          lanes = std::min<int64_t>(8, GpuArch::accessBytes /
                                           elementBytes(tensorType(x).getElementType()));
  while (row % lanes != 0)
    lanes /= 2;
  int64_t step = blocks * device::GridSortSizes::threads, count = list.slots * list.points / lanes;
  auto copy = [&] {
    Value first =
        f.e.addIndex(f.e.mulIndex(item, f.e.index(device::GridSortSizes::threads)), f.thread);
    f.loop(first, f.e.index(count), step * kInFlight, [&](Value begin) {
      f.e.setLanes(unsigned(lanes));
      SmallVector<std::pair<Coords, Value>> elements;
      for (int64_t i = 0; i < kInFlight; ++i) {
        Value number = f.minIndex(f.e.addIndex(begin, f.e.index(i * step)), f.e.index(count - 1));
        Coords at;
        for (Value c : f.delinearize(f.e.mulIndex(number, f.e.index(lanes)), extents))
          at.push_back(Coord::uniform(c));
        elements.push_back({neighbours(at), read(x, at)});
      }
      for (auto &[at, v] : elements)
        if (v)
          f.e.store(f.results[0], at, v);
      f.e.setLanes(1);
    });
  };
  Value elsewhere = liesElsewhere(f, x);
  elsewhere ? f.when(elsewhere, copy) : copy();
}

/// Of the updates in order, number `number` does all of its slot if it is the first of them.
void SortedScatter::updateTouched(Value number, Value point) {
  Value zero = f.e.index(0), one = f.e.index(1);
  bool lines = list.lines > 1;
  Value key = sort->sortedKey(zero, number), ofLine = f.e.index(sort->sizes.length);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.e.remIndex(number, ofLine), zero);
  Value before = f.e.subIndex(number, arith::SelectOp::create(b, isFirst, zero, one));
  Value differs =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, key, sort->sortedKey(zero, before));
  Value slot = arith::IndexCastUIOp::create(b, b.getIndexType(), key);
  Value begins = arith::AndIOp::create(b, arith::OrIOp::create(b, isFirst, differs),
                                       f.less(slot, f.e.index(lines ? list.places : list.slots)));
  f.when(begins, [&] {
    Value line = f.e.divIndex(number, ofLine), end = f.e.mulIndex(f.e.addIndex(line, one), ofLine);
    Coords to = lines ? lineAt(line, slot) : target(slot, point);
    f.when(hasUpdates(to), [&] {
      f.e.setLanes(f.schedule.getLanes());
      if (Value old = read(x, to))
        f.e.store(f.results[0], neighbours(to),
                  withUpdates(slot, point, f.e.addIndex(number, one), end, old));
      f.e.setLanes(1);
    });
  });
}

/// The same of elements, several of which are read at a time.
void SortedScatter::updateElements(Value item) {
  struct Element {
    Value number, slot, begins, alone, place, end;
    Coords to;
    Value old, update;
  };
  using P = arith::CmpIPredicate;
  Value zero = f.e.index(0), one = f.e.index(1), ofLine = f.e.index(sort->sizes.length);
  bool lines = list.lines > 1;
  int64_t slots = lines ? list.places : list.slots;
  auto either = [&](Value x, Value y) -> Value { return arith::OrIOp::create(b, x, y); };
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(b, x, y); };
  Value first = f.e.addIndex(
      f.e.mulIndex(item, f.e.index(kElements * device::GridSortSizes::threads)), f.thread);
  SmallVector<Element> all;
  for (int64_t i = 0; i < kElements; ++i) {
    Value own = f.e.addIndex(first, f.e.index(i * device::GridSortSizes::threads));
    Value number = f.minIndex(own, f.e.index(list.updates - 1));
    Value line = f.e.divIndex(number, ofLine), end = f.e.mulIndex(f.e.addIndex(line, one), ofLine);
    Value next = f.e.addIndex(number, one);
    Value isFirst = arith::CmpIOp::create(b, P::eq, f.e.remIndex(number, ofLine), zero);
    Value isLast = arith::CmpIOp::create(b, P::eq, next, end);
    auto keyAt = [&](Value number) { return sort->sortedKey(zero, number); };
    Value key = keyAt(number),
          before = keyAt(f.e.subIndex(number, arith::SelectOp::create(b, isFirst, zero, one))),
          after = keyAt(arith::SelectOp::create(b, isLast, number, next));
    Value slot = arith::IndexCastUIOp::create(b, b.getIndexType(), key);
    Value inside = both(f.less(own, f.e.index(list.updates)), f.less(slot, f.e.index(slots)));
    slot = f.minIndex(slot, f.e.index(slots - 1));
    Coords to = lines ? lineAt(line, slot) : target(slot, zero);
    inside = both(inside, hasUpdates(to));
    all.push_back({number, slot,
                   both(inside, either(isFirst, arith::CmpIOp::create(b, P::ne, key, before))),
                   either(isLast, arith::CmpIOp::create(b, P::ne, key, after)), placeOf(number),
                   end, to, Value(), Value()});
  }
  for (Element &element : all) {
    f.e.forget();
    element.old = read(x, element.to);
    element.update = read(updates, source(element.place, zero));
    if (f.failed)
      return;
  }
  for (Element &e : all) {
    Value sum = updatedElement(f, kind, e.old, e.update);
    auto store = [&](Value v) { f.e.store(f.results[0], e.to, v); };
    f.when(both(e.begins, e.alone), [&] { store(sum); });
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    f.when(both(e.begins, arith::XOrIOp::create(b, e.alone, yes)), [&] {
      // Of the update behind the first one the number is one more, and one.
      store(withUpdates(e.slot, zero, f.e.addIndex(e.number, f.e.index(2)), e.end, sum));
    });
  }
}

void SortedScatter::writeLast(const Coords &to, Value point, Value first) {
  auto write = [&](Value from, Coords where) {
    if (Value v = read(from, std::move(where)))
      f.e.store(f.results[0], neighbours(to), v);
  };
  Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, f.e.index(0));
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, f.e.index(0));
  f.when(some, [&] { write(updates, source(f.e.subIndex(first, f.e.index(1)), point)); });
  if (Value elsewhere = liesElsewhere(f, x))
    none = arith::AndIOp::create(b, none, elsewhere);
  f.when(none, [&] { write(x, to); });
}

void SortedScatter::forRow(Value item, int64_t count, function_ref<void(Value, Value)> body) {
  unsigned across = f.schedule.getRowThreads(), lanes = f.schedule.getLanes();
  int64_t tiles = llvm::divideCeil(list.points, int64_t(across) * lanes);
  Value rowsOfBlock = f.e.index(f.schedule.getThreads() / across);
  Value slot = f.e.addIndex(f.e.mulIndex(f.e.divIndex(item, f.e.index(tiles)), rowsOfBlock),
                            f.e.divIndex(f.thread, f.e.index(across)));
  Value part = f.e.addIndex(f.e.mulIndex(f.e.remIndex(item, f.e.index(tiles)), f.e.index(across)),
                            f.e.remIndex(f.thread, f.e.index(across)));
  Value point = f.e.mulIndex(part, f.e.index(lanes));
  Value inside = arith::AndIOp::create(b, f.less(slot, f.e.index(count)),
                                       f.less(point, f.e.index(list.points)));
  f.when(inside, [&] { body(slot, point); });
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

std::pair<Value, Value> SortedScatter::partOf(Value slot, Value first, Value part) {
  Value one = f.e.index(1), parts = f.e.index(this->parts());
  Value end = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                           LLVM::LoadOp::create(b, b.getI32Type(), endAt(slot)));
  Value begin = f.e.subIndex(first, one), count = f.e.subIndex(end, begin);
  Value each = f.e.divIndex(f.e.addIndex(count, f.e.subIndex(parts, one)), parts);
  Value from = f.e.addIndex(begin, f.e.mulIndex(part, each));
  return {from, f.minIndex(f.e.addIndex(from, each), end)};
}

Value SortedScatter::sumAt(Value slot, Value point, Value part, Type type) {
  int64_t lanes = f.schedule.getLanes(), groups = llvm::divideCeil(list.points, lanes);
  Value row = f.e.addIndex(f.e.mulIndex(part, f.e.index(list.slots)), slot);
  Value group =
      f.e.addIndex(f.e.mulIndex(row, f.e.index(groups)), f.e.divIndex(point, f.e.index(lanes)));
  return f.scratchAt(scratch.sums, type, group);
}

void SortedScatter::sumPart(Value item) {
  Value part = f.e.divIndex(item, f.e.index(items));
  forRow(f.e.remIndex(item, f.e.index(items)), list.slots, [&](Value slot, Value point) {
    Value first = firstOf(slot, target(slot, point));
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, f.e.index(0));
    f.when(some, [&] {
      auto [from, end] = partOf(slot, first, part);
      f.when(f.less(from, end), [&, from = from, end = end] {
        f.e.setLanes(f.schedule.getLanes());
        if (Value sum = read(updates, source(placeOf(from), point))) {
          // Of the update behind the first one the number is one more, and one.
          sum = withUpdates(slot, point, f.e.addIndex(from, f.e.index(2)), end, sum);
          LLVM::StoreOp::create(b, sum, sumAt(slot, point, part, sum.getType()), sumAlignment());
        }
        f.e.setLanes(1);
      });
    });
  });
}

/// `old` after all parts, several of which are read at a time.
Value SortedScatter::withSums(Value slot, Value point, Value first, Value old) {
  constexpr unsigned kInFlight = 8;
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, f.e.index(0));
  Value safe = arith::SelectOp::create(b, some, first, f.e.index(1));
  auto add = [&](OpBuilder &, Location, Value begin, ValueRange carried) {
    f.e.forget();
    Value sum = carried[0];
    SmallVector<std::pair<Value, Value>> sums; // and whether there are updates in them
    for (unsigned i = 0; i < std::min(kInFlight, parts()); ++i) {
      Value part = f.e.addIndex(begin, f.e.index(i));
      auto [from, end] = partOf(slot, safe, part);
      Value there = arith::AndIOp::create(b, some, f.less(from, end));
      Type type = sum.getType();
      Value v = LLVM::LoadOp::create(b, type, sumAt(slot, point, part, type), sumAlignment());
      sums.push_back({v, there});
    }
    for (auto [v, there] : sums)
      sum = arith::SelectOp::create(b, there, updatedElement(f, kind, sum, v), sum);
    scf::YieldOp::create(b, sum);
    f.e.forget();
  };
  Value step = f.e.index(std::min(kInFlight, parts()));
  return scf::ForOp::create(b, f.e.index(0), f.e.index(parts()), step, ValueRange{old}, add)
      .getResult(0);
}
