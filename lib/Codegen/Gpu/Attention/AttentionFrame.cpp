//===- AttentionFrame.cpp - What kernels of attention start from ----------===//
#include "AttentionFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

SmallVector<Value> RunningRows::all() const {
  SmallVector<Value> values(tops);
  llvm::append_range(values, sums);
  llvm::append_range(values, results);
  return values;
}

RunningRows RunningRows::of(ValueRange values, unsigned rows) {
  return {llvm::to_vector(values.take_front(rows)), llvm::to_vector(values.slice(rows, rows)),
          llvm::to_vector(values.drop_front(2 * rows))};
}

AttentionFrame::AttentionFrame(KernelFrame &f, AttentionForm given)
    : f(f), form(std::move(given)), scores(productFrom(f, form.scores)),
      values(productFrom(f, form.values)),
      width(tensorType(form.values.getResult()).getShape().back()), b(f.b),
      bounds(keyBounds(form.score)) {
  batches = f.volume(scores.batch);
  rows = f.volume(scores.rows);
  keys = f.volume(scores.columns);
  depth = f.volume(scores.inner);
}

void AttentionFrame::enter(Value number) {
  batchNumber = number;
  batch = uniform(f.delinearize(number, scores.batch));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value AttentionFrame::number(double v) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(v)));
}

Value AttentionFrame::larger(Value x, Value y) { return arith::MaxNumFOp::create(b, x, y); }

Value AttentionFrame::ownShift(Value top) {
  Value none = number(-std::numeric_limits<double>::infinity());
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, top, none);
  return arith::SelectOp::create(b, isNone, number(0), top);
}

constexpr double kLog2E = 1.4426950408889634;

ShiftedPowers device::withoutOverflow(ImplicitLocOpBuilder &b, Value shift, Value factor,
                                      Value term) {
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(v));
  };
  Value isLost = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, term),
                                       constant(std::numeric_limits<float>::infinity()));
  Value negative = arith::NegFOp::create(b, shift);
  return {arith::SelectOp::create(b, isLost, constant(1), factor),
          arith::SelectOp::create(b, isLost, negative, term)};
}

Value AttentionFrame::power(Value x, const ShiftedPowers &shifted) {
  return exp2Approximately(b, math::FmaOp::create(b, x, shifted.factor, shifted.term));
}

ShiftedPowers AttentionFrame::shiftedBy(Value shift) {
  Value term = arith::MulFOp::create(b, shift, number(-kLog2E));
  return withoutOverflow(b, shift, number(kLog2E), term);
}

Value AttentionFrame::expOfDifference(Value x, Value y) {
  return math::ExpOp::create(b, arith::SubFOp::create(b, x, y));
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Coords AttentionFrame::rowAt(Value row) {
  row = arith::MinUIOp::create(b, row, f.e.subIndex(rows, f.e.index(1)));
  auto shape = tensorType(form.score).getShape();
  if (tensorType(form.scores.getResult()).getShape() == shape) {
    Coords at(batch);
    at.append(uniform(f.delinearize(row, scores.rows)));
    return at;
  }
  SmallVector<Value> extents;
  for (unsigned axis = 0; axis + 1 < shape.size(); ++axis)
    extents.push_back(f.e.extent(form.score, axis));
  return uniform(f.delinearize(f.e.addIndex(f.e.mulIndex(batchNumber, rows), row), extents));
}

std::pair<Value, Value> AttentionFrame::seenKeys(Value first, unsigned count) {
  if (bounds.empty())
    return {f.e.index(0), keys};
  Type i64 = b.getI64Type();
  auto wide = [&](Value v) -> Value { return arith::IndexCastOp::create(b, i64, v); };
  auto narrow = [&](Value v) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), v);
  };
  // The lanes of each warp look at all rows.
  using K = prim::ReduceKind;
  KeyRange all{wide(f.e.index(0)), wide(keys)}, seen;
  Value lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  for (unsigned next = 0; next < count; next += GpuArch::warp) {
    Value row = f.e.addIndex(first, f.e.addIndex(lane, f.e.index(next)));
    KeyRange one = emitKeyRange(f.e, bounds, rowAt(row), all);
    if (!one.begin) {
      f.failed = true;
      return {f.e.index(0), keys};
    }
    seen.begin = seen.begin ? emitCombine(b, K::min, i64, seen.begin, one.begin) : one.begin;
    seen.end = seen.end ? emitCombine(b, K::max, i64, seen.end, one.end) : one.end;
  }
  Value begin = reduceWarp(b, seen.begin, K::min, i64), end = reduceWarp(b, seen.end, K::max, i64);
  return {narrow(arith::MinSIOp::create(b, begin, all.end)),
          narrow(arith::MaxSIOp::create(b, end, all.begin))};
}

