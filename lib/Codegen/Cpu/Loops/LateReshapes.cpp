//===- LateReshapes.cpp - Points are computed before they are seen anew ---===//
//
// The groups of a normalization are channels again before an activation follows: a kernel of points
// would compute in the shape of the channels what has a scale for each group, and take the place of
// each lane apart again by divisions. What is computed point by point of a reshaped value is
// computed in the shape before, and reshaped, or given so.
//
//===----------------------------------------------------------------------===//
#include "../Rows/CollapsedRows.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;

namespace {

/// A reshape and all that follows it in a kernel.
class LateReshape {
public:
  explicit LateReshape(prim::ReshapeOp reshape)
      : before(tensorType(reshape.getX())), after(tensorType(reshape.getResult())) {}
  bool collect(prim::ReshapeOp reshape);
  /// Whether what the kernel gives is of one shape afterwards.
  bool reachesAll(kernel::YieldOp yield) {
    return llvm::all_of(yield.getValues(),
                        [&](Value v) { return points.contains(v.getDefiningOp()); });
  }
  void apply();

private:
  bool isHere(Value operand);

  RankedTensorType before, after;
  llvm::SetVector<Operation *> reshapes, points;
};

} // namespace

/// Whether an operand of what follows is there in the shape before, or can be.
bool LateReshape::isHere(Value operand) {
  if (tensorType(operand).getShape() != after.getShape())
    return false;
  Operation *op = operand.getDefiningOp();
  if (!op || points.contains(op))
    return true;
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op))
    return tensorType(reshape.getX()).getShape() == before.getShape();
  auto constant = dyn_cast<prim::ConstantOp>(op);
  return constant && isa<DenseElementsAttr>(constant.getElements());
}

bool LateReshape::collect(prim::ReshapeOp reshape) {
  if (isa<BlockArgument>(reshape.getX()) || !before.hasStaticShape() || !after.hasStaticShape() ||
      before.getShape() == after.getShape())
    return false;
  SmallVector<Operation *> work(reshape->getUsers());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isa<kernel::YieldOp>(op))
      continue;
    if (!prim::isElementwise(op) || op->getNumResults() != 1)
      return false;
    if (points.insert(op))
      llvm::append_range(work, op->getUsers());
  }
  // In their order in the kernel an operand comes before what it is of.
  return !points.empty() && llvm::all_of(points, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isHere(operand); });
  });
}

void LateReshape::apply() {
  for (Operation *op : points) {
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value v = operand.get();
      Type type = tensorType(v).clone(before.getShape());
      Operation *made = v.getDefiningOp();
      if (made && points.contains(made))
        continue;
      if (auto reshape = dyn_cast_or_null<prim::ReshapeOp>(made)) {
        operand.set(reshape.getX());
      } else if (auto constant = dyn_cast_or_null<prim::ConstantOp>(made)) {
        auto elements = cast<DenseElementsAttr>(constant.getElements());
        Operation *copy = b.clone(*made);
        cast<prim::ConstantOp>(copy).setValueAttr(elements.reshape(cast<ShapedType>(type)));
        copy->getResult(0).setType(type);
        operand.set(copy->getResult(0));
      } else {
        operand.set(
            prim::ReshapeOp::create(b, op->getLoc(), type, v, /*sizes=*/ValueRange()).getResult());
      }
    }
  }
  for (Operation *op : points)
    op->getResult(0).setType(tensorType(op->getResult(0)).clone(before.getShape()));
}

/// Gives what `launch` gives now, in the shapes of its yield.
static void giveAsComputed(kernel::LaunchOp launch) {
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  OpBuilder b(launch->getContext());
  b.setInsertionPointAfter(launch);
  for (auto [result, value] : llvm::zip_equal(launch.getResults(), yield.getValues())) {
    Type given = result.getType();
    if (given == value.getType())
      continue;
    result.setType(value.getType());
    auto seen = prim::ReshapeOp::create(b, launch.getLoc(), given, result, /*sizes=*/ValueRange());
    result.replaceAllUsesExcept(seen, seen);
  }
}

void tcc::codegen::reshapeLate(kernel::LaunchOp launch) {
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  for (Operation &op : llvm::make_early_inc_range(launch.getBody().front())) {
    auto reshape = dyn_cast<prim::ReshapeOp>(op);
    if (!reshape)
      continue;
    if (LateReshape late(reshape); late.collect(reshape) && late.reachesAll(yield)) {
      late.apply();
      giveAsComputed(launch);
    }
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(launch.getBody().front())))
    if (isa<prim::ReshapeOp, prim::ConstantOp>(op) && op.use_empty())
      op.erase();
}
