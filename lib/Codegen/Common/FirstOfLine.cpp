//===- FirstOfLine.cpp - The first few elements of a line, in lanes -------===//
//
// A line's first k elements, in order in the lanes of a vector, and their places in another. An
// element is compared with all of them at once: those that come after it move on by a lane, and it
// takes the lane that becomes free. Nothing is a branch but whether any of a vector of elements
// comes before the last one kept, which few do: k log(n / k) of n in no order.
//
// Elements come in the order of their places, so that of equal ones those kept are the first.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class FirstOfLine {
public:
  FirstOfLine(LaunchFrame &f, Value x, unsigned axis, bool descending, Coords at, unsigned kept)
      : f(f), b(f.b), x(x), axis(axis), descending(descending), at(std::move(at)), kept(kept),
        lanes(std::max<unsigned>(kFewest, llvm::PowerOf2Ceil(kept))),
        e(tensorType(x).getElementType()) {}
  void emit(Value length, unsigned along);

private:
  static constexpr unsigned kFewest = 8;
  static constexpr int64_t kNone = -1; ///< the place of a lane that has no element yet

  /// Elements in order, and where they lie along the axis.
  struct Kept {
    Value values, places;
    SmallVector<Value> all() const { return {values, places}; }
  };
  Value elementAt(Value i, unsigned count);
  Value everywhere(Value v) {
    return vector::BroadcastOp::create(b, VectorType::get({lanes}, v.getType()), v);
  }
  Value movedOn(Value v);
  Kept with(const Kept &kept, Value i);
  Kept walk(Value low, Value high, Kept kept);
  Kept walkVectors(Value low, Value high, unsigned along, Kept kept);

  LaunchFrame &f;
  ImplicitLocOpBuilder &b;
  Value x;
  unsigned axis;
  bool descending;
  Coords at;
  unsigned kept, lanes;
  Type e;
};

} // namespace

/// `count` elements from `i` on.
Value FirstOfLine::elementAt(Value i, unsigned count) {
  Coords source(at);
  source[axis] = count > 1 ? Coord::affine(i, 1) : Coord::uniform(i);
  f.e.setLanes(count);
  Value v = count > 1 ? f.e.evalVector(x, source) : f.e.eval(x, source);
  f.e.setLanes(1);
  f.failed |= !v;
  return v;
}

Value FirstOfLine::movedOn(Value v) {
  SmallVector<int64_t> from = {0};
  for (unsigned lane = 0; lane + 1 < lanes; ++lane)
    from.push_back(lane);
  return vector::ShuffleOp::create(b, v, v, from);
}

/// With the element at `i` among them, if it comes before any.
FirstOfLine::Kept FirstOfLine::with(const Kept &kept, Value i) {
  Value element = elementAt(i, 1);
  if (!element)
    return kept;
  Value value = everywhere(element),
        place = everywhere(arith::IndexCastOp::create(b, b.getI32Type(), i));
  Value none = everywhere(arith::ConstantOp::create(b, b.getI32IntegerAttr(kNone)));
  Value isFree = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, kept.places, none);
  Value after = arith::OrIOp::create(b, isFree, comesBefore(f, e, descending, value, kept.values));
  // The lanes that come after it but for the first, which is to be its own.
  Type word = b.getIntegerType(lanes);
  Value bits = vector::BitCastOp::create(b, VectorType::get({1}, word), after);
  bits = vector::ExtractOp::create(b, bits, int64_t(0));
  bits = arith::ShLIOp::create(b, bits, arith::ConstantOp::create(b, b.getIntegerAttr(word, 1)));
  Value others = vector::BitCastOp::create(
      b, after.getType(), vector::BroadcastOp::create(b, VectorType::get({1}, word), bits));
  auto taken = [&](Value own, Value old) -> Value {
    Value moved = arith::SelectOp::create(b, others, movedOn(old), own);
    return arith::SelectOp::create(b, after, moved, old);
  };
  return {taken(value, kept.values), taken(place, kept.places)};
}

/// With the elements of [low, high), one by one.
FirstOfLine::Kept FirstOfLine::walk(Value low, Value high, Kept kept) {
  auto loop = scf::ForOp::create(b, low, high, f.e.index(1), kept.all());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    return with({loop.getRegionIterArg(0), loop.getRegionIterArg(1)}, loop.getInductionVar()).all();
  });
  scf::YieldOp::create(b, next);
  return {loop.getResult(0), loop.getResult(1)};
}

/// The same with `along` elements looked at at once.
FirstOfLine::Kept FirstOfLine::walkVectors(Value low, Value high, unsigned along, Kept before) {
  auto loop = scf::ForOp::create(b, low, high, f.e.index(along), before.all());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  Kept now = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  SmallVector<Value> next = f.e.nested([&] {
    Value v = elementAt(i, along);
    if (!v)
      return now.all();
    Value last = vector::ExtractOp::create(b, now.values, int64_t(kept) - 1);
    Value mask = comesBefore(f, e, descending, v, f.e.splat(last, along));
    return forEachLane(f, i, mask, now.all(), [&](Value place, ValueRange carried) {
      return with({carried[0], carried[1]}, place).all();
    });
  });
  scf::YieldOp::create(b, next);
  return {loop.getResult(0), loop.getResult(1)};
}

void FirstOfLine::emit(Value length, unsigned along) {
  Value value = elementAt(f.e.index(0), 1);
  if (!value)
    return;
  Kept all = {everywhere(value),
              everywhere(arith::ConstantOp::create(b, b.getI32IntegerAttr(kNone)))};
  Value from = f.e.index(kept), n = f.e.index(along);
  all = walk(f.e.index(0), from, all);
  // Of the first elements after those most come before one that is kept: a few are looked at at
  // once, so that those that come first are known.
  constexpr unsigned kParts = 4, kTurns = 2;
  if (along >= kParts * kFewest && *getConstantIntValue(length) >= kept + kTurns * along) {
    Value next = f.e.addIndex(from, n);
    all = walkVectors(from, next, along / kParts, all);
    from = next;
  }
  Value whole = f.e.mulIndex(f.e.divIndex(f.e.subIndex(length, from), n), n);
  Value middle = f.e.addIndex(from, whole);
  all = walkVectors(from, middle, along, all);
  all = walk(middle, length, all);
  for (unsigned slot = 0; slot < kept && !f.failed; ++slot) {
    Coords to(at);
    to[axis] = Coord::uniform(f.e.index(slot));
    Value place = vector::ExtractOp::create(b, all.places, int64_t(slot));
    f.e.store(f.results[0], to, vector::ExtractOp::create(b, all.values, int64_t(slot)));
    f.e.store(f.results[1], to, arith::ExtSIOp::create(b, b.getI64Type(), place));
  }
}

bool tcc::codegen::emitFirstOfLine(LaunchFrame &f, Value x, unsigned axis, bool descending,
                                   Coords at, Value length, unsigned along) {
  // One element alone is kept at less cost.
  constexpr int64_t kFewest = 2, kFew = 16, kLongest = int64_t(1) << 30;
  auto kept = getConstantIntValue(f.results[0].extents[axis]), known = getConstantIntValue(length);
  Type computed = computeType(tensorType(x).getElementType());
  unsigned bits = computed.getIntOrFloatBitWidth();
  int64_t most = bits > 32 ? kFew : std::max<int64_t>(kFew, along);
  if (along < 8 || !kept || !known || *kept < kFewest || *kept > most || *known > kLongest ||
      bits < 8)
    return false;
  FirstOfLine(f, x, axis, descending, std::move(at), unsigned(*kept)).emit(length, along);
  return true;
}
