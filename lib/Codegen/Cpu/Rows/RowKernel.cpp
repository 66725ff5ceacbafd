//===- RowKernel.cpp - Rows reduced along their innermost axes ------------===//
//
// softmax, layer norm, RMS norm and plain row sums. A task is one row of the
// space. Each reduction of the row is one loop over it, in program order;
// reductions that do not need each other share a loop. Then whatever is stored a
// point is one more loop, and whatever is stored a row is stored once. Expensive
// values that several loops of a row need (the exp of softmax) are kept in a
// buffer of one row, on the stack, when the row's length is known and not above what the
// schedule allows; else, or where they are a result, where the row's result goes, if that has room
// for them and each point's is made from the value there.
//
// What is left of a row after whole vectors is part of one more: masked, where masks cost nothing,
// or a vector that ends where the row does, of which what was seen before does not count.
//
// Rows that are summed up, and no more, with something that they have in common (the vector that a
// matrix is multiplied by) are done a few beside each other where they are long, and read that
// once.
//
//===----------------------------------------------------------------------===//
#include "../Loops/PastCaches.h"
#include "ColumnBlocks.h"
#include "KeptPlace.h"
#include "RowLanes.h"
#include "RowsAhead.h"
#include "ShortRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/RowStages.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class RowEmitter {
public:
  RowEmitter(KernelFrame &f, cpu::RowScheduleAttr schedule)
      : f(f), schedule(schedule), rows(*f.launch.getRows()), lanes(schedule.getLanes()) {}
  bool run(bool pastCaches);

private:
  /// One row of an expensive value, or all rows.
  struct Kept {
    Memory memory;
    bool wholeSpace = false;
  };
  void planCache();
  Memory stackRow(int64_t length);
  ArrayRef<Coord> placeIn(const Kept &kept, ArrayRef<Coord> at) {
    return kept.wholeSpace ? at : at.drop_front(rows);
  }
  struct RowBlock {
    unsigned rows, lanes;
  };
  RowBlock rowsBeside();
  void emitRows(Value task, unsigned count);
  void emitStage(unsigned number);
  void emitStores();
  /// A point, or lanes of them, with what was carried there; a mask where not all lanes count.
  using PointBody = function_ref<SmallVector<Value>(ArrayRef<Coord>, ValueRange, Value)>;
  void pointLoop(SmallVector<Value> accumulators, ArrayRef<TypedAttr> neutrals, PointBody body,
                 SmallVectorImpl<Value> &totals, ArrayRef<prim::ReduceOp> reduces,
                 bool mayRepeat = true);
  void foldLanes(MutableArrayRef<Value> vectors, ArrayRef<prim::ReduceOp> reduces, unsigned width);
  bool isOpenRow() { return !getConstantIntValue(extents.back()); }
  Value lanesFrom(Value i, Value first);
  Coords rowCoords();
  SmallVector<Coord> pointCoords(ValueRange inner, Value last);

  KernelFrame &f;
  cpu::RowScheduleAttr schedule;
  unsigned rows, lanes;
  std::vector<RowStage> stages;
  std::optional<RowsAhead> ahead;
  SmallVector<Value> extents;         ///< of the whole space
  SmallVector<Value> rowIndex;        ///< of the current task
  Value fullValue;                    ///< the operand of the first reduction: has the space's shape
  llvm::MapVector<Value, Kept> cache; ///< expensive values
  DenseSet<Value> cached;             ///< those already computed in this row
};

} // namespace

/// `length` elements for all rows of a thread.
Memory RowEmitter::stackRow(int64_t length) {
  Type f32 = f.b.getF32Type(), pointer = LLVM::LLVMPointerType::get(f.b.getContext());
  Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(length));
  Memory row{LLVM::AllocaOp::create(f.b, pointer, f32, count, 64), {}, f32};
  for (Value extent : ArrayRef(extents).drop_front(rows))
    row.extents.push_back(extent);
  return row;
}

