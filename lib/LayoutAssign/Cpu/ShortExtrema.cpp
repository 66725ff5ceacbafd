//===- ShortExtrema.cpp - Places of extrema in short lines ----------------===//
#include "PartialResults.h"
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

using namespace mlir;
using namespace tcc;

/// Whether a row kernel does lines of `reduce`, the extremum itself, better than lanes that look
/// for a place each.
static bool suitsRows(prim::ReduceOp reduce) {
  constexpr int64_t kShortLine = 32, kFewest = 1 << 12;
  RankedTensorType type = tensorType(reduce.getX());
  int64_t axis = reduce.getAxes().front();
  bool isShort = axis + 1 == type.getRank() && type.getNumElements() >= kFewest &&
                 type.getDimSize(axis) <= kShortLine;
  return isShort || narrowLinesOf(reduce);
}

void tcc::reduceShortExtremum(prim::ArgReduceOp op) {
  RankedTensorType type = tensorType(op.getX()), given = tensorType(op.getResult());
  int64_t axis = op.getAxis();
  if (!type.hasStaticShape() || type.getDimSize(axis) < 2)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value x = op.getX();
  auto extremum = prim::ReduceOp::create(b, loc, type.clone(given.getShape()), op.getKind(), x,
                                         ArrayRef<int64_t>(axis));
  if (!suitsRows(extremum)) {
    extremum.erase();
    return;
  }
  auto spread = [&](Value v, ArrayRef<int64_t> axes) -> Value {
    return prim::BroadcastOp::create(b, loc, type.clone(tensorType(v).getElementType()), v, axes,
                                     ValueRange());
  };
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != axis)
      others.push_back(other);
  using P = prim::ComparePredicate;
  auto truth = type.clone(b.getI1Type()), places = type.clone(b.getI32Type());
  Value found = prim::CompareOp::create(b, loc, truth, P::eq, x, spread(extremum, others));
  if (isa<FloatType>(type.getElementType())) // where there is a NaN, the extremum equals nothing
    found = prim::OrOp::create(b, loc, truth, found,
                               prim::CompareOp::create(b, loc, truth, P::ne, x, x));
  int64_t extent = type.getDimSize(axis), nowhere = op.getLast() ? -1 : extent;
  auto line = RankedTensorType::get({extent}, b.getI32Type());
  Value place = spread(prim::IotaOp::create(b, loc, line, 0, ValueRange()), axis);
  auto none = DenseElementsAttr::get(places, b.getI32IntegerAttr(static_cast<int32_t>(nowhere)));
  place = prim::SelectOp::create(b, loc, places, found, place,
                                 prim::ConstantOp::create(b, loc, places, none));
  auto kind = op.getLast() ? prim::ReduceKind::max : prim::ReduceKind::min;
  Value first = prim::ReduceOp::create(b, loc, given.clone(b.getI32Type()), kind, place,
                                       ArrayRef<int64_t>(axis));
  op.replaceAllUsesWith(prim::CastOp::create(b, loc, given, first).getResult());
  op.erase();
}
