//===- Checks.cpp - Conditions that the run must hold --------------------===//
//
// A condition that is known becomes an error at compile time or nothing at all; one that only the
// run knows becomes prim.assert with the message. Equal checks are made once, because models
// compute the same extent in many places.
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "Decompose/Idioms/Extents.h"
#include "IndexBounds.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;
using P = prim::ComparePredicate;

/// Whether a check that holds here hangs on `condition` already.
static bool isChecked(PrimBuilder &b, Value condition, unsigned depth = 3) {
  Region *here = b.builder().getInsertionBlock()->getParent();
  return llvm::any_of(condition.getUsers(), [&](Operation *user) {
    if (!user->getParentRegion()->isAncestor(here))
      return false;
    return isa<prim::AssertOp>(user) ||
           (depth > 0 && isa<arith::OrIOp>(user) && isChecked(b, user->getResult(0), depth - 1));
  });
}

/// Whether x == y is part of a check already; an alternative to it counts where
/// `alternatives` says so.
static bool isCheckedSame(PrimBuilder &b, Dim x, Dim y, bool alternatives) {
  Value anchor = isa<Value>(x) ? cast<Value>(x) : cast<Value>(y);
  return llvm::any_of(anchor.getUsers(), [&](Operation *user) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    if (!compare || compare.getPredicate() != Cmp::eq)
      return false;
    Dim l = getAsOpFoldResult(compare.getLhs()), r = getAsOpFoldResult(compare.getRhs());
    bool match = (b.same(l, x) && b.same(r, y)) || (b.same(l, y) && b.same(r, x));
    return match && isChecked(b, compare, alternatives ? 3 : 0);
  });
}

void tcc::requireSame(PrimBuilder &b, Dim x, Dim y, StringRef what) {
  if (b.same(x, y))
    return;
  auto cx = b.known(x), cy = b.known(y);
  if (cx && cy) {
    b.fault(what + ": extents " + llvm::Twine(*cx) + " and " + llvm::Twine(*cy) + " differ");
    return;
  }
  if (!isCheckedSame(b, x, y, false))
    b.check(b.compareDims(Cmp::eq, x, y), what.str() + ": extents of the operands differ");
}

void tcc::requireSameCount(PrimBuilder &b, ArrayRef<Dim> before, ArrayRef<Dim> after) {
  if (Ratio(before, after).isOne())
    return;
  Dim x = b.productOf(before), y = b.productOf(after);
  auto cx = b.known(x), cy = b.known(y);
  if (cx && cy && *cx != *cy)
    b.fault("the number of elements changes from " + llvm::Twine(*cx) + " to " + llvm::Twine(*cy));
  else if ((!cx || !cy) && !isCheckedSame(b, x, y, false))
    b.check(b.compareDims(Cmp::eq, x, y), "the number of elements changes");
}

/// Whether `extent` is "y where x is 1, else x".
static bool isBroadcastOf(Dim extent, Dim x) {
  auto value = dyn_cast<Value>(extent);
  auto select = value ? value.getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  return compare && compare.getPredicate() == Cmp::eq &&
         PrimBuilder::same(getAsOpFoldResult(select.getFalseValue()), x) &&
         PrimBuilder::same(getAsOpFoldResult(compare.getLhs()), x) &&
         PrimBuilder::known(getAsOpFoldResult(compare.getRhs())) == 1;
}

void tcc::requireBroadcast(PrimBuilder &b, Dim x, Dim extent) {
  auto cx = b.known(x), ce = b.known(extent);
  if (b.same(x, extent) || cx == 1 || isBroadcastOf(extent, x))
    return;
  if (cx && ce) {
    b.fault("extents " + llvm::Twine(*cx) + " and " + llvm::Twine(*ce) + " do not broadcast");
    return;
  }
  if (isCheckedSame(b, x, extent, true))
    return;
  Dim same = b.compareDims(Cmp::eq, x, extent), one = b.compareDims(Cmp::eq, x, b.dim(1));
  b.check(b.orDims(same, one), "extents of the operands do not broadcast");
}

