//===- Reshape.cpp - The same elements under another shape ----------------===//
//
// A target shape is data with two codes in it, 0 and -1. Where it is made of extents its entries
// stay host values, and equal factors cancel: otherwise a batch that is open makes every shape
// after a reshape unknown.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Extents.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using Eq = arith::CmpIPredicate;

namespace {

/// ONNX Reshape: 0 copies an extent, -1 is what is left.
LogicalResult reshape(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Dims want;
  if (c.version() < 5) {
    for (int64_t extent : c.intsAttr("shape").value_or(SmallVector<int64_t>()))
      want.push_back(b.dim(extent));
  } else {
    auto list = hostInts(c, 1, resultRank(c, 0));
    if (failed(list))
      return failure();
    want = *list;
  }
  Dims have = b.dims(x);
  bool allowZero = c.intAttr("allowzero", 0);
  std::optional<size_t> open;
  bool maybeOpen = false;
  for (auto [i, d] : llvm::enumerate(want)) {
    auto constant = b.known(d);
    if (constant == 0 && !allowZero) {
      if (i >= have.size())
        return c.fail("copies extent " + llvm::Twine(i) + " of a tensor of rank " +
                      llvm::Twine(have.size()));
      d = have[i];
    } else if (constant == -1) {
      if (open)
        return c.fail("has two extents of -1");
      open = i;
    } else if (constant && *constant < 0) {
      return c.fail("has a negative extent");
    } else if (!constant && !b.nonNegative(d)) {
      maybeOpen = true;
      if (!allowZero && i < have.size())
        d = b.selectDims(b.compareDims(Eq::eq, d, b.dim(0)), have[i], d);
    }
  }
  bool exact = false;
  if (open) {
    Dims others = want;
    others.erase(others.begin() + *open);
    if (maybeOpen)
      for (Dim &d : others)
        b.check(b.compareDims(Eq::sge, d, b.dim(0)), "Reshape: a negative extent");
    Ratio rest(have, others);
    exact = rest.exact();
    want[*open] = rest.quotient(b);
  } else if (maybeOpen) {
    // One extent may turn out to be -1: what the others, without it, leave.
    Dims ones = want;
    for (Dim &d : ones)
      if (!b.known(d))
        d = b.selectDims(b.compareDims(Eq::eq, d, b.dim(-1)), b.dim(1), d);
    Dim rest = b.floorDivDims(b.productOf(have), b.maxDims(b.productOf(ones), b.dim(1)));
    for (Dim &d : want)
      if (!b.known(d))
        d = b.selectDims(b.compareDims(Eq::eq, d, b.dim(-1)), rest, d);
  }
  if (!exact && !Ratio(have, want).isOne()) {
    Dim before = b.productOf(have), after = b.productOf(want);
    if (b.known(before) && b.known(after) && *b.known(before) != *b.known(after))
      return c.fail("changes the number of elements from " + llvm::Twine(*b.known(before)) +
                    " to " + llvm::Twine(*b.known(after)));
    b.check(b.compareDims(Eq::eq, before, after), "Reshape: the number of elements changes");
  }
  return c.give(b.reshape(x, want));
}

LogicalResult flatten(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x), axis = c.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return c.fail("axis is out of range");
  if (axis < 0)
    axis += rank;
  Dims have = b.dims(x);
  return c.give(b.reshape(x, {b.productOf(ArrayRef(have).take_front(axis)),
                              b.productOf(ArrayRef(have).drop_front(axis))}));
}

LogicalResult squeeze(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  Dims have = b.dims(x);
  if (c.has(1) && !b.constantInts(c.in(1))) {
    auto axes = hostInts(c, 1);
    if (failed(axes))
      return failure();
    Dims gone;
    for (int64_t i = 0; i < rank; ++i)
      gone.push_back(isNamedAxis(b, *axes, i, rank));
    Dims kept = keptExtents(b, have, gone, std::max<int64_t>(rank - axes->size(), 0));
    return c.give(b.reshape(x, kept));
  }
  auto given = c.intsFrom("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    axes = **given;
  } else {
    for (int64_t i = 0; i < rank; ++i)
      if (b.known(have[i]) == 1)
        axes.push_back(i);
  }
  auto within = axesWithin(c, axes, rank);
  if (failed(within))
    return failure();
  for (int64_t axis : *within) {
    if (b.known(have[axis]).value_or(1) != 1)
      return c.fail("axis " + llvm::Twine(axis) + " has extent " +
                    llvm::Twine(*b.known(have[axis])));
    b.check(b.compareDims(Eq::eq, have[axis], b.dim(1)), "Squeeze: an extent is not 1");
  }
  return c.give(b.squeeze(x, *within));
}

