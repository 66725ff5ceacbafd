//===- ChannelsLast.cpp - Convolutions read channels contiguously ---------===//
//
// Models come with channels second; kernels want them last. Each convolution is rewritten to that,
// and the layout spreads forward: an operator one of whose operands exists so is rewritten too if
// it can be (elementwise, pooling, concatenation, padding, slices, broadcasts, reductions, pixels
// taken or repeated, channels or tokens that become pixels). Every value keeps both forms in a map;
// a transpose back is made only when an operator that cannot follow asks for it.
//
//   %t = prim.transpose %x [0, 2, 3, 1]
//   %c = prim.conv %t, %w ... {channels_last}
//   %r = prim.maximum %c, %zero         // not transposed back and forth
//
//===----------------------------------------------------------------------===//
#include "Planes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/ViewFactors.h"
#include "tcc/Dialect/Cpu/PlaneTiles.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tcc {
#define GEN_PASS_DECL_CHANNELSLASTPASS
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class ChannelsLast {
public:
  ChannelsLast(Block &block, const PlanesLimits &planes)
      : block(block), planes(planes), b(block.getParentOp()->getContext()) {}
  void run();

private:
  /// The inverse of channelsToLast.
  static SmallVector<int64_t> toFirst(int64_t rank);
  static SmallVector<int64_t> toLast(int64_t rank) { return channelsToLast(rank); }
  /// Where axis `axis` of a channels-second value lies in its channels-last form.
  static int64_t movedAxis(int64_t axis, int64_t rank) {
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
  }
  Value transposed(Value x, ArrayRef<int64_t> permutation);
  Value last(Value x);
  bool isLast(Value x) { return lastOf.contains(x); }
  bool meetsChannelsLast(Value x) {
    return reachesChannelsLast(x, [&](Value v) { return isLast(v); });
  }
  bool rewrite(Operation *op);
  bool rewriteConv(prim::ConvOp op);
  bool rewriteElementwise(Operation *op);
  bool rewritePool(prim::PoolOp op);
  bool rewriteConcat(prim::ConcatOp op);
  bool rewritePad(prim::PadOp op);
  bool rewriteSlice(prim::SliceOp op);
  bool rewriteReduce(prim::ReduceOp op);
  bool rewriteTranspose(prim::TransposeOp op);
  bool rewriteShuffle(prim::ReshapeOp op);
  bool rewriteTokens(prim::ReshapeOp op);
  bool rewriteRepeat(prim::ReshapeOp op);
  bool rewriteBroadcast(prim::BroadcastOp op);
  bool rewriteTake(prim::TakeOp op);
  std::pair<RankedTensorType, SmallVector<Value>> shaped(ArrayRef<OpFoldResult> extents,
                                                         Value like);
  Value reshapedLike(prim::ReshapeOp op, Value x);
  SmallVector<Value> sizesOf(Value oldResult, RankedTensorType newType);
  RankedTensorType lastType(Value x);
  void define(Value old, Value channelsLast);

  Block &block;
  const PlanesLimits &planes;
  OpBuilder b;
  llvm::MapVector<Value, Value> backOf; ///< `old` made from its channels-last form
  DenseMap<Value, Value> lastOf;        ///< channels-last form of a channels-second value
};

} // namespace

template <typename List> static auto permuted(const List &list, ArrayRef<int64_t> permutation) {
  SmallVector<std::decay_t<decltype(list[0])>> out;
  for (int64_t axis : permutation)
    out.push_back(list[axis]);
  return out;
}

SmallVector<int64_t> ChannelsLast::toFirst(int64_t rank) {
  SmallVector<int64_t> p = {0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i)
    p.push_back(i);
  return p;
}

Value ChannelsLast::transposed(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation)
    shape.push_back(tensorType(x).getDimSize(axis));
  auto type = RankedTensorType::get(shape, tensorType(x).getElementType());
  return prim::TransposeOp::create(b, x.getLoc(), type, x, permutation);
}

RankedTensorType ChannelsLast::lastType(Value x) {
  SmallVector<int64_t> shape;
  for (int64_t axis : toLast(tensorType(x).getRank()))
    shape.push_back(tensorType(x).getDimSize(axis));
  return RankedTensorType::get(shape, tensorType(x).getElementType());
}

