//===- ScatterKernel.cpp - Writes by index, in a defined order ------------===//
//
// Later updates of a place come after earlier ones. A task has a part of the result of its own: it
// goes over all indices, in order, and does what falls into its part. It first copies its part of
// the tensor that is changed, unless that is changed where it lies (Analysis/InPlace.h).
//
// - Few updates of a large tensor: parts of the first indexed axis. What a task copies lies in one
//   piece, and that it looks at indices of others costs less than copying does.
// - Else scatter_along: the axes before the indexed one, and parts of the one after it, along which
//   updates do not meet; scatter_nd: parts of the first axis that is not indexed.
// - scatter_runs, as bags of embeddings are: parts of the first axis.
// - insert_slice: parts of the first axis with more than an index; no updates meet.
//
// Along the last axis updates are vectors, as long as one index is for all of it.
//
//===----------------------------------------------------------------------===//
#include "../Loops/PastCaches.h"
#include "../SpecialKernel.h"
#include "ScatterRuns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(KernelFrame &f, Operation *op)
      : f(f), out(f.results[0]), tasks(scatterTasks(op)),
        lanes(cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr()).getLanes()) {}

  template <typename Op> void emit(Op op) {
    f.loop(f.begin, f.end, 1, [&](Value task) {
      enter(task);
      copyUnchanged(op.getX());
      update(op);
    });
  }

private:
  void enter(Value task);
  void copyUnchanged(Value source);
  void copyPart(Value source);
  void copyRun(const Memory &source);
  bool isOneRun() const;
  void update(prim::ScatterAlongOp op);
  void fetchRows(prim::TakeOp take, Value update, Value count);
  void fetchPart(Value updates, Value update, Value count);
  void fetch(const Memory &memory, Value element, int64_t elements);
  void update(prim::ScatterRunsOp op);
  Value runBegin(prim::ScatterRunsOp op, Value row, Value count);
  void update(prim::ScatterNdOp op);
  void update(prim::InsertSliceOp op);
  void forEachRun(ArrayRef<Value> extents, unsigned from, Coords at, bool vectors,
                  function_ref<void(Coords &)> body);
  Value apart(Value wide);
  void combine(prim::ScatterKind kind, ArrayRef<Coord> at, Value updates, ArrayRef<Coord> source);
  Value inBounds(Value i, Value extent) {
    return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ult, i, extent);
  }
  /// Whether the result has index i along `axis`, and the task that part of it; before it: it
  /// wraps.
  Value isOwn(Value i, unsigned axis) {
    return tasks.axis == axis ? inBounds(f.e.subIndex(i, low), f.e.subIndex(high, low))
                              : inBounds(i, out.extents[axis]);
  }
  Value asIndex(Value v) {
    return v.getType().isIndex() ? v
                                 : Value(arith::IndexCastOp::create(f.b, f.b.getIndexType(), v));
  }

  KernelFrame &f;
  const Memory &out;
  ScatterTasks tasks;
  unsigned lanes;
  Coords outer;    ///< where the task is along the axes before the indexed one
  Value low, high; ///< its part of the axis that is cut, if one is
};

} // namespace

void ScatterEmitter::enter(Value task) {
  outer.clear();
  SmallVector<Value> extents(ArrayRef(out.extents).take_front(tasks.outer));
  if (tasks.axis) {
    Value part = f.e.index(tasks.part), extent = out.extents[*tasks.axis];
    Value parts = f.e.divIndex(f.e.addIndex(extent, f.e.index(tasks.part - 1)), part);
    low = f.e.mulIndex(f.e.remIndex(task, parts), part);
    high = f.minIndex(f.e.addIndex(low, part), extent);
    if (getConstantIntValue(parts) == 1)
      high = extent;
    task = f.e.divIndex(task, parts);
  }
  for (Value i : f.delinearize(task, extents))
    outer.push_back(Coord::uniform(i));
}