void tcc::requireAtMost(PrimBuilder &b, Dim x, Dim limit, StringRef what) {
  if (b.same(x, limit))
    return;
  auto cx = b.known(x), cl = b.known(limit);
  if (cx && cl && *cx > *cl)
    b.fault(what + ": extent " + llvm::Twine(*cx) + " is more than " + llvm::Twine(*cl));
  if (cx && cl)
    return;
  Dim fine = b.compareDims(Cmp::sle, x, limit);
  if (!isa<Value>(fine) || !isChecked(b, cast<Value>(fine), 0))
    b.check(fine, what.str() + ": an extent is too large");
}

void tcc::requireElements(PrimBuilder &b, Dim extent, ArrayRef<Dim> results, StringRef what) {
  if (b.known(extent).value_or(0) > 0)
    return;
  Dim wanted = b.productOf(results), none = b.dim(0);
  Dim fine = b.orDims(b.compareDims(Cmp::sgt, extent, none), b.compareDims(Cmp::eq, wanted, none));
  auto holds = b.known(fine);
  if (holds && !*holds)
    b.fault(what + " of no elements");
  else if (!holds)
    b.check(fine, what.str() + " of no elements");
}

void tcc::requireInside(PrimBuilder &b, Dim start, Dim size, Dim extent) {
  if (auto known = b.known(start); known && *known < 0)
    b.fault("position " + llvm::Twine(*known) + " lies before the axis");
  else if (!PrimBuilder::nonNegative(start))
    b.check(b.compareDims(Cmp::sge, start, b.dim(0)), "an index is out of range");
  requireAtMost(b, b.addDims(start, size), extent, "the end of a part of an axis");
}

Dim tcc::repeatedExtent(PrimBuilder &b, Dim extent, Dim count) {
  constexpr int64_t kMost = INT64_MAX;
  // A tensor that exists has fewer elements than addresses have values.
  constexpr int64_t kHarmless = kMost >> 48;
  auto e = b.known(extent), c = b.known(count);
  int64_t product;
  if (e && c && *e >= 0 && __builtin_mul_overflow(*e, *c, &product))
    b.fault("an extent of " + llvm::Twine(*e) + " times " + llvm::Twine(*c) + " is too large");
  else if ((!e || *e > 1) && (!c || *c > kHarmless))
    b.check(
        b.compareDims(Cmp::sle, count, b.floorDivDims(b.dim(kMost), b.maxDims(extent, b.dim(1)))),
        "an extent is too large");
  return b.mulDims(extent, count);
}

Dim tcc::wholeQuotient(PrimBuilder &b, Dim extent, Dim count, StringRef what) {
  Dim each = b.floorDivDims(extent, b.maxDims(count, b.dim(1)));
  requireSame(b, b.mulDims(each, count), extent, what);
  return each;
}

void tcc::requireDivisor(PrimBuilder &b, Dim x, Dim d) {
  if (b.known(d))
    return;
  if (auto larger = cast<Value>(d).getDefiningOp<arith::MaxSIOp>())
    for (Value operand : larger->getOperands())
      if (b.known(getAsOpFoldResult(operand)).value_or(0) > 0)
        return;
  b.check(b.compareDims(Cmp::ne, d, b.dim(0)), "an integer is divided by zero");
  if (!PrimBuilder::nonNegative(d)) // the smallest integer over -1 has no quotient
    b.check(b.compareDims(Cmp::ne, x, b.dim(INT64_MIN)), "an integer is divided by zero");
}

/// Indices that are known: a fault where one is out of range, a check of the extent
/// where only a run knows that.
static void requireKnownInRange(PrimBuilder &b, ArrayRef<int64_t> indices, Dim extent,
                                IndexRange range, StringRef what) {
  if (indices.empty())
    return;
  auto [least, most] = std::minmax_element(indices.begin(), indices.end());
  if (range == IndexRange::positions && *least < 0) {
    b.fault(what + ": " + llvm::Twine(*least));
    return;
  }
  int64_t needed =
      std::max(*most == INT64_MAX ? *most : *most + 1, *least == INT64_MIN ? INT64_MAX : -*least);
  if (auto have = b.known(extent); have && *have < needed)
    b.fault(what + " of an axis of extent " + llvm::Twine(*have));
  else if (!have)
    b.check(b.compareDims(Cmp::sge, extent, b.dim(needed)), what);
}

