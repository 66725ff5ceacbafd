//===- ColumnBlocks.cpp - Reductions across rows, a few columns a task ----===//
//
// softmax over the channels of images, a norm over a middle axis. A task is a block of columns of a
// row: as many as the caches hold from the first pass over its lines to the last. Lanes lie along
// the columns, so that a line's results are vectors side by side; they wait in L1 from line to
// line:
//
//   for each stage of reductions:
//     for line of the row: for vector of the block:   result of the vector, combined
//   for line of the row: for vector of the block:     store the points
//
// Sums over many lines are cut (docs/Rationale/long-sums.md). What is made of the results of a
// column is computed once for it. Functions that several passes need wait in a block of their own
// on the stack, or where the result goes, as in RowKernel.cpp.
//
// A pass that computes, or the last one, fetches the next block's lines, and the pass before the
// first that stores fetches those of the result.
//
//===----------------------------------------------------------------------===//
#include "ColumnBlocks.h"
#include "../Loops/PastCaches.h"
#include "KeptPlace.h"
#include "RowsAhead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Cpu/ColumnBlocks.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

constexpr int64_t kKept = 32768; ///< elements on the stack

class BlockEmitter {
public:
  BlockEmitter(KernelFrame &f, cpu::RowScheduleAttr schedule, bool pastCaches);
  bool run();

private:
  struct Kept {
    Memory memory;
    bool inResult = false;
  };
  Memory scratch(int64_t elements, Type element);
  Coords at(RankedTensorType type, Value line, Value column);
  Value inBlock(Value column) { return f.e.subIndex(column, first); }
  Value read(const Memory &memory, Value place);
  void write(const Memory &memory, Value place, Value v);
  Coord lanesAt(Value place) { return Coord::affine(place, f.e.lanes() > 1); }
  Value placeIn(Value line, Value column) {
    return f.e.addIndex(f.e.mulIndex(line, f.e.index(schedule.getColumns())), inBlock(column));
  }
  void bindColumns(Value value, const Memory &memory);
  void plan();
  void planFetches();
  void fetch(unsigned pass, Coords at);
  void overColumns(function_ref<void(Value)> body);
  void emitStage(unsigned number);
  void computeColumns();
  void emitStores();

  KernelFrame &f;
  cpu::RowScheduleAttr schedule;
  bool pastCaches;
  std::vector<RowStage> stages;
  RankedTensorType full;
  unsigned rows, lineEnd; ///< axes before those that are reduced, and before those behind them
  int64_t lines = 1;
  bool readsNarrow = false;          ///< or writes
  SmallVector<Value> outer, reduced; ///< the task's indices; extents
  Value first, end;                  ///< the columns of the task
  Value shift, below;                ///< to the next block: columns, and rows
  std::optional<RowsAhead> next, results;
  llvm::MapVector<Value, Kept> kept;
  llvm::MapVector<Value, Memory> columns; ///< repeated from one value a column
  DenseMap<Value, std::pair<Memory, Memory>> sums;
  DenseSet<Operation *> pending; ///< reductions that are not known yet
  DenseSet<Value> known;         ///< of `kept` and `columns`
};

} // namespace

static prim::ReduceOp firstReduction(kernel::LaunchOp launch) {
  return *launch.getBody().front().getOps<prim::ReduceOp>().begin();
}

BlockEmitter::BlockEmitter(KernelFrame &f, cpu::RowScheduleAttr schedule, bool pastCaches)
    : f(f), schedule(schedule), pastCaches(pastCaches), stages(rowStages(f.launch)) {
  prim::ReduceOp reduce = stages.front().front();
  full = tensorType(reduce.getX());
  rows = reduce.getAxes().front();
  lineEnd = reduce.getAxes().back() + 1;
  for (int64_t extent : full.getShape().slice(rows, lineEnd - rows)) {
    reduced.push_back(f.e.index(extent));
    lines *= extent;
  }
  auto isNarrow = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && elementBytes(tensor.getElementType()) < 4;
  };
  readsNarrow = llvm::any_of(f.launch.getBody().getArgumentTypes(), isNarrow) ||
                llvm::any_of(f.launch.getResultTypes(), isNarrow);
}

Memory BlockEmitter::scratch(int64_t elements, Type element) {
  Type pointer = LLVM::LLVMPointerType::get(f.b.getContext());
  Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(elements));
  return {LLVM::AllocaOp::create(f.b, pointer, element, count, 64), {f.e.index(elements)}, element};
}

