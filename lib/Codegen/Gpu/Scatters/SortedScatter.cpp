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
// Of few updates of many places these are copied as they are, and the first update of a place, in
// order, is whoever writes it. Lines that have indices of their own are brought in order by a block
// each, by the places along them, while others copy. Those of whole rows need no order
// (TouchedRows.cpp).
//
// Of updates that replace what was there only the last one counts: its number is the largest of
// those that go to the slot, which takes no order. And integers are the same in any order: they are
// added where they belong, whoever comes first, or, where these are few, by each block first
// (CountedScatter.cpp). Sums of elements of f32 and f64 are made integers
// for that (FixedPointScatter.cpp).
//
// What is done with updates in order: SortedRows.cpp.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "../Products/Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Of `count` rows of so many points.
static int64_t rowItems(int64_t count, int64_t points, device::Schedule schedule) {
  int64_t across = int64_t(schedule.getRowThreads()) * schedule.getLanes(),
          rows = schedule.getThreads() / schedule.getRowThreads();
  return int64_t(llvm::divideCeil(count, rows) * llvm::divideCeil(points, across));
}

int64_t device::sortedScatterItems(const UpdateList &list, Schedule schedule) {
  return rowItems(list.slots, list.points, schedule);
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

device::ScatterScratch device::ScatterScratch::of(const UpdateList &list, int64_t parts,
                                                  int64_t groups, int64_t bytes) {
  constexpr int64_t kNumber = sizeof(int32_t);
  ScatterScratch scratch{};
  if (list.anyOrder)
    return scratch;
  if (list.inFixedPoint) {
    int64_t elements = list.slots * list.points;
    scratch.largest = int64_t(list.windows) * elements * list.copies() * int64_t(sizeof(int64_t));
    scratch.bytes = scratch.largest + elements * kNumber;
    return scratch;
  }
  scratch.firsts = list.last ? 0 : list.sort().bytes();
  scratch.ends = scratch.bytes = scratch.firsts + (list.few ? 0 : list.slots * kNumber);
  if (parts == 1)
    return scratch;
  scratch.sums = int64_t(llvm::alignTo(scratch.ends + list.slots * kNumber, GpuArch::accessBytes));
  scratch.bytes = scratch.sums + parts * list.slots * groups * bytes;
  return scratch;
}

/// Threads that share the updates of a row, where those of the rows alone are few.
static unsigned partsOf(const device::UpdateList &list, int64_t groups, const GpuArch &arch) {
  constexpr int64_t kThreads = 1024, kLeast = 16; // of a multiprocessor; updates of a part
  constexpr uint64_t kMost = 32;
  int64_t more = kThreads * arch.multiprocessors / (list.slots * groups);
  int64_t most = std::min(more, list.updates / list.slots / kLeast);
  bool one = list.few || list.last || list.anyOrder || list.inFixedPoint || most < 2;
  return one ? 1 : unsigned(std::min(kMost, llvm::bit_floor(uint64_t(most))));
}

/// Bytes of what a thread has of a row, as it is computed with.
static int64_t bytesOfGroup(RankedTensorType x, unsigned lanes) {
  return lanes * elementBytes(computeType(x.getElementType()));
}

/// Whether a part of the places of a line, which a warp has, has so many updates, one after the
/// other, that bringing them in order takes less: each waits for what the one before it stored.
static bool crowdsParts(prim::ScatterAlongOp op, const GpuArch &arch) {
  constexpr int64_t kWaits = 8;
  if (!op || !tensorType(op.getX()).hasStaticShape() ||
      !tensorType(op.getIndices()).hasStaticShape())
    return false;
  int64_t updates = tensorType(op.getIndices()).getDimSize(op.getAxis());
  return updates > kWaits * int64_t(partsOfScatter(op, arch));
}

bool device::scheduleSortedScatter(ScheduleChoice &s, kernel::LaunchOp launch,
                                   const GpuArch &arch) {
  constexpr int64_t kMostScratch = int64_t(1) << 30, kMostUpdates = int64_t(1) << 28;
  constexpr int64_t kFewRows = 2048, kFewAlone = 128, kFewOfMany = 16, kFewTuples = 16;
  Operation *op = specialOf(launch);
  std::optional<UpdateList> list = UpdateList::of(op);
  if (!list || !tensorType(op->getOperand(0)).getElementType().isIntOrFloat())
    return false;
  unsigned ofRow = lanesOfRow(launch, op, *list);
  if (scheduleCountedScatter(s, launch, *list, arch) ||
      scheduleTouchedRows(s, launch, *list, ofRow, arch) ||
      scheduleOwnedRows(s, launch, *list, ofRow, arch))
    return true;
  // Few updates are looked at by everybody sooner than sorted.
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  int64_t inLine = along ? tensorType(along.getIndices()).getDimSize(along.getAxis()) : 0;
  int64_t few = !along                   ? kFewTuples
                : sameForAllLines(along) ? kFewRows
                : list->lines > 1        ? kFewOfMany
                                         : kFewAlone;
  int64_t known = along ? inLine : list->updates;
  if (known >= 0 && known <= few && !crowdsParts(along, arch))
    return false;
  if (list->open) {
    constexpr unsigned kBlocks = 4; // of a multiprocessor
    s.threads = GridSortSizes::threads;
    s.rowThreads = 1;
    s.scratchBytes = kCounterBytes;
    s.split = unsigned(arch.multiprocessors) * kBlocks;
    return true;
  }
  bool elements = list->anyOrder || list->inFixedPoint;
  unsigned lanes = elements ? 1 : ofRow;
  int64_t across = llvm::divideCeil(list->points, lanes);
  // Narrow sums are rounded at every step, so that their order shows more.
  bool isNarrow = tensorType(op->getOperand(0)).getElementTypeBitWidth() < 32;
  unsigned parts = isNarrow ? 1 : partsOf(*list, across, arch);
  int64_t bytes = bytesOfGroup(tensorType(op->getOperand(0)), lanes);
  int64_t scratch = kCounterBytes + ScatterScratch::of(*list, parts, across, bytes).bytes;
  if (scratch > kMostScratch || list->updates > kMostUpdates)
    return false;
  s.threads = GridSortSizes::threads;
  s.lanes = lanes;
  s.rowThreads = unsigned(std::min<int64_t>(GpuArch::warp, llvm::PowerOf2Ceil(across)));
  // Of a multiprocessor; as many as there is room for, since each has a part of a phase.
  unsigned blocks = list->inFixedPoint       ? (list->windows > 2 || list->copies() > 1 ? 3 : 5)
                    : list->last || elements ? 4
                                             : 3;
  s.vectors = parts;
  s.scratchBytes = unsigned(scratch);
  s.split = unsigned(arch.multiprocessors) * blocks;
  return true;
}

SortedScatter::SortedScatter(device::KernelFrame &f, Operation *op)
    : f(f), b(f.b), along(dyn_cast<prim::ScatterAlongOp>(op)),
      tuples(dyn_cast<prim::ScatterNdOp>(op)), kind(along ? along.getKind() : tuples.getKind()),
      list(*device::UpdateList::of(op)), x(op->getOperand(0)), indices(op->getOperand(1)),
      updates(op->getOperand(2)), extents(extentsOf(f, x)),
      items(list.open ? 0 : sortedScatterItems(list, f.schedule)) {
  unsigned lanes = f.schedule.getLanes();
  groupBytes = bytesOfGroup(tensorType(x), lanes);
  if (!list.open)
    scratch = ScatterScratch::of(list, parts(), llvm::divideCeil(list.points, lanes), groupBytes);
  if (along)
    rows = sameForAllLines(along);
  else
    depth = tensorType(indices).getShape().back();
}

Coords SortedScatter::others(Value point) {
  return uniform(f.delinearize(point, ArrayRef(extents).drop_front(depth)));
}

Value SortedScatter::firstAt(Value slot) {
  return f.scratchAt(scratch.firsts, b.getI32Type(), slot);
}
Value SortedScatter::endAt(Value slot) { return f.scratchAt(scratch.ends, b.getI32Type(), slot); }

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
  if (list.lines > 1)
    return lineAt(f.e.divIndex(update, f.e.index(list.meeting)),
                  f.e.remIndex(update, f.e.index(list.meeting)));
  return rows ? target(update, point) : uniform(f.delinearize(update, outer));
}

