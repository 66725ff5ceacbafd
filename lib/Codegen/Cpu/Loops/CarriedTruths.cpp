//===- CarriedTruths.cpp - Truth values from turn to turn -----------------===//
#include "CarriedTruths.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tcc;

/// What a turn does with the truth values that it is given, if it is all that it does with them:
/// "or" or "and" with others.
static Operation *combining(scf::ForOp loop, unsigned i) {
  BlockArgument carried = loop.getRegionIterArg(i);
  Operation *combine = loop.getYieldedValues()[i].getDefiningOp();
  if (!isa_and_nonnull<arith::OrIOp, arith::AndIOp>(combine) || !combine->hasOneUse() ||
      !carried.hasOneUse() || *carried.user_begin() != combine)
    return nullptr;
  return combine;
}

static void carryAsBytes(scf::ForOp loop, unsigned i, VectorType truths, Operation *combine) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  auto bytes = VectorType::get(truths.getShape(), b.getI8Type());
  OpOperand &init = loop.getInitArgsMutable()[i];
  init.set(arith::ExtSIOp::create(b, bytes, init.get()));
  BlockArgument carried = loop.getRegionIterArg(i);
  carried.setType(bytes);
  b.setInsertionPoint(combine);
  Value other = combine->getOperand(combine->getOperand(0) == carried ? 1 : 0);
  other = arith::ExtSIOp::create(b, bytes, other);
  Value next = isa<arith::OrIOp>(combine) ? Value(arith::OrIOp::create(b, carried, other))
                                          : Value(arith::AndIOp::create(b, carried, other));
  combine->getResult(0).replaceAllUsesWith(next);
  combine->erase();
  OpResult result = loop->getOpResult(i);
  result.setType(bytes);
  b.setInsertionPointAfter(loop);
  Value none = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(bytes)));
  auto truth = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, result, none);
  result.replaceAllUsesExcept(truth, truth);
}

void tcc::codegen::carryTruthsAsBytes(func::FuncOp function, const CpuTarget &cpu) {
  if (cpu.maskedMemory)
    return;
  function.walk([](scf::ForOp loop) {
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      auto type = dyn_cast<VectorType>(loop.getRegionIterArg(i).getType());
      Operation *combine =
          type && type.getElementType().isInteger(1) ? combining(loop, i) : nullptr;
      if (combine)
        carryAsBytes(loop, i, type, combine);
    }
  });
}
