//===- Pool.cpp - ATen pools and pads -------------------------------------===//
//
// Pools become prim.pool where windows are regular. Those that also give positions, or whose
// windows depend on the output's extent (adaptive ones), are index arithmetic: regular windows
// that give the same parts are looked for first, because kernels for them are much faster.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/Pool.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/WindowMaxima.h"
#include "Decompose/Idioms/Windows.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

FailureOr<Planes> aten::planes(AtenNode &a, int64_t spatial) {
  Value x = a.tensor("self");
  int64_t rank = a.b.rank(x);
  if (rank != spatial + 1 && rank != spatial + 2)
    return a.fail("the operand has rank " + llvm::Twine(rank));
  bool unbatched = rank == spatial + 1;
  return Planes{unbatched ? a.b.unsqueeze(x, {0}) : x, unbatched};
}

FailureOr<PrimBuilder::Window> aten::readWindow(AtenNode &a, Value x, size_t axes) {
  auto kernel = a.window("kernel_size", axes, 1), padding = a.window("padding", axes, 0),
       dilation = a.window("dilation", axes, 1);
  if (failed(kernel) || failed(padding) || failed(dilation))
    return failure();
  auto stride = a.extents("stride");
  auto strides = stride && !stride->empty() ? a.window("stride", axes, 1) : kernel;
  if (failed(strides))
    return failure();
  PrimBuilder::Window w;
  w.window = *kernel;
  w.strides = *strides;
  w.dilations = *dilation;
  w.inputDilation.assign(axes, 1);
  w.low = w.high = *padding;
  for (size_t i = 0; i < axes; ++i) {
    if (w.window[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1)
      return a.fail("a window extent, a stride or a dilation is 0");
    auto extent = a.b.known(a.b.dim(x, i + 2));
    if (extent && *extent + 2 * w.low[i] < (w.window[i] - 1) * w.dilations[i] + 1 &&
        !a.flag("ceil_mode", false))
      return a.fail("the window is larger than its operand");
  }
  return w;
}

namespace {

/// The flat position, in its plane of x, of each maximum of `pooled`: windows that are long along
/// some axis are laid out as one, whose largest element has its offset in the window.
Value maximaPositions(AtenNode &a, Value x, const PrimBuilder::Window &w, Value pooled) {
  constexpr int64_t kLong = 33;
  PrimBuilder &b = a.b;
  if (llvm::all_of(w.window, [](int64_t extent) { return extent < kLong; })) {
    Dims low;
    for (int64_t first : w.low)
      low.push_back(b.dim(first));
    return placesOfMaxima(b, x, w, low, b.dims(pooled));
  }
  int64_t axes = w.window.size(), rank = axes + 2;
  Type i64 = b.builder().getI64Type();
  Dims low(rank, b.dim(0)), high = low, shape = b.dims(pooled);
  for (int64_t i = 0; i < axes; ++i) {
    Dim last = b.mulDims(b.subDims(shape[i + 2], b.dim(1)), b.dim(w.strides[i]));
    Dim reach = b.addDims(last, b.dim((w.window[i] - 1) * w.dilations[i] + 1));
    low[i + 2] = b.dim(w.low[i]);
    high[i + 2] = b.maxDims(b.subDims(reach, b.addDims(b.dim(x, i + 2), low[i + 2])), b.dim(0));
  }
  Value wide = b.pad(x, extremeOf(b, b.elem(x), -1), low, high);
  auto steps = [&](Dim count, int64_t step) {
    return b.mul(b.iota({count}, 0, i64), static_cast<double>(step));
  };
  for (int64_t i = axes; i-- > 0;) { // each axis becomes (position, offset)
    Value start = steps(shape[i + 2], w.strides[i]);
    Value offset = steps(b.dim(w.window[i]), w.dilations[i]);
    wide = b.take(wide, b.add(b.unsqueeze(start, {1}), b.unsqueeze(offset, {0})), i + 2);
  }
  SmallVector<int64_t> order = {0, 1};
  int64_t taps = 1;
  for (int64_t i = 0; i < axes; ++i) {
    order.push_back(2 + 2 * i);
    taps *= w.window[i];
  }
  for (int64_t i = 0; i < axes; ++i)
    order.push_back(3 + 2 * i);
  Dims flat = shape;
  flat.push_back(b.dim(taps));
  wide = b.reshape(b.transpose(wide, order), flat);
  Value tap =
      prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(shape, i64), K::max, wide, rank)
          .getResult();
  Value position;
  for (int64_t i = 0; i < axes; ++i) {
    taps /= w.window[i];
    Value offset = b.binary<prim::ModOp>(
        b.binary<prim::FloorDivOp>(tap, b.scalar(static_cast<double>(taps), i64)),
        b.scalar(static_cast<double>(w.window[i]), i64));
    Value start = b.sub(steps(shape[i + 2], w.strides[i]), static_cast<double>(w.low[i]));
    Value at =
        b.add(b.mul(offset, static_cast<double>(w.dilations[i])), alongAxis(b, start, i + 2, rank));
    position = position ? b.add(b.mul(position, a.extentTensor(b.dim(x, i + 2), i64)), at) : at;
  }
  return position;
}

template <int64_t axes> LogicalResult maxPool(AtenNode &a) {
  auto p = planes(a, axes);
  if (failed(p))
    return failure();
  auto w = readWindow(a, p->x, axes);
  if (failed(w))
    return failure();
  Value y = a.b.pool(K::max, p->x, *w, a.flag("ceil_mode", false));
  if (a.c.wants(1)) {
    Value at = maximaPositions(a, p->x, *w, y);
    (void)a.give(1, p->unbatched ? a.b.squeeze(at, {0}) : at);
  }
  return a.give(p->unbatched ? a.b.squeeze(y, {0}) : y);
}

} // namespace

