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
