//===- BackwardWindow.cpp - Gradients of ATen convolutions, pools, lookups ===//
//
// A convolution's operand gets the transposed convolution of the gradient. Its
// weight gets one product for each tap of the kernel: the operand's elements that
// this tap sees, with the gradient, over batch and positions - no extent needs to
// be known for that. Pools and lookups add the gradient up where it came from.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Pool.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/OpenConv.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;
using S = prim::ScatterKind;
using List = SmallVector<int64_t>;

namespace {

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

struct Convolution {
  List kernel, stride, padding, dilation;
  int64_t groups;
  int64_t axes() const { return kernel.size(); }
};

FailureOr<Convolution> readConvolution(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value w = a.tensor("weight"), x = a.tensor("input"), g = a.tensor("grad_output");
  if (b.rank(w) < 3 || !b.type(w).hasStaticShape() || b.rank(x) != b.rank(w) ||
      b.rank(g) != b.rank(w))
    return a.fail("the weight must have a known shape of rank 3 or more, the operands its rank");
  Convolution s;
  s.kernel.assign(b.type(w).getShape().drop_front(2).begin(), b.type(w).getShape().end());
  s.groups = a.integer("groups", 1);
  auto stride = a.window("stride", s.axes(), 1), padding = a.window("padding", s.axes(), 0),
       dilation = a.window("dilation", s.axes(), 1);
  if (failed(stride) || failed(padding) || failed(dilation))
    return failure();
  s.stride = *stride;
  s.padding = *padding;
  s.dilation = *dilation;
  if (llvm::is_contained(s.stride, 0) || llvm::is_contained(s.dilation, 0) || s.groups < 1 ||
      llvm::is_contained(s.kernel, 0) || b.type(w).getDimSize(0) % s.groups != 0)
    return a.fail("a stride, a dilation, a kernel extent or the number of groups does not fit");
  return s;
}

/// The convolution itself: the gradient of a transposed one's operand.
Value forward(PrimBuilder &b, Value x, Value w, const Convolution &s) {
  PrimBuilder::Window window;
  window.window = s.kernel;
  window.strides = s.stride;
  window.dilations = s.dilation;
  window.inputDilation.assign(s.axes(), 1);
  window.low = window.high = s.padding;
  return b.conv(x, w, window, s.groups, b.elem(x));
}

/// The window that leaves what padding was put around the operand out; null where extents are open
/// or a border is cut.
std::optional<PrimBuilder::Window> withoutPadding(PrimBuilder &b, PrimBuilder::Window window,
                                                  const Convolution &s, Value g, Value like) {
  for (int64_t i = 0; i < s.axes(); ++i) {
    int64_t from = b.type(g).getDimSize(i + 2), to = b.type(like).getDimSize(i + 2);
    if (ShapedType::isDynamic(from) || ShapedType::isDynamic(to) || from == 0)
      return std::nullopt;
    int64_t full = s.dilation[i] * (s.kernel[i] - 1), widened = (from - 1) * s.stride[i] + 1;
    window.low[i] = full - s.padding[i];
    window.high[i] = to - widened + full - window.low[i];
    if (window.low[i] < 0 || window.high[i] < 0)
      return std::nullopt;
  }
  return window;
}

/// The gradient of a convolution's operand, with that operand's extents.
Value backward(PrimBuilder &b, Value g, Value w, const Convolution &s, Value like) {
  PrimBuilder::Window window;
  window.window = s.kernel;
  window.strides.assign(s.axes(), 1);
  window.dilations = s.dilation;
  window.inputDilation = s.stride;
  for (int64_t i = 0; i < s.axes(); ++i) {
    int64_t full = s.dilation[i] * (s.kernel[i] - 1);
    // Up to stride - 1 last elements of the operand were seen by few taps, or none.
    window.low.push_back(full);
    window.high.push_back(full + s.stride[i] - 1);
  }
  if (auto own = withoutPadding(b, window, s, g, like))
    return widenedConv(b, g, transposedWeight(b, w, s.groups), *own, s.groups, b.elem(g), {});
  Value y = widenedConv(b, g, transposedWeight(b, w, s.groups), window, s.groups, b.elem(g), {});
  Dims low(b.rank(y), b.dim(0)), high = low;
  for (int64_t i = 0; i < s.axes(); ++i) { // the padding falls off
    low[i + 2] = b.dim(-s.padding[i]);
    Dim have = b.subDims(b.dim(y, i + 2), b.dim(s.padding[i]));
    high[i + 2] = b.subDims(b.dim(like, i + 2), have);
  }
  return b.pad(y, b.scalar(0, b.elem(y)), low, high);
}

/// [N, C, ..] -> [N, groups, C / groups, ..]
Value inGroups(PrimBuilder &b, Value x, int64_t groups) {
  Dims have = b.dims(x), split = {have[0], b.dim(groups), b.floorDivDims(have[1], b.dim(groups))};
  split.append(have.begin() + 2, have.end());
  return b.reshape(x, split);
}

/// [O, I / groups, kernel..]: sum over batch and positions of g[n, o, p] and
/// x[n, i, p stride + k dilation - padding].
Value weightGradient(PrimBuilder &b, Value x, Value g, const Convolution &s) {
  int64_t axes = s.axes(), rank = axes + 2;
  Dims low(rank, b.dim(0)), high = low, size = b.dims(x);
  for (int64_t i = 0; i < axes; ++i) {
    Dim last = b.mulDims(b.subDims(b.dim(g, i + 2), b.dim(1)), b.dim(s.stride[i]));
    Dim reach = b.addDims(last, b.dim((s.kernel[i] - 1) * s.dilation[i] + 1));
    low[i + 2] = b.dim(s.padding[i]);
    high[i + 2] = b.subDims(reach, b.addDims(b.dim(x, i + 2), low[i + 2]));
    size[i + 2] = b.dim(g, i + 2);
  }
  Value wide = b.pad(x, b.scalar(0, b.elem(x)), low, high), left = inGroups(b, g, s.groups);
  List contracted = {0};
  for (int64_t i = 0; i < axes; ++i)
    contracted.push_back(i + 3);
  int64_t taps = 1;
  for (int64_t extent : s.kernel)
    taps *= extent;
  List steps(rank, 1);
  std::copy(s.stride.begin(), s.stride.end(), steps.begin() + 2);
  SmallVector<Value> products;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Dims start(rank, b.dim(0));
    for (int64_t i = axes, rest = tap; i-- > 0; rest /= s.kernel[i])
      start[i + 2] = b.dim(rest % s.kernel[i] * s.dilation[i]);
    Value seen = inGroups(b, b.slice(wide, start, size, steps), s.groups);
    Value product = b.dot(left, seen, {1}, {1}, contracted, contracted); // [groups, O', I']
    products.push_back(b.unsqueeze(product, {3}));
  }
  Value all = b.concat(products, 3);
  Dims shape = {b.mulDims(b.dim(all, 0), b.dim(all, 1)), b.dim(all, 2)};
  for (int64_t extent : s.kernel)
    shape.push_back(b.dim(extent));
  return b.reshape(all, shape);
}

