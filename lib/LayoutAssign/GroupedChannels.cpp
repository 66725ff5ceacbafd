//===- GroupedChannels.cpp - Group norms keep the axis of channels --------===//
//
// A group norm splits channels in groups and reduces what lies behind the groups: the channels of
// each and all pixels. With channels second that is one row of memory. Behind a convolution, where
// channels are last, it is every few elements of a pixel, pixel after pixel, and the norm, which
// layout does not see through, is transposed.
//
//   %g = prim.reshape %x : [N, C, H, W] -> [N, G, c, H, W]
//   %s = prim.reduce sum %g [2, 3, 4]             %p = prim.reduce sum %x [2, 3]
//   %m = prim.broadcast (reshape %s)        ->    %s = prim.reduce sum (reshape %p : [N, G, c]) [2]
//   %d = prim.sub %g, %m                          %d = prim.sub %x, broadcast (reshape (broadcast
//   %s)) %y = prim.reshape %d : [N, C, H, W]
//
// So the pixels of each channel are reduced first, wherever the channel lies, then the few channels
// of a group, and what is computed at each point is computed without groups: layout spreads over
// it. That takes several kernels instead of one, so groups have to be large.
//
//===----------------------------------------------------------------------===//
#include "Planes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {
#define GEN_PASS_DECL_GROUPEDCHANNELSPASS
#define GEN_PASS_DEF_GROUPEDCHANNELSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// What is computed of channels in groups, [N, G, c, pixels].
class GroupedChannels {
public:
  GroupedChannels(prim::ReshapeOp split, int64_t fewest) : split(split), fewest(fewest) {}
  /// Whether all of it can be computed of channels, in groups that have enough elements.
  bool collect();
  void rebuild();

private:
  bool follow(Operation *user);
  bool canRead(Value operand);
  Value read(OpBuilder &b, Value operand);
  Value reduced(OpBuilder &b, prim::ReduceOp reduce);
  RankedTensorType typeOf(Value v) { return whole().clone(tensorType(v).getElementType()); }
  RankedTensorType whole() { return tensorType(split.getX()); }
  RankedTensorType parts() { return tensorType(split.getResult()); }

  prim::ReshapeOp split;
  int64_t fewest;
  llvm::SetVector<Operation *> ops; ///< with reductions and the reshapes back
  IRMapping map;
};

} // namespace

constexpr int64_t kImage = 2; ///< axes before the pixels

/// Numbers of groups, or one for all, and unit axes for the rest.
static bool isOfChannels(prim::BroadcastOp broadcast) {
  auto from = tensorType(broadcast.getX());
  return from.hasStaticShape() &&
         llvm::all_of(llvm::zip(broadcast.getAxes(), from.getShape()), [](auto axis) {
           return std::get<0>(axis) <= kImage || std::get<1>(axis) == 1;
         });
}

/// One number everywhere.
static DenseElementsAttr splatOf(Value v) {
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  return dense && dense.isSplat() ? dense : DenseElementsAttr();
}

bool GroupedChannels::canRead(Value operand) {
  if (operand == split.getResult() || splatOf(operand) || ops.contains(operand.getDefiningOp()))
    return true;
  auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
  return broadcast && tensorType(operand).getShape() == parts().getShape() &&
         isOfChannels(broadcast);
}

bool GroupedChannels::follow(Operation *user) {
  if (user->getBlock() != split->getBlock() || user->getNumResults() != 1)
    return false;
  if (auto reduce = dyn_cast<prim::ReduceOp>(user))
    return llvm::equal(reduce.getAxes(), llvm::seq<int64_t>(kImage, parts().getRank()));
  if (auto joined = dyn_cast<prim::ReshapeOp>(user))
    return tensorType(joined.getResult()).getShape() == whole().getShape();
  return prim::isElementwise(user) &&
         tensorType(user->getResult(0)).getShape() == parts().getShape();
}

/// Whether `x` is computed from a convolution whose channels will be last.
static bool comesFromConvolution(Value x) {
  constexpr unsigned kMost = 64;
  llvm::SetVector<Operation *> left;
  auto add = [&](Value v) {
    if (Operation *op = v.getDefiningOp())
      left.insert(op);
  };
  add(x);
  for (size_t i = 0; i < left.size() && left.size() < kMost; ++i) {
    Operation *op = left[i];
    if (isa<prim::ConvOp>(op))
      return true;
    if (prim::isElementwise(op) || isa<prim::ConcatOp, prim::TakeOp, prim::PadOp, prim::PoolOp>(op))
      for (Value operand : op->getOperands())
        add(operand);
  }
  return false;
}

