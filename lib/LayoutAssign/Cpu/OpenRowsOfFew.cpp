//===- OpenRowsOfFew.cpp - Reductions of an open number of rows of a few --===//
//
// The mean of a cloud of points: n x 3 over n, which only a run knows. A kernel whose results are
// three has no vector to fill, and goes from row to row, each waiting for the one before. Several
// rows side by side are columns of one, as where n is known:
//
//   n x 3 -> the first 4q·16 rows as 4 x q x 48, over q -> 64 x 3, over all
//            and the rest apart
//
// q is the host's. A part is a run of memory, so that lanes lie along it, if what is reduced is
// computed point by point of what lies there: that is computed in the shape of the parts, and so is
// what is broadcast to it.
//
//===----------------------------------------------------------------------===//
#include "PartialResults.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Analysis/OpenExtents.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tcc;

namespace {

constexpr int64_t kTasks = 4;

/// What is reduced, as rows of `columns`, some of which are seen in another shape.
class OpenRows {
public:
  OpenRows(prim::ReduceOp op, int64_t columns) : b(op), op(op), columns(columns) {
    Value rows;
    SmallVector<Value> open = openExtents(b, op.getX());
    int64_t known = 1;
    for (int64_t axis : op.getAxes())
      if (int64_t extent = tensorType(op.getX()).getDimSize(axis); !ShapedType::isDynamic(extent))
        known *= extent;
    for (Value extent : open)
      rows = rows ? arith::MulIOp::create(b, op.getLoc(), rows, extent).getResult() : extent;
    all = known == 1 ? rows : arith::MulIOp::create(b, op.getLoc(), rows, index(known));
  }

  Value index(int64_t i) { return arith::ConstantIndexOp::create(b, op.getLoc(), i); }
  void reduce();

private:
  /// Rows [start, start + count), as `shape` with one open extent, `open`.
  struct Part {
    Value start, count;
    SmallVector<int64_t> shape;
    Value open;
    DenseMap<Value, Value> seen;

    Part(Value start, Value count, ArrayRef<int64_t> shape, Value open)
        : start(start), count(count), shape(shape), open(open) {}
  };
  Value seenAs(Value x, Part &part);
  Value broadcastAs(prim::BroadcastOp broadcast, Part &part);
  Value reduced(Value x, int64_t axis);

  OpBuilder b;
  prim::ReduceOp op;
  int64_t columns;
  Value all;
};

} // namespace

/// Whether what is broadcast is one for all rows.
static bool isOfColumns(prim::BroadcastOp broadcast, ArrayRef<int64_t> rows) {
  RankedTensorType x = tensorType(broadcast.getX());
  return x.hasStaticShape() && llvm::all_of(llvm::enumerate(broadcast.getAxes()), [&](auto axis) {
           return x.getDimSize(axis.index()) == 1 || !llvm::is_contained(rows, axis.value());
         });
}

/// Whether parts of `x` lie in memory, or are computed point by point of such.
static bool hasParts(Value x, ArrayRef<int64_t> rows, unsigned depth = 16) {
  Operation *from = x.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<prim::BroadcastOp>(from))
    return isOfColumns(broadcast, rows);
  if (!from || !prim::isElementwise(from))
    return !from || (!from->hasTrait<prim::View>() && !from->hasTrait<prim::PointAccess>() &&
                     !from->hasTrait<prim::Generated>());
  return depth > 0 && (x.hasOneUse() || !from->hasTrait<prim::VeryCostly>()) &&
         llvm::all_of(from->getOperands(), [&](Value operand) {
           auto type = dyn_cast<RankedTensorType>(operand.getType());
           return type && type.getShape() == tensorType(x).getShape() &&
                  hasParts(operand, rows, depth - 1);
         });
}

Value OpenRows::broadcastAs(prim::BroadcastOp broadcast, Part &part) {
  Location loc = broadcast.getLoc();
  Value x = broadcast.getX();
  RankedTensorType type = tensorType(x), given = tensorType(broadcast.getResult());
  SmallVector<int64_t> axes;
  if (type.getNumElements() > 1) { // a row, as often as there are beside each other
    SmallVector<int64_t> kept, places, row;
    for (auto [axis, extent] : llvm::zip(broadcast.getAxes(), type.getShape()))
      if (!llvm::is_contained(op.getAxes(), axis)) {
        kept.push_back(extent);
        places.push_back(axis - static_cast<int64_t>(op.getAxes().size()) + 1);
      }
    int64_t times = part.shape.back() / columns;
    row.push_back(times);
    llvm::append_range(row, given.getShape().drop_front(op.getAxes().size()));
    if (kept.size() < type.getShape().size())
      x = prim::ReshapeOp::create(b, loc, type.clone(kept), x, ValueRange());
    x = prim::BroadcastOp::create(b, loc, type.clone(row), x, places, ValueRange());
    x = prim::ReshapeOp::create(b, loc, type.clone({times * columns}), x, ValueRange());
    axes.push_back(part.shape.size() - 1);
  } else if (type.getRank() > 0) {
    x = prim::ReshapeOp::create(b, loc, type.clone(ArrayRef<int64_t>()), x, ValueRange());
  }
  return prim::BroadcastOp::create(b, loc, type.clone(part.shape), x, axes, part.open);
}

