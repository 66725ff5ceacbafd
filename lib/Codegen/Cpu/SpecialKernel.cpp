//===- SpecialKernel.cpp - Operators with an algorithm of their own -------===//
//
// Operators that write by index (ScatterKernel.cpp), that carry along an axis or order
// elements (LineKernel.cpp), that factor matrices (MatrixKernel.cpp), that
// transform lines (FourierKernel.cpp), or that collect what a condition selects, in order, as one
// task.
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

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

/// Whether the element at `at` is not 0, as 0 or 1 (i64).
static Value isNonzero(KernelFrame &f, Value x, ArrayRef<Coord> at) {
  Value v = f.e.eval(x, at);
  if (!v)
    return {};
  Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
  Value nonzero = isa<FloatType>(v.getType())
                      ? Value(arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNE, v, zero))
                      : Value(arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, v, zero));
  return arith::ExtUIOp::create(f.b, f.b.getI64Type(), nonzero);
}

/// Blocks of a line: the place of each element is written behind those that were found, and is
/// found itself by a count that goes on or not: no jump that nobody can foretell. What was found is
/// then copied.
static void emitNonzero(KernelFrame &f, prim::NonzeroOp op) {
  constexpr int64_t block = 64;
  KernelBuilder k(f.b, f.launch.getLoc());
  Type i64 = f.b.getI64Type();
  const Memory &result = f.results[0];
  SmallVector<Value> extents = extentsOf(f, op.getX());
  bool isScalar = extents.empty();
  Value line = isScalar ? f.e.index(1) : extents.pop_back_val();
  Value found = k.scratch(i64, block), counter = k.scratch(i64, 1);
  k.store(k.zero(i64), counter);
  int64_t last = static_cast<int64_t>(extents.size());
  forEachPoint(f, extents, [&](Coords &at) {
    k.loop(k.constant(0), line, k.constant(block), [&](Index low) {
      Index high = k.min(k.add(low, k.constant(block)), line);
      Value count = k.loop(low, high, k.constant(1), {k.zero(i64)}, [&](Index i, ValueRange have) {
        Coords point(at);
        if (!isScalar)
          point.push_back(Coord::uniform(k.value(i)));
        Value next = isNonzero(f, op.getX(), point);
        f.failed |= !next;
        if (!next)
          return SmallVector<Value>(have);
        Value to = arith::IndexCastOp::create(f.b, f.b.getIndexType(), have[0]);
        k.store(k.toI64(i), k.address(found, i64, to));
        return SmallVector<Value>{arith::AddIOp::create(f.b, have[0], next)};
      })[0];
      Value before = k.load(i64, counter);
      Value first = arith::IndexCastOp::create(f.b, f.b.getIndexType(), before);
      auto row = [&](int64_t axis) {
        return k.address(result.pointer, i64,
                         k.add(k.mul(k.constant(axis), result.extents.back()), first));
      };
      Value eight = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(sizeof(int64_t)));
      Value bytes = arith::MulIOp::create(f.b, count, eight);
      if (!isScalar)
        LLVM::MemcpyOp::create(f.b, row(last), found, bytes, /*isVolatile=*/false);
      Value all = arith::IndexCastOp::create(f.b, f.b.getIndexType(), count);
      for (auto [axis, c] : llvm::enumerate(at)) {
        Value place = arith::IndexCastOp::create(f.b, i64, c.base), to = row(axis);
        k.loop(k.constant(0), all, k.constant(1),
               [&](Index i) { k.store(place, k.address(to, i64, i)); });
      }
      k.store(arith::AddIOp::create(f.b, before, count), counter);
    });
  });
}

bool tcc::codegen::emitSpecialKernel(KernelFrame &f) {
  Operation *op = kernel::specialOf(f.launch);
  if (lineAxis(op)) {
    emitLines(f, op);
  } else if (prim::has<prim::UpdatesFirst>(op)) {
    emitScatter(f, op);
  } else if (op->hasTrait<prim::MatrixFactor>()) {
    emitMatrices(f, op);
  } else if (auto fourier = dyn_cast<prim::FourierOp>(op)) {
    emitFourier(f, fourier);
  } else if (auto nonzero = dyn_cast<prim::NonzeroOp>(op)) {
    emitNonzero(f, nonzero);
  } else {
    op->emitError("code generation for '") << op->getName() << "' is missing";
    f.failed = true;
  }
  return !f.failed;
}
