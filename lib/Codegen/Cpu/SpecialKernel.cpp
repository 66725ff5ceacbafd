//===- SpecialKernel.cpp - Operators with an algorithm of their own -------===//
//
// Operators that write by index, carry along an axis, or order elements. Lines
// along an axis are independent of each other and run in parallel; scatters keep
// their order of writes and run as one task.
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

void tcc::codegen::forEachPoint(KernelFrame &f, ArrayRef<Value> extents,
                                function_ref<void(Coords &)> body, Coords prefix) {
  if (extents.empty())
    return body(prefix);
  f.loop(f.e.index(0), extents.front(), 1, [&](Value i) {
    Coords at(prefix);
    at.push_back(Coord::uniform(i));
    forEachPoint(f, extents.drop_front(), body, at);
  });
}

/// Lanes for a copy of rows of `extent` elements.
static unsigned copyLanes(KernelFrame &f, int64_t extent) {
  auto schedule = cast<kernel::SpecialScheduleAttr>(f.launch.getScheduleAttr());
  return lanesFor(schedule.getLanes(), extent);
}

/// Copies all of `source` to `target`, vectors along the last axis.
static void copyTensor(KernelFrame &f, Value source, const Memory &target) {
  ArrayRef<Value> extents = target.extents;
  if (extents.empty()) {
    f.e.store(target, {}, f.e.eval(source, {}));
    return;
  }
  unsigned lanes = copyLanes(f, tensorType(source).getShape().back());
  forEachPoint(f, extents.drop_back(), [&](Coords &outer) {
    f.vectorLoop(f.e.index(0), extents.back(), lanes, true, [&](Value i) {
      Coords at(outer);
      at.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
      f.e.store(target, at, f.e.eval(source, at));
    });
  });
}

static Value inBounds(KernelFrame &f, Value i, Value extent) {
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ult, i, extent);
}

static Value asIndex(KernelFrame &f, Value v) {
  return v.getType().isIndex() ? v : Value(arith::IndexCastOp::create(f.b, f.b.getIndexType(), v));
}

/// What lands at a point that holds `old`.
static Value combineUpdate(KernelFrame &f, prim::ScatterKind kind, Type e, Value old,
                           Value update) {
  switch (kind) {
  case prim::ScatterKind::assign:
    return update;
  case prim::ScatterKind::add:
    return emitCombine(f.b, prim::ReduceKind::sum, e, old, update);
  case prim::ScatterKind::mul:
    return emitCombine(f.b, prim::ReduceKind::prod, e, old, update);
  case prim::ScatterKind::max:
    return emitCombine(f.b, prim::ReduceKind::max, e, old, update);
  case prim::ScatterKind::min:
    return emitCombine(f.b, prim::ReduceKind::min, e, old, update);
  }
  llvm_unreachable("all kinds are handled above");
}

static void updatePoint(KernelFrame &f, prim::ScatterKind kind, ArrayRef<Coord> at, Value update) {
  const Memory &out = f.results[0];
  f.e.forget();
  Value old = kind == prim::ScatterKind::assign ? Value() : f.e.load(out, at);
  f.e.store(out, at, combineUpdate(f, kind, out.elementType, old, update));
}

/// Copies what the operator changes a part of, unless it is changed where it lies
/// (Plan/InPlace.h).
static void copyUnchanged(KernelFrame &f, Value source) {
  const Memory *memory = f.e.memoryOf(source), &target = f.results[0];
  if (!memory)
    return copyTensor(f, source, target);
  Value from = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), memory->pointer);
  Value to = LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), target.pointer);
  Value apart = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, from, to);
  f.when(apart, [&] { copyTensor(f, source, target); });
}

static void emitScatterAlong(KernelFrame &f, prim::ScatterAlongOp op) {
  copyUnchanged(f, op.getX());
  forEachPoint(f, extentsOf(f, op.getIndices()), [&](Coords &at) {
    Value i = asIndex(f, f.e.eval(op.getIndices(), at));
    f.when(inBounds(f, i, f.e.extent(op.getX(), op.getAxis())), [&] {
      Value update = f.e.eval(op.getUpdates(), at);
      Coords target(at);
      target[op.getAxis()] = Coord::uniform(i);
      updatePoint(f, op.getKind(), target, update);
    });
  });
}

