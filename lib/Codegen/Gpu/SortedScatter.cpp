//===- SortedScatter.cpp - Updates in the order of their places -----------===//
//
// Who writes an element reads its updates and nothing else: these are put in order by the places
// that they go to, and those of a place stay in the order that they came in (GridSort.h). So sums
// are those of the CPU, whatever the number of updates that meet, and results repeat.
//
//   indices      2 0 2 5 0        sorted    0 0 2 2 5
//                                 updates   1 4 0 2 3
//   first        0 -> 0, 2 -> 2, 5 -> 4   (plus one; 0: no update)
//
// Threads that have a row each, or a few elements of one, go from its first update on as long as
// updates go to it, several at a time. Updates that come in order, as bags of embeddings do, need
// no list: the first one is found by halving.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Dialect/Prim/Ascending.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

std::optional<device::UpdateList> device::UpdateList::of(Operation *op) {
  UpdateList list{};
  if (auto along = dyn_cast<prim::ScatterAlongOp>(op)) {
    auto shape = tensorType(along.getX()).getShape(),
         updates = tensorType(along.getIndices()).getShape();
    unsigned axis = along.getAxis();
    bool rows = sameForAllLines(along);
    list = {volumeOf(updates), volumeOf(shape), 1, rows && prim::isAscending(op)};
    if (rows && list.updates > 0 && list.slots > 0)
      list = {updates[axis], shape[axis], list.slots / shape[axis], list.ascending};
  } else if (auto tuples = dyn_cast<prim::ScatterNdOp>(op)) {
    auto shape = tensorType(tuples.getX()).getShape(),
         indices = tensorType(tuples.getIndices()).getShape();
    if (ShapedType::isDynamic(indices.back()))
      return std::nullopt;
    list = {volumeOf(indices.drop_back()), volumeOf(shape.take_front(indices.back())),
            volumeOf(shape.drop_front(indices.back())), false};
  }
  if (list.updates <= 0 || list.slots <= 0 || list.points <= 0)
    return std::nullopt;
  return list;
}

/// The number after the last slot is that of updates that go nowhere.
device::GridSortSizes device::UpdateList::sort() const {
  return {1, updates, llvm::Log2_64(uint64_t(slots)) + 1, GridSortSizes::ownOf(updates)};
}

int64_t device::sortedScatterItems(const UpdateList &list, Schedule schedule) {
  int64_t across = int64_t(schedule.getRowThreads()) * schedule.getLanes(),
          rows = schedule.getThreads() / schedule.getRowThreads();
  return int64_t(llvm::divideCeil(list.slots, rows) * llvm::divideCeil(list.points, across));
}

/// Neighbours of a row that one thread has.
static unsigned lanesOfRow(kernel::LaunchOp launch, Operation *op, const device::UpdateList &list) {
  auto x = tensorType(op->getOperand(0));
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  bool inRow =
      list.points > 1 &&
      (!along || (along.getAxis() + 1 != uint64_t(x.getRank()) &&
                  tensorType(along.getUpdates()).getShape().back() == x.getShape().back()));
  return inRow ? lanesFor(launch, x) : 1;
}

bool device::scheduleSortedScatter(ScheduleChoice &s, kernel::LaunchOp launch,
                                   const GpuArch &arch) {
  constexpr int64_t kMostScratch = int64_t(1) << 30, kMostUpdates = int64_t(1) << 28;
  constexpr int64_t kFewRows = 2048, kFewAlone = 128, kFewTuples = 16;
  Operation *op = specialOf(launch);
  std::optional<UpdateList> list = UpdateList::of(op);
  if (!list || !tensorType(op->getOperand(0)).getElementType().isIntOrFloat())
    return false;
  // Few updates are looked at by everybody sooner than sorted.
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  int64_t inLine = along ? tensorType(along.getIndices()).getDimSize(along.getAxis()) : 0;
  int64_t few = !along ? kFewTuples : sameForAllLines(along) ? kFewRows : kFewAlone;
  if (!list->ascending && (along ? inLine : list->updates) <= few)
    return false;
  int64_t scratch = kCounterBytes + list->sort().bytes() + list->slots * int64_t(sizeof(int32_t));
  if (!list->ascending && (scratch > kMostScratch || list->updates > kMostUpdates))
    return false;
  s.threads = GridSortSizes::threads;
  s.lanes = lanesOfRow(launch, op, *list);
  int64_t across = llvm::divideCeil(list->points, s.lanes);
  s.rowThreads = unsigned(std::min<int64_t>(GpuArch::warp, llvm::PowerOf2Ceil(across)));
  if (list->ascending)
    return true;
  constexpr unsigned kBlocks = 4; // of a multiprocessor
  s.scratchBytes = unsigned(scratch);
  s.split = unsigned(arch.multiprocessors) * kBlocks;
  return true;
}

