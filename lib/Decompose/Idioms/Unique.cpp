//===- Unique.cpp - Distinct elements, from primitives --------------------===//
//
// A kernel must know its extents before it runs, and how many elements are
// distinct is known only after they are sorted. So this is several kernels: sort,
// mark where a sorted element differs from the one before it, count the marks
// (which the host reads), and gather. Sorting is stable, so that the first of
// equals in sorted order is the first in order of appearance. Rows are sorted by
// one column after the other, the last one first: in a loop, where they are many or
// a run alone knows how many. Numbers of 8 bits and truths are
// not sorted: a table has a place for each value that there is.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Unique.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Matrices.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

class Finder {
public:
  Finder(PrimBuilder &b, Value x, bool nanIsOne)
      : b(b), x(x), nanIsOne(nanIsOne), i64(b.builder().getI64Type()), count(b.dim(x, 0)),
        places(b.iota({count}, 0, i64)) {}

  Distinct run(bool sorted);
  Distinct ofTable();
  Distinct inOrder() { return grouped(Value(), x); }

private:
  /// The groups of equal neighbours in `values`, the elements in the order `from`, or as they are.
  Distinct grouped(Value from, Value values);
  Value before(Value values);
  /// The places of the sorted elements of rank-1 x.
  Value order(Value keys);
  Value sortedPlaces();
  /// Whether sorted element i differs from element i - 1.
  Value differs(Value values);
  /// base with base[at[i]] = updates[i], or that added.
  Value scatter(prim::ScatterKind kind, Value base, Value at, Value updates) {
    return prim::ScatterAlongOp::create(b.builder(), b.location(), base.getType(), kind, base, at,
                                        updates, 0)
        .getResult();
  }
  Value zeros(Dim n) { return b.full({n}, 0, i64); }

  PrimBuilder &b;
  Value x;
  bool nanIsOne;
  Type i64;
  Dim count;
  Value places; ///< 0 .. count - 1
};

} // namespace

Value Finder::order(Value keys) {
  return prim::SortOp::create(b.builder(), b.location(), keys.getType(), b.type(keys).clone(i64),
                              keys, 0, /*descending=*/false)
      .getIndices();
}

Value Finder::sortedPlaces() {
  if (b.rank(x) == 1)
    return order(x);
  auto sortedBy = [&](Value column, Value sorted) {
    Value keys = b.squeeze(column, {1});
    return b.take(sorted, order(b.take(keys, sorted, 0)), 0);
  };
  constexpr int64_t kWrittenOut = 256;
  Value sorted = places;
  if (auto columns = b.known(b.dim(x, 1)); columns && *columns <= kWrittenOut) {
    for (int64_t column = *columns; column-- > 0;)
      sorted = sortedBy(b.sliceAxis(x, 1, b.dim(column), b.dim(1)), sorted);
    return sorted;
  }
  Value last = b.sub(scalarOf(b, b.dim(x, 1), i64), 1.0);
  auto step = [&](Value turn, ValueRange carried) -> SmallVector<Value> {
    Value column = b.reshape(b.sub(last, turn), ArrayRef<int64_t>{1});
    return {sortedBy(b.take(x, column, 1), carried[0])};
  };
  return matrices::repeat(b, b.dim(x, 1), sorted, step)[0];
}

/// Each element's neighbour, the first one's itself.
Value Finder::before(Value values) {
  std::optional<int64_t> known = b.known(count);
  if (!known || *known < 2)
    return b.take(values, b.maximum(b.sub(places, 1.0), 0.0), 0);
  return b.concat({b.sliceAxis(values, 0, b.dim(0), b.dim(1)),
                   b.sliceAxis(values, 0, b.dim(0), b.dim(*known - 1))},
                  0);
}

Value Finder::differs(Value values) {
  Value before = this->before(values);
  Value unlike = b.compare(P::ne, values, before);
  if (nanIsOne && isa<FloatType>(b.elem(values))) {
    Value bothNan = b.binary<prim::AndOp>(b.predicate<prim::IsNanOp>(values),
                                          b.predicate<prim::IsNanOp>(before));
    unlike = b.binary<prim::AndOp>(unlike, b.logicalNot(bothNan));
  }
  return b.rank(unlike) == 1 ? unlike : b.reduce(K::any, unlike, {1}, false);
}

