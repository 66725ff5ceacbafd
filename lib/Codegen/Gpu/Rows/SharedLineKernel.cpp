//===- SharedLineKernel.cpp - Lines that threads of a block share ---------===//
//
// Scans and places of extrema where a thread a line would leave most of the machine idle, or read
// across memory: the threads of a block share a few lines, each with every so many elements, and
// what they found meets in shared memory. Everything is combined in one fixed order.
//
// Where the axis is the innermost one, neighbouring threads have neighbouring elements of a line,
// and lanes of a warp meet by exchange first. Where other axes lie inside of it, the lanes of a
// warp have neighbouring lines, and each warp a share of their elements.
//
// Places of extrema of few long lines are looked for by several blocks a line; the last one puts
// together what they found. Few long lines are scanned in chunks, by all blocks: first what each
// chunk comes to, then each chunk from what those before it come to. Lines of open length are,
// where they prove to be long; a block has each that does not.
//
//===----------------------------------------------------------------------===//
#include "../Fourier/FourierKernel.h"
#include "../GridPhases.h"
#include "../Matrices/MatrixBlock.h"
#include "../Recurrence/Recurrence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/BestOfLine.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// A thread's place among those of its block, and the line that it shares.
class SharedLine {
public:
  explicit SharedLine(device::KernelFrame &f);
  /// Goes to the lines that are those of block `number`.
  void enter(Value number);
  void emitBest(prim::ArgReduceOp op);
  void emitScan(prim::CumulativeOp op);

private:
  /// Of `warps` parts of a line, the one that warp `number` left in an array in shared memory.
  Value slot(Value array, Type stored, Value number) {
    Value index = across ? f.e.addIndex(f.e.mulIndex(number, f.e.index(GpuArch::warp)), lane)
                         : f.e.addIndex(f.e.mulIndex(lineOfBlock, f.e.index(warps)), number);
    return f.at(array, stored, index);
  }
  void leave(ArrayRef<Value> parts, ArrayRef<Value> arrays);
  Value left(Value array, Type type, unsigned number);
  Value exchanged(Value v, unsigned distance) { return exchangeLanes(b, v, distance); }
  /// Elements of the thread in a round, each with whether it is in the line.
  struct Element {
    Value at, inside, value;
  };
  SmallVector<Element> elementsFrom(prim::CumulativeOp op, Value first);
  void storeScan(prim::CumulativeOp op, ArrayRef<Element> elements, ArrayRef<Value> results);
  std::pair<Value, Value> inBlock(Value v);
  BestOfLine::Best ofLine(BestOfLine &line, BestOfLine::Best best);
  void meet(BestOfLine &line, BestOfLine::Best best);
  /// Whether the thread is the first one of a line.
  Value leads() {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
    return arith::AndIOp::create(b, inside, isFirst);
  }
  /// Elements of a round of a line's threads.
  Value stepOfRound() { return f.e.index(int64_t(threads) * lanes * f.schedule.getVectors()); }
  Value ceilDiv(Value x, Value y) {
    return f.e.divIndex(f.e.addIndex(x, f.e.subIndex(y, f.e.index(1))), y);
  }
  Value scanRounds(prim::CumulativeOp op, Value first, Value end, Value start, bool stores);
  void scanInChunks(prim::CumulativeOp op);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  unsigned axis, lanes, threads, warps; ///< threads: of a line; warps: that meet
  bool across;                          ///< lanes of a warp have neighbouring lines
  Value length, lane, share, lineOfBlock, inside;
  Value warpOfLine;
  SmallVector<Value> others; ///< extents of the axes that lines do not lie along
  // Of a scan: its combination, neutral element, and where warps leave what they have.
  std::function<Value(Value, Value)> combine;
  Value neutral, totals;
  // Of the place of an extremum: the blocks of a line, where warps leave theirs.
  int64_t parts = 1;
  Value bestValues, bestPlaces;
  Coords at; ///< the line
};

} // namespace

