//===- ComposeViews.cpp - Reshapes and transposes as one of each ----------===//
//
// Exporters split heads off, swap axes, merge batch and heads, transpose and split
// again. Together such a chain does no more than put the factors of its source's
// axes in another order, for which one transpose between two reshapes is enough,
// and mostly a reshape and a transpose. A contraction can absorb that transpose.
//
//   %1 = prim.reshape %0 : 1x128x768 -> 1x128x12x64
//   %2 = prim.transpose %1 [0, 2, 1, 3]
//   %3 = prim.reshape %2 : 1x12x128x64 -> 12x128x64
//   %4 = prim.transpose %3 [0, 2, 1]
//   %5 = prim.reshape %4 : 12x64x128 -> 1x12x64x128
// becomes
//   %1 = prim.reshape %0 : 1x128x768 -> 1x128x12x64
//   %5 = prim.transpose %1 [0, 2, 3, 1]
//
// Unknown extents are factors too and are not split; products of them with numbers are
// (batch * 12 is the batch and twelve heads). Taking one known
// index, or one that the host knows, is a slice, which readers see through as they do through the
// others.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "tcc/Analysis/ViewFactors.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_COMPOSEVIEWSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

static bool isChainLink(Operation *op) { return isa<prim::TransposeOp, prim::ReshapeOp>(op); }

namespace {

/// The three steps that replace a chain: reshape to `middle`, transpose, reshape.
class Composer {
public:
  Composer(Operation *last, const ViewFactors &view) : last(last), view(view), b(last) {}
  /// Null when the chain is as short already.
  Value compose();

private:
  /// Factors that stay together: neighbours in an axis of the result and in the source.
  using Run = SmallVector<unsigned, 2>;
  void collectRuns();
  void layMiddle();
  RankedTensorType typeOf(ArrayRef<OpFoldResult> shape);
  SmallVector<Value> sizesOf(RankedTensorType type, ArrayRef<OpFoldResult> shape);
  Value reshaped(Value x, RankedTensorType type, ArrayRef<OpFoldResult> shape);
  OpFoldResult extentOf(const Run &run);

  Operation *last;
  const ViewFactors &view;
  OpBuilder b;
  SmallVector<Run> runs;                  ///< in the order of the result
  SmallVector<SmallVector<int>> axisRuns; ///< of each axis of the result
  SmallVector<int> middle;                ///< runs in the order of the source; -1: a unit axis
};

} // namespace

void Composer::collectRuns() {
  for (const ViewFactors::Axis &axis : view.axes()) {
    axisRuns.emplace_back();
    for (unsigned id : axis) {
      bool known = getConstantIntValue(view.factor(id).extent).has_value();
      if (!axisRuns.back().empty() && known) {
        Run &run = runs.back();
        auto at = llvm::find(view.order(), run.back());
        bool knownRun = getConstantIntValue(view.factor(run.back()).extent).has_value();
        if (knownRun && at + 1 != view.order().end() && *(at + 1) == id) {
          run.push_back(id);
          continue;
        }
      }
      axisRuns.back().push_back(runs.size());
      runs.push_back({id});
    }
  }
}

/// Unit axes of the source take the places of unit axes of the result, so that a
/// chain without splits needs no reshape.
void Composer::layMiddle() {
  unsigned units = 0;
  for (auto &axis : axisRuns)
    units += axis.empty();
  SmallVector<int> order;
  unsigned next = 0;
  ArrayRef<unsigned> factors = view.order();
  for (unsigned axis = 0; axis < view.sourceExtents().size(); ++axis) {
    if (getConstantIntValue(view.sourceExtents()[axis]) == 1) {
      if (units) {
        order.push_back(-1);
        --units;
      }
      continue;
    }
    for (; next < factors.size() && view.factor(factors[next]).axis == axis; ++next)
      for (auto [i, run] : llvm::enumerate(runs))
        if (run.front() == factors[next])
          order.push_back(i);
  }
  middle.assign(units, -1);
  middle.append(order);
}

OpFoldResult Composer::extentOf(const Run &run) {
  if (run.size() == 1)
    return view.factor(run.front()).extent;
  int64_t product = 1;
  for (unsigned id : run)
    product *= *getConstantIntValue(view.factor(id).extent);
  return b.getIndexAttr(product);
}

RankedTensorType Composer::typeOf(ArrayRef<OpFoldResult> shape) {
  SmallVector<int64_t> dims;
  for (OpFoldResult d : shape)
    dims.push_back(getConstantIntValue(d).value_or(ShapedType::kDynamic));
  auto element = cast<RankedTensorType>(last->getResult(0).getType()).getElementType();
  return RankedTensorType::get(dims, element);
}

SmallVector<Value> Composer::sizesOf(RankedTensorType type, ArrayRef<OpFoldResult> shape) {
  SmallVector<Value> sizes;
  for (auto [i, d] : llvm::enumerate(shape))
    if (type.isDynamicDim(i))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, last->getLoc(), d));
  return sizes;
}

Value Composer::reshaped(Value x, RankedTensorType type, ArrayRef<OpFoldResult> shape) {
  if (x.getType() == type)
    return x;
  return prim::ReshapeOp::create(b, last->getLoc(), type, x, sizesOf(type, shape));
}

