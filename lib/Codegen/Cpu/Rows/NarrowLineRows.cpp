//===- NarrowLineRows.cpp - Rows of lines of a few points -----------------===//
//
// softmax and sums over an axis before a few last points (64×1000×7 over axis 1). A task is a row:
// lines of points, one below the other. As many lines as fill vectors are a turn, 8 lines of 7
// points as 7 vectors of 8. Lane l of a turn always has point l % 7, so that the sums of a turn's
// vectors are those of points, in 8 parts; these are folded once, behind the loop over the turns:
//
//   for each stage of reductions:
//     for turn of the row: for vector of the turn:   sum of the vector in a register
//     fold the parts, and write what they give lines times one after the other into scratch
//   for turn of the row: for vector of the turn:     store the points
//
// What is done with the results of a row is done once a line, and lies in scratch in the same way,
// so that each vector of a turn reads what belongs to its lanes where it lies. Functions that
// several loops need are kept in a buffer of one row, as in RowKernel.cpp. The lines behind the
// last turn are vectors of it, the last one masked.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/RowStages.h"
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class LinesEmitter {
public:
  LinesEmitter(KernelFrame &f, cpu::RowScheduleAttr schedule, NarrowLines narrow);
  bool run();

private:
  /// A vector of a turn.
  struct Place {
    Value line;         ///< the turn's first
    int64_t offset = 0; ///< of lane 0, from there
    Value mask;         ///< null: all lanes
  };
  using PlaceBody = function_ref<void(int64_t vector)>;
  void bindPoints();
  void planLines();
  Memory scratch(int64_t elements, Type element);
  Memory flattened(const Memory &memory);
  Value flat();
  Coords at(RankedTensorType type);
  Coords atScratch() { return {Coord::affine(f.e.index(here.offset), 1)}; }
  void turn(Value line, int64_t points, PlaceBody body);
  void emitStage(const RowStage &stage);
  Memory fold(prim::ReduceOp reduce, ArrayRef<Value> parts);
  Value foldLines(prim::ReduceOp reduce, ArrayRef<Value> parts);
  Value pointsFrom(Value v, int64_t first, int64_t count);
  void repeat(const Memory &memory, function_ref<Value()> ofLine);
  void computeLines();
  void emitStores();
  void storeLine(Value value, const Memory &memory);
  int64_t turnPoints() const { return turnLines * narrow.points; }

  KernelFrame &f;
  cpu::RowScheduleAttr schedule;
  NarrowLines narrow;
  unsigned rows, lanes;
  int64_t turnLines, vectors;
  RankedTensorType full;
  std::vector<RowStage> stages;
  Value rowFirst; ///< element of the current row
  SmallVector<Value> rowIndex;
  Place here;
  llvm::MapVector<Value, Memory> kept, lines; ///< of a row; broadcasts from lines
  DenseSet<Operation *> pending;              ///< reductions that are not known yet
  DenseSet<Value> known;                      ///< of `kept` and `lines`
};

} // namespace

LinesEmitter::LinesEmitter(KernelFrame &f, cpu::RowScheduleAttr schedule, NarrowLines narrow)
    : f(f), schedule(schedule), narrow(narrow), rows(*f.launch.getRows()),
      lanes(schedule.getLanes()), stages(rowStages(f.launch)) {
  // Several vectors, so that sums do not wait for each other, where there are lines for turns.
  constexpr int64_t kVectors = 4;
  full = tensorType(stages.front().front().getX());
  turnLines = lanes / std::gcd<int64_t>(narrow.points, lanes);
  while (turnPoints() < kVectors * lanes && 4 * turnLines <= narrow.lines)
    turnLines *= 2;
  vectors = turnPoints() / lanes;
}

Memory LinesEmitter::scratch(int64_t elements, Type element) {
  Type pointer = LLVM::LLVMPointerType::get(f.b.getContext());
  Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(elements));
  return {LLVM::AllocaOp::create(f.b, pointer, element, count, 64), {f.e.index(elements)}, element};
}