/// Where the lanes from `column` on are in a value of the rows' shape, or of their results'.
Coords BlockEmitter::at(RankedTensorType type, Value line, Value column) {
  Coords coords;
  for (Value i : ArrayRef(outer).take_front(rows))
    coords.push_back(Coord::uniform(i));
  if (type.getRank() == full.getRank())
    for (auto [i, place] : llvm::enumerate(f.delinearize(line, reduced)))
      coords.push_back(Coord::uniform(type.getDimSize(rows + i) == 1 ? f.e.index(0) : place));
  for (Value i : ArrayRef(outer).drop_front(rows))
    coords.push_back(Coord::uniform(i));
  coords.push_back(lanesAt(column));
  return coords;
}

/// Scratch has room for whole vectors, which need no mask.
Value BlockEmitter::read(const Memory &memory, Value place) {
  Type type = memory.elementType;
  if (f.e.lanes() > 1)
    type = VectorType::get({int64_t(f.e.lanes())}, type);
  place = arith::IndexCastOp::create(f.b, f.b.getI64Type(), place);
  Value at = LLVM::GEPOp::create(f.b, memory.pointer.getType(), memory.elementType, memory.pointer,
                                 ArrayRef<LLVM::GEPArg>{place});
  return LLVM::LoadOp::create(f.b, type, at, elementBytes(memory.elementType));
}

void BlockEmitter::write(const Memory &memory, Value place, Value v) {
  place = arith::IndexCastOp::create(f.b, f.b.getI64Type(), place);
  Value at = LLVM::GEPOp::create(f.b, memory.pointer.getType(), memory.elementType, memory.pointer,
                                 ArrayRef<LLVM::GEPArg>{place});
  LLVM::StoreOp::create(f.b, v, at, elementBytes(memory.elementType));
}

/// `value` is the same for all lines, and lies in `memory`.
void BlockEmitter::bindColumns(Value value, const Memory &memory) {
  f.e.bindProvider(
      value, [this, memory](ArrayRef<Coord> at) { return read(memory, inBlock(at.back().base)); });
}

/// Whether `v` lies in memory as it is.
static bool isLoaded(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  return isa<BlockArgument>(v) || v.getDefiningOp<prim::ReduceOp>();
}

/// What is read several times: functions of points, and what is computed of a column's results.
void BlockEmitter::plan() {
  DenseSet<unsigned> taken;
  for (Operation &op : f.launch.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 || !isa<RankedTensorType>(op.getResult(0).getType()))
      continue;
    Value value = op.getResult(0);
    Type element = computeType(tensorType(value).getElementType());
    if (tensorType(value).getShape() != full.getShape() || element.isInteger(1))
      continue;
    if (op.hasTrait<prim::VeryCostly>() && loopsThatRead(f.launch, stages, &op) > 1 &&
        isReadInPlace(value)) {
      bool onStack = lines * schedule.getColumns() <= schedule.getKept();
      bool isResult = llvm::is_contained(f.yield().getValues(), value);
      std::optional<unsigned> place;
      if (isResult || !onStack)
        place = resultKeeping(f.launch, stages, &op);
      if (place && taken.insert(*place).second)
        kept[value] = {f.results[*place], /*inResult=*/true};
      else if (onStack)
        kept[value] = {scratch(lines * schedule.getColumns(), element)};
    }
    auto broadcast = dyn_cast<prim::BroadcastOp>(op);
    if (!broadcast || isLoaded(broadcast.getX()))
      continue;
    bool ofColumns = true, ofPoints = false;
    for (auto [extent, axis] :
         llvm::zip(tensorType(broadcast.getX()).getShape(), broadcast.getAxes())) {
      ofColumns &= extent == 1 || axis < rows || axis >= lineEnd;
      ofPoints |= extent != 1 && axis + 1 == full.getRank();
    }
    if (ofColumns && ofPoints && isReadInPlace(value))
      columns[value] = scratch(schedule.getColumns(), element);
  }
  constexpr int64_t kUncut = 192;
  for (const RowStage &stage : stages)
    for (prim::ReduceOp reduce : stage) {
      Type element = computeType(tensorType(reduce.getX()).getElementType());
      Memory total = scratch(schedule.getColumns(), element), part = total;
      if (lines > kUncut)
        part = scratch(schedule.getColumns(), element);
      sums[reduce.getResult()] = {total, part};
    }
}