/// body(at) for all points of `extents` that go on from `at` along the axes from `from` on, of
/// the axis that is cut those of the task; with `vectors`, lanes lie along the last axis.
void ScatterEmitter::forEachRun(ArrayRef<Value> extents, unsigned from, Coords at, bool vectors,
                                function_ref<void(Coords &)> body) {
  if (from == extents.size())
    return body(at);
  bool cut = tasks.axis == from, last = from + 1 == extents.size();
  Value begin = cut ? low : f.e.index(0), end = extents[from];
  if (cut && getConstantIntValue(end) &&
      getConstantIntValue(end) == getConstantIntValue(out.extents[from]))
    end = high;
  else if (cut) // of fewer updates perhaps none
    end = arith::MaxSIOp::create(f.b, f.minIndex(high, end), begin);
  auto known = getConstantIntValue(extents[from]);
  unsigned width = vectors && last ? lanesFor(std::min<int64_t>(lanes, cut ? tasks.part : lanes),
                                              known ? *known : ShapedType::kDynamic)
                                   : 1;
  f.narrowingLoop(begin, end, width, [&](Value i) {
    Coords next(at);
    next.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
    forEachRun(extents, from + 1, next, vectors, body);
  });
}

void ScatterEmitter::copyPart(Value source) {
  forEachRun(out.extents, tasks.outer, outer, true, [&](Coords &at) {
    Value v = f.e.eval(source, at);
    f.failed |= !v;
    if (v)
      f.e.store(out, at, v);
  });
}

/// Whether a task's part lies in one piece.
bool ScatterEmitter::isOneRun() const {
  auto shape = ArrayRef(out.extents).take_front(tasks.axis.value_or(tasks.outer));
  return llvm::all_of(shape.drop_front(tasks.outer),
                      [](Value extent) { return getConstantIntValue(extent) == 1; });
}

void ScatterEmitter::copyRun(const Memory &source) {
  KernelBuilder k(f.b, f.b.getLoc());
  Type element = storageType(out.elementType);
  unsigned axis = tasks.axis.value_or(tasks.outer);
  Value first = f.e.index(0), count = tasks.axis ? f.e.subIndex(high, low) : f.e.index(1);
  for (auto [i, extent] : llvm::enumerate(out.extents)) {
    Value at = f.e.index(0);
    if (i < tasks.outer)
      at = outer[i].base;
    else if (tasks.axis == i)
      at = low;
    first = f.e.addIndex(f.e.mulIndex(first, extent), at);
    if (i > axis || (i == axis && !tasks.axis))
      count = f.e.mulIndex(count, extent);
  }
  int64_t bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Value size =
      arith::IndexCastOp::create(f.b, f.b.getI64Type(), f.e.mulIndex(count, f.e.index(bytes)));
  copyBytes(f, k.address(out.pointer, element, first), k.address(source.pointer, element, first),
            size);
}

void ScatterEmitter::copyUnchanged(Value source) {
  const Memory *memory = f.e.memoryOf(source);
  if (!memory)
    return copyPart(source);
  Value from = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), memory->pointer);
  Value to = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), out.pointer);
  Value apart = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, from, to);
  f.when(apart, [&] { isOneRun() ? copyRun(*memory) : copyPart(source); });
}

/// A half that was just widened, read in a way that does not wait for the update before: x86 has no
/// load of two bytes that leaves nothing of a register, and LLVM takes the register which the last
/// result is in. An empty instruction, which nothing can be known of, keeps a vector of it and
/// zeros together.
Value ScatterEmitter::apart(Value wide) {
  auto widened = wide.getDefiningOp<arith::ExtFOp>();
  if (!widened || !f.cpu.halfConversion || !llvm::Triple(f.cpu.triple).isX86())
    return wide;
  ImplicitLocOpBuilder &b = f.b;
  auto halves = VectorType::get({8}, b.getF16Type()), words = VectorType::get({4}, b.getI32Type());
  Value first = LLVM::ConstantOp::create(b, b.getI64Type(), 0);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(halves));
  Value one = LLVM::InsertElementOp::create(b, zeros, widened.getIn(), first);
  Value kept = LLVM::InlineAsmOp::create(
                   b, TypeRange(words), LLVM::BitcastOp::create(b, words, one).getResult(), "",
                   "=x,0", /*has_side_effects=*/false,
                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                   LLVM::AsmDialectAttr(), ArrayAttr())
                   ->getResult(0);
  Value half = LLVM::ExtractElementOp::create(b, LLVM::BitcastOp::create(b, halves, kept), first);
  return arith::ExtFOp::create(b, wide.getType(), half);
}