LogicalResult unsqueeze(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  if (c.has(1) && !b.constantInts(c.in(1))) {
    auto axes = hostInts(c, 1);
    if (failed(axes))
      return failure();
    Dims have = b.dims(x), list;
    int64_t rank = have.size() + axes->size();
    Dim position = b.dim(0);
    for (int64_t i = 0; i < rank; ++i) {
      Dim isNew = isNamedAxis(b, *axes, i, rank), extent = b.dim(1);
      for (auto [j, d] : llvm::enumerate(have))
        extent = b.selectDims(b.compareDims(Eq::eq, position, b.dim(j)), d, extent);
      list.push_back(b.selectDims(isNew, b.dim(1), extent));
      position = b.addDims(position, b.selectDims(isNew, b.dim(0), b.dim(1)));
    }
    return c.give(b.reshape(x, list));
  }
  auto given = c.intsFrom("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> list = given->value_or(SmallVector<int64_t>());
  auto axes = axesWithin(c, list, b.rank(x) + list.size());
  return failed(axes) ? failure() : c.give(b.unsqueeze(x, *axes));
}

LogicalResult transpose(NodeContext &c) {
  int64_t rank = c.b.rank(c.in(0));
  SmallVector<int64_t> permutation = allAxes(rank);
  std::reverse(permutation.begin(), permutation.end());
  if (auto given = c.intsAttr("perm"))
    permutation = *given;
  auto sorted = axesWithin(c, permutation, rank);
  if (failed(sorted))
    return failure();
  if (static_cast<int64_t>(permutation.size()) != rank)
    return c.fail("'perm' has " + llvm::Twine(permutation.size()) + " axes for rank " +
                  llvm::Twine(rank));
  for (int64_t &axis : permutation)
    axis = c.b.axisOf(axis, rank);
  return c.give(c.b.transpose(c.in(0), permutation));
}

/// [n, c, h, w] with blocks of channels moved to squares of pixels.
LogicalResult depthToSpace(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t block = c.intAttr("blocksize", 0);
  if (b.rank(x) != 4 || block < 1)
    return c.fail("needs a tensor of rank 4 and a block size");
  bool crd = c.stringAttr("mode", "DCR") == "CRD";
  Dims d = b.dims(x);
  Dim s = b.dim(block), channels = b.floorDivDims(d[1], b.dim(block * block));
  Dims split =
      crd ? Dims{d[0], channels, s, s, d[2], d[3]} : Dims{d[0], s, s, channels, d[2], d[3]};
  SmallVector<int64_t> order =
      crd ? SmallVector<int64_t>{0, 1, 4, 2, 5, 3} : SmallVector<int64_t>{0, 3, 4, 1, 5, 2};
  Value parts = b.transpose(b.reshape(x, split), order);
  return c.give(b.reshape(parts, {d[0], channels, b.mulDims(d[2], s), b.mulDims(d[3], s)}));
}

LogicalResult spaceToDepth(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t block = c.intAttr("blocksize", 0);
  if (b.rank(x) != 4 || block < 1)
    return c.fail("needs a tensor of rank 4 and a block size");
  Dims d = b.dims(x);
  Dim s = b.dim(block), h = b.floorDivDims(d[2], s), w = b.floorDivDims(d[3], s);
  Value parts = b.transpose(b.reshape(x, {d[0], d[1], h, s, w, s}), {0, 3, 5, 1, 2, 4});
  return c.give(b.reshape(parts, {d[0], b.mulDims(d[1], b.dim(block * block)), h, w}));
}

LogicalResult identity(NodeContext &c) { return c.give(0, c.lowered(0)); }

} // namespace

void tcc::populateOnnxReshapeRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Reshape", reshape},           {"Flatten", flatten},     {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},       {"Transpose", transpose}, {"DepthToSpace", depthToSpace},
      {"SpaceToDepth", spaceToDepth}, {"Identity", identity}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
