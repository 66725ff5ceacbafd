//===- Slice.cpp - Parts of tensors, and tensors from parts ---------------===//
//
// ONNX gives bounds as Python does, but as data, and a walk back that starts before the first
// element starts at it. Bounds that are constants fold into static starts; others stay host
// arithmetic, so that a kernel reads a slice in place whatever the run decides.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;

namespace {

/// A Python slice bound as a position in [low, high], counted from the end when negative.
Dim clampBound(PrimBuilder &b, Dim bound, Dim extent, Dim low, Dim high) {
  constexpr int64_t kEnd = INT32_MAX; // what exporters write for "to the end"
  if (auto constant = b.known(bound)) {
    if (*constant >= kEnd)
      return high;
    if (*constant <= -kEnd)
      return b.minDims(low, high);
  }
  if (!b.nonNegative(bound)) {
    Dim negative = b.compareDims(Cmp::slt, bound, b.dim(0));
    bound = b.selectDims(negative, b.addDims(bound, extent), bound);
    bound = b.maxDims(bound, low);
  }
  return b.minDims(bound, high);
}

struct Range {
  Dim start, size;
};

/// start, stop and a constant step on an axis of `extent`, as Python has it, but that a walk
/// back starts at the first element where `start` lies before it (ONNX).
Range rangeOf(PrimBuilder &b, Dim start, Dim stop, int64_t step, Dim extent) {
  Dim zero = b.dim(0), size;
  if (step > 0) {
    start = clampBound(b, start, extent, zero, extent);
    stop = clampBound(b, stop, extent, zero, extent);
    size = b.ceilDivDims(b.subDims(stop, start), b.dim(step));
  } else {
    Dim last = b.subDims(extent, b.dim(1));
    start = clampBound(b, start, extent, zero, last);
    stop = clampBound(b, stop, extent, b.dim(-1), last);
    size = b.ceilDivDims(b.subDims(start, stop), b.dim(-step));
    if (b.known(extent) == 0) // no last element to start at
      start = zero;
  }
  return {start, b.maxDims(size, zero)};
}

/// Along one axis by computed positions: the step is data.
Value sliceByIndex(PrimBuilder &b, Value x, int64_t axis, Dim start, Dim stop, Dim step) {
  Dim extent = b.dim(x, axis), zero = b.dim(0), last = b.subDims(extent, b.dim(1));
  b.check(b.compareDims(Cmp::ne, step, zero), "Slice: a step is 0");
  Dim up = b.compareDims(Cmp::sgt, step, zero);
  Dim low = b.selectDims(up, zero, b.dim(-1)), high = b.selectDims(up, extent, last);
  start = clampBound(b, start, extent, zero, high);
  stop = clampBound(b, stop, extent, low, high);
  Dim way = b.selectDims(up, b.subDims(stop, start), b.subDims(start, stop));
  Dim stride = b.maxDims(b.selectDims(up, step, b.subDims(zero, step)), b.dim(1));
  Dim size = b.maxDims(b.ceilDivDims(way, stride), zero);
  Type index = b.builder().getI64Type();
  Value at =
      b.add(b.mul(b.iota({size}, 0, index), scalarOf(b, step, index)), scalarOf(b, start, index));
  return b.take(x, at, axis);
}

struct SliceSpec {
  Dims starts, stops, axes, steps;
};

/// The numbers for the first axes in a vector of unknown length, which has at most one for each
/// axis, and `otherwise` for the rest.
Dims ofFirstAxes(PrimBuilder &b, Value v, int64_t rank, int64_t otherwise) {
  b.check(b.compareDims(Cmp::sle, b.dim(v, 0), b.dim(rank)), "Slice: more bounds than axes");
  Type i64 = b.builder().getI64Type();
  Value all =
      b.concat({b.cast(v, i64), b.full({b.dim(rank)}, static_cast<double>(otherwise), i64)}, 0);
  return b.readElements(b.sliceAxis(all, 0, b.dim(0), b.dim(rank)));
}

FailureOr<SliceSpec> sliceSpec(NodeContext &c) {
  PrimBuilder &b = c.b;
  SliceSpec s;
  auto fromAttr = [&](StringRef name) {
    Dims list;
    for (int64_t v : c.intsAttr(name).value_or(SmallVector<int64_t>()))
      list.push_back(b.dim(v));
    return list;
  };
  if (c.version() < 10) {
    s.starts = fromAttr("starts");
    s.stops = fromAttr("ends");
    s.axes = fromAttr("axes");
  } else {
    Dims *lists[] = {nullptr, &s.starts, &s.stops, &s.axes, &s.steps};
    constexpr int64_t kWhole[] = {0, 0, int64_t(1) << 53, 0, 1};
    bool open = false; // as to the number of bounds
    int64_t count = b.rank(c.in(0));
    for (size_t i = 1; i < 5; ++i) // one operand of known length tells the others'
      if (c.has(i) && b.rank(c.in(i)) == 1)
        count = b.known(b.dim(c.in(i), 0)).value_or(count);
    for (size_t i = 1; i < 5; ++i) {
      if (!c.has(i))
        continue;
      Value v = c.in(i);
      if (!c.has(3) && isa<IntegerType>(b.elem(v)) && b.rank(v) == 1 && !b.known(b.dim(v, 0))) {
        *lists[i] = ofFirstAxes(b, v, b.rank(c.in(0)), kWhole[i]);
        open = true;
        continue;
      }
      auto list = hostInts(c, i, count);
      if (failed(list))
        return failure();
      *lists[i] = *list;
    }
    for (size_t i : {1, 2, 4})
      if (open && !lists[i]->empty())
        lists[i]->resize(b.rank(c.in(0)), b.dim(kWhole[i]));
  }
  if (s.axes.empty())
    for (size_t i = 0; i < s.starts.size(); ++i)
      s.axes.push_back(b.dim(i));
  if (s.steps.empty())
    s.steps.assign(s.starts.size(), b.dim(1));
  if (s.stops.size() != s.starts.size() || s.axes.size() != s.starts.size() ||
      s.steps.size() != s.starts.size())
    return c.fail("starts, ends, axes and steps differ in length");
  return s;
}

/// Axes that are data: each axis takes the bounds that name it.
SliceSpec spreadOverAxes(PrimBuilder &b, const SliceSpec &s, ArrayRef<Dim> extents) {
  SliceSpec spread;
  int64_t rank = extents.size();
  for (int64_t axis = 0; axis < rank; ++axis) {
    Dim start = b.dim(0), stop = extents[axis], step = b.dim(1);
    for (size_t i = 0; i < s.axes.size(); ++i) {
      Dim here = isNamedAxis(b, s.axes[i], axis, rank);
      start = b.selectDims(here, s.starts[i], start);
      stop = b.selectDims(here, s.stops[i], stop);
      step = b.selectDims(here, s.steps[i], step);
    }
    spread.axes.push_back(b.dim(axis));
    spread.starts.push_back(start);
    spread.stops.push_back(stop);
    spread.steps.push_back(step);
  }
  return spread;
}

LogicalResult slice(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto spec = sliceSpec(c);
  if (failed(spec))
    return failure();
  int64_t rank = b.rank(x);
  Dims starts(rank, b.dim(0)), sizes = b.dims(x);
  SmallVector<int64_t> steps(rank, 1);
  if (llvm::any_of(spec->axes, [&](Dim d) { return !b.known(d); }))
    *spec = spreadOverAxes(b, *spec, sizes);
  Dims extents = sizes;
  Value byIndex = x;
  for (size_t i = 0; i < spec->axes.size(); ++i) {
    auto axis = axisWithin(c, *b.known(spec->axes[i]), rank);
    if (failed(axis))
      return failure();
    auto step = b.known(spec->steps[i]);
    if (step == 0)
      return c.fail("has a step of 0");
    if (!step) {
      byIndex = sliceByIndex(b, byIndex, *axis, spec->starts[i], spec->stops[i], spec->steps[i]);
      sizes[*axis] = b.dim(byIndex, *axis);
      continue;
    }
    Range range = rangeOf(b, spec->starts[i], spec->stops[i], *step, extents[*axis]);
    starts[*axis] = range.start;
    sizes[*axis] = range.size;
    steps[*axis] = *step;
  }
  return c.give(b.slice(byIndex, starts, sizes, steps));
}

/// The sizes of the parts along an axis of `extent`.
FailureOr<Dims> splitSizes(NodeContext &c, Dim extent) {
  PrimBuilder &b = c.b;
  if (c.has(1))
    return hostInts(c, 1, c.numResults());
  Dims sizes;
  if (auto given = c.intsAttr("split"); given && !given->empty()) {
    for (int64_t size : *given)
      sizes.push_back(b.dim(size));
    return sizes;
  }
  int64_t parts = c.intAttr("num_outputs", c.numResults());
  if (parts != static_cast<int64_t>(c.numResults()))
    return c.fail("'num_outputs' is not the number of outputs");
  Dim each = b.ceilDivDims(extent, b.dim(parts)), used = b.dim(0);
  for (int64_t i = 0; i < parts; ++i) {
    bool even = b.known(extent) && *b.known(extent) % parts == 0;
    Dim left = b.maxDims(b.subDims(extent, used), b.dim(0));
    sizes.push_back(even || i + 1 < parts ? b.minDims(each, left) : left);
    used = b.addDims(used, each);
  }
  return sizes;
}

LogicalResult split(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto sizes = splitSizes(c, b.dim(x, *axis));
  if (failed(sizes))
    return failure();
  if (sizes->size() != c.numResults())
    return c.fail("splits into " + llvm::Twine(sizes->size()) + " parts for " +
                  llvm::Twine(c.numResults()) + " outputs");
  Dim total = b.dim(0);
  for (Dim size : *sizes) {
    if (auto constant = b.known(size); constant && *constant < 0)
      return c.fail("has a part of negative size");
    if (!PrimBuilder::nonNegative(size))
      b.check(b.compareDims(Cmp::sge, size, b.dim(0)), "Split: a part has a negative size");
    total = b.addDims(total, size);
  }
  auto sum = b.known(total), extent = b.known(b.dim(x, *axis));
  if (sum && extent && *sum != *extent)
    return c.fail("the parts add up to " + llvm::Twine(*sum) + ", the axis has " +
                  llvm::Twine(*extent));
  if (c.has(1) && !(sum && extent))
    b.check(b.compareDims(Cmp::eq, total, b.dim(x, *axis)), "Split: the parts do not add up");
  Dim start = b.dim(0);
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    (void)c.give(i, b.sliceAxis(x, *axis, start, size));
    start = b.addDims(start, size);
  }
  return success();
}