SharedLine::SharedLine(device::KernelFrame &f)
    : f(f), b(f.b), lanes(f.schedule.getLanes()), threads(f.schedule.getRowThreads()) {
  auto [x, along] = *lineAxis(specialOf(f.launch));
  axis = along;
  across = linesAcross(tensorType(x), axis);
  others = extentsOf(f, x);
  length = others[axis];
  others.erase(others.begin() + axis);
  unsigned together = f.schedule.getThreads() / threads; // lines of a block
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  share = across ? f.e.divIndex(f.thread, f.e.index(together))
                 : f.e.remIndex(f.thread, f.e.index(threads));
  lineOfBlock = across ? f.e.remIndex(f.thread, f.e.index(together))
                       : f.e.divIndex(f.thread, f.e.index(threads));
  warps = across ? threads : threads / GpuArch::warp;
  warpOfLine = across ? share : f.e.divIndex(share, f.e.index(GpuArch::warp));
  bool sharesLines = f.schedule.getScratchBytes() && isa<prim::ArgReduceOp>(specialOf(f.launch));
  if (sharesLines) {
    int64_t lines = tensorType(x).getNumElements() / tensorType(x).getDimSize(axis);
    parts = f.schedule.getSplit() / int64_t(llvm::divideCeil(lines, together));
  }
  enter(f.e.divIndex(f.block, f.e.index(parts)));
}

void SharedLine::enter(Value number) {
  Value together = f.e.index(f.schedule.getThreads() / threads), lines = f.volume(others);
  Value line = f.e.addIndex(f.e.mulIndex(number, together), lineOfBlock);
  // Threads without a line do what the last one's do, because all of a block meet.
  inside = f.less(line, lines);
  line = arith::MinUIOp::create(b, line, f.e.subIndex(lines, f.e.index(1)));
  at.clear();
  for (Value i : f.delinearize(line, others))
    at.push_back(Coord::uniform(i));
  at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
}

/// Each warp's parts, an array each, for all threads of the line to see.
void SharedLine::leave(ArrayRef<Value> parts, ArrayRef<Value> arrays) {
  auto store = [&] {
    for (auto [part, array] : llvm::zip(parts, arrays)) {
      Value stored = f.asStored(part);
      LLVM::StoreOp::create(b, stored, slot(array, stored.getType(), warpOfLine));
    }
  };
  if (across)
    store();
  else
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0)), store);
  f.barrier();
}

Value SharedLine::left(Value array, Type type, unsigned number) {
  Type stored = f.asStored(type);
  Value read = LLVM::LoadOp::create(b, stored, slot(array, stored, f.e.index(number)));
  return f.asComputed(read, type);
}

//===----------------------------------------------------------------------===//
// The place of an extremum
//===----------------------------------------------------------------------===//

void SharedLine::emitBest(prim::ArgReduceOp op) {
  using Best = BestOfLine::Best;
  constexpr int64_t kInFlight = 4; // vectors of a thread
  BestOfLine line(f, BestOfLine::Sought::of(op), at, length);
  f.e.setLanes(lanes);
  int64_t apart = int64_t(threads) * lanes, step = apart * kInFlight;
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.index(step - 1)), f.e.index(step));
  Value begin = f.e.index(0), end = rounds;
  if (parts > 1) {
    Value each = f.e.divIndex(f.e.addIndex(rounds, f.e.index(parts - 1)), f.e.index(parts));
    begin = f.e.mulIndex(f.e.remIndex(f.block, f.e.index(parts)), each);
    end = f.minIndex(f.e.addIndex(begin, each), rounds);
  }
  Value first = f.e.mulIndex(share, f.e.index(lanes));
  Value last = f.e.subIndex(length, f.e.index(lanes));
  Best none = line.none();
  auto loop = scf::ForOp::create(b, begin, end, f.e.index(1), ValueRange{none.value, none.place});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Best best{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
    f.e.nested([&] {
      SmallVector<std::pair<Value, Value>> found; // places and elements
      Value round = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), f.e.index(step)), first);
      for (int64_t i = 0; i < kInFlight; ++i) {
        // The line's last elements again change nothing.
        Value place = arith::MinUIOp::create(b, f.e.addIndex(round, f.e.index(i * apart)), last);
        if (lanes > 1)
          f.e.bindAligned(place);
        found.push_back({place, line.elements(place, lanes)});
      }
      for (auto [place, elements] : found)
        best = line.with(best, elements, place, lanes);
    });
    scf::YieldOp::create(b, ValueRange{best.value, best.place});
  }
  Best best{loop.getResult(0), loop.getResult(1)};
  if (lanes > 1)
    best = line.folded(best, lanes);
  f.e.setLanes(1);
  best = ofLine(line, best);
  if (parts > 1)
    return meet(line, best);
  f.when(leads(), [&] { line.store(best); });
}