/// All of it as one axis.
Memory LinesEmitter::flattened(const Memory &memory) {
  Value all = f.e.index(1);
  for (Value extent : memory.extents)
    all = f.e.mulIndex(all, extent);
  return {memory.pointer, {all}, memory.elementType};
}

/// The element of the row that lane 0 has.
Value LinesEmitter::flat() {
  return f.e.addIndex(f.e.mulIndex(here.line, f.e.index(narrow.points)), f.e.index(here.offset));
}

/// The lanes' indices in a value of the rows' shape, or of their results'.
Coords LinesEmitter::at(RankedTensorType type) {
  ImplicitLocOpBuilder &b = f.b;
  Coords coords;
  for (Value i : rowIndex)
    coords.push_back(Coord::uniform(i));
  int64_t width = 0;
  for (int64_t points = 1; points < narrow.points; ++width)
    points *= full.getShape()[full.getRank() - 1 - width];
  ArrayRef<int64_t> shape = full.getShape(), lineShape = shape.take_back(width);
  auto constant = [&](auto number) -> Value {
    SmallVector<int64_t> numbers;
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers.push_back(number(here.offset + lane));
    return arith::ConstantOp::create(b, b.getIndexVectorAttr(numbers));
  };
  if (type.getRank() == full.getRank()) {
    ArrayRef<int64_t> reduced = shape.drop_front(rows).drop_back(width);
    Value first = f.e.splat(here.line, lanes);
    Value line =
        arith::AddIOp::create(b, first, constant([&](int64_t e) { return e / narrow.points; }));
    int64_t after = narrow.lines;
    for (auto [i, extent] : llvm::enumerate(reduced)) {
      after /= extent;
      if (type.getDimSize(rows + i) == 1) {
        coords.push_back(Coord::uniform(f.e.index(0)));
        continue;
      }
      Value index = line;
      if (after > 1)
        index = arith::DivUIOp::create(b, index, f.e.splat(f.e.index(after), lanes));
      if (i > 0)
        index = arith::RemUIOp::create(b, index, f.e.splat(f.e.index(extent), lanes));
      coords.push_back(Coord::any(index));
    }
  }
  int64_t after = narrow.points;
  for (auto [i, extent] : llvm::enumerate(lineShape)) {
    after /= extent;
    coords.push_back(Coord::any(
        constant([&, extent = extent](int64_t e) { return e % narrow.points / after % extent; })));
  }
  return coords;
}

/// What has the rows' shape and lies in memory is read as it lies there.
void LinesEmitter::bindPoints() {
  auto bind = [&](Value value, const Memory *memory) {
    if (!memory || prim::layoutOf(value))
      return;
    Memory whole = flattened(*memory);
    f.e.bindProvider(value, [this, whole](ArrayRef<Coord>) {
      return f.e.load(whole, Coords{Coord::affine(f.e.addIndex(rowFirst, flat()), 1)});
    });
  };
  Block &body = f.launch.getBody().front();
  auto isFull = [&](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && type.getShape() == full.getShape() && isReadInPlace(v);
  };
  for (Value argument : body.getArguments())
    if (isFull(argument))
      bind(argument, f.e.memoryOf(argument));
  for (auto reshape : body.getOps<prim::ReshapeOp>())
    if (isFull(reshape.getResult()) && !prim::layoutOf(reshape.getX()))
      bind(reshape.getResult(), f.e.memoryOf(reshape.getX()));
}