void BlockEmitter::planFetches() {
  unsigned count = stages.size();
  next.emplace(f, stages.front().front().getX(), rows, /*loops=*/0, pastCaches);
  results.emplace(f, stages.front().front().getX(), rows, /*loops=*/0, pastCaches);
  if (full.getNumElements() * 4 <= int64_t(f.cpu.l2Bytes))
    return;
  auto isFull = [&](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && type.getShape() == full.getShape() && !prim::layoutOf(v);
  };
  for (Value argument : f.launch.getBody().getArguments())
    if (const Memory *memory = isFull(argument) ? f.e.memoryOf(argument) : nullptr)
      next->stream(*memory, 0, std::max(1u, count - 1));
  // In the pass before the first that stores there.
  for (auto [number, value] : llvm::enumerate(f.yield().getValues()))
    if (isFull(value) && !pastCaches) {
      unsigned pass = count;
      for (auto &[of, place] : kept)
        if (place.inResult && place.memory.pointer == f.results[number].pointer)
          for (unsigned stage = count; stage-- > 0;)
            if (llvm::any_of(stages[stage], [&, of = of](prim::ReduceOp r) {
                  return dependsOn(r.getX(), {of.getDefiningOp()});
                }))
              pass = stage;
      results->stream(f.results[number], 0, std::max(pass, 1u) - 1, /*writes=*/true);
    }
}

/// What the lanes `at` will have in the next block, and where they go in this one.
void BlockEmitter::fetch(unsigned pass, Coords at) {
  results->fetch(pass, at);
  at.back().base = f.e.addIndex(at.back().base, shift);
  if (rows > 0)
    at[rows - 1].base = f.e.addIndex(at[rows - 1].base, below);
  next->fetch(pass, at);
}

/// The vectors of the block: in each line the same ones.
void BlockEmitter::overColumns(function_ref<void(Value)> body) {
  unsigned lanes = schedule.getLanes();
  bool whole = full.getShape().back() % lanes == 0;
  // Elements of less than 32 bits have no masks where those of AVX2 are all there is.
  if (!whole && !f.cpu.maskedMemory && readsNarrow)
    return f.narrowingLoop(first, end, lanes, body);
  Value count = f.e.index(lanes), middle = end;
  if (!whole)
    middle =
        f.e.addIndex(first, f.e.mulIndex(f.e.divIndex(f.e.subIndex(end, first), count), count));
  f.e.setLanes(lanes);
  f.loop(first, middle, lanes, [&](Value column) {
    if (whole)
      f.e.bindAligned(column);
    body(column);
  });
  if (!whole)
    f.loop(middle, end, lanes, [&](Value column) {
      f.e.setMask(f.lanesUpTo(column, end));
      body(column);
    });
  f.e.setLanes(1);
}