/// What the threads of the line in the block have found.
BestOfLine::Best SharedLine::ofLine(BestOfLine &line, BestOfLine::Best best) {
  if (!across)
    for (unsigned distance = GpuArch::warp / 2; distance; distance /= 2)
      best = line.better(best, {exchanged(best.value, distance), exchanged(best.place, distance)});
  if (warps == 1)
    return best;
  Type value = best.value.getType(), place = best.place.getType();
  int64_t slots = int64_t(f.schedule.getThreads()) / (across ? 1 : GpuArch::warp);
  if (!bestValues) {
    bestValues = f.shared(f.asStored(value), slots, "values");
    bestPlaces = f.shared(place, slots, "places");
  }
  leave({best.value, best.place}, {bestValues, bestPlaces});
  BestOfLine::Best all{left(bestValues, value, 0), left(bestPlaces, place, 0)};
  for (unsigned i = 1; i < warps; ++i)
    all = line.better(all, {left(bestValues, value, i), left(bestPlaces, place, i)});
  return all;
}

/// What the blocks of the lines have found is put together by the last of them.
void SharedLine::meet(BestOfLine &line, BestOfLine::Best best) {
  Type value = best.value.getType(), stored = f.asStored(value), place = best.place.getType();
  int64_t together = f.schedule.getThreads() / threads;                      // lines of a block
  int64_t all = f.schedule.getSplit() * together * int64_t(sizeof(int64_t)); // bytes of the values
  auto slotOf = [&](Value block) {
    return f.e.addIndex(f.e.mulIndex(block, f.e.index(together)), lineOfBlock);
  };
  auto valueAt = [&](Value part) { return f.scratchAt(0, stored, part); };
  auto placeAt = [&](Value part) { return f.scratchAt(all, place, part); };
  f.when(leads(), [&] {
    LLVM::StoreOp::create(b, f.asStored(best.value), valueAt(slotOf(f.block)));
    LLVM::StoreOp::create(b, best.place, placeAt(slotOf(f.block)));
  });
  Value number = f.e.divIndex(f.block, f.e.index(parts));
  f.inLastBlock(number, unsigned(parts), [&] {
    // Threads without a part have the last one's again, which changes nothing; so do those
    // without a line.
    BestOfLine::Best found;
    for (int64_t first = 0; first < parts; first += threads) {
      Value own = f.minIndex(f.e.addIndex(share, f.e.index(first)), f.e.index(parts - 1));
      own = slotOf(f.e.addIndex(f.e.mulIndex(number, f.e.index(parts)), own));
      Value read = LLVM::LoadOp::create(b, stored, valueAt(own));
      BestOfLine::Best other{f.asComputed(read, value),
                             LLVM::LoadOp::create(b, place, placeAt(own))};
      found = found.value ? line.better(found, other) : other;
    }
    found = ofLine(line, found);
    f.when(leads(), [&] { line.store(found); });
  });
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

SmallVector<SharedLine::Element> SharedLine::elementsFrom(prim::CumulativeOp op, Value first) {
  SmallVector<Element> elements;
  auto place = [&](Value i, unsigned along) {
    Value inLine = f.less(i, length);
    Value safe = arith::MinUIOp::create(b, i, f.e.subIndex(length, f.e.index(along)));
    if (op.getReverse())
      safe = f.e.subIndex(f.e.subIndex(length, f.e.index(1)), safe);
    if (along > 1)
      f.e.bindAligned(safe);
    at[axis] = Coord::affine(safe, along > 1 ? 1 : 0);
    Value v = f.e.evalVector(op.getX(), at);
    f.failed |= !v;
    return Element{safe, inLine, v};
  };
  if (lanes == 1) {
    for (unsigned i = 0; i < f.schedule.getVectors(); ++i)
      elements.push_back(place(f.e.addIndex(first, f.e.index(i)), 1));
    return elements;
  }
  Element all = place(first, lanes);
  for (unsigned i = 0; i < lanes && all.value; ++i)
    elements.push_back({all.at, all.inside, vector::ExtractOp::create(b, all.value, int64_t(i))});
  return elements;
}

void SharedLine::storeScan(prim::CumulativeOp op, ArrayRef<Element> elements,
                           ArrayRef<Value> results) {
  auto store = [&](const Element &element, Value result) {
    f.when(arith::AndIOp::create(b, inside, element.inside), [&] {
      at[axis] = Coord::affine(element.at, lanes > 1 ? 1 : 0);
      f.e.store(f.results[0], at, result);
    });
  };
  if (lanes > 1) {
    auto vector = VectorType::get({int64_t(lanes)}, results[0].getType());
    return store(elements[0], vector::FromElementsOp::create(b, vector, results));
  }
  for (auto [element, result] : llvm::zip(elements, results))
    store(element, result);
}

/// What lies before the thread's `v`, and all of its line's threads have.
std::pair<Value, Value> SharedLine::inBlock(Value v) {
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, condition, x, y);
  };
  Value before = neutral, all = v;
  for (unsigned distance = 1; !across && distance < GpuArch::warp; distance *= 2) {
    Value other = exchanged(all, distance);
    Value bit = arith::AndIOp::create(b, lane, f.e.index(distance));
    Value upper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, f.e.index(0));
    before = choose(upper, combine(other, before), before);
    all = choose(upper, combine(other, all), combine(all, other));
  }
  if (warps == 1)
    return {before, all};
  leave({all}, {totals});
  Value earlier = neutral;
  all = neutral;
  for (unsigned i = 0; i < warps; ++i) {
    Value part = left(totals, neutral.getType(), i);
    earlier = choose(f.less(f.e.index(i), warpOfLine), combine(earlier, part), earlier);
    all = combine(all, part);
  }
  f.barrier(); // the next round leaves its own there
  return {combine(earlier, before), all};
}