void ScatterEmitter::combine(prim::ScatterKind kind, ArrayRef<Coord> at, Value updates,
                             ArrayRef<Coord> source) {
  f.e.forget();
  Value v = f.e.evalVector(updates, source);
  f.failed |= !v;
  if (!v)
    return;
  if (kind == prim::ScatterKind::assign)
    return f.e.store(out, at, v);
  Value old = f.e.load(out, at);
  if (f.e.lanes() == 1 && out.elementType.isF16()) {
    v = apart(v);
    old = apart(old);
  }
  // In this order: an extremum or what was there becomes a masked store, which later loads await.
  f.e.store(out, at, emitCombine(f.b, reductionOf(kind), out.elementType, v, old));
}

/// The rows that updates are, or are computed from, if they are taken from a matrix.
static prim::TakeOp rowsBehind(Value updates) {
  Operation *op = updates.getDefiningOp();
  if (!op)
    return {};
  if (auto take = dyn_cast<prim::TakeOp>(op))
    return take.getAxis() == 0 && tensorType(take.getX()).getRank() == 2 &&
                   tensorType(take.getIndices()).getRank() == 1
               ? take
               : prim::TakeOp();
  if (prim::isElementwise(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        if (prim::TakeOp take = rowsBehind(operand))
          return take;
  return {};
}

/// Rows come from anywhere in memory: fetches the task's part of the one that some updates later is
/// taken.
void ScatterEmitter::fetchRows(prim::TakeOp take, Value update, Value count) {
  constexpr int64_t ahead = 12, mostColumns = 512;
  const Memory *table = f.e.memoryOf(take.getX());
  auto width = tensorType(take.getX()).getDimSize(1);
  bool isPart = tasks.axis == 1u;
  if (!table || !tasks.axis || (!isPart && (ShapedType::isDynamic(width) || width > mostColumns)))
    return;
  Value last = f.e.subIndex(count, f.e.index(1));
  Value later = f.minIndex(f.e.addIndex(update, f.e.index(ahead)), last);
  f.e.forget();
  Value row = asIndex(f.e.eval(take.getIndices(), {Coord::uniform(later)}));
  Value first = f.e.mulIndex(row, table->extents[1]);
  fetch(*table, isPart ? f.e.addIndex(first, low) : first, isPart ? tasks.part : width);
}

/// Lines of the cache from an element of `memory` on.
void ScatterEmitter::fetch(const Memory &memory, Value element, int64_t elements) {
  KernelBuilder k(f.b, f.b.getLoc());
  Type type = storageType(memory.elementType);
  Value place = k.address(memory.pointer, type, element);
  int64_t bytes = elements * std::max(1u, type.getIntOrFloatBitWidth() / 8);
  for (int64_t line = 0; line < bytes; line += f.cpu.lineBytes)
    k.prefetch(k.address(place, k.builder.getI8Type(), k.constant(line)));
}

/// Of updates that come from memory a task that has some columns reads a run of each row, far from
/// the one before, where no prefetcher goes: fetches that of a row that follows.
void ScatterEmitter::fetchPart(Value updates, Value update, Value count) {
  constexpr int64_t ahead = 2;
  const Memory *memory = f.e.memoryOf(updates);
  RankedTensorType type = tensorType(updates);
  if (!memory || type.getRank() != 2 || tasks.axis != 1u ||
      (!type.isDynamicDim(1) && type.getDimSize(1) <= tasks.part) ||
      (type.hasStaticShape() && tensorBytes(type) <= f.cpu.l2Bytes))
    return;
  Value last = f.e.subIndex(count, f.e.index(1));
  Value later = f.minIndex(f.e.addIndex(update, f.e.index(ahead)), last);
  Value first = f.e.mulIndex(later, memory->extents[1]);
  fetch(*memory, f.e.addIndex(first, low), tasks.part);
}

/// Where the run of `row` begins among `count` updates, or the last one ends.
Value ScatterEmitter::runBegin(prim::ScatterRunsOp op, Value row, Value count) {
  ImplicitLocOpBuilder &b = f.b;
  Value rows = out.extents[0], last = f.e.subIndex(rows, f.e.index(1));
  f.e.forget();
  Value begin = asIndex(f.e.eval(op.getBegins(), {Coord::uniform(f.minIndex(row, last))}));
  begin = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, begin, f.e.index(0)), count);
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, rows);
  return arith::SelectOp::create(b, inside, begin, count);
}

