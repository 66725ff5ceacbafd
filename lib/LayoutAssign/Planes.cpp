//===- Planes.cpp - Convolutions that may leave channels as planes --------===//
//
// A convolution with a filter for each channel sums over no channels. Its lanes may be channels or
// the pixels of a line alike, so where its input and what becomes of its result are planes, two
// transposes would be all that channels last adds. Convolutions that sum over channels and pools
// spread channels last, and whoever meets one of them follows it.
//
//===----------------------------------------------------------------------===//
#include "Planes.h"
#include "tcc/Analysis/PlanarConv.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;

bool tcc::meetsPlanesOnly(prim::ConvOp op, llvm::function_ref<Met(Operation *)> meets) {
  SetVector<Value> met;
  met.insert(op.getX());
  met.insert(op.getResult());
  auto passes = [&](Operation *o) {
    Met how = meets(o);
    if (how == Met::Follows) {
      met.insert_range(o->getOperands());
      met.insert_range(o->getResults());
    }
    return how != Met::Stops;
  };
  for (unsigned i = 0; i < met.size(); ++i) {
    Value v = met[i];
    if (Operation *from = v.getDefiningOp(); from && !passes(from))
      return false;
    for (Operation *user : v.getUsers())
      if (!passes(user))
        return false;
  }
  return true;
}

SmallVector<int64_t> tcc::channelsToLast(int64_t rank) {
  SmallVector<int64_t> p = {0};
  for (int64_t i = 2; i < rank; ++i)
    p.push_back(i);
  p.push_back(1);
  return p;
}

std::optional<Repeated> tcc::repeatedBy(prim::BroadcastOp op) {
  RankedTensorType from = tensorType(op.getX()), to = tensorType(op.getResult());
  Repeated found{op.getX(), SmallVector<int64_t>(op.getAxes())};
  if (from.getRank() + 1 == to.getRank())
    return found;
  auto reshape = op.getX().getDefiningOp<prim::ReshapeOp>();
  if (!reshape || from.getRank() != to.getRank())
    return std::nullopt;
  for (auto [i, extent] : llvm::enumerate(from.getShape())) {
    SmallVector<int64_t> others(from.getShape());
    others.erase(others.begin() + i);
    if (extent != 1 || to.getDimSize(op.getAxes()[i]) == 1 ||
        tensorType(reshape.getX()).getShape() != ArrayRef(others))
      continue;
    found.x = reshape.getX();
    found.axes.erase(found.axes.begin() + i);
    return found;
  }
  return std::nullopt;
}

void tcc::joinBeforeRepeating(Block &block, OpBuilder &b) {
  for (auto broadcast : llvm::to_vector(block.getOps<prim::BroadcastOp>())) {
    auto reshape = broadcast.getX().getDefiningOp<prim::ReshapeOp>();
    auto before = reshape ? reshape.getX().getDefiningOp<prim::BroadcastOp>() : nullptr;
    RankedTensorType from = tensorType(broadcast.getX()), to = tensorType(broadcast.getResult());
    if (!before || tensorType(reshape.getX()).getRank() != from.getRank() ||
        from.getRank() != to.getRank())
      continue;
    for (auto [i, extent] : llvm::enumerate(from.getShape())) {
      if (extent != 1 || to.getDimSize(broadcast.getAxes()[i]) == 1)
        continue;
      SmallVector<int64_t> shape(from.getShape());
      shape.erase(shape.begin() + i);
      b.setInsertionPoint(reshape);
      reshape.getXMutable().assign(prim::ReshapeOp::create(b, reshape.getLoc(), from.clone(shape),
                                                           reshape.getX(), reshape.getSizes()));
      break;
    }
  }
}