/// From what `start` comes to, rounds [first, end) of a line. Gives what it comes to then.
Value SharedLine::scanRounds(prim::CumulativeOp op, Value first, Value end, Value start,
                             bool stores) {
  f.e.setLanes(lanes);
  unsigned own = lanes * f.schedule.getVectors();
  Value step = f.e.index(int64_t(threads) * own);
  auto loop = scf::ForOp::create(b, first, end, f.e.index(1), ValueRange{start});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value carried = loop.getRegionIterArg(0);
  Value next = f.e.nested([&]() -> Value {
    Value begin = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step),
                               f.e.mulIndex(share, f.e.index(own)));
    SmallVector<Element> elements = elementsFrom(op, begin);
    if (f.failed)
      return carried;
    SmallVector<Value> sums; // of the thread's own
    for (const Element &element : elements) {
      Value v = arith::SelectOp::create(b, element.inside, element.value, neutral);
      sums.push_back(sums.empty() ? v : combine(sums.back(), v));
    }
    auto [before, all] = inBlock(sums.back());
    before = combine(carried, before);
    SmallVector<Value> results;
    for (unsigned i = 0; i < own && stores; ++i) {
      if (op.getExclusive())
        results.push_back(i == 0 ? before : combine(before, sums[i - 1]));
      else
        results.push_back(combine(before, sums[i]));
    }
    if (stores)
      storeScan(op, elements, results);
    return combine(carried, all);
  });
  scf::YieldOp::create(b, next);
  return loop.getResult(0);
}

