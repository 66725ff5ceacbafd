//===- ScatterKernel.cpp - Writes by index, in a defined order ------------===//
//
// Later updates of a place come after earlier ones, as on the CPU: all updates that can meet are
// done by one thread, in their order. Updates meet only along the axes that are indexed, so the
// others are what runs in parallel.
//
// - scatter_along: a thread has one line along the axis, or a part of it where lines are few. It
//   looks at all of the line's indices; where they are those of all lines, a warp's lanes look at
//   them together. Lines that lie along memory are copied together first.
// - scatter_nd: a thread has one place of the axes that are not indexed, in all slices; its block
//   first copies what the updates leave unchanged.
// - Both, where there are many updates: these are sorted first (SortedScatter.cpp,
// LineScatter.cpp), or their numbers noted where the last one counts (NotedScatter.cpp).
// - scatter_runs: threads have rows (RunScatter.cpp).
// - insert_slice: a point is either updated or not; there is nothing to meet. A thread has a
//   vector of a row where rows are updated as a whole.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static Value asIndex(device::KernelFrame &f, Value v) {
  return v.getType().isIndex() ? v : Value(arith::IndexCastOp::create(f.b, f.b.getIndexType(), v));
}

std::pair<Value, Value> device::checkedIndex(KernelFrame &f, Value read, Value extent) {
  ImplicitLocOpBuilder &b = f.b;
  // 64 bits are compared before they become an index, which may have 32.
  if (!read.getType().isInteger(64))
    return {f.less(asIndex(f, read), extent), asIndex(f, read)};
  Value bound = arith::IndexCastOp::create(b, b.getI64Type(), extent);
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, read, bound);
  return {inside, asIndex(f, read)};
}

Value device::updatedElement(KernelFrame &f, prim::ScatterKind kind, Value old, Value update) {
  if (kind == prim::ScatterKind::assign)
    return update;
  auto reduction = kind == prim::ScatterKind::add   ? prim::ReduceKind::sum
                   : kind == prim::ScatterKind::mul ? prim::ReduceKind::prod
                   : kind == prim::ScatterKind::max ? prim::ReduceKind::max
                                                    : prim::ReduceKind::min;
  Type e = f.results[0].elementType;
  Value sum = emitCombine(f.b, reduction, e, old, update);
  bool rounds = isa<FloatType>(e) && storageType(e) != computeType(e);
  return rounds ? emitCast(f.b, sum, computeType(e), e, /*saturate=*/false) : sum;
}

static void updatePoint(device::KernelFrame &f, prim::ScatterKind kind, ArrayRef<Coord> at,
                        Value update) {
  const Memory &out = f.results[0];
  f.e.forget();
  Value old = kind == prim::ScatterKind::assign ? Value() : f.e.load(out, at);
  f.e.store(out, at, updatedElement(f, kind, old, update));
}

Value device::liesElsewhere(KernelFrame &f, Value source) {
  const Memory *memory = f.e.memoryOf(source);
  if (!memory)
    return {};
  Value from = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), memory->pointer);
  Value to = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), f.results[0].pointer);
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, from, to);
}

/// Calls `copy` unless `source` lies where the result goes.
static void unlessInPlace(device::KernelFrame &f, Value source, function_ref<void()> copy) {
  Value elsewhere = liesElsewhere(f, source);
  elsewhere ? f.when(elsewhere, copy) : copy();
}

static void copyPoint(device::KernelFrame &f, Value source, ArrayRef<Coord> at) {
  Value v = f.e.eval(source, at);
  f.failed |= !v;
  if (v)
    f.e.store(f.results[0], at, v);
}

static bool isOneLine(prim::ScatterAlongOp op) {
  return llvm::all_of(llvm::enumerate(tensorType(op.getX()).getShape()),
                      [&](auto it) { return it.index() == op.getAxis() || it.value() == 1; });
}