/// The dynamic extents of `newType`, the channels-last form of `old`.
SmallVector<Value> ChannelsLast::sizesOf(Value old, RankedTensorType newType) {
  SmallVector<Value> sizes;
  for (auto [i, axis] : llvm::enumerate(toLast(newType.getRank())))
    if (newType.isDynamicDim(i))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, old.getLoc(),
                                                      prim::dimOf(b, old.getLoc(), old, axis)));
  return sizes;
}

/// A tensor of these extents and the element type of `like`, and its sizes.
std::pair<RankedTensorType, SmallVector<Value>> ChannelsLast::shaped(ArrayRef<OpFoldResult> extents,
                                                                     Value like) {
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (OpFoldResult extent : extents) {
    shape.push_back(getConstantIntValue(extent).value_or(ShapedType::kDynamic));
    if (ShapedType::isDynamic(shape.back()))
      sizes.push_back(cast<Value>(extent));
  }
  return {RankedTensorType::get(shape, tensorType(like).getElementType()), sizes};
}

/// `x` in the channels-last shape of what `op` gives.
Value ChannelsLast::reshapedLike(prim::ReshapeOp op, Value x) {
  RankedTensorType type = lastType(op.getResult());
  return prim::ReshapeOp::create(b, op.getLoc(), type, x, sizesOf(op.getResult(), type));
}

/// The channels-last form of any value, made where it is needed first.
Value ChannelsLast::last(Value x) {
  if (Value known = lastOf.lookup(x))
    return known;
  int64_t rank = tensorType(x).getRank();
  RankedTensorType type = lastType(x);
  if (auto constant = x.getDefiningOp<prim::ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getElements()); dense && dense.isSplat())
      return prim::ConstantOp::create(b, x.getLoc(), type,
                                      cast<TypedAttr>(Attribute(dense.resizeSplat(type))));
  if (auto broadcast = x.getDefiningOp<prim::BroadcastOp>()) {
    // A per-channel vector or scalar: only the axes it maps to move, and those of one element say
    // nothing of an order.
    auto from = tensorType(broadcast.getX());
    SmallVector<int64_t> axes, others, extents;
    for (auto [axis, extent] : llvm::zip_equal(broadcast.getAxes(), from.getShape())) {
      axes.push_back(movedAxis(axis, rank));
      if (extent == 1)
        continue;
      others.push_back(axes.back());
      extents.push_back(extent);
    }
    Value vector = broadcast.getX();
    if (!llvm::is_sorted(axes) && llvm::is_sorted(others) && from.hasStaticShape()) {
      vector = prim::ReshapeOp::create(b, x.getLoc(), from.clone(extents), vector, ValueRange());
      axes = others;
    }
    if (llvm::is_sorted(axes))
      return prim::BroadcastOp::create(b, x.getLoc(), type, vector, axes, sizesOf(x, type));
    if (static_cast<int64_t>(axes.size()) == rank)
      return prim::BroadcastOp::create(b, x.getLoc(), type, last(broadcast.getX()),
                                       llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                                       sizesOf(x, type));
  }
  if (auto reshape = x.getDefiningOp<prim::ReshapeOp>()) {
    // [N, C] or [C] with unit spatial axes: the axes that move have one element.
    bool unit = true;
    for (int64_t i = 2; i < rank; ++i)
      unit &= tensorType(x).getDimSize(i) == 1;
    if (unit)
      return prim::ReshapeOp::create(b, x.getLoc(), type, reshape.getX(), sizesOf(x, type));
  }
  return transposed(x, toLast(rank));
}

void ChannelsLast::define(Value old, Value channelsLast) {
  lastOf[old] = channelsLast;
  Value back = transposed(channelsLast, toFirst(tensorType(old).getRank()));
  // Operators that are rewritten look `old` up; in the end all others read `back`.
  lastOf[back] = channelsLast;
  backOf[old] = back;
}

bool ChannelsLast::rewriteConv(prim::ConvOp op) {
  if (op.getChannelsLast() || op->hasAttr(kInPlanes) || staysInPlanes(op, planes) ||
      llvm::any_of(op.getInputDilation(), [](int64_t d) { return d != 1; }))
    return false;
  RankedTensorType type = lastType(op.getResult());
  SmallVector<Value> sizes = sizesOf(op.getResult(), type);
  auto conv =
      prim::ConvOp::create(b, op.getLoc(), type, last(op.getX()), op.getW(), sizes, op.getStrides(),
                           op.getDilations(), op.getInputDilation(), op.getLow(), op.getHigh(),
                           op.getGroups(), /*channels_last=*/true, op.getZero());
  conv->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), conv);
  return true;
}