/// What is read several times: functions of points, and what is computed of a row's results.
void LinesEmitter::planLines() {
  for (Operation &op : f.launch.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 || !isa<RankedTensorType>(op.getResult(0).getType()))
      continue;
    Value value = op.getResult(0);
    Type element = computeType(tensorType(value).getElementType());
    if (tensorType(value).getShape() != full.getShape() || element.isInteger(1) ||
        !isReadInPlace(value))
      continue;
    if (op.hasTrait<prim::VeryCostly>() && loopsThatRead(f.launch, stages, &op) > 1 &&
        narrow.lines * narrow.points <= schedule.getKept())
      kept[value] = scratch(narrow.lines * narrow.points + lanes, element);
    auto broadcast = dyn_cast<prim::BroadcastOp>(op);
    if (!broadcast)
      continue;
    bool ofLines = true, ofPoints = false;
    int64_t lineBegin = stages.front().front().getAxes().back() + 1;
    for (auto [extent, axis] :
         llvm::zip(tensorType(broadcast.getX()).getShape(), broadcast.getAxes())) {
      ofLines &= extent == 1 || axis < rows || axis >= lineBegin;
      ofPoints |= extent != 1 && axis >= lineBegin;
    }
    if (ofLines && ofPoints)
      lines[value] = scratch(turnPoints() + narrow.points + lanes, element);
  }
}

/// The vectors of a turn of so many points.
void LinesEmitter::turn(Value line, int64_t points, PlaceBody body) {
  for (int64_t vector = 0; vector * lanes < points; ++vector)
    f.e.nested([&] {
      f.e.forget();
      here = {line, vector * lanes, {}};
      if (int64_t left = points - here.offset; left < lanes) {
        here.mask = f.lanesUpTo(f.e.index(0), f.e.index(left));
        f.e.setMask(here.mask);
      }
      body(vector);
    });
}

void LinesEmitter::emitStage(const RowStage &stage) {
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<TypedAttr> neutrals;
  SmallVector<Value> sums, fresh;
  for (prim::ReduceOp r : stage) {
    neutrals.push_back(neutralElement(r.getKind(), tensorType(r.getX()).getElementType()));
    sums.append(vectors, f.e.splat(arith::ConstantOp::create(b, neutrals.back()), lanes));
  }
  for (auto &[value, memory] : kept)
    if (!known.contains(value) && llvm::any_of(stage, [&, value = value](prim::ReduceOp r) {
          return dependsOn(r.getX(), {value.getDefiningOp()});
        }))
      fresh.push_back(value);
  auto add = [&](Value line, int64_t points, MutableArrayRef<Value> sums) {
    turn(line, points, [&](int64_t vector) {
      Coords coords = at(full);
      for (Value value : fresh)
        if (Value v = f.e.evalVector(value, coords))
          f.e.store(kept[value], Coords{Coord::affine(flat(), 1)}, v);
      for (auto [i, reduce] : llvm::enumerate(stage)) {
        Value &sum = sums[i * vectors + vector];
        sum = combined(f, reduce, neutrals[i], sum, coords, here.mask);
      }
    });
  };
  int64_t whole = narrow.lines / turnLines * turnLines, left = narrow.lines - whole;
  auto loop = scf::ForOp::create(b, f.e.index(0), f.e.index(whole), f.e.index(turnLines), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    f.e.nested([&] { add(loop.getInductionVar(), turnPoints(), carried); });
    scf::YieldOp::create(b, carried);
  }
  sums.assign(loop.getResults().begin(), loop.getResults().end());
  add(f.e.index(whole), left * narrow.points, sums);
  for (size_t i = 0; i < stage.size(); ++i) {
    prim::ReduceOp reduce = stage[i];
    Memory totals = fold(reduce, ArrayRef(sums).slice(i * vectors, vectors));
    f.e.bindProvider(reduce.getResult(),
                     [this, totals](ArrayRef<Coord>) { return f.e.load(totals, atScratch()); });
    pending.erase(reduce);
  }
  for (Value value : fresh) {
    known.insert(value);
    f.e.bindProvider(value, [this, memory = kept[value]](ArrayRef<Coord>) {
      return f.e.load(memory, Coords{Coord::affine(flat(), 1)});
    });
  }
}

