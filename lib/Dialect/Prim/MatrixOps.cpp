//===- MatrixOps.cpp - What factors of matrices are given and give --------===//
//
// Extents of what is solved with a matrix follow from the matrix, so that kernels need not look.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::prim;

/// Of operands and results with the batches of `first`, two of whose extents are said.
static LogicalResult verifyMatrix(Operation *op, Value first, Value matrix, int64_t rows,
                                  int64_t columns) {
  auto type = tensorType(first);
  SmallVector<int64_t> expected(type.getShape().drop_back(2));
  expected.append({rows, columns});
  if (failed(verifyElementType(op, matrix, type.getElementType())))
    return failure();
  return verifyShape(op, matrix, expected);
}

/// One entry a row.
static LogicalResult verifyColumn(Operation *op, Value x, Value column) {
  return verifyShape(op, column, tensorType(x).getShape().drop_back());
}

static LogicalResult verifyRank(Operation *op, Value x) {
  if (tensorType(x).getRank() < 2)
    return op->emitOpError("needs matrices, not a tensor of rank ") << tensorType(x).getRank();
  return success();
}

static int64_t rowsOf(Value x) { return tensorType(x).getShape().drop_back().back(); }
static int64_t columnsOf(Value x) { return tensorType(x).getShape().back(); }

static LogicalResult verifySquare(Operation *op, Value x) {
  if (failed(verifyRank(op, x)))
    return failure();
  int64_t n = rowsOf(x), m = columnsOf(x);
  if (!ShapedType::isDynamic(n) && !ShapedType::isDynamic(m) && n != m)
    return op->emitOpError("needs square matrices, not ") << n << " by " << m;
  return success();
}

LogicalResult LuOp::verify() {
  if (failed(verifyRank(*this, getX())) || failed(verifyColumn(*this, getX(), getPivots())) ||
      failed(verifyColumn(*this, getX(), getOrder())))
    return failure();
  return verifyMatrix(*this, getX(), getPacked(), rowsOf(getX()), columnsOf(getX()));
}

LogicalResult CholeskyOp::verify() {
  if (failed(verifySquare(*this, getX())))
    return failure();
  return verifyMatrix(*this, getX(), getResult(), rowsOf(getX()), columnsOf(getX()));
}

LogicalResult TriangularSolveOp::verify() {
  if (failed(verifySquare(*this, getT())) || failed(verifyRank(*this, getRhs())) ||
      failed(verifyMatrix(*this, getT(), getRhs(), rowsOf(getT()), columnsOf(getRhs()))))
    return failure();
  return verifyMatrix(*this, getRhs(), getResult(), rowsOf(getRhs()), columnsOf(getRhs()));
}

LogicalResult QrOp::verify() {
  if (failed(verifyRank(*this, getX())) || failed(verifyColumn(*this, getX(), getTau())) ||
      failed(verifyElementType(*this, getTau(), tensorType(getX()).getElementType())))
    return failure();
  return verifyMatrix(*this, getX(), getPacked(), rowsOf(getX()), columnsOf(getX()));
}

LogicalResult ReflectOp::verify() {
  if (failed(verifyRank(*this, getPacked())) || failed(verifyRank(*this, getY())) ||
      failed(verifyMatrix(*this, getPacked(), getY(), rowsOf(getPacked()), columnsOf(getY()))) ||
      failed(verifyElementType(*this, getTau(), tensorType(getY()).getElementType())))
    return failure();
  SmallVector<int64_t> expected(tensorType(getPacked()).getShape().drop_back(2));
  expected.push_back(ShapedType::kDynamic);
  if (failed(verifyShape(*this, getTau(), expected)))
    return failure();
  return verifyMatrix(*this, getY(), getResult(), rowsOf(getY()), columnsOf(getY()));
}

/// What a matrix is computed in beside its results: some numbers a row.
static LogicalResult verifyRoom(Operation *op, Value x, Value room) {
  constexpr int64_t numbers = 8;
  SmallVector<int64_t> expected(tensorType(x).getShape().drop_back());
  expected.push_back(numbers);
  return verifyShape(op, room, expected);
}

LogicalResult SymmetricEigenOp::verify() {
  if (failed(verifySquare(*this, getX())) || failed(verifyColumn(*this, getX(), getValues())) ||
      failed(verifyRoom(*this, getX(), getRoom())))
    return failure();
  return verifyMatrix(*this, getX(), getRows(), rowsOf(getX()), columnsOf(getX()));
}

LogicalResult SvdOp::verify() {
  if (failed(verifyRank(*this, getX())) || failed(verifyRoom(*this, getX(), getRoom())))
    return failure();
  int64_t n = rowsOf(getX()), m = columnsOf(getX());
  if (!ShapedType::isDynamic(n) && !ShapedType::isDynamic(m) && n < m)
    return emitOpError("needs no more columns than rows, not ") << n << " by " << m;
  SmallVector<int64_t> values(tensorType(getX()).getShape().drop_back(2));
  values.push_back(m);
  if (failed(verifyShape(*this, getValues(), values)) ||
      failed(verifyMatrix(*this, getX(), getPacked(), n, m)) ||
      failed(verifyMatrix(*this, getX(), getLeft(), m, n)))
    return failure();
  return verifyMatrix(*this, getX(), getRight(), m, m);
}
