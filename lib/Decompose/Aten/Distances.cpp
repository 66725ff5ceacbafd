//===- Distances.cpp - Distances between rows -----------------------------===//
//
// Rules of ATen's distances, which compute in f32 or wider and cast once at the end. A norm is here
// because distances are norms of differences.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Idioms/Matrices.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

Value tcc::aten::normOver(PrimBuilder &b, Value size, double p, ArrayRef<int64_t> axes, bool keep) {
  if (std::isinf(p))
    return b.reduce(p > 0 ? K::max : K::min, size, axes, keep);
  if (p == 0)
    return b.reduce(K::sum, b.cast(b.compare(P::ne, size, 0.0), b.elem(size)), axes, keep);
  if (p == 1)
    return b.reduce(K::sum, size, axes, keep);
  if (p == 2)
    return b.sqrt(b.reduce(K::sum, b.mul(size, size), axes, keep));
  return b.pow(b.reduce(K::sum, b.pow(size, p), axes, keep), 1 / p);
}

FailureOr<std::pair<Value, Value>> aten::rowPairs(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  auto rows = b.rank(x) == 2 ? b.known(b.dim(x, 0)) : std::nullopt;
  if (!rows || *rows > 2048)
    return a.fail("needs a known number of rows, up to 2048");
  SmallVector<int64_t> left, right;
  for (int64_t i = 0; i < *rows; ++i)
    for (int64_t j = i + 1; j < *rows; ++j) {
      left.push_back(i);
      right.push_back(j);
    }
  return std::pair(b.ints(left), b.ints(right));
}

namespace {

LogicalResult pairwiseDistance(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value d = a.difference("x1", "x2");
  if (isa<IntegerType>(b.elem(d)))
    d = a.cast(d, a.wide());
  d = a.magnitude(b.add(d, a.real("eps", 1e-6)));
  if (b.rank(d) == 0)
    return a.fail("needs vectors");
  return a.give(normOver(b, d, a.real("p", 2), {b.rank(d) - 1}, a.flag("keepdim", false)));
}

LogicalResult cosineSimilarity(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("x1"), y = a.wideTensor("x2");
  b.broadcastTogether(x, y);
  auto axis = a.axis("dim", 1, b.rank(x));
  if (failed(axis) || b.rank(x) == 0)
    return a.fail("needs vectors");
  auto unit = [&](Value v) {
    Value size = normOver(b, b.abs(v), 2, {*axis}, true);
    return b.div(v, b.maximum(size, a.real("eps", 1e-8)));
  };
  return a.give(b.reduce(K::sum, b.mul(unit(x), unit(y)), {*axis}, false));
}

/// All pairs of rows: [..., P, R].
Value allDistances(AtenNode &a, Value x, Value y) {
  PrimBuilder &b = a.b;
  Value d = b.abs(b.sub(b.unsqueeze(x, {b.rank(x) - 1}), b.unsqueeze(y, {b.rank(y) - 2})));
  return normOver(b, d, a.real("p", 2), {b.rank(d) - 1}, false);
}

/// Euclidean distances from a product: |x|^2 + |y|^2 - 2 x y, which of near rows loses digits to
/// cancellation, as in torch.
Value distancesByProduct(PrimBuilder &b, Value x, Value y) {
  auto squares = [&](Value v) { return b.reduce(K::sum, b.mul(v, v), {b.rank(v) - 1}, false); };
  Value xx = squares(x), yy = squares(y);
  Value product = b.matmul(x, matrices::transposed(b, y));
  Value sums = b.add(b.unsqueeze(xx, {b.rank(xx)}), b.unsqueeze(yy, {b.rank(yy) - 1}));
  return b.sqrt(b.maximum(b.sub(sums, b.mul(product, 2.0)), 0.0));
}

/// torch multiplies where it is told to and, where it is told nothing, from 26 rows on.
LogicalResult cdist(AtenNode &a) {
  enum { byNumberOfRows, always, never };
  constexpr int64_t fewRows = 25;
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("x1"), y = a.wideTensor("x2");
  if (b.rank(x) < 2 || b.rank(y) < 2)
    return a.fail("needs rows");
  int64_t mode = a.integer("compute_mode", byNumberOfRows);
  auto isMany = [&](Value v) { return b.known(b.dim(v, b.rank(v) - 2)).value_or(0) > fewRows; };
  if (a.real("p", 2) == 2 &&
      (mode == always || (mode == byNumberOfRows && (isMany(x) || isMany(y)))))
    return a.give(distancesByProduct(b, x, y));
  return a.give(allDistances(a, x, y));
}

LogicalResult pdist(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self");
  auto pairs = rowPairs(a, x);
  if (failed(pairs))
    return failure();
  auto [left, right] = *pairs;
  Value d = b.abs(b.sub(b.take(x, left, 0), b.take(x, right, 0)));
  return a.give(normOver(b, d, a.real("p", 2), {1}, false));
}

} // namespace

void tcc::populateAtenDistanceRules(RuleSet &rules) {
  addRules(rules, {{"pairwise_distance", "default", "x1 x2", pairwiseDistance},
                   {"cosine_similarity", "default", "x1 x2", cosineSimilarity},
                   {"cdist", "default", "x1 x2", cdist},
                   {"_cdist_forward", "default", "x1 x2", cdist},
                   {"pdist", "default", "self", pdist},
                   {"_pdist_forward", "default", "self", pdist}});
}