Value aten::windowCounts(AtenNode &a, Value x, PrimBuilder::Window w, bool ceilMode, bool padded) {
  PrimBuilder &b = a.b;
  Dims shape = {b.dim(1), b.dim(1)};
  for (size_t i = 0; i < w.window.size(); ++i) {
    Dim extent = b.dim(x, i + 2);
    shape.push_back(padded ? b.addDims(extent, b.dim(w.low[i] + w.high[i])) : extent);
  }
  if (padded) // The padding counts; what a rounded-up window adds does not.
    w.low.assign(w.low.size(), 0), w.high.assign(w.high.size(), 0);
  return b.pool(K::sum, b.full(shape, 1, b.elem(x)), w, ceilMode);
}

Value aten::averageDivisor(AtenNode &a, Value x, const PrimBuilder::Window &w) {
  bool ceilMode = a.flag("ceil_mode", false), padded = a.flag("count_include_pad", true);
  bool unpadded = llvm::all_of(w.low, [](int64_t v) { return v == 0; });
  double count = 1;
  for (int64_t extent : w.window)
    count *= static_cast<double>(extent);
  if (a.has("divisor_override"))
    return a.b.scalar(a.real("divisor_override", 1), a.b.elem(x));
  if (!ceilMode && (padded || unpadded))
    return a.b.scalar(count, a.b.elem(x));
  return windowCounts(a, x, w, ceilMode, padded);
}

