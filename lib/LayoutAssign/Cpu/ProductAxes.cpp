//===- ProductAxes.cpp - Axes of products that templates take -------------===//
//
// Templates have one stride for the rows of a product, one for its columns and one for its terms,
// and lanes are best along columns. Where axes lie otherwise, the product becomes another one:
//
// - A matrix that lies across what is summed, by one column: turned round, its rows are added up in
//   lanes.
// - Columns of which some axes lie before what is summed are a batch. Rows of that kind become
//   columns first.
// - Whatever else has rows, columns or terms that do not lie one stride apart is copied to be a
//   matrix.
//
//===----------------------------------------------------------------------===//
#include "ProductAxes.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;

/// The axes of an operand that are neither of the batch nor summed.
static SmallVector<int64_t> freeAxes(Value v, ArrayRef<int64_t> batch, ArrayRef<int64_t> summed) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < tensorType(v).getRank(); ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(summed, axis))
      axes.push_back(axis);
  return axes;
}

static int64_t extentOf(Value v, ArrayRef<int64_t> axes) {
  int64_t product = 1;
  for (int64_t axis : axes)
    product *= tensorType(v).getDimSize(axis);
  return product;
}

/// A matrix across what is summed, by one column: the column as a row by the matrix.
static bool turnColumn(prim::DotOp op) {
  Value matrix = op.getLhs(), column = op.getRhs();
  ArrayRef<int64_t> summed = op.getLhsContract();
  auto rows = freeAxes(matrix, op.getLhsBatch(), summed);
  auto columns = freeAxes(column, op.getRhsBatch(), op.getRhsContract());
  if (extentOf(column, columns) != 1 || extentOf(matrix, rows) <= 1 || summed.size() != 1 ||
      summed[0] + 1 == tensorType(matrix).getRank())
    return false;
  auto result = tensorType(op.getResult());
  size_t batch = op.getLhsBatch().size();
  SmallVector<int64_t> shape(result.getShape().take_front(batch));
  shape.append(columns.size(), 1);
  llvm::append_range(shape, result.getShape().slice(batch, rows.size()));
  OpBuilder b(op);
  Value turned =
      prim::DotOp::create(b, op.getLoc(), result.clone(shape), column, matrix, op.getRhsBatch(),
                          op.getLhsBatch(), op.getRhsContract(), op.getLhsContract());
  op.replaceAllUsesWith(
      prim::ReshapeOp::create(b, op.getLoc(), result, turned, ValueRange{}).getResult());
  op.erase();
  return true;
}

/// Whether axes lie before and behind what is summed, the last of them wide enough for lanes.
static bool isSplit(Value v, ArrayRef<int64_t> summed) {
  constexpr int64_t kLeastColumns = 8;
  if (summed.size() != 1 || v.getDefiningOp<prim::WeightOp>())
    return false;
  int64_t k = summed[0], rank = tensorType(v).getRank();
  return extentOf(v, llvm::to_vector(llvm::seq<int64_t>(0, k))) > 1 &&
         extentOf(v, llvm::to_vector(llvm::seq<int64_t>(k + 1, rank))) >= kLeastColumns;
}

/// Rows of which axes lie before what is summed and behind it, by columns that do not: the other
/// way round. Null where they are not of that kind.
static prim::DotOp turnSplitRows(prim::DotOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (!op.getLhsBatch().empty() || !isSplit(lhs, op.getLhsContract()) ||
      isSplit(rhs, op.getRhsContract()) || rhs.getDefiningOp<prim::WeightOp>())
    return {};
  auto result = tensorType(op.getResult());
  int64_t rows = tensorType(lhs).getRank() - 1, columns = result.getRank() - rows;
  SmallVector<int64_t> shape(result.getShape().drop_front(rows)), order;
  llvm::append_range(shape, result.getShape().take_front(rows));
  llvm::append_range(order, llvm::seq<int64_t>(columns, columns + rows));
  llvm::append_range(order, llvm::seq<int64_t>(0, columns));
  OpBuilder b(op);
  auto turned =
      prim::DotOp::create(b, op.getLoc(), result.clone(shape), rhs, lhs, ArrayRef<int64_t>{},
                          ArrayRef<int64_t>{}, op.getRhsContract(), op.getLhsContract());
  op.replaceAllUsesWith(
      prim::TransposeOp::create(b, op.getLoc(), result, turned, order).getResult());
  op.erase();
  return turned;
}