namespace {

class SortedScatter {
public:
  SortedScatter(device::KernelFrame &f, Operation *op);
  void run();

private:
  /// Where point `point` of an update, or of a slot, lies.
  Coords source(Value update, Value point);
  Coords target(Value slot, Value point);
  Value slotOf(Value update);
  Value firstAscending(Value slot);
  Value firstAt(Value slot) { return f.scratchAt(list.sort().bytes(), b.getI32Type(), slot); }
  void noteFirsts(Value chunk);
  void apply(Value item);
  /// `at`, or where neighbours of it along the last axis lie.
  Coords neighbours(Coords at);
  void updateRow(Value slot, Value point);
  Value withUpdates(Value slot, Value point, Value first, Value old);
  Coords others(Value point) {
    Coords at;
    for (Value i : f.delinearize(point, ArrayRef(extents).drop_front(depth)))
      at.push_back(Coord::uniform(i));
    return at;
  }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ScatterAlongOp along;
  prim::ScatterNdOp tuples;
  prim::ScatterKind kind;
  device::UpdateList list;
  Value x, indices, updates;
  SmallVector<Value> extents; ///< of the result
  unsigned depth = 0;         ///< tuples: axes that are indexed
  bool rows = false;          ///< along: updates are rows
  std::optional<device::GridSort> sort;
};

} // namespace

SortedScatter::SortedScatter(device::KernelFrame &f, Operation *op)
    : f(f), b(f.b), along(dyn_cast<prim::ScatterAlongOp>(op)),
      tuples(dyn_cast<prim::ScatterNdOp>(op)), kind(along ? along.getKind() : tuples.getKind()),
      list(*device::UpdateList::of(op)), x(op->getOperand(0)), indices(op->getOperand(1)),
      updates(op->getOperand(2)), extents(extentsOf(f, x)) {
  if (along)
    rows = sameForAllLines(along);
  else
    depth = tensorType(indices).getShape().back();
}

static Coords uniform(ArrayRef<Value> indices) {
  return llvm::map_to_vector<6>(indices, [](Value i) { return Coord::uniform(i); });
}

Coords SortedScatter::target(Value slot, Value point) {
  if (tuples) {
    Coords at = uniform(f.delinearize(slot, ArrayRef(extents).take_front(depth)));
    llvm::append_range(at, others(point));
    return at;
  }
  if (!rows)
    return uniform(f.delinearize(slot, extents));
  SmallVector<Value> inner(extents);
  inner.erase(inner.begin() + along.getAxis());
  Coords at = uniform(f.delinearize(point, inner));
  at.insert(at.begin() + along.getAxis(), Coord::uniform(slot));
  return at;
}

Coords SortedScatter::source(Value update, Value point) {
  SmallVector<Value> outer = extentsOf(f, indices);
  if (tuples) {
    outer.pop_back();
    Coords at = uniform(f.delinearize(update, outer));
    llvm::append_range(at, others(point));
    return at;
  }
  return rows ? target(update, point) : uniform(f.delinearize(update, outer));
}