bool device::sameForAllLines(prim::ScatterAlongOp op) {
  if (isOneLine(op))
    return true;
  auto broadcast = op.getIndices().getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return false;
  auto from = tensorType(broadcast.getX());
  return llvm::all_of(llvm::enumerate(broadcast.getAxes()), [&](auto it) {
    return it.value() == int64_t(op.getAxis()) || from.getDimSize(it.index()) == 1;
  });
}

namespace {

/// A warp's share of a scatter_along: a line a lane, and the places along the
/// axis that are one of the schedule's `split` parts of it. It looks at all
/// indices of its lines, and does the updates that go to its part, in order.
class ScatterAlong {
public:
  ScatterAlong(device::KernelFrame &f, prim::ScatterAlongOp op);
  void run();

private:
  Coords along(Value i) const {
    Coords moved(at);
    moved[axis] = Coord::uniform(i);
    return moved;
  }
  void copyPart(Value first, unsigned apart);
  void copyTogether();
  Value isMine(Value update, Value &index);
  void updateMine(Value update);
  void walkTogether(Value count);
  void walkAlone(Value count);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ScatterAlongOp op;
  unsigned axis;
  SmallVector<Value> extents, updates;               ///< of the result, of the indices
  SmallVector<Value> others;                         ///< extents of the result along the other axes
  Value lane, first, hasLine, hasUpdates, low, high; ///< first: line of the warp
  Coords at;                                         ///< the lane's line
  static constexpr unsigned kInFlight = 8;           ///< indices that a lane reads at once
};

} // namespace

ScatterAlong::ScatterAlong(device::KernelFrame &f, prim::ScatterAlongOp op)
    : f(f), b(f.b), op(op), axis(op.getAxis()), extents(extentsOf(f, op.getX())),
      updates(extentsOf(f, op.getIndices())) {
  others = extents;
  others.erase(others.begin() + axis);
  Value warp = f.e.index(GpuArch::warp), split = f.e.index(f.schedule.getSplit()),
        one = f.e.index(1), lines = f.volume(others);
  Value number = f.e.divIndex(f.globalThread(), warp);
  lane = f.e.remIndex(f.thread, warp);
  // Neighbouring warps look at the same indices.
  first = f.e.mulIndex(f.e.divIndex(number, split), warp);
  Value line = f.e.addIndex(first, lane);
  hasLine = f.less(line, lines);
  line = f.minIndex(line, f.e.subIndex(lines, one));
  for (Value i : f.delinearize(line, others))
    at.push_back(Coord::uniform(i));
  at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
  Value each = f.e.divIndex(f.e.addIndex(extents[axis], f.e.subIndex(split, one)), split);
  low = f.e.mulIndex(f.e.remIndex(number, split), each);
  high = f.minIndex(f.e.addIndex(low, each), extents[axis]);
  high = arith::SelectOp::create(b, f.less(first, lines), high, low);
  // The indices may be fewer than the tensor's along the other axes.
  hasUpdates = hasLine;
  for (unsigned i = 0; i < updates.size(); ++i)
    if (i != axis)
      hasUpdates = arith::AndIOp::create(b, hasUpdates, f.less(at[i].base, updates[i]));
}

/// Whether `update` goes to the warp's part, and where; the index is valid only then.
Value ScatterAlong::isMine(Value update, Value &index) {
  Value read = f.e.eval(op.getIndices(), along(update)), inside;
  std::tie(inside, index) = checkedIndex(f, read, extents[axis]);
  inside = arith::AndIOp::create(b, inside, f.less(index, high));
  return arith::AndIOp::create(b, inside,
                               arith::CmpIOp::create(b, arith::CmpIPredicate::ule, low, index));
}

void ScatterAlong::updateMine(Value update) {
  Value read = f.e.eval(op.getIndices(), along(update));
  Value index = checkedIndex(f, read, extents[axis]).second;
  Value v = f.e.eval(op.getUpdates(), along(update));
  f.failed |= !v;
  if (v)
    updatePoint(f, op.getKind(), along(index), v);
}

