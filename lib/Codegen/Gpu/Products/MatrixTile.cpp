//===- MatrixTile.cpp - What a product needs for wgmma --------------------===//
#include "MatrixTile.h"
#include "EpilogueOperands.h"
#include "MmaTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/Elemental.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kPitch = GpuArch::accessBytes / 2; // units of 16 bits in 16 bytes

/// A part of an argument, such as one of the gates that lie beside each other.
static bool isPartOfArgument(prim::SliceOp op) {
  Value whole = op.getX();
  while (auto reshape = whole.getDefiningOp<prim::ReshapeOp>())
    whole = reshape.getX();
  return isa<BlockArgument>(whole) && op.getStarts().empty();
}

bool device::isEpilogue(kernel::LaunchOp launch, Operation *product) {
  auto result = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (launch->getNumResults() != 1 || result.getRank() < 1 ||
      result.getShape().back() != tensorType(product->getResult(0)).getShape().back())
    return false;
  return llvm::none_of(launch.getBody().front(), [&](Operation &op) {
    auto slice = dyn_cast<prim::SliceOp>(op);
    return (slice && !isPartOfArgument(slice)) ||
           isa<prim::TransposeOp, prim::ReverseOp, prim::ReduceOp, prim::PadOp, prim::ConcatOp,
               prim::PoolOp>(op) ||
           (op.hasTrait<prim::Contraction>() && &op != product);
  });
}

/// The argument whose elements `v` has in their order, whatever its shape.
static BlockArgument sameMemory(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>()) {
    if (!tensorType(v).hasStaticShape())
      return {};
    v = reshape.getX();
  }
  return prim::layoutOf(v) ? BlockArgument() : dyn_cast<BlockArgument>(v);
}

/// The product that a convolution is; its inner extent is that of one tap.
static std::optional<MatrixProduct> matricesOf(prim::ConvOp op) {
  std::optional<ConvolutionWindow> window = ConvolutionWindow::of(op);
  if (!window)
    return std::nullopt;
  auto x = cast<BlockArgument>(op.getX()), w = cast<BlockArgument>(op.getW());
  auto rowAxes = static_cast<unsigned>(tensorType(x).getRank() - 1);
  return MatrixProduct{op, x,     x, w, rowAxes, true, window->filters, tensorType(w).getDimSize(1),
                       0,  window};
}

/// Whether both operands begin with the axes of the batch, in their order.
static bool batchComesFirst(prim::DotOp dot) {
  auto first = llvm::to_vector(llvm::seq<int64_t>(0, dot.getLhsBatch().size()));
  return dot.getLhsBatch() == ArrayRef(first) && dot.getRhsBatch() == ArrayRef(first);
}

/// Columns and inner extent of `right`, and which of them its rows of memory are.
static std::optional<MatrixProduct> matricesOf(Operation *op) {
  Value left = op->getOperand(0);
  auto right = dyn_cast<BlockArgument>(op->getOperand(1));
  BlockArgument leftRows = sameMemory(left);
  if (!leftRows || !right || tensorType(left).getRank() < 2)
    return std::nullopt;
  auto l = tensorType(left), r = tensorType(right);
  auto rowAxes = static_cast<unsigned>(l.getRank() - 1);
  MatrixProduct product{op, left, leftRows, right, rowAxes, true, 0, 0, 0};
  auto dot = dyn_cast<prim::DotOp>(op);
  if (!dot || dot.getLhsContract().size() != 1 || dot.getRhsContract().size() != 1 ||
      !batchComesFirst(dot))
    return std::nullopt;
  product.batchAxes = dot.getLhsBatch().size();
  if (dot.getLhsContract()[0] + 1 != l.getRank()) {
    int64_t rows = ProductSizes::of(op).rows;
    product.leftAcross = true;
    if (l.getRank() != product.batchAxes + 2 || rows <= 0 || rows % kPitch ||
        l.getElementTypeBitWidth() != 16)
      return std::nullopt;
  }
  if (r.getRank() != product.batchAxes + 2)
    return std::nullopt;
  int64_t columns = product.batchAxes, last = columns + 1;
  product.rightByColumns = dot.getRhsContract()[0] == last;
  if (!product.rightByColumns)
    std::swap(columns, last);
  product.columns = r.getDimSize(columns);
  product.inner = r.getDimSize(last);
  if (ShapedType::isDynamic(product.columns) || ShapedType::isDynamic(product.inner))
    return std::nullopt;
  if (product.batchAxes) {
    product.matrixRows = ProductSizes::of(op).rows;
    if (product.matrixRows <= 0)
      return std::nullopt;
  }
  return product;
}