bool ChannelsLast::rewriteElementwise(Operation *op) {
  if (op->getNumResults() != 1 ||
      llvm::none_of(op->getOperands(), [&](Value v) { return isLast(v); }))
    return false;
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(last(v));
  OperationState state(op->getLoc(), op->getName(), operands, lastType(op->getResult(0)),
                       op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  define(op->getResult(0), b.create(state)->getResult(0));
  return true;
}

bool ChannelsLast::rewritePool(prim::PoolOp op) {
  if (!isLast(op.getX()) || op.getChannelsLast())
    return false;
  RankedTensorType type = lastType(op.getResult());
  SmallVector<Value> sizes = sizesOf(op.getResult(), type);
  define(op.getResult(),
         prim::PoolOp::create(b, op.getLoc(), type, op.getKind(), last(op.getX()), sizes,
                              op.getWindow(), op.getStrides(), op.getDilations(), op.getLow(),
                              op.getHigh(), /*channels_last=*/true));
  return true;
}

bool ChannelsLast::rewriteConcat(prim::ConcatOp op) {
  if (llvm::none_of(op.getInputs(), [&](Value v) { return isLast(v); }))
    return false;
  SmallVector<Value> inputs;
  for (Value v : op.getInputs())
    inputs.push_back(last(v));
  int64_t rank = tensorType(op.getResult()).getRank();
  define(op.getResult(), prim::ConcatOp::create(b, op.getLoc(), lastType(op.getResult()), inputs,
                                                movedAxis(op.getAxis(), rank)));
  return true;
}

bool ChannelsLast::rewritePad(prim::PadOp op) {
  if (!isLast(op.getX()) || !op.getLows().empty())
    return false;
  RankedTensorType type = lastType(op.getResult());
  SmallVector<int64_t> p = toLast(type.getRank());
  define(op.getResult(),
         prim::PadOp::create(b, op.getLoc(), type, last(op.getX()), op.getValue(), ValueRange{},
                             sizesOf(op.getResult(), type), permuted(op.getStaticLow(), p),
                             permuted(op.getInterior(), p)));
  return true;
}

bool ChannelsLast::rewriteSlice(prim::SliceOp op) {
  if (!isLast(op.getX()) || !op.getStarts().empty())
    return false;
  RankedTensorType type = lastType(op.getResult());
  SmallVector<int64_t> p = toLast(type.getRank());
  define(op.getResult(),
         prim::SliceOp::create(b, op.getLoc(), type, last(op.getX()), ValueRange{},
                               sizesOf(op.getResult(), type), permuted(op.getStaticStarts(), p),
                               permuted(op.getSteps(), p)));
  return true;
}

/// Reductions whose kept axes keep their order are final; others follow later.
bool ChannelsLast::rewriteReduce(prim::ReduceOp op) {
  if (!isLast(op.getX()))
    return false;
  int64_t rank = tensorType(op.getX()).getRank();
  SmallVector<int64_t> axes, kept;
  for (int64_t axis : op.getAxes())
    axes.push_back(movedAxis(axis, rank));
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(op.getAxes(), axis))
      kept.push_back(movedAxis(axis, rank));
  if (!llvm::is_sorted(kept))
    return false;
  llvm::sort(axes);
  Value reduced =
      prim::ReduceOp::create(b, op.getLoc(), op.getType(), op.getKind(), last(op.getX()), axes);
  op.getResult().replaceAllUsesWith(reduced);
  return true;
}

/// A transpose to or from channels-last is the other form of its operand.
bool ChannelsLast::rewriteTranspose(prim::TransposeOp op) {
  int64_t rank = tensorType(op.getX()).getRank();
  if (rank < 3)
    return false;
  if (op.getPermutation() == ArrayRef<int64_t>(toLast(rank)) && isLast(op.getX())) {
    op.getResult().replaceAllUsesWith(last(op.getX()));
    return true;
  }
  if (op.getPermutation() == ArrayRef<int64_t>(toFirst(rank)) &&
      meetsChannelsLast(op.getResult())) {
    lastOf[op.getResult()] = op.getX();
    return true;
  }
  return false;
}