namespace {

/// Whether the one window is x.shape[2:], which need not be known.
bool coversAll(AtenNode &a, Value x, int64_t axes) {
  auto kernel = a.extents("kernel_size"), padding = a.extents("padding");
  if (!kernel || static_cast<int64_t>(kernel->size()) != axes || a.has("divisor_override") ||
      (padding && llvm::any_of(*padding, [&](Dim d) { return a.b.known(d) != 0; })))
    return false;
  for (int64_t i = 0; i < axes; ++i)
    if (!a.b.same((*kernel)[i], a.b.dim(x, i + 2)))
      return false;
  return true;
}

template <int64_t axes> LogicalResult averagePool(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto p = planes(a, axes);
  if (failed(p))
    return failure();
  Value x = a.cast(p->x, a.wide());
  if (coversAll(a, x, axes)) {
    Value all = b.mean(x, axesFrom(2, axes + 2), true);
    return a.give(p->unbatched ? b.squeeze(all, {0}) : all);
  }
  auto w = readWindow(a, x, axes);
  if (failed(w))
    return failure();
  Value sum = b.pool(K::sum, x, *w, a.flag("ceil_mode", false));
  Value y = b.div(sum, averageDivisor(a, x, *w));
  return a.give(p->unbatched ? b.squeeze(y, {0}) : y);
}

} // namespace

Value aten::adaptiveWindows(AtenNode &a, Dim extent, Dim count) {
  PrimBuilder &b = a.b;
  Type index = b.builder().getI64Type();
  Dims shape = {count, extent};
  Value o = b.iota(shape, 0, index), i = b.iota(shape, 1, index);
  Value n = a.extentTensor(extent, index), m = a.extentTensor(count, index);
  Value begin = b.binary<prim::FloorDivOp>(b.mul(o, n), m);
  Value past = b.sub(b.add(b.mul(b.add(o, 1.0), n), m), 1.0);
  Value end = b.binary<prim::FloorDivOp>(past, m);
  return b.binary<prim::AndOp>(b.compare(P::ge, i, begin), b.compare(P::lt, i, end));
}

