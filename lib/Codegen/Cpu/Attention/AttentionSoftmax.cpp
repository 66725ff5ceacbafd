//===- AttentionSoftmax.cpp - The running softmax of a block of keys ------===//
//
// Scores of a block of keys are in memory when this begins. Each row is passed over twice: once for
// what the region makes of the scores and the largest of them, once for the exponentials of their
// distance to it, which take the scores' place, and their sum. Keys past the end count as minus
// infinity in the first pass, so that the second needs no mask.
//
// Blocks of keys come one after the other. What earlier ones gave was shifted by another largest
// score: `corrections` holds, row by row, what its sums are multiplied by. Sums stay lanes until
// the last block. A row that has seen nothing is shifted by 0, as infinities have no difference.
//
//===----------------------------------------------------------------------===//
#include "AttentionEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Coords AttentionEmitter::rowCoords(Index row) {
  auto shape = tensorType(form.score).getShape();
  SmallVector<Value> extents;
  for (unsigned axis = 0; axis + 1 < shape.size(); ++axis)
    extents.push_back(f.e.extent(form.score, axis));
  Coords coords;
  Index within = k.add(firstRow, row);
  auto append = [&](ValueRange indices) {
    for (Value i : indices)
      coords.push_back(Coord::uniform(i));
  };
  if (tensorType(form.scores.getResult()).getShape() == shape) {
    append(batch);
    append(f.delinearize(k.value(within), ArrayRef(extents).drop_front(batch.size())));
  } else {
    append(f.delinearize(k.value(k.mulAdd(entry, spec.scores.m, within)), extents));
  }
  return coords;
}

Coords AttentionEmitter::perRow(Value value, ArrayRef<Coord> at) {
  Coords coords(at);
  if (tensorType(value).getRank() > static_cast<int64_t>(at.size()))
    coords.push_back(Coord::uniform(f.e.index(0)));
  return coords;
}

Value AttentionEmitter::exp(Value x) { return math::ExpOp::create(k.builder, k.loc, x); }

Value AttentionEmitter::fold(Value v, llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned w = cast<VectorType>(v.getType()).getNumElements(); w > 1; w /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, w / 2));
    auto high = llvm::to_vector(llvm::seq<int64_t>(w / 2, w));
    Value x = vector::ShuffleOp::create(k.builder, k.loc, v, v, low);
    Value y = vector::ShuffleOp::create(k.builder, k.loc, v, v, high);
    v = combine(x, y);
  }
  return vector::ExtractOp::create(k.builder, k.loc, v, int64_t(0));
}

/// `score`, the form's or a part of it, of `lanes` keys, of which those under `mask` exist (null:
/// all).
Value AttentionEmitter::emitScore(Value score, const KeyBlock &keys, Index row, Index key,
                                  Value mask, Coords at) {
  Value raw = k.load(lanesType, this->at(scores, row, key));
  return f.e.nested([&]() -> Value {
    f.e.setLanes(lanes);
    f.e.setMask(mask);
    f.e.bindProvider(form.scores.getResult(), [raw](ArrayRef<Coord>) { return raw; });
    at.push_back(Coord::affine(k.value(k.add(partFirst, k.add(keys.first, key))), 1));
    Value result = f.e.evalVector(score, at);
    f.e.setMask({});
    f.e.setLanes(1);
    f.failed |= !result;
    return result ? result : raw;
  });
}

Value AttentionEmitter::ownShift(Value top) {
  Value none = number(-std::numeric_limits<float>::infinity());
  Value isNone = arith::CmpFOp::create(k.builder, k.loc, arith::CmpFPredicate::OEQ, top, none);
  return arith::SelectOp::create(k.builder, k.loc, isNone, number(0), top);
}

Value AttentionEmitter::rowSum(Index row) {
  Value sum = k.load(lanesType, k.address(sums, f32, k.mul(row, k.constant(lanes))));
  return fold(sum, [&](Value x, Value y) { return add(x, y); });
}

Index AttentionEmitter::firstWeight(const KeySpan &seen) {
  return k.mul(k.floorDiv(seen.first, k.constant(keyGrain)), k.constant(keyGrain));
}