void BlockEmitter::emitStage(unsigned number) {
  constexpr int64_t kBlock = 128; // lines of a part of a sum
  const RowStage &stage = stages[number];
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<Value> fresh;
  for (auto &[value, place] : kept)
    if (!known.contains(value) && llvm::any_of(stage, [&, value = value](prim::ReduceOp r) {
          return dependsOn(r.getX(), {value.getDefiningOp()});
        }))
      fresh.push_back(value);
  auto neutral = [&](prim::ReduceOp reduce) {
    return neutralElement(reduce.getKind(), tensorType(reduce.getX()).getElementType());
  };
  auto begin = [&](bool parts) {
    overColumns([&](Value column) {
      for (prim::ReduceOp reduce : stage) {
        auto &[total, part] = sums[reduce.getResult()];
        Value none = arith::ConstantOp::create(b, neutral(reduce));
        write(parts ? part : total, inBlock(column), f.e.splat(none, f.e.lanes()));
      }
    });
  };
  auto walk = [&](Value from, Value to) {
    f.loop(from, to, 1, [&](Value line) {
      overColumns([&](Value column) {
        Coords here = at(full, line, column);
        fetch(number, here);
        for (Value value : fresh)
          if (Value v = f.e.evalVector(value, here); v && kept[value].inResult)
            f.e.store(kept[value].memory, here, v);
          else if (v)
            write(kept[value].memory, placeIn(line, column), v);
        for (prim::ReduceOp reduce : stage) {
          const Memory &part = sums[reduce.getResult()].second;
          // Of a sum that is chosen again LLVM makes a store under a mask.
          Value v = f.e.evalVector(reduce.getX(), here), sum = read(part, inBlock(column));
          f.failed |= !v;
          Type element = tensorType(reduce.getX()).getElementType();
          if (v)
            write(part, inBlock(column), emitCombine(b, reduce.getKind(), element, v, sum));
        }
      });
    });
  };
  begin(/*parts=*/false);
  prim::ReduceOp any = stage.front();
  if (sums[any.getResult()].first.pointer == sums[any.getResult()].second.pointer) {
    walk(f.e.index(0), f.e.index(lines));
  } else {
    f.loop(f.e.index(0), f.e.index(lines), kBlock, [&](Value from) {
      begin(/*parts=*/true);
      walk(from, f.minIndex(f.e.addIndex(from, f.e.index(kBlock)), f.e.index(lines)));
      overColumns([&](Value column) {
        for (prim::ReduceOp reduce : stage) {
          auto &[total, part] = sums[reduce.getResult()];
          Value x = read(total, inBlock(column)), y = read(part, inBlock(column));
          Type element = tensorType(reduce.getX()).getElementType();
          write(total, inBlock(column), emitCombine(b, reduce.getKind(), element, x, y));
        }
      });
    });
  }
  for (prim::ReduceOp reduce : stage) {
    bindColumns(reduce.getResult(), sums[reduce.getResult()].first);
    pending.erase(reduce);
  }
  for (Value value : fresh) {
    known.insert(value);
    f.e.bindProvider(value, [this, place = kept[value]](ArrayRef<Coord> at) {
      if (place.inResult)
        return f.e.load(place.memory, at);
      Value line = f.e.index(0);
      for (auto [extent, coord] : llvm::zip_equal(reduced, at.slice(rows, lineEnd - rows)))
        line = f.e.addIndex(f.e.mulIndex(line, extent), coord.base);
      return read(place.memory, placeIn(line, at.back().base));
    });
  }
}

/// What is known by now of the columns.
void BlockEmitter::computeColumns() {
  for (auto &[value, memory] : columns) {
    if (known.contains(value) || dependsOn(value, pending))
      continue;
    overColumns([&, value = value, memory = memory](Value column) {
      Value v = f.e.evalVector(value, at(full, f.e.index(0), column));
      f.failed |= !v;
      if (v)
        write(memory, inBlock(column), v);
    });
    known.insert(value);
    bindColumns(value, memory);
  }
}

void BlockEmitter::emitStores() {
  SmallVector<std::pair<Value, Memory>> points, ofColumns;
  for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
    if (tensorType(value).getShape() != full.getShape())
      ofColumns.push_back({value, memory});
    else if (auto *place = kept.find(value); place == kept.end() || !place->second.inResult)
      points.push_back({value, memory}); // else it lies there already
  }
  auto store = [&](ArrayRef<std::pair<Value, Memory>> results, Value line, Value column) {
    SmallVector<Value> elements;
    for (auto &[value, memory] : results) {
      elements.push_back(f.e.evalVector(value, at(tensorType(value), line, column)));
      f.failed |= !elements.back();
    }
    for (auto [result, element] : llvm::zip_equal(results, elements))
      if (element)
        f.e.store(result.second, at(tensorType(result.first), line, column), element);
  };
  if (!ofColumns.empty())
    overColumns([&](Value column) { store(ofColumns, f.e.index(0), column); });
  if (!points.empty())
    f.loop(f.e.index(0), f.e.index(lines), 1, [&](Value line) {
      overColumns([&](Value column) {
        fetch(stages.size(), at(full, line, column));
        store(points, line, column);
      });
    });
}

