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

static Value asIndex(KernelFrame &f, Value v) {
  return v.getType().isIndex() ? v : Value(arith::IndexCastOp::create(f.b, f.b.getIndexType(), v));
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
