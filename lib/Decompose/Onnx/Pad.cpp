//===- Pad.cpp - Borders ---------------------------------------------------===//
//
// A constant border is prim.pad. The others repeat elements of x: along each
// padded axis, position p of the result is position p - low of an x that goes
// on forever by reflection, by its edges or periodically, and prim.take reads it.
// A negative pad crops x first: what goes on forever is what is left of it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;

namespace {

/// The positions in an axis of `extent` that -low .. extent + high - 1 read, both at least 0.
Value repeatedPositions(PrimBuilder &b, StringRef mode, Dim extent, Dim low, Dim high) {
  Type index = b.builder().getI64Type();
  Dim size = b.addDims(b.addDims(extent, low), high);
  Value p = b.sub(b.iota({size}, 0, index), scalarOf(b, low, index));
  Value n = scalarOf(b, extent, index), last = b.sub(n, 1.0);
  if (mode == "edge")
    return b.minimum(b.maximum(p, 0.0), last);
  if (mode == "wrap")
    return b.binary<prim::ModOp>(p, n);
  Value period = b.mul(last, 2.0);
  Value m = b.binary<prim::ModOp>(p, period);
  return b.minimum(m, b.sub(period, m));
}

/// The same where a negative `low` or `high` crops the axis.
Value borderPositions(PrimBuilder &b, StringRef mode, Dim extent, Dim low, Dim high) {
  Dim none = b.dim(0);
  Dim cropped = b.maxDims(b.subDims(none, low), none);
  Dim left = b.subDims(b.subDims(extent, cropped), b.maxDims(b.subDims(none, high), none));
  Dim size = b.addDims(b.addDims(extent, low), high);
  requireAtMost(b, none, left, "what is cropped off an axis with a border");
  requireElements(b, left, size, "a border made");
  Value p = repeatedPositions(b, mode, left, b.maxDims(low, none), b.maxDims(high, none));
  return b.known(cropped) == 0 ? p : b.add(p, scalarOf(b, cropped, b.elem(p)));
}

/// ONNX Runtime's own, whose version is 1, is ONNX's of version 11.
bool takesOperands(NodeContext &c) {
  return c.version() >= 11 || c.node.getDomain() == "com.microsoft";
}

LogicalResult padBy(NodeContext &c, ArrayRef<Dim> low, ArrayRef<Dim> high) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  std::string mode = c.stringAttr("mode", "constant");
  Dims have = b.dims(x);
  for (auto [extent, lo, hi] : llvm::zip(have, low, high)) {
    auto size = b.known(b.addDims(b.addDims(extent, lo), hi));
    if (size && *size < 0)
      return c.fail("removes more than there is");
  }
  if (mode != "constant") {
    if (mode != "reflect" && mode != "edge" && mode != "wrap")
      return c.fail("has an unknown mode");
    for (auto [axis, extent] : llvm::enumerate(have))
      if (b.known(low[axis]) != 0 || b.known(high[axis]) != 0)
        x = b.take(x, borderPositions(b, mode, extent, low[axis], high[axis]), axis);
    return c.give(x);
  }
  Value value = b.scalar(c.floatAttr("value", 0), b.elem(x));
  if (takesOperands(c) && c.has(2)) {
    auto given = scalarOperand(c, 2);
    if (failed(given))
      return failure();
    value = b.cast(*given, b.elem(x));
  }
  return c.give(b.pad(x, value, low, high));
}

LogicalResult pad(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t rank = b.rank(c.in(0));
  Dims axes;
  if (c.has(3)) {
    auto given = hostInts(c, 3, rank);
    if (failed(given))
      return failure();
    axes = *given;
  } else {
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(b.dim(i));
  }
  Dims list;
  if (!takesOperands(c)) {
    auto given = c.intsAttr(c.version() < 2 ? "paddings" : "pads");
    for (int64_t v : given.value_or(SmallVector<int64_t>()))
      list.push_back(b.dim(v));
  } else {
    auto given = hostInts(c, 1, static_cast<int64_t>(2 * axes.size()));
    if (failed(given))
      return failure();
    list = *given;
  }
  if (list.size() != 2 * axes.size())
    return c.fail("needs two pads for each axis");
  Dims low(rank, b.dim(0)), high(rank, b.dim(0));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Dim lo = list[i], hi = list[i + axes.size()];
    if (auto constant = b.known(axis)) {
      auto at = axisWithin(c, *constant, rank);
      if (failed(at))
        return failure();
      low[*at] = lo;
      high[*at] = hi;
      continue;
    }
    for (int64_t at = 0; at < rank; ++at) {
      Dim here = isNamedAxis(b, axis, at, rank);
      low[at] = b.selectDims(here, lo, low[at]);
      high[at] = b.selectDims(here, hi, high[at]);
    }
  }
  return padBy(c, low, high);
}

/// Pads or crops the named axes to given extents, evenly on both sides.
LogicalResult centerCropPad(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  auto shape = hostInts(c, 1, rank);
  if (failed(shape))
    return failure();
  SmallVector<int64_t> axes = c.intsAttr("axes").value_or(allAxes(rank));
  if (axes.size() != shape->size())
    return c.fail("needs one extent for each axis");
  Dims have = b.dims(x), low(rank, b.dim(0)), high(rank, b.dim(0));
  for (auto [axis, want] : llvm::zip(axes, *shape)) {
    auto at = axisWithin(c, axis, rank);
    if (failed(at))
      return failure();
    // Half of the difference, rounded down, goes (or comes) in front.
    Dim more = b.subDims(want, have[*at]), less = b.subDims(have[*at], want);
    Dim pads = b.compareDims(Cmp::sge, want, have[*at]);
    Dim crop = b.subDims(b.dim(0), b.floorDivDims(less, b.dim(2)));
    low[*at] = b.selectDims(pads, b.floorDivDims(more, b.dim(2)), crop);
    high[*at] = b.subDims(more, low[*at]);
  }
  return c.give(b.pad(x, b.scalar(0, b.elem(x)), low, high));
}

} // namespace

void tcc::populateOnnxPadRules(RuleSet &rules) {
  rules.add("onnx", "Pad", pad);
  rules.add("onnx", "CenterCropPad", centerCropPad);
  rules.add("com.microsoft", "Pad", pad);
}
