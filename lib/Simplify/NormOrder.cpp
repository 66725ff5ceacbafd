//===- NormOrder.cpp - Norms take rows in the order in which they are read ===//
//
// Transformers of windows norm rows, and then roll them and put them in another order of rows, for
// the products of each window. A kernel of rows has results where it has its operands, so the norm
// was two kernels with its sums and what lies between them in memory, in f32 and in the old order,
// and each roll another. What is done with a row is the same wherever the row is. So the norm reads
// its rows where they come from, through the views, and gives them in the order that is wanted.
//
//   %s = prim.reduce sum %x [3]              %t = prim.transpose (reshape %x) [0, 1, 3, 2, 4, 5]
//   ... %n = prim.mul %c, %r          ->     %s = prim.reduce sum %t [5]
//   %t = prim.transpose (reshape %n) ...     ... %n = prim.mul %c, %r
//
// Rows are the axes that are reduced, the last ones. What moves them is a chain of reshapes,
// transposes and rolls of the axes before them, each of which reads all that the one before it
// gives, and nobody else does; reshapes behind the last transpose or roll stay, as they cost
// nothing. Whatever the chain's first value is computed from, and is read by nothing else, moves
// behind it; there has to be a reduction, for operators on points find their operands wherever they
// are.
//
//===----------------------------------------------------------------------===//
#include "Splat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Simplify/Simplify.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {
#define GEN_PASS_DEF_NORMORDERPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// A reduction of rows, what is computed from it, and what moves the rows of that.
class MovedNorm {
public:
  /// Whether what moves the rows of `result` can move those before it.
  bool collect(Value result);
  /// Gives the operator behind the norm that stays.
  Block::iterator rebuild();

private:
  bool findMoves(Value v);
  bool addStep(Value &v);
  bool addRoll(Value &v);
  bool keepsRows(Value v) const;
  bool collectRegion(Value result);
  bool canMove(Operation *op) const;
  bool isFull(Value v) const {
    return tensorType(v).getRank() == axes + rowAxes &&
           tensorType(v).getShape() == ArrayRef<int64_t>(shape);
  }
  bool isColumns(Value v) const;

  RankedTensorType typeOf(Value v) const;
  Value read(OpBuilder &b, Value operand);
  Value move(OpBuilder &b, Value source);
  Value rebuilt(OpBuilder &b, Operation *op);
  SmallVector<Value> sizesOf(OpBuilder &b, RankedTensorType type);

  SmallVector<int64_t> shape; ///< of the norm's result
  int64_t axes = 0;           ///< those before the rows
  int64_t rowAxes = 0;        ///< those of a row
  SmallVector<Operation *> moves;
  SmallVector<int64_t> order;       ///< extents of the moved axes
  llvm::SetVector<Operation *> ops; ///< the last one first
  IRMapping map;
  Value moved; ///< a source, moved: where open extents are asked
};

} // namespace

bool MovedNorm::keepsRows(Value v) const {
  auto to = tensorType(v).getShape();
  return int64_t(to.size()) >= rowAxes &&
         to.take_back(rowAxes) == ArrayRef<int64_t>(shape).take_back(rowAxes);
}

/// All of `v`, from a place of one axis on and then what is before it.
bool MovedNorm::addRoll(Value &v) {
  prim::ConcatOp joined;
  for (Operation *user : v.getUsers()) {
    auto slice = dyn_cast<prim::SliceOp>(user);
    auto concat = slice && slice->hasOneUse() ? dyn_cast<prim::ConcatOp>(*slice->user_begin())
                                              : prim::ConcatOp();
    if (!concat || (joined && concat != joined) || slice.getX() != v)
      return false;
    joined = concat;
  }
  auto type = tensorType(v);
  if (!joined || joined.getInputs().size() != 2 || !type.hasStaticShape() ||
      joined.getResult().getType() != v.getType() ||
      int64_t(joined.getAxis()) >= type.getRank() - rowAxes)
    return false;
  // Two parts that are as long as all of it, from 0 and from where the other ends.
  int64_t axis = joined.getAxis(), extents[2];
  for (auto [i, input] : llvm::enumerate(joined.getInputs())) {
    auto slice = input.getDefiningOp<prim::SliceOp>();
    if (!slice || slice.getX() != v ||
        llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; }))
      return false;
    extents[i] = tensorType(input).getDimSize(axis);
    for (auto [at, start] : llvm::enumerate(slice.getMixedStarts())) {
      int64_t wanted = int64_t(at) == axis && i == 0 ? type.getDimSize(axis) - extents[0] : 0;
      if (getConstantIntValue(start) != wanted)
        return false;
    }
  }
  for (Value part : joined.getInputs())
    moves.push_back(part.getDefiningOp());
  moves.push_back(joined);
  v = joined.getResult();
  return true;
}