/// Channels that become neighbouring pixels, as behind a transposed convolution:
/// [N, r.. C, H..] -> [N, C, H, r..] -> [N, C, H r..].
bool ChannelsLast::rewriteShuffle(prim::ReshapeOp op) {
  auto transpose = op.getX().getDefiningOp<prim::TransposeOp>();
  auto split = transpose ? transpose.getX().getDefiningOp<prim::ReshapeOp>() : nullptr;
  int64_t rank = tensorType(op.getResult()).getRank();
  if (!split || !isLast(split.getX()) || tensorType(split.getX()).getRank() != rank)
    return false;
  Location loc = op.getLoc();
  auto view = ViewFactors::of(
      op.getResult(), [&](Value v) { return prim::dimsOf(b, loc, v); },
      [&](Operation *link) { return link == op || link == transpose || link == split; });
  if (view.source() != split.getX())
    return false;
  // Each axis keeps what it had, and spatial ones have channels as well.
  for (auto [axis, parts] : llvm::enumerate(view.axes()))
    for (unsigned part : parts)
      if (unsigned from = view.factor(part).axis; from != axis && (axis < 2 || from != 1))
        return false;
  SmallVector<OpFoldResult> splitShape;
  SmallVector<int64_t> permutation;
  DenseMap<unsigned, int64_t> places;
  for (int64_t axis : toLast(rank))
    for (unsigned part : view.order())
      if (view.factor(part).axis == axis) {
        places[part] = splitShape.size();
        splitShape.push_back(view.factor(part).extent);
      }
  for (int64_t axis : toLast(rank))
    for (unsigned part : view.axes()[axis])
      permutation.push_back(places[part]);
  auto [type, sizes] = shaped(splitShape, split.getX());
  Value y = prim::ReshapeOp::create(b, loc, type, last(split.getX()), sizes);
  y = transposed(y, permutation);
  define(op.getResult(), reshapedLike(op, y));
  return true;
}

/// Tokens that become pixels, [N, T, C] -> [N, C, T] -> [N, C, H, W], have their channels last.
bool ChannelsLast::rewriteTokens(prim::ReshapeOp op) {
  auto transpose = op.getX().getDefiningOp<prim::TransposeOp>();
  int64_t rank = tensorType(op.getResult()).getRank();
  if (!transpose || rank < 4)
    return false;
  int64_t before = tensorType(op.getX()).getRank();
  if (before < 3 || transpose.getPermutation() != ArrayRef<int64_t>(toFirst(before)) ||
      !meetsChannelsLast(op.getResult()))
    return false;
  auto from = prim::dimsOf(b, op.getLoc(), op.getX()),
       to = prim::dimsOf(b, op.getLoc(), op.getResult());
  for (int64_t axis : {0, 1})
    if (!isEqualConstantIntOrValue(from[axis], to[axis]))
      return false;
  lastOf[op.getResult()] = reshapedLike(op, transpose.getX());
  return true;
}

/// Pixels that are repeated: [N, C, H, W] -> [N, C, H, r, W] -> [N, C, H r, W].
bool ChannelsLast::rewriteRepeat(prim::ReshapeOp op) {
  auto broadcast = op.getX().getDefiningOp<prim::BroadcastOp>();
  int64_t rank = tensorType(op.getResult()).getRank();
  auto repeated = broadcast ? repeatedBy(broadcast) : std::nullopt;
  if (!repeated || !isLast(repeated->x) || tensorType(repeated->x).getRank() != rank ||
      tensorType(broadcast.getResult()).getRank() != rank + 1)
    return false;
  Location loc = op.getLoc();
  auto extents = prim::dimsOf(b, loc, repeated->x);
  auto parts = prim::dimsOf(b, loc, broadcast.getResult()),
       to = prim::dimsOf(b, loc, op.getResult());
  int64_t added = 0; // the axis that the operand has not
  while (added < rank && repeated->axes[added] == added)
    ++added;
  SmallVector<OpFoldResult> kept(parts);
  kept.erase(kept.begin() + added);
  auto same = [](OpFoldResult x, OpFoldResult y) { return isEqualConstantIntOrValue(x, y); };
  if (added < 3 || !llvm::is_sorted(repeated->axes) || !llvm::equal(kept, extents, same))
    return false;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != added - 1 && !same(to[axis], extents[axis]))
      return false;
  SmallVector<OpFoldResult> spread = permuted(extents, toLast(rank));
  spread.insert(spread.begin() + added - 1, parts[added]);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  axes.erase(axes.begin() + added - 1);
  auto [type, sizes] = shaped(spread, repeated->x);
  Value y = prim::BroadcastOp::create(b, loc, type, last(repeated->x), axes, sizes);
  define(op.getResult(), reshapedLike(op, y));
  return true;
}

