#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::prim;

static SmallVector<int64_t> withoutAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> rest;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      rest.push_back(extent);
  return rest;
}

LogicalResult tcc::prim::verifyReduceKind(Operation *op, ReduceKind kind, Type elementType) {
  bool logical = kind == ReduceKind::any || kind == ReduceKind::all;
  if (logical && !elementType.isInteger(1))
    return op->emitOpError("takes bool, not ") << elementType;
  bool ordered = kind == ReduceKind::max || kind == ReduceKind::min;
  if (ordered && isa<ComplexType>(elementType))
    return op->emitOpError("cannot order complex values");
  return success();
}

/// `kind` is defined on x's elements, and the result has the same type of them.
template <typename Op> static LogicalResult verifyElements(Op op) {
  Type element = tensorType(op.getX()).getElementType();
  if (failed(verifyReduceKind(op, op.getKind(), element)))
    return failure();
  return verifyElementType(op, op.getResult(), element);
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), getX())) || failed(verifyElements(*this)))
    return failure();
  return verifyShape(*this, getResult(), withoutAxes(tensorType(getX()).getShape(), getAxes()));
}

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("finds the max or the min only");
  if (failed(verifyAxis(*this, getAxis(), getX())) ||
      failed(verifyReduceKind(*this, getKind(), tensorType(getX()).getElementType())))
    return failure();
  int64_t axis = getAxis();
  return verifyShape(*this, getResult(), withoutAxes(tensorType(getX()).getShape(), axis));
}

LogicalResult CumulativeOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())) || failed(verifyElements(*this)))
    return failure();
  return verifyShape(*this, getResult(), tensorType(getX()).getShape());
}

LogicalResult PoolOp::verify() {
  size_t spatial = getWindow().size();
  if (static_cast<int64_t>(spatial) + 2 != tensorType(getX()).getRank())
    return emitOpError("has a window of ")
           << spatial << " axes for a tensor of rank " << tensorType(getX()).getRank();
  for (ArrayRef<int64_t> list : {getStrides(), getDilations(), getLow(), getHigh()})
    if (list.size() != spatial)
      return emitOpError("needs one entry for each of ") << spatial << " spatial axes";
  for (ArrayRef<int64_t> list : {getWindow(), getStrides(), getDilations()})
    if (llvm::any_of(list, [](int64_t n) { return n < 1; }))
      return emitOpError("has a window, stride or dilation below 1");
  auto x = tensorType(getX());
  SmallVector<int64_t> expected(x.getRank(), ShapedType::kDynamic);
  expected[0] = x.getDimSize(0);
  int64_t channels = getChannelsLast() ? x.getRank() - 1 : 1;
  expected[channels] = x.getDimSize(channels);
  if (failed(verifyElements(*this)) || failed(verifyShape(*this, getResult(), expected)))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}
