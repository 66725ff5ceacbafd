//===- AttentionKernel.cpp - softmax(scores) * values on GPUs -------------===//
//
// The general form of attention, for any type and every architecture: a block keeps the results
// of a tile of queries in registers and goes over the keys, a tile at a time. The scores of a
// tile are products as in ProductKernel.cpp, from slices of both operands in shared memory. What
// the region makes of each is computed in the registers where they are; the threads of a row find
// its largest score and its sum by shuffles, scale what they have by exp(old top - new top), and
// leave the exponentials in shared memory, where they are an operand of the second product.
//
// Tiles of keys that no query of the block sees are skipped, and what the region says of the shift
// and the divisor is applied at the end (AttentionFrame.h).
//
//===----------------------------------------------------------------------===//
#include "AttentionFrame.h"
#include "OperandTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(device::KernelFrame &f, AttentionForm form)
      : f(f), b(f.b), s(f.schedule), a(f, std::move(form)), f32(b.getF32Type()),
        own(s.getRows() / side), keySlice{s.getColumns(), s.getDepth(), 4},
        querySlice{s.getRows(), s.getDepth(), 4},
        valueSlice{unsigned(llvm::alignTo(a.width, side * 4)), s.getDepth(), 4},
        weightTile{s.getRows(), s.getColumns(), 4} {}
  void run();

private:
  SmallVector<Value> carry(Value low, Value high, unsigned step, ValueRange init,
                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  SmallVector<Value> multiplyKeys(Value firstKey);
  Value scoreAt(unsigned i, Value key, Value raw);
  /// All threads of a row know the same top and sum.
  RunningRows visit(Value firstKey, RunningRows state);
  SmallVector<Value> multiplyValues(Value firstKey, ArrayRef<Value> results);
  void addProducts(SmallVector<Value> &sums, ArrayRef<Value> left, ArrayRef<Value> right);
  void store(const RunningRows &state);

  /// `v` combined over the threads of a row, which are neighbours.
  Value overRow(Value v, llvm::function_ref<Value(Value, Value)> combine) {
    for (unsigned distance = 1; distance < side; distance *= 2)
      v = combine(v, exchangeLanes(b, v, distance));
    return v;
  }
  Value rowOfThread(unsigned i) {
    return f.e.addIndex(f.e.addIndex(rowTile, threadRow), f.e.index(i));
  }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Schedule s;
  AttentionFrame a;
  Type f32;
  unsigned own; ///< rows of a thread, and keys of a tile
  TileShape keySlice, querySlice, valueSlice, weightTile;
  Value rowTile, threadRow, threadColumn;
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
  OperandTile left(f, sourceOf(a.scores, true, a.batch), querySlice, TileThreads::all(f), f32,
                   queryShared, rowTile);
  OperandTile right(f, sourceOf(a.scores, false, a.batch), keySlice, TileThreads::all(f), f32,
                    keyShared, firstKey);
  SmallVector<Value> zeros(own * own, a.number(0));
  Value slice = f.e.index(0);
  return carry(f.e.index(0), a.depth, s.getDepth(), zeros, [&](Value round, ValueRange in) {
    SmallVector<Value> sums(in), l = left.read(round, a.depth), r = right.read(round, a.depth);
    f.barrier(); // all have read the slice before
    left.write(l, slice);
    right.write(r, slice);
    f.barrier();
    for (unsigned k = 0; k < s.getDepth(); ++k)
      addProducts(sums, left.load(slice, k, threadRow), right.load(slice, k, threadColumn));
    return sums;
  });
}

/// What the softmax is of, for the thread's row `i`; past the last key minus infinity.
Value AttentionEmitter::scoreAt(unsigned i, Value key, Value raw) {
  Value none = a.number(-std::numeric_limits<double>::infinity());
  Value score = a.score(a.rowAt(rowOfThread(i)), key, 1, raw);
  return arith::SelectOp::create(b, f.less(key, a.keys), score, none);
}

