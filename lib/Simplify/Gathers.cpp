//===- Gathers.cpp - Gather before computing ------------------------------===//
//
//   take_along(f(x, broadcast(y)), i)      f(take_along(x, i), broadcast(y))
//
// where fewer elements are gathered than there are, and `y` is the same along the axis. A loss
// takes one element a row of a log-softmax: what the row is reduced to is enough then, and no row
// is written, whoever else reads it.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_GATHERSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// Whether `op` repeats its operand along `axis` of its result.
bool repeatsAlong(prim::BroadcastOp op, uint64_t axis) {
  for (auto [from, to] : llvm::enumerate(op.getAxes()))
    if (to == int64_t(axis))
      return tensorType(op.getX()).getDimSize(unsigned(from)) == 1;
  return true;
}

/// Constants of one value, and what is repeated along the axis, have no elements to gather.
bool isSameAlong(Value v, uint64_t axis) {
  if (auto constant = v.getDefiningOp<prim::ConstantOp>())
    return isa<DenseElementsAttr>(constant.getElements()) &&
           cast<DenseElementsAttr>(constant.getElements()).isSplat();
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  return broadcast && repeatsAlong(broadcast, axis);
}

struct GatherOfPoints : OpRewritePattern<prim::TakeAlongOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::TakeAlongOp op, PatternRewriter &b) const override {
    constexpr int64_t kFewer = 4; // one of so many elements is gathered, at most
    Operation *points = op.getX().getDefiningOp();
    RankedTensorType from = tensorType(op.getX()), to = tensorType(op.getResult());
    if (!points || !prim::isElementwise(points) || points->getNumResults() != 1)
      return b.notifyMatchFailure(op, "not of something computed point by point");
    if (!from.hasStaticShape() || !to.hasStaticShape() ||
        to.getNumElements() * kFewer > from.getNumElements())
      return b.notifyMatchFailure(op, "as much is gathered as computed");
    for (auto [axis, extent] : llvm::enumerate(to.getShape()))
      if (axis != op.getAxis() && extent != from.getDimSize(unsigned(axis)))
        return b.notifyMatchFailure(op, "a part of the other axes");
    auto gathered = llvm::count_if(points->getOperands(),
                                   [&](Value v) { return !isSameAlong(v, op.getAxis()); });
    bool alike = llvm::all_of(points->getOperands(), [&](Value v) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      return type && type.getShape() == from.getShape() && !type.getEncoding();
    });
    if (gathered != 1 || !alike)
      return b.notifyMatchFailure(op, "several operands to gather");
    IRMapping operands;
    for (Value v : points->getOperands())
      operands.map(v, ofGathered(v, op, b));
    Operation *result = b.clone(*points, operands);
    result->getResult(0).setType(to);
    b.replaceOp(op, result);
    return success();
  }

private:
  /// What `v` is at the places that `op` gathers.
  static Value ofGathered(Value v, prim::TakeAlongOp op, PatternRewriter &b) {
    RankedTensorType type = tensorType(op.getResult()).clone(tensorType(v).getElementType());
    if (!isSameAlong(v, op.getAxis()))
      return prim::TakeAlongOp::create(b, op.getLoc(), type, v, op.getIndices(), op.getAxis());
    if (auto constant = v.getDefiningOp<prim::ConstantOp>()) {
      auto elements = cast<DenseElementsAttr>(constant.getElements());
      return prim::ConstantOp::create(b, op.getLoc(), type, elements.resizeSplat(type));
    }
    auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
    return prim::BroadcastOp::create(b, op.getLoc(), type, broadcast.getX(), broadcast.getAxes(),
                                     ValueRange());
  }
};

class GathersPass : public tcc::impl::GathersPassBase<GathersPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateGatherPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherOfPoints>(patterns.getContext());
}

std::unique_ptr<Pass> tcc::createGathersPass() { return std::make_unique<GathersPass>(); }
