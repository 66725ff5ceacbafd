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
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
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

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  unsigned axis, lanes, threads, warps; ///< threads: of a line; warps: that meet
  bool across;                          ///< lanes of a warp have neighbouring lines
  Value length, lane, share, lineOfBlock, inside;
  Value warpOfLine;
  Coords at; ///< the line
};

} // namespace

SharedLine::SharedLine(device::KernelFrame &f)
    : f(f), b(f.b), lanes(f.schedule.getLanes()), threads(f.schedule.getRowThreads()) {
  auto [x, along] = *lineAxis(specialOf(f.launch));
  axis = along;
  across = linesAcross(tensorType(x), axis);
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  length = extents[axis];
  others.erase(others.begin() + axis);
  unsigned together = f.schedule.getThreads() / threads; // lines of a block
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  share = across ? f.e.divIndex(f.thread, f.e.index(together))
                 : f.e.remIndex(f.thread, f.e.index(threads));
  lineOfBlock = across ? f.e.remIndex(f.thread, f.e.index(together))
                       : f.e.divIndex(f.thread, f.e.index(threads));
  warps = across ? threads : threads / GpuArch::warp;
  warpOfLine = across ? share : f.e.divIndex(share, f.e.index(GpuArch::warp));
  Value lines = f.volume(others),
        line = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(together)), lineOfBlock);
  // Threads without a line do what the last one's do, because all of a block meet.
  inside = f.less(line, lines);
  line = arith::MinUIOp::create(b, line, f.e.subIndex(lines, f.e.index(1)));
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
  BestOfLine line(f, op, at, length);
  f.e.setLanes(lanes);
  int64_t apart = int64_t(threads) * lanes, step = apart * kInFlight;
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.index(step - 1)), f.e.index(step));
  Value first = f.e.mulIndex(share, f.e.index(lanes));
  Value last = f.e.subIndex(length, f.e.index(lanes));
  Best none = line.none();
  auto loop =
      scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), ValueRange{none.value, none.place});
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
  if (!across)
    for (unsigned distance = GpuArch::warp / 2; distance; distance /= 2)
      best = line.better(best, {exchanged(best.value, distance), exchanged(best.place, distance)});
  Type value = best.value.getType(), place = best.place.getType();
  Value leads = arith::AndIOp::create(
      b, inside, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0)));
  if (warps == 1)
    return f.when(leads, [&] { line.store(best); });
  int64_t slots = int64_t(f.schedule.getThreads()) / (across ? 1 : GpuArch::warp);
  Value values = f.shared(f.asStored(value), slots, "values"),
        places = f.shared(place, slots, "places");
  leave({best.value, best.place}, {values, places});
  f.when(leads, [&] {
    Best all{left(values, value, 0), left(places, place, 0)};
    for (unsigned i = 1; i < warps; ++i)
      all = line.better(all, {left(values, value, i), left(places, place, i)});
    line.store(all);
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

void SharedLine::emitScan(prim::CumulativeOp op) {
  Type e = tensorType(op.getX()).getElementType();
  auto combine = [&](Value x, Value y) { return emitCombine(b, op.getKind(), e, x, y); };
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, condition, x, y);
  };
  f.e.setLanes(lanes);
  Value neutral = arith::ConstantOp::create(b, neutralElement(op.getKind(), e));
  unsigned own = lanes * f.schedule.getVectors();
  Value step = f.e.index(int64_t(threads) * own);
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.subIndex(step, f.e.index(1))), step);
  Value totals;
  if (warps > 1)
    totals = f.shared(f.asStored(neutral.getType()),
                      int64_t(f.schedule.getThreads()) / (across ? 1 : GpuArch::warp), "totals");
  auto loop = scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value carried = loop.getRegionIterArg(0);
  Value next = f.e.nested([&]() -> Value {
    Value first = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step),
                               f.e.mulIndex(share, f.e.index(own)));
    SmallVector<Element> elements = elementsFrom(op, first);
    if (f.failed)
      return carried;
    SmallVector<Value> sums; // of the thread's own
    for (const Element &element : elements) {
      Value v = choose(element.inside, element.value, neutral);
      sums.push_back(sums.empty() ? v : combine(sums.back(), v));
    }
    // What lies before the thread's own, and all of its warp.
    Value before = neutral, all = sums.back();
    for (unsigned distance = 1; !across && distance < GpuArch::warp; distance *= 2) {
      Value other = exchanged(all, distance);
      Value bit = arith::AndIOp::create(b, lane, f.e.index(distance));
      Value upper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, f.e.index(0));
      before = choose(upper, combine(other, before), before);
      all = choose(upper, combine(other, all), combine(all, other));
    }
    if (warps > 1) {
      leave({all}, {totals});
      Value earlier = neutral;
      all = neutral;
      for (unsigned i = 0; i < warps; ++i) {
        Value part = left(totals, neutral.getType(), i);
        earlier = choose(f.less(f.e.index(i), warpOfLine), combine(earlier, part), earlier);
        all = combine(all, part);
      }
      before = combine(earlier, before);
      f.barrier(); // the next round leaves its own there
    }
    before = combine(carried, before);
    SmallVector<Value> results;
    for (unsigned i = 0; i < own; ++i) {
      if (op.getExclusive())
        results.push_back(i == 0 ? before : combine(before, sums[i - 1]));
      else
        results.push_back(combine(before, sums[i]));
    }
    storeScan(op, elements, results);
    return combine(carried, all);
  });
  scf::YieldOp::create(b, next);
}

void device::emitSharedLineKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  if (isa<prim::SortOp, prim::TopKOp>(op))
    return f.schedule.getScratchBytes() ? emitOrderedGridKernel(f) : emitOrderedBlockKernel(f);
  SharedLine line(f);
  if (auto best = dyn_cast<prim::ArgReduceOp>(op))
    return line.emitBest(best);
  line.emitScan(cast<prim::CumulativeOp>(op));
}
