//===- OpenConv.cpp - Convolutions whose filters only a run knows ---------===//
//
// Filters that other layers make (of each image its own, as groups, or of a template that is looked
// for) have extents that only a run knows, and so has the window. What each window covers is taken
// by index, and is multiplied by the filters as a matrix for each group.
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

/// Windows of `size` elements along `axis`, as axes [.., count, size, ..].
Value windows(PrimBuilder &b, Value x, int64_t axis, Dim size, int64_t stride, int64_t dilation) {
  Dim extent = b.dim(x, axis), span = spanOf(b, size, dilation);
  b.check(b.compareDims(Cmp::sge, size, b.dim(1)), "a convolution's kernel has no elements");
  b.check(b.compareDims(Cmp::sge, extent, span),
          "a convolution's kernel is larger than its operand");
  if (b.known(size) == 1 && stride == 1)
    return b.unsqueeze(x, {axis + 1});
  Dim count = windowsIn(b, extent, span, b.dim(stride));
  Type index = b.builder().getI64Type();
  Value first = b.mul(b.iota({count}, 0, index), static_cast<double>(stride));
  Value within = b.mul(b.iota({size}, 0, index), static_cast<double>(dilation));
  return b.take(x, b.add(b.unsqueeze(first, {1}), b.unsqueeze(within, {0})), axis);
}

/// Windows [N, C, (o, k)...] by filters [groups, M / groups, C / groups, k...]: [N, M, o...].
Value groupByGroup(PrimBuilder &b, Value x, Dim groups, ArrayRef<Dim> kernel, Value w,
                   Type elementType) {
  int64_t axes = kernel.size();
  Dim filters = b.dim(w, 1), channels = b.dim(w, 2);
  // As [groups, N o..., C / groups k...].
  Dims have = b.dims(x), apart = have;
  apart[1] = groups;
  apart.insert(apart.begin() + 2, channels);
  Dim rows = have[0], columns = channels;
  SmallVector<int64_t> order = {1, 0}, back = {1, 0, 2 + axes}, last = {2};
  for (int64_t i = 0; i < axes; ++i) {
    order.push_back(3 + 2 * i);
    last.push_back(4 + 2 * i);
    back.push_back(2 + i);
    rows = b.mulDims(rows, have[2 + 2 * i]);
    columns = b.mulDims(columns, kernel[i]);
  }
  order.append(last);
  x = b.reshape(b.transpose(b.reshape(x, apart), order), {groups, rows, columns});
  w = b.reshape(w, {groups, filters, columns});
  Value y = b.dot(x, w, {0}, {0}, {2}, {2}, elementType);
  Dims places = {groups, have[0]}, joined = {have[0], b.mulDims(groups, filters)};
  for (int64_t i = 0; i < axes; ++i) {
    places.push_back(have[2 + 2 * i]);
    joined.push_back(have[2 + 2 * i]);
  }
  places.push_back(filters);
  return b.reshape(b.transpose(b.reshape(y, places), back), joined);
}

/// The same where each group has one channel and one filter: nothing is worth a matrix.
Value channelByChannel(PrimBuilder &b, Value x, Dim groups, ArrayRef<Dim> kernel, Value w,
                       Type elementType) {
  Dims have = b.dims(x), along(have.size(), b.dim(1));
  have[1] = along[1] = groups;
  SmallVector<int64_t> taps;
  for (auto [i, extent] : llvm::enumerate(kernel)) {
    taps.push_back(3 + 2 * i);
    along[taps.back()] = extent;
  }
  Value product = b.mul(widen(b, b.reshape(x, have)), widen(b, b.reshape(w, along)));
  return b.cast(b.reduce(prim::ReduceKind::sum, product, taps, false), elementType);
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
  for (int64_t i = axes; i-- > 0;)
    x = windows(b, x, i + 2, kernel[i], strides[i], o.dilations[i]);
  Value y = b.known(channels) == 1 && b.known(filters) == 1
                ? channelByChannel(b, x, o.groups, kernel, w, elementType)
                : groupByGroup(b, x, o.groups, kernel, w, elementType);
  if (end.bias) {
    requireSame(b, b.dim(end.bias, 0), b.dim(y, 1), "the bias and the filters");
    y = b.add(y, alongAxis(b, end.bias, 1, b.rank(y)));
  }
  return end.element ? b.cast(y, end.element) : y;
}