/// The sum of what each channel of the result got.
Value biasGradient(AtenNode &a, Value g) {
  List axes = axesFrom(2, a.b.rank(g));
  axes.insert(axes.begin(), 0);
  return a.b.reduce(K::sum, a.cast(g, a.wide()), axes, false);
}

/// By filters, or in groups, whose number or extents only a run knows.
LogicalResult openConvolution(AtenNode &a, Value x, Value w, Value g) {
  PrimBuilder &b = a.b;
  int64_t axes = b.rank(w) - 2;
  auto stride = a.window("stride", axes, 1), padding = a.window("padding", axes, 0),
       dilation = a.window("dilation", axes, 1);
  if (failed(stride) || failed(padding) || failed(dilation))
    return failure();
  if (b.rank(x) != b.rank(w) || b.rank(g) != b.rank(w) || llvm::is_contained(*stride, 0) ||
      llvm::is_contained(*dilation, 0))
    return a.fail("a stride, a dilation or the operands' ranks do not fit");
  OpenConv o{x, w, a.extent("groups", 1), *stride, *dilation};
  o.low = o.high = llvm::map_to_vector(*padding, [&](int64_t pad) -> Dim { return b.dim(pad); });
  o.extra.assign(axes, b.dim(0));
  bool transposed = a.flag("transposed", false);
  if (a.c.wants(0)) {
    OpenConv from = o;
    from.x = g;
    from.transposed = !transposed;
    for (int64_t i = 0; !transposed && i < axes; ++i) { // as long as the operand is
      Dim span = b.addDims(b.mulDims(b.subDims(b.dim(w, i + 2), b.dim(1)), b.dim((*dilation)[i])),
                           b.dim(1));
      Dim spread = b.mulDims(b.subDims(b.dim(g, i + 2), b.dim(1)), b.dim((*stride)[i]));
      Dim have = b.subDims(b.addDims(spread, span), b.dim(2 * (*padding)[i]));
      from.extra[i] = b.subDims(b.dim(x, i + 2), have);
    }
    (void)a.give(0, openConv(b, from, a.own(), {}));
  }
  if (a.c.wants(1)) {
    if (transposed)
      std::swap(o.x, g);
    (void)a.give(1, openFilterGradient(b, o, g, a.own()));
    if (transposed)
      std::swap(o.x, g);
  }
  if (a.c.wants(2))
    (void)a.give(2, biasGradient(a, g));
  return success();
}

