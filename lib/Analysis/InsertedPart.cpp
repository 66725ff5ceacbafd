#include "tcc/Analysis/InsertedPart.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

bool tcc::isBodyOfLoop(Region *region) {
  auto loop = dyn_cast<prim::WhileOp>(region->getParentOp());
  return loop && region == &loop.getBody();
}

/// The argument of a kernel that `v` is, whatever its shape.
static BlockArgument argumentOf(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  return dyn_cast<BlockArgument>(v);
}

/// Whether `op` writes elements that lie together: all there are behind one place of the first
/// axis.
static bool isTogether(prim::InsertSliceOp op) {
  RankedTensorType whole = tensorType(op.getX()), part = tensorType(op.getUpdate());
  SmallVector<OpFoldResult> starts = op.getMixedStarts();
  return whole.getRank() > 0 && part.hasStaticShape() && op.getSteps().front() == 1 &&
         llvm::all_of(ArrayRef(starts).drop_front(),
                      [](OpFoldResult start) { return getConstantIntValue(start) == 0; }) &&
         llvm::all_of(op.getSteps(), [](int64_t step) { return step == 1; }) &&
         whole.getShape().drop_front() == part.getShape().drop_front();
}

/// Whether the program knows `v` before it starts `launch`.
static bool isKnownBefore(Value v, kernel::LaunchOp launch) {
  Operation *op = v.getDefiningOp();
  return !op || op->getBlock() != launch->getBlock() || op->isBeforeInBlock(launch);
}

std::optional<InsertedPart> InsertedPart::of(kernel::LaunchOp launch) {
  if (launch.getKind() != kernel::KernelKind::Special || launch->getNumResults() != 1 ||
      !isBodyOfLoop(launch->getParentRegion()))
    return std::nullopt;
  Operation *end = launch.getBody().front().getTerminator();
  auto op = end->getOperand(0).getDefiningOp<prim::InsertSliceOp>();
  if (!op || !isTogether(op))
    return std::nullopt;
  auto whole = dyn_cast<BlockArgument>(op.getX());
  BlockArgument part = argumentOf(op.getUpdate());
  if (!whole || !whole.hasOneUse() || !part)
    return std::nullopt;
  auto carried = dyn_cast<BlockArgument>(launch.getInputs()[whole.getArgNumber()]);
  if (!carried || carried.getOwner() != launch->getBlock() ||
      llvm::count_if(carried.getUses(),
                     [](OpOperand &use) { return !isa<prim::DimOp>(use.getOwner()); }) != 1)
    return std::nullopt;
  auto maker = launch.getInputs()[part.getArgNumber()].getDefiningOp<kernel::LaunchOp>();
  if (!maker || maker->getBlock() != launch->getBlock())
    return std::nullopt;
  OpFoldResult first = op.getMixedStarts().front();
  if (auto v = dyn_cast<Value>(first)) {
    auto scalar = dyn_cast<BlockArgument>(v);
    if (!scalar)
      return std::nullopt;
    Value given = launch.getInputs()[scalar.getArgNumber()];
    if (!isKnownBefore(given, maker))
      return std::nullopt;
    first = given;
  }
  RankedTensorType type = tensorType(op.getUpdate());
  int64_t elements = type.getNumElements() / std::max<int64_t>(type.getDimSize(0), 1);
  return InsertedPart{whole.getArgNumber(), part.getArgNumber(), first, elements, maker};
}
