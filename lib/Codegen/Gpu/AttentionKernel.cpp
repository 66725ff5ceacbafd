//===- AttentionKernel.cpp - softmax(scores) * values on GPUs -------------===//
//
// The general form of attention, for any type and every architecture: a block keeps the results
// of a tile of queries in registers and goes over the keys, a tile at a time. The scores of a
// tile are products as in ProductKernel.cpp, from slices of both operands in shared memory. What
// the region makes of each is computed in the registers where they are; the threads of a row find
// its largest score and its sum by shuffles, scale what they have by exp(old top - new top), and
// leave the exponentials in shared memory, where they are an operand of the second product.
//
// Tiles of keys that no query of the block sees are skipped (KeyRange.h). As on the CPU, a row
// that has seen nothing but minus infinity is shifted by 0, NaNs come by way of the sum, and what
// the region says of the shift and the divisor is applied at the end.
//
//===----------------------------------------------------------------------===//
#include "OperandTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Codegen/Common/KeyRange.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// What a thread knows of its rows: all threads of a row know the same top and sum.
struct RowState {
  SmallVector<Value> tops, sums, results; ///< results: row by row

  SmallVector<Value> all() const {
    SmallVector<Value> values(tops);
    llvm::append_range(values, sums);
    llvm::append_range(values, results);
    return values;
  }
  static RowState of(ValueRange values, unsigned rows) {
    return {llvm::to_vector(values.take_front(rows)), llvm::to_vector(values.slice(rows, rows)),
            llvm::to_vector(values.drop_front(2 * rows))};
  }
};

class AttentionEmitter {
public:
  AttentionEmitter(device::KernelFrame &f, AttentionForm form)
      : f(f), b(f.b), s(f.schedule), form(form), scores(productFrom(f, form.scores)),
        values(productFrom(f, form.values)), f32(b.getF32Type()), own(s.getRows() / side),
        width(tensorType(this->form.values.getResult()).getShape().back()),
        bounds(keyBounds(form.score)), keySlice{s.getColumns(), s.getDepth(), 4},
        querySlice{s.getRows(), s.getDepth(), 4},
        valueSlice{unsigned(llvm::alignTo(width, side * 4)), s.getDepth(), 4},
        weightTile{s.getRows(), s.getColumns(), 4} {}
  void run();

private:
  void allocate();
  KeyRange seenKeys();
  SmallVector<Value> carry(Value low, Value high, unsigned step, ValueRange init,
                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  SmallVector<Value> multiplyKeys(Value firstKey);
  Value scoreAt(unsigned i, Value key, Value raw);
  RowState visit(Value firstKey, RowState state);
  SmallVector<Value> multiplyValues(Value firstKey, ArrayRef<Value> results);
  void addProducts(SmallVector<Value> &sums, ArrayRef<Value> left, ArrayRef<Value> right);
  /// What the sums of a row are multiplied by; where `isNaN` (null: never) they are 0.
  struct RowScale {
    Value factor, isNaN;
  };
  RowScale finalScale(unsigned i, Value top, Value sum);
  void store(const RowState &state);
  Coords rowCoords(Value row);

  Value number(double v) { return arith::ConstantOp::create(b, b.getF32FloatAttr(v)); }
  Value larger(Value x, Value y) {
    Value isLarger = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
    return arith::SelectOp::create(b, isLarger, x, y);
  }
  Value isNone(Value top) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, top, none); }
  Value ownShift(Value top) { return arith::SelectOp::create(b, isNone(top), number(0), top); }
  Value expOfDifference(Value x, Value y) {
    return math::ExpOp::create(b, arith::SubFOp::create(b, x, y));
  }
  /// `v` combined over the threads of a row, which are neighbours.
  Value overRow(Value v, llvm::function_ref<Value(Value, Value)> combine) {
    for (unsigned distance = 1; distance < side; distance *= 2)
      v = combine(v, exchangeLanes(b, v, distance));
    return v;
  }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Schedule s;
  AttentionForm form;
  Product scores, values;
  Type f32;
  unsigned own; ///< rows of a thread, and keys of a tile
  int64_t width;
  SmallVector<KeyBound> bounds;
  TileShape keySlice, querySlice, valueSlice, weightTile;
  Value none, rows, keys, depth;
  Value batchNumber, rowTile, threadRow, threadColumn;
  Coords batch;
  Value queryShared, keyShared, valueShared, weightShared;
  static constexpr unsigned side = 16; ///< threads of a row, and rows of threads
};

} // namespace

