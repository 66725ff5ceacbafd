//===- OpenConv.cpp - Convolutions whose filters only a run knows ---------===//
//
// Filters that other layers make (of each image its own, as groups, or of a template that is looked
// for) have extents that only a run knows, and so has the window. What each tap of a window meets
// is taken by index, with pixels beside each other as they lie, and the filters are multiplied by
// that as a matrix for each group.
//
// Two forms need no copy for each tap. A filter for each channel, of a window that is known, is the
// sum of what lies under each tap. Few filters over many channels multiply the pixels by the
// channels of all their taps, and what that gives is shifted and added.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/OpenConv.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Windows.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;

namespace {

/// The elements from the first to the last of `count`, `step` apart.
Dim spanOf(PrimBuilder &b, Dim count, int64_t step) {
  return b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(step)), b.dim(1));
}

/// x with `low` and `high` zeros around axes 2.. and `gaps` between their elements; less than none
/// are elements that are cut off.
Value surrounded(PrimBuilder &b, Value x, ArrayRef<Dim> low, ArrayRef<Dim> high,
                 ArrayRef<int64_t> gaps) {
  Dim none = b.dim(0);
  Dims before(2, none), after(2, none);
  SmallVector<int64_t> between(2, 0);
  between.append(gaps.begin(), gaps.end());
  for (auto [lo, hi] : llvm::zip_equal(low, high)) {
    before.push_back(b.maxDims(lo, none));
    after.push_back(b.maxDims(hi, none));
  }
  x = b.pad(x, b.scalar(0, b.elem(x)), before, after, between);
  for (auto [i, lo, hi] : llvm::enumerate(low, high)) {
    Dim first = b.maxDims(b.subDims(none, lo), none), last = b.maxDims(b.subDims(none, hi), none);
    if (b.known(first) == 0 && b.known(last) == 0)
      continue;
    Dim rest = b.subDims(b.dim(x, i + 2), b.addDims(first, last));
    x = b.sliceAxis(x, i + 2, first, b.maxDims(rest, none));
  }
  return x;
}

/// The places of windows of `size` elements as [size, count].
Value placesOf(PrimBuilder &b, Dim size, Dim count, int64_t stride, int64_t dilation) {
  Type index = b.builder().getI64Type();
  Value first = b.mul(positions(b, count), b.scalar(stride, index));
  Value within = b.mul(positions(b, size), b.scalar(dilation, index));
  return b.add(b.unsqueeze(within, {1}), b.unsqueeze(first, {0}));
}

/// How many windows of `kernel` elements lie in `extent`, of which there has to be one.
Dim windowCount(PrimBuilder &b, Dim extent, Dim kernel, int64_t stride, int64_t dilation) {
  Dim span = spanOf(b, kernel, dilation);
  b.check(b.compareDims(Cmp::sge, kernel, b.dim(1)), "a convolution's kernel has no elements");
  b.check(b.compareDims(Cmp::sge, extent, span),
          "a convolution's kernel is larger than its operand");
  return windowsIn(b, extent, span, b.dim(stride));
}

/// Windows of `kernel` elements of x [N, C, extents...] as [N, C, k..., o...], of which there are
/// as many as `counts` says, or as the extents have.
Value windows(PrimBuilder &b, Value x, ArrayRef<Dim> kernel, ArrayRef<int64_t> strides,
              ArrayRef<int64_t> dilations, ArrayRef<Dim> counts = {}) {
  int64_t axes = kernel.size();
  for (int64_t i = axes; i-- > 0;) {
    if (!counts.empty())
      b.check(b.compareDims(Cmp::sge, kernel[i], b.dim(1)),
              "a convolution's kernel has no elements");
    Dim count = counts.empty()
                    ? windowCount(b, b.dim(x, i + 2), kernel[i], strides[i], dilations[i])
                    : counts[i];
    if (b.known(kernel[i]) == 1 && strides[i] == 1) {
      x = b.unsqueeze(x, {i + 2});
      continue;
    }
    x = b.take(x, placesOf(b, kernel[i], count, strides[i], dilations[i]), i + 2);
  }
  SmallVector<int64_t> order = {0, 1};
  for (int64_t first : {2, 3})
    for (int64_t i = 0; i < axes; ++i)
      order.push_back(first + 2 * i);
  return b.transpose(x, order);
}

