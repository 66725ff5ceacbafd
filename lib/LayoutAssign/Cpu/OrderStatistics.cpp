//===- OrderStatistics.cpp - Elements of an order, without the order ------===//
//
// Medians, and the k-th of a line, are slices of lines in order. An element at one place is
// selected in a few looks at the line (Codegen/Cpu/Order/SelectedElement.cpp).
//
// Lines along other axes than the last are turned first: what lies apart is put in order as a heap,
// several times as slow. A few first elements of each are kept in the lanes of a vector instead.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/FirstInLanes.h"
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
      select(turned(op));
  }

private:
  Operation *turned(Operation *op);
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

/// `op`, or what takes its place, whose lines lie along the last axis.
Operation *OrderStatisticsPass::turned(Operation *op) {
  RankedTensorType type = tensorType(op->getOperand(0));
  auto sort = dyn_cast<prim::SortOp>(op);
  int64_t axis = sort ? sort.getAxis() : cast<prim::TopKOp>(op).getAxis();
  int64_t last = type.getRank() - 1;
  if (axis == last || keepsFirstInLanes(op))
    return op;
  OpBuilder b(op);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  std::swap(order[axis], order[last]);
  auto turn = [&](Value v, RankedTensorType from) {
    SmallVector<int64_t> shape;
    for (int64_t i : order)
      shape.push_back(from.getDimSize(i));
    return prim::TransposeOp::create(b, op->getLoc(), from.clone(shape), v, order).getResult();
  };
  Value x = turn(op->getOperand(0), type);
  Operation *lines = b.clone(*op);
  lines->setOperand(0, x);
  auto attribute = b.getIntegerAttr(op->getAttrOfType<IntegerAttr>("axis").getType(), last);
  lines->setAttr("axis", attribute);
  for (auto [was, is] : llvm::zip_equal(op->getResults(), lines->getResults())) {
    RankedTensorType own = tensorType(was);
    SmallVector<int64_t> shape;
    for (int64_t i : order)
      shape.push_back(own.getDimSize(i));
    is.setType(own.clone(shape));
    was.replaceAllUsesWith(turn(is, own.clone(shape)));
  }
  op->erase();
  return lines;
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