/// Values of the whole space that are expensive and read by two loops, at their own points.
void RowEmitter::planCache() {
  auto full = tensorType(fullValue);
  ArrayRef<int64_t> inner = full.getShape().drop_front(rows);
  int64_t length = 1;
  for (int64_t d : inner)
    length = ShapedType::isDynamic(d) || length < 0 ? -1 : length * d;
  bool onStack = length >= 0 && length <= schedule.getKept();
  DenseSet<unsigned> taken;
  for (Operation &op : f.launch.getBody().front()) {
    if (!op.hasTrait<prim::VeryCostly>() ||
        tensorType(op.getResult(0)).getShape() != full.getShape() ||
        tensorType(op.getResult(0)).getElementType() != f.b.getF32Type() ||
        loopsThatRead(f.launch, stages, &op) < 2 || !isReadInPlace(op.getResult(0)))
      continue;
    Value value = op.getResult(0);
    bool isResult = llvm::is_contained(f.yield().getValues(), value);
    std::optional<unsigned> place;
    if (extents.size() > rows && (isResult || !onStack))
      place = resultKeeping(f.launch, stages, &op);
    if (place && taken.insert(*place).second)
      cache[value] = {f.results[*place], /*wholeSpace=*/true};
    else if (onStack)
      cache[value] = {stackRow(length)};
  }
}

SmallVector<Coord> RowEmitter::pointCoords(ValueRange inner, Value last) {
  SmallVector<Coord> at;
  for (Value i : rowIndex)
    at.push_back(Coord::uniform(i));
  for (Value i : inner)
    at.push_back(Coord::uniform(i));
  at.push_back(Coord::affine(last, f.e.lanes() > 1 ? 1 : 0));
  return at;
}

/// A mask of the lanes that lie behind `first`, of those from `i` on.
Value RowEmitter::lanesFrom(Value i, Value first) {
  Value lane = arith::ConstantOp::create(
      f.b, f.b.getI32VectorAttr(llvm::to_vector(llvm::seq<int32_t>(0, f.e.lanes()))));
  Value seen = arith::IndexCastOp::create(f.b, f.b.getI32Type(), f.e.subIndex(first, i));
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::sge, lane, f.e.splat(seen, f.e.lanes()));
}

/// Folds the lanes of accumulators pairwise, down to `width`.
void RowEmitter::foldLanes(MutableArrayRef<Value> vectors, ArrayRef<prim::ReduceOp> reduces,
                           unsigned width) {
  for (auto [v, reduce] : llvm::zip_equal(vectors, reduces))
    for (unsigned half = f.e.lanes() / 2; half >= width; half /= 2) {
      auto part = [&, whole = v](unsigned from) -> Value {
        auto numbers = llvm::to_vector(llvm::seq<int64_t>(from, from + half));
        return vector::ShuffleOp::create(f.b, whole, whole, numbers);
      };
      Type e = tensorType(prim::ReduceOp(reduce).getX()).getElementType();
      v = emitCombine(f.b, prim::ReduceOp(reduce).getKind(), e, part(0), part(half));
    }
}

