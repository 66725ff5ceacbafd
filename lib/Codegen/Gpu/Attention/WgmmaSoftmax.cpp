//===- WgmmaSoftmax.cpp - A thread's scores, weights and results ----------===//
//
// A thread has two rows of scores, and of each eight keys two neighbours in both. What the region
// makes of a product is evaluated there; but a positive factor of all scores goes into the
// exponent, which is a multiply-add anyway, and what a comparison of positions hides is found from
// the range of keys that each row sees, with one comparison of numbers of 32 bits a score. What
// hides keys from all rows alike, as padding does, is evaluated once a key: each lane of a warp has
// some of a block's keys.
//
// As in the other forms, a row that has seen nothing but minus infinity is shifted by 0, NaNs come
// by way of the sum, and what the region says of the shift and the divisor is applied at the end.
//
//===----------------------------------------------------------------------===//
#include "AttentionFrame.h"
#include "WgmmaAttention.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr double kLog2E = 1.4426950408889634;
constexpr double kNone = -std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The index of `row` of the tiled axis along all axes of rows.
SmallVector<Value> WgmmaAttentionEmitter::rowAxesAt(Value row) {
  SmallVector<Value> at(otherRows);
  at.insert(at.begin() + a.tiledAxis, row);
  return at;
}

/// The index of a row in the score's shape, without the axis of the keys; of the last one past it.
Coords WgmmaAttentionEmitter::rowCoords(Value row) {
  Value last = f.e.subIndex(rowCount, f.e.index(1));
  SmallVector<Value> at = rowAxesAt(fillsTiles() ? row : f.minIndex(row, last));
  auto shape = tensorType(form.score).getShape();
  if (tensorType(form.scores.getResult()).getShape() == shape) {
    Coords coords = uniform(batch);
    coords.append(uniform(at));
    return coords;
  }
  Value linear = batchNumber;
  for (auto [i, extent] : llvm::zip(at, values.rows))
    linear = f.e.addIndex(f.e.mulIndex(linear, extent), i);
  SmallVector<Value> extents;
  for (unsigned axis = 0; axis + 1 < shape.size(); ++axis)
    extents.push_back(f.e.extent(form.score, axis));
  return uniform(f.delinearize(linear, extents));
}

/// The keys that a row sees, as numbers of 32 bits from 0 to the number of keys.
KeyRange WgmmaAttentionEmitter::seenBy(Value row) {
  auto i64 = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(v));
  };
  Value keys = a.keyCount >= 0 ? i64(a.keyCount)
                               : Value(arith::IndexCastOp::create(b, b.getI64Type(), keyCount));
  KeyRange seen = emitKeyRange(f.e, a.mask.bounds, rowCoords(row), {i64(0), keys});
  f.failed |= !seen.begin;
  if (!seen.begin)
    return {c(0), c(0)};
  auto narrow = [&](Value v) -> Value { return arith::TruncIOp::create(b, b.getI32Type(), v); };
  return {narrow(arith::MinSIOp::create(b, seen.begin, keys)),
          narrow(arith::MaxSIOp::create(b, seen.end, i64(0)))};
}

