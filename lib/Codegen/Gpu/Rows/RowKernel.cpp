//===- RowKernel.cpp - Rows reduced by a warp or a block ------------------===//
//
// softmax, layer norm, sums along the last axes. The threads of a row take its vectors in turn, so
// that their accesses join. Each stage of reductions (RowStages.h) is a pass over the thread's own
// points, a sum over the warp by lane exchange, and for a block one over the warps through shared
// memory; every thread then holds the result. All in one fixed order, so that results repeat.
//
// Where a thread has few points, passes are written out one after the other and the emitter's
// memory of values keeps the row in registers: it is read once. Elsewhere a thread reads a few
// vectors before it uses the first. Rows whose length only a run knows are a warp's each, if that
// proves to be short, and else a block's; a branch for each number of points that a thread keeps.
// Along several axes their points are walked, as divisions for each took longer than all else.
//
// Rows of a few vectors share a warp, each with a part of its lanes; no warp is half empty then,
// because lanes exchange values in whole warps.
//
// Long rows whose vectors do not begin where they do are read in those of memory; what lies before
// the first one and behind the last is a point each of a few threads.
//
// Rows along axes before others are as many as there are points behind them: neighbouring threads
// have neighbouring points, and lanes are rows of their own.
//
// Few long rows of which one pass is enough are shared by several blocks: each leaves what
// its part combines to in scratch memory, and the last one to be done combines the parts.
//
//===----------------------------------------------------------------------===//
#include "RowParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/RowStages.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

struct Point {
  Coords at;
  Value inside; ///< null: always
};

class RowEmitter {
public:
  explicit RowEmitter(device::KernelFrame &f)
      : f(f), b(f.b), stages(rowStages(f.launch)), rows(*f.launch.getRows()),
        lineAxes(lineAxesOf(f.launch)) {}
  void run();

private:
  void emitRow(Value row);
  void emitOpenRows();
  void findVectors();
  void finishRow(Value row);
  Point pointOf(Value vectorIndex, ValueRange place = {});
  bool walks() const {
    // A plane alone is read by its points' numbers; carried in 64 bits, means took twice as long.
    bool cheap = units.size() > 2 || f.schedule.getIndexBits() == 32;
    return cheap && !start && !lineAxes && RowWalk::pays(units);
  }
  void forEachPoint(SmallVector<Value> &carried,
                    llvm::function_ref<SmallVector<Value>(const Point &, ValueRange)> body);
  void forEachRound(SmallVector<Value> &carried,
                    llvm::function_ref<SmallVector<Value>(ArrayRef<Point>, ValueRange)> body);
  SmallVector<Value> reduceOwn(const RowStage &stage);
  void emitStage(const RowStage &stage, unsigned number);
  Value reduceBlock(Value v, prim::ReduceOp reduce, const Twine &name) {
    return device::reduceBlock(f, v, reduce, lane, threads, name);
  }
  void storePoints(ArrayRef<std::pair<Value, Memory>> results);
  void storeRow(ArrayRef<std::pair<Value, Memory>> values);
  Coords rowCoords(RankedTensorType type);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  std::vector<RowStage> stages;
  unsigned rows, lineAxes;     ///< axes before and behind those of a row
  SmallVector<Value> extents;  ///< of the whole space
  SmallVector<Value> units;    ///< the row's extents, the last one counted in vectors
  SmallVector<Value> rowUnits; ///< those that number rows
  Value length;                ///< vectors of a row
  Value lane;                  ///< of the threads of a block that share a row
  Value part, parts;           ///< of the blocks that share a row: the block's, and how many
  Coords rowIndex;             ///< along the axes before a row and those behind it
  Value rowInside;             ///< whether there is such a row; null: always
  unsigned threads = 0;        ///< of a row
  unsigned keeps = 0;          ///< elements of a thread, where they stay in registers
  SmallVector<Point> kept;     ///< the thread's points, where they are few
  /// Of a row that vectors do not divide: its first element and its first vector in memory.
  Value start, firstVector;
  Point end; ///< the thread's point outside of vectors
  Elemental::Memo ofEnd;
};

} // namespace