/// Calls for each vector of a line, and writes what that gives as often as a turn has lines. Of
/// points that one vector has, whole vectors are written, as they are read: what lies over two
/// that were just written takes as long to come back as they take to leave for the cache.
void LinesEmitter::repeat(const Memory &memory, function_ref<Value()> ofLine) {
  SmallVector<Value> line;
  for (int64_t offset = 0; offset < narrow.points; offset += lanes) {
    here = {f.e.index(0), offset, {}};
    line.push_back(f.e.nested([&] {
      f.e.forget();
      return ofLine();
    }));
  }
  auto store = [&](Value v, int64_t to) {
    f.e.store(memory, Coords{Coord::affine(f.e.index(to), 1)}, v);
  };
  if (line.size() == 1 && line[0] && isa<VectorType>(line[0].getType())) {
    for (int64_t vector = 0; vector < vectors; ++vector)
      store(pointsFrom(line[0], vector * lanes, lanes), vector * lanes);
    return;
  }
  // What is behind the end of a line is written again by the next one, and once more by the last.
  for (int64_t copy = 0; copy <= turnLines; ++copy)
    for (auto [i, v] : llvm::enumerate(line))
      if (v)
        store(v, copy * narrow.points + i * lanes);
}

/// `count` elements of lines that all are as the first points of `v`, from one of the first on.
Value LinesEmitter::pointsFrom(Value v, int64_t first, int64_t count) {
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < count; ++i)
    from.push_back((first + i) % narrow.points);
  return vector::ShuffleOp::create(f.b, v, v, from);
}

/// The sum of all lines of `parts`, whose points one vector has, in its first lanes.
Value LinesEmitter::foldLines(prim::ReduceOp reduce, ArrayRef<Value> parts) {
  Type element = tensorType(reduce.getX()).getElementType();
  int64_t all = parts.size() * lanes;
  Value sum;
  for (auto [part, v] : llvm::enumerate(parts)) { // one long vector
    SmallVector<int64_t> wide(all, 0), taken;
    for (int64_t i = 0; i < int64_t(lanes); ++i)
      wide[part * lanes + i] = i;
    Value own = vector::ShuffleOp::create(f.b, v, v, wide);
    for (int64_t i = 0; i < all; ++i)
      taken.push_back(i < int64_t(part * lanes) ? i : all + i);
    sum = sum ? Value(vector::ShuffleOp::create(f.b, sum, own, taken)) : own;
  }
  for (int64_t half = all / 2; half >= narrow.points; half /= 2) {
    auto from = [&](int64_t first) -> Value {
      return vector::ShuffleOp::create(f.b, sum, sum,
                                       llvm::to_vector(llvm::seq<int64_t>(first, first + half)));
    };
    sum = emitCombine(f.b, reduce.getKind(), element, from(0), from(half));
  }
  return pointsFrom(sum, 0, lanes);
}

/// The parts of a turn's sums, combined and repeated.
Memory LinesEmitter::fold(prim::ReduceOp reduce, ArrayRef<Value> parts) {
  Type element = tensorType(reduce.getX()).getElementType();
  const Memory &memory = lines[reduce.getResult()];
  // After so many vectors lanes have the same points again.
  size_t period = narrow.points / std::gcd<int64_t>(narrow.points, lanes);
  SmallVector<Value> sums(parts.take_front(period));
  for (auto [i, v] : llvm::enumerate(parts.drop_front(period)))
    sums[i % period] = emitCombine(f.b, reduce.getKind(), element, sums[i % period], v);
  if (narrow.points <= int64_t(lanes)) {
    Value line = foldLines(reduce, sums);
    repeat(memory, [&] { return line; });
    return memory;
  }
  for (auto [i, v] : llvm::enumerate(sums))
    f.e.store(memory, Coords{Coord::affine(f.e.index(i * lanes), 1)}, v);
  repeat(memory, [&] {
    auto part = [&](int64_t line) {
      return f.e.load(memory,
                      Coords{Coord::affine(f.e.index(line * narrow.points + here.offset), 1)});
    };
    Value sum = part(0);
    for (int64_t line = 1; line * narrow.points < int64_t(period * lanes); ++line)
      sum = emitCombine(f.b, reduce.getKind(), element, sum, part(line));
    return sum;
  });
  return memory;
}