/// Axes `first`.. of x, of which there are `count`.
ArrayRef<Dim> some(const Dims &dims, int64_t first, int64_t count) {
  return ArrayRef(dims).slice(first, count);
}

/// Windows [N, C, k..., o...] as [groups, C / groups k..., N o...]: pixels lie beside each other.
Value columnsOf(PrimBuilder &b, Value x, Dim groups, Dim channels) {
  Dims have = b.dims(x), apart = have;
  int64_t axes = (have.size() - 2) / 2;
  apart[1] = groups;
  apart.insert(apart.begin() + 2, channels);
  SmallVector<int64_t> order = {1, 2};
  order.append(axesFrom(3, 3 + axes));
  order.push_back(0);
  order.append(axesFrom(3 + axes, 3 + 2 * axes));
  Dim terms = b.mulDims(channels, b.productOf(some(have, 2, axes)));
  Dim pixels = b.mulDims(have[0], b.productOf(some(have, 2 + axes, axes)));
  return b.reshape(b.transpose(b.reshape(x, apart), order), {groups, terms, pixels});
}

/// Windows [N, C, k..., o...] by filters [groups, M / groups, C / groups, k...]: [N, M, o...].
Value groupByGroup(PrimBuilder &b, Value x, Dim groups, Value w, Type elementType) {
  Dims have = b.dims(x), ofFilters = b.dims(w);
  int64_t axes = (have.size() - 2) / 2;
  Dim filters = ofFilters[1], channels = ofFilters[2];
  Value columns = columnsOf(b, x, groups, channels);
  w = b.reshape(w, {groups, filters, b.dim(columns, 1)});
  Value y = b.dot(w, columns, {0}, {0}, {2}, {1}, elementType);
  Dims places = {groups, filters, have[0]}, joined = {have[0], b.mulDims(groups, filters)};
  places.append(have.begin() + 2 + axes, have.end());
  joined.append(have.begin() + 2 + axes, have.end());
  SmallVector<int64_t> order = {2, 0, 1};
  order.append(axesFrom(3, 3 + axes));
  return b.reshape(b.transpose(b.reshape(y, places), order), joined);
}

/// The filters [groups, M / groups, C / groups, k...] of a window with so few taps that each is an
/// operator of its own.
bool hasKnownTaps(PrimBuilder &b, Value w) {
  constexpr int64_t kMostTaps = 64;
  int64_t taps = 1;
  for (Dim extent : ArrayRef(b.dims(w)).drop_front(3))
    taps *= b.known(extent).value_or(kMostTaps + 1);
  return taps > 0 && taps <= kMostTaps;
}

/// x [N, groups, extents...] by such filters of one channel each: what lies under each tap of all
/// windows, times the tap.
Value tapByTap(PrimBuilder &b, Value x, Dim groups, Value w, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> dilations, Type elementType) {
  Dims kernel(llvm::drop_begin(b.dims(w), 3)), counts, have = b.dims(x);
  Dims along(have.size(), b.dim(1));
  int64_t taps = 1;
  have[1] = along[1] = groups;
  x = b.reshape(x, have);
  for (auto [i, extent] : llvm::enumerate(kernel)) {
    counts.push_back(windowCount(b, b.dim(x, i + 2), extent, strides[i], dilations[i]));
    taps *= *b.known(extent);
  }
  w = b.reshape(w, {groups, b.dim(taps)});
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value under = x;
    for (int64_t i = kernel.size(), rest = tap; i-- > 0;) {
      int64_t extent = *b.known(kernel[i]);
      under = b.sliceAxis(under, i + 2, b.dim(rest % extent * dilations[i]), counts[i], strides[i]);
      rest /= extent;
    }
    Value weight = b.reshape(b.sliceAxis(w, 1, b.dim(tap), b.dim(1)), along);
    Value product = b.mul(widen(b, under), widen(b, weight));
    sum = sum ? b.add(sum, product) : product;
  }
  return b.cast(sum, elementType);
}

