#include "Simplify/Splat.h"

using namespace mlir;

namespace tcc::simplify {

Attribute splatOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return dense && dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
  }
  if (isa_and_nonnull<prim::BroadcastOp, prim::ReshapeOp, prim::TransposeOp>(op))
    return splatOf(op->getOperand(0));
  return {};
}

std::optional<APFloat> floatSplat(Value value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(splatOf(value)))
    return number.getValue();
  return std::nullopt;
}

std::optional<APInt> intSplat(Value value) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(splatOf(value)))
    return number.getValue();
  return std::nullopt;
}

bool isSplat(Value value, int64_t number) {
  if (auto f = floatSplat(value)) {
    APFloat wanted(f->getSemantics());
    wanted.convertFromAPInt(APInt(64, number, true), true, APFloat::rmNearestTiesToEven);
    return f->bitwiseIsEqual(wanted);
  }
  if (auto i = intSplat(value))
    return *i == APInt(64, number, true).sextOrTrunc(i->getBitWidth());
  return false;
}

Value splatLike(OpBuilder &b, Location loc, Value like, Attribute scalar) {
  RankedTensorType type = tensorType(like);
  auto constant = [&](RankedTensorType shape) {
    return prim::ConstantOp::create(b, loc, shape, DenseElementsAttr::get(shape, scalar));
  };
  if (type.hasStaticShape())
    return constant(type);
  auto broadcast = like.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return {};
  Value point = constant(RankedTensorType::get({}, type.getElementType()));
  return prim::BroadcastOp::create(b, loc, type, point, ArrayRef<int64_t>(), broadcast.getSizes());
}

} // namespace tcc::simplify