/// The number of what an update goes to; that of all slots where it goes nowhere. i32
Value SortedScatter::slotOf(Value update) {
  Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true)), slot = f.e.index(0);
  auto step = [&](Value read, Value extent) {
    auto [ok, i] = checkedIndex(f, read, extent);
    inside = arith::AndIOp::create(b, inside, ok);
    slot = f.e.addIndex(f.e.mulIndex(slot, extent), i);
  };
  if (tuples) {
    Coords at = uniform(f.delinearize(update, ArrayRef(extentsOf(f, indices)).drop_back()));
    for (unsigned k = 0; k < depth; ++k) {
      Coords element(at);
      element.push_back(Coord::uniform(f.e.index(k)));
      step(f.e.eval(indices, element), extents[k]);
    }
  } else {
    Coords at = rows ? target(update, f.e.index(0)) : source(update, f.e.index(0));
    Value read = f.e.eval(indices, at);
    for (unsigned i = 0; i < at.size(); ++i) {
      if (i == along.getAxis())
        step(read, extents[i]);
      else if (!rows)
        slot = f.e.addIndex(f.e.mulIndex(slot, extents[i]), at[i].base);
    }
  }
  slot = arith::SelectOp::create(b, inside, slot, f.e.index(list.slots));
  return arith::IndexCastUIOp::create(b, b.getI32Type(), slot);
}

/// Of a chunk of the sorted updates, those that are the first of their slot.
void SortedScatter::noteFirsts(Value chunk) {
  Value first = f.e.mulIndex(chunk, f.e.index(sort->sizes.chunk()));
  Value zero = f.e.index(0), one = f.e.index(1), line = zero;
  for (unsigned i = 0; i < sort->sizes.own; ++i) {
    Value number = f.e.addIndex(f.e.addIndex(first, f.thread),
                                f.e.index(int64_t(i) * device::GridSortSizes::threads));
    Value safe = f.minIndex(number, f.e.index(list.updates - 1));
    Value key = sort->sortedKey(line, safe);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, zero);
    Value before =
        sort->sortedKey(line, f.e.subIndex(safe, arith::SelectOp::create(b, isFirst, zero, one)));
    Value differs = arith::OrIOp::create(
        b, isFirst, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, key, before));
    Value slot = arith::IndexCastUIOp::create(b, b.getIndexType(), key);
    Value counts = arith::AndIOp::create(b, f.less(number, f.e.index(list.updates)),
                                         f.less(slot, f.e.index(list.slots)));
    f.when(arith::AndIOp::create(b, differs, counts), [&] {
      Value next = arith::IndexCastUIOp::create(b, b.getI32Type(), f.e.addIndex(number, one));
      LLVM::StoreOp::create(b, next, firstAt(slot));
    });
  }
}

/// Plus one, the first update of a slot or of one behind it, of updates in order.
Value SortedScatter::firstAscending(Value slot) {
  Type index = b.getIndexType(), i64 = b.getI64Type();
  Value wanted = arith::IndexCastOp::create(b, i64, slot);
  auto some = [&](OpBuilder &, Location, ValueRange range) {
    scf::ConditionOp::create(b, f.less(range[0], range[1]), range);
  };
  auto halve = [&](OpBuilder &, Location, ValueRange range) {
    SmallVector<Value> next = f.e.nested([&]() -> SmallVector<Value> {
      Value middle = f.e.divIndex(f.e.addIndex(range[0], range[1]), f.e.index(2));
      Value there = f.e.eval(indices, target(middle, f.e.index(0)));
      if (there.getType() != i64)
        there = arith::ExtSIOp::create(b, i64, there);
      Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, there, wanted);
      return {arith::SelectOp::create(b, before, f.e.addIndex(middle, f.e.index(1)), range[0]),
              arith::SelectOp::create(b, before, range[1], middle)};
    });
    scf::YieldOp::create(b, next);
  };
  auto loop = scf::WhileOp::create(b, TypeRange{index, index},
                                   ValueRange{f.e.index(0), f.e.index(list.updates)}, some, halve);
  return f.e.addIndex(loop.getResult(0), f.e.index(1));
}

