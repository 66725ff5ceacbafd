#include "Checks.h"

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
  else if (!cx || !cl)
    b.check(b.compareDims(Cmp::sle, x, limit), what.str() + ": an extent is too large");
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

/// Whether the operator that made these indices made them of an axis of `extent`.
static bool comeFromAxis(PrimBuilder &b, Value indices, Dim extent) {
  while (Operation *op = indices.getDefiningOp()) {
    if (isa<prim::CastOp, prim::ReshapeOp, prim::TransposeOp, prim::SliceOp, prim::ReverseOp,
            prim::BroadcastOp>(op)) {
      indices = op->getOperand(0);
      continue;
    }
    auto of = [&](Value x, int64_t axis) { return b.same(b.dim(x, axis), extent); };
    if (auto best = dyn_cast<prim::ArgReduceOp>(op))
      return of(best.getX(), best.getAxis());
    if (auto top = dyn_cast<prim::TopKOp>(op))
      return indices == top.getIndices() && of(top.getX(), top.getAxis());
    if (auto sort = dyn_cast<prim::SortOp>(op))
      return indices == sort.getIndices() && of(sort.getX(), sort.getAxis());
    if (auto found = dyn_cast<prim::NonzeroOp>(op))
      return b.rank(found.getX()) == 1 && of(found.getX(), 0);
    if (auto iota = dyn_cast<prim::IotaOp>(op))
      return of(iota.getResult(), iota.getAxis());
    return false;
  }
  return false;
}

void tcc::requireInRange(PrimBuilder &b, Value indices, Dim extent) {
  constexpr llvm::StringLiteral kWhat = "an index is out of range";
  if (auto constants = b.constantInts(indices)) {
    if (constants->empty())
      return;
    auto [least, most] = std::minmax_element(constants->begin(), constants->end());
    int64_t needed =
        std::max(*most == INT64_MAX ? *most : *most + 1, *least == INT64_MIN ? INT64_MAX : -*least);
    if (auto have = b.known(extent); have && *have < needed)
      b.fault("an index is out of range of an axis of extent " + llvm::Twine(*have));
    else if (!have)
      b.check(b.compareDims(Cmp::sge, extent, b.dim(needed)), kWhat);
    return;
  }
  if (auto elements = b.hostElements(indices)) {
    for (Dim d : *elements) {
      if (!PrimBuilder::nonNegative(d))
        b.check(b.compareDims(Cmp::sge, d, b.subDims(b.dim(0), extent)), kWhat);
      b.check(b.compareDims(Cmp::slt, d, extent), kWhat);
    }
    return;
  }
  if (comeFromAxis(b, indices, extent))
    return;
  if (!b.elem(indices).isInteger(64))
    indices = b.cast(indices, b.builder().getI64Type());
  Value flat = b.reshape(indices, {b.productOf(b.dims(indices))});
  auto bound = [&](Dim d) { return b.fromHost({d}, {}, b.elem(flat)); };
  Value low = b.compare(P::lt, flat, bound(b.subDims(b.dim(0), extent)));
  Value high = b.compare(P::ge, flat, bound(extent));
  Value bad = b.reduce(prim::ReduceKind::any, b.binary<prim::OrOp>(low, high), {0}, false);
  b.check(b.notDim(b.readElements(bad)[0]), kWhat);
}