bool BlockEmitter::run() {
  plan();
  planFetches();
  SmallVector<Value> extents;
  int64_t axis = 0, last = full.getRank() - 1;
  for (int64_t extent : full.getShape().drop_back()) {
    if (axis < rows || axis >= lineEnd)
      extents.push_back(f.e.index(extent));
    ++axis;
  }
  Value all = f.e.index(full.getDimSize(last)), width = f.e.index(schedule.getColumns());
  extents.push_back(f.e.index(llvm::divideCeil(full.getDimSize(last), schedule.getColumns())));
  f.loop(f.begin, f.end, 1, [&](Value task) {
    outer = f.delinearize(task, extents);
    first = f.e.mulIndex(outer.pop_back_val(), width);
    end = f.minIndex(f.e.addIndex(first, width), all);
    // Behind the last block of a row comes the first one of the next.
    Value isLast = arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, end, all);
    Value back = rows > 0 ? f.e.subIndex(f.e.index(0), first) : width;
    shift = arith::SelectOp::create(f.b, isLast, back, width);
    below = arith::SelectOp::create(f.b, isLast, f.e.index(1), f.e.index(0));
    if (full.getDimSize(last) % schedule.getColumns() == 0)
      end = f.e.addIndex(first, width);
    known.clear();
    for (const RowStage &stage : stages)
      pending.insert(stage.begin(), stage.end());
    for (unsigned stage = 0; stage < stages.size(); ++stage) {
      computeColumns();
      emitStage(stage);
    }
    computeColumns();
    emitStores();
  });
  // What this code has computed is not known where the blocks are done by other code.
  for (Operation &op : f.launch.getBody().front().without_terminator())
    f.e.bindProvider(op.getResult(0), {});
  return !f.failed;
}

cpu::RowScheduleAttr tcc::codegen::columnSchedule(kernel::LaunchOp launch, unsigned vectorLanes,
                                                  const CpuTarget &cpu) {
  constexpr int64_t kWidest = 256, kTasks = 8, kGrainElements = 16384;
  prim::ReduceOp reduce = firstReduction(launch);
  if (!reducesColumns(reduce))
    return {};
  RankedTensorType full = tensorType(reduce.getX());
  ArrayRef<int64_t> shape = full.getShape();
  int64_t lines = 1, last = shape.back();
  for (int64_t axis : reduce.getAxes())
    lines *= shape[axis];
  bool costly = false, keeps = false, narrow = false;
  for (Operation &op : launch.getBody().front())
    if (op.getNumResults() == 1 && tensorType(op.getResult(0)).getShape() == shape) {
      costly |= op.hasTrait<prim::Costly>();
      keeps |= op.hasTrait<prim::VeryCostly>();
    }
  for (Type result : launch.getResultTypes())
    narrow |= cast<RankedTensorType>(result).getElementType() != full.getElementType();
  int64_t lanes = vectorLanes * (costly || last < 4 * int64_t(vectorLanes) ? 2 : 4);
  while (lanes > int64_t(vectorLanes) && lanes > last)
    lanes /= 2;
  // Operands, results and the next block's operands in three quarters of L2, and what waits on the
  // stack where no result has room for it.
  int64_t columns = int64_t(cpu.l2Bytes) / 4 / (lines * elementBytes(full.getElementType()));
  bool past = pointsOutgrowCaches(launch, cpu);
  if (keeps && (narrow || past))
    columns = std::min(columns, kKept / lines);
  columns = std::min(columns, kWidest);
  auto tasks = [&] {
    return full.getNumElements() / lines / last * llvm::divideCeil(last, columns);
  };
  while (columns > 2 * lanes && tasks() < kTasks)
    columns /= 2;
  columns = llvm::divideCeil(last, llvm::divideCeil(last, std::max(columns, lanes)));
  columns = llvm::alignTo(columns, lanes);
  past &= columns * lines <= kKept || !keeps;
  return cpu::RowScheduleAttr::get(launch.getContext(), lanes,
                                   std::max<int64_t>(1, kGrainElements / (columns * lines)), kKept,
                                   /*across=*/false, past, columns);
}

int64_t tcc::codegen::columnBlocks(kernel::LaunchOp launch, cpu::RowScheduleAttr schedule) {
  prim::ReduceOp reduce = firstReduction(launch);
  ArrayRef<int64_t> shape = tensorType(reduce.getX()).getShape();
  int64_t tasks = llvm::divideCeil(shape.back(), schedule.getColumns());
  for (auto [axis, extent] : llvm::enumerate(shape.drop_back()))
    tasks *= llvm::is_contained(reduce.getAxes(), int64_t(axis)) ? 1 : extent;
  return tasks;
}

bool tcc::codegen::emitColumnBlocks(KernelFrame &frame, cpu::RowScheduleAttr schedule) {
  bool ok = true;
  auto emit = [&](bool pastCaches) { ok &= BlockEmitter(frame, schedule, pastCaches).run(); };
  schedule.getPastCaches() ? emitPastCaches(frame, emit) : emit(/*pastCaches=*/false);
  return ok;
}