/// The vector that `index` numbers in the row; past the end, the last one, which counts
/// for nothing. A row that is walked has its `place` as well.
Point RowEmitter::pointOf(Value index, ValueRange place) {
  Point point;
  SmallVector<Value> within(place);
  auto known = getConstantIntValue(length);
  unsigned together = threads * f.schedule.getSplit();
  if (keeps == 0)
    together *= f.schedule.getVectors();
  if (!place.empty()) {
    point.inside = f.less(place[0], units[0]);
    within[0] = arith::MinUIOp::create(b, place[0], f.e.subIndex(units[0], f.e.index(1)));
  } else if (!known || *known % together != 0) {
    point.inside = f.less(index, length);
    index = arith::MinUIOp::create(b, index, f.e.subIndex(length, f.e.index(1)));
  }
  if (rowInside)
    point.inside =
        point.inside ? Value(arith::AndIOp::create(b, point.inside, rowInside)) : rowInside;
  llvm::append_range(point.at, ArrayRef(rowIndex).take_front(rows));
  if (start) {
    Value place = f.e.mulIndex(f.e.addIndex(firstVector, index), f.e.index(f.schedule.getLanes()));
    point.at.push_back(Coord::affine(f.e.subIndex(place, start), 1));
    return point;
  }
  for (Value i : place.empty() ? f.delinearize(index, units) : within)
    point.at.push_back(Coord::uniform(i));
  llvm::append_range(point.at, ArrayRef(rowIndex).drop_front(rows));
  if (f.schedule.getLanes() > 1 && !lineAxes) {
    Value first = arith::MulIOp::create(b, point.at.back().base, f.e.index(f.schedule.getLanes()));
    f.e.bindAligned(first);
    point.at.back() = Coord::affine(first, 1);
  }
  return point;
}

/// The vectors of a row that they do not divide, and the thread's point outside of them.
void RowEmitter::findVectors() {
  Value lanes = f.e.index(f.schedule.getLanes()), columns = extents.back();
  Value stride = columns;
  start = f.e.index(0);
  for (unsigned axis = rows; axis-- > 0; stride = f.e.mulIndex(stride, extents[axis]))
    start = f.e.addIndex(start, f.e.mulIndex(rowIndex[axis].base, stride));
  firstVector = f.e.divIndex(f.e.addIndex(start, f.e.index(f.schedule.getLanes() - 1)), lanes);
  Value before = f.e.subIndex(f.e.mulIndex(firstVector, lanes), start);
  length = f.e.divIndex(f.e.subIndex(columns, before), lanes);
  Value inVectors = f.e.mulIndex(length, lanes);
  Value outside = f.less(lane, f.e.subIndex(columns, inVectors));
  Value column =
      arith::SelectOp::create(b, f.less(lane, before), lane, f.e.addIndex(lane, inVectors));
  end.at = rowIndex;
  end.at.push_back(Coord::uniform(arith::SelectOp::create(b, outside, column, f.e.index(0))));
  end.inside = outside;
  if (part)
    end.inside = arith::AndIOp::create(
        b, outside, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, f.e.index(0)));
}

/// Calls `body` for every point of the thread, carrying values.
void RowEmitter::forEachPoint(
    SmallVector<Value> &carried,
    llvm::function_ref<SmallVector<Value>(const Point &, ValueRange)> body) {
  forEachRound(carried, [&](ArrayRef<Point> points, ValueRange carried) {
    SmallVector<Value> next(carried.begin(), carried.end());
    for (const Point &point : points)
      next = body(point, next);
    return next;
  });
}

/// The same for a round of them: those that are read together, or one that is kept.
void RowEmitter::forEachRound(
    SmallVector<Value> &carried,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Point>, ValueRange)> body) {
  if (keeps > 0) {
    for (const Point &point : kept)
      carried = body(point, carried);
    return;
  }
  Value apart = f.e.index(threads);
  if (part)
    apart = f.e.mulIndex(parts, apart);
  int64_t vectors = f.schedule.getVectors();
  Value step = f.e.mulIndex(apart, f.e.index(vectors)), first = lane;
  if (part)
    first = f.e.addIndex(f.e.mulIndex(part, f.e.index(threads)), lane);
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.subIndex(step, f.e.index(1))), step);
  std::optional<RowWalk> walk;
  SmallVector<Value> begin(carried);
  if (walks())
    llvm::append_range(begin, walk.emplace(f, units, apart).at(first));
  auto loop = scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), begin);
  OpBuilder::InsertionGuard guard(b);
  if (!loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    Value index = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step), first);
    SmallVector<Point> points;
    auto left = loop.getRegionIterArgs().take_front(carried.size());
    SmallVector<Value> place(loop.getRegionIterArgs().drop_front(carried.size()));
    for (int64_t i = 0; i < vectors; ++i) {
      points.push_back(pointOf(f.e.addIndex(index, f.e.mulIndex(f.e.index(i), apart)), place));
      if (walk)
        place = walk->next(place);
    }
    SmallVector<Value> next = body(points, left);
    llvm::append_range(next, place);
    return next;
  });
  scf::YieldOp::create(b, next);
  llvm::copy(loop.getResults().take_front(carried.size()), carried.begin());
}