static void emitScatterNd(KernelFrame &f, prim::ScatterNdOp op) {
  copyUnchanged(f, op.getX());
  int64_t depth = tensorType(op.getIndices()).getShape().back();
  SmallVector<Value> outer = extentsOf(f, op.getIndices());
  outer.pop_back();
  SmallVector<Value> inner = extentsOf(f, op.getX());
  inner.erase(inner.begin(), inner.begin() + depth);
  forEachPoint(f, outer, [&](Coords &where) {
    Coords target;
    Value ok;
    for (int64_t k = 0; k < depth; ++k) {
      Coords element(where);
      element.push_back(Coord::uniform(f.e.index(k)));
      Value i = asIndex(f, f.e.eval(op.getIndices(), element));
      Value in = inBounds(f, i, f.e.extent(op.getX(), k));
      ok = ok ? Value(arith::AndIOp::create(f.b, ok, in)) : in;
      target.push_back(Coord::uniform(i));
    }
    auto write = [&] {
      forEachPoint(f, inner, [&](Coords &rest) {
        Coords source(where), to(target);
        source.append(rest.begin(), rest.end());
        to.append(rest.begin(), rest.end());
        updatePoint(f, op.getKind(), to, f.e.eval(op.getUpdates(), source));
      });
    };
    ok ? f.when(ok, write) : write();
  });
}

static void emitInsertSlice(KernelFrame &f, prim::InsertSliceOp op) {
  copyUnchanged(f, op.getX());
  SmallVector<OpFoldResult> starts = op.getMixedStarts();
  auto targetOf = [&](unsigned axis, Value i) {
    Value offset = isa<Value>(starts[axis]) ? f.e.scalar(cast<Value>(starts[axis]))
                                            : f.e.index(*getConstantIntValue(starts[axis]));
    return f.e.addIndex(f.e.mulIndex(i, f.e.index(op.getSteps()[axis])), offset);
  };
  SmallVector<Value> extents = extentsOf(f, op.getUpdate());
  if (extents.empty())
    return f.e.store(f.results[0], {}, f.e.eval(op.getUpdate(), {}));
  unsigned last = extents.size() - 1;
  bool dense = op.getSteps()[last] == 1;
  unsigned lanes = dense ? copyLanes(f, tensorType(op.getUpdate()).getShape().back()) : 1;
  forEachPoint(f, ArrayRef(extents).drop_back(), [&](Coords &outer) {
    Coords to;
    for (auto [axis, c] : llvm::enumerate(outer))
      to.push_back(Coord::uniform(targetOf(axis, c.base)));
    f.vectorLoop(f.e.index(0), extents[last], lanes, true, [&](Value i) {
      int64_t step = f.e.lanes() > 1 ? 1 : 0;
      Coords from(outer), target(to);
      from.push_back(Coord::affine(i, step));
      target.push_back(Coord::affine(targetOf(last, i), step));
      f.e.store(f.results[0], target, f.e.eval(op.getUpdate(), from));
    });
  });
}

static void emitLines(KernelFrame &f, Operation *op, Value x, unsigned axis) {
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  others.erase(others.begin() + axis);
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Coords at;
    for (Value i : f.delinearize(task, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    emitLine(f, op, at, extents[axis]);
  });
}

static void emitNonzero(KernelFrame &f, prim::NonzeroOp op) {
  Type e = tensorType(op.getX()).getElementType(),
       pointer = LLVM::LLVMPointerType::get(f.b.getContext());
  Value one = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(1));
  Value counter = LLVM::AllocaOp::create(f.b, pointer, f.b.getI64Type(), one, 8);
  LLVM::StoreOp::create(f.b, arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(0)), counter);
  forEachPoint(f, extentsOf(f, op.getX()), [&](Coords &at) {
    Value v = f.e.eval(op.getX(), at);
    if (!v) {
      f.failed = true;
      return;
    }
    Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
    Value nonzero = isa<FloatType>(e)
                        ? Value(arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNE, v, zero))
                        : Value(arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, v, zero));
    f.when(nonzero, [&] {
      Value count = LLVM::LoadOp::create(f.b, f.b.getI64Type(), counter);
      for (auto [axis, c] : llvm::enumerate(at)) {
        Coord to[] = {Coord::uniform(f.e.index(axis)), Coord::uniform(asIndex(f, count))};
        f.e.store(f.results[0], to, arith::IndexCastOp::create(f.b, f.b.getI64Type(), c.base));
      }
      LLVM::StoreOp::create(f.b, arith::AddIOp::create(f.b, count, one), counter);
    });
  });
}

bool tcc::codegen::emitSpecialKernel(KernelFrame &f) {
  Operation *op = f.yield().getValues()[0].getDefiningOp();
  if (auto line = lineAxis(op)) {
    emitLines(f, op, line->first, line->second);
    return !f.failed;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::ScatterAlongOp o) { emitScatterAlong(f, o); })
      .Case([&](prim::ScatterNdOp o) { emitScatterNd(f, o); })
      .Case([&](prim::InsertSliceOp o) { emitInsertSlice(f, o); })
      .Case([&](prim::NonzeroOp o) { emitNonzero(f, o); })
      .Default([&](Operation *o) {
        o->emitError("code generation for '") << o->getName() << "' is missing";
        f.failed = true;
      });
  return !f.failed;
}