/// Each lane looks at other indices, and all do what any has found.
void ScatterAlong::walkTogether(Value count) {
  Coords line(at);
  for (unsigned i = 0; i < at.size(); ++i)
    if (i != axis) // that of the first line, which is anybody's
      at[i] = Coord::uniform(f.e.index(0));
  Value last = f.e.subIndex(count, f.e.index(1));
  f.loop(f.e.index(0), count, int64_t(GpuArch::warp) * kInFlight, [&](Value first) {
    SmallVector<std::pair<Value, Value>> found; // updates, and who has one
    for (unsigned i = 0; i < kInFlight; ++i) {
      Value begin = f.e.addIndex(first, f.e.index(int64_t(i) * GpuArch::warp)), index;
      Value number = f.e.addIndex(begin, lane);
      Value mine = isMine(f.minIndex(number, last), index);
      found.push_back({begin, arith::AndIOp::create(b, mine, f.less(number, count))});
    }
    for (auto &[begin, mine] : found) {
      Value bits =
          NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(-1), mine, NVVM::VoteSyncKind::ballot);
      auto any = [&](OpBuilder &, Location, ValueRange left) {
        Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, left[0], f.i32(0));
        scf::ConditionOp::create(b, more, left);
      };
      auto next = [&, begin = begin](OpBuilder &, Location, ValueRange left) {
        Value bit = LLVM::CountTrailingZerosOp::create(b, b.getI32Type(), left[0],
                                                       /*is_zero_poison=*/true);
        Value offset = arith::IndexCastUIOp::create(b, b.getIndexType(), bit);
        std::swap(at, line);
        f.when(hasUpdates, [&] { updateMine(f.e.addIndex(begin, offset)); });
        std::swap(at, line);
        Value less = arith::SubIOp::create(b, left[0], f.i32(1));
        scf::YieldOp::create(b, Value(arith::AndIOp::create(b, left[0], less)));
      };
      scf::WhileOp::create(b, TypeRange{b.getI32Type()}, ValueRange{bits}, any, next);
    }
  });
}

/// Each lane looks at its own line's indices.
void ScatterAlong::walkAlone(Value count) {
  Value last = f.e.subIndex(count, f.e.index(1));
  f.when(hasUpdates, [&] {
    f.loop(f.e.index(0), count, kInFlight, [&](Value first) {
      SmallVector<std::pair<Value, Value>> found; // updates, and whether they are the warp's
      for (unsigned i = 0; i < kInFlight; ++i) {
        Value number = f.e.addIndex(first, f.e.index(i)), index;
        Value mine = isMine(f.minIndex(number, last), index);
        found.push_back({number, arith::AndIOp::create(b, mine, f.less(number, count))});
      }
      for (auto &[number, mine] : found)
        f.when(mine, [&, number = number] { updateMine(number); });
    });
  });
}

/// From `first` on, every so many places of the part.
void ScatterAlong::copyPart(Value first, unsigned apart) {
  Value last = f.e.subIndex(high, f.e.index(1));
  f.loop(first, high, int64_t(apart) * kInFlight, [&](Value begin) {
    SmallVector<std::pair<Value, Value>> copied; // places and elements
    for (unsigned i = 0; i < kInFlight; ++i) {
      Value place = f.e.addIndex(begin, f.e.index(int64_t(i) * apart));
      Value v = f.e.eval(op.getX(), along(f.minIndex(place, last)));
      f.failed |= !v;
      if (!v)
        return;
      copied.push_back({place, v});
    }
    for (auto &[place, v] : copied)
      f.when(f.less(place, high),
             [&, place = place, v = v] { f.e.store(f.results[0], along(place), v); });
  });
}

