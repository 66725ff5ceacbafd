//===- AttentionForm.cpp - softmax(scores) * values -----------------------===//
//
// The match goes backwards from the last product: its weights are a quotient, numerator and
// denominator lead to one exponential, its argument to a difference, and that to the largest
// score. Between the first product and the score anything elementwise may stand (scale, soft
// cap, bias, mask), and between the largest score or the sum and where they are used any
// function of them alone: the guards against rows of which nothing is seen. Exporters guard the
// weights instead, of which those that are no number become 0.
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/AttentionForm.h"
#include <limits>

using namespace mlir;
using namespace tcc;

/// Views that give each row's value to all keys, and constants.
static bool spreads(Operation *op) {
  return isa<prim::ReshapeOp, prim::BroadcastOp, prim::ConstantOp>(op);
}

/// The one reduction that `value` is a function of, by way of constants and elementwise
/// operators, which go to `path`; null if there are others or none.
static prim::ReduceOp reductionBehind(Value value, llvm::SetVector<Operation *> &path) {
  prim::ReduceOp found;
  llvm::SetVector<Operation *> pending;
  if (!value.getDefiningOp())
    return {};
  pending.insert(value.getDefiningOp());
  for (size_t i = 0; i < pending.size(); ++i) {
    Operation *op = pending[i];
    if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
      if (found && found != reduce)
        return {};
      found = reduce;
      continue;
    }
    if (!prim::isElementwise(op) && !spreads(op))
      return {};
    if (prim::isElementwise(op))
      path.insert(op);
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue; // an extent
      if (!operand.getDefiningOp())
        return {};
      pending.insert(operand.getDefiningOp());
    }
  }
  return found;
}

/// `value` before a broadcast to all keys.
static Value beforeSpread(Value value) {
  while (auto broadcast = value.getDefiningOp<prim::BroadcastOp>())
    value = broadcast.getX();
  return value;
}

static bool overLastAxis(prim::ReduceOp op, prim::ReduceKind kind) {
  int64_t last = tensorType(op.getX()).getRank() - 1;
  return op.getKind() == kind && op.getAxes().size() == 1 && op.getAxes()[0] == last;
}

/// Whether a reshape keeps the last axis, which is that of the keys.
static bool keepsKeys(prim::ReshapeOp op) {
  auto from = tensorType(op.getX()), to = tensorType(op.getResult());
  if (from.getRank() == 0 || to.getRank() == 0)
    return false;
  int64_t keys = from.getShape().back();
  if (!ShapedType::isDynamic(keys) || !ShapedType::isDynamic(to.getShape().back()))
    return keys == to.getShape().back();
  // An open extent is the same if all others are known, and their product is.
  auto known = [](RankedTensorType type) {
    int64_t product = 1;
    for (int64_t d : type.getShape().drop_back())
      product = ShapedType::isDynamic(d) || product < 0 ? -1 : product * d;
    return product;
  };
  return known(from) >= 0 && known(from) == known(to);
}

static bool isFloatCast(Operation *op) {
  return isa<prim::CastOp>(op) && isa<FloatType>(tensorType(op->getOperand(0)).getElementType()) &&
         isa<FloatType>(tensorType(op->getResult(0)).getElementType());
}

/// The product that `value` is computed from, element by element, and the operators between.
static prim::DotOp productBehind(Value value, llvm::SetVector<Operation *> &path) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto dot = dyn_cast<prim::DotOp>(op))
    return dot;
  auto reshape = dyn_cast<prim::ReshapeOp>(op);
  if (!prim::isElementwise(op) && !(reshape && keepsKeys(reshape)))
    return {};
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    if (prim::DotOp dot = productBehind(operand, path)) {
      path.insert(op);
      return dot;
    }
  }
  return {};
}

/// One batch entry after the other in both, and in each row by row.
static bool pairUp(prim::DotOp scores, prim::DotOp values) {
  auto type = tensorType(values.getLhs());
  int64_t batches = values.getLhsBatch().size(), last = type.getRank() - 1;
  if (values.getLhsContract().size() != 1 || values.getLhsContract()[0] != last)
    return false;
  for (auto [i, axis] : llvm::enumerate(values.getLhsBatch()))
    if (axis != static_cast<int64_t>(i))
      return false;
  auto first = tensorType(scores.getResult());
  if (static_cast<int64_t>(scores.getLhsBatch().size()) != batches ||
      first.getRank() != type.getRank())
    return false;
  // One axis of keys, one of columns of the values.
  auto columns = [](prim::DotOp dot) {
    return tensorType(dot.getRhs()).getRank() - dot.getRhsBatch().size() -
           dot.getRhsContract().size();
  };
  return columns(scores) == 1 && columns(values) == 1 && first.getShape() == type.getShape();
}

/// The value of a constant that is the same everywhere, spread or not.
static std::optional<double> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<prim::BroadcastOp, prim::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  return dense.getSplatValue<APFloat>().convertToDouble();
}