/// What is known by now of a row's lines.
void LinesEmitter::computeLines() {
  for (auto &[value, memory] : lines) {
    auto broadcast = value.getDefiningOp<prim::BroadcastOp>();
    if (!broadcast || known.contains(value) || dependsOn(value, pending))
      continue;
    repeat(memory, [&, value = value] { return f.e.evalVector(value, at(full)); });
    known.insert(value);
    f.e.bindProvider(
        value, [this, memory = memory](ArrayRef<Coord>) { return f.e.load(memory, atScratch()); });
  }
}

/// What is stored once a line.
void LinesEmitter::storeLine(Value value, const Memory &memory) {
  int64_t perRow = narrow.points;
  Memory whole = flattened(memory);
  Value first = f.e.divIndex(rowFirst, f.e.index(narrow.lines));
  turn(f.e.index(0), perRow, [&](int64_t) {
    if (Value v = f.e.evalVector(value, at(tensorType(value))))
      f.e.store(whole, Coords{Coord::affine(f.e.addIndex(first, f.e.index(here.offset)), 1)}, v);
    else
      f.failed = true;
  });
}

void LinesEmitter::emitStores() {
  SmallVector<std::pair<Value, Memory>> points;
  for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
    if (tensorType(value).getShape() != full.getShape()) {
      storeLine(value, memory);
      continue;
    }
    Memory whole = flattened(memory);
    points.push_back({value, whole});
  }
  if (points.empty())
    return;
  auto storeTurn = [&](Value line, int64_t count) {
    turn(line, count, [&](int64_t) {
      SmallVector<Value> elements;
      for (auto &[value, memory] : points) {
        elements.push_back(f.e.evalVector(value, at(full)));
        f.failed |= !elements.back();
      }
      for (auto [point, element] : llvm::zip(points, elements))
        if (element)
          f.e.store(point.second, Coords{Coord::affine(f.e.addIndex(rowFirst, flat()), 1)},
                    element);
    });
  };
  int64_t whole = narrow.lines / turnLines * turnLines;
  f.loop(f.e.index(0), f.e.index(whole), turnLines,
         [&](Value line) { storeTurn(line, turnPoints()); });
  storeTurn(f.e.index(whole), (narrow.lines - whole) * narrow.points);
}

bool LinesEmitter::run() {
  bindPoints();
  planLines();
  for (const RowStage &stage : stages)
    for (prim::ReduceOp reduce : stage)
      lines[reduce.getResult()] = scratch(turnPoints() + narrow.points + lanes,
                                          computeType(tensorType(reduce.getX()).getElementType()));
  SmallVector<Value> extents;
  for (unsigned axis = 0; axis < rows; ++axis)
    extents.push_back(f.e.extent(stages.front().front().getX(), axis));
  f.loop(f.begin, f.end, 1, [&](Value task) {
    rowIndex = f.delinearize(task, extents);
    rowFirst = f.e.mulIndex(task, f.e.index(narrow.lines * narrow.points));
    f.e.setLanes(lanes);
    known.clear();
    for (const RowStage &stage : stages)
      pending.insert(stage.begin(), stage.end());
    for (const RowStage &stage : stages) {
      computeLines();
      emitStage(stage);
    }
    computeLines();
    emitStores();
    f.e.setLanes(1);
  });
  return !f.failed;
}

bool tcc::codegen::emitNarrowLines(KernelFrame &frame, cpu::RowScheduleAttr schedule) {
  auto reduce = *frame.launch.getBody().front().getOps<prim::ReduceOp>().begin();
  std::optional<NarrowLines> narrow = narrowLinesOf(reduce);
  if (narrow)
    return LinesEmitter(frame, schedule, *narrow).run();
  frame.launch.emitOpError("reduces axes before others, of which no row kernel does so many");
  return false;
}