/// One loop nest over the row's points carrying accumulators: vectors first, each
/// folded to a scalar, then the remaining points; or those as part of a vector before that, with
/// some again where `mayRepeat`.
void RowEmitter::pointLoop(SmallVector<Value> accumulators, ArrayRef<TypedAttr> neutrals,
                           PointBody body, SmallVectorImpl<Value> &totals,
                           ArrayRef<prim::ReduceOp> reduces, bool mayRepeat) {
  ImplicitLocOpBuilder &b = f.b;
  auto inner = ArrayRef(extents).drop_front(rows);
  Value high = inner.back();
  // Of an open length several vectors, then one at a time.
  unsigned width = isOpenRow() ? std::min(lanes, f.cpu.lanes(32)) : lanes;
  Value n = f.e.index(width);
  Value middle = lanes > 1 ? f.e.mulIndex(f.e.divIndex(high, n), n) : f.e.index(0);
  bool isOpen = mayRepeat && !f.cpu.maskedMemory && lanes > 1 && isOpenRow();
  bool overlaps = isOpen || (mayRepeat && f.endsOverlapping(f.e.index(0), high, width));
  bool endsInVector = overlaps || f.endsMasked(f.e.index(0), high, width), isEnd = false;

  // Loops over all inner axes but the last, then the last one.
  std::function<SmallVector<Value>(SmallVector<Value>, SmallVector<Value>, Value, Value, unsigned)>
      nest = [&](SmallVector<Value> indices, SmallVector<Value> carried, Value low, Value top,
                 unsigned step) -> SmallVector<Value> {
    bool last = indices.size() + 1 == inner.size();
    Value from = last ? low : f.e.index(0), to = last ? top : inner[indices.size()];
    auto loop = scf::ForOp::create(b, from, to, f.e.index(last ? step : 1), carried);
    OpBuilder::InsertionGuard guard(b);
    if (loop.getBody()->mightHaveTerminator() && !loop.getBody()->empty())
      loop.getBody()->getTerminator()->erase();
    b.setInsertionPointToStart(loop.getBody());
    Value iv = loop.getInductionVar();
    SmallVector<Value> next = f.e.nested([&]() -> SmallVector<Value> {
      SmallVector<Value> args(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      if (!last) {
        SmallVector<Value> deeper(indices);
        deeper.push_back(iv);
        return nest(deeper, args, low, top, step);
      }
      if (isEnd && overlaps)
        return body(pointCoords(indices, iv), args, lanesFrom(iv, middle));
      if (step > 1)
        f.e.bindAligned(iv);
      Value mask = isEnd ? f.lanesUpTo(iv, high) : Value();
      if (mask)
        f.e.setMask(mask);
      return body(pointCoords(indices, iv), args, mask);
    });
    scf::YieldOp::create(b, next);
    return SmallVector<Value>(loop.getResults().begin(), loop.getResults().end());
  };

  if (lanes > 1) {
    f.e.setLanes(lanes);
    SmallVector<Value> vectors;
    for (TypedAttr neutral : neutrals)
      vectors.push_back(f.e.splat(arith::ConstantOp::create(b, neutral), lanes));
    Value first = f.e.index(0);
    if (width < lanes) {
      Value whole = f.e.index(lanes), end = f.e.mulIndex(f.e.divIndex(high, whole), whole);
      vectors = nest({}, vectors, first, end, lanes);
      foldLanes(vectors, reduces, width);
      f.e.setLanes(width);
      first = end;
    }
    vectors = nest({}, vectors, first, middle, width);
    isEnd = endsInVector;
    Value last = overlaps ? f.e.subIndex(high, n) : middle, rest = high;
    if (isOpen) { // of no whole vector points are left
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, middle, high);
      Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, high, n);
      Value ends = arith::AndIOp::create(b, some, whole);
      last = arith::SelectOp::create(b, ends, last, high);
      rest = arith::SelectOp::create(b, ends, high, middle);
    }
    if (isEnd)
      vectors = nest({}, vectors, last, high, width);
    isEnd = false;
    if (isOpen)
      middle = rest;
    foldLanes(vectors, reduces, 1);
    f.e.setLanes(1);
    for (auto [sum, v] : llvm::zip_equal(accumulators, vectors))
      sum = vector::ExtractOp::create(b, v, int64_t(0));
  }
  auto cm = getConstantIntValue(middle), ch = getConstantIntValue(high);
  if ((isOpen || !endsInVector) && !(cm && ch && *cm == *ch))
    accumulators = nest({}, accumulators, middle, high, 1);
  totals.assign(accumulators.begin(), accumulators.end());
}