void ScatterEmitter::update(prim::ScatterRunsOp op) {
  SmallVector<Value> extents = extentsOf(f, op.getUpdates());
  prim::TakeOp rows = rowsBehind(op.getUpdates());
  f.loop(low, high, 1, [&](Value row) {
    Value begin = runBegin(op, row, extents[0]);
    Value end = runBegin(op, f.e.addIndex(row, f.e.index(1)), extents[0]);
    auto fetch = [&](Value k) {
      if (rows)
        fetchRows(rows, k, extents[0]);
    };
    if (keepsInRegisters(op))
      return emitInRegisters(f, {op, row, begin, end, fetch});
    f.loop(begin, end, 1, [&](Value k) {
      fetch(k);
      f.e.forget();
      forEachRun(extents, 1, {Coord::uniform(k)}, true, [&](Coords &point) {
        Coords target(point);
        target[0] = Coord::uniform(row);
        combine(op.getKind(), target, op.getUpdates(), point);
      });
    });
  });
}

void ScatterEmitter::update(prim::ScatterAlongOp op) {
  unsigned axis = op.getAxis();
  SmallVector<Value> extents = extentsOf(f, op.getIndices());
  // The indices may be fewer than the tensor's along the other axes.
  Value has;
  for (unsigned i = 0; i < axis; ++i) {
    if (getConstantIntValue(extents[i]) &&
        getConstantIntValue(extents[i]) == getConstantIntValue(out.extents[i]))
      continue;
    Value here = inBounds(outer[i].base, extents[i]);
    has = has ? Value(arith::AndIOp::create(f.b, has, here)) : here;
  }
  auto write = [&](Value i, Coords at, Coords source) {
    f.when(isOwn(i, axis), [&] {
      at[axis] = Coord::uniform(i);
      combine(op.getKind(), at, op.getUpdates(), source);
    });
  };
  bool uniform = isUniformFrom(op.getIndices(), axis + 1);
  prim::TakeOp rows = axis == 0 ? rowsBehind(op.getUpdates()) : prim::TakeOp();
  auto all = [&] {
    f.loop(f.e.index(0), extents[axis], 1, [&](Value k) {
      Coords at(outer);
      at.push_back(Coord::uniform(k));
      if (!uniform)
        return forEachRun(extents, axis + 1, at, false, [&](Coords &point) {
          write(asIndex(f.e.eval(op.getIndices(), point)), point, point);
        });
      Coords first(at);
      while (first.size() < extents.size())
        first.push_back(Coord::uniform(f.e.index(0)));
      if (rows)
        fetchRows(rows, k, extents[axis]);
      fetchPart(op.getUpdates(), k, extents[axis]);
      f.e.forget();
      Value i = asIndex(f.e.eval(op.getIndices(), first));
      f.when(isOwn(i, axis), [&] {
        forEachRun(extents, axis + 1, at, true, [&](Coords &point) {
          Coords target(point);
          target[axis] = Coord::uniform(i);
          combine(op.getKind(), target, op.getUpdates(), point);
        });
      });
    });
  };
  has ? f.when(has, all) : all();
}