LogicalResult concat(NodeContext &c) {
  SmallVector<Value> inputs;
  for (size_t i = 0; i < c.numInputs(); ++i)
    inputs.push_back(c.in(i));
  int64_t rank = c.b.rank(inputs[0]);
  auto axis = axisWithin(c, c.intAttr("axis", 1), rank);
  if (failed(axis))
    return failure();
  for (Value v : inputs) {
    if (c.b.rank(v) != rank || c.b.elem(v) != c.b.elem(inputs[0]))
      return c.fail("operands differ in rank or element type");
    for (int64_t i = 0; i < rank; ++i) {
      auto mine = c.b.known(c.b.dim(v, i)), first = c.b.known(c.b.dim(inputs[0], i));
      if (i != *axis && mine && first && *mine != *first)
        return c.fail("operands differ in extent " + llvm::Twine(i));
    }
  }
  return c.give(c.b.concat(inputs, *axis));
}

LogicalResult tile(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  Dims repeats(rank, b.dim(1));
  if (c.version() < 6) {
    auto count = hostInt(c, 1), axis = hostInt(c, 2);
    if (failed(count) || failed(axis))
      return failure();
    if (!b.known(*axis) || *b.known(*axis) < 0 || *b.known(*axis) >= rank)
      return c.fail("'axis' must be a constant within the rank");
    repeats[*b.known(*axis)] = *count;
  } else {
    auto list = hostInts(c, 1, rank);
    if (failed(list))
      return failure();
    if (static_cast<int64_t>(list->size()) != rank)
      return c.fail("needs one repeat for each axis");
    repeats = *list;
  }
  Dims have = b.dims(x), spread, total;
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (b.known(repeats[i]).value_or(0) < 0)
      return c.fail("has a negative repeat");
    // An extent that is repeated becomes two axes; a unit one is just wider.
    if (b.known(have[i]) != 1 && b.known(repeats[i]) != 1)
      spread.push_back(repeats[i]);
    axes.push_back(spread.size());
    spread.push_back(b.known(have[i]) == 1 ? repeats[i] : have[i]);
    total.push_back(repeatedExtent(b, have[i], repeats[i]));
  }
  return c.give(b.reshape(b.broadcastInDim(x, spread, axes), total));
}