Value OpenRows::seenAs(Value x, Part &part) {
  if (Value known = part.seen.lookup(x))
    return known;
  Location loc = x.getLoc();
  RankedTensorType type = tensorType(x);
  Operation *from = x.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<prim::BroadcastOp>(from))
    return part.seen[x] = broadcastAs(broadcast, part);
  if (from && prim::isElementwise(from)) {
    IRMapping operands;
    for (Value operand : from->getOperands())
      operands.map(operand, seenAs(operand, part));
    Value result = b.clone(*from, operands)->getResult(0);
    result.setType(type.clone(part.shape));
    return part.seen[x] = result;
  }
  Value rows = x;
  if (type.getRank() != 2)
    rows = prim::ReshapeOp::create(b, loc, type.clone({ShapedType::kDynamic, columns}), x, all);
  auto cut = type.clone({ShapedType::kDynamic, columns});
  bool isFirst = !part.start;
  Value slice = prim::SliceOp::create(
      b, loc, cut, rows, isFirst ? ValueRange() : ValueRange(part.start), part.count,
      ArrayRef<int64_t>{isFirst ? 0 : prim::kDynamicStart, 0}, ArrayRef<int64_t>{1, 1});
  if (cut.getShape() != ArrayRef(part.shape))
    slice = prim::ReshapeOp::create(b, loc, type.clone(part.shape), slice, part.open);
  return part.seen[x] = slice;
}

Value OpenRows::reduced(Value x, int64_t axis) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape.erase(shape.begin() + axis);
  return prim::ReduceOp::create(b, op.getLoc(), tensorType(x).clone(shape), op.getKind(), x,
                                ArrayRef<int64_t>(axis));
}

void OpenRows::reduce() {
  constexpr int64_t kLanes = 8,
                    kFewestColumns = 32; // whole vectors that do not wait for each other
  int64_t least = std::lcm(columns, kLanes);
  int64_t run = llvm::divideCeil(kFewestColumns, least) * least, beside = run / columns;
  Location loc = op.getLoc();
  Type stored = tensorType(op.getResult()).getElementType();
  auto widened = [&](Value x) -> Value {
    return keepsPartsExact(op.getKind(), x)
               ? x
               : prim::CastOp::create(b, loc, tensorType(x).clone(b.getF32Type()), x);
  };
  Value turns = arith::DivUIOp::create(b, loc, all, index(kTasks * beside));
  Value end = arith::MulIOp::create(b, loc, turns, index(kTasks * beside));
  Value left = arith::SubIOp::create(b, loc, all, end);
  Part whole(Value(), end, {kTasks, ShapedType::kDynamic, run}, turns);
  Part rest(end, left, {ShapedType::kDynamic, columns}, left);
  Value x = reduced(widened(seenAs(op.getX(), whole)), 1);
  x = prim::ReshapeOp::create(b, loc, tensorType(x).clone({kTasks * beside, columns}), x,
                              ValueRange());
  x = joinedResults(b, loc, op.getKind(), reduced(x, 0),
                    reduced(widened(seenAs(op.getX(), rest)), 0));
  if (tensorType(x).getElementType() != stored)
    x = prim::CastOp::create(b, loc, tensorType(x).clone(stored), x);
  RankedTensorType given = tensorType(op.getResult());
  if (given.getRank() != 1)
    x = prim::ReshapeOp::create(b, loc, given, x, ValueRange());
  op.replaceAllUsesWith(x);
  op.erase();
}

bool tcc::splitOpenRowsOfFew(prim::ReduceOp op) {
  constexpr int64_t kFew = 32;
  RankedTensorType type = tensorType(op.getX());
  ArrayRef<int64_t> axes = op.getAxes(), shape = type.getShape();
  size_t rank = shape.size();
  bool lead = !axes.empty() && axes.size() < rank &&
              axes.back() + 1 == static_cast<int64_t>(axes.size()) &&
              ShapedType::isDynamicShape(shape.take_front(axes.size())) &&
              !ShapedType::isDynamicShape(shape.drop_front(axes.size()));
  if (!lead)
    return false;
  int64_t columns = ShapedType::getNumElements(shape.drop_front(axes.size()));
  if (columns < 2 || columns >= kFew || !hasParts(op.getX(), axes))
    return false;
  OpenRows(op, columns).reduce();
  return true;
}