/// The thread's rows, and what they see.
void WgmmaAttentionEmitter::prepareThread() {
  Value first =
      add(add(mul(part, BoxedAttentionTile::groupRows), mul(band(warp, 3), 16)), shr(lane, 2));
  Value ownKey = mul(band(lane, 3), 2);
  rows.clear();
  ends.clear();
  begins.clear();
  for (unsigned i = 0; i < kRows; ++i) {
    rows.push_back(f.e.addIndex(rowTile, toIndex(add(first, c(8 * i)))));
    if (!hasUpper && !hasLower && !hasTail)
      continue;
    KeyRange seen = seenBy(rows.back());
    ends.push_back(sub(seen.end, ownKey));
    begins.push_back(sub(seen.begin, ownKey));
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// The scores before the common factor, in the order of the sums.
SmallVector<Value> WgmmaAttentionEmitter::coreOf(Value scores, Value firstKey) {
  auto count = unsigned(cast<LLVM::LLVMStructType>(scores.getType()).getBody().size());
  SmallVector<Value> raw;
  for (unsigned i = 0; i < count; ++i)
    raw.push_back(LLVM::ExtractValueOp::create(b, scores, int64_t(i)));
  if (!a.isEvaluated())
    return raw;
  // Neighbours are evaluated together where rows of keys have an even number of them.
  unsigned lanes = a.keyCount >= 0 && a.keyCount % 2 == 0 ? 2 : 1;
  Value last = f.e.subIndex(keyCount, f.e.index(lanes));
  Value base = add(firstKey, mul(band(lane, 3), 2));
  SmallVector<Value> found(count);
  f.e.setLanes(lanes);
  Coords rowAt[kRows];
  for (unsigned row = 0; row < kRows; ++row)
    rowAt[row] = rowCoords(rows[row]);
  for (unsigned first = 0; first < count; first += 4)
    for (unsigned part = 0; part < 2 / lanes; ++part) {
      Value key = toIndex(add(base, c(2 * int64_t(first) + part)));
      if (hasTail)
        key = f.minIndex(key, last);
      f.e.bindAligned(key);
      for (unsigned row = 0; row < kRows; ++row) {
        unsigned i = first + 2 * row + part;
        Value sums =
            lanes == 1
                ? raw[i]
                : Value(vector::FromElementsOp::create(b, VectorType::get({2}, b.getF32Type()),
                                                       ValueRange{raw[i], raw[i + 1]}));
        Coords at(rowAt[row]);
        at.push_back(lanes == 1 ? Coord::uniform(key) : Coord::affine(key, 1));
        f.e.bindProvider(form.scores.getResult(), [sums](ArrayRef<Coord>) { return sums; });
        Value score = lanes == 1 ? f.e.eval(a.core, at) : f.e.evalVector(a.core, at);
        f.failed |= !score;
        for (unsigned l = 0; l < lanes; ++l)
          found[i + l] = !score       ? raw[i]
                         : lanes == 1 ? score
                                      : Value(vector::ExtractOp::create(b, score, int64_t(l)));
      }
    }
  f.e.setLanes(1);
  return found;
}

/// For 32 keys each from `firstKey` on whether the lane's key among them is seen, as far as that is
/// the same for all rows.
SmallVector<Value> WgmmaAttentionEmitter::seenKeys(Value firstKey) {
  SmallVector<Value> seen;
  if (a.conditions.empty())
    return seen;
  for (unsigned first = 0; first < t.keys; first += GpuArch::warp) {
    Value key = toIndex(add(add(firstKey, lane), c(first)));
    // The last lanes of a tile that is no multiple of a warp have keys behind it.
    if (hasTail || first + GpuArch::warp > t.keys)
      key = f.minIndex(key, f.e.subIndex(keyCount, f.e.index(1)));
    Coords at = uniform(batch);
    at.resize(tensorType(form.score).getRank() - 1, Coord::uniform(f.e.index(0)));
    at.push_back(Coord::uniform(key));
    Value all;
    for (const KeyCondition &condition : a.conditions) {
      Value holds = emitKeyCondition(f.e, condition, at);
      f.failed |= !holds;
      if (holds)
        all = all ? Value(arith::AndIOp::create(b, all, holds)) : holds;
    }
    seen.push_back(all ? all : Value(arith::ConstantOp::create(b, b.getBoolAttr(true))));
  }
  return seen;
}

/// What is not seen becomes minus infinity. Where all is, as mostly, a warp finds that out at once.
void WgmmaAttentionEmitter::hide(MutableArrayRef<Value> scores, ValueRange seen) {
  if (seen.empty())
    return;
  SmallVector<Value> words;
  Value every;
  for (Value own : seen) {
    words.push_back(
        NVVM::VoteSyncOp::create(b, b.getI32Type(), c(-1), own, NVVM::VoteSyncKind::ballot));
    every = every ? Value(arith::AndIOp::create(b, every, words.back())) : words.back();
  }
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(scores)), equal(every, c(-1)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, scores);
  b.setInsertionPointToStart(branch.elseBlock());
  Value none = number(kNone), ownKey = mul(band(lane, 3), 2);
  for (Value &word : words)
    word = arith::ShRUIOp::create(b, word, ownKey);
  SmallVector<Value> left;
  for (unsigned i = 0; i < scores.size(); ++i) {
    unsigned key = i / 4 * 8 + i % 2; // without the lane's first one
    Value bit = band(words[key / GpuArch::warp], int64_t(1) << key % GpuArch::warp);
    left.push_back(arith::SelectOp::create(b, equal(bit, c(0)), none, scores[i]));
  }
  scf::YieldOp::create(b, left);
  llvm::copy(branch.getResults(), scores.begin());
}

/// What rows do not see becomes minus infinity.
void WgmmaAttentionEmitter::mask(MutableArrayRef<Value> scores, Value firstKey) {
  Value none = number(kNone);
  for (unsigned row = 0; row < kRows; ++row) {
    Value end = sub(ends[row], firstKey), begin = sub(begins[row], firstKey);
    for (unsigned i = 0; i < scores.size(); ++i) {
      // Of a tail that is the same for all, eight keys have its end in them at most.
      bool isWhole = firstKeys < t.keys && i / 4 < unsigned(a.keyCount % t.keys) / 8;
      if (i % 4 / 2 != row || isWhole)
        continue;
      Value key = c(int64_t(i / 4) * 8 + i % 2);
      auto hide = [&](arith::CmpIPredicate seen, Value bound) {
        Value isSeen = arith::CmpIOp::create(b, seen, key, bound);
        scores[i] = arith::SelectOp::create(b, isSeen, scores[i], none);
      };
      if (hasUpper || hasTail)
        hide(arith::CmpIPredicate::slt, end);
      if (hasLower)
        hide(arith::CmpIPredicate::sge, begin);
    }
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// To within two units of the last place, small numbers 0: weights are rounded to 16 bits.
Value WgmmaAttentionEmitter::exp2(Value x) {
  return LLVM::InlineAsmOp::create(b, b.getF32Type(), x, "ex2.approx.ftz.f32 $0, $1;", "=f,f",
                                   /*has_side_effects=*/false, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

/// By what the scores of a row are shifted: their largest, or 0 where that is minus infinity.
Value WgmmaAttentionEmitter::shiftOf(Value top) {
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, top, number(kNone));
  return arith::SelectOp::create(b, isNone, number(0), top);
}

/// `v` combined over the four lanes of a row.
Value WgmmaAttentionEmitter::overRow(Value v, function_ref<Value(Value, Value)> combine) {
  for (unsigned distance : {1u, 2u})
    v = combine(v, exchangeLanes(b, v, distance));
  return v;
}

static Value tree(SmallVector<Value> v, function_ref<Value(Value, Value)> combine) {
  while (v.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < v.size(); i += 2)
      next.push_back(combine(v[i], v[i + 1]));
    if (v.size() % 2)
      next.push_back(v.back());
    v = next;
  }
  return v[0];
}

/// The weights of a block of keys, with what they make of the rows' tops and totals.
void WgmmaAttentionEmitter::softmax(Value given, Value firstKey, ValueRange seen, State &state,
                                    bool isFirst, bool isMasked) {
  SmallVector<Value> scores = coreOf(given, firstKey), weights(scores.size());
  hide(scores, seen);
  if (isMasked)
    mask(scores, firstKey);
  auto most = [&](Value x, Value y) -> Value { return arith::MaxNumFOp::create(b, x, y); };
  auto sum = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
  Value factor = number(a.scale * kLog2E);
  State next = state;
  next.tops.clear();
  next.totals.clear();
  next.weights.clear();
  next.corrections.clear();
  for (unsigned row = 0; row < kRows; ++row) {
    SmallVector<Value> own;
    SmallVector<unsigned> place;
    for (unsigned i = 0; i < scores.size(); ++i)
      if (i % 4 / 2 == row) {
        own.push_back(scores[i]);
        place.push_back(i);
      }
    Value top = overRow(tree(own, most), most);
    if (!isFirst)
      top = most(top, state.tops[row]);
    Value shift = shiftOf(top), each = factor;
    Value term = arith::NegFOp::create(b, arith::MulFOp::create(b, shift, factor));
    if (a.isEvaluated()) {
      ShiftedPowers lossless = withoutOverflow(b, shift, factor, term);
      each = lossless.factor;
      term = lossless.term;
    }
    auto weightOf = [&](Value score) { return exp2(math::FmaOp::create(b, score, each, term)); };
    for (auto [i, score] : llvm::zip(place, own))
      score = weights[i] = weightOf(score);
    Value total = tree(own, sum);
    if (!isFirst) {
      next.corrections.push_back(weightOf(state.tops[row]));
      total = math::FmaOp::create(b, state.totals[row], next.corrections.back(), total);
    }
    next.tops.push_back(top);
    next.totals.push_back(total);
  }
  for (unsigned i = 0; i < weights.size(); i += 2) {
    Value pair = vector::FromElementsOp::create(b, VectorType::get({2}, b.getF32Type()),
                                                ValueRange{weights[i], weights[i + 1]});
    Value narrow = arith::TruncFOp::create(b, VectorType::get({2}, byValues.element), pair);
    next.weights.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), narrow));
  }
  next.weights.resize(t.keys / 4, c(0)); // of keys past the last one
  state = next;
}