/// Each chunk is a few rounds, and there are no more of them than threads.
void SharedLine::scanInChunks(prim::CumulativeOp op) {
  Value chunks, each, rounds = ceilDiv(length, stepOfRound());
  each = ceilDiv(rounds, f.e.index(threads));
  chunks = ceilDiv(rounds, each);
  Value items = f.e.mulIndex(chunks, f.volume(others));
  Type stored = f.asStored(neutral.getType());
  auto chunkOf = [&](Value item) {
    enter(f.e.divIndex(item, chunks));
    Value first = f.e.mulIndex(f.e.remIndex(item, chunks), each);
    return std::pair(first, f.minIndex(f.e.addIndex(first, each), rounds));
  };
  device::GridPhases phases(f);
  phases.run(items, [&](Value item) {
    auto [first, end] = chunkOf(item);
    Value all = scanRounds(op, first, end, neutral, /*stores=*/false);
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0)),
           [&] { LLVM::StoreOp::create(b, f.asStored(all), f.scratchAt(0, stored, item)); });
  });
  phases.finish(items, [&](Value item) {
    auto [first, end] = chunkOf(item);
    Value chunk = f.e.remIndex(item, chunks);
    Value other = f.minIndex(f.thread, f.e.subIndex(chunks, f.e.index(1)));
    Value slot = f.e.addIndex(f.e.subIndex(item, chunk), other);
    Value part = LLVM::LoadOp::create(b, stored, f.scratchAt(0, stored, slot));
    part = arith::SelectOp::create(b, f.less(f.thread, chunk),
                                   f.asComputed(part, neutral.getType()), neutral);
    scanRounds(op, first, end, inBlock(part).second, /*stores=*/true);
  });
}

void SharedLine::emitScan(prim::CumulativeOp op) {
  Type e = tensorType(op.getX()).getElementType();
  combine = [this, e, kind = op.getKind()](Value x, Value y) {
    return emitCombine(b, kind, e, x, y);
  };
  neutral = arith::ConstantOp::create(b, neutralElement(op.getKind(), e));
  if (warps > 1)
    totals = f.shared(f.asStored(neutral.getType()),
                      int64_t(f.schedule.getThreads()) / (across ? 1 : GpuArch::warp), "totals");
  auto alone = [&] {
    scanRounds(op, f.e.index(0), ceilDiv(length, stepOfRound()), neutral, /*stores=*/true);
  };
  if (!f.schedule.getScratchBytes())
    return alone();
  if (getConstantIntValue(length))
    return scanInChunks(op);
  // Of open length: a block has a line that proves to be shorter than all blocks meet for.
  constexpr int64_t kLongScan = 8192;
  Value isShort = f.less(length, f.e.index(kLongScan)), hasLine = f.less(f.block, f.volume(others));
  f.when(arith::AndIOp::create(b, isShort, hasLine), alone);
  f.when(f.less(f.e.index(kLongScan - 1), length), [&] { scanInChunks(op); });
}

void device::emitSharedLineKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  if (isa<prim::WhileOp>(op))
    return emitRecurrenceKernel(f);
  if (isa<prim::SortOp, prim::TopKOp>(op)) {
    bool keeps = f.schedule.getKept() != 0; // of a part of a line, in shared memory
    bool byDigits = f.schedule.getDepth() || (f.schedule.getScratchBytes() && !keeps);
    return byDigits ? emitDigitOrderKernel(f) : emitOrderedBlockKernel(f);
  }
  if (isa<prim::FourierOp>(op))
    return emitFourierKernel(f);
  if (op->hasTrait<prim::MatrixFactor>())
    return emitMatrixKernel(f);
  SharedLine line(f);
  if (auto best = dyn_cast<prim::ArgReduceOp>(op))
    return line.emitBest(best);
  line.emitScan(cast<prim::CumulativeOp>(op));
}
