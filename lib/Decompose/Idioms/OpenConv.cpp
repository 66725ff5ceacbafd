//===- OpenConv.cpp - Convolutions whose filters only a run knows ---------===//
//
// Filters that other layers make (of each image its own, as groups, or of a template that is looked
// for) have extents that only a run knows, and so has the window. What each tap of a window meets
// is taken by index, with pixels beside each other as they lie, and the filters are multiplied by
// that as a matrix for each group.
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

/// Windows of `kernel` elements of x [N, C, extents...] as [N, C, k..., o...], of which there are
/// as many as `counts` says, or as the extents have.
Value windows(PrimBuilder &b, Value x, ArrayRef<Dim> kernel, ArrayRef<int64_t> strides,
              ArrayRef<int64_t> dilations, ArrayRef<Dim> counts = {}) {
  int64_t axes = kernel.size();
  for (int64_t i = axes; i-- > 0;) {
    Dim extent = b.dim(x, i + 2), span = spanOf(b, kernel[i], dilations[i]);
    b.check(b.compareDims(Cmp::sge, kernel[i], b.dim(1)), "a convolution's kernel has no elements");
    if (counts.empty())
      b.check(b.compareDims(Cmp::sge, extent, span),
              "a convolution's kernel is larger than its operand");
    if (b.known(kernel[i]) == 1 && strides[i] == 1) {
      x = b.unsqueeze(x, {i + 2});
      continue;
    }
    Dim count = counts.empty() ? windowsIn(b, extent, span, b.dim(strides[i])) : counts[i];
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
  x = windows(b, x, kernel, strides, o.dilations);
  Value y = b.known(channels) == 1 && b.known(filters) == 1
                ? channelByChannel(b, x, o.groups, w, elementType)
                : groupByGroup(b, x, o.groups, w, elementType);
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