Distinct Finder::grouped(Value from, Value values) {
  Value starts = b.binary<prim::OrOp>(differs(values), b.compare(P::eq, places, 0.0));
  std::optional<int64_t> known = b.known(count);
  bool few = known && *known <= std::numeric_limits<int32_t>::max();
  Value mark = b.cast(starts, few ? b.builder().getI32Type() : i64);
  Value group = prim::CumulativeOp::create(b.builder(), b.location(), mark.getType(), K::sum, mark,
                                           0, /*exclusive=*/false, /*reverse=*/false)
                    .getResult();
  group = b.cast(b.sub(group, 1.0), i64);
  Value heads = b.squeeze(b.nonzero(starts), {0});
  Dim found = b.dim(heads, 0);
  Distinct d;
  d.values = b.take(values, heads, 0);
  d.first = from ? b.take(from, heads, 0) : heads;
  d.inverse = from ? scatter(prim::ScatterKind::assign, zeros(count), from, group) : group;
  // From one head to the next.
  Value here = b.iota({found}, 0, i64), last = b.sub(b.fromHost({found}, {}, i64), 1.0);
  Value next = b.take(heads, b.minimum(b.add(here, 1.0), last), 0);
  Value end = b.select(b.compare(P::lt, here, last), next, b.fromHost({count}, {}, i64));
  d.counts = b.sub(end, heads);
  return d;
}

Distinct Finder::ofTable() {
  auto type = cast<IntegerType>(b.elem(x));
  int64_t size = int64_t(1) << type.getWidth();
  bool isSigned = !type.isUnsigned() && type.getWidth() > 1;
  double low = isSigned ? static_cast<double>(-size / 2) : 0;
  Value key = b.sub(b.cast(x, i64), low), end = scalarOf(b, count, i64);
  Value counts;
  if (type.getWidth() == 1) {
    Value ones = b.reduce(K::sum, key, {0}, true);
    counts = b.concat({b.sub(end, ones), ones}, 0);
  } else {
    counts =
        scatter(prim::ScatterKind::add, zeros(b.dim(size)), key, b.full({count}, b.scalar(1, i64)));
  }
  Value first = scatter(prim::ScatterKind::min, b.full({b.dim(size)}, end), key, places);
  Value there = b.compare(P::ne, counts, 0.0), mark = b.cast(there, i64);
  Value number = prim::CumulativeOp::create(b.builder(), b.location(), mark.getType(), K::sum, mark,
                                            0, /*exclusive=*/true, /*reverse=*/false)
                     .getResult();
  Value heads = b.squeeze(b.nonzero(there), {0});
  return {b.cast(b.add(heads, low), type), b.take(first, heads, 0), b.take(number, key, 0),
          b.take(counts, heads, 0)};
}

Distinct Finder::run(bool sorted) {
  auto integer = dyn_cast<IntegerType>(b.elem(x));
  Distinct d;
  if (b.rank(x) == 1 && integer && integer.getWidth() <= 8) {
    d = ofTable();
  } else {
    Value from = sortedPlaces();
    d = grouped(from, b.take(x, from, 0));
  }
  if (sorted)
    return d;
  Dim found = b.dim(d.values, 0);
  Value appearance = order(d.first);
  Value turn =
      scatter(prim::ScatterKind::assign, zeros(found), appearance, b.iota({found}, 0, i64));
  d.values = b.take(d.values, appearance, 0);
  d.first = b.take(d.first, appearance, 0);
  d.counts = b.take(d.counts, appearance, 0);
  d.inverse = b.take(turn, d.inverse, 0);
  return d;
}

Distinct tcc::distinct(PrimBuilder &b, Value x, bool sorted, bool nanIsOne) {
  return Finder(b, x, nanIsOne).run(sorted);
}

Distinct tcc::runs(PrimBuilder &b, Value x) { return Finder(b, x, /*nanIsOne=*/false).inOrder(); }
