//===- ScatterKernel.cpp - Writes by index, in a defined order ------------===//
//
// Later updates of a place come after earlier ones, as on the CPU: all updates that can
// meet are done by one thread, in their order. Updates meet only along the axes that are
// indexed, so the others are what runs in parallel.
//
// - scatter_along: a thread has one line along the axis.
// - scatter_nd: a thread has one place of the axes that are not indexed, in all slices;
//   its block first copies what the updates leave unchanged.
// - insert_slice: a point is either updated or not; there is nothing to meet. A thread has a vector
//   of a row where rows are updated as a whole.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static Value asIndex(device::KernelFrame &f, Value v) {
  return v.getType().isIndex() ? v : Value(arith::IndexCastOp::create(f.b, f.b.getIndexType(), v));
}

/// Whether an index that was read lies in [0, extent), and the index, valid only then.
static std::pair<Value, Value> checkedIndex(device::KernelFrame &f, Value read, Value extent) {
  ImplicitLocOpBuilder &b = f.b;
  // 64 bits are compared before they become an index, which may have 32.
  if (!read.getType().isInteger(64))
    return {f.less(asIndex(f, read), extent), asIndex(f, read)};
  Value bound = arith::IndexCastOp::create(b, b.getI64Type(), extent);
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, read, bound);
  return {inside, asIndex(f, read)};
}

static void updatePoint(device::KernelFrame &f, prim::ScatterKind kind, ArrayRef<Coord> at,
                        Value update) {
  const Memory &out = f.results[0];
  f.e.forget();
  if (kind == prim::ScatterKind::assign)
    return f.e.store(out, at, update);
  auto reduction = kind == prim::ScatterKind::add   ? prim::ReduceKind::sum
                   : kind == prim::ScatterKind::mul ? prim::ReduceKind::prod
                   : kind == prim::ScatterKind::max ? prim::ReduceKind::max
                                                    : prim::ReduceKind::min;
  f.e.store(out, at, emitCombine(f.b, reduction, out.elementType, f.e.load(out, at), update));
}

/// Calls `copy` unless `source` lies where the result goes (Analysis/InPlace.h).
static void unlessInPlace(device::KernelFrame &f, Value source, function_ref<void()> copy) {
  const Memory *memory = f.e.memoryOf(source);
  if (!memory)
    return copy();
  Value from = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), memory->pointer);
  Value to = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), f.results[0].pointer);
  f.when(arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, from, to), copy);
}

static void copyPoint(device::KernelFrame &f, Value source, ArrayRef<Coord> at) {
  Value v = f.e.eval(source, at);
  f.failed |= !v;
  if (v)
    f.e.store(f.results[0], at, v);
}

static void emitScatterAlong(device::KernelFrame &f, prim::ScatterAlongOp op) {
  unsigned axis = op.getAxis();
  SmallVector<Value> extents = extentsOf(f, op.getX()), others(extents);
  others.erase(others.begin() + axis);
  Value line = f.globalThread();
  f.when(f.less(line, f.volume(others)), [&] {
    Coords at;
    for (Value i : f.delinearize(line, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    auto along = [&](Value i) {
      Coords moved(at);
      moved[axis] = Coord::uniform(i);
      return moved;
    };
    unlessInPlace(f, op.getX(), [&] {
      f.loop(f.e.index(0), extents[axis], 1, [&](Value i) { copyPoint(f, op.getX(), along(i)); });
    });
    // The indices may be fewer than the tensor's along the other axes.
    SmallVector<Value> updates = extentsOf(f, op.getIndices());
    Value has = arith::ConstantOp::create(f.b, f.b.getBoolAttr(true));
    for (unsigned i = 0; i < updates.size(); ++i)
      if (i != axis)
        has = arith::AndIOp::create(f.b, has, f.less(at[i].base, updates[i]));
    f.when(has, [&] {
      f.loop(f.e.index(0), updates[axis], 1, [&](Value i) {
        Value read = f.e.eval(op.getIndices(), along(i));
        auto [inside, index] = checkedIndex(f, read, extents[axis]);
        f.when(inside, [&, index = index] {
          Value update = f.e.eval(op.getUpdates(), along(i));
          f.failed |= !update;
          if (update)
            updatePoint(f, op.getKind(), along(index), update);
        });
      });
    });
  });
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
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::ScatterAlongOp o) { emitScatterAlong(f, o); })
      .Case([&](prim::ScatterNdOp o) { emitScatterNd(f, o); })
      .Case([&](prim::InsertSliceOp o) { emitInsertSlice(f, o); })
      .Default([&](Operation *o) {
        o->emitError("code generation for GPUs has no form of '") << o->getName() << "'";
        f.failed = true;
      });
}