/// Place `place` of a line of updates, or of the same one of the result.
Coords SortedScatter::lineAt(Value line, Value place) {
  SmallVector<Value> others = extentsOf(f, indices);
  others.erase(others.begin() + along.getAxis());
  Coords at = uniform(f.delinearize(line, others));
  at.insert(at.begin() + along.getAxis(), Coord::uniform(place));
  return at;
}

/// The number of what an update goes to; that of all slots where it goes nowhere. i32
Value SortedScatter::slotOf(Value update) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(), slotIndexOf(update));
}

Value SortedScatter::slotIndexOf(Value update) {
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
  return arith::SelectOp::create(b, inside, slot, slotCount());
}

void SortedScatter::forParts(Value item, int64_t items, Value count,
                             function_ref<void(Value)> body) {
  constexpr int64_t threads = device::GridSortSizes::threads;
  Value first = f.e.mulIndex(item, f.e.index(threads));
  f.loop(f.e.addIndex(first, f.thread), count, items * threads, body);
}

void SortedScatter::clearFirsts(Value item, int64_t items) {
  forParts(item, items, list.slots,
           [&](Value slot) { LLVM::StoreOp::create(b, f.i32(0), firstAt(slot)); });
}

/// In the place of the first update of a slot, the last one.
void SortedScatter::noteLast(Value update) {
  f.e.forget();
  Value slot = arith::IndexCastUIOp::create(b, b.getIndexType(), slotOf(update));
  f.when(f.less(slot, f.e.index(list.slots)), [&] {
    Value number =
        arith::IndexCastUIOp::create(b, b.getI32Type(), f.e.addIndex(update, f.e.index(1)));
    LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umax, firstAt(slot), number,
                              LLVM::AtomicOrdering::monotonic, "device");
  });
}

