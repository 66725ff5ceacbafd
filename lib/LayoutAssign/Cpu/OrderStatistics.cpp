//===- OrderStatistics.cpp - Elements of an order, without the order ------===//
//
// Medians, and the k-th of a line, are slices of lines in order. An element at one place is
// selected in a few looks at the line (Codegen/Cpu/Order/SelectedElement.cpp).
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_ORDERSTATISTICSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

constexpr int64_t kShortLine = 128; ///< is sorted by counting in registers
constexpr int64_t kFewKept = 64; ///< are kept in order in registers while a line is looked through
constexpr size_t kPlaces = 2;    ///< that are selected each

/// Slices that take one place of lines in order.
struct Place {
  OpFoldResult at;
  SmallVector<prim::SliceOp> values, indices;
};

class OrderStatisticsPass : public tcc::impl::OrderStatisticsPassBase<OrderStatisticsPass> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> orders;
    getOperation().walk([&](Operation *op) {
      if (isa<prim::SortOp, prim::TopKOp>(op))
        orders.push_back(op);
    });
    for (Operation *op : orders)
      select(op);
  }

private:
  void select(Operation *op);
};

} // namespace

/// Where `user`, in the block of `op`, takes one element of each line along the last axis.
static OpFoldResult placeIn(Operation *user, Operation *op) {
  auto slice = dyn_cast<prim::SliceOp>(user);
  if (!slice || slice->getBlock() != op->getBlock() ||
      tensorType(slice.getResult()).getShape().back() != 1)
    return {};
  return slice.getMixedStarts().back();
}

/// `slice` of `selected`, which has one element along the last axis.
static Value sliceOf(OpBuilder &b, prim::SliceOp slice, Value selected) {
  SmallVector<int64_t> starts(slice.getStaticStarts()), steps(slice.getSteps());
  SmallVector<Value> open(slice.getStarts());
  if (ShapedType::isDynamic(starts.back()))
    open.pop_back();
  starts.back() = 0;
  steps.back() = 1;
  RankedTensorType type = tensorType(slice.getResult());
  bool isAll = type.hasStaticShape() && type == selected.getType() &&
               llvm::all_of(starts, [](int64_t start) { return start == 0; });
  if (isAll)
    return selected;
  return prim::SliceOp::create(b, slice.getLoc(), type, selected, open, slice.getSizes(), starts,
                               steps);
}

void OrderStatisticsPass::select(Operation *op) {
  auto sort = dyn_cast<prim::SortOp>(op);
  auto top = dyn_cast<prim::TopKOp>(op);
  Value x = op->getOperand(0);
  RankedTensorType type = tensorType(x);
  int64_t axis = sort ? sort.getAxis() : top.getAxis(), extent = type.getShape().back();
  if (axis + 1 != type.getRank() || (!ShapedType::isDynamic(extent) && extent <= kShortLine))
    return;
  int64_t kept = tensorType(op->getResult(0)).getShape().back();
  if (top && (ShapedType::isDynamic(kept) || kept <= kFewKept))
    return;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  RankedTensorType values = type.clone(shape);
  SmallVector<Place> places;
  for (OpResult result : op->getResults())
    for (Operation *user : result.getUsers()) {
      OpFoldResult at = placeIn(user, op);
      if (!at)
        return;
      auto *place = llvm::find_if(places, [&](const Place &p) { return p.at == at; });
      if (place == places.end()) {
        places.push_back({at, {}, {}});
        place = &places.back();
      }
      auto slice = cast<prim::SliceOp>(user);
      (result.getResultNumber() ? place->indices : place->values).push_back(slice);
    }
  if (places.empty() || places.size() > kPlaces)
    return;
  OpBuilder b(&getContext());
  bool descending = sort ? sort.getDescending() : top.getLargest();
  for (Place &place : places) {
    // Of a value of the host the first slice is behind it, and all other slices behind the first.
    auto all = llvm::concat<prim::SliceOp>(place.values, place.indices);
    Operation *first = *llvm::min_element(
        all, [](prim::SliceOp l, prim::SliceOp r) { return l->isBeforeInBlock(r); });
    b.setInsertionPoint(first);
    Value k = getValueOrCreateConstantIndexOp(b, op->getLoc(), place.at);
    auto kth = prim::KthOp::create(b, op->getLoc(), values, values.clone(b.getI64Type()), x, k,
                                   descending);
    auto replace = [&](ArrayRef<prim::SliceOp> slices, Value selected) {
      for (prim::SliceOp slice : slices) {
        b.setInsertionPoint(slice);
        slice.replaceAllUsesWith(sliceOf(b, slice, selected));
        slice.erase();
      }
    };
    replace(place.values, kth.getValues());
    replace(place.indices, kth.getIndices());
  }
  op->erase();
}

std::unique_ptr<Pass> tcc::createOrderStatisticsPass() {
  return std::make_unique<OrderStatisticsPass>();
}
