//===- Broadcasts.cpp - Compute before repeating --------------------------===//
//
// What is the same at every repeated point is computed once:
//
//   add(broadcast(x), broadcast(y))       broadcast(add(x, y))     same axes
//   add(broadcast(x), constant)           broadcast(add(x, constant))
//   reduce sum (broadcast(x))             x * n, or broadcast and reduce less
//   reduce max, min, any, all             x
//   reduce over axes of extent 1          reshape(x)
//
// A sum of n equal floats rounds up to n - 1 times, x * n once. Axes of unknown
// extent may be empty, and stay.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_BROADCASTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

static RankedTensorType withElement(RankedTensorType shape, Type element) {
  return RankedTensorType::get(shape.getShape(), element);
}

namespace {

struct ElementwiseOfBroadcasts : RewritePattern {
  ElementwiseOfBroadcasts(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!prim::isElementwise(op) || op->getNumResults() != 1)
      return failure();
    prim::BroadcastOp first;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
      if (!broadcast && splatOf(operand))
        continue;
      if (broadcast && tensorType(broadcast.getX()).getRank() == 0 && splatOf(operand))
        continue; // a constant of dynamic shape
      if (!broadcast || !tensorType(broadcast.getX()).hasStaticShape())
        return b.notifyMatchFailure(op, "an operand is no broadcast");
      if (first && (first.getAxes() != broadcast.getAxes() ||
                    tensorType(first.getX()).getShape() != tensorType(broadcast.getX()).getShape()))
        return b.notifyMatchFailure(op, "the broadcasts differ");
      first = first ? first : broadcast;
    }
    if (!first)
      return failure();
    RankedTensorType small = tensorType(first.getX());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
      if (broadcast && !splatOf(operand)) {
        operands.push_back(broadcast.getX());
        continue;
      }
      auto type = withElement(small, elementOf(operand));
      operands.push_back(prim::ConstantOp::create(b, op->getLoc(), type,
                                                  DenseElementsAttr::get(type, splatOf(operand))));
    }
    Operation *inner = b.clone(*op);
    inner->setOperands(operands);
    inner->getResult(0).setType(withElement(small, elementOf(op->getResult(0))));
    b.replaceOpWithNewOp<prim::BroadcastOp>(op, op->getResult(0).getType(), inner->getResult(0),
                                            first.getAxes(), first.getSizes());
    return success();
  }
};

struct ReduceOverUnitAxes : OpRewritePattern<prim::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ReduceOp op, PatternRewriter &b) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.hasStaticShape() || llvm::any_of(op.getAxes(), [&](int64_t axis) {
          return tensorType(op.getX()).getDimSize(axis) != 1;
        }))
      return b.notifyMatchFailure(op, "an axis has more than one element");
    b.replaceOpWithNewOp<prim::ReshapeOp>(op, type, op.getX(), ValueRange());
    return success();
  }
};

/// The axes of `op` along which its broadcast operand repeats, and how often.
struct Repeated {
  SmallVector<int64_t> axes;
  int64_t times = 1;
};

Repeated repeatedAxes(prim::ReduceOp op, prim::BroadcastOp broadcast) {
  Repeated repeated;
  RankedTensorType full = tensorType(op.getX()), source = tensorType(broadcast.getX());
  for (int64_t axis : op.getAxes()) {
    const int64_t *from = llvm::find(broadcast.getAxes(), axis);
    bool repeats = from == broadcast.getAxes().end() ||
                   source.getDimSize(from - broadcast.getAxes().begin()) == 1;
    int64_t extent = full.getDimSize(axis), product;
    if (!repeats || ShapedType::isDynamic(extent) || extent == 0 ||
        llvm::MulOverflow(repeated.times, extent, product) || product > (int64_t(1) << 24))
      continue;
    repeated.axes.push_back(axis);
    repeated.times = product;
  }
  return repeated;
}

struct ReduceOfBroadcast : OpRewritePattern<prim::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ReduceOp op, PatternRewriter &b) const override {
    auto broadcast = op.getX().getDefiningOp<prim::BroadcastOp>();
    if (!broadcast || op.getKind() == prim::ReduceKind::prod ||
        !tensorType(broadcast.getX()).hasStaticShape() || !tensorType(op.getX()).hasStaticShape())
      return failure();
    Type e = elementOf(op.getX());
    bool isSum = op.getKind() == prim::ReduceKind::sum;
    if (isSum && !e.isF32() && !e.isF64() && !isInteger(op.getX()))
      return b.notifyMatchFailure(op, "the factor may not fit the type");
    Repeated gone = repeatedAxes(op, broadcast);
    if (gone.axes.empty())
      return b.notifyMatchFailure(op, "no repeated axis is reduced");
    b.replaceOp(op, reduceRest(op, broadcast, gone, isSum, b));
    return success();
  }

  /// x without its unit axes along `gone`, broadcast to the other axes, reduced
  /// over the others, times their number.
  static Value reduceRest(prim::ReduceOp op, prim::BroadcastOp broadcast, const Repeated &gone,
                          bool isSum, PatternRewriter &b) {
    Location loc = op.getLoc();
    RankedTensorType full = tensorType(op.getX()), source = tensorType(broadcast.getX());
    Type e = full.getElementType();
    SmallVector<int64_t> newAxis(full.getRank(), -1), shape, sourceShape, map, axes;
    for (int64_t axis = 0; axis < full.getRank(); ++axis) {
      if (llvm::is_contained(gone.axes, axis))
        continue;
      newAxis[axis] = shape.size();
      shape.push_back(full.getDimSize(axis));
      if (llvm::is_contained(op.getAxes(), axis))
        axes.push_back(newAxis[axis]);
    }
    for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
      if (newAxis[axis] >= 0) {
        sourceShape.push_back(source.getDimSize(i));
        map.push_back(newAxis[axis]);
      }
    Value x = prim::ReshapeOp::create(b, loc, RankedTensorType::get(sourceShape, e),
                                      broadcast.getX(), ValueRange());
    x = prim::BroadcastOp::create(b, loc, RankedTensorType::get(shape, e), x, map, ValueRange());
    if (!axes.empty())
      x = prim::ReduceOp::create(b, loc, op.getType(), op.getKind(), x, axes);
    if (!isSum)
      return x;
    Attribute times = isa<FloatType>(e)
                          ? Attribute(b.getFloatAttr(e, static_cast<double>(gone.times)))
                          : Attribute(IntegerAttr::get(
                                e, APInt(64, gone.times).trunc(e.getIntOrFloatBitWidth())));
    return prim::MulOp::create(b, loc, op.getType(), x, splatLike(b, loc, x, times));
  }
};

class BroadcastsPass : public tcc::impl::BroadcastsPassBase<BroadcastsPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateBroadcastPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add<ElementwiseOfBroadcasts, ReduceOverUnitAxes, ReduceOfBroadcast>(
      patterns.getContext());
}

std::unique_ptr<Pass> tcc::createBroadcastsPass() { return std::make_unique<BroadcastsPass>(); }
