#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc::prim;

static SmallVector<int64_t> withoutAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> rest;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      rest.push_back(extent);
  return rest;
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), getX())))
    return failure();
  return verifyShape(*this, getResult(), withoutAxes(tensorType(getX()).getShape(), getAxes()));
}

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("finds the max or the min only");
  if (failed(verifyAxis(*this, getAxis(), getX())))
    return failure();
  int64_t axis = getAxis();
  return verifyShape(*this, getResult(), withoutAxes(tensorType(getX()).getShape(), axis));
}

LogicalResult PoolOp::verify() {
  size_t spatial = getWindow().size();
  if (static_cast<int64_t>(spatial) + 2 != tensorType(getX()).getRank())
    return emitOpError("has a window of ")
           << spatial << " axes for a tensor of rank " << tensorType(getX()).getRank();
  for (ArrayRef<int64_t> list : {getStrides(), getDilations(), getLow(), getHigh()})
    if (list.size() != spatial)
      return emitOpError("needs one entry for each of ") << spatial << " spatial axes";
  return verifySizes(*this, getSizes(), getResult());
}