/// Of a chunk of the sorted updates, those that are the first or last of their slot.
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
    Value next = f.e.addIndex(number, one);
    auto note = [&](Value at) {
      LLVM::StoreOp::create(b, arith::IndexCastUIOp::create(b, b.getI32Type(), next), at);
    };
    f.when(arith::AndIOp::create(b, differs, counts), [&] { note(firstAt(slot)); });
    if (parts() == 1)
      continue;
    Value behind = sort->sortedKey(line, f.minIndex(next, f.e.index(list.updates - 1)));
    Value isLast = arith::OrIOp::create(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, key, behind),
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, f.e.index(list.updates)));
    f.when(arith::AndIOp::create(b, isLast, counts), [&] { note(endAt(slot)); });
  }
}

int64_t SortedScatter::sharedItems(int64_t count) const {
  return std::min<int64_t>(f.schedule.getSplit(),
                           llvm::divideCeil(count, device::GridSortSizes::threads));
}

void SortedScatter::runLast() {
  device::GridPhases phases(f);
  int64_t clears = sharedItems(list.slots), notes = sharedItems(list.updates);
  phases.run(clears, [&](Value item) { clearFirsts(item, clears); });
  phases.run(notes, [&](Value item) {
    forParts(item, notes, list.updates, [&](Value update) { noteLast(update); });
  });
  phases.finish(items, [&](Value item) {
    forRow(item, list.slots, [&](Value slot, Value point) { updateRow(slot, point); });
  });
}

//===----------------------------------------------------------------------===//
// In any order
//===----------------------------------------------------------------------===//

void SortedScatter::copyElements(Value item, int64_t items) {
  auto copy = [&] {
    forParts(item, items, f.volume(extents), [&](Value number) {
      f.e.forget();
      Coords at = uniform(f.delinearize(number, extents));
      if (Value v = read(x, at))
        f.e.store(f.results[0], at, v);
    });
  };
  Value elsewhere = liesElsewhere(f, x);
  elsewhere ? f.when(elsewhere, copy) : copy();
}

void SortedScatter::updateElement(Value update, Value point) {
  f.e.forget();
  Value slot = slotIndexOf(update);
  Value inside = f.less(slot, slotCount());
  Coords to = target(slot, point);
  inside = arith::AndIOp::create(b, inside, hasUpdates(to));
  f.when(inside, [&] {
    Value v = read(updates, source(update, point)), place = f.e.index(0);
    if (!v)
      return;
    for (auto [c, extent] : llvm::zip(to, extents))
      place = f.e.addIndex(f.e.mulIndex(place, extent), c.base);
    bool isUnsigned = prim::isUnsigned(tensorType(x).getElementType());
    using Op = LLVM::AtomicBinOp;
    Op op = kind == prim::ScatterKind::add   ? Op::add
            : kind == prim::ScatterKind::max ? (isUnsigned ? Op::umax : Op::max)
                                             : (isUnsigned ? Op::umin : Op::min);
    LLVM::AtomicRMWOp::create(b, op, f.at(f.results[0].pointer, v.getType(), place), v,
                              LLVM::AtomicOrdering::monotonic, "device");
  });
}