/// What the thread's own points combine to, for each reduction.
SmallVector<Value> RowEmitter::reduceOwn(const RowStage &stage) {
  SmallVector<Value> totals, neutrals;
  for (prim::ReduceOp r : stage) {
    Value neutral = arith::ConstantOp::create(
        b, neutralElement(r.getKind(), tensorType(r.getX()).getElementType()));
    neutrals.push_back(f.schedule.getLanes() > 1 ? f.e.splat(neutral, f.schedule.getLanes())
                                                 : neutral);
  }
  totals = neutrals;
  forEachPoint(totals, [&](const Point &point, ValueRange carried) {
    SmallVector<Value> next;
    for (auto [i, total] : llvm::enumerate(carried)) {
      prim::ReduceOp r = stage[i];
      Value v = f.e.evalVector(r.getX(), point.at);
      f.failed |= !v;
      if (v && point.inside)
        v = arith::SelectOp::create(b, point.inside, v, neutrals[i]);
      next.push_back(
          v ? emitCombine(b, r.getKind(), tensorType(r.getX()).getElementType(), total, v) : total);
    }
    return next;
  });
  for (auto [total, reduce] : llvm::zip(totals, stage))
    total = lineAxes ? total : foldLanes(b, total, reduce);
  if (start)
    f.e.withLanes(1, ofEnd, [&] {
      for (auto [i, total] : llvm::enumerate(totals)) {
        prim::ReduceOp reduce = stage[i];
        Type e = tensorType(reduce.getX()).getElementType();
        Value v = f.e.eval(reduce.getX(), end.at);
        f.failed |= !v;
        if (!v)
          continue;
        Value neutral = arith::ConstantOp::create(b, neutralElement(reduce.getKind(), e));
        v = arith::SelectOp::create(b, end.inside, v, neutral);
        total = emitCombine(b, reduce.getKind(), e, total, v);
      }
    });
  return totals;
}

void RowEmitter::emitStage(const RowStage &stage, unsigned number) {
  for (auto [i, own] : llvm::enumerate(reduceOwn(stage))) {
    prim::ReduceOp r = stage[i];
    Value v = reduceWarp(b, own, r.getKind(), tensorType(r.getX()).getElementType(),
                         std::min<unsigned>(threads, GpuArch::warp));
    if (threads > GpuArch::warp)
      v = reduceBlock(v, r, "partials" + Twine(number) + "_" + Twine(i) + "_" + Twine(keeps));
    f.e.bindProvider(r.getResult(), [v](ArrayRef<Coord>) { return v; });
  }
}

/// All of a round is read before one point of it is written.
void RowEmitter::storePoints(ArrayRef<std::pair<Value, Memory>> results) {
  SmallVector<Value> none;
  forEachRound(none, [&](ArrayRef<Point> points, ValueRange) {
    SmallVector<SmallVector<Value>> all;
    for (const Point &point : points) {
      SmallVector<Value> &elements = all.emplace_back();
      for (const auto &[value, memory] : results) {
        elements.push_back(f.e.eval(value, point.at));
        f.failed |= !elements.back();
      }
    }
    for (auto [point, elements] : llvm::zip(points, all)) {
      auto store = [&, &point = point, &elements = elements] {
        for (auto [pair, element] : llvm::zip(results, elements))
          if (element)
            f.e.store(pair.second, point.at, element);
      };
      point.inside ? f.when(point.inside, store) : store();
    }
    return SmallVector<Value>();
  });
  if (start)
    f.e.withLanes(1, ofEnd, [&] {
      SmallVector<Value> elements;
      for (const auto &[value, memory] : results) {
        elements.push_back(f.e.eval(value, end.at));
        f.failed |= !elements.back();
      }
      f.when(end.inside, [&] {
        for (auto [pair, element] : llvm::zip(results, elements))
          if (element)
            f.e.store(pair.second, end.at, element);
      });
    });
}

