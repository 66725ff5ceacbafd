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
// A batch axis along which both operands are repeated, as the states of a scan in chunks are for
// all heads, repeats the product as well, which is computed once:
//
//   %s = prim.dot (prim.broadcast %q), (prim.broadcast %k) batch [0, 1] x [0, 1] ...
// becomes
//   %s = prim.broadcast (prim.dot %q, %k batch [0] x [0] ...)
//
// Where the left operand alone is repeated and there is another batch axis, the axis is one of the
// right one's columns, if it lies beside them. Attention stays as it is recognised.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Analysis/AttentionForm.h"
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
/// What repeats a value along one of its axes, and which axis of its result that is.
struct Repeat {
  prim::BroadcastOp broadcast;
  int64_t axis;
};
} // namespace

/// The axis of extents `from` that has the elements which `axis` has in `to`, and no others.
static std::optional<int64_t> sameAxis(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t axis) {
  if (ShapedType::isDynamicShape(to.drop_front(axis)))
    return std::nullopt;
  int64_t inner = ShapedType::getNumElements(to.drop_front(axis + 1)), behind = 1;
  for (int64_t at = int64_t(from.size()) - 1; at >= 0 && behind <= inner; --at) {
    if (ShapedType::isDynamic(from[at]))
      return std::nullopt;
    if (behind == inner && from[at] == to[axis])
      return at;
    behind *= from[at];
  }
  return std::nullopt;
}

static std::optional<Repeat> repeatAlong(Value v, int64_t axis) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>()) {
    auto before =
        sameAxis(tensorType(reshape.getX()).getShape(), reshape.getType().getShape(), axis);
    if (!before)
      return std::nullopt;
    axis = *before;
    v = reshape.getX();
  }
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast || ShapedType::isDynamic(tensorType(v).getDimSize(axis)) ||
      tensorType(v).getDimSize(axis) < 2)
    return std::nullopt;
  for (auto [from, to] : llvm::enumerate(broadcast.getAxes()))
    if (to == axis && tensorType(broadcast.getX()).getDimSize(from) != 1)
      return std::nullopt;
  return Repeat{broadcast, axis};
}

static SmallVector<int64_t> without(ArrayRef<int64_t> extents, int64_t axis) {
  SmallVector<int64_t> rest(extents);
  rest.erase(rest.begin() + axis);
  return rest;
}

/// Axes when `axis`, which may be among them, is gone.
static SmallVector<int64_t> renumbered(ArrayRef<int64_t> axes, int64_t axis) {
  SmallVector<int64_t> rest;
  for (int64_t a : axes)
    if (a != axis)
      rest.push_back(a - (a > axis));
  return rest;
}

/// `v` once along `axis`, which is gone.
static Value once(OpBuilder &b, Value v, int64_t axis, Repeat repeat) {
  prim::BroadcastOp broadcast = repeat.broadcast;
  Location loc = v.getLoc();
  Value x = broadcast.getX();
  auto at = llvm::find(broadcast.getAxes(), repeat.axis);
  if (at != broadcast.getAxes().end())
    x = reshaped(b, loc, x, without(tensorType(x).getShape(), at - broadcast.getAxes().begin()),
                 openExtents(b, x));
  RankedTensorType wide = broadcast.getType();
  wide = wide.clone(without(wide.getShape(), repeat.axis));
  if (x.getType() != wide || !wide.hasStaticShape())
    x = prim::BroadcastOp::create(b, loc, wide, x, renumbered(broadcast.getAxes(), repeat.axis),
                                  broadcast.getSizes());
  return reshaped(b, loc, x, without(tensorType(v).getShape(), axis), openExtents(b, v));
}

/// Whether the axis after `axis` is all that `op`'s right operand has for columns, both known.
static bool liesBesideColumns(prim::DotOp op, int64_t axis) {
  auto r = tensorType(op.getRhs());
  auto isNamed = [&](int64_t a) {
    return llvm::is_contained(op.getRhsBatch(), a) || llvm::is_contained(op.getRhsContract(), a);
  };
  return size_t(r.getRank()) == op.getRhsBatch().size() + op.getRhsContract().size() + 1 &&
         axis + 1 < r.getRank() && !isNamed(axis + 1) && !r.isDynamicDim(axis) &&
         !r.isDynamicDim(axis + 1);
}

/// `op` without its batch axis `which`; the value that takes its place, or null.
static Value withoutRepeats(prim::DotOp op, size_t which, bool mayMove) {
  int64_t l = op.getLhsBatch()[which], r = op.getRhsBatch()[which];
  std::optional<Repeat> left = repeatAlong(op.getLhs(), l), right = repeatAlong(op.getRhs(), r);
  if (!left || (!right && !(mayMove && liesBesideColumns(op, r))))
    return {};
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = tensorType(op.getResult());
  SmallVector<int64_t> shape = without(type.getShape(), which);
  Value rows = once(b, op.getLhs(), l, *left), columns;
  if (right) {
    columns = once(b, op.getRhs(), r, *right);
  } else {
    SmallVector<int64_t> joined = without(tensorType(op.getRhs()).getShape(), r);
    joined[r] *= tensorType(op.getRhs()).getDimSize(r);
    shape.back() = joined[r];
    columns = reshaped(b, loc, op.getRhs(), joined, openExtents(b, op.getRhs()));
  }
  Value product =
      prim::DotOp::create(b, loc, type.clone(shape), rows, columns, renumbered(op.getLhsBatch(), l),
                          renumbered(op.getRhsBatch(), r), renumbered(op.getLhsContract(), l),
                          renumbered(op.getRhsContract(), r));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (right)
    return prim::BroadcastOp::create(b, loc, type, product, without(all, which),
                                     openExtents(b, op.getResult()));
  // [..., rows, repeats, columns] in the order of the result.
  int64_t repeats = type.getRank() - 2;
  SmallVector<int64_t> cut = without(type.getShape(), which), order(all);
  cut.insert(cut.end() - 1, type.getDimSize(which));
  order.erase(order.begin() + repeats);
  order.insert(order.begin() + which, repeats);
  Value parts = reshaped(b, loc, product, cut, openExtents(b, product));
  return prim::TransposeOp::create(b, loc, type, parts, order);
}

/// Takes out the first batch axis that is repeated. A repeated matrix with no other batch stays:
/// its product would be transposed for what is stored in the order of the batch.
static void shareBatches(prim::DotOp op, bool mayMove) {
  mayMove &= op.getLhsBatch().size() > 1;
  for (size_t which = 0; which < op.getLhsBatch().size(); ++which)
    if (Value shared = withoutRepeats(op, which, mayMove)) {
      op.getResult().replaceAllUsesWith(shared);
      op.erase();
      return;
    }
}

namespace {

class SharedOperandsPass : public tcc::impl::SharedOperandsPassBase<SharedOperandsPass> {
public:
  void runOnOperation() override {
    DenseSet<Operation *> attention;
    SmallVector<prim::DotOp> products;
    getOperation().walk([&](prim::DotOp op) {
      products.push_back(op);
      if (std::optional<AttentionForm> form = matchAttention(op))
        attention.insert_range(ArrayRef<Operation *>{form->scores, form->values});
    });
    for (prim::DotOp op : products)
      if (failed(share(op)))
        shareBatches(op, !attention.contains(op));
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createSharedOperandsPass() {
  return std::make_unique<SharedOperandsPass>();
}