void RowEmitter::emitStage(unsigned number) {
  ImplicitLocOpBuilder &b = f.b;
  const RowStage &stage = stages[number];
  SmallVector<TypedAttr> neutrals;
  SmallVector<Value> init, totals;
  for (prim::ReduceOp r : stage) {
    neutrals.push_back(neutralElement(r.getKind(), tensorType(r.getX()).getElementType()));
    init.push_back(arith::ConstantOp::create(b, neutrals.back()));
  }
  // Cached values that this loop is the first to compute are written on the way.
  SmallVector<Value> fresh;
  for (auto &[value, kept] : cache) {
    if (cached.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (llvm::any_of(stage, [&](prim::ReduceOp r) { return dependsOn(r.getX(), {op}); }))
      fresh.push_back(value);
  }
  // Where the row's result goes, what it is made of may lie.
  bool mayRepeat = llvm::none_of(fresh, [&](Value value) { return cache[value].wholeSpace; });
  llvm::SaveAndRestore wider(lanes, lanesOfStage(f, stage, extents.back(), lanes));
  pointLoop(
      init, neutrals,
      [&](ArrayRef<Coord> at, ValueRange carried, Value mask) {
        ahead->fetch(number, at);
        for (Value value : fresh)
          if (Value v = f.e.eval(value, at))
            f.e.store(cache[value].memory, placeIn(cache[value], at), v);
        SmallVector<Value> next;
        for (auto [i, acc] : llvm::enumerate(carried))
          next.push_back(combined(f, stage[i], neutrals[i], acc, at, mask));
        return next;
      },
      totals, stage, mayRepeat);
  for (auto [i, total] : llvm::enumerate(totals)) {
    prim::ReduceOp r = stage[i];
    f.e.bindProvider(r.getResult(), [total](ArrayRef<Coord>) { return total; });
  }
  for (Value value : fresh) {
    cached.insert(value);
    f.e.bindProvider(value, [this, kept = cache[value]](ArrayRef<Coord> at) {
      return f.e.load(kept.memory, placeIn(kept, at));
    });
  }
}

void RowEmitter::emitStores() {
  SmallVector<std::pair<Value, Memory>> points;
  for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
    if (memory.extents.size() == extents.size() && extents.size() != rows) {
      auto *kept = cache.find(value);
      if (kept == cache.end() || !kept->second.wholeSpace) // else it lies there already
        points.push_back({value, memory});
      continue;
    }
    Coords at;
    for (Value i : rowIndex)
      at.push_back(Coord::uniform(i));
    Value v = f.e.eval(value, at);
    if (!v) {
      f.failed = true;
      return;
    }
    f.e.store(memory, at, v);
  }
  if (points.empty())
    return;
  auto inner = ArrayRef(extents).drop_front(rows);
  std::function<void(SmallVector<Value>)> nest = [&](SmallVector<Value> indices) {
    if (indices.size() + 1 < inner.size()) {
      f.loop(f.e.index(0), inner[indices.size()], 1, [&](Value i) {
        SmallVector<Value> deeper(indices);
        deeper.push_back(i);
        nest(deeper);
      });
      return;
    }
    auto storePoints = [&](ArrayRef<Value> places) {
      SmallVector<Value> elements;
      ahead->fetch(stages.size(), pointCoords(indices, places.front()));
      for (Value i : places)
        for (auto &[value, memory] : points) {
          elements.push_back(f.e.eval(value, pointCoords(indices, i)));
          f.failed |= !elements.back();
        }
      auto *element = elements.begin();
      for (Value i : places)
        for (auto &[value, memory] : points)
          if (Value v = *element++)
            f.e.store(memory, pointCoords(indices, i), v);
    };
    // Of an open length several vectors, then one at a time.
    unsigned width = isOpenRow() ? std::min(lanes, f.cpu.lanes(32)) : lanes;
    Value first = width < lanes ? f.wholeVectors(inner.back(), lanes, storePoints) : f.e.index(0);
    f.overlappingLoop(first, inner.back(), width, true, storePoints);
  };
  nest({});
}

/// Rows that are done beside each other, in half of the registers: with few of those more rows of
/// less vectors, since each row is a stream of its own for the hardware that reads ahead.
RowEmitter::RowBlock RowEmitter::rowsBeside() {
  constexpr unsigned kManyRegisters = 32, kMany = 4, kFew = 8, kMostOperators = 8, kLeastTurns = 4;
  constexpr unsigned kBits = 32;
  auto length = getConstantIntValue(extents.back());
  if (rows == 0 || stages.size() != 1 || stages.front().size() != 1 || !length || lanes == 1)
    return {1, lanes};
  unsigned operators = 0;
  bool share = false;
  for (Operation &op : f.launch.getBody().front()) {
    operators += prim::isElementwise(&op);
    if (op.hasTrait<prim::VeryCostly>())
      return {1, lanes};
    auto broadcast = dyn_cast<prim::BroadcastOp>(op);
    int64_t last = extents.size() - 1;
    share |= broadcast && !broadcast.getAxes().empty() && broadcast.getAxes().back() == last &&
             llvm::none_of(broadcast.getAxes(), [&](int64_t axis) { return axis < rows; }) &&
             tensorType(broadcast.getX()).getShape().back() != 1;
  }
  for (const Memory &memory : f.results)
    if (memory.extents.size() == extents.size() && extents.size() != rows)
      return {1, lanes};
  unsigned count = f.cpu.vectorRegisters >= kManyRegisters ? kMany : kFew;
  Type element = computeType(tensorType(fullValue).getElementType());
  unsigned bits = std::max(kBits, element.getIntOrFloatBitWidth());
  unsigned most = f.cpu.lanes(bits) * (f.cpu.vectorRegisters / 2 / count);
  if (!share || operators > kMostOperators ||
      *length < int64_t(kLeastTurns) * std::min(lanes, most))
    return {1, lanes};
  if (const Memory *matrix = farNarrowMatrix(f, fullValue)) {
    constexpr int64_t kDistance = 16384;
    constexpr unsigned kVectors = 8;
    ahead->stream(*matrix, kDistance);
    return {1, kVectors * f.cpu.lanes(bits)};
  }
  if (!longRows(f, fullValue, rows))
    return {1, lanes};
  return {count, std::min(lanes, most)};
}

