//===- AttentionKernel.cpp - softmax(scores) * values on GPUs -------------===//
//
// The general form of attention, for any type and every architecture: a block keeps the results
// of a tile of queries in registers and goes over the keys, a tile at a time. The scores of a
// tile are products as in ProductKernel.cpp, from slices of both operands in shared memory, of
// which the next one is on its way while one is multiplied. What the region makes of each score is
// computed in the registers where they are; the threads of a row find its largest score and its
// sum by shuffles, scale what they have by exp(old top - new top), and leave the exponentials in
// shared memory, where they are an operand of the second product.
//
// Rows and keys of a thread, and its columns of the values, come in runs of four neighbours, so
// that it reads shared memory in vectors.
//
// Tiles of keys that no query of the block sees are skipped, the blocks that see most begin, and
// what the region says of the shift and the divisor is applied at the end (AttentionFrame.h).
//
//===----------------------------------------------------------------------===//
#include "../Products/OperandTile.h"
#include "AttentionFrame.h"
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
        across(s.getRowThreads()), down(s.getThreads() / across), ownRows(s.getRows() / down),
        ownKeys(s.getColumns() / across), keySlice{s.getColumns(), s.getDepth(), run},
        querySlice{s.getRows(), s.getDepth(), run},
        valueSlice{unsigned(llvm::alignTo(a.width, across * run)), s.getDepth(), run},
        weightTile{s.getRows(), s.getColumns(), run} {}
  void emit();

private:
  using Values = SmallVector<Value>;
  using Read = llvm::function_ref<SmallVector<Values>(Value round)>;
  using Write = llvm::function_ref<void(ArrayRef<Values> values, Value slice)>;
  using Multiply = llvm::function_ref<void(Values &sums, Value round, Value slice)>;

  Values carry(Value low, Value high, unsigned step, ValueRange init,
               llvm::function_ref<Values(Value, ValueRange)> body);
  Values overSlices(Value end, ArrayRef<Values> first, ValueRange sums, Read read, Write write,
                    Multiply multiply);
  Values multiplyKeys(Value firstKey);
  Value scoreAt(unsigned i, Value key, Value raw);
  /// All threads of a row know the same top and sum.
  RunningRows visit(Value firstKey, RunningRows state);
  Values loadRuns(llvm::function_ref<Values(Value)> load, Value first, unsigned runs,
                  unsigned threads);
  void addProducts(Values &sums, ArrayRef<Value> left, ArrayRef<Value> right);
  void store(const RunningRows &state);

  /// `v` combined over the threads of a row, which are lanes of a warp.
  Value overRow(Value v, llvm::function_ref<Value(Value, Value)> combine) {
    for (unsigned distance : place.columnDistances)
      v = combine(v, exchangeLanes(b, v, distance));
    return v;
  }
  /// Place `i` of a thread's, of which `threads` have runs side by side, from its first one on.
  Value placeOf(Value first, unsigned i, unsigned threads) {
    return f.e.addIndex(first, f.e.index(i / run * run * threads + i % run));
  }
  Value rowOfThread(unsigned i) { return f.e.addIndex(rowTile, placeOf(threadRow, i, down)); }

  static constexpr unsigned run = 4; ///< neighbours that a thread reads together
  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Schedule s;
  AttentionFrame a;
  Type f32;
  unsigned across, down;     ///< threads of a row, and rows of threads
  unsigned ownRows, ownKeys; ///< of a thread in a tile
  TileShape keySlice, querySlice, valueSlice, weightTile;
  ThreadPlace place;
  Value rowTile, threadRow, threadColumn; ///< the thread's first row and key, in the tile
  Value queryShared, keyShared, valueShared, weightShared;
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

/// Sums over slices up to `end`, of which the first one has been read: each is multiplied while the
/// next one comes. Nobody reads shared memory of slices any more before, and after it.
SmallVector<Value> AttentionEmitter::overSlices(Value end, ArrayRef<Values> first, ValueRange sums,
                                                Read read, Write write, Multiply multiply) {
  write(first, f.e.index(0));
  f.barrier();
  Values carried(sums);
  carried.push_back(f.e.index(0));
  Values all = carry(f.e.index(0), end, s.getDepth(), carried, [&](Value round, ValueRange in) {
    Value slice = in.back(), other = f.e.subIndex(f.e.index(1), slice);
    SmallVector<Values> ahead = read(f.e.addIndex(round, f.e.index(s.getDepth())));
    Values next(in.drop_back());
    if (f.failed)
      return Values(in);
    multiply(next, round, slice);
    write(ahead, other);
    f.barrier();
    next.push_back(other);
    return next;
  });
  all.pop_back();
  return all;
}

