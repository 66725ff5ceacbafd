//===- FractionalPool.cpp - Pools whose windows start at random places -----===//
//
// Window i of n starts at floor((i + u) step) - floor(u step), step = (extent - window) / (n - 1)
// and u given for each plane and axis; the last one ends with the axis (Graham 2014). Every window
// is laid out as one axis, whose largest element has its place in the window.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Pool.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;

namespace {

/// The first element of each of `count` windows, i64 [N, C, count], of u [N, C].
Value starts(PrimBuilder &b, Value u, Dim extent, int64_t window, int64_t count) {
  Type t = b.elem(u), i64 = b.builder().getI64Type();
  Dim free = b.subDims(extent, b.dim(window));
  Dims shape = b.dims(u);
  shape.push_back(b.dim(count));
  Value last = b.broadcastTo(scalarOf(b, free, i64), shape);
  if (count == 1)
    return last;
  Value step = b.div(scalarOf(b, free, t), static_cast<double>(count - 1));
  Value i = b.iota(shape, 2, i64), offset = b.unsqueeze(u, {2});
  auto whole = [&](Value x) { return b.cast(b.unary<prim::TruncOp>(x), i64); };
  Value start = b.sub(whole(b.mul(b.add(b.cast(i, t), offset), step)), whole(b.mul(offset, step)));
  return b.select(b.compare(prim::ComparePredicate::eq, i, static_cast<double>(count - 1)), last,
                  start);
}

template <int64_t axes> LogicalResult fractionalMaxPool(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto p = planes(a, axes);
  auto window = a.window("kernel_size", axes, 1), sizes = a.window("output_size", axes, 1);
  Value samples = a.tensor("random_samples");
  if (failed(p) || failed(window) || failed(sizes))
    return failure();
  if (b.rank(samples) != 3 || !isa<FloatType>(b.elem(samples)) ||
      b.known(b.dim(samples, 2)).value_or(axes) != axes)
    return a.fail("needs a random number for each plane and axis");
  Value x = p->x;
  Dims shape = b.dims(x), planeDims = {shape[0], shape[1]};
  for (int i : {0, 1})
    requireSame(b, b.dim(samples, i), planeDims[i], "the planes of the random numbers");
  Type i64 = b.builder().getI64Type();
  int64_t rank = 2 + 2 * axes;
  Dims places = planeDims;
  for (int64_t size : *sizes)
    places.push_back(b.dim(size));
  for (int64_t extent : *window)
    places.push_back(b.dim(extent));
  // The flat place of each window's elements: [N, C, sizes.., window..].
  Value flat;
  for (int64_t i = 0; i < axes; ++i) {
    if ((*window)[i] < 1 || (*sizes)[i] < 1)
      return a.fail("a window or a result has no extent");
    requireAtMost(b, b.dim((*window)[i] + (*sizes)[i] - 1), shape[i + 2], "windows of a pool");
    // torch gives the number of the last axis first.
    Value u = b.squeeze(b.sliceAxis(samples, 2, b.dim(axes == 2 ? 1 - i : i), b.dim(1)), {2});
    Value first = starts(b, u, shape[i + 2], (*window)[i], (*sizes)[i]);
    SmallVector<int64_t> at = {0, 1, 2 + i};
    Value place = b.add(b.broadcastInDim(first, places, at), b.iota(places, 2 + axes + i, i64));
    flat = flat ? b.add(b.mul(flat, a.extentTensor(shape[i + 2], i64)), place) : place;
  }
  Dim taps = b.dim(1), outs = b.dim(1);
  for (int64_t i = 0; i < axes; ++i) {
    taps = b.mulDims(taps, b.dim((*window)[i]));
    outs = b.mulDims(outs, b.dim((*sizes)[i]));
  }
  Dim plane = b.productOf(ArrayRef(shape).drop_front(2));
  Dims lines = {shape[0], shape[1], b.mulDims(outs, taps)},
       split = {shape[0], shape[1], outs, taps};
  Value at = b.reshape(flat, lines);
  Value values = b.takeAlong(b.reshape(x, {shape[0], shape[1], plane}), at, 2);
  values = b.reshape(values, split);
  at = b.reshape(at, split);
  Value best = b.argReduce(K::max, values, 3, true);
  Dims result(places.begin(), places.begin() + rank - axes);
  Value lists[] = {values, at};
  for (auto [i, list] : llvm::enumerate(lists)) {
    Value v = b.reshape(b.takeAlong(list, best, 3), result);
    (void)a.give(i, p->unbatched ? b.squeeze(v, {0}) : v);
  }
  return success();
}

} // namespace

void tcc::populateAtenFractionalPoolRules(RuleSet &rules) {
  addRules(rules,
           {{"fractional_max_pool2d", "default", "self random_samples", fractionalMaxPool<2>},
            {"fractional_max_pool3d", "default", "self random_samples", fractionalMaxPool<3>}});
}