/// Where a row's value lies in a tensor of one a row, unit axes aside.
Coords RowEmitter::rowCoords(RankedTensorType type) {
  auto isOne = [](Value extent) { return getConstantIntValue(extent) == 1; };
  SmallVector<Coord> left;
  for (auto [number, coord] : llvm::enumerate(rowIndex)) {
    unsigned axis =
        number < rows ? unsigned(number) : unsigned(number + extents.size()) - rows - lineAxes;
    if (!isOne(extents[axis]))
      left.push_back(coord);
  }
  Coords at;
  unsigned next = 0;
  for (int64_t extent : type.getShape())
    at.push_back(extent == 1 ? Coord::uniform(f.e.index(0)) : left[next++]);
  return at;
}

/// What is one value a row is stored by the row's first thread, after all have read
/// whatever lay in its place.
void RowEmitter::storeRow(ArrayRef<std::pair<Value, Memory>> values) {
  if (threads > GpuArch::warp)
    f.barrier();
  else if (threads > 1)
    NVVM::SyncWarpOp::create(b, f.i32(-1));
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0));
  if (rowInside)
    leads = arith::AndIOp::create(b, leads, rowInside);
  if (!lineAxes)
    f.e.setLanes(1);
  f.when(leads, [&] {
    for (const auto &[value, memory] : values) {
      Coords at = lineAxes ? rowCoords(tensorType(value)) : rowIndex;
      Value v = f.e.eval(value, at);
      f.failed |= !v;
      if (v)
        f.e.store(memory, at, v);
    }
  });
}

/// The one stage's results of this block's part go to scratch memory; in the last block of
/// the row, its threads take those of all parts in turn.
void RowEmitter::finishRow(Value row) {
  const RowStage &stage = stages[0];
  int64_t split = f.schedule.getSplit(),
          each = (f.schedule.getScratchBytes() - kCounterBytes) / int64_t(stage.size());
  auto slot = [&](unsigned i, Value number) {
    Value index = f.e.addIndex(f.e.mulIndex(row, f.e.index(split)), number);
    return f.scratchAt(i * each, b.getI64Type(), index);
  };
  SmallVector<Value> own = reduceOwn(stage), totals;
  for (auto [i, v] : llvm::enumerate(own)) {
    prim::ReduceOp r = stage[i];
    totals.push_back(reduceBlock(
        reduceWarp(b, v, r.getKind(), tensorType(r.getX()).getElementType()), r, "own" + Twine(i)));
  }
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0));
  f.when(leads, [&] {
    for (auto [i, v] : llvm::enumerate(totals))
      LLVM::StoreOp::create(b, f.asStored(v), slot(i, part));
  });
  f.inLastBlock(row, parts, [&] {
    for (auto [i, own] : llvm::enumerate(totals)) {
      prim::ReduceOp r = stage[i];
      Type e = tensorType(r.getX()).getElementType();
      Value neutral = arith::ConstantOp::create(b, neutralElement(r.getKind(), e)), total = neutral;
      for (int64_t first = 0; first < split; first += threads) {
        Value number = f.e.addIndex(f.e.index(first), lane);
        Value safe = f.minIndex(number, f.e.subIndex(parts, f.e.index(1)));
        Value read = LLVM::LoadOp::create(b, f.asStored(own.getType()), slot(i, safe));
        Value v = arith::SelectOp::create(b, f.less(number, parts),
                                          f.asComputed(read, own.getType()), neutral);
        total = emitCombine(b, r.getKind(), e, total, v);
      }
      Value v = reduceBlock(reduceWarp(b, total, r.getKind(), e), r, "all" + Twine(i));
      f.e.bindProvider(r.getResult(), [v](ArrayRef<Coord>) { return v; });
    }
    SmallVector<std::pair<Value, Memory>> values;
    for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results))
      values.push_back({value, memory});
    storeRow(values);
  });
}

void RowEmitter::emitRow(Value row) {
  SmallVector<Value> others(rowUnits);
  rowIndex.clear();
  for (Value i : f.delinearize(row, others))
    rowIndex.push_back(Coord::uniform(i));
  f.e.setLanes(f.schedule.getLanes());
  if (lineAxes && f.schedule.getLanes() > 1) {
    Value first = arith::MulIOp::create(b, rowIndex.back().base, f.e.index(f.schedule.getLanes()));
    f.e.bindAligned(first);
    rowIndex.back() = Coord::affine(first, 1);
  }
  auto columns = getConstantIntValue(extents.back());
  if (!lineAxes && columns && *columns % f.schedule.getLanes() != 0)
    findVectors();
  kept.clear();
  std::optional<RowWalk> walk;
  SmallVector<Value> place;
  if (keeps > 0 && walks())
    place = walk.emplace(f, units, f.e.index(threads)).at(lane);
  for (unsigned i = 0; i < keeps / f.schedule.getLanes(); ++i) {
    kept.push_back(pointOf(f.e.addIndex(f.e.index(int64_t(i) * threads), lane), place));
    if (walk)
      place = walk->next(place);
  }
  if (part)
    return finishRow(row);
  for (auto [number, stage] : llvm::enumerate(stages))
    emitStage(stage, number);
  SmallVector<std::pair<Value, Memory>> points, values;
  for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
    bool isPoint =
        memory.extents.size() == extents.size() && extents.size() != rows &&
        (!lineAxes || tensorType(value).getShape() == tensorType(rowSpace(f.launch)).getShape());
    (isPoint ? points : values).push_back({value, memory});
  }
  if (!points.empty())
    storePoints(points);
  if (!values.empty())
    storeRow(values);
}