/// The part of all lines of the warp, whose places lie together in memory, not the lines: lanes
/// have neighbouring places.
void ScatterAlong::copyTogether() {
  Value lines = f.e.subIndex(f.volume(others), first), places = f.e.subIndex(high, low);
  Value all = f.e.mulIndex(f.minIndex(lines, f.e.index(GpuArch::warp)), places);
  Value last = f.e.subIndex(all, f.e.index(1));
  f.loop(lane, all, int64_t(GpuArch::warp) * kInFlight, [&](Value begin) {
    SmallVector<std::pair<Coords, Value>> copied;
    for (unsigned i = 0; i < kInFlight; ++i) {
      // The last one several times is as good as once.
      Value number = f.minIndex(f.e.addIndex(begin, f.e.index(int64_t(i) * GpuArch::warp)), last);
      Value line = f.e.addIndex(first, f.e.divIndex(number, places));
      Coords from;
      for (Value c : f.delinearize(line, others))
        from.push_back(Coord::uniform(c));
      Value place = f.e.addIndex(low, f.e.remIndex(number, places));
      from.insert(from.begin() + axis, Coord::uniform(place));
      Value v = f.e.eval(op.getX(), from);
      f.failed |= !v;
      if (!v)
        return;
      copied.push_back({from, v});
    }
    for (auto &[to, v] : copied)
      f.e.store(f.results[0], to, v);
  });
}

void ScatterAlong::run() {
  // Lanes that update see what others copied.
  bool together = !isOneLine(op) && axis + 1 == extents.size();
  unlessInPlace(f, op.getX(), [&] {
    if (isOneLine(op))
      return copyPart(f.e.addIndex(low, lane), GpuArch::warp);
    if (together)
      return f.when(f.less(low, high), [&] { copyTogether(); });
    f.when(hasLine, [&] { copyPart(low, 1); });
  });
  if (isOneLine(op) || together)
    f.barrier();
  f.when(f.less(f.e.index(0), f.volume(updates)),
         [&] { sameForAllLines(op) ? walkTogether(updates[axis]) : walkAlone(updates[axis]); });
}

static void emitScatterNd(device::KernelFrame &f, prim::ScatterNdOp op) {
  int64_t depth = tensorType(op.getIndices()).getShape().back();
  SmallVector<Value> extents = extentsOf(f, op.getX());
  auto indexed = ArrayRef(extents).take_front(depth), inner = ArrayRef(extents).drop_front(depth);
  Value threads = f.e.index(f.schedule.getThreads()), innerPoints = f.volume(inner);
  Value first = f.e.mulIndex(f.block, threads);
  Value mine = f.minIndex(threads, f.e.subIndex(innerPoints, first));
  // The threads of the block copy its part of every slice together.
  unlessInPlace(f, op.getX(), [&] {
    Value all = f.e.mulIndex(f.volume(indexed), mine);
    auto step = f.e.index(f.schedule.getThreads());
    Value rounds = f.e.divIndex(f.e.addIndex(all, f.e.subIndex(step, f.e.index(1))), step);
    f.loop(f.e.index(0), rounds, 1, [&](Value round) {
      Value number = f.e.addIndex(f.e.mulIndex(round, step), f.thread);
      f.when(f.less(number, all), [&] {
        Coords at;
        for (Value i : f.delinearize(f.e.divIndex(number, mine), indexed))
          at.push_back(Coord::uniform(i));
        for (Value i : f.delinearize(f.e.addIndex(first, f.e.remIndex(number, mine)), inner))
          at.push_back(Coord::uniform(i));
        copyPoint(f, op.getX(), at);
      });
    });
  });
  f.barrier();
  SmallVector<Value> outer = extentsOf(f, op.getIndices());
  outer.pop_back();
  f.when(f.less(f.thread, mine), [&] {
    SmallVector<Value> rest = f.delinearize(f.e.addIndex(first, f.thread), inner);
    f.loop(f.e.index(0), f.volume(outer), 1, [&](Value number) {
      Coords where, target;
      for (Value i : f.delinearize(number, outer))
        where.push_back(Coord::uniform(i));
      Value inside = arith::ConstantOp::create(f.b, f.b.getBoolAttr(true));
      for (int64_t k = 0; k < depth; ++k) {
        Coords element(where);
        element.push_back(Coord::uniform(f.e.index(k)));
        auto [ok, index] = checkedIndex(f, f.e.eval(op.getIndices(), element), indexed[k]);
        inside = arith::AndIOp::create(f.b, inside, ok);
        target.push_back(Coord::uniform(index));
      }
      f.when(inside, [&] {
        for (Value i : rest) {
          where.push_back(Coord::uniform(i));
          target.push_back(Coord::uniform(i));
        }
        Value update = f.e.eval(op.getUpdates(), where);
        f.failed |= !update;
        if (update)
          updatePoint(f, op.getKind(), target, update);
      });
    });
  });
}