/// Axes of one element, if a run finds them so, become longer. What surely has one element for all
/// pixels, a gate of channels, is no reason to move what it meets.
bool ChannelsLast::rewriteBroadcast(prim::BroadcastOp op) {
  int64_t rank = tensorType(op.getResult()).getRank();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (!isLast(op.getX()) || op.getAxes() != ArrayRef<int64_t>(axes) ||
      tensorType(op.getX()).getShape() != tensorType(op.getResult()).getShape())
    return false;
  RankedTensorType type = lastType(op.getResult());
  define(op.getResult(), prim::BroadcastOp::create(b, op.getLoc(), type, last(op.getX()), axes,
                                                   sizesOf(op.getResult(), type)));
  return true;
}

/// Of what lies along the spatial axes, some by their index. An image that grows so and that nobody
/// wants channels last is transposed while it is small: afterwards its kernel would look for each
/// pixel of a line in another place.
bool ChannelsLast::rewriteTake(prim::TakeOp op) {
  int64_t rank = tensorType(op.getX()).getRank(), axis = op.getAxis();
  if (!isLast(op.getX()) || axis < 2 || tensorType(op.getIndices()).getRank() != 1)
    return false;
  int64_t from = tensorType(op.getX()).getDimSize(axis), to = op.getType().getDimSize(axis);
  if (from > 0 && to > from && !meetsChannelsLast(op.getResult()))
    return false;
  define(op.getResult(),
         prim::TakeOp::create(b, op.getLoc(), lastType(op.getResult()), last(op.getX()),
                              op.getIndices(), movedAxis(axis, rank)));
  return true;
}

bool ChannelsLast::rewrite(Operation *op) {
  b.setInsertionPoint(op);
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  if (prim::isElementwise(op))
    return rewriteElementwise(op);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](prim::ConvOp o) { return rewriteConv(o); })
      .Case([&](prim::PoolOp o) { return rewritePool(o); })
      .Case([&](prim::ConcatOp o) { return rewriteConcat(o); })
      .Case([&](prim::PadOp o) { return rewritePad(o); })
      .Case([&](prim::SliceOp o) { return rewriteSlice(o); })
      .Case([&](prim::ReduceOp o) { return rewriteReduce(o); })
      .Case([&](prim::TransposeOp o) { return rewriteTranspose(o); })
      .Case([&](prim::ReshapeOp o) {
        return rewriteTokens(o) || rewriteShuffle(o) || rewriteRepeat(o);
      })
      .Case([&](prim::BroadcastOp o) { return rewriteBroadcast(o); })
      .Case([&](prim::TakeOp o) { return rewriteTake(o); })
      .Default([](Operation *) { return false; });
}

void ChannelsLast::run() {
  joinBeforeRepeating(block, b);
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  DenseSet<Operation *> rewritten;
  for (Operation *op : ops)
    if (rewrite(op))
      rewritten.insert(op);
  // Whoever was not rewritten reads the transpose back.
  for (auto [old, back] : backOf)
    for (OpOperand &use : llvm::make_early_inc_range(old.getUses())) {
      Operation *user = use.getOwner();
      if (!rewritten.contains(user) || isa<prim::TransposeOp>(user))
        use.set(back);
    }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static void runOn(Block &block, const PlanesLimits &planes) {
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        runOn(nested, planes);
  ChannelsLast(block, planes).run();
}

namespace {

class ChannelsLastPass : public tcc::impl::ChannelsLastPassBase<ChannelsLastPass> {
public:
  using ChannelsLastPassBase::ChannelsLastPassBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      runOn(function.getBody().front(), {shortestLine, mostProducts});
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createChannelsLastPass(int64_t shortestLine, int64_t mostProducts) {
  return std::make_unique<ChannelsLastPass>(ChannelsLastPassOptions{shortestLine, mostProducts});
}
