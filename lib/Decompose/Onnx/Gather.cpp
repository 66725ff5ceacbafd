//===- Gather.cpp - Reads and writes at computed positions ----------------===//
//
// Indices are data and may be negative or wrong. Negative ones are moved up, wrong ones end the
// run with an error (Checks.h), because a clamped index is a wrong answer that nobody sees. Checks
// that the model's own arithmetic makes needless are left out.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Unique.h"
#include "Decompose/IndexBounds.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

LogicalResult gather(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value indices = b.wrapIndices(c.in(1), b.dim(c.in(0), *axis));
  return c.give(b.take(c.in(0), indices, *axis));
}

LogicalResult gatherElements(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  if (b.rank(c.in(0)) != b.rank(c.in(1)))
    return c.fail("data and indices differ in rank");
  Value indices = b.wrapIndices(c.in(1), b.dim(c.in(0), *axis));
  return c.give(b.takeAlong(c.in(0), indices, *axis));
}

/// Index tuples with the extents of the axes they index added to negative entries. How many those
/// are the tuples say, or, where they are of open length, `left`, the number of axes behind them.
FailureOr<Value> wrapTuples(NodeContext &c, Value x, Value indices, int64_t batch,
                            std::optional<int64_t> left) {
  PrimBuilder &b = c.b;
  int64_t rank = b.rank(indices);
  if (rank == 0)
    return c.fail("the length of the index tuples must be known");
  int64_t depth = b.type(indices).getShape().back();
  if (ShapedType::isDynamic(depth)) {
    if (!left || *left < 0 || *left > b.rank(x) - batch)
      return c.fail("the length of the index tuples must be known");
    depth = b.rank(x) - batch - *left;
    Dims dims = b.dims(indices);
    requireSame(b, dims.back(), b.dim(depth), "index tuples and the axes they index");
    dims.back() = b.dim(depth);
    indices = b.reshape(indices, dims);
  }
  if (batch < 0 || batch >= rank || batch + depth > b.rank(x))
    return c.fail("indexes more axes than there are");
  Dims extents;
  for (int64_t i = 0; i < depth; ++i)
    extents.push_back(b.dim(x, batch + i));
  for (int64_t i = 0; i < depth; ++i)
    requireInRange(b, b.sliceAxis(indices, rank - 1, b.dim(i), b.dim(1)), extents[i]);
  if (isAtLeast(b, indices, 0))
    return indices;
  Type index = b.builder().getI64Type();
  indices = b.cast(indices, index);
  Value size = b.fromHost(extents, {depth}, index);
  return b.select(b.compare(prim::ComparePredicate::lt, indices, 0.0), b.add(indices, size),
                  indices);
}

LogicalResult gatherNd(NodeContext &c) {
  int64_t batch = c.intAttr("batch_dims", 0);
  std::optional<int64_t> left;
  if (auto stated = dyn_cast<RankedTensorType>(c.node.getResult(0).getType()))
    left = stated.getRank() - (c.b.rank(c.in(1)) - 1);
  auto indices = wrapTuples(c, c.in(0), c.in(1), batch, left);
  return failed(indices) ? failure() : c.give(c.b.gatherNd(c.in(0), *indices, batch));
}

FailureOr<prim::ScatterKind> scatterKind(NodeContext &c) {
  using S = prim::ScatterKind;
  static const llvm::StringMap<S> kNames = {
      {"none", S::assign}, {"add", S::add}, {"mul", S::mul}, {"max", S::max}, {"min", S::min}};
  auto it = kNames.find(c.stringAttr("reduction", "none"));
  if (it == kNames.end())
    return c.fail("has an unknown reduction");
  return it->second;
}

LogicalResult scatterElements(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  auto kind = scatterKind(c);
  if (failed(axis) || failed(kind))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0), updates = c.in(2);
  if (b.rank(x) != b.rank(c.in(1)) || b.rank(x) != b.rank(updates) || b.elem(x) != b.elem(updates))
    return c.fail("operands differ in rank or element type");
  for (int64_t i = 0; i < b.rank(x); ++i) {
    requireSame(b, b.dim(c.in(1), i), b.dim(updates, i), "indices and updates");
    if (i != *axis)
      requireAtMost(b, b.dim(updates, i), b.dim(x, i), "updates");
  }
  Value indices = b.wrapIndices(c.in(1), b.dim(x, *axis));
  return c.give(prim::ScatterAlongOp::create(b.builder(), b.location(), x.getType(), *kind, x,
                                             indices, updates, *axis)
                    .getResult());
}