bool GroupedChannels::collect() {
  if (!whole().hasStaticShape() || !parts().hasStaticShape() || whole().getRank() < 3 ||
      parts().getRank() != whole().getRank() + 1 ||
      whole().getDimSize(0) != parts().getDimSize(0) ||
      whole().getShape().drop_front(kImage) != parts().getShape().drop_front(kImage + 1))
    return false;
  int64_t elements = parts().getNumElements() / (parts().getDimSize(0) * parts().getDimSize(1));
  if (elements < fewest || parts().getDimSize(2) == 1 || !comesFromConvolution(split.getX()))
    return false;
  SmallVector<Value> open{split.getResult()};
  bool reduces = false;
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (!follow(user))
        return false;
      reduces |= isa<prim::ReduceOp>(user);
      if (ops.insert(user) && prim::isElementwise(user))
        open.push_back(user->getResult(0));
    }
  return reduces && llvm::all_of(ops, [&](Operation *op) {
           return llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isa<RankedTensorType>(operand.getType()) || canRead(operand);
           });
         });
}

Value GroupedChannels::read(OpBuilder &b, Value operand) {
  if (Value known = map.lookupOrNull(operand))
    return known;
  Location loc = operand.getLoc();
  RankedTensorType type = typeOf(operand);
  if (DenseElementsAttr splat = splatOf(operand))
    return prim::ConstantOp::create(b, loc, type, splat.resizeSplat(type));
  // For all channels of each group; the same for the whole batch, if it was so.
  auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
  auto from = tensorType(broadcast.getX());
  SmallVector<int64_t> own, axes;
  for (auto [axis, extent] : llvm::zip(broadcast.getAxes(), from.getShape())) {
    if (extent == 1)
      continue;
    own.push_back(extent);
    axes.push_back(axis);
  }
  Value x = broadcast.getX();
  if (from.getShape() != ArrayRef<int64_t>(own))
    x = prim::ReshapeOp::create(b, loc, from.clone(own), x, ValueRange());
  bool perImage = llvm::is_contained(axes, 0);
  auto last = parts().getShape().slice(1, kImage);
  SmallVector<int64_t> full, channels;
  if (perImage)
    full.push_back(parts().getDimSize(0));
  channels = full;
  llvm::append_range(full, last);
  channels.push_back(whole().getDimSize(1));
  if (!perImage)
    for (int64_t &axis : axes)
      --axis;
  if (own != full)
    x = prim::BroadcastOp::create(b, loc, from.clone(full), x, axes, ValueRange());
  x = prim::ReshapeOp::create(b, loc, from.clone(channels), x, ValueRange());
  SmallVector<int64_t> to = perImage ? SmallVector<int64_t>{0, 1} : SmallVector<int64_t>{1};
  return prim::BroadcastOp::create(b, loc, type, x, to, ValueRange());
}

/// The pixels of each channel first, and then the channels of each group.
Value GroupedChannels::reduced(OpBuilder &b, prim::ReduceOp reduce) {
  auto pixels = llvm::to_vector(llvm::seq<int64_t>(kImage, whole().getRank()));
  RankedTensorType type = tensorType(reduce.getResult());
  Value x =
      prim::ReduceOp::create(b, reduce.getLoc(), type.clone(whole().getShape().take_front(kImage)),
                             reduce.getKind(), read(b, reduce.getX()), pixels);
  x = prim::ReshapeOp::create(
      b, reduce.getLoc(), type.clone(parts().getShape().take_front(kImage + 1)), x, ValueRange());
  return prim::ReduceOp::create(b, reduce.getLoc(), type, reduce.getKind(), x,
                                ArrayRef<int64_t>{kImage});
}

void GroupedChannels::rebuild() {
  map.map(split.getResult(), split.getX());
  SmallVector<Operation *> inOrder = ops.takeVector();
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : inOrder) {
    OpBuilder b(op);
    Value result = op->getResult(0);
    if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
      result.replaceAllUsesWith(reduced(b, reduce));
    } else if (isa<prim::ReshapeOp>(op)) {
      result.replaceAllUsesWith(map.lookup(op->getOperand(0)));
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(read(b, operand));
      Operation *clone = b.clone(*op);
      clone->setOperands(operands);
      clone->getResult(0).setType(typeOf(result));
      map.map(result, clone->getResult(0));
    }
  }
  for (Operation *op : llvm::reverse(inOrder))
    op->erase();
  split->erase();
}

namespace {

class GroupedChannelsPass : public tcc::impl::GroupedChannelsPassBase<GroupedChannelsPass> {
public:
  using GroupedChannelsPassBase::GroupedChannelsPassBase;
  void runOnOperation() override {
    SmallVector<prim::ReshapeOp> found;
    getOperation().walk([&](prim::ReshapeOp op) { found.push_back(op); });
    // Those behind others first: the reshapes that rebuild() erases lie behind its own.
    for (prim::ReshapeOp op : llvm::reverse(found)) {
      GroupedChannels grouped(op, fewest);
      if (grouped.collect())
        grouped.rebuild();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createGroupedChannelsPass(int64_t fewest) {
  return std::make_unique<GroupedChannelsPass>(GroupedChannelsPassOptions{fewest});
}