/// Rows of a warp each, or of a block each: as many blocks as the host starts for such a length.
void RowEmitter::emitOpenRows() {
  Value isLonger = arith::ConstantOp::create(b, b.getBoolAttr(true)), isTrue = isLonger;
  for (const device::OpenRowForm &form : device::openRowForms(f.schedule)) {
    bool inWarp = form.threads == GpuArch::warp;
    unsigned inBlock = inWarp ? f.schedule.getRows() * GpuArch::warp : f.schedule.getThreads();
    Value row = f.block;
    if (inWarp)
      row = f.e.addIndex(f.e.mulIndex(row, f.e.index(f.schedule.getRows())),
                         f.e.divIndex(f.thread, f.e.index(GpuArch::warp)));
    Value condition = isLonger;
    if (!ShapedType::isDynamic(form.most)) {
      // Without any elements there is nothing to keep.
      Value least = form.kept ? f.e.subIndex(length, f.e.index(1)) : length;
      Value fits = f.less(least, f.e.index(form.kept ? form.most : form.most + 1));
      condition = arith::AndIOp::create(b, condition, fits);
      isLonger = arith::AndIOp::create(b, isLonger, arith::XOrIOp::create(b, fits, isTrue));
    }
    if (inWarp)
      condition = arith::AndIOp::create(b, condition, f.less(row, f.volume(rowUnits)));
    if (inBlock < f.schedule.getThreads())
      condition = arith::AndIOp::create(b, condition, f.less(f.thread, f.e.index(inBlock)));
    f.when(condition, [&] {
      threads = form.threads;
      keeps = form.kept;
      lane = f.e.remIndex(f.thread, f.e.index(threads));
      emitRow(row);
    });
  }
}

void RowEmitter::run() {
  Value space = rowSpace(f.launch);
  if (!space) {
    f.launch.emitError("row kernel without a reduction");
    f.failed = true;
    return;
  }
  for (unsigned i = 0; i < tensorType(space).getRank(); ++i)
    extents.push_back(f.e.extent(space, i));
  units.assign(extents.begin() + rows, extents.end() - lineAxes);
  rowUnits.assign(extents.begin(), extents.begin() + rows);
  rowUnits.append(extents.end() - lineAxes, extents.end());
  Value &vectors = lineAxes ? rowUnits.back() : units.back();
  vectors = f.e.divIndex(vectors, f.e.index(f.schedule.getLanes()));
  length = f.volume(units);
  threads = f.schedule.getRowThreads();
  keeps = f.schedule.getKept();
  if (f.schedule.getRows())
    return emitOpenRows();
  Value perRow = f.e.index(threads);
  if (threads == f.schedule.getThreads()) {
    lane = f.thread;
    if (f.schedule.getSplit() == 1)
      return emitRow(f.block);
    parts = getConstantIntValue(length) ? f.e.index(f.schedule.getSplit())
                                        : partsOfOpenRow(b, b.getLoc(), length, f.schedule);
    part = f.e.remIndex(f.block, parts);
    return emitRow(f.e.divIndex(f.block, parts));
  }
  lane = f.e.remIndex(f.thread, perRow);
  Value row = f.e.divIndex(f.globalThread(), perRow), count = f.volume(rowUnits);
  unsigned inWarp = GpuArch::warp / std::min(threads, GpuArch::warp);
  if (auto known = getConstantIntValue(count); known && *known % inWarp != 0 && threads > 1) {
    // Lanes exchange values in whole warps: past the end they do the last row, and store nothing.
    rowInside = f.less(row, count);
    return emitRow(f.minIndex(row, f.e.subIndex(count, f.e.index(1))));
  }
  f.when(f.less(row, count), [&] { emitRow(row); });
}

void device::emitRowKernel(KernelFrame &f) { RowEmitter(f).run(); }