/// Whether filters [groups, M / groups, C / groups, k...] are so few that planes of all their taps
/// are less than the pixels under each tap, those that strides leave out included.
bool hasFewFilters(PrimBuilder &b, Value w, ArrayRef<int64_t> strides, Type elementType) {
  std::optional<int64_t> filters = b.known(b.dim(w, 1)), channels = b.known(b.dim(w, 2));
  bool isWide = elementType.isF32() || elementType.isF64(); // planes are not rounded
  if (!filters || !channels || !isWide)
    return false;
  int64_t planes = 2 * *filters;
  for (int64_t stride : strides)
    planes *= stride;
  return planes <= *channels;
}

/// x [N, C, extents...] by such filters.
Value shiftedPlanes(PrimBuilder &b, Value x, Dim groups, Value w, ArrayRef<int64_t> strides,
                    ArrayRef<int64_t> dilations, Type elementType) {
  Dims have = b.dims(x), ofFilters = b.dims(w), kernel(llvm::drop_begin(ofFilters, 3));
  int64_t axes = kernel.size();
  Dim filters = ofFilters[1], channels = ofFilters[2], taps = b.productOf(kernel);
  Dim pixels = b.productOf(some(have, 2, axes));
  SmallVector<int64_t> order = {0, 1};
  order.append(axesFrom(3, 3 + axes));
  order.push_back(2);
  w = b.reshape(b.transpose(w, order), {groups, b.mulDims(filters, taps), channels});
  Value planes = b.matmul(w, b.reshape(x, {have[0], groups, channels, pixels}), elementType);
  planes = b.reshape(planes, {have[0], b.mulDims(groups, filters), b.mulDims(taps, pixels)});
  // Where the planes of one filter, tap after tap, have what each tap gives each window.
  Type index = b.builder().getI64Type();
  Dims windows(kernel), joined = {have[0], b.mulDims(groups, filters)};
  for (int64_t i = 0; i < axes; ++i) {
    windows.push_back(windowCount(b, have[i + 2], kernel[i], strides[i], dilations[i]));
    joined.push_back(windows.back());
  }
  Value places;
  Dim pixelStep = b.dim(1), tapStep = pixels;
  auto add = [&](int64_t axis, Dim step) {
    Value at = b.broadcastInDim(positions(b, windows[axis]), windows, {axis});
    at = b.mul(at, b.broadcastTo(scalarOf(b, step, index), windows));
    places = places ? b.add(places, at) : at;
  };
  for (int64_t i = axes; i-- > 0;) {
    add(i, b.addDims(tapStep, b.mulDims(pixelStep, b.dim(dilations[i]))));
    add(axes + i, b.mulDims(pixelStep, b.dim(strides[i])));
    tapStep = b.mulDims(tapStep, kernel[i]);
    pixelStep = b.mulDims(pixelStep, have[i + 2]);
  }
  Value shifted = b.take(planes, places, 2);
  return b.reduce(prim::ReduceKind::sum, shifted, axesFrom(2, 2 + axes), false);
}

/// The same where each group has one channel and one filter: nothing is worth a matrix.
Value channelByChannel(PrimBuilder &b, Value x, Dim groups, Value w, Type elementType) {
  Dims have = b.dims(x), ofFilters = b.dims(w), along(have.size(), b.dim(1));
  int64_t axes = (have.size() - 2) / 2;
  have[1] = along[1] = groups;
  std::copy(ofFilters.begin() + 3, ofFilters.end(), along.begin() + 2);
  Value product = b.mul(widen(b, b.reshape(x, have)), widen(b, b.reshape(w, along)));
  return b.cast(b.reduce(prim::ReduceKind::sum, product, axesFrom(2, 2 + axes), false),
                elementType);
}

} // namespace

bool tcc::isOpenConv(PrimBuilder &b, Value weight, Dim groups, bool transposed) {
  ArrayRef<int64_t> shape = PrimBuilder::type(weight).getShape();
  return b.known(groups) != 1 ? !b.known(groups) || ShapedType::isDynamicShape(shape)
                              : ShapedType::isDynamicShape(shape.drop_front(transposed ? 0 : 1));
}