unsigned AttentionFrame::scoreLanes(unsigned most) const {
  int64_t extent = getConstantIntValue(keys).value_or(1);
  return static_cast<unsigned>(std::min<int64_t>(extent & -extent, most));
}

Value AttentionFrame::score(ArrayRef<Coord> row, Value key, unsigned lanes, Value products) {
  return f.e.nested([&]() -> Value {
    f.e.setLanes(lanes);
    Coords at(row);
    at.append(runCoords(f, key, scores.columns, lanes));
    f.e.bindProvider(form.scores.getResult(), [products](ArrayRef<Coord>) { return products; });
    Value score = f.e.evalVector(form.score, at);
    f.e.setLanes(1);
    f.failed |= !score;
    return score ? score : products;
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// One over the region's divisor, for its shift.
AttentionFrame::RowScale AttentionFrame::finalScale(ArrayRef<Coord> row, Value top, Value sum) {
  f.e.forget();
  auto perRow = [&](Value value) {
    Coords coords(row);
    if (tensorType(value).getRank() > static_cast<int64_t>(row.size()))
      coords.push_back(Coord::uniform(f.e.index(0)));
    return coords;
  };
  f.e.bindProvider(form.top.getResult(), [top](ArrayRef<Coord>) { return top; });
  Value shift = f.e.eval(form.shift, perRow(form.shift));
  if (!shift) {
    f.failed = true;
    return {};
  }
  Value factor = shift == top ? number(1) : expOfDifference(ownShift(top), shift);
  Value scaled = arith::MulFOp::create(b, sum, factor);
  f.e.bindProvider(form.sum.getResult(), [scaled](ArrayRef<Coord>) { return scaled; });
  Value divisor = f.e.eval(form.divisor, perRow(form.divisor));
  if (!divisor) {
    f.failed = true;
    return {};
  }
  RowScale scale{arith::DivFOp::create(b, factor, divisor), {}};
  if (form.dropsNaN) {
    Value weights = arith::DivFOp::create(b, scaled, divisor);
    scale.isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, weights, weights);
  }
  return scale;
}

Value AttentionFrame::scaled(Value sums, const RowScale &scale) {
  Value factor = scale.factor, zero = number(0);
  if (auto type = dyn_cast<VectorType>(sums.getType())) {
    factor = vector::BroadcastOp::create(b, type, factor);
    zero = vector::BroadcastOp::create(b, type, zero);
  }
  Value result = arith::MulFOp::create(b, sums, factor);
  return scale.isNaN ? Value(arith::SelectOp::create(b, scale.isNaN, zero, result)) : result;
}

unsigned AttentionFrame::storeLanes(unsigned most) {
  bool keepsColumns = llvm::all_of(f.yield().getValues(), [](Value v) {
    auto transpose = v.getDefiningOp<prim::TransposeOp>();
    return !transpose ||
           transpose.getPermutation().back() + 1 == int64_t(transpose.getPermutation().size());
  });
  return keepsColumns ? static_cast<unsigned>(std::min<int64_t>(width & -width, most)) : 1;
}

void AttentionFrame::store(Value row, Value column, unsigned lanes, Value results) {
  f.e.setLanes(lanes);
  values.store(f, batchNumber, row, runCoords(f, column, values.columns, lanes), results);
  f.e.setLanes(1);
}