/// Where no first keys are hidden, a row's own are computed without asking which it sees.
Value AttentionEmitter::emitScoresOfRow(const KeyBlock &keys, Index row, const KeySpan &ofTile) {
  OpBuilder &b = k.builder;
  Coords coords = rowCoords(row);
  bool asks = bounds.empty() || !onlyUpper;
  KeySpan own = asks ? ofTile : seenBy(keys, row, 1);
  Index step = k.constant(lanes), begin = firstWeight(own),
        bulk = k.mul(k.floorDiv(own.last, step), step);
  Value none = splat(number(-std::numeric_limits<float>::infinity()));
  auto visit = [&](Index key, Value mask, Value top) -> Value {
    Value score = emitScore(asks ? form.score : seenScore, keys, row, key, mask, coords);
    if (mask)
      score = arith::SelectOp::create(b, k.loc, mask, score, none);
    k.store(score, at(scores, row, key));
    return larger(score, top);
  };
  SmallVector<Value> top =
      k.loop(begin, bulk, step, {none}, [&](Index key, ValueRange in) -> SmallVector<Value> {
        return {visit(key, {}, in[0])};
      });
  top = k.loop(bulk, own.last, step, top, [&](Index key, ValueRange in) -> SmallVector<Value> {
    return {visit(key, k.firstLanes(lanes, k.sub(own.last, key)), in[0])};
  });
  if (!asks)
    k.loop(k.mul(k.ceilDiv(own.last, step), step), ofTile.last, step,
           [&](Index key) { k.store(none, at(scores, row, key)); });
  return top[0];
}

void AttentionEmitter::emitSoftmaxRow(const KeyBlock &keys, Index row, const KeySpan &ofTile) {
  Index step = k.constant(lanes), begin = firstWeight(ofTile);
  if (far && oneBlock)
    fetchNextQuery(row);
  Value top = emitScoresOfRow(keys, row, ofTile);
  Value topAt = k.address(tops, f32, row);
  Value now = fold(top, [&](Value x, Value y) { return larger(x, y); }), correction;
  Value old = oneBlock ? Value() : k.load(f32, topAt);
  if (old)
    now = larger(now, old);
  Value shift = ownShift(now);
  if (old) {
    correction = exp(sub(old, shift));
    k.store(correction, k.address(corrections, f32, row));
  }
  k.store(now, topAt);

  Value shifts = splat(shift);
  SmallVector<Value> sum =
      k.loop(begin, ofTile.last, step, {k.zero(lanesType)},
             [&](Index key, ValueRange in) -> SmallVector<Value> {
               Value place = at(scores, row, key);
               Value weight = exp(sub(k.load(lanesType, place), shifts));
               weight.getDefiningOp()->setAttr(kNotPositive, k.builder.getUnitAttr());
               if (matrix)
                 storeMatrixWeights(weight, row, key);
               else
                 k.store(weight, place);
               return {add(in[0], weight)};
             });
  if (matrix) // which takes twice as many keys at a time
    storeMatrixWeights(k.zero(lanesType), row, k.mul(k.ceilDiv(ofTile.last, step), step));
  Value sumAt = k.address(sums, f32, k.mul(row, step));
  if (correction)
    sum[0] = multiplyAdd(splat(correction), k.load(lanesType, sumAt), sum[0]);
  k.store(sum[0], sumAt);
}

void AttentionEmitter::emitSoftmax(const KeyBlock &keys) {
  int64_t height = schedule.getValueRows();
  forSeeingTiles(keys, height, [&](Index tile, const KeySpan &seen) {
    k.loop(tile, k.min(k.add(tile, k.constant(height)), rows), k.constant(1),
           [&](Index row) { f.e.nested([&] { emitSoftmaxRow(keys, row, seen); }); });
  });
}

/// One over the region's divisor, for its shift.
AttentionEmitter::RowScale AttentionEmitter::finalScale(Index row) {
  OpBuilder &b = k.builder;
  f.e.setLanes(1);
  Coords coords = rowCoords(row);
  Value top = k.load(f32, k.address(tops, f32, row));
  f.e.bindProvider(form.top.getResult(), [top](ArrayRef<Coord>) { return top; });
  Value shift = f.e.eval(form.shift, perRow(form.shift, coords));
  if (!shift)
    return {};
  // Where the shift is the top, a row that saw nothing has the sum 0.
  Value factor = shift == top ? number(1) : exp(sub(ownShift(top), shift));
  Value sum = shift == top ? rowSum(row) : mul(rowSum(row), factor);
  f.e.bindProvider(form.sum.getResult(), [sum](ArrayRef<Coord>) { return sum; });
  Value divisor = f.e.eval(form.divisor, perRow(form.divisor, coords));
  if (!divisor)
    return {};
  RowScale scale;
  scale.factor = arith::DivFOp::create(b, k.loc, factor, divisor);
  if (form.dropsNaN) {
    Value weights = arith::DivFOp::create(b, k.loc, sum, divisor);
    scale.isNaN = arith::CmpFOp::create(b, k.loc, arith::CmpFPredicate::UNO, weights, weights);
  }
  return scale;
}

Value AttentionEmitter::scaled(Value sums, const RowScale &scale) {
  unsigned width = cast<VectorType>(sums.getType()).getNumElements();
  Value result = mul(sums, k.broadcast(scale.factor, width));
  if (!scale.isNaN)
    return result;
  return arith::SelectOp::create(k.builder, k.loc, scale.isNaN, k.zero(sums.getType()), result);
}
