//===- WideSums.cpp - Scatters of narrow floats sum in f32 ----------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tcc {
#define GEN_PASS_DEF_WIDESUMSPASS
#include "tcc/Decompose/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

/// Whether updates may meet so often that rounding each sum shows, or f32 costs little.
static bool mayMeetOften(RankedTensorType x, RankedTensorType updates) {
  constexpr int64_t kFewer = 4; // times as many elements of x as of updates
  return !x.hasStaticShape() || !updates.hasStaticShape() ||
         updates.getNumElements() >= x.getNumElements() / kFewer;
}

static bool isRoundedOften(Operation *op) {
  auto kind = llvm::TypeSwitch<Operation *, std::optional<prim::ScatterKind>>(op)
                  .Case<prim::ScatterAlongOp, prim::ScatterNdOp, prim::ScatterRunsOp>(
                      [](auto scatter) { return scatter.getKind(); })
                  .Default(std::nullopt);
  if (kind != prim::ScatterKind::add && kind != prim::ScatterKind::mul)
    return false;
  RankedTensorType x = tensorType(op->getOperand(0));
  return isa<FloatType>(x.getElementType()) && x.getElementTypeBitWidth() < 32 &&
         mayMeetOften(x, tensorType(op->getOperand(2)));
}

static void widen(Operation *op) {
  OpBuilder b(op);
  auto cast = [&](Value v, Type element) -> Value {
    return prim::CastOp::create(b, op->getLoc(), tensorType(v).clone(element), v);
  };
  for (unsigned i : {0, 2})
    op->setOperand(i, cast(op->getOperand(i), b.getF32Type()));
  Value result = op->getResult(0);
  Type narrow = tensorType(result).getElementType();
  result.setType(tensorType(result).clone(b.getF32Type()));
  b.setInsertionPointAfter(op);
  Value rounded = cast(result, narrow);
  result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

namespace {

class WideSumsPass : public tcc::impl::WideSumsPassBase<WideSumsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isRoundedOften(op))
        widen(op);
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createWideSumsPass() { return std::make_unique<WideSumsPass>(); }