void AttentionEmitter::addProducts(Values &sums, ArrayRef<Value> left, ArrayRef<Value> right) {
  for (auto [i, l] : llvm::enumerate(left))
    for (auto [j, r] : llvm::enumerate(right)) {
      Value &sum = sums[i * right.size() + j];
      sum = emitCombine(b, prim::ReduceKind::sum, f32,
                        emitCombine(b, prim::ReduceKind::prod, f32, l, r), sum);
    }
}

SmallVector<Value> AttentionEmitter::loadRuns(llvm::function_ref<Values(Value)> load, Value first,
                                              unsigned count, unsigned threads) {
  Values values;
  for (unsigned i = 0; i < count; i += run)
    llvm::append_range(values, load(placeOf(first, i, threads)));
  return values;
}

/// The thread's scores of the tile of keys: row by row.
SmallVector<Value> AttentionEmitter::multiplyKeys(Value firstKey) {
  OperandTile left(f, sourceOf(a.scores, true, a.batch), querySlice, TileThreads::all(f), f32,
                   queryShared, rowTile);
  OperandTile right(f, sourceOf(a.scores, false, a.batch), keySlice, TileThreads::all(f), f32,
                    keyShared, firstKey);
  auto read = [&](Value round) {
    return SmallVector<Values>{left.read(round, a.depth), right.read(round, a.depth)};
  };
  auto write = [&](ArrayRef<Values> values, Value slice) {
    left.write(values[0], slice);
    right.write(values[1], slice);
  };
  return overSlices(a.depth, read(f.e.index(0)), Values(ownRows * ownKeys, a.number(0)), read,
                    write, [&](Values &sums, Value, Value slice) {
                      for (unsigned k = 0; k < s.getDepth(); ++k)
                        addProducts(sums,
                                    loadRuns([&](Value at) { return left.load(slice, k, at); },
                                             threadRow, ownRows, down),
                                    loadRuns([&](Value at) { return right.load(slice, k, at); },
                                             threadColumn, ownKeys, across));
                    });
}

/// What the softmax is of, for the thread's row `i`; past the last key minus infinity.
Value AttentionEmitter::scoreAt(unsigned i, Value key, Value raw) {
  Value none = a.number(-std::numeric_limits<double>::infinity());
  Value score = a.score(a.rowAt(rowOfThread(i)), key, 1, raw);
  return arith::SelectOp::create(b, f.less(key, a.keys), score, none);
}

