//===- IndexBounds.cpp - What is known of indices ------------------------===//
//
// A check of an index costs a pass over the data and a branch in the host program. Most indices
// come from iota, argmax or a clamp and cannot be wrong; looking back a few operators tells so.
//
//===----------------------------------------------------------------------===//
#include "IndexBounds.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;

/// How many operators back one question may look: what lies deeper is unknown.
static constexpr unsigned kDepth = 12;

static bool atLeast(PrimBuilder &b, Value v, int64_t least, unsigned depth);

Value tcc::countedFromStart(PrimBuilder &b, Value indices, Dim extent) {
  if (isAtLeast(b, indices, 0))
    return indices;
  Type i64 = b.builder().getI64Type();
  if (!b.elem(indices).isInteger(64))
    indices = b.cast(indices, i64);
  Value size = b.fromHost({extent}, {}, i64);
  Value negative = b.compare(prim::ComparePredicate::lt, indices, 0.0);
  return b.select(negative, b.add(indices, size), indices);
}

/// Whether every integer that a cast may meet stays what it is.
static bool keepsValue(PrimBuilder &b, prim::CastOp op, unsigned depth) {
  auto from = dyn_cast<IntegerType>(b.elem(op.getX()));
  auto to = dyn_cast<IntegerType>(b.elem(op.getResult()));
  if (!from || !to || to.getWidth() == 1)
    return false;
  if (prim::isUnsigned(from))
    return to.getWidth() > from.getWidth();
  if (to.isUnsigned())
    return false;
  // No axis is so long that its positions do not fit i32.
  return to.getWidth() >= from.getWidth() ||
         (to.getWidth() >= 32 && depth > 0 && atLeast(b, op.getX(), 0, depth - 1));
}

/// The operand whose elements, and no others, an operator gives; or null.
static Value movedFrom(PrimBuilder &b, Operation *op, unsigned depth) {
  if (isa<prim::ReshapeOp, prim::TransposeOp, prim::SliceOp, prim::ReverseOp, prim::BroadcastOp,
          prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp>(op))
    return op->getOperand(0);
  auto cast = dyn_cast<prim::CastOp>(op);
  return cast && keepsValue(b, cast, depth) ? cast.getX() : Value();
}

/// The axis whose positions these indices are: its extent, or null.
static Dim positionsIn(PrimBuilder &b, Value indices) {
  Operation *op = indices.getDefiningOp();
  if (auto best = dyn_cast<prim::ArgReduceOp>(op))
    return b.dim(best.getX(), best.getAxis());
  if (auto top = dyn_cast<prim::TopKOp>(op); top && indices == top.getIndices())
    return b.dim(top.getX(), top.getAxis());
  if (auto sort = dyn_cast<prim::SortOp>(op); sort && indices == sort.getIndices())
    return b.dim(sort.getX(), sort.getAxis());
  if (auto found = dyn_cast<prim::NonzeroOp>(op); found && b.rank(found.getX()) == 1)
    return b.dim(found.getX(), 0);
  if (auto iota = dyn_cast<prim::IotaOp>(op))
    return b.dim(iota.getResult(), iota.getAxis());
  // One row of nonzero's result is the positions along one axis.
  if (auto row = dyn_cast<prim::SliceOp>(op))
    if (auto found = row.getX().getDefiningOp<prim::NonzeroOp>())
      if (auto start = getConstantIntValue(row.getMixedStarts()[0]);
          start && *start >= 0 && *start < b.rank(found.getX()) &&
          b.type(row.getResult()).getDimSize(0) == 1)
        return b.dim(found.getX(), *start);
  return {};
}

/// The one number that a tensor is full of, if it is known.
static std::optional<int64_t> numberOf(PrimBuilder &b, Value v) {
  if (auto broadcast = v.getDefiningOp<prim::BroadcastOp>())
    v = broadcast.getX();
  auto elements = b.hostElements(v);
  return elements && llvm::all_equal(*elements) && !elements->empty() ? b.known(elements->front())
                                                                      : std::nullopt;
}