Value tcc::openConv(PrimBuilder &b, const OpenConv &o, Type elementType, const ConvEnd &end) {
  int64_t axes = b.rank(o.weight) - 2;
  Dims weights = b.dims(o.weight), kernel(llvm::drop_begin(weights, 2));
  // [groups, filters of each, channels of each, k...]
  Dim each = PrimBuilder::same(weights[0], o.groups)
                 ? b.dim(1)
                 : wholeQuotient(b, weights[0], o.groups, "the filters and their groups");
  Dim channels = o.transposed ? each : weights[1], filters = o.transposed ? weights[1] : each;
  requireSame(b, b.dim(o.x, 1), b.mulDims(channels, o.groups),
              "the channels of operand and weight");
  Dims split = {o.groups, each, weights[1]};
  split.append(kernel);
  Value w = b.reshape(o.weight, split), x;
  SmallVector<int64_t> strides = o.strides, gaps(axes, 0);
  if (!o.transposed) {
    x = surrounded(b, o.x, o.low, o.high, gaps);
  } else {
    SmallVector<int64_t> order = allAxes(axes + 3);
    std::swap(order[1], order[2]);
    w = b.reverse(b.transpose(w, order), axesFrom(3, axes + 3));
    Dims low, high;
    for (int64_t i = 0; i < axes; ++i) {
      Dim reach = b.subDims(spanOf(b, kernel[i], o.dilations[i]), b.dim(1));
      low.push_back(b.subDims(reach, o.low[i]));
      high.push_back(b.addDims(b.subDims(reach, o.high[i]), o.extra[i]));
      gaps[i] = strides[i] - 1;
    }
    x = surrounded(b, o.x, low, high, gaps);
    strides.assign(axes, 1);
  }
  bool isFilterEach = b.known(channels) == 1 && b.known(filters) == 1;
  auto taken = [&] { return windows(b, x, kernel, strides, o.dilations); };
  Value y;
  if (isFilterEach && hasKnownTaps(b, w))
    y = tapByTap(b, x, o.groups, w, strides, o.dilations, elementType);
  else if (isFilterEach)
    y = channelByChannel(b, taken(), o.groups, w, elementType);
  else if (hasFewFilters(b, w, strides, elementType))
    y = shiftedPlanes(b, x, o.groups, w, strides, o.dilations, elementType);
  else
    y = groupByGroup(b, taken(), o.groups, w, elementType);
  if (end.bias) {
    requireSame(b, b.dim(end.bias, 0), b.dim(y, 1), "the bias and the filters");
    y = b.add(y, alongAxis(b, end.bias, 1, b.rank(y)));
  }
  return end.element ? b.cast(y, end.element) : y;
}

Value tcc::openFilterGradient(PrimBuilder &b, const OpenConv &o, Value g, Type elementType) {
  int64_t axes = b.rank(o.weight) - 2;
  Dims weights = b.dims(o.weight), kernel(llvm::drop_begin(weights, 2)), of = b.dims(g);
  Dims high, counts(of.begin() + 2, of.end());
  for (int64_t i = 0; i < axes; ++i) {
    Dim last = b.mulDims(b.subDims(counts[i], b.dim(1)), b.dim(o.strides[i]));
    Dim reach = b.addDims(last, spanOf(b, kernel[i], o.dilations[i]));
    high.push_back(b.subDims(reach, b.addDims(b.dim(o.x, i + 2), o.low[i])));
  }
  Value x = surrounded(b, o.x, o.low, high, SmallVector<int64_t>(axes, 0));
  x = columnsOf(b, windows(b, x, kernel, o.strides, o.dilations, counts), o.groups, weights[1]);
  Dim filters = wholeQuotient(b, weights[0], o.groups, "the filters and their groups");
  Dims apart = of;
  apart[1] = o.groups;
  apart.insert(apart.begin() + 2, filters);
  SmallVector<int64_t> order = {1, 2, 0};
  order.append(axesFrom(3, 3 + axes));
  g = b.reshape(b.transpose(b.reshape(g, apart), order), {o.groups, filters, b.dim(x, 2)});
  return b.reshape(b.dot(g, x, {0}, {0}, {2}, {2}, elementType), weights);
}