LogicalResult scatterNd(NodeContext &c) {
  auto kind = scatterKind(c);
  int64_t left = c.b.rank(c.in(2)) - (c.b.rank(c.in(1)) - 1);
  auto indices = wrapTuples(c, c.in(0), c.in(1), 0, left);
  if (failed(kind) || failed(indices))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0), updates = c.in(2);
  int64_t depth = b.type(*indices).getShape().back();
  if (b.rank(updates) != b.rank(*indices) - 1 + b.rank(x) - depth || b.elem(x) != b.elem(updates))
    return c.fail("the updates have the wrong rank or element type");
  int64_t outer = b.rank(*indices) - 1;
  for (int64_t i = 0; i < b.rank(updates); ++i)
    requireSame(b, b.dim(updates, i), i < outer ? b.dim(*indices, i) : b.dim(x, i - outer + depth),
                "updates");
  return c.give(
      prim::ScatterNdOp::create(b.builder(), b.location(), x.getType(), *kind, x, *indices, updates)
          .getResult());
}

/// The positions at which a vector of conditions holds.
Value positionsOf(PrimBuilder &b, Value condition) {
  Value found = b.nonzero(condition);
  return b.reshape(found, {b.dim(found, 1)});
}

LogicalResult compress(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t axis = 0;
  if (c.hasAttr("axis")) {
    auto given = axisAttr(c, 0);
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    x = b.reshape(x, {b.productOf(b.dims(x))});
  }
  if (b.rank(c.in(1)) != 1)
    return c.fail("the condition must be a vector");
  // What it says of positions past the end is not asked for.
  Dim length = b.minDims(b.dim(c.in(1), 0), b.dim(x, axis));
  return c.give(b.take(x, positionsOf(b, b.sliceAxis(c.in(1), 0, b.dim(0), length)), axis));
}

/// Whether every element is one known number other than 0.
bool isFullOfNonzero(PrimBuilder &b, Value x) {
  if (auto broadcast = x.getDefiningOp<prim::BroadcastOp>())
    x = broadcast.getX();
  auto constantOp = x.getDefiningOp<prim::ConstantOp>();
  auto dense =
      constantOp ? dyn_cast<DenseElementsAttr>(constantOp.getElements()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return !dense.getSplatValue<APFloat>().isZero();
  return isa<IntegerType>(dense.getElementType()) && !dense.getSplatValue<APInt>().isZero();
}

LogicalResult nonZero(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  // NonZero(ConstantOfShape(n)) is how exporters once wrote 0 .. n - 1.
  if (b.rank(x) == 1 && isFullOfNonzero(b, x))
    return c.give(b.unsqueeze(b.iota(b.dims(x), 0, b.builder().getI64Type()), {0}));
  return c.give(b.nonzero(x));
}

LogicalResult unique(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  bool sorted = c.intAttr("sorted", 1);
  int64_t rank = b.rank(x), axis = 0;
  SmallVector<int64_t> order;
  Dims moved;
  if (c.hasAttr("axis")) {
    auto given = axisAttr(c, 0);
    if (failed(given))
      return failure();
    axis = *given;
    order.push_back(axis);
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis)
        order.push_back(i);
    x = b.transpose(x, order);
    moved = b.dims(x);
    x = b.reshape(x, {moved[0], b.productOf(ArrayRef(moved).drop_front())});
  } else {
    x = b.reshape(x, {b.productOf(b.dims(x))});
  }
  Distinct found = distinct(b, x, sorted);
  Value values = found.values;
  if (!moved.empty()) {
    moved[0] = b.dim(values, 0);
    SmallVector<int64_t> back(rank);
    for (auto [i, from] : llvm::enumerate(order))
      back[from] = i;
    values = b.transpose(b.reshape(values, moved), back);
  }
  Value results[] = {values, found.first, found.inverse, found.counts};
  for (size_t i = 0; i < std::min<size_t>(4, c.numResults()); ++i)
    (void)c.give(i, results[i]);
  return success();
}

/// The first `length` steps of each sequence of a batch reversed.
LogicalResult reverseSequence(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  int64_t batch = c.intAttr("batch_axis", 1), time = c.intAttr("time_axis", 0);
  if (rank < 2 || batch + time != 1 || batch * time != 0)
    return c.fail("the batch and time axes must be the first two");
  Type index = b.builder().getI64Type();
  Value lengths = b.cast(c.in(1), index);
  requireInRange(b, lengths, b.addDims(b.dim(x, time), b.dim(1)), IndexRange::positions);
  Value length = alongAxis(b, lengths, batch, rank);
  Value step = alongAxis(b, b.iota({b.dim(x, time)}, 0, index), time, rank);
  Value mirrored = b.sub(b.sub(length, 1.0), step);
  Value from = b.select(b.compare(prim::ComparePredicate::lt, step, length), mirrored, step);
  return c.give(b.takeAlong(x, b.broadcastTo(from, b.dims(x)), time));
}

} // namespace

void tcc::populateOnnxGatherRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Gather", gather},           {"GatherElements", gatherElements},
      {"GatherND", gatherNd},       {"ScatterElements", scatterElements},
      {"Scatter", scatterElements}, {"ScatterND", scatterNd},
      {"Compress", compress},       {"NonZero", nonZero},
      {"Unique", unique},           {"ReverseSequence", reverseSequence}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
  rules.add("com.microsoft", "GatherND", gatherNd);
}