static bool atLeast(PrimBuilder &b, Value v, int64_t least, unsigned depth) {
  auto t = dyn_cast<IntegerType>(b.elem(v));
  if (!t)
    return false;
  if (prim::isUnsigned(t) && least <= 0)
    return true;
  if (auto constants = b.constantInts(v))
    return llvm::all_of(*constants, [&](int64_t c) { return c >= least; });
  if (auto elements = b.hostElements(v))
    return llvm::all_of(*elements, [&](Dim d) {
      auto number = b.known(d);
      return number ? *number >= least : least <= 0 && PrimBuilder::nonNegative(d);
    });
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto is = [&](Value x, int64_t bound) { return atLeast(b, x, bound, depth - 1); };
  if (positionsIn(b, v))
    return least <= 0;
  if (Value x = movedFrom(b, op, depth))
    return is(x, least);
  if (auto choice = dyn_cast<prim::SelectOp>(op))
    return is(choice.getOnTrue(), least) && is(choice.getOnFalse(), least);
  if (auto join = dyn_cast<prim::ConcatOp>(op))
    return llvm::all_of(join->getOperands(), [&](Value x) { return is(x, least); });
  if (op->getNumOperands() != 2)
    return false;
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isa<prim::MaximumOp>(op))
    return is(x, least) || is(y, least);
  if (isa<prim::MinimumOp>(op))
    return is(x, least) && is(y, least);
  if (isa<prim::AddOp>(op)) {
    auto number = numberOf(b, y);
    return number ? is(x, least - *number) : is(x, 0) && is(y, least);
  }
  if (auto number = numberOf(b, y); number && isa<prim::SubOp>(op))
    return is(x, least + *number);
  if (isa<prim::ModOp>(op)) // has the sign of the divisor
    return least <= 0 && is(y, 0);
  if (isa<prim::RemOp>(op)) // has the sign of what is divided
    return least <= 0 && is(x, 0);
  if (isa<prim::MulOp, prim::DivOp, prim::FloorDivOp>(op))
    return least <= 0 && is(x, 0) && is(y, 0);
  return false;
}

/// Whether a host number is surely below another.
static bool isLess(PrimBuilder &b, Dim d, Dim extent) {
  auto number = b.known(d), bound = b.known(extent);
  return number && bound ? *number < *bound : b.same(b.addDims(d, b.dim(1)), extent);
}

static bool below(PrimBuilder &b, Value v, Dim extent, unsigned depth) {
  auto t = dyn_cast<IntegerType>(b.elem(v));
  if (!t)
    return false;
  auto bound = b.known(extent);
  bool fewBits = prim::isUnsigned(t) && t.getWidth() < 32;
  if (fewBits && bound && *bound >= int64_t(1) << t.getWidth())
    return true;
  if (t.getWidth() == 1)
    return false;
  if (auto constants = b.constantInts(v))
    return bound && llvm::all_of(*constants, [&](int64_t c) { return c < *bound; });
  if (auto elements = b.hostElements(v))
    return llvm::all_of(*elements, [&](Dim d) { return isLess(b, d, extent); });
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto is = [&](Value x, Dim limit) { return below(b, x, limit, depth - 1); };
  if (Dim axis = positionsIn(b, v)) {
    auto have = b.known(axis);
    return b.same(axis, extent) || (have && bound && *have <= *bound);
  }
  if (Value x = movedFrom(b, op, depth))
    return is(x, extent);
  if (auto choice = dyn_cast<prim::SelectOp>(op))
    return is(choice.getOnTrue(), extent) && is(choice.getOnFalse(), extent);
  if (auto join = dyn_cast<prim::ConcatOp>(op))
    return llvm::all_of(join->getOperands(), [&](Value x) { return is(x, extent); });
  if (op->getNumOperands() != 2)
    return false;
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isa<prim::MinimumOp>(op))
    return is(x, extent) || is(y, extent);
  if (isa<prim::MaximumOp>(op))
    return is(x, extent) && is(y, extent);
  auto number = numberOf(b, y);
  if (number && isa<prim::AddOp>(op))
    return is(x, b.subDims(extent, b.dim(*number)));
  if (number && isa<prim::SubOp>(op))
    return is(x, b.addDims(extent, b.dim(*number)));
  if (number && *number >= 1 && isa<prim::FloorDivOp, prim::DivOp>(op))
    return bound && *bound >= 1 && *bound <= INT64_MAX / *number && is(x, b.dim(*bound * *number));
  if (isa<prim::ModOp, prim::RemOp>(op)) // is nearer to 0 than the divisor
    return number ? *number >= 1 && bound && *number <= *bound
                  : isa<prim::ModOp>(op) && atLeast(b, y, 1, depth - 1) &&
                        is(y, b.addDims(extent, b.dim(1)));
  return false;
}

bool tcc::isAtLeast(PrimBuilder &b, Value indices, int64_t least) {
  return atLeast(b, indices, least, kDepth);
}
bool tcc::isBelow(PrimBuilder &b, Value indices, Dim extent) {
  return below(b, indices, extent, kDepth);
}