LogicalResult convolution(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.own()), x = a.cast(a.tensor("input"), a.own());
  Value w = a.cast(a.tensor("weight"), a.own());
  if (b.rank(w) > 2 && (!b.type(w).hasStaticShape() || !b.known(a.extent("groups", 1))))
    return openConvolution(a, x, w, g);
  auto s = readConvolution(a);
  if (failed(s))
    return failure();
  int64_t taps = 1;
  for (int64_t extent : s->kernel)
    taps *= extent;
  constexpr int64_t kMostTaps = 4096;
  if (taps > kMostTaps)
    return a.fail("a kernel of more than " + llvm::Twine(kMostTaps) + " taps is not supported");
  bool transposed = a.flag("transposed", false);
  if (a.c.wants(0))
    (void)a.give(0, transposed ? forward(b, g, w, *s) : backward(b, g, w, *s, x));
  if (a.c.wants(1))
    (void)a.give(1, transposed ? weightGradient(b, g, x, *s) : weightGradient(b, x, g, *s));
  if (a.c.wants(2))
    (void)a.give(2, biasGradient(a, g));
  return success();
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

Value scatterAdd(PrimBuilder &b, Value into, Value index, Value what, int64_t axis) {
  return prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), S::add, into,
                                      index, what, axis)
      .getResult();
}

template <int64_t axes> LogicalResult maxPool(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), g = a.cast(a.tensor("grad_output"), a.own()),
        at = a.tensor("indices");
  int64_t first = b.rank(x) - axes;
  if (first < 1 || b.rank(g) != b.rank(x) || b.rank(at) != b.rank(x))
    return a.fail("operands differ in rank");
  auto flat = [&](Value v) {
    Dims dims = b.dims(v), spatial(dims.begin() + first, dims.end());
    dims.truncate(first);
    dims.push_back(b.productOf(spatial));
    return b.reshape(v, dims);
  };
  Value into = flat(b.full(b.dims(x), 0, b.elem(g)));
  requireInRange(b, at, b.dim(into, first), IndexRange::positions);
  return a.give(b.reshape(scatterAdd(b, into, flat(at), flat(g), first), b.dims(x)));
}

/// Every element gets the sum of the (divided) gradients whose windows see it.
template <int64_t axes> LogicalResult averagePool(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto p = planes(a, axes);
  if (failed(p))
    return failure();
  auto w = readWindow(a, p->x, axes);
  Value g = a.cast(a.tensor("grad_output"), a.wide());
  if (failed(w))
    return failure();
  if (b.rank(g) != b.rank(a.tensor("self")))
    return a.fail("operands differ in rank");
  if (p->unbatched)
    g = b.unsqueeze(g, {0});
  g = b.div(g, averageDivisor(a, a.cast(p->x, a.wide()), *w));
  Dims low(axes + 2, b.dim(0)), high = low;
  List interior(axes + 2, 0);
  for (int64_t i = 0; i < axes; ++i) {
    int64_t extent = w->window[i], step = w->strides[i];
    Dim span = b.addDims(b.mulDims(b.subDims(b.dim(g, i + 2), b.dim(1)), b.dim(step)), b.dim(1));
    low[i + 2] = b.dim(extent - 1 - w->low[i]);
    Dim total = b.addDims(b.dim(p->x, i + 2), b.dim(extent - 1));
    high[i + 2] = b.subDims(total, b.addDims(low[i + 2], span));
    interior[i + 2] = step - 1;
  }
  Value wide = b.pad(g, b.scalar(0, b.elem(g)), low, high, interior);
  PrimBuilder::Window window = *w;
  window.strides.assign(axes, 1);
  window.low = window.high = List(axes, 0);
  Value y = b.pool(K::sum, wide, window, false);
  return a.give(p->unbatched ? b.squeeze(y, {0}) : y);
}

template <int64_t axes> LogicalResult adaptiveAveragePool(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), g = a.cast(a.tensor("grad_output"), a.wide());
  int64_t rank = b.rank(x);
  if (rank <= axes || b.rank(g) != rank)
    return a.fail("operands differ in rank");
  for (int64_t axis = rank - axes; axis < rank; ++axis) {
    Value sees = b.cast(adaptiveWindows(a, b.dim(x, axis), b.dim(g, axis)), b.elem(g));
    Value shares = b.div(sees, b.reduce(K::sum, sees, {1}, true)); // [windows, n]
    Value moved = b.dot(g, shares, {}, {}, {axis}, {0});           // the axis is the last one
    List order = allAxes(rank - 1);
    order.insert(order.begin() + axis, rank - 1);
    g = b.transpose(moved, order);
  }
  return a.give(g);
}

//===----------------------------------------------------------------------===//
// Lookups and views
//===----------------------------------------------------------------------===//

