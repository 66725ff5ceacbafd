//===- IndexingOps.cpp - What reads and writes by index must look like ----===//
//
// Verifiers. Shapes follow from operands here as far as types tell; extents that are `?` are
// checked by whoever runs the operator.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::prim;

/// Elements that have an order: all but complex ones.
static LogicalResult verifyOrdered(Operation *op, RankedTensorType type) {
  if (isa<ComplexType>(type.getElementType()))
    return op->emitOpError("cannot order complex values");
  return success();
}

LogicalResult TakeOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())) ||
      failed(verifyElementType(*this, getResult(), tensorType(getX()).getElementType())))
    return failure();
  ArrayRef<int64_t> x = tensorType(getX()).getShape();
  SmallVector<int64_t> expected(x.take_front(getAxis()));
  llvm::append_range(expected, tensorType(getIndices()).getShape());
  llvm::append_range(expected, x.drop_front(getAxis() + 1));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult TakeAlongOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())) ||
      failed(verifyElementType(*this, getResult(), tensorType(getX()).getElementType())))
    return failure();
  if (tensorType(getIndices()).getRank() != tensorType(getX()).getRank())
    return emitOpError("has indices of rank ")
           << tensorType(getIndices()).getRank() << " for a tensor of rank "
           << tensorType(getX()).getRank();
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
  if (failed(verifyElementType(*this, getResult(), x.getElementType())))
    return failure();
  SmallVector<int64_t> expected(indices.getShape().drop_back());
  llvm::append_range(expected, x.getShape().drop_front(batch + depth));
  return verifyShape(*this, getResult(), expected);
}

/// Updates and result have x's element type, on which `kind` is defined.
template <typename Op> static LogicalResult verifyScatter(Op op) {
  Type element = tensorType(op.getX()).getElementType();
  bool ordered = op.getKind() == ScatterKind::max || op.getKind() == ScatterKind::min;
  if (ordered && isa<ComplexType>(element))
    return op.emitOpError("cannot order complex values");
  if (failed(verifyElementType(op, op.getUpdates(), element)))
    return failure();
  return verifyElementType(op, op.getResult(), element);
}

LogicalResult ScatterAlongOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getX())) || failed(verifyScatter(*this)))
    return failure();
  int64_t rank = tensorType(getX()).getRank();
  if (tensorType(getIndices()).getRank() != rank || tensorType(getUpdates()).getRank() != rank)
    return emitOpError("needs indices and updates of x's rank, ") << rank;
  return verifyShape(*this, getResult(), tensorType(getX()).getShape());
}

LogicalResult ScatterNdOp::verify() {
  if (failed(verifyScatter(*this)))
    return failure();
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

LogicalResult ScatterRunsOp::verify() {
  if (failed(verifyScatter(*this)))
    return failure();
  auto x = tensorType(getX()), begins = tensorType(getBegins()), updates = tensorType(getUpdates());
  if (x.getRank() == 0 || updates.getRank() != x.getRank())
    return emitOpError("needs updates of x's rank, ") << x.getRank() << ", which is one at least";
  if (begins.getRank() != 1)
    return emitOpError("needs a vector of begins");
  if (failed(verifyShape(*this, getBegins(), x.getShape().take_front())))
    return failure();
  SmallVector<int64_t> expected(x.getShape());
  expected[0] = updates.getShape()[0];
  if (failed(verifyShape(*this, getUpdates(), expected)))
    return failure();
  return verifyShape(*this, getResult(), x.getShape());
}

LogicalResult InsertSliceOp::verify() {
  auto x = tensorType(getX()), update = tensorType(getUpdate());
  if (failed(verifyStarts(*this, getStaticStarts(), getStarts(), getSteps(), x.getRank())))
    return failure();
  if (llvm::is_contained(getSteps(), 0))
    return emitOpError("has a step of 0");
  if (update.getRank() != x.getRank())
    return emitOpError("inserts a tensor of rank ")
           << update.getRank() << " into one of rank " << x.getRank();
  if (failed(verifyElementType(*this, getUpdate(), x.getElementType())) ||
      failed(verifyElementType(*this, getResult(), x.getElementType())))
    return failure();
  return verifyShape(*this, getResult(), x.getShape());
}

LogicalResult NonzeroOp::verify() {
  return verifyShape(*this, getResult(), {tensorType(getX()).getRank(), ShapedType::kDynamic});
}

/// Values and indices of the elements of x along an axis, of extent `extent` there.
static LogicalResult verifySorted(Operation *op, Value x, int64_t axis, int64_t extent,
                                  Value values, Value indices) {
  auto type = tensorType(x);
  if (failed(verifyAxis(op, axis, x)) || failed(verifyOrdered(op, type)) ||
      failed(verifyElementType(op, values, type.getElementType())))
    return failure();
  SmallVector<int64_t> expected(type.getShape());
  expected[axis] = extent;
  if (failed(verifyShape(op, values, expected)))
    return failure();
  return verifyShape(op, indices, expected);
}

LogicalResult SortOp::verify() {
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, getX())))
    return failure();
  return verifySorted(*this, getX(), axis, tensorType(getX()).getDimSize(axis), getValues(),
                      getIndices());
}

LogicalResult KthOp::verify() {
  int64_t rank = tensorType(getX()).getRank();
  if (rank == 0)
    return emitOpError("needs a last axis");
  return verifySorted(*this, getX(), rank - 1, 1, getValues(), getIndices());
}

LogicalResult TopKOp::verify() {
  int64_t axis = getAxis();
  auto values = tensorType(getValues());
  if (values.getRank() != tensorType(getX()).getRank())
    return emitOpError("changes the rank");
  if (failed(verifyAxis(*this, axis, getX())))
    return failure();
  int64_t have = tensorType(getX()).getDimSize(axis), k = values.getDimSize(axis);
  if (ShapedType::isDynamic(k) != static_cast<bool>(getK()))
    return emitOpError("needs `k` exactly when the result's extent is dynamic");
  if (!ShapedType::isDynamic(k) && !ShapedType::isDynamic(have) && k > have)
    return emitOpError("takes ") << k << " of " << have << " elements";
  return verifySorted(*this, getX(), axis, k, getValues(), getIndices());
}
