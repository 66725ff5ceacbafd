//===- Histogram.cpp - ATen's histograms over one and more axes ------------===//
//
// A sample belongs to the last bin whose lower edge it reaches, and to the last of all also at its
// upper edge: how many edges it reaches says which. Samples outside of the edges weigh nothing.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// Samples [count, axes] with their weights [count], and the edges of each axis.
struct Samples {
  Value x, weights;
  SmallVector<Value> edges;
};

/// `bins` + 1 edges of bins of one width over the range given for this axis, else over what the
/// samples [count] take, each counted from the nearer end as torch does.
Value evenEdges(AtenNode &a, Value x, int64_t bins, int64_t axis) {
  PrimBuilder &b = a.b;
  Type t = b.elem(x);
  Value low, high;
  auto range = a.has("range") ? a.reals("range") : std::nullopt;
  if (range && range->size() >= 2 * static_cast<size_t>(axis) + 2) {
    low = b.scalar((*range)[2 * axis], t);
    high = b.scalar((*range)[2 * axis + 1], t);
  } else {
    bool none = b.known(b.dim(x, 0)) == 0;
    requireElements(b, b.dim(x, 0), none ? ArrayRef<Dim>(Dims{b.dim(0)}) : ArrayRef<Dim>(),
                    "the range of a histogram");
    low = none ? b.scalar(0, t) : b.reduce(K::min, x, {0}, false);
    high = none ? b.scalar(1, t) : b.reduce(K::max, x, {0}, false);
  }
  Value flat = b.compare(P::eq, low, high);
  low = b.select(flat, b.sub(low, 0.5), low);
  high = b.select(flat, b.add(high, 0.5), high);
  double count = static_cast<double>(bins);
  Value step = b.div(b.sub(high, low), count), k = b.iota({b.dim(bins + 1)}, 0, t);
  Value up = b.add(low, b.mul(k, step));
  Value down = b.sub(high, b.mul(b.sub(b.scalar(count, t), k), step));
  return b.select(b.compare(P::lt, k, (count + 1) / 2), up, down);
}

FailureOr<Samples> samplesOf(AtenNode &a, bool oneAxis) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide());
  if (!oneAxis && b.rank(x) < 2)
    return a.fail("needs samples with an axis of coordinates");
  Dims shape = b.dims(x);
  Dim axes = oneAxis ? b.dim(1) : shape.back();
  Dim count = b.productOf(oneAxis ? ArrayRef(shape) : ArrayRef(shape).drop_back());
  auto known = b.known(axes);
  if (!known)
    return a.fail("the number of coordinates is not known");
  Samples s;
  s.x = b.reshape(x, {count, axes});
  Value weights = a.tensor("weight");
  s.weights =
      weights ? b.reshape(a.cast(weights, b.elem(x)), {count}) : b.full({count}, 1, b.elem(x));
  SmallVector<Value> given = a.tensors("bins");
  if (Value one = a.tensor("bins"))
    given.assign(1, one);
  auto counts = a.integers("bins");
  if (!counts && !a.has("bins"))
    counts = SmallVector<int64_t>{100};
  if (counts && counts->size() == 1)
    counts->resize(*known, counts->front());
  bool byTensor = !given.empty() && llvm::all_of(given, [](Value v) { return bool(v); });
  if (byTensor ? given.size() != static_cast<size_t>(*known)
               : !counts || counts->size() != static_cast<size_t>(*known))
    return a.fail("needs bins for each coordinate");
  for (int64_t i = 0; i < *known; ++i) {
    Value own = b.squeeze(b.sliceAxis(s.x, 1, b.dim(i), b.dim(1)), {1});
    if (byTensor) {
      if (b.rank(given[i]) != 1 || b.known(b.dim(given[i], 0)).value_or(2) < 2)
        return a.fail("the edges of bins are a vector of two or more");
      s.edges.push_back(a.cast(given[i], b.elem(x)));
      continue;
    }
    if ((*counts)[i] < 1 || (*counts)[i] > INT32_MAX)
      return a.fail("a number of bins is out of range");
    s.edges.push_back(evenEdges(a, own, (*counts)[i], i));
  }
  return s;
}

/// The sum of the weights in each bin, or their density.
Value countsOf(AtenNode &a, const Samples &s) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type(), t = b.elem(s.x);
  Dims shape;
  Value place, inside, volume;
  for (auto [i, edges] : llvm::enumerate(s.edges)) {
    Dim bins = b.subDims(b.dim(edges, 0), b.dim(1));
    shape.push_back(bins);
    Value own = b.sliceAxis(s.x, 1, b.dim(i), b.dim(1)); // [count, 1]
    Value reached = b.cast(b.compare(P::ge, own, b.unsqueeze(edges, {0})), i64);
    Value number = b.sub(b.reduce(K::sum, reached, {1}, false), 1.0);
    own = b.squeeze(own, {1});
    Value last = b.sliceAxis(edges, 0, bins, b.dim(1));
    Value in = b.binary<prim::AndOp>(b.compare(P::ge, number, 0.0), b.compare(P::le, own, last));
    Value top = b.sub(a.extentTensor(bins, i64), 1.0);
    number = b.minimum(b.maximum(number, 0.0), top);
    place = place ? b.add(b.mul(place, a.extentTensor(bins, i64)), number) : number;
    inside = inside ? b.binary<prim::AndOp>(inside, in) : in;
    Value width =
        b.sub(b.sliceAxis(edges, 0, b.dim(1), bins), b.sliceAxis(edges, 0, b.dim(0), bins));
    width = alongAxis(b, width, i, s.edges.size());
    volume = volume ? b.mul(volume, width) : width;
  }
  Value each = b.select(inside, s.weights, b.scalar(0, t));
  Value none = b.full({b.productOf(shape)}, 0, t);
  Value sums = prim::ScatterAlongOp::create(b.builder(), b.location(), none.getType(),
                                            prim::ScatterKind::add, none, place, each, 0)
                   .getResult();
  if (a.flag("density", false))
    return b.div(b.div(b.reshape(sums, shape), b.reduce(K::sum, sums, {0}, false)), volume);
  return b.reshape(sums, shape);
}

template <bool oneAxis, bool counts, bool edges> LogicalResult histogram(AtenNode &a) {
  auto samples = samplesOf(a, oneAxis);
  if (failed(samples))
    return failure();
  size_t next = 0;
  if (counts)
    (void)a.give(next++, countsOf(a, *samples));
  if (edges)
    for (Value e : samples->edges)
      (void)a.give(next++, e);
  return success();
}

} // namespace

void tcc::populateAtenHistogramRules(RuleSet &rules) {
  addRules(
      rules,
      {{"histogram", "bin_ct bins_tensor", "self", histogram<true, true, true>},
       {"histogramdd", "default int_bins TensorList_bins", "self", histogram<false, true, true>},
       {"_histogramdd_bin_edges", "default", "self", histogram<false, false, true>},
       {"_histogramdd_from_bin_cts", "default", "self", histogram<false, true, false>},
       {"_histogramdd_from_bin_tensors", "default", "self", histogram<false, true, false>}});
}