Value Composer::compose() {
  collectRuns();
  layMiddle();
  SmallVector<OpFoldResult> middleShape, turnedShape;
  for (int run : middle)
    middleShape.push_back(run < 0 ? OpFoldResult(b.getIndexAttr(1)) : extentOf(runs[run]));

  SmallVector<int64_t> permutation;
  DenseSet<int64_t> unitsUsed;
  for (auto &axis : axisRuns) {
    if (axis.empty()) {
      int64_t at = 0;
      while (middle[at] != -1 || !unitsUsed.insert(at).second)
        ++at;
      permutation.push_back(at);
    }
    for (int run : axis)
      permutation.push_back(llvm::find(middle, run) - middle.begin());
  }
  for (int64_t axis : permutation)
    turnedShape.push_back(middleShape[axis]);

  auto type = cast<RankedTensorType>(last->getResult(0).getType());
  auto sourceType = cast<RankedTensorType>(view.source().getType());
  // In the order of the source: unit axes may be anywhere.
  bool inOrder = true;
  for (int64_t before = -1; int64_t axis : permutation)
    if (middle[axis] != -1) {
      inOrder &= axis > before;
      before = axis;
    }
  RankedTensorType middleType = typeOf(middleShape), turnedType = typeOf(turnedShape);
  unsigned length =
      inOrder ? type != sourceType : (middleType != sourceType) + 1 + (turnedType != type);
  // A reshape is free, a transpose of unit axes only is one.
  bool unitTranspose = inOrder && length == 1 && isa<prim::TransposeOp>(last);
  if (length >= view.length() && !(unitTranspose && view.length() == 1))
    return {};
  SmallVector<OpFoldResult> shape = prim::dimsOf(b, last->getLoc(), last->getResult(0));
  if (inOrder)
    return reshaped(view.source(), type, shape);
  Value x = reshaped(view.source(), middleType, middleShape);
  x = prim::TransposeOp::create(b, last->getLoc(), turnedType, x, permutation);
  return reshaped(x, type, shape);
}

/// Where `op` takes its one slice, if the host knows: a number inside a known axis, or a host
/// scalar that is clamped into the axis.
static OpFoldResult startOf(OpBuilder &b, prim::TakeOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t axis = op.getAxis();
  if (cast<RankedTensorType>(op.getIndices().getType()).getRank() != 0)
    return {};
  if (auto from = op.getIndices().getDefiningOp<prim::FromElementsOp>()) {
    Value index = from.getElements()[0];
    if (!index.getType().isIndex())
      return {};
    Location loc = op.getLoc();
    Value extent = getValueOrCreateConstantIndexOp(b, loc, prim::dimOf(b, loc, op.getX(), axis));
    Value zero = arith::ConstantIndexOp::create(b, loc, 0),
          one = arith::ConstantIndexOp::create(b, loc, 1);
    Value last = arith::SubIOp::create(b, loc, extent, one);
    return arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, index, last), zero)
        .getResult();
  }
  auto indices = op.getIndices().getDefiningOp<prim::ConstantOp>();
  auto dense = indices ? dyn_cast<DenseElementsAttr>(indices.getElements()) : DenseElementsAttr();
  int64_t index = dense ? dense.getSplatValue<APInt>().getSExtValue() : -1;
  bool inside = index >= 0 && !type.isDynamicDim(axis) && index < type.getDimSize(axis);
  return inside ? OpFoldResult(b.getIndexAttr(index)) : OpFoldResult();
}

/// The slice that takes one index that the host knows.
static void takeAsSlice(prim::TakeOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t axis = op.getAxis();
  OpBuilder b(op);
  OpFoldResult start = startOf(b, op);
  if (!start)
    return;
  auto sizesOf = [&](Value like, int64_t without = -1) {
    SmallVector<Value> sizes;
    for (auto [i, d] : llvm::enumerate(prim::dimsOf(b, op.getLoc(), like)))
      if (cast<RankedTensorType>(like.getType()).isDynamicDim(i) && int64_t(i) != without)
        sizes.push_back(getValueOrCreateConstantIndexOp(b, op.getLoc(), d));
    return sizes;
  };
  SmallVector<int64_t> shape(type.getShape()), starts(type.getRank(), 0), steps(type.getRank(), 1);
  SmallVector<Value> open;
  if (auto known = getConstantIntValue(start)) {
    starts[axis] = *known;
  } else {
    starts[axis] = ShapedType::kDynamic;
    open.push_back(cast<Value>(start));
  }
  shape[axis] = 1;
  Value slice =
      prim::SliceOp::create(b, op.getLoc(), RankedTensorType::get(shape, type.getElementType()),
                            op.getX(), open, sizesOf(op.getX(), axis), starts, steps);
  Value one = prim::ReshapeOp::create(b, op.getLoc(), op.getType(), slice, sizesOf(op.getResult()));
  op.getResult().replaceAllUsesWith(one);
  op.erase();
}

namespace {

class ComposeViewsPass : public tcc::impl::ComposeViewsPassBase<ComposeViewsPass> {
public:
  void runOnOperation() override {
    getOperation().walk(takeAsSlice);
    SmallVector<Operation *> ends;
    getOperation().walk([&](Operation *op) {
      if (isChainLink(op) && !llvm::all_of(op->getUsers(), isChainLink))
        ends.push_back(op);
    });
    for (Operation *op : ends) {
      OpBuilder b(op);
      auto extents = [&](Value v) { return prim::dimsOf(b, op->getLoc(), v); };
      // A chain stays in its block: elsewhere its source may not be computed yet.
      ViewFactors view = ViewFactors::of(op->getResult(0), extents, [&](Operation *link) {
        return isChainLink(link) && link->getBlock() == op->getBlock();
      });
      if (Value composed = Composer(op, view).compose())
        op->getResult(0).replaceAllUsesWith(composed);
    }
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isChainLink(op) && op->use_empty())
        op->erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createComposeViewsPass() { return std::make_unique<ComposeViewsPass>(); }
