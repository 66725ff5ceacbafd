//===- DeferScales.cpp - Products are scaled after they are summed --------===//
//
// Attention scales q, or q and k, before their product. Scaled operands would have
// to be written to memory once more; the product is scaled in registers.
//
//   %a = prim.mul %q, 0.354        %s = prim.dot %q, transpose(%k)
//   %b = prim.mul %k, 0.354        %r = prim.mul %s, 0.125
//   %r = prim.dot %a, transpose(%b)
//
// Only where the sum is a float of 32 bits or more: in a narrow one the operands may
// have been scaled so that the result does not overflow. In a wide one they are where the
// scale is far from 1.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_DEFERSCALESPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

/// The one element of a constant or of a broadcast constant.
static std::optional<double> splatOf(Value value) {
  if (auto broadcast = value.getDefiningOp<prim::BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  return dense.getSplatValue<APFloat>().convertToDouble();
}

/// Takes scales off `value`, which is seen through transposes and reshapes.
static Value withoutScale(OpBuilder &b, Value value, double &scale) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse())
    return {};
  if (auto mul = dyn_cast<prim::MulOp>(op)) {
    for (auto [x, factor] :
         {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (std::optional<double> c = splatOf(factor); c && std::isfinite(*c) && *c != 0) {
        scale *= *c;
        Value more = withoutScale(b, x, scale);
        return more ? more : x;
      }
    return {};
  }
  if (!isa<prim::TransposeOp, prim::ReshapeOp>(op))
    return {};
  Value inner = withoutScale(b, op->getOperand(0), scale);
  if (!inner)
    return {};
  IRMapping map;
  map.map(op->getOperand(0), inner);
  return b.clone(*op, map)->getResult(0);
}

static Value splatLike(OpBuilder &b, Location loc, Value like, double number) {
  auto type = cast<RankedTensorType>(like.getType());
  auto constant = [&](RankedTensorType shape) {
    auto value = b.getFloatAttr(type.getElementType(), number);
    return prim::ConstantOp::create(b, loc, shape, DenseElementsAttr::get(shape, value));
  };
  if (type.hasStaticShape())
    return constant(type);
  Value scalar = constant(RankedTensorType::get({}, type.getElementType()));
  SmallVector<Value> sizes;
  for (auto [axis, d] : llvm::enumerate(prim::dimsOf(b, loc, like)))
    if (type.isDynamicDim(axis))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, d));
  return prim::BroadcastOp::create(b, loc, type, scalar, ArrayRef<int64_t>{}, sizes);
}

static void deferScales(prim::DotOp op) {
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  if (!element.isF32() && !element.isF64())
    return;
  OpBuilder b(op);
  double scale = 1;
  Value lhs = withoutScale(b, op.getLhs(), scale), rhs = withoutScale(b, op.getRhs(), scale);
  if (!lhs && !rhs)
    return;
  constexpr int most = 20; // attention's is the root of some hundreds
  if (!std::isnormal(scale) || std::abs(std::ilogb(scale)) > most)
    return;
  if (lhs)
    op.getLhsMutable().assign(lhs);
  if (rhs)
    op.getRhsMutable().assign(rhs);
  b.setInsertionPointAfter(op);
  Value factor = splatLike(b, op.getLoc(), op.getResult(), scale);
  auto scaled = prim::MulOp::create(b, op.getLoc(), op.getType(), op.getResult(), factor);
  op.getResult().replaceAllUsesExcept(scaled, scaled);
}

namespace {

class DeferScalesPass : public tcc::impl::DeferScalesPassBase<DeferScalesPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](prim::DotOp op) { deferScales(op); });
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isa<prim::PrimDialect>(op->getDialect()) && isOpTriviallyDead(op))
        op->erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createDeferScalesPass() { return std::make_unique<DeferScalesPass>(); }