void ScatterEmitter::update(prim::ScatterNdOp op) {
  unsigned depth = tensorType(op.getIndices()).getShape().back();
  SmallVector<Value> tuples = extentsOf(f, op.getIndices());
  tuples.pop_back();
  forEachPoint(f, tuples, [&](Coords &where) {
    Coords target;
    Value ok;
    for (unsigned k = 0; k < depth; ++k) {
      Coords element(where);
      element.push_back(Coord::uniform(f.e.index(k)));
      Value i = asIndex(f.e.eval(op.getIndices(), element));
      Value in = isOwn(i, k);
      ok = ok ? Value(arith::AndIOp::create(f.b, ok, in)) : in;
      target.push_back(Coord::uniform(i));
    }
    auto write = [&] {
      forEachRun(out.extents, depth, target, true, [&](Coords &point) {
        Coords source(where);
        source.append(point.begin() + depth, point.end());
        combine(op.getKind(), point, op.getUpdates(), source);
      });
    };
    ok ? f.when(ok, write) : write();
  });
}

void ScatterEmitter::update(prim::InsertSliceOp op) {
  SmallVector<OpFoldResult> starts = op.getMixedStarts();
  SmallVector<Value> extents = extentsOf(f, op.getUpdate());
  unsigned rank = extents.size();
  auto startOf = [&](unsigned axis) {
    return isa<Value>(starts[axis]) ? f.e.scalar(cast<Value>(starts[axis]))
                                    : f.e.index(*getConstantIntValue(starts[axis]));
  };
  auto store = [&](Coords &from) {
    Coords to;
    for (unsigned axis = 0; axis < rank; ++axis) {
      const Coord &c = from[axis];
      Value i = f.e.mulIndex(c.base, f.e.index(op.getSteps()[axis]));
      to.push_back(Coord::affine(f.e.addIndex(i, startOf(axis)), c.step * op.getSteps()[axis]));
    }
    combine(prim::ScatterKind::assign, to, op.getUpdate(), from);
  };
  // The part is one of the target: an index of the update may fall into it.
  std::function<void(Coords)> nest = [&](Coords at) {
    unsigned axis = at.size();
    if (axis == rank)
      return store(at);
    bool cut = tasks.axis == axis, last = axis + 1 == rank;
    int64_t step = op.getSteps()[axis];
    Value begin = f.e.index(0), end = extents[axis];
    if (cut && step == 1) {
      auto within = [&](Value bound) {
        Value i = f.e.subIndex(bound, startOf(axis));
        return Value(arith::MaxSIOp::create(f.b, f.minIndex(i, end), f.e.index(0)));
      };
      begin = within(low);
      end = within(high);
    }
    auto known = getConstantIntValue(extents[axis]);
    unsigned width = last && step == 1 ? lanesFor(lanes, known ? *known : ShapedType::kDynamic) : 1;
    f.narrowingLoop(begin, end, width, [&](Value i) {
      Coords next(at);
      next.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
      if (!cut || step == 1)
        return nest(next);
      Value target = f.e.addIndex(f.e.mulIndex(i, f.e.index(step)), startOf(axis));
      f.when(isOwn(target, axis), [&] { nest(next); });
    });
  };
  nest({});
}

void tcc::codegen::emitScatter(KernelFrame &f, Operation *op) {
  ScatterEmitter emitter(f, op);
  llvm::TypeSwitch<Operation *>(op)
      .Case<prim::ScatterAlongOp, prim::ScatterNdOp, prim::ScatterRunsOp, prim::InsertSliceOp>(
          [&](auto o) { emitter.emit(o); });
}