RunningRows AttentionEmitter::visit(Value firstKey, RunningRows state) {
  SmallVector<Value> sums = multiplyKeys(firstKey);
  unsigned columns = state.results.size() / own;
  SmallVector<SmallVector<Value>> weights(own); // by key, then row
  for (unsigned i = 0; i < own; ++i) {
    SmallVector<Value> row;
    Value top = state.tops[i];
    for (unsigned j = 0; j < own; ++j) {
      Value key = f.e.addIndex(f.e.addIndex(firstKey, threadColumn), f.e.index(j));
      row.push_back(scoreAt(i, key, sums[i * own + j]));
      top = a.larger(row.back(), top);
    }
    top = overRow(top, [&](Value x, Value y) { return a.larger(x, y); });
    Value shift = a.ownShift(top), correction = a.expOfDifference(state.tops[i], shift);
    Value sum = a.number(0);
    for (unsigned j = 0; j < own; ++j) {
      weights[j].push_back(a.expOfDifference(row[j], shift));
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
  OperandTile right(f, sourceOf(a.values, false, a.batch), valueSlice, TileThreads::all(f), f32,
                    valueShared, f.e.index(0));
  Value slice = f.e.index(0);
  auto weightType = VectorType::get({own}, f32);
  return carry(
      slice, f.e.index(s.getColumns()), s.getDepth(), results, [&](Value round, ValueRange in) {
        SmallVector<Value> sums(in), r = right.read(f.e.addIndex(firstKey, round), a.keys);
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

void AttentionEmitter::store(const RunningRows &state) {
  unsigned perRow = state.results.size() / own, lanes = a.storeLanes(4);
  for (unsigned i = 0; i < own; ++i) {
    Value row = rowOfThread(i);
    f.when(f.less(row, a.rows), [&] {
      AttentionFrame::RowScale scale = a.finalScale(a.rowAt(row), state.tops[i], state.sums[i]);
      for (unsigned n = 0; n < perRow && scale.factor; n += lanes) {
        Value column = f.e.addIndex(threadColumn, f.e.index(n / 4 * side * 4 + n % 4));
        f.when(f.less(column, f.e.index(a.width)), [&] {
          ArrayRef<Value> sums = ArrayRef(state.results).slice(i * perRow + n, lanes);
          Value together = sums[0];
          if (lanes > 1)
            together = vector::FromElementsOp::create(b, VectorType::get({lanes}, f32), sums);
          a.store(row, column, lanes, a.scaled(together, scale));
        });
      }
    });
  }
}

void AttentionEmitter::run() {
  Value tiles =
      f.e.divIndex(f.e.addIndex(a.rows, f.e.index(s.getRows() - 1)), f.e.index(s.getRows()));
  SmallVector<Value> place = f.delinearize(f.block, {a.batches, tiles});
  a.enter(place[0]);
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  threadRow = f.e.mulIndex(f.e.divIndex(f.thread, f.e.index(side)), f.e.index(own));
  threadColumn = f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(side)), f.e.index(own));
  queryShared = f.shared(f32, querySlice.elements(), "queries");
  keyShared = f.shared(f32, keySlice.elements(), "keys");
  valueShared = f.shared(f32, valueSlice.elements(), "values");
  weightShared = f.shared(f32, weightTile.elements(), "weights");

  auto [first, end] = a.seenKeys(rowTile, s.getRows());
  Value step = f.e.index(s.getColumns());
  Value begin = f.e.mulIndex(f.e.divIndex(first, step), step);
  RunningRows state;
  state.tops.assign(own, a.number(-std::numeric_limits<double>::infinity()));
  state.sums.assign(own, a.number(0));
  state.results.assign(own * valueSlice.width / side, a.number(0));
  SmallVector<Value> all =
      carry(begin, end, s.getColumns(), state.all(), [&](Value firstKey, ValueRange in) {
        return visit(firstKey, RunningRows::of(in, own)).all();
      });
  if (!f.failed)
    store(RunningRows::of(all, own));
}

void device::emitAttentionKernel(KernelFrame &f) {
  AttentionEmitter(f, attentionOf(f.launch)).run();
}