/// The results of each row times its factor.
Value WgmmaAttentionEmitter::scaled(Value results, ValueRange factors) {
  Value next = LLVM::PoisonOp::create(b, results.getType());
  for (int64_t i = 0; i < a.width / 2; ++i) {
    Value result = LLVM::ExtractValueOp::create(b, results, i);
    result = arith::MulFOp::create(b, result, factors[i % 4 / 2]);
    next = LLVM::InsertValueOp::create(b, next, result, i);
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// One over the region's divisor, for its shift.
WgmmaAttentionEmitter::RowScale WgmmaAttentionEmitter::finalScale(Value row, Value top,
                                                                  Value total) {
  Coords at = rowCoords(row);
  auto perRow = [&](Value value) {
    Coords coords(at);
    if (tensorType(value).getRank() > static_cast<int64_t>(at.size()))
      coords.push_back(Coord::uniform(f.e.index(0)));
    return coords;
  };
  Value ownShift = shiftOf(top);
  f.e.bindProvider(form.top.getResult(), [top](ArrayRef<Coord>) { return top; });
  Value shift = f.e.eval(form.shift, perRow(form.shift));
  if (!shift)
    return {};
  Value factor = shift == top
                     ? number(1)
                     : Value(math::ExpOp::create(b, arith::SubFOp::create(b, ownShift, shift)));
  Value divided = arith::MulFOp::create(b, total, factor);
  f.e.bindProvider(form.sum.getResult(), [divided](ArrayRef<Coord>) { return divided; });
  Value divisor = f.e.eval(form.divisor, perRow(form.divisor));
  if (!divisor)
    return {};
  RowScale scale{arith::DivFOp::create(b, factor, divisor), {}};
  if (form.dropsNaN) {
    Value weights = arith::DivFOp::create(b, divided, divisor);
    scale.isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, weights, weights);
  }
  return scale;
}

/// Eight neighbours at a time, where the width has as many as four lanes store at once, else two: a
/// lane gets a block of eight columns for its pairs of four of them.
void WgmmaAttentionEmitter::store(const State &state) {
  auto sum = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
  // Of no keys the sum is 0.
  Value hasNone = a.keyCount >= 0 ? Value() : equal(to32(keyCount), c(0));
  constexpr int64_t kBlock = 8, kLanes = 4; // columns; lanes that have a row
  bool wide = a.width % (kBlock * kLanes) == 0;
  unsigned neighbours = wide ? kBlock : 2;
  Value ownColumn = mul(band(lane, kLanes - 1), neighbours);
  for (unsigned row = 0; row < kRows; ++row) {
    Value total = overRow(state.totals[row], sum);
    Value top = arith::MulFOp::create(b, state.tops[row], number(a.scale));
    // The lane's results in the order in which it stores them; before that all lanes exchange them.
    SmallVector<Value> own;
    for (int64_t i = 2 * row; i < a.width / 2; i += 4)
      for (int64_t part : {0, 1})
        own.push_back(LLVM::ExtractValueOp::create(b, state.results, i + part));
    for (size_t first = 0; wide && first < own.size(); first += kBlock)
      exchangeBlocks(MutableArrayRef(own).slice(first, kBlock));
    auto storeRow = [&] {
      f.e.forget();
      RowScale finally = finalScale(rows[row], top, total);
      f.failed |= !finally.factor;
      if (f.failed)
        return;
      if (hasNone)
        finally.isNaN = finally.isNaN ? arith::OrIOp::create(b, finally.isNaN, hasNone) : hasNone;
      Value linear = f.e.index(0);
      for (auto [i, extent] : llvm::zip(rowAxesAt(rows[row]), values.rows))
        linear = f.e.addIndex(f.e.mulIndex(linear, extent), i);
      f.e.setLanes(neighbours);
      for (size_t first = 0; first < own.size(); first += neighbours) {
        SmallVector<Value> run;
        for (Value result : ArrayRef(own).slice(first, neighbours)) {
          result = arith::MulFOp::create(b, result, finally.factor);
          if (finally.isNaN)
            result = arith::SelectOp::create(b, finally.isNaN, number(0), result);
          run.push_back(result);
        }
        Value column = toIndex(add(ownColumn, c(int64_t(first) * kLanes)));
        f.e.bindAligned(column);
        values.store(
            f, batchNumber, linear, Coord::affine(column, 1),
            vector::FromElementsOp::create(b, VectorType::get({neighbours}, b.getF32Type()), run));
      }
      f.e.setLanes(1);
    };
    if (fillsTiles())
      f.e.nested(storeRow);
    else
      f.when(f.less(rows[row], rowCount), storeRow);
  }
}

/// `own`: the lane's pairs of four blocks of eight columns. It gets all pairs of one of the blocks,
/// that which has the lane's number among the row's four: lanes that are two apart exchange two
/// blocks, then neighbours one.
void WgmmaAttentionEmitter::exchangeBlocks(MutableArrayRef<Value> own) {
  auto isSet = [&](int64_t bit) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, band(lane, bit), c(0));
  };
  auto choose = [&](Value which, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, which, x, y);
  };
  for (unsigned distance : {2u, 1u}) {
    Value isUpper = isSet(distance);
    // Of each run of so many words a lane keeps a half, and gets the same of the other lane.
    SmallVector<Value> next(own.size());
    for (size_t first = 0; first < own.size(); first += 4 * distance)
      for (unsigned i = 0; i < 2 * distance; ++i) {
        Value low = own[first + i], high = own[first + 2 * distance + i];
        Value kept = choose(isUpper, high, low);
        Value got = exchangeLanes(b, choose(isUpper, low, high), distance);
        next[first + i] = choose(isUpper, got, kept);
        next[first + 2 * distance + i] = choose(isUpper, kept, got);
      }
    llvm::copy(next, own.begin());
  }
}