void SortedScatter::runInAnyOrder() {
  device::GridPhases phases(f);
  int64_t copies = sharedItems(list.slots * list.points);
  phases.run(copies, [&](Value item) { copyElements(item, copies); });
  phases.finish(rowItems(list.updates, list.points, f.schedule), [&](Value item) {
    forRow(item, list.updates, [&](Value update, Value point) { updateElement(update, point); });
  });
}

/// Blocks share elements, however many there turn out to be.
void SortedScatter::runOpen() {
  device::GridPhases phases(f);
  int64_t shares = f.schedule.getSplit();
  phases.run(shares, [&](Value item) { copyElements(item, shares); });
  phases.finish(shares, [&](Value item) {
    Value points = pointCount();
    forParts(item, shares, f.e.mulIndex(updateCount(), points), [&](Value number) {
      updateElement(f.e.divIndex(number, points), f.e.remIndex(number, points));
    });
  });
}

void SortedScatter::run() {
  if (list.open)
    return runOpen();
  if (f.schedule.getRows())
    return runOwned();
  if (f.schedule.getKept())
    return runCounted();
  if (f.schedule.getSharedBytes())
    return runTouched();
  auto rows = [&](Value item) {
    forRow(item, list.slots, [&](Value slot, Value point) { updateRow(slot, point); });
  };
  if (list.last)
    return runLast();
  if (list.anyOrder)
    return runInAnyOrder();
  if (list.inFixedPoint)
    return runInFixedPoint();
  device::GridPhases phases(f);
  device::GridSortSizes sizes = list.sort();
  sort.emplace(f, sizes, 0);
  auto key = [&](Value line, Value update) -> Value {
    f.e.forget();
    if (list.lines == 1)
      return slotOf(update);
    Value extent = extents[along.getAxis()], read = f.e.eval(indices, lineAt(line, update));
    auto [inside, place] = checkedIndex(f, read, extent);
    place = arith::SelectOp::create(b, inside, place, extent);
    return arith::IndexCastUIOp::create(b, b.getI32Type(), place);
  };
  int64_t blocks = f.schedule.getSplit();
  if (list.few && sizes.chunks() == 1) {
    // Some sort while the others copy: in turns, as long as there are both.
    int64_t both = std::min(list.lines, blocks);
    phases.run(blocks + list.lines, [&](Value item) {
      Value inTurns = f.less(item, f.e.index(2 * both)), two = f.e.index(2);
      Value number = arith::SelectOp::create(b, inTurns, f.e.divIndex(item, two),
                                             f.e.subIndex(item, f.e.index(both)));
      Value even =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.e.remIndex(item, two), f.e.index(0));
      Value rest = arith::ConstantOp::create(b, b.getBoolAttr(list.lines > blocks));
      Value sorts = arith::SelectOp::create(b, inTurns, even, rest);
      f.when(sorts, [&] { sort->runLine(number, f.e.index(sizes.length), key); });
      Value copies =
          arith::XOrIOp::create(b, sorts, arith::ConstantOp::create(b, b.getBoolAttr(true)));
      f.when(copies, [&] { copyAll(number); });
    });
  } else {
    if (list.few)
      phases.run(blocks, [&](Value item) { copyAll(item); });
    sort->run(phases, key, [&](Value item) {
      if (!list.few)
        clearFirsts(item, sizes.chunks());
    });
  }
  if (list.few && list.points == 1)
    return phases.finish(
        int64_t(llvm::divideCeil(list.updates, kElements * GridSortSizes::threads)),
        [&](Value item) { updateElements(item); });
  if (list.few)
    return phases.finish(rowItems(list.updates, list.points, f.schedule), [&](Value item) {
      forRow(item, list.updates, [&](Value number, Value point) { updateTouched(number, point); });
    });
  phases.run(sizes.chunks(), [&](Value chunk) { noteFirsts(chunk); });
  if (parts() > 1)
    phases.run(items * parts(), [&](Value item) { sumPart(item); });
  phases.finish(items, rows);
}

void device::emitSortedScatter(KernelFrame &f) { SortedScatter(f, specialOf(f.launch)).run(); }