namespace {

/// The result extents: a None among them keeps the operand's.
FailureOr<Dims> adaptiveSizes(AtenNode &a, Value x, int64_t axes) {
  auto sizes = a.extents("output_size");
  if (!sizes || (static_cast<int64_t>(sizes->size()) != axes && sizes->size() != 1))
    return a.fail("'output_size' must have an entry for each axis");
  sizes->resize(axes, sizes->front());
  return *sizes;
}

/// What all adaptive windows of an axis have in common, where they are of one size and equally
/// far apart: as when extents divide, or 57 points in 7 windows of 9.
struct EvenWindows {
  int64_t width, stride;
};

std::optional<EvenWindows> evenWindows(PrimBuilder &b, Dim extent, Dim count) {
  auto n = b.known(extent), parts = b.known(count);
  if (!n || !parts || *parts < 1 || *parts > *n)
    return std::nullopt;
  auto begin = [&](int64_t o) { return o * *n / *parts; };
  auto end = [&](int64_t o) { return ((o + 1) * *n + *parts - 1) / *parts; };
  EvenWindows even{end(0), *parts > 1 ? begin(1) : *n};
  for (int64_t o = 1; o < *parts; ++o)
    if (begin(o) != o * even.stride || end(o) - begin(o) != even.width)
      return std::nullopt;
  return even.stride > 0 ? std::optional(even) : std::nullopt;
}

/// These windows along the axes that have some.
PrimBuilder::Window poolOf(ArrayRef<std::optional<EvenWindows>> axes) {
  PrimBuilder::Window w;
  for (const std::optional<EvenWindows> &even : axes) {
    w.window.push_back(even ? even->width : 1);
    w.strides.push_back(even ? even->stride : 1);
  }
  w.dilations.assign(axes.size(), 1);
  w.inputDilation = w.dilations;
  w.low.assign(axes.size(), 0);
  w.high = w.low;
  return w;
}

/// Adaptive windows as places of their elements. Those that have one element less than the widest
/// have their last one twice.
struct AdaptiveTaps {
  Value places;   ///< [count, taps]
  Value distinct; ///< the same, of bool: not the last one again
};

AdaptiveTaps adaptiveTaps(AtenNode &a, Dim extent, Dim count) {
  PrimBuilder &b = a.b;
  Type index = b.builder().getI64Type();
  Value o = b.iota({count}, 0, index), n = a.extentTensor(extent, index),
        m = a.extentTensor(count, index);
  Value begin = b.binary<prim::FloorDivOp>(b.mul(o, n), m);
  Value past = b.sub(b.add(b.mul(b.add(o, 1.0), n), m), 1.0);
  Value last = b.unsqueeze(b.sub(b.binary<prim::FloorDivOp>(past, m), 1.0), {1});
  // A window of n / m points begins anywhere, and covers a part of one more.
  Dim parts = b.maxDims(count, b.dim(1));
  Dim widest = b.minDims(b.addDims(b.ceilDivDims(extent, parts), b.dim(1)), extent);
  Value places = placesFrom(b, begin, widest);
  return {b.minimum(places, last), b.compare(P::le, places, last)};
}

struct Maxima {
  Value values, places; ///< positions in the flattened spatial axes
};

/// One axis after the other. Of the places that a window's maxima have so far the lowest stays, so
/// that of equal elements the first one counts; where there is a NaN, the first of them.
Maxima adaptiveMaxima(AtenNode &a, Value x, ArrayRef<Dim> sizes) {
  PrimBuilder &b = a.b;
  Dim elements = b.productOf(ArrayRef(b.dims(x)).drop_front(2));
  auto known = b.known(elements);
  bool isShort = known && *known < std::numeric_limits<int32_t>::max();
  Type index = isShort ? b.builder().getI32Type() : b.builder().getI64Type();
  bool mayBeNaN = isa<FloatType>(b.elem(x));
  Maxima m{x, {}};
  for (auto [i, size] : llvm::enumerate(sizes)) {
    int64_t axis = i + 2;
    Dim extent = b.dim(x, axis);
    AdaptiveTaps taps = adaptiveTaps(a, extent, size);
    TakenWindows windows = takeWindows(b, m.values, axis, taps.places);
    Value place = windows.beside(b, b.cast(taps.places, index));
    if (m.places)
      place =
          b.add(b.mul(takeWindows(b, m.places, axis, taps.places).x, a.extentTensor(extent, index)),
                place);
    m.values = windows.reduced(b, K::max);
    Value found = b.compare(P::eq, windows.x, b.unsqueeze(m.values, {windows.taps}));
    if (mayBeNaN)
      found = b.binary<prim::OrOp>(found, b.compare(P::ne, windows.x, windows.x));
    windows.x = b.select(found, place, extremeOf(b, index, 1));
    m.places = windows.reduced(b, K::min);
  }
  m.places = b.cast(m.places, b.builder().getI64Type());
  return m;
}

template <int64_t axes, K kind> LogicalResult adaptivePool(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto p = planes(a, axes);
  if (failed(p))
    return failure();
  constexpr bool average = kind == K::sum;
  Value x = average ? a.cast(p->x, a.wide()) : p->x;
  auto sizes = adaptiveSizes(a, x, axes);
  if (failed(sizes))
    return failure();
  auto finish = [&](Value y) { return a.give(p->unbatched ? b.squeeze(y, {0}) : y); };
  if (a.c.wants(1)) {
    Maxima m = adaptiveMaxima(a, x, *sizes);
    (void)a.give(1, p->unbatched ? b.squeeze(m.places, {0}) : m.places);
    return finish(m.values);
  }
  if (llvm::all_of(*sizes, [&](Dim d) { return b.known(d) == 1; }))
    return finish(average ? b.mean(x, axesFrom(2, b.rank(x)), true)
                          : b.reduce(kind, x, axesFrom(2, b.rank(x)), true));
  constexpr int64_t fewPoints = 25; // that are worth reading again for each window
  SmallVector<std::optional<EvenWindows>> even;
  int64_t points = 1;
  for (int64_t i = 0; i < axes; ++i) {
    even.push_back(evenWindows(b, b.dim(x, i + 2), (*sizes)[i]));
    points *= even.back() ? even.back()->width : fewPoints + 1;
  }
  if (points <= fewPoints) {
    Value y = b.pool(kind, x, poolOf(even), false);
    return finish(average ? b.div(y, static_cast<double>(points)) : y);
  }
  int64_t summed = 1;
  for (int64_t i = 0; i < axes; ++i) {
    // One axis after the other.
    int64_t axis = i + 2;
    if (even[i]) {
      SmallVector<std::optional<EvenWindows>> alone(axes);
      alone[i] = even[i];
      x = b.pool(kind, x, poolOf(alone), false);
      summed *= even[i]->width;
      continue;
    }
    AdaptiveTaps taps = adaptiveTaps(a, b.dim(x, axis), (*sizes)[i]);
    if (average) {
      Value weight = b.cast(taps.distinct, b.elem(x));
      weight = b.div(weight, b.reduce(K::sum, weight, {1}, true));
      x = weightedWindows(b, x, axis, taps.places, weight);
    } else {
      x = takeWindows(b, x, axis, taps.places).reduced(b, kind);
    }
  }
  return finish(average && summed > 1 ? b.div(x, static_cast<double>(summed)) : x);
}

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

/// Where each element of the padded axis comes from.
Value borderPositions(AtenNode &a, StringRef mode, Dim extent, Dim low, Dim high) {
  PrimBuilder &b = a.b;
  Type index = b.builder().getI64Type();
  Dim total = b.addDims(b.addDims(extent, low), high);
  Value p = b.sub(b.iota({total}, 0, index), a.extentTensor(low, index));
  Value last = a.extentTensor(b.subDims(extent, b.dim(1)), index);
  if (mode == "circular")
    return b.binary<prim::ModOp>(p, a.extentTensor(extent, index));
  if (mode == "replicate")
    return b.minimum(b.maximum(p, 0.0), last);
  return b.sub(last, b.abs(b.sub(last, b.abs(p))));
}

/// The last axis with its borders, which are slices of it, forward or backward: runs of
/// neighbours, where a position each would be read one by one. Null where extents are open or
/// the border is longer than the axis.
Value withBorders(PrimBuilder &b, StringRef mode, Value x, Dim low, Dim high) {
  int64_t axis = b.rank(x) - 1;
  auto n = b.known(b.dim(x, axis)), lo = b.known(low), hi = b.known(high);
  int64_t most = n.value_or(0) - (mode == "reflect");
  if (!n || !lo || !hi || *lo < 0 || *hi < 0 || *lo > most || *hi > most)
    return {};
  auto border = [&](int64_t start, int64_t size) {
    return b.sliceAxis(x, axis, b.dim(start), b.dim(size));
  };
  auto repeated = [&](int64_t start, int64_t size) {
    Dims dims = b.dims(x);
    dims[axis] = b.dim(size);
    return b.broadcastTo(border(start, 1), dims);
  };
  SmallVector<Value> parts;
  if (*lo > 0)
    parts.push_back(mode == "reflect"    ? b.reverse(border(1, *lo), {axis})
                    : mode == "circular" ? border(*n - *lo, *lo)
                                         : repeated(0, *lo));
  parts.push_back(x);
  if (*hi > 0)
    parts.push_back(mode == "reflect"    ? b.reverse(border(*n - 1 - *hi, *hi), {axis})
                    : mode == "circular" ? border(0, *hi)
                                         : repeated(*n - 1, *hi));
  return parts.size() == 1 ? x : b.concat(parts, axis);
}

LogicalResult padBy(AtenNode &a, StringRef mode, Value value) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto list = a.has("pad") ? a.extents("pad") : a.extents("padding");
  if (!list || list->size() % 2 != 0 || static_cast<int64_t>(list->size() / 2) > b.rank(x))
    return a.fail("the padding must be a list with two entries for each axis");
  Dims low(b.rank(x), b.dim(0)), high = low;
  for (size_t i = 0; i < list->size() / 2; ++i) {
    low[b.rank(x) - 1 - i] = (*list)[2 * i];
    high[b.rank(x) - 1 - i] = (*list)[2 * i + 1];
  }
  for (auto [extent, lo, hi] : llvm::zip(b.dims(x), low, high)) {
    Dim total = b.addDims(b.addDims(extent, lo), hi);
    if (b.known(total).value_or(0) < 0)
      return a.fail("cuts off more than there is");
  }
  if (mode == "constant")
    return a.give(b.pad(x, value, low, high));
  for (int64_t axis = 0; mode == "circular" && axis < b.rank(x); ++axis) {
    // What is cut off does not come round either.
    Dim less = b.minDims(low[axis], b.dim(0)), start = b.subDims(b.dim(0), less);
    Dim size = b.addDims(b.addDims(b.dim(x, axis), less), b.minDims(high[axis], b.dim(0)));
    if (!b.same(size, b.dim(x, axis)))
      x = b.sliceAxis(x, axis, start, size);
    low[axis] = b.maxDims(low[axis], b.dim(0));
    high[axis] = b.maxDims(high[axis], b.dim(0));
  }
  for (int64_t axis = 0; axis < b.rank(x); ++axis)
    if (b.known(low[axis]) != 0 || b.known(high[axis]) != 0) {
      Dim size = b.addDims(b.addDims(b.dim(x, axis), low[axis]), high[axis]);
      requireElements(b, b.dim(x, axis), size, "a border made");
      Value joined =
          axis + 1 == b.rank(x) ? withBorders(b, mode, x, low[axis], high[axis]) : Value();
      if (joined) {
        x = joined;
        continue;
      }
      x = b.take(x, borderPositions(a, mode, b.dim(x, axis), low[axis], high[axis]), axis);
    }
  return a.give(x);
}