bool MovedNorm::addStep(Value &v) {
  Operation *user = v.hasOneUse() ? *v.user_begin() : nullptr;
  auto transpose = dyn_cast_or_null<prim::TransposeOp>(user);
  if (transpose) {
    ArrayRef<int64_t> last = transpose.getPermutation().take_back(rowAxes);
    if (last.front() != int64_t(transpose.getPermutation().size()) - rowAxes ||
        !llvm::is_sorted(last))
      return false;
  } else if (!isa_and_nonnull<prim::ReshapeOp>(user) || !keepsRows(user->getResult(0))) {
    return addRoll(v);
  }
  moves.push_back(user);
  v = user->getResult(0);
  return true;
}

/// Not so a transpose that moves axes of one element alone, as of one window.
static bool changesOrder(Operation *move) {
  auto transpose = dyn_cast<prim::TransposeOp>(move);
  if (!transpose)
    return isa<prim::ConcatOp>(move);
  SmallVector<int64_t> longer;
  for (int64_t axis : transpose.getPermutation())
    if (tensorType(transpose.getX()).getDimSize(axis) != 1)
      longer.push_back(axis);
  return !llvm::is_sorted(longer);
}

bool MovedNorm::findMoves(Value v) {
  size_t used = 0;
  while (addStep(v))
    if (changesOrder(moves.back()))
      used = moves.size();
  moves.truncate(used);
  return used != 0;
}

/// What is the same for all rows.
bool MovedNorm::isColumns(Value v) const {
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  return broadcast && isFull(v) &&
         llvm::all_of(broadcast.getAxes(), [&](int64_t axis) { return axis >= axes; });
}

bool MovedNorm::canMove(Operation *op) const {
  if (op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  auto type = tensorType(result);
  ArrayRef<int64_t> before = ArrayRef<int64_t>(shape).take_front(axes);
  bool once = type.getRank() == axes || (type.getRank() == axes + rowAxes &&
                                         llvm::all_of(type.getShape().drop_front(axes),
                                                      [](int64_t extent) { return extent == 1; }));
  if (!isFull(result) && (!once || type.getShape().take_front(axes) != before))
    return false;
  if (prim::isElementwise(op))
    return true;
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return isFull(reduce.getX()) && int64_t(reduce.getAxes().size()) == rowAxes &&
           reduce.getAxes().front() == axes;
  // One element for each row, and that element for all of a row.
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op))
    return once && tensorType(reshape.getX()).getRank() == axes &&
           tensorType(reshape.getX()).getShape() == before &&
           llvm::count(before, ShapedType::kDynamic) < 2;
  auto broadcast = dyn_cast<prim::BroadcastOp>(op);
  return broadcast && isFull(result) &&
         llvm::equal(broadcast.getAxes(), llvm::seq<int64_t>(0, axes + rowAxes)) &&
         tensorType(broadcast.getX()).getShape().take_front(axes) == before;
}

bool MovedNorm::collectRegion(Value result) {
  DenseSet<Value> wanted{result};
  bool reduces = false;
  for (Operation *op = result.getDefiningOp(); op; op = op->getPrevNode()) {
    Value v = op->getNumResults() == 1 ? op->getResult(0) : Value();
    if (!v || !wanted.contains(v) || splatOf(v) || !isa<RankedTensorType>(v.getType()) ||
        isColumns(v) || !canMove(op))
      continue;
    bool apart = llvm::any_of(v.getUsers(), [&](Operation *user) {
      return !ops.contains(user) && !(v == result && llvm::is_contained(moves, user));
    });
    if (apart)
      continue;
    ops.insert(op);
    wanted.erase(v);
    reduces |= isa<prim::ReduceOp>(op);
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        wanted.insert(operand);
  }
  auto isSource = [&](Value v) { return !splatOf(v) && isFull(v) && !isColumns(v); };
  return reduces && llvm::any_of(wanted, isSource) &&
         llvm::all_of(wanted, [&](Value v) { return splatOf(v) || isFull(v); });
}

bool MovedNorm::collect(Value result) {
  // The rows are what the next reduction before it takes, through operators on points.
  Operation *at = result.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !prim::isElementwise(at))
    return false;
  shape = llvm::to_vector(type.getShape());
  for (rowAxes = 1; rowAxes < type.getRank(); ++rowAxes) {
    axes = type.getRank() - rowAxes;
    moves.clear();
    ops.clear();
    if (llvm::any_of(ArrayRef<int64_t>(shape).drop_front(axes), ShapedType::isDynamic) ||
        !findMoves(result))
      return false; // more axes are not kept either
    if (collectRegion(result)) {
      order = llvm::to_vector(tensorType(moves.back()->getResult(0)).getShape().drop_back(rowAxes));
      return true;
    }
  }
  return false;
}

