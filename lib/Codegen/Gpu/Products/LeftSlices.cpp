//===- LeftSlices.cpp - Rows of a product on their way to wgmma -----------===//
#include "LeftSlices.h"
#include "MatrixTile.h"
#include "WgmmaInstructions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kRowBytes = MatrixTile::depth * 2, kBox = MatrixProduct::partBox;

/// The rows of the tile that small boxes bring; 0: one box brings all, those past the last one too.
Value LeftSlices::rowsOfBoxes(Value firstRow) {
  Value all = c(tiles.height()), own = smaller(sub(tiles.end(firstRow), firstRow), all);
  Value boxes = div(add(own, c(kBox - 1)), c(kBox)), missing = sub(all, own);
  Value inOne = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, missing,
                                      mul(boxes, MatrixProduct::rowsOfBox));
  return arith::SelectOp::create(b, inOne, c(0), mul(boxes, kBox));
}

Value LeftSlices::bytes(Value firstRow) {
  if (!part)
    return c(tiles.height() * kRowBytes);
  Value own = rowsOfBoxes(firstRow);
  return mul(arith::SelectOp::create(b, equal(own, c(0)), c(tiles.height()), own), kRowBytes);
}

void LeftSlices::copy(Value to, Value k, Value firstRow, Value barrier) {
  if (tiles.areAcross()) {
    constexpr int64_t kSlice = MatrixTile::sliceColumns;
    for (int64_t i = 0; i < tiles.height(); i += kSlice)
      copyBox(b, bytesBehind(to, c(i * kRowBytes)), whole,
              tiles.acrossAt(firstRow, add(firstRow, c(i)), k), barrier);
    return;
  }
  if (!part)
    return copyBox(b, to, whole, {k, firstRow}, barrier);
  Value end = rowsOfBoxes(firstRow);
  f.when(equal(end, c(0)), [&] { copyBox(b, to, whole, {k, firstRow}, barrier); });
  // A loop, so that a thread that fetches needs few registers.
  auto loop = scf::ForOp::create(b, c(0), end, c(kBox));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  copyBox(b, bytesBehind(to, mul(i, kRowBytes)), part, {k, add(firstRow, i)}, barrier);
}