/// Columns of which axes lie before what is summed and behind it: the former become a batch.
static bool splitColumns(prim::DotOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (!op.getLhsBatch().empty() || !isSplit(rhs, op.getRhsContract()))
    return false;
  int64_t k = op.getRhsContract()[0];
  auto before = llvm::to_vector(llvm::seq<int64_t>(0, k));
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = tensorType(lhs), result = tensorType(op.getResult());
  ArrayRef<int64_t> columns = tensorType(rhs).getShape();
  int64_t count = k, rows = type.getRank() - 1;
  SmallVector<int64_t> spread(columns.take_front(k)), axes, shape(columns.take_front(k)), order;
  llvm::append_range(spread, type.getShape());
  llvm::append_range(axes, llvm::seq<int64_t>(count, count + type.getRank()));
  llvm::append_range(shape, result.getShape().take_front(rows));
  SmallVector<int64_t> flat(shape), lines(columns.take_front(k + 1));
  llvm::append_range(shape, columns.drop_front(k + 1));
  flat.push_back(extentOf(rhs, llvm::to_vector(llvm::seq<int64_t>(k + 1, columns.size()))));
  lines.push_back(flat.back());
  llvm::append_range(order, llvm::seq<int64_t>(count, count + rows));
  llvm::append_range(order, before);
  llvm::append_range(order, llvm::seq<int64_t>(count + rows, shape.size()));
  Value each = prim::BroadcastOp::create(b, loc, type.clone(spread), lhs, axes, ValueRange{});
  if (lines != columns) // templates have one axis of columns
    rhs = prim::ReshapeOp::create(b, loc, tensorType(rhs).clone(lines), rhs, ValueRange{});
  Value products =
      prim::DotOp::create(b, loc, result.clone(flat), each, rhs, before, before,
                          ArrayRef<int64_t>{op.getLhsContract()[0] + count}, ArrayRef<int64_t>{k});
  if (flat != shape)
    products = prim::ReshapeOp::create(b, loc, result.clone(shape), products, ValueRange{});
  op.replaceAllUsesWith(prim::TransposeOp::create(b, loc, result, products, order).getResult());
  op.erase();
  return true;
}

/// Whether one stride leads along `axes`, in their order, where axes of one point do not count.
static bool haveOneStride(Value v, ArrayRef<int64_t> axes) {
  auto extent = [&](int64_t axis) { return tensorType(v).getDimSize(axis); };
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (extent(axis) == 1)
      continue;
    bool follows =
        last < axis &&
        llvm::all_of(llvm::seq<int64_t>(last + 1, axis), [&](int64_t a) { return extent(a) == 1; });
    if (last >= 0 && !follows)
      return false;
    last = axis;
  }
  return true;
}

/// `v` with the axes of its batch first, then one of `first` and one of `second`.
static Value asMatrix(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> batch,
                      ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
  auto type = tensorType(v);
  SmallVector<int64_t> order(batch), shape, turned;
  llvm::append_range(order, first);
  llvm::append_range(order, second);
  for (int64_t axis : order)
    turned.push_back(type.getDimSize(axis));
  llvm::append_range(shape, ArrayRef(turned).take_front(batch.size()));
  shape.append({extentOf(v, first), extentOf(v, second)});
  if (!llvm::is_sorted(order))
    v = prim::TransposeOp::create(b, loc, type.clone(turned), v, order);
  if (shape != turned)
    v = prim::ReshapeOp::create(b, loc, type.clone(shape), v, ValueRange{});
  return v;
}

namespace {

/// What a product sums, in an order that its two operands share.
struct Terms {
  SmallVector<int64_t> lhs, rhs;
};

} // namespace

/// In the order of the right operand, or of the left one where fewer elements are copied then: of
/// a large one whose axes lie as they are asked for, and a small one turned otherwise.
static Terms orderedTerms(prim::DotOp op) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [ofRhs, ofLhs] : llvm::zip_equal(op.getRhsContract(), op.getLhsContract()))
    pairs.push_back({ofRhs, ofLhs});
  auto copied = [](Value v, ArrayRef<int64_t> axes) -> double {
    return llvm::is_sorted(axes) ? 0 : typicalElements(tensorType(v).getShape());
  };
  auto sorted = [&](auto less) -> std::pair<Terms, double> {
    llvm::sort(pairs, less);
    Terms terms;
    for (auto [ofRhs, ofLhs] : pairs) {
      terms.rhs.push_back(ofRhs);
      terms.lhs.push_back(ofLhs);
    }
    return {terms, copied(op.getLhs(), terms.lhs) + copied(op.getRhs(), terms.rhs)};
  };
  auto [asRight, ofRight] = sorted(llvm::less_first());
  auto [asLeft, ofLeft] = sorted(llvm::less_second());
  return ofLeft < ofRight ? asLeft : asRight;
}

/// Rows, columns or terms that several strides lead along: both operands as matrices, of which
/// that one is copied.
static bool gatherAxes(prim::DotOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  auto [lhsTerms, rhsTerms] = orderedTerms(op);
  auto rows = freeAxes(lhs, op.getLhsBatch(), lhsTerms);
  auto columns = freeAxes(rhs, op.getRhsBatch(), rhsTerms);
  if (haveOneStride(lhs, rows) && haveOneStride(lhs, lhsTerms) && haveOneStride(rhs, columns) &&
      haveOneStride(rhs, rhsTerms))
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto result = tensorType(op.getResult());
  Value left = asMatrix(b, loc, lhs, op.getLhsBatch(), rows, lhsTerms);
  Value right = asMatrix(b, loc, rhs, op.getRhsBatch(), rhsTerms, columns);
  int64_t count = op.getLhsBatch().size();
  SmallVector<int64_t> shape(result.getShape().take_front(count));
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, count));
  shape.append({extentOf(lhs, rows), extentOf(rhs, columns)});
  Value product = prim::DotOp::create(b, loc, result.clone(shape), left, right, batch, batch,
                                      ArrayRef<int64_t>{count + 1}, ArrayRef<int64_t>{count});
  if (shape != result.getShape())
    product = prim::ReshapeOp::create(b, loc, result, product, ValueRange{});
  op.replaceAllUsesWith(product);
  op.erase();
  return true;
}

void tcc::orderAxes(prim::DotOp op) {
  if (turnColumn(op))
    return;
  prim::DotOp turned = turnSplitRows(op);
  prim::DotOp product = turned ? turned : op;
  if (!splitColumns(product))
    gatherAxes(product);
}
