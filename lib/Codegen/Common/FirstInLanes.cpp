//===- FirstInLanes.cpp - The first few of lines that are lanes -----------===//
//
// Where lines are neighbours, each lane keeps the first k elements of its own in order, those of a
// rank in a vector. An element is compared with all of them; those that come after it move on by a
// rank. Nothing waits but an element for the one before it, and no lane asks what another found.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class FirstInLanes {
public:
  FirstInLanes(LaunchFrame &f, prim::TopKOp op, Coords at)
      : f(f), b(f.b), op(op), at(std::move(at)), e(tensorType(op.getX()).getElementType()),
        count(tensorType(op->getResult(0)).getDimSize(op.getAxis())) {}
  void emit(Value length);

private:
  using Kept = SmallVector<Value>; // values by rank, then places
  SmallVector<Value> comesBeforeEach(Value v, ArrayRef<Value> values);
  Value inAllLanes(Value v) { return f.e.lanes() > 1 ? f.e.splat(v, f.e.lanes()) : v; }
  Kept with(ArrayRef<Value> kept, size_t ranks, Value place);

  LaunchFrame &f;
  ImplicitLocOpBuilder &b;
  prim::TopKOp op;
  Coords at;
  Type e;
  size_t count;
};

} // namespace

/// NaN is the largest. What does not depend on the element that is kept is asked once.
SmallVector<Value> FirstInLanes::comesBeforeEach(Value v, ArrayRef<Value> values) {
  using P = arith::CmpFPredicate;
  bool largest = op.getLargest();
  SmallVector<Value> before;
  if (!isa<FloatType>(e)) {
    for (Value other : values)
      before.push_back(comesBefore(f, e, largest, v, other));
    return before;
  }
  Value isNumber = largest ? Value() : arith::CmpFOp::create(b, P::ORD, v, v);
  for (Value other : values) {
    Value further = arith::CmpFOp::create(b, largest ? P::UGT : P::ULT, v, other);
    Value than = largest ? Value(arith::CmpFOp::create(b, P::ORD, other, other)) : isNumber;
    before.push_back(arith::AndIOp::create(b, further, than));
  }
  return before;
}

/// What is kept with the element at `place`, of which `ranks` are taken.
FirstInLanes::Kept FirstInLanes::with(ArrayRef<Value> kept, size_t ranks, Value place) {
  at[op.getAxis()] = Coord::uniform(place);
  Value v = f.e.evalVector(op.getX(), at);
  f.failed |= !v;
  if (!v)
    return Kept(kept);
  auto values = kept.take_front(count), places = kept.drop_front(count);
  Value here = inAllLanes(arith::IndexCastOp::create(b, b.getI32Type(), place));
  SmallVector<Value> before = comesBeforeEach(v, values.take_front(ranks));
  Kept next(kept);
  for (size_t rank = 0; rank < std::min(ranks + 1, count); ++rank) {
    auto choose = [&](Value element, ArrayRef<Value> all) -> Value {
      Value moved =
          rank ? arith::SelectOp::create(b, before[rank - 1], all[rank - 1], element) : element;
      return rank < ranks ? Value(arith::SelectOp::create(b, before[rank], moved, all[rank]))
                          : moved;
    };
    next[rank] = choose(v, values);
    next[count + rank] = choose(here, places);
  }
  return next;
}

void FirstInLanes::emit(Value length) {
  Value zero = f.e.index(0);
  at[op.getAxis()] = Coord::uniform(zero);
  Value v = f.e.evalVector(op.getX(), at);
  f.failed |= !v;
  if (!v)
    return;
  // Of the first elements each takes a rank of its own; until then a rank holds anything.
  Value none = inAllLanes(arith::ConstantOp::create(b, b.getI32IntegerAttr(0)));
  Kept kept(count, v);
  kept.append(count, none);
  for (size_t rank = 1; rank < count && !f.failed; ++rank)
    kept = with(kept, rank, f.e.index(rank));
  auto loop = scf::ForOp::create(b, f.e.index(count), length, f.e.index(1), kept);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    kept = f.e.nested([&] { return with(carried, count, loop.getInductionVar()); });
    scf::YieldOp::create(b, kept);
  }
  Type i64 = b.getI64Type();
  if (f.e.lanes() > 1)
    i64 = VectorType::get({f.e.lanes()}, i64);
  for (size_t rank = 0; rank < count; ++rank) {
    at[op.getAxis()] = Coord::uniform(f.e.index(rank));
    f.e.store(f.results[0], at, loop.getResult(rank));
    Value place = loop.getResult(count + rank);
    f.e.store(f.results[1], at, arith::ExtSIOp::create(b, i64, place));
  }
}

void tcc::codegen::emitFirstInLanes(LaunchFrame &f, prim::TopKOp op, Coords at, Value length) {
  FirstInLanes(f, op, std::move(at)).emit(length);
}