/// What `user` of a value in one layout gives that has it too: nothing, its results, or the pixels
/// that a broadcast repeats once they are joined.
static SmallVector<Value> keepingLayout(Operation *user, int64_t rank) {
  if (prim::isElementwise(user) ||
      isa<prim::ConcatOp, prim::PadOp, prim::SliceOp, prim::TakeOp>(user))
    return SmallVector<Value>(user->getResults());
  SmallVector<Value> joined;
  SmallVector<Operation *> spread = {user};
  if (isa<prim::ReshapeOp>(user))
    spread.assign(user->getUsers().begin(), user->getUsers().end());
  for (Operation *o : spread)
    if (auto broadcast = dyn_cast<prim::BroadcastOp>(o); broadcast && repeatedBy(broadcast))
      for (Operation *join : broadcast.getResult().getUsers())
        if (isa<prim::ReshapeOp>(join) && tensorType(join->getResult(0)).getRank() == rank)
          joined.push_back(join->getResult(0));
  return joined;
}

bool tcc::reachesChannelsLast(Value x, llvm::function_ref<bool(Value)> isLast) {
  constexpr unsigned kMaxOps = 64;
  int64_t rank = tensorType(x).getRank();
  SmallVector<Value> work = {x};
  DenseSet<Operation *> seen;
  bool isUndone = false, isMeant = false;
  while (!work.empty() && seen.size() < kMaxOps)
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<prim::ConvOp, prim::PoolOp>(user))
        return true;
      auto transpose = dyn_cast<prim::TransposeOp>(user);
      if (transpose && transpose.getPermutation() == ArrayRef<int64_t>(channelsToLast(rank))) {
        isUndone = true;
        continue;
      }
      SmallVector<Value> results = keepingLayout(user, rank);
      isMeant |= results.empty();
      if (results.empty())
        continue;
      if (llvm::any_of(user->getOperands(), isLast))
        return true;
      if (seen.insert(user).second)
        llvm::append_range(work, results);
    }
  return isUndone && !isMeant;
}

/// Both ends of a line cost more than its middle, by the taps that may leave the image there.
static bool isWide(int64_t width, int64_t taps) { return 2 * width >= 3 * taps; }

static int64_t windowOf(prim::ConvOp op) {
  int64_t taps = 1;
  for (int64_t window : tensorType(op.getW()).getShape().drop_front(2))
    taps *= window;
  return taps;
}

/// Lines whose lanes are pixels.
static bool hasLongLines(prim::ConvOp op, int64_t shortestLine) {
  constexpr int64_t kMostTaps = 25, kMostStride = 2;
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), result = tensorType(op.getResult());
  Type element = x.getElementType();
  if (!shortestLine || !element.isF32() || w.getElementType() != element ||
      result.getElementType() != element)
    return false;
  auto isKnown = [](RankedTensorType type) {
    return llvm::none_of(type.getShape().drop_front(1), ShapedType::isDynamic);
  };
  int64_t width = result.getShape().back(), taps = windowOf(op);
  return isKnown(x) && isKnown(result) && taps <= kMostTaps && width >= shortestLine &&
         isWide(width, taps) && op.getStrides().back() <= kMostStride;
}

bool tcc::isConvolutionOfPlanes(prim::ConvOp op, const PlanesLimits &limits) {
  auto result = tensorType(op.getResult());
  if (!isPlanar(op) || result.getRank() < 3)
    return false;
  bool few = limits.mostProducts && result.hasStaticShape() &&
             isa<FloatType>(result.getElementType()) &&
             result.getNumElements() * windowOf(op) <= limits.mostProducts;
  return few || hasLongLines(op, limits.shortestLine);
}

bool tcc::staysInPlanes(prim::ConvOp op, const PlanesLimits &limits) {
  return isConvolutionOfPlanes(op, limits) && meetsPlanesOnly(op, [&](Operation *o) {
           if (auto conv = dyn_cast<prim::ConvOp>(o))
             return isConvolutionOfPlanes(conv, limits) ? Met::Ends : Met::Stops;
           if (isa<prim::PoolOp, prim::TransposeOp>(o))
             return Met::Stops;
           bool follows =
               prim::isElementwise(o) ||
               isa<prim::ConcatOp, prim::PadOp, prim::SliceOp, prim::ReshapeOp, prim::TakeOp>(o);
           return follows ? Met::Follows : Met::Ends;
         });
}
