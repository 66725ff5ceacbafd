//===- Split.cpp - Many parts of one tensor -------------------------------===//
//
// Parts along an axis, one after the other: of equal size, of given sizes, as many as are asked
// for, or between given indices. How many there are the file states; where they start may be data.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Slice.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;

namespace {

/// Parts of these sizes, one after the other.
LogicalResult giveParts(AtenNode &a, int64_t axis, ArrayRef<Dim> sizes) {
  PrimBuilder &b = a.b;
  if (sizes.size() != a.c.numResults())
    return a.fail("gives " + llvm::Twine(sizes.size()) + " parts, the file states " +
                  llvm::Twine(a.c.numResults()));
  Dim start = b.dim(0);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    (void)a.give(i, b.sliceAxis(a.tensor("self"), axis, start, size));
    start = b.addDims(start, size);
  }
  return success();
}

/// As many parts of `size` as there are results, the last one what is left.
LogicalResult giveEqualParts(AtenNode &a, int64_t axis, Dim size) {
  PrimBuilder &b = a.b;
  Dim extent = b.dim(a.tensor("self"), axis);
  size_t count = a.c.numResults();
  Dims sizes(count, size);
  if (count)
    sizes.back() = b.subDims(extent, b.mulDims(size, b.dim(count - 1)));
  if (count && b.known(sizes.back()).value_or(0) < 0)
    return a.fail("there are fewer parts than the file states");
  return giveParts(a, axis, sizes);
}

LogicalResult split(AtenNode &a) {
  auto axis = partedAxis(a);
  auto size = a.extent("split_size");
  if (failed(axis))
    return failure();
  if (!size || a.b.known(*size).value_or(1) < 1)
    return a.fail("needs a positive size");
  return giveEqualParts(a, *axis, *size);
}

LogicalResult splitSizes(AtenNode &a) {
  auto axis = partedAxis(a);
  auto sizes = a.has("split_sizes") ? a.extents("split_sizes") : a.extents("split_size");
  if (failed(axis))
    return failure();
  return sizes ? giveParts(a, *axis, *sizes) : a.fail("needs a list of sizes");
}

/// Parts of ceil(extent / chunks).
LogicalResult chunk(AtenNode &a) {
  auto axis = partedAxis(a);
  int64_t chunks = a.integer("chunks", 0);
  if (failed(axis) || chunks < 1)
    return a.fail("needs an axis and a positive number of chunks");
  Dim extent = a.b.dim(a.tensor("self"), *axis);
  return giveEqualParts(a, *axis, a.b.ceilDivDims(extent, a.b.dim(chunks)));
}

/// Parts whose sizes differ by one at most, the larger ones first.
LogicalResult giveSections(AtenNode &a, int64_t axis, int64_t count) {
  PrimBuilder &b = a.b;
  Dim extent = b.dim(a.tensor("self"), axis);
  Dim small = b.floorDivDims(extent, b.dim(count)), rest = b.remDims(extent, b.dim(count));
  Dims sizes;
  for (int64_t i = 0; i < count; ++i) {
    Dim larger = b.compareDims(Cmp::slt, b.dim(i), rest);
    sizes.push_back(b.addDims(small, b.selectDims(larger, b.dim(1), b.dim(0))));
  }
  return giveParts(a, axis, sizes);
}

/// The parts between given indices.
LogicalResult giveBetween(AtenNode &a, int64_t axis, Dims indices) {
  PrimBuilder &b = a.b;
  Dim extent = b.dim(a.tensor("self"), axis);
  if (indices.size() + 1 != a.c.numResults())
    return a.fail("another number of parts than the file states");
  indices.push_back(extent);
  std::optional<Dim> start;
  for (auto [i, end] : llvm::enumerate(indices)) {
    SliceRange r = clampedRange(b, extent, start, end, 1);
    (void)a.give(i, b.sliceAxis(a.tensor("self"), axis, r.start, r.size));
    start = end;
  }
  return success();
}

LogicalResult splitEvenly(AtenNode &a, int64_t axis) {
  if (auto sections = a.has("sections") ? a.extent("sections") : std::nullopt) {
    auto count = a.b.known(*sections);
    if (!count || *count < 1 || *count > 1 << 20)
      return a.fail("needs a positive number of sections");
    return giveSections(a, axis, *count);
  }
  auto indices = a.extents("indices");
  return indices ? giveBetween(a, axis, *indices) : a.fail("needs sections or indices");
}

LogicalResult tensorSplit(AtenNode &a) {
  auto axis = partedAxis(a);
  return failed(axis) ? failure() : splitEvenly(a, *axis);
}

/// The sections, or the indices, are in a tensor: how many there are the file tells.
LogicalResult tensorSplitBy(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value by = a.tensor("tensor_indices_or_sections");
  auto axis = partedAxis(a);
  if (failed(axis))
    return failure();
  int64_t parts = static_cast<int64_t>(a.c.numResults());
  bool sections = b.rank(by) == 0;
  if (!isa<IntegerType>(b.elem(by)) || b.rank(by) > 1 ||
      (!sections && b.known(b.dim(by, 0)) != parts - 1))
    return a.fail("needs sections or indices, one less than the file states parts");
  Dims numbers = b.readElements(b.cast(by, b.builder().getI64Type()));
  if (!sections)
    return giveBetween(a, *axis, numbers);
  b.check(b.compareDims(Cmp::eq, numbers[0], b.dim(parts)),
          "tensor_split: another number of sections than when the model was exported");
  return giveSections(a, *axis, parts);
}

/// hsplit, vsplit, dsplit: tensor_split along a fixed axis.
template <int64_t along> LogicalResult splitAlong(AtenNode &a) {
  int64_t rank = a.b.rank(a.tensor("self")), axis = along == 1 && rank == 1 ? 0 : along;
  if (rank <= axis)
    return a.fail("the operand has too few axes");
  return splitEvenly(a, axis);
}

LogicalResult unbind(AtenNode &a) {
  auto axis = partedAxis(a);
  if (failed(axis))
    return failure();
  PrimBuilder &b = a.b;
  auto extent = b.known(b.dim(a.tensor("self"), *axis));
  if (extent && *extent != static_cast<int64_t>(a.c.numResults()))
    return a.fail("another number of parts than the file states");
  for (size_t i = 0; i < a.c.numResults(); ++i) {
    Value part = b.sliceAxis(a.tensor("self"), *axis, b.dim(i), b.dim(1));
    (void)a.give(i, b.squeeze(part, {*axis}));
  }
  return success();
}

} // namespace

void tcc::populateAtenSplitRules(RuleSet &rules) {
  addRules(rules, {{"split", "Tensor", "self", split},
                   {"split_copy", "Tensor", "self", split},
                   {"unsafe_split", "Tensor", "self", split},
                   {"split", "sizes", "self", splitSizes},
                   {"split_with_sizes", "default", "self", splitSizes},
                   {"split_with_sizes_copy", "default", "self", splitSizes},
                   {"unsafe_split_with_sizes", "default", "self", splitSizes},
                   {"chunk", "default", "self", chunk},
                   {"unsafe_chunk", "default", "self", chunk},
                   {"tensor_split", "sections indices", "self", tensorSplit},
                   {"tensor_split", "tensor_indices_or_sections", "self tensor_indices_or_sections",
                    tensorSplitBy},
                   {"unbind", "int", "self", unbind},
                   {"hsplit", "int array", "self", splitAlong<1>},
                   {"vsplit", "int array", "self", splitAlong<0>},
                   {"dsplit", "int array", "self", splitAlong<2>},
                   {"unbind_copy", "int", "self", unbind}});
}