std::optional<MatrixProduct> device::matrixOperands(kernel::LaunchOp launch) {
  Operation *op = productOf(launch);
  if (!op)
    return std::nullopt;
  auto conv = dyn_cast<prim::ConvOp>(op);
  std::optional<MatrixProduct> product = conv ? matricesOf(conv) : matricesOf(op);
  if (!product)
    return std::nullopt;
  Type l = tensorType(product->left).getElementType(),
       r = tensorType(product->right).getElementType();
  if (!WgmmaInstruction::takes(l, r))
    return std::nullopt;
  Type sum = computeType(sumType(tensorType(op->getResult(0)).getElementType()));
  product->inner = product->inner * l.getIntOrFloatBitWidth() / 16;
  bool transposes = l.getIntOrFloatBitWidth() == 16 || product->rightByColumns;
  product->turned = !transposes && l.isF32();
  bool alongInner = !product->leftAcross || product->rightByColumns;
  if (sum != product->instruction(64).sum() || (!transposes && !product->turned) ||
      product->inner <= 0 || (alongInner && product->inner % kPitch) ||
      (!product->rightByColumns && product->columns * product->elementUnits() % kPitch))
    return std::nullopt;
  return product;
}

std::optional<MatrixProduct> device::matrixProduct(kernel::LaunchOp launch) {
  std::optional<MatrixProduct> product = matrixOperands(launch);
  if (!product || product->turned || !isEpilogue(launch, product->op))
    return std::nullopt;
  Type out = cast<RankedTensorType>(launch.getResultTypes()[0]).getElementType();
  bool known = out.isBF16() || out.isF16() || out.isF32() || out.isInteger(32) || out.isInteger(8);
  product->resultBytes = known ? out.getIntOrFloatBitWidth() / 8 : 0;
  if (product->resultBytes == 2)
    product->residual = residualOf(launch, product->op);
  return known && product->columns * product->resultBytes % GpuArch::accessBytes == 0
             ? product
             : std::nullopt;
}

MatrixProduct device::scheduledMatrices(kernel::LaunchOp launch, Schedule schedule) {
  return schedule.getMostBlocks() ? *matrixProduct(launch) : *matrixOperands(launch);
}

SmallVector<Value> MatrixProduct::rightAt(ImplicitLocOpBuilder &b, Value firstRow, Value column,
                                          Value k) const {
  SmallVector<Value> place = {column, k};
  if (rightByColumns)
    std::swap(place[0], place[1]);
  if (matrixRows) {
    Value rows = arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(matrixRows)));
    place.push_back(arith::DivUIOp::create(b, firstRow, rows));
  }
  return place;
}

bool MatrixProduct::fitsRows(unsigned tileRows) const {
  return matrixRows == 0 || tileRows <= llvm::alignTo(matrixRows, MatrixTile::partRows);
}

int64_t MatrixProduct::tilesDown(int64_t rows, unsigned tileRows) const {
  if (!matrixRows)
    return int64_t(llvm::divideCeil(rows, tileRows));
  return rows / matrixRows * int64_t(llvm::divideCeil(matrixRows, tileRows));
}

bool MatrixProduct::hasPartTile(unsigned tileRows) const {
  if (window || leftAcross)
    return false;
  int64_t all = matrixRows ? matrixRows : 1;
  if (!matrixRows)
    for (int64_t extent : tensorType(rows()).getShape().take_front(rowAxes)) {
      if (ShapedType::isDynamic(extent))
        return true;
      all *= extent;
    }
  int64_t own = all % tileRows, boxes = llvm::divideCeil(own, partBox);
  return own && tileRows - own > rowsOfBox * boxes;
}

int64_t MatrixProduct::elementUnits() const {
  return std::max<int64_t>(1, tensorType(right).getElementTypeBitWidth() / 16);
}

int64_t MatrixProduct::steps() const {
  return window ? window->steps() : int64_t(llvm::divideCeil(inner, MatrixTile::depth));
}

WgmmaInstruction MatrixProduct::instruction(unsigned columns) const {
  return {tensorType(left).getElementType(), columns, tensorType(right).getElementType()};
}

MatrixTile MatrixTile::fit(unsigned rows, unsigned columns, unsigned consumers, unsigned sharers,
                           const MatrixProduct &product, int64_t sharedBytes) {
  unsigned rowBytes = columns * product.resultBytes;
  MatrixTile tile{
      rows, columns, 8, 2, consumers, sharers, rowBytes % kWideSlab ? kNarrowSlab : kWideSlab};
  unsigned slabs = tile.parts() * rowBytes / tile.slabRowBytes;
  // A slab's turn must come round with every tile.
  if (product.residual)
    tile.slabs = slabs;
  else if (slabs % 2)
    tile.slabs = 1;
  while (tile.stages > 2 && tile.sharedBytes() > sharedBytes)
    --tile.stages;
  if (tile.slabs == 2 && tile.stages < 4 && !product.residual) {
    MatrixTile fewer = tile;
    fewer.slabs = 1;
    ++fewer.stages;
    if (fewer.sharedBytes() <= sharedBytes)
      return fewer;
  }
  return tile;
}

MatrixTile MatrixTile::of(Schedule schedule, const MatrixProduct &product) {
  unsigned consumers = schedule.getThreads() / 128 - 1;
  unsigned sharers = schedule.getRowThreads() ? schedule.getRowThreads() / 128 : consumers;
  return fit(schedule.getRows(), schedule.getColumns(), consumers, sharers, product,
             schedule.getSharedBytes());
}