/// What becomes of `old` by the updates from number `first` - 1 on that go to the slot.
Value SortedScatter::withUpdates(Value slot, Value point, Value first, Value old) {
  constexpr unsigned kInFlight = 4;
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
    for (unsigned i = 0; i < kInFlight; ++i) {
      Value number = f.e.addIndex(begin, f.e.index(i)), safe = f.minIndex(number, last);
      Value goes = list.ascending ? slotOf(safe) : sort->sortedKey(f.e.index(0), safe);
      Value mine = arith::AndIOp::create(
          b, f.less(number, all), arith::CmpIOp::create(b, arith::CmpIPredicate::eq, goes, wanted));
      Value place = safe;
      if (!list.ascending)
        place = arith::IndexCastUIOp::create(b, index, sort->sortedPlace(f.e.index(0), safe));
      // What goes elsewhere is not read.
      own = i == 0 ? place : Value(arith::SelectOp::create(b, mine, place, own));
      found.push_back({own, mine});
    }
    Value sum = carried[1];
    SmallVector<Value> read;
    for (auto &[place, mine] : found) {
      read.push_back(f.e.evalVector(updates, neighbours(source(place, point))));
      f.failed |= !read.back();
    }
    for (auto [one, v] : llvm::zip(found, read))
      if (v)
        sum = arith::SelectOp::create(b, one.second, updatedElement(f, kind, sum, v), sum);
    Value next = f.e.addIndex(carried[0], f.e.index(kInFlight));
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

/// Along a row, `point` is the first of the thread's.
void SortedScatter::updateRow(Value slot, Value point) {
  Value first;
  if (list.ascending) {
    first = firstAscending(slot);
  } else {
    first = LLVM::LoadOp::create(b, b.getI32Type(), firstAt(slot));
    first = arith::IndexCastUIOp::create(b, b.getIndexType(), first);
  }
  // The indices may be fewer than the tensor's along the other axes.
  Coords to = target(slot, point);
  if (along && rows)
    for (auto [i, extent] : llvm::enumerate(extentsOf(f, indices)))
      if (i != along.getAxis() && getConstantIntValue(extent) != getConstantIntValue(extents[i]))
        first = arith::SelectOp::create(b, f.less(to[i].base, extent), first, f.e.index(0));
  f.e.setLanes(f.schedule.getLanes());
  auto write = [&] {
    Coords at = neighbours(to);
    Value old = f.e.evalVector(x, at);
    f.failed |= !old;
    if (old)
      f.e.store(f.results[0], at, withUpdates(slot, point, first, old));
  };
  if (Value elsewhere = liesElsewhere(f, x)) {
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, first, f.e.index(0));
    f.when(arith::OrIOp::create(b, some, elsewhere), write);
  } else {
    write();
  }
  f.e.setLanes(1);
}

void SortedScatter::apply(Value item) {
  unsigned across = f.schedule.getRowThreads(), lanes = f.schedule.getLanes();
  int64_t tiles = llvm::divideCeil(list.points, int64_t(across) * lanes);
  Value rowsOfBlock = f.e.index(f.schedule.getThreads() / across);
  Value slot = f.e.addIndex(f.e.mulIndex(f.e.divIndex(item, f.e.index(tiles)), rowsOfBlock),
                            f.e.divIndex(f.thread, f.e.index(across)));
  Value part = f.e.addIndex(f.e.mulIndex(f.e.remIndex(item, f.e.index(tiles)), f.e.index(across)),
                            f.e.remIndex(f.thread, f.e.index(across)));
  Value point = f.e.mulIndex(part, f.e.index(lanes));
  Value inside = arith::AndIOp::create(b, f.less(slot, f.e.index(list.slots)),
                                       f.less(point, f.e.index(list.points)));
  f.when(inside, [&] { updateRow(slot, point); });
}

void SortedScatter::run() {
  int64_t items = device::sortedScatterItems(list, f.schedule);
  if (list.ascending)
    return apply(f.block);
  device::GridPhases phases(f);
  device::GridSortSizes sizes = list.sort();
  sort.emplace(f, sizes, 0);
  sort->run(
      phases,
      [&](Value, Value update) {
        f.e.forget();
        return slotOf(update);
      },
      [&](Value item) {
        int64_t step = sizes.chunks() * device::GridSortSizes::threads;
        Value first = f.e.mulIndex(item, f.e.index(device::GridSortSizes::threads));
        f.loop(f.e.addIndex(first, f.thread), f.e.index(list.slots), step,
               [&](Value slot) { LLVM::StoreOp::create(b, f.i32(0), firstAt(slot)); });
      });
  phases.run(sizes.chunks(), [&](Value chunk) { noteFirsts(chunk); });
  phases.finish(items, [&](Value item) { apply(item); });
}

void device::emitSortedScatter(KernelFrame &f) { SortedScatter(f, specialOf(f.launch)).run(); }