SmallVector<Value>
AttentionEmitter::carry(Value low, Value high, unsigned step, ValueRange init,
                        llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, low, high, f.e.index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      f.e.nested([&] { return body(loop.getInductionVar(), loop.getRegionIterArgs()); });
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

void AttentionEmitter::addProducts(SmallVector<Value> &sums, ArrayRef<Value> left,
                                   ArrayRef<Value> right) {
  for (auto [i, l] : llvm::enumerate(left))
    for (auto [j, r] : llvm::enumerate(right)) {
      Value &sum = sums[i * right.size() + j];
      sum = emitCombine(b, prim::ReduceKind::sum, f32,
                        emitCombine(b, prim::ReduceKind::prod, f32, l, r), sum);
    }
}

/// The thread's scores of the tile of keys: row by row.
SmallVector<Value> AttentionEmitter::multiplyKeys(Value firstKey) {
  OperandTile left(f, sourceOf(scores, true, batch), querySlice, f32, queryShared, rowTile);
  OperandTile right(f, sourceOf(scores, false, batch), keySlice, f32, keyShared, firstKey);
  SmallVector<Value> zeros(own * own, number(0));
  Value slice = f.e.index(0);
  return carry(f.e.index(0), depth, s.getDepth(), zeros, [&](Value round, ValueRange in) {
    SmallVector<Value> sums(in), l = left.read(round, depth), r = right.read(round, depth);
    f.barrier(); // all have read the slice before
    left.write(l, slice);
    right.write(r, slice);
    f.barrier();
    for (unsigned k = 0; k < s.getDepth(); ++k)
      addProducts(sums, left.load(slice, k, threadRow), right.load(slice, k, threadColumn));
    return sums;
  });
}

/// The index of a row in the score's shape, without the axis of the keys.
Coords AttentionEmitter::rowCoords(Value row) {
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

KeyRange AttentionEmitter::seenKeys() {
  auto i64 = [&](Value v) -> Value { return arith::IndexCastOp::create(b, b.getI64Type(), v); };
  KeyRange all{i64(f.e.index(0)), i64(keys)};
  if (bounds.empty())
    return all;
  // The lanes of each warp look at all rows.
  using K = prim::ReduceKind;
  Value lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  KeyRange seen;
  for (unsigned first = 0; first < s.getRows(); first += GpuArch::warp) {
    Value row = f.e.addIndex(rowTile, f.e.addIndex(lane, f.e.index(first)));
    row = arith::MinUIOp::create(b, row, f.e.subIndex(rows, f.e.index(1)));
    KeyRange one = emitKeyRange(f.e, bounds, rowCoords(row), all);
    if (!one.begin) {
      f.failed = true;
      return all;
    }
    seen.begin =
        seen.begin ? emitCombine(b, K::min, b.getI64Type(), seen.begin, one.begin) : one.begin;
    seen.end = seen.end ? emitCombine(b, K::max, b.getI64Type(), seen.end, one.end) : one.end;
  }
  return {reduceWarp(b, seen.begin, K::min, b.getI64Type()),
          reduceWarp(b, seen.end, K::max, b.getI64Type())};
}

/// What the softmax is of, for the thread's row `i`; past the last key minus infinity.
Value AttentionEmitter::scoreAt(unsigned i, Value key, Value raw) {
  return f.e.nested([&]() -> Value {
    f.e.forget();
    auto clamped = [&](Value v, Value extent) -> Value {
      return arith::MinUIOp::create(b, v, f.e.subIndex(extent, f.e.index(1)));
    };
    Value row = f.e.addIndex(f.e.addIndex(rowTile, threadRow), f.e.index(i));
    Coords at = rowCoords(clamped(row, rows));
    at.push_back(Coord::uniform(clamped(key, keys)));
    f.e.bindProvider(form.scores.getResult(), [raw](ArrayRef<Coord>) { return raw; });
    Value score = f.e.eval(form.score, at);
    if (!score) {
      f.failed = true;
      return raw;
    }
    return arith::SelectOp::create(b, f.less(key, keys), score, none);
  });
}

RowState AttentionEmitter::visit(Value firstKey, RowState state) {
  SmallVector<Value> sums = multiplyKeys(firstKey);
  unsigned columns = state.results.size() / own;
  SmallVector<SmallVector<Value>> weights(own); // by key, then row
  for (unsigned i = 0; i < own; ++i) {
    SmallVector<Value> row;
    Value top = state.tops[i];
    for (unsigned j = 0; j < own; ++j) {
      Value key = f.e.addIndex(f.e.addIndex(firstKey, threadColumn), f.e.index(j));
      row.push_back(scoreAt(i, key, sums[i * own + j]));
      top = larger(row.back(), top);
    }
    top = overRow(top, [&](Value x, Value y) { return larger(x, y); });
    Value shift = ownShift(top), correction = expOfDifference(state.tops[i], shift);
    Value sum = number(0);
    for (unsigned j = 0; j < own; ++j) {
      weights[j].push_back(expOfDifference(row[j], shift));
      sum = arith::AddFOp::create(b, sum, weights[j].back());
    }
    sum = overRow(sum, [&](Value x, Value y) { return arith::AddFOp::create(b, x, y); });
    Value old = arith::MulFOp::create(b, state.sums[i], correction);
    state.sums[i] = arith::AddFOp::create(b, old, sum);
    state.tops[i] = top;
    for (unsigned j = 0; j < columns; ++j) {
      Value &result = state.results[i * columns + j];
      result = arith::MulFOp::create(b, result, correction);
    }
  }
  // All have read the weights before: barriers follow in the products of the keys.
  for (unsigned j = 0; j < own; ++j) {
    Value key = f.e.addIndex(threadColumn, f.e.index(j));
    Value place = f.e.addIndex(f.e.mulIndex(key, f.e.index(weightTile.pitch())), threadRow);
    Value packed = vector::FromElementsOp::create(b, VectorType::get({own}, f32), weights[j]);
    LLVM::StoreOp::create(b, packed, f.at(weightShared, f32, place), own * 4);
  }
  state.results = multiplyValues(firstKey, state.results);
  return state;
}

SmallVector<Value> AttentionEmitter::multiplyValues(Value firstKey, ArrayRef<Value> results) {
  OperandTile right(f, sourceOf(values, false, batch), valueSlice, f32, valueShared, f.e.index(0));
  Value slice = f.e.index(0);
  auto weightType = VectorType::get({own}, f32);
  return carry(
      slice, f.e.index(s.getColumns()), s.getDepth(), results, [&](Value round, ValueRange in) {
        SmallVector<Value> sums(in), r = right.read(f.e.addIndex(firstKey, round), keys);
        f.barrier(); // all have written their weights, and read the slice before
        right.write(r, slice);
        f.barrier();
        for (unsigned k = 0; k < s.getDepth(); ++k) {
          Value place = f.e.addIndex(
              f.e.mulIndex(f.e.addIndex(round, f.e.index(k)), f.e.index(weightTile.pitch())),
              threadRow);
          Value packed =
              LLVM::LoadOp::create(b, weightType, f.at(weightShared, f32, place), own * 4);
          SmallVector<Value> left, columns;
          for (unsigned i = 0; i < own; ++i)
            left.push_back(vector::ExtractOp::create(b, packed, int64_t(i)));
          for (unsigned first = 0; first < valueSlice.width; first += side * 4)
            llvm::append_range(columns,
                               right.load(slice, k, f.e.addIndex(threadColumn, f.e.index(first))));
          addProducts(sums, left, columns);
        }
        return sums;
      });
}

/// One over the region's divisor, for its shift.
AttentionEmitter::RowScale AttentionEmitter::finalScale(unsigned i, Value top, Value sum) {
  Value row = f.e.addIndex(f.e.addIndex(rowTile, threadRow), f.e.index(i));
  row = arith::MinUIOp::create(b, row, f.e.subIndex(rows, f.e.index(1)));
  Coords at = rowCoords(row);
  auto perRow = [&](Value value) {
    Coords coords(at);
    if (tensorType(value).getRank() > static_cast<int64_t>(at.size()))
      coords.push_back(Coord::uniform(f.e.index(0)));
    return coords;
  };
  f.e.bindProvider(form.top.getResult(), [top](ArrayRef<Coord>) { return top; });
  Value shift = f.e.eval(form.shift, perRow(form.shift));
  if (!shift)
    return {};
  Value factor = shift == top ? number(1) : expOfDifference(ownShift(top), shift);
  Value scaled = arith::MulFOp::create(b, sum, factor);
  f.e.bindProvider(form.sum.getResult(), [scaled](ArrayRef<Coord>) { return scaled; });
  Value divisor = f.e.eval(form.divisor, perRow(form.divisor));
  if (!divisor)
    return {};
  RowScale scale{arith::DivFOp::create(b, factor, divisor), {}};
  if (form.dropsNaN) {
    Value weights = arith::DivFOp::create(b, scaled, divisor);
    scale.isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, weights, weights);
  }
  return scale;
}

void AttentionEmitter::store(const RowState &state) {
  unsigned perRow = state.results.size() / own;
  bool whole = width % 4 == 0 && llvm::none_of(f.yield().getValues(), [](Value v) {
                 return v.getDefiningOp<prim::TransposeOp>();
               });
  unsigned lanes = whole ? 4 : 1;
  for (unsigned i = 0; i < own; ++i) {
    Value row = f.e.addIndex(f.e.addIndex(rowTile, threadRow), f.e.index(i));
    f.when(f.less(row, rows), [&] {
      f.e.forget();
      RowScale scale = finalScale(i, state.tops[i], state.sums[i]);
      f.failed |= !scale.factor;
      for (unsigned n = 0; n < perRow && scale.factor; n += lanes) {
        Value column = f.e.addIndex(threadColumn, f.e.index(n / 4 * side * 4 + n % 4));
        f.when(f.less(column, f.e.index(width)), [&] {
          f.e.setLanes(lanes);
          SmallVector<Value> scaled;
          for (unsigned lane = 0; lane < lanes; ++lane) {
            Value sum = state.results[i * perRow + n + lane];
            Value result = arith::MulFOp::create(b, sum, scale.factor);
            if (scale.isNaN)
              result = arith::SelectOp::create(b, scale.isNaN, number(0), result);
            scaled.push_back(result);
          }
          Value total =
              lanes > 1
                  ? Value(vector::FromElementsOp::create(b, VectorType::get({lanes}, f32), scaled))
                  : scaled[0];
          values.store(f, batchNumber, row, runCoords(f, column, values.columns, lanes), total);
        });
        f.e.setLanes(1);
      }
    });
  }
}

void AttentionEmitter::run() {
  none = number(-std::numeric_limits<float>::infinity());
  rows = f.volume(scores.rows);
  keys = f.volume(scores.columns);
  depth = f.volume(scores.inner);
  Value tiles =
      f.e.divIndex(f.e.addIndex(rows, f.e.index(s.getRows() - 1)), f.e.index(s.getRows()));
  SmallVector<Value> place = f.delinearize(f.block, {f.volume(scores.batch), tiles});
  batchNumber = place[0];
  batch = uniform(f.delinearize(batchNumber, scores.batch));
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  threadRow = f.e.mulIndex(f.e.divIndex(f.thread, f.e.index(side)), f.e.index(own));
  threadColumn = f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(side)), f.e.index(own));
  queryShared = f.shared(f32, querySlice.elements(), "queries");
  keyShared = f.shared(f32, keySlice.elements(), "keys");
  valueShared = f.shared(f32, valueSlice.elements(), "values");
  weightShared = f.shared(f32, weightTile.elements(), "weights");

  KeyRange seen = seenKeys();
  auto toIndex = [&](Value v) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), v);
  };
  Value step = f.e.index(s.getColumns());
  Value begin = f.e.mulIndex(f.e.divIndex(toIndex(seen.begin), step), step);
  RowState state;
  state.tops.assign(own, none);
  state.sums.assign(own, number(0));
  state.results.assign(own * valueSlice.width / side, number(0));
  SmallVector<Value> all = carry(
      begin, toIndex(seen.end), s.getColumns(), state.all(),
      [&](Value firstKey, ValueRange in) { return visit(firstKey, RowState::of(in, own)).all(); });
  if (!f.failed)
    store(RowState::of(all, own));
}

void device::emitAttentionKernel(KernelFrame &f) {
  AttentionEmitter(f, attentionOf(f.launch)).run();
}