static void emitInsertSlice(device::KernelFrame &f, prim::InsertSliceOp op) {
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<Value> extents = extentsOf(f, op.getX()), updates = extentsOf(f, op.getUpdate());
  Value number = f.globalThread(), lanes = f.e.index(f.schedule.getLanes());
  bool vectors = f.schedule.getLanes() > 1;
  if (vectors)
    extents.back() = f.e.divIndex(extents.back(), lanes);
  f.e.setLanes(f.schedule.getLanes());
  f.when(f.less(number, f.volume(extents)), [&] {
    Coords at, source;
    Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
    SmallVector<OpFoldResult> starts = op.getMixedStarts();
    for (auto [axis, i] : llvm::enumerate(f.delinearize(number, extents))) {
      if (vectors && axis + 1 == extents.size()) {
        Value first = f.e.mulIndex(i, lanes);
        f.e.bindAligned(first);
        at.push_back(Coord::affine(first, 1));
        source.push_back(at.back());
        break;
      }
      at.push_back(Coord::uniform(i));
      Value start = isa<Value>(starts[axis]) ? f.e.scalar(cast<Value>(starts[axis]))
                                             : f.e.index(*getConstantIntValue(starts[axis]));
      // Before the slice this wraps around to a large number.
      bool back = op.getSteps()[axis] < 0;
      Value offset = back ? f.e.subIndex(start, i) : f.e.subIndex(i, start);
      Value step = f.e.index(std::abs(op.getSteps()[axis]));
      Value place = f.e.divIndex(offset, step);
      Value hit = f.less(place, updates[axis]);
      if (std::abs(op.getSteps()[axis]) != 1)
        hit =
            arith::AndIOp::create(b, hit,
                                  arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                        f.e.remIndex(offset, step), f.e.index(0)));
      inside = arith::AndIOp::create(b, inside, hit);
      source.push_back(Coord::uniform(place));
    }
    f.when(inside, [&] {
      Value update = f.e.eval(op.getUpdate(), source);
      f.failed |= !update;
      if (update)
        f.e.store(f.results[0], at, update);
    });
    Value outside =
        arith::XOrIOp::create(b, inside, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    unlessInPlace(f, op.getX(), [&] { f.when(outside, [&] { copyPoint(f, op.getX(), at); }); });
  });
}

void device::emitScatterKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  if (isa<prim::ScatterRunsOp>(op))
    return emitRunScatter(f);
  if (f.schedule.getRowThreads())
    return emitSortedScatter(f);
  if (f.schedule.getRows())
    return emitNotedScatter(f);
  if (f.schedule.getDepth())
    return emitLineScatter(f);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::ScatterAlongOp o) { ScatterAlong(f, o).run(); })
      .Case([&](prim::ScatterNdOp o) { emitScatterNd(f, o); })
      .Case([&](prim::InsertSliceOp o) { emitInsertSlice(f, o); })
      .Default([&](Operation *o) {
        o->emitError("code generation for GPUs has no form of '") << o->getName() << "'";
        f.failed = true;
      });
}