/// `count` rows from `task` on, of which one value each is made and stored.
void RowEmitter::emitRows(Value task, unsigned count) {
  prim::ReduceOp reduce = stages.front().front();
  TypedAttr neutral = neutralElement(reduce.getKind(), tensorType(reduce.getX()).getElementType());
  SmallVector<SmallVector<Value>> places;
  for (unsigned row = 0; row < count; ++row)
    places.push_back(
        f.delinearize(f.e.addIndex(task, f.e.index(row)), ArrayRef(extents).take_front(rows)));
  Value none = arith::ConstantOp::create(f.b, neutral);
  SmallVector<Value> totals;
  rowIndex = places.front();
  pointLoop(
      SmallVector<Value>(count, none), SmallVector<TypedAttr>(count, neutral),
      [&](ArrayRef<Coord> at, ValueRange carried, Value mask) {
        SmallVector<Value> next;
        for (auto [place, sum] : llvm::zip_equal(places, carried)) {
          Coords here;
          for (Value i : place)
            here.push_back(Coord::uniform(i));
          here.append(at.begin() + rows, at.end());
          next.push_back(combined(f, reduce, neutral, sum, here, mask));
        }
        return next;
      },
      totals, SmallVector<prim::ReduceOp>(count, reduce));
  for (auto [place, total] : llvm::zip_equal(places, totals)) {
    rowIndex = place;
    f.e.forget();
    f.e.bindProvider(reduce.getResult(), [sum = total](ArrayRef<Coord>) { return sum; });
    emitStores();
  }
}

bool RowEmitter::run(bool pastCaches) {
  stages = rowStages(f.launch);
  fullValue = stages.front().front().getX();
  for (unsigned i = 0; i < tensorType(fullValue).getRank(); ++i)
    extents.push_back(f.e.extent(fullValue, i));
  planCache();
  bool storesRows = llvm::any_of(
      f.results, [&](const Memory &memory) { return memory.extents.size() == extents.size(); });
  ahead.emplace(f, fullValue, rows, stages.size() + storesRows, pastCaches);
  Value first = f.begin;
  RowBlock block = rowsBeside();
  if (block.rows == 1)
    lanes = block.lanes;
  if (block.rows > 1) {
    Value n = f.e.index(block.rows), tasks = f.e.subIndex(f.end, f.begin);
    first = f.e.addIndex(f.begin, f.e.mulIndex(f.e.divIndex(tasks, n), n));
    std::swap(lanes, block.lanes);
    f.loop(f.begin, first, block.rows, [&](Value task) { emitRows(task, block.rows); });
    std::swap(lanes, block.lanes);
  }
  f.loop(first, f.end, 1, [&](Value task) {
    rowIndex = f.delinearize(task, ArrayRef(extents).take_front(rows));
    cached.clear();
    for (unsigned stage = 0; stage < stages.size(); ++stage)
      emitStage(stage);
    emitStores();
  });
  // What this code has computed is not known where the rows are done by other code.
  for (Operation &op : f.launch.getBody().front().without_terminator())
    f.e.bindProvider(op.getResult(0), {});
  return !f.failed;
}

bool tcc::codegen::emitRowKernel(KernelFrame &frame, cpu::RowScheduleAttr schedule) {
  if (!frame.cpu.maskedMemory)
    frame.e.askForWholeVectors();
  if (schedule.getAcross())
    return emitShortRows(frame, schedule);
  auto reduce = *frame.launch.getBody().front().getOps<prim::ReduceOp>().begin();
  if (reduce.getAxes().back() + 1 != tensorType(reduce.getX()).getRank())
    return schedule.getColumns() ? emitColumnBlocks(frame, schedule)
                                 : emitNarrowLines(frame, schedule);
  bool ok = true;
  auto emit = [&](bool pastCaches) { ok &= RowEmitter(frame, schedule).run(pastCaches); };
  schedule.getPastCaches() ? emitPastCaches(frame, emit) : emit(/*pastCaches=*/false);
  return ok;
}