/// x of select(is_nan(x), 0, x), whose operators go to `path`; null if `value` is none.
static Value withNaN(Value value, llvm::SetVector<Operation *> &path) {
  auto select = value.getDefiningOp<prim::SelectOp>();
  auto test = select ? select.getCondition().getDefiningOp<prim::IsNanOp>() : prim::IsNanOp();
  if (!test || test->getOperand(0) != select.getOnFalse() || constantOf(select.getOnTrue()) != 0)
    return {};
  path.insert(select);
  path.insert(test);
  return select.getOnFalse();
}

/// Whether scores are shifted by their top, but for rows of minus infinity alone.
static bool shiftsByTop(const AttentionForm &form) {
  auto isTop = [&](Value value) {
    while (auto reshape = value.getDefiningOp<prim::ReshapeOp>())
      value = reshape.getX();
    return value.getDefiningOp() == prim::ReduceOp(form.top).getOperation();
  };
  Value shift = form.shift;
  while (auto reshape = shift.getDefiningOp<prim::ReshapeOp>())
    shift = reshape.getX();
  auto select = shift.getDefiningOp<prim::SelectOp>();
  if (!select)
    return isTop(shift);
  auto none = select.getCondition().getDefiningOp<prim::CompareOp>();
  return none && none.getPredicate() == prim::ComparePredicate::eq && isTop(none.getLhs()) &&
         constantOf(none.getRhs()) == -std::numeric_limits<double>::infinity() &&
         isTop(select.getOnFalse());
}

/// Whether only what belongs to the form reads `op`, by itself or spread to all keys.
static bool readInside(Operation *op, const AttentionForm &form) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return form.ops.contains(user) || isa<prim::DimOp>(user) ||
           (spreads(user) && user->getBlock() == op->getBlock() && readInside(user, form));
  });
}

std::optional<AttentionForm> tcc::matchAttention(prim::DotOp values) {
  AttentionForm form;
  form.values = values;
  Value weights = values.getLhs();
  while (Operation *op = weights.getDefiningOp()) {
    auto reshape = dyn_cast<prim::ReshapeOp>(op);
    if (Value checked = withNaN(weights, form.ops)) {
      form.dropsNaN = true;
      weights = checked;
      continue;
    }
    if (!isFloatCast(op) && !(reshape && keepsKeys(reshape)))
      break;
    form.ops.insert(op);
    weights = op->getOperand(0);
  }
  auto quotient = weights.getDefiningOp<prim::DivOp>();
  auto exponential = quotient ? quotient.getLhs().getDefiningOp<prim::ExpOp>() : prim::ExpOp();
  auto difference =
      exponential ? exponential->getOperand(0).getDefiningOp<prim::SubOp>() : prim::SubOp();
  if (!difference)
    return std::nullopt;
  form.score = difference.getLhs();
  form.shift = beforeSpread(difference.getRhs());
  form.divisor = beforeSpread(quotient.getRhs());
  form.top = reductionBehind(form.shift, form.ops);
  form.sum = reductionBehind(form.divisor, form.ops);
  if (!form.top || !form.sum || !overLastAxis(form.top, prim::ReduceKind::max) ||
      !overLastAxis(form.sum, prim::ReduceKind::sum) || form.top.getX() != form.score ||
      form.sum.getX() != exponential.getResult() ||
      !tensorType(form.score).getElementType().isF32())
    return std::nullopt;
  if (form.dropsNaN && !shiftsByTop(form))
    return std::nullopt;
  form.scores = productBehind(form.score, form.ops);
  if (!form.scores || !pairUp(form.scores, values))
    return std::nullopt;
  for (Operation *op : {quotient.getOperation(), exponential.getOperation(),
                        difference.getOperation(), form.top.getOperation(), form.sum.getOperation(),
                        form.scores.getOperation(), values.getOperation()})
    form.ops.insert(op);
  if (!llvm::all_of(form.ops, [&](Operation *op) { return op->getBlock() == values->getBlock(); }))
    return std::nullopt;
  for (Operation *op : form.ops)
    if (op != values && !readInside(op, form))
      return std::nullopt;
  return form;
}

std::optional<JoinedKeys> tcc::joinedKeys(const AttentionForm &form) {
  prim::DotOp scores = form.scores, values = form.values;
  auto joined = [](prim::DotOp dot, bool alongContracted) -> prim::ConcatOp {
    auto concat = dot.getRhs().getDefiningOp<prim::ConcatOp>();
    if (!concat || !concat->hasOneUse() || concat->getBlock() != dot->getBlock())
      return {};
    auto axis = static_cast<int64_t>(concat.getAxis());
    bool contracted = llvm::is_contained(dot.getRhsContract(), axis);
    bool batch = llvm::is_contained(dot.getRhsBatch(), axis);
    return contracted == alongContracted && !batch ? concat : prim::ConcatOp();
  };
  JoinedKeys parts{joined(scores, false), joined(values, true)};
  if (!parts.keys || !parts.values ||
      parts.keys.getInputs().size() != parts.values.getInputs().size())
    return std::nullopt;
  return parts;
}

AttentionForm tcc::attentionOf(kernel::LaunchOp launch) {
  for (prim::DotOp dot : launch.getBody().front().getOps<prim::DotOp>())
    if (std::optional<AttentionForm> form = matchAttention(dot))
      return *form;
  llvm_unreachable("a launch of kind attention has its form");
}