static constexpr llvm::StringLiteral kOutOfRange = "an index is out of range";

/// `v`, or what it repeats at least once each: as an index that is one for a whole slice.
static Value withoutRepeats(PrimBuilder &b, Value v) {
  while (auto broadcast = v.getDefiningOp<prim::BroadcastOp>()) {
    RankedTensorType from = tensorType(broadcast.getX());
    for (auto [axis, extent] : llvm::enumerate(b.dims(v))) {
      const int64_t *at = llvm::find(broadcast.getAxes(), static_cast<int64_t>(axis));
      bool repeats =
          at == broadcast.getAxes().end() || from.getDimSize(at - broadcast.getAxes().begin()) == 1;
      if (repeats && b.known(extent).value_or(0) < 1)
        return v;
    }
    v = broadcast.getX();
  }
  return v;
}

/// Where an index is out of range, if only a run knows that; everything else is checked.
static Value outOfRange(PrimBuilder &b, Value indices, Dim extent, IndexRange range) {
  if (!isa<IntegerType>(b.elem(indices))) {
    b.fault("indices are no integers");
    return {};
  }
  if (auto constants = b.constantInts(indices)) {
    requireKnownInRange(b, *constants, extent, range, kOutOfRange);
    return {};
  }
  Dim lowest = range == IndexRange::positions ? b.dim(0) : b.subDims(b.dim(0), extent);
  if (auto elements = b.hostElements(indices)) {
    for (Dim d : *elements) {
      if (!PrimBuilder::nonNegative(d))
        b.check(b.compareDims(Cmp::sge, d, lowest), kOutOfRange);
      b.check(b.compareDims(Cmp::slt, d, extent), kOutOfRange);
    }
    return {};
  }
  bool mayBeLow = !isAtLeast(b, indices, 0), mayBeHigh = !isBelow(b, indices, extent);
  if (!mayBeLow && !mayBeHigh)
    return {};
  indices = withoutRepeats(b, indices);
  if (!b.elem(indices).isInteger(64))
    indices = b.cast(indices, b.builder().getI64Type());
  Value flat = b.reshape(indices, {b.productOf(b.dims(indices))});
  auto bound = [&](Dim d) { return b.fromHost({d}, {}, b.elem(flat)); };
  Value low = mayBeLow ? b.compare(P::lt, flat, bound(lowest)) : Value();
  Value high = mayBeHigh ? b.compare(P::ge, flat, bound(extent)) : Value();
  return low && high ? b.binary<prim::OrOp>(low, high) : low ? low : high;
}

static void requireNone(PrimBuilder &b, Value bad) {
  bad = b.reduce(prim::ReduceKind::any, bad, {0}, false);
  b.check(b.notDim(b.readElements(bad)[0]), kOutOfRange);
}

void tcc::requireInRange(PrimBuilder &b, Value indices, Dim extent, IndexRange range) {
  if (Value bad = outOfRange(b, indices, extent, range))
    requireNone(b, bad);
}

void tcc::requireAllInRange(PrimBuilder &b, ArrayRef<Value> indices, ArrayRef<Dim> extents) {
  SmallVector<Value> found;
  for (auto [v, extent] : llvm::zip_equal(indices, extents)) {
    Value bad = outOfRange(b, v, extent, IndexRange::fromBothEnds);
    if (!bad)
      continue;
    auto *like =
        llvm::find_if(found, [&](Value other) { return b.same(b.dim(other, 0), b.dim(bad, 0)); });
    if (like == found.end())
      found.push_back(bad);
    else
      *like = b.binary<prim::OrOp>(*like, bad);
  }
  for (Value bad : found)
    requireNone(b, bad);
}
