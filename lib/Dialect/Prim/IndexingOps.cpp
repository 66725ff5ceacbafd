#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc::prim;

LogicalResult TakeOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())))
    return failure();
  ArrayRef<int64_t> x = tensorType(getX()).getShape();
  SmallVector<int64_t> expected(x.take_front(getAxis()));
  llvm::append_range(expected, tensorType(getIndices()).getShape());
  llvm::append_range(expected, x.drop_front(getAxis() + 1));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult TakeAlongOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())))
    return failure();
  return verifyShape(*this, getResult(), tensorType(getIndices()).getShape());
}

LogicalResult GatherNdOp::verify() {
  auto x = tensorType(getX()), indices = tensorType(getIndices());
  if (indices.getRank() == 0 || indices.isDynamicDim(indices.getRank() - 1))
    return emitOpError("needs indices whose last extent is static");
  int64_t depth = indices.getShape().back(), batch = getBatchDims();
  if (batch < 0 || batch + depth > x.getRank() || batch >= indices.getRank())
    return emitOpError("indexes ")
           << batch << " + " << depth << " axes of a tensor of rank " << x.getRank();
  SmallVector<int64_t> expected(indices.getShape().drop_back());
  llvm::append_range(expected, x.getShape().drop_front(batch + depth));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult ScatterAlongOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())))
    return failure();
  if (tensorType(getIndices()).getRank() != tensorType(getUpdates()).getRank())
    return emitOpError("needs one update for each index");
  return verifyShape(*this, getResult(), tensorType(getX()).getShape());
}

LogicalResult ScatterNdOp::verify() {
  auto x = tensorType(getX()), indices = tensorType(getIndices());
  if (indices.getRank() == 0 || indices.isDynamicDim(indices.getRank() - 1))
    return emitOpError("needs indices whose last extent is static");
  int64_t depth = indices.getShape().back();
  if (depth > x.getRank())
    return emitOpError("indexes ") << depth << " axes of a tensor of rank " << x.getRank();
  if (tensorType(getUpdates()).getRank() != indices.getRank() - 1 + x.getRank() - depth)
    return emitOpError("updates have rank ") << tensorType(getUpdates()).getRank() << ", expected "
                                             << indices.getRank() - 1 + x.getRank() - depth;
  return verifyShape(*this, getResult(), x.getShape());
}
