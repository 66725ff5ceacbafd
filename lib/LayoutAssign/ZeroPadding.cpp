//===- ZeroPadding.cpp - Zeros around a value -----------------------------===//
#include "ZeroPadding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Analysis/OpenExtents.h"

using namespace mlir;
using namespace tcc;

Value tcc::zeroPadded(OpBuilder &b, Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  auto from = tensorType(x);
  Location loc = x.getLoc();
  SmallVector<int64_t> none(from.getRank(), 0), shape(from.getShape());
  if (low == ArrayRef(none) && high == ArrayRef(none))
    return x;
  SmallVector<Value> open = openExtents(b, x);
  auto size = open.begin();
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    int64_t more = low[axis] + high[axis];
    if (!from.isDynamicDim(axis)) {
      shape[axis] += more;
      continue;
    }
    if (more != 0)
      *size = arith::AddIOp::create(b, loc, *size, arith::ConstantIndexOp::create(b, loc, more));
    ++size;
  }
  auto scalar = RankedTensorType::get({}, from.getElementType());
  Value zero = prim::ConstantOp::create(b, loc, scalar, cast<ElementsAttr>(b.getZeroAttr(scalar)));
  return prim::PadOp::create(b, loc, from.clone(shape), x, zero, ValueRange(), open, low, none);
}

Value tcc::filledUp(OpBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> low) {
  SmallVector<int64_t> before(low), behind;
  before.resize(shape.size(), 0);
  for (auto [axis, extent] : llvm::enumerate(tensorType(x).getShape()))
    behind.push_back(ShapedType::isDynamic(extent) ? 0 : shape[axis] - extent - before[axis]);
  return zeroPadded(b, x, before, behind);
}