LogicalResult embedding(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.wide()), index = a.tensor("indices");
  auto rows = a.extent("num_weights");
  if (!rows || b.rank(g) != b.rank(index) + 1)
    return a.fail("needs a number of rows, and a gradient of one more axis than the indices");
  Type i64 = b.builder().getI64Type();
  Dim count = b.productOf(b.dims(index)), width = b.dim(g, b.rank(g) - 1);
  Value at = b.cast(b.reshape(index, {count}), i64);
  g = b.reshape(g, {count, width});
  Value keeps = b.compare(P::ne, at, static_cast<double>(a.integer("padding_idx", -1)));
  at = b.select(keeps, at, b.scalar(0, i64)); // padding may be no row
  requireInRange(b, at, *rows, IndexRange::positions);
  if (a.flag("scale_grad_by_freq", false)) {
    Value times = scatterAdd(b, b.full({*rows}, 0, i64), at, b.cast(keeps, i64), 0);
    g = b.div(g, b.cast(b.unsqueeze(b.take(times, at, 0), {1}), b.elem(g)));
  }
  g = b.select(b.unsqueeze(keeps, {1}), g, b.scalar(0, b.elem(g)));
  Value into = b.full({*rows, width}, 0, b.elem(g));
  return a.give(scatterAdd(b, into, b.broadcastTo(b.unsqueeze(at, {1}), {count, width}), g, 0));
}

/// Zeros but for the one slice that was selected.
LogicalResult selectView(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.own());
  auto sizes = a.extents("input_sizes");
  auto index = a.extent("index");
  if (!sizes || !index || static_cast<int64_t>(sizes->size()) != b.rank(g) + 1)
    return a.fail("the sizes do not fit the gradient");
  auto axis = a.axis("dim", 0, sizes->size());
  if (failed(axis))
    return failure();
  Type i64 = b.builder().getI64Type();
  Value at = b.wrapIndices(a.extentTensor(*index, i64), (*sizes)[*axis]);
  Value hit =
      b.compare(P::eq, alongAxis(b, b.iota({(*sizes)[*axis]}, 0, i64), *axis, sizes->size()), at);
  return a.give(
      b.broadcastTo(b.select(hit, b.unsqueeze(g, {*axis}), b.scalar(0, b.elem(g))), *sizes));
}

/// Zeros but for the elements start, start + step, ..
LogicalResult sliceView(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.own());
  auto sizes = a.extents("input_sizes");
  int64_t rank = b.rank(g), step = a.integer("step", 1);
  auto axis = a.axis("dim", 0, rank);
  if (!sizes || failed(axis) || rank == 0 || static_cast<int64_t>(sizes->size()) != rank ||
      step < 1)
    return a.fail("the sizes do not fit the gradient");
  Dim start = a.extent("start", 0), size = (*sizes)[*axis], zero = b.dim(0);
  if (auto known = b.known(start); !known || *known < 0)
    start = b.selectDims(b.compareDims(arith::CmpIPredicate::slt, start, zero),
                         b.addDims(start, size), start);
  start = b.minDims(b.maxDims(start, zero), size);
  Dim count = b.dim(g, *axis);
  Dim span =
      b.maxDims(b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(step)), b.dim(1)), zero);
  Dims low(rank, zero), high = low;
  List interior(rank, 0);
  low[*axis] = start;
  high[*axis] = b.subDims(size, b.addDims(start, span));
  interior[*axis] = step - 1;
  return a.give(b.pad(g, b.scalar(0, b.elem(g)), low, high, interior));
}

} // namespace

void tcc::populateAtenBackwardWindowRules(RuleSet &rules) {
  addRules(
      rules,
      {{"convolution_backward", "default", "grad_output input weight", convolution},
       {"max_pool2d_with_indices_backward", "default", "grad_output self indices", maxPool<2>},
       {"max_pool3d_with_indices_backward", "default", "grad_output self indices", maxPool<3>},
       {"adaptive_max_pool2d_backward", "default", "grad_output self indices", maxPool<2>},
       {"adaptive_max_pool3d_backward", "default", "grad_output self indices", maxPool<3>},
       {"fractional_max_pool2d_backward", "default", "grad_output self indices", maxPool<2>},
       {"fractional_max_pool3d_backward", "default", "grad_output self indices", maxPool<3>},
       {"avg_pool2d_backward", "default", "grad_output self", averagePool<2>},
       {"avg_pool3d_backward", "default", "grad_output self", averagePool<3>},
       {"_adaptive_avg_pool2d_backward", "default", "grad_output self", adaptiveAveragePool<2>},
       {"_adaptive_avg_pool3d_backward", "default", "grad_output self", adaptiveAveragePool<3>},
       {"embedding_dense_backward", "default", "grad_output indices", embedding},
       {"select_backward", "default", "grad_output", selectView},
       {"slice_backward", "default", "grad_output", sliceView}});
}