LogicalResult pad(AtenNode &a) {
  StringRef mode = a.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    return a.fail("unknown mode");
  return padBy(a, mode, a.number("value", 0, a.b.elem(a.tensor("self"))));
}
LogicalResult reflectionPad(AtenNode &a) { return padBy(a, "reflect", {}); }
LogicalResult replicationPad(AtenNode &a) { return padBy(a, "replicate", {}); }

} // namespace

void tcc::populateAtenPoolRules(RuleSet &rules) {
  addRules(rules, {{"max_pool1d", "default", "self", maxPool<1>},
                   {"max_pool2d", "default", "self", maxPool<2>},
                   {"max_pool3d", "default", "self", maxPool<3>},
                   {"max_pool1d_with_indices", "default", "self", maxPool<1>},
                   {"max_pool2d_with_indices", "default", "self", maxPool<2>},
                   {"max_pool3d_with_indices", "default", "self", maxPool<3>},
                   {"avg_pool1d", "default", "self", averagePool<1>},
                   {"avg_pool2d", "default", "self", averagePool<2>},
                   {"avg_pool3d", "default", "self", averagePool<3>},
                   {"adaptive_avg_pool1d", "default", "self", adaptivePool<1, K::sum>},
                   {"adaptive_avg_pool2d", "default", "self", adaptivePool<2, K::sum>},
                   {"adaptive_avg_pool3d", "default", "self", adaptivePool<3, K::sum>},
                   {"_adaptive_avg_pool2d", "default", "self", adaptivePool<2, K::sum>},
                   {"_adaptive_avg_pool3d", "default", "self", adaptivePool<3, K::sum>},
                   {"adaptive_max_pool1d", "default", "self", adaptivePool<1, K::max>},
                   {"adaptive_max_pool2d", "default", "self", adaptivePool<2, K::max>},
                   {"adaptive_max_pool3d", "default", "self", adaptivePool<3, K::max>},
                   {"constant_pad_nd", "default", "self", pad},
                   {"pad", "default", "self", pad},
                   {"reflection_pad1d", "default", "self", reflectionPad},
                   {"reflection_pad2d", "default", "self", reflectionPad},
                   {"reflection_pad3d", "default", "self", reflectionPad},
                   {"replication_pad1d", "default", "self", replicationPad},
                   {"replication_pad2d", "default", "self", replicationPad},
                   {"replication_pad3d", "default", "self", replicationPad}});
}