RunningRows AttentionEmitter::visit(Value firstKey, RunningRows state) {
  Values sums = multiplyKeys(firstKey);
  if (f.failed)
    return state;
  OperandTile values(f, sourceOf(a.values, false, a.batch), valueSlice, TileThreads::all(f), f32,
                     valueShared, f.e.index(0));
  auto read = [&](Value round) {
    return SmallVector<Values>{values.read(f.e.addIndex(firstKey, round), a.keys)};
  };
  SmallVector<Values> first = read(f.e.index(0)); // on its way beside the softmax
  unsigned columns = state.results.size() / ownRows;
  SmallVector<Values> weights(ownKeys); // by key, then row
  for (unsigned i = 0; i < ownRows; ++i) {
    Values row;
    Value top = state.tops[i];
    for (unsigned j = 0; j < ownKeys; ++j) {
      Value key = f.e.addIndex(firstKey, placeOf(threadColumn, j, across));
      row.push_back(scoreAt(i, key, sums[i * ownKeys + j]));
      top = a.larger(row.back(), top);
    }
    top = overRow(top, [&](Value x, Value y) { return a.larger(x, y); });
    Value shift = a.ownShift(top), correction = a.expOfDifference(state.tops[i], shift);
    Value sum = a.number(0);
    for (unsigned j = 0; j < ownKeys; ++j) {
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
  // All have read the weights before: barriers followed in the products of the keys.
  auto weightAt = [&](Value key, Value row) {
    Value number = f.e.addIndex(f.e.mulIndex(key, f.e.index(weightTile.pitch())), row);
    return f.at(weightShared, f32, number);
  };
  auto some = VectorType::get({run}, f32);
  for (unsigned j = 0; j < ownKeys; ++j)
    for (unsigned i = 0; i < ownRows; i += run) {
      Value packed = vector::FromElementsOp::create(b, some, ArrayRef(weights[j]).slice(i, run));
      LLVM::StoreOp::create(b, packed,
                            weightAt(placeOf(threadColumn, j, across), placeOf(threadRow, i, down)),
                            run * 4);
    }
  auto multiply = [&](Values &sums, Value round, Value slice) {
    for (unsigned k = 0; k < s.getDepth(); ++k) {
      auto loadWeights = [&](Value row) {
        Value v = LLVM::LoadOp::create(b, some, weightAt(f.e.addIndex(round, f.e.index(k)), row),
                                       run * 4);
        Values rows;
        for (unsigned i = 0; i < run; ++i)
          rows.push_back(vector::ExtractOp::create(b, v, int64_t(i)));
        return rows;
      };
      addProducts(sums, loadRuns(loadWeights, threadRow, ownRows, down),
                  loadRuns([&](Value at) { return values.load(slice, k, at); }, threadColumn,
                           columns, across));
    }
  };
  state.results = overSlices(
      f.e.index(s.getColumns()), first, state.results, read,
      [&](ArrayRef<Values> held, Value slice) { values.write(held[0], slice); }, multiply);
  return state;
}

void AttentionEmitter::store(const RunningRows &state) {
  unsigned perRow = state.results.size() / ownRows, lanes = a.storeLanes(run);
  for (unsigned i = 0; i < ownRows; ++i) {
    Value row = rowOfThread(i);
    f.when(f.less(row, a.rows), [&] {
      AttentionFrame::RowScale scale = a.finalScale(a.rowAt(row), state.tops[i], state.sums[i]);
      for (unsigned n = 0; n < perRow && scale.factor; n += lanes) {
        Value column = placeOf(threadColumn, n, across);
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

void AttentionEmitter::emit() {
  Value tiles =
      f.e.divIndex(f.e.addIndex(a.rows, f.e.index(s.getRows() - 1)), f.e.index(s.getRows()));
  // Of rows that see more keys than earlier ones those with most of them come first, of all heads.
  Value batch, tile;
  if (a.bounded()) {
    SmallVector<Value> at = f.delinearize(f.block, {tiles, a.batches});
    batch = at[1];
    tile = f.e.subIndex(f.e.subIndex(tiles, f.e.index(1)), at[0]);
  } else {
    SmallVector<Value> at = f.delinearize(f.block, {a.batches, tiles});
    batch = at[0];
    tile = at[1];
  }
  a.enter(batch);
  rowTile = f.e.mulIndex(tile, f.e.index(s.getRows()));
  place = ThreadPlace::of(f, f.thread, down, across, /*wholeRows=*/true);
  threadRow = f.e.mulIndex(place.row, f.e.index(run));
  threadColumn = f.e.mulIndex(place.column, f.e.index(run));
  // Slices of one product at a time, two of each.
  int64_t queries = 2 * querySlice.elements(), keys = 2 * keySlice.elements(),
          values = 2 * valueSlice.elements();
  queryShared = valueShared = f.shared(f32, std::max(queries + keys, values), "slices");
  keyShared = f.at(queryShared, f32, f.e.index(queries));
  weightShared = f.shared(f32, weightTile.elements(), "weights");

  auto [first, end] = a.seenKeys(rowTile, s.getRows());
  Value step = f.e.index(s.getColumns());
  Value begin = f.e.mulIndex(f.e.divIndex(first, step), step);
  RunningRows state;
  state.tops.assign(ownRows, a.number(-std::numeric_limits<double>::infinity()));
  state.sums.assign(ownRows, a.number(0));
  state.results.assign(ownRows * valueSlice.width / across, a.number(0));
  SmallVector<Value> all =
      carry(begin, end, s.getColumns(), state.all(), [&](Value firstKey, ValueRange in) {
        return visit(firstKey, RunningRows::of(in, ownRows)).all();
      });
  if (!f.failed)
    store(RunningRows::of(all, ownRows));
}

void device::emitAttentionKernel(KernelFrame &f) {
  AttentionEmitter(f, attentionOf(f.launch)).emit();
}
