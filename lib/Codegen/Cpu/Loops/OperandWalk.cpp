//===- OperandWalk.cpp - Along which axes of a result operands lie --------===//
//
// Each operand is followed from what is stored back to memory, through what moves elements: axes
// that are joined, split and cut anew, transposes, parts, places that are sums of positions. What
// computes is passed and counted.
//
//===----------------------------------------------------------------------===//
#include "OperandWalk.h"
#include "Moves.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// An axis of what is read that moves in some way with one of the result, which joins several.
constexpr int kSomehow = -3;

/// Memory of `shape` read at `at`: along which axis it lies, if not the last.
void OperandWalk::read(ArrayRef<int64_t> shape, const Access &at, bool across) {
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1)
    --last;
  if (last-- == 0 || at[last] < 0 || at[last] == lanes)
    return;
  if ((across || llvm::is_contained(at, lanes)) && !llvm::is_contained(at, kUnknown))
    ++votes[at[last]];
}

/// What an axis is read at that is several of the result: along the last of them it moves by one
/// element. Nullopt where axes are joined.
static std::optional<Access> throughSplitAxes(prim::ReshapeOp op, ArrayRef<int> at) {
  ArrayRef<int64_t> x = tensorType(op.getX()).getShape(), r = tensorType(op.getResult()).getShape();
  Access access;
  size_t j = 0;
  for (int64_t extent : x) {
    int entry = kZero;
    for (int64_t points = 1; points != extent; ++j) {
      if (j < r.size() && r[j] == 1)
        continue;
      if (j == r.size() || ShapedType::isDynamic(extent) != ShapedType::isDynamic(r[j]))
        return std::nullopt;
      points = ShapedType::isDynamic(extent) ? extent : points * r[j];
      if (points > extent || r[j] == 0)
        return std::nullopt;
      entry = at[j];
    }
    access.push_back(entry);
  }
  return access;
}

/// Several axes, where one of the result is those. Nullopt where axes are split.
static std::optional<Access> throughJoinedAxes(prim::ReshapeOp op, ArrayRef<int> at) {
  ArrayRef<int64_t> x = tensorType(op.getX()).getShape(), r = tensorType(op.getResult()).getShape();
  if (!tensorType(op.getX()).hasStaticShape() || !tensorType(op.getResult()).hasStaticShape())
    return std::nullopt;
  Access access;
  size_t i = 0;
  for (auto [extent, entry] : llvm::zip(r, at)) {
    int64_t points = 1;
    size_t first = i;
    while (i < x.size() && (points < extent || (x[i] == 1 && extent != 1)))
      points *= x[i++];
    if (points != extent)
      return std::nullopt;
    access.append(i - first, i - first == 1 ? entry : kSomehow);
  }
  access.append(x.size() - i, kZero); // of one point each
  return access;
}

/// Axes of which others are made by joining and splitting them: along the last of each group what
/// is read moves by one element with the last one of the result, if the lines of x are several of
/// those.
static std::optional<Access> throughRecutAxes(prim::ReshapeOp op, ArrayRef<int> at) {
  ArrayRef<int64_t> x = tensorType(op.getX()).getShape(), r = tensorType(op.getResult()).getShape();
  if (!tensorType(op.getX()).hasStaticShape() || !tensorType(op.getResult()).hasStaticShape() ||
      llvm::is_contained(r, 0))
    return std::nullopt;
  Access access(x.size(), kZero);
  for (size_t i = x.size(), j = r.size(); i > 0;) {
    size_t last = j, own = i;
    int64_t points = x[--i], given = 1;
    while (points != given) {
      if (points > given && j > 0)
        given *= r[--j];
      else if (points < given && i > 0)
        points *= x[--i];
      else
        return std::nullopt;
    }
    while (last > j && r[last - 1] == 1)
      --last;
    for (size_t axis = i; axis < own; ++axis)
      access[axis] = x[axis] == 1 ? kZero : kSomehow;
    if (last > j && x[own - 1] % r[last - 1] == 0)
      access[own - 1] = at[last - 1];
  }
  return access;
}

/// Whether `v` is made of positions, so that what is taken there moves by a known step.
static bool isOfPositions(Value v) {
  Operation *op = v.getDefiningOp();
  bool isKnown = op && (isa<prim::AddOp, prim::MulOp>(op) ||
                        moves(op, Move::Position, Move::Constant, Move::Reshape, Move::Repeat));
  if (!isKnown)
    return false;
  return llvm::all_of(op->getOperands(), isOfPositions);
}

void OperandWalk::visit(Value value, const Access &at, bool across) {
  auto &known = seen[value];
  if (llvm::is_contained(known, at))
    return;
  known.push_back(at);
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op)
    return read(type.getShape(), at, across);
  operators += prim::isElementwise(op);
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op)) {
    if (isa<BlockArgument>(reshape.getX()))
      return read(type.getShape(), at, across); // the same elements in the same order
    across |= llvm::is_contained(at, lanes);
    if (std::optional<Access> split = throughSplitAxes(reshape, at))
      return visit(reshape.getX(), *split, across);
    if (std::optional<Access> joined = throughJoinedAxes(reshape, at))
      return visit(reshape.getX(), *joined, across);
    if (std::optional<Access> recut = throughRecutAxes(reshape, at))
      return visit(reshape.getX(), *recut, across);
  }
  if (moves(op, Move::Cut))
    return visit(op->getOperand(0), at, across);
  if (auto take = dyn_cast<prim::TakeOp>(op); take && isOfPositions(take.getIndices())) {
    Access access = operandAccess(op, 0, at);
    access[take.getAxis()] = kSomehow;
    Access places = operandAccess(op, 1, at);
    return visit(take.getX(), access, across || llvm::is_contained(places, lanes));
  }
  if (auto slice = dyn_cast<prim::SliceOp>(op)) { // every so many of some axes
    Access access(at);
    for (auto [entry, step] : llvm::zip_equal(access, slice.getSteps()))
      entry = step == 1 || entry == kZero ? entry : kSomehow;
    return visit(slice.getX(), access, across || llvm::is_contained(at, lanes));
  }
  if (auto reverse = dyn_cast<prim::ReverseOp>(op))
    return visit(reverse.getX(), at, across); // lies along the same axes, backwards
  if (!prim::isElementwise(op) &&
      !moves(op, Move::Reshape, Move::Repeat, Move::Transpose, Move::Step))
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      visit(operand.get(), operandAccess(op, operand.getOperandNumber(), at), across);
}

OperandWalk tcc::codegen::walkOf(kernel::LaunchOp launch, int lanes) {
  unsigned rank = cast<RankedTensorType>(launch.getResultTypes()[0]).getRank();
  OperandWalk walk(rank, lanes);
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  for (Value value : yield.getValues())
    walk.visit(value, identityAccess(rank));
  return walk;
}