LogicalResult expand(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  std::optional<int64_t> rank = resultRank(c, 0);
  auto shape = hostInts(c, 1, rank);
  if (failed(shape))
    return failure();
  for (Dim d : *shape)
    if (b.known(d).value_or(0) < 0)
      return c.fail("has a negative extent");
  if (!b.broadcastable(b.dims(x), *shape))
    return c.fail("the shapes do not broadcast");
  Dims result = b.broadcastShapes(b.dims(x), *shape);
  for (auto [d, extent] : llvm::zip(*shape, ArrayRef(result).take_back(shape->size())))
    requireBroadcast(b, d, extent);
  return c.give(b.broadcastTo(x, result));
}

LogicalResult shapeOf(NodeContext &c) {
  PrimBuilder &b = c.b;
  Dims list = b.dims(c.in(0));
  int64_t rank = list.size();
  auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t start = bound(c.intAttr("start", 0)), end = bound(c.intAttr("end", rank));
  Dims part(list.begin() + start, list.begin() + std::max(start, end));
  return c.give(b.fromHost(part, {static_cast<int64_t>(part.size())}, b.builder().getI64Type()));
}

LogicalResult sizeOf(NodeContext &c) {
  return c.give(scalarOf(c.b, c.b.productOf(c.b.dims(c.in(0))), c.b.builder().getI64Type()));
}

} // namespace

void tcc::populateOnnxSliceRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Slice", slice},   {"Split", split},   {"Concat", concat}, {"Tile", tile},
      {"Expand", expand}, {"Shape", shapeOf}, {"Size", sizeOf}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