RankedTensorType MovedNorm::typeOf(Value v) const {
  SmallVector<int64_t> to(order);
  llvm::append_range(to, tensorType(v).getShape().drop_front(axes));
  return tensorType(v).clone(to);
}

SmallVector<Value> MovedNorm::sizesOf(OpBuilder &b, RankedTensorType type) {
  SmallVector<Value> sizes;
  if (type.hasStaticShape())
    return sizes;
  for (OpFoldResult extent :
       ArrayRef(prim::dimsOf(b, moved.getLoc(), moved)).take_front(order.size()))
    if (auto open = dyn_cast<Value>(extent))
      sizes.push_back(open);
  return sizes;
}

Value MovedNorm::move(OpBuilder &b, Value source) {
  IRMapping there;
  there.map(moves.front()->getOperand(0), source);
  Operation *clone = nullptr;
  for (Operation *op : moves) {
    clone = b.clone(*op, there);
    Value result = clone->getResult(0);
    result.setType(tensorType(result).clone(tensorType(source).getElementType()));
  }
  return clone->getResult(0);
}

Value MovedNorm::read(OpBuilder &b, Value operand) {
  if (Value known = map.lookupOrNull(operand))
    return known;
  Attribute splat = splatOf(operand);
  RankedTensorType type = typeOf(operand);
  Value made;
  if (splat && type.hasStaticShape()) {
    made = prim::ConstantOp::create(b, operand.getLoc(), type, DenseElementsAttr::get(type, splat));
  } else if (splat) {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value point = prim::ConstantOp::create(b, operand.getLoc(), scalar,
                                           DenseElementsAttr::get(scalar, splat));
    made = prim::BroadcastOp::create(b, operand.getLoc(), type, point, ArrayRef<int64_t>(),
                                     sizesOf(b, type));
  } else if (isColumns(operand)) {
    auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
    SmallVector<int64_t> to;
    for (int64_t axis : broadcast.getAxes())
      to.push_back(axis - axes + order.size());
    made = prim::BroadcastOp::create(b, operand.getLoc(), type, broadcast.getX(), to,
                                     sizesOf(b, type));
  } else {
    made = move(b, operand);
  }
  map.map(operand, made);
  return made;
}

Value MovedNorm::rebuilt(OpBuilder &b, Operation *op) {
  RankedTensorType type = typeOf(op->getResult(0));
  auto seq = [&](int64_t from, int64_t to) {
    return llvm::to_vector(llvm::seq<int64_t>(from, to));
  };
  int64_t rank = order.size() + rowAxes;
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return prim::ReduceOp::create(b, op->getLoc(), type, reduce.getKind(), read(b, reduce.getX()),
                                  seq(order.size(), rank));
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op))
    return prim::ReshapeOp::create(b, op->getLoc(), type, read(b, reshape.getX()),
                                   sizesOf(b, type));
  if (auto broadcast = dyn_cast<prim::BroadcastOp>(op))
    return prim::BroadcastOp::create(b, op->getLoc(), type, read(b, broadcast.getX()), seq(0, rank),
                                     sizesOf(b, type));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(read(b, operand));
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(type);
  return clone->getResult(0);
}

Block::iterator MovedNorm::rebuild() {
  Operation *end = moves.back();
  Block::iterator next = std::next(ops.front()->getIterator());
  while (llvm::is_contained(moves, &*next))
    ++next;
  OpBuilder b(end);
  // What open extents are asked of comes first.
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!moved && isa<RankedTensorType>(operand.getType()) && !splatOf(operand) &&
          isFull(operand) && !isColumns(operand) && !ops.contains(operand.getDefiningOp()))
        moved = read(b, operand);
  for (Operation *op : llvm::reverse(ops))
    map.map(op->getResult(0), rebuilt(b, op));
  end->getResult(0).replaceAllUsesWith(map.lookup(ops.front()->getResult(0)));
  for (Operation *op : llvm::reverse(moves))
    op->erase();
  for (Operation *op : ops)
    op->erase();
  return next;
}

namespace {

class NormOrderPass : public tcc::impl::NormOrderPassBase<NormOrderPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      for (auto it = block->begin(); it != block->end();) {
        MovedNorm norm;
        if (it->getNumResults() != 1 || !prim::isElementwise(&*it) ||
            !norm.collect(it->getResult(0))) {
          ++it;
          continue;
        }
        it = norm.rebuild();
      }
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createNormOrderPass() { return std::make_unique<NormOrderPass>(); }
