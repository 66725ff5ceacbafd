//===- LineKernel.cpp - A thread a line, and one warp that collects -------===//
#include "tcc/Codegen/Common/LineKernel.h"
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

void device::emitLineKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  auto [x, axis] = *lineAxis(op);
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  others.erase(others.begin() + axis);
  Value line = f.globalThread();
  f.when(f.less(line, f.volume(others)), [&, axis = axis] {
    Coords at;
    for (Value i : f.delinearize(line, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    emitLine(f, op, at, extents[axis]);
  });
}

/// The places of the elements that are not zero, in order: a warp looks at 32 of them at a
/// time; each lane's place among the hits is the number of hits of the lanes before it.
void device::emitCollectKernel(KernelFrame &f) {
  auto op = cast<prim::NonzeroOp>(specialOf(f.launch));
  ImplicitLocOpBuilder &b = f.b;
  Type e = cast<RankedTensorType>(op.getX().getType()).getElementType();
  SmallVector<Value> extents = extentsOf(f, op.getX());
  Value total = f.volume(extents), step = f.e.index(GpuArch::warp);
  auto loop = scf::ForOp::create(b, f.e.index(0), total, step, ValueRange{f.e.index(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value position = f.e.addIndex(loop.getInductionVar(), f.thread);
  Value inside = f.less(position, total);
  Value safe = arith::MinUIOp::create(b, position, f.e.subIndex(total, f.e.index(1)));
  Coords at;
  for (Value i : f.delinearize(safe, extents))
    at.push_back(Coord::uniform(i));
  Value next = f.e.nested([&]() -> Value {
    Value v = f.e.eval(op.getX(), at);
    if (!v) {
      f.failed = true;
      return loop.getRegionIterArg(0);
    }
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
    Value hit = isa<FloatType>(e)
                    ? Value(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, v, zero))
                    : Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero));
    hit = arith::AndIOp::create(b, hit, inside);
    Value hits =
        NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(-1), hit, NVVM::VoteSyncKind::ballot);
    Value lane = arith::IndexCastUIOp::create(b, b.getI32Type(), f.thread);
    Value below = arith::SubIOp::create(b, arith::ShLIOp::create(b, f.i32(1), lane), f.i32(1));
    auto count = [&](Value bits) -> Value {
      return arith::IndexCastUIOp::create(b, b.getIndexType(), math::CtPopOp::create(b, bits));
    };
    Value place =
        f.e.addIndex(loop.getRegionIterArg(0), count(arith::AndIOp::create(b, hits, below)));
    f.when(hit, [&] {
      for (auto [axis, c] : llvm::enumerate(at)) {
        Coord to[] = {Coord::uniform(f.e.index(axis)), Coord::uniform(place)};
        f.e.store(f.results[0], to, arith::IndexCastOp::create(b, b.getI64Type(), c.base));
      }
    });
    return f.e.addIndex(loop.getRegionIterArg(0), count(hits));
  });
  scf::YieldOp::create(b, next);
}
