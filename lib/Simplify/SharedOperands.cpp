//===- SharedOperands.cpp - Products read once what several rows share ----===//
//
// Where several heads of queries share one of keys and values, exporters repeat that and merge
// the copies with the heads, so that a batched product fits. What is repeated is written to
// memory and read by each head. A product whose batch axis is cut in two instead has the heads
// that share an operand as rows, and reads it once for all of them.
//
//   %r = prim.reshape (prim.broadcast %k to [2, 4, 16, 8]) to [8, 16, 8]
//   %s = prim.dot %q, %r batch [0] x [0] contract [2] x [2] -> [8, 5, 16]
// becomes
//   %c = prim.reshape %q to [2, 4, 5, 8]
//   %d = prim.dot %c, %k batch [0] x [0] contract [3] x [2] -> [2, 4, 5, 16]
//   %s = prim.reshape %d to [8, 5, 16]
//
// The copies are the first of the rows then, since they followed the last batch axis: rows that
// lie before them are transposed.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_SHAREDOPERANDSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {
/// An operand of which axis `axis` is `heads` heads, each `copies` times.
struct Repeated {
  Value heads;
  int64_t axis, count, copies;
};
} // namespace

/// Whether a reshape merges `axis` and the next one, of known extents, and nothing else.
static bool merges(prim::ReshapeOp merged, int64_t axis) {
  ArrayRef<int64_t> to = tensorType(merged.getResult()).getShape();
  ArrayRef<int64_t> from = tensorType(merged.getX()).getShape();
  if (from.size() != to.size() + 1 || ShapedType::isDynamic(from[axis]) ||
      ShapedType::isDynamic(from[axis + 1]) || from[axis] * from[axis + 1] != to[axis])
    return false;
  return from.take_front(axis) == to.take_front(axis) &&
         from.drop_front(axis + 2) == to.drop_front(axis + 1);
}

static std::optional<Repeated> repeatedHeads(Value operand, int64_t axis) {
  auto merged = operand.getDefiningOp<prim::ReshapeOp>();
  if (!merged || !merges(merged, axis))
    return std::nullopt;
  auto broadcast = merged.getX().getDefiningOp<prim::BroadcastOp>();
  // Open extents are the same before and after.
  if (!broadcast || !llvm::equal(merged.getSizes(), broadcast.getSizes()))
    return std::nullopt;
  auto wide = tensorType(broadcast.getResult()), narrow = tensorType(broadcast.getX());
  int64_t copies = wide.getDimSize(axis + 1);
  // All axes but that of the copies are there, as long as in the result; it may be a unit axis.
  SmallVector<int64_t> kept;
  for (auto [i, to] : llvm::enumerate(broadcast.getAxes())) {
    if (to == axis + 1) {
      if (narrow.getDimSize(i) != 1)
        return std::nullopt;
      continue;
    }
    if (narrow.getDimSize(i) != wide.getDimSize(to))
      return std::nullopt;
    kept.push_back(to);
  }
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < wide.getRank(); ++i)
    if (i != axis + 1)
      all.push_back(i);
  if (copies < 2 || kept != all)
    return std::nullopt;
  return Repeated{broadcast.getX(), axis, wide.getDimSize(axis), copies};
}

/// `value` with `extents`; open ones are those of it, in order.
static Value reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> extents,
                      ValueRange sizes) {
  auto type = tensorType(value).clone(extents);
  return type == value.getType() ? value
                                 : Value(prim::ReshapeOp::create(b, loc, type, value, sizes));
}

/// Axes after `axis` are one further on.
static SmallVector<int64_t> shifted(ArrayRef<int64_t> axes, int64_t axis) {
  SmallVector<int64_t> all(axes);
  for (int64_t &a : all)
    a += a > axis;
  return all;
}

/// `lhs`, whose axes are to be `batch`, then the copies, then all others. Renumbers the axes.
static Value withCopiesFirst(OpBuilder &b, Value lhs, SmallVector<int64_t> &batch, int64_t copies,
                             SmallVector<int64_t> &contract) {
  SmallVector<int64_t> order(batch);
  order.push_back(copies);
  for (int64_t axis = 0, e = tensorType(lhs).getRank(); axis < e; ++axis)
    if (!llvm::is_contained(order, axis))
      order.push_back(axis);
  SmallVector<int64_t> extents;
  for (int64_t axis : order)
    extents.push_back(tensorType(lhs).getDimSize(axis));
  for (SmallVector<int64_t> *axes : {&batch, &contract})
    for (int64_t &axis : *axes)
      axis = llvm::find(order, axis) - order.begin();
  return prim::TransposeOp::create(b, lhs.getLoc(), tensorType(lhs).clone(extents), lhs, order);
}

static LogicalResult share(prim::DotOp op) {
  if (op.getRhsBatch().empty())
    return failure();
  std::optional<Repeated> repeated = repeatedHeads(op.getRhs(), op.getRhsBatch().back());
  if (!repeated)
    return failure();
  OpBuilder b(op);
  auto cut = [&](ArrayRef<int64_t> shape, int64_t axis) {
    SmallVector<int64_t> extents(shape);
    extents[axis] = repeated->count;
    extents.insert(extents.begin() + axis + 1, repeated->copies);
    return extents;
  };
  int64_t heads = op.getLhsBatch().back();
  Value rows = reshaped(b, op.getLoc(), op.getLhs(), cut(tensorType(op.getLhs()).getShape(), heads),
                        openExtents(b, op.getLhs()));
  SmallVector<int64_t> batch = shifted(op.getLhsBatch(), heads);
  SmallVector<int64_t> contract = shifted(op.getLhsContract(), heads);
  for (int64_t axis = 0; axis < heads; ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis)) {
      rows = withCopiesFirst(b, rows, batch, heads + 1, contract);
      break;
    }
  // The operand without the unit axis of its copies.
  SmallVector<int64_t> plain(tensorType(op.getRhs()).getShape());
  plain[repeated->axis] = repeated->count;
  Value shared = reshaped(b, op.getLoc(), repeated->heads, plain, openExtents(b, repeated->heads));
  auto result = tensorType(op.getResult());
  auto type = result.clone(cut(result.getShape(), op.getLhsBatch().size() - 1));
  Value product = prim::DotOp::create(b, op.getLoc(), type, rows, shared, batch, op.getRhsBatch(),
                                      contract, op.getRhsContract());
  Value whole =
      reshaped(b, op.getLoc(), product, result.getShape(), openExtents(b, op.getResult()));
  op.getResult().replaceAllUsesWith(whole);
  Value copies = op.getRhs();
  op.erase();
  while (Operation *unused = copies.getDefiningOp()) {
    if (!isOpTriviallyDead(unused))
      break;
    copies = unused->getOperand(0);
    unused->erase();
  }
  return success();
}

namespace {

class SharedOperandsPass : public tcc::impl::SharedOperandsPassBase<SharedOperandsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](prim::DotOp op) { (void)share(op); });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createSharedOperandsPass() {
  return std::make_unique<SharedOperandsPass>();
}
