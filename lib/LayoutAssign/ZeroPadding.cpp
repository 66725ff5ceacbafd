//===- ZeroPadding.cpp - Zeros around a value -----------------------------===//
#include "ZeroPadding.h"

using namespace mlir;
using namespace tcc;

SmallVector<Value> tcc::openSizes(OpBuilder &b, Value x) {
  SmallVector<Value> sizes;
  for (OpFoldResult extent : prim::dimsOf(b, x.getLoc(), x))
    if (auto value = dyn_cast<Value>(extent))
      sizes.push_back(value);
  return sizes;
}

Value tcc::zeroPadded(OpBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> low) {
  auto from = tensorType(x), type = from.clone(shape);
  SmallVector<int64_t> none(shape.size(), 0);
  if (low.empty())
    low = none;
  if (type == from && low == ArrayRef(none))
    return x;
  auto scalar = RankedTensorType::get({}, from.getElementType());
  Value zero =
      prim::ConstantOp::create(b, x.getLoc(), scalar, cast<ElementsAttr>(b.getZeroAttr(scalar)));
  return prim::PadOp::create(b, x.getLoc(), type, x, zero, ValueRange(), openSizes(b, x), low,
                             none);
}
