//===- MmaAttention.cpp - Attention on the matrix units of all GPUs -------===//
//
// The running softmax of FlashAttention with mma.sync. A block has a tile of queries, a warp 16 or
// 32 of them, and goes over the keys a tile at a time. Keys and values come through a ring of
// stages in shared memory by asynchronous copies (OperandLines.h). Scores never leave registers:
// the sums that a lane has of queries times keys are, as 16-bit floats, words of the left operand
// of the product with the values, because the instruction has rows of sums where it has rows of
// that operand.
//
// Keys lie interleaved in shared memory, values in the same order, so that a lane has eight
// neighbouring scores: what the region makes of them, a mask above all, is read together.
//
// Where there are few queries, warps of a block share the keys of a step, and blocks share all
// keys. Each has a top, a sum and results of its own, which are brought together at the end
// (AttentionParts.h).
//
//===----------------------------------------------------------------------===//
#include "../Loops/OperandLines.h"
#include "../WordArithmetic.h"
#include "AttentionParts.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class MmaAttentionEmitter : WordArithmetic {
public:
  MmaAttentionEmitter(device::KernelFrame &f, AttentionForm form)
      : WordArithmetic(f), s(f.schedule), m(*matrixAttention(form)), a(f, std::move(form)),
        t(AttentionTile::of(s)), stages(s.getVectors()), down(t.warpRows / 16),
        group(std::min(4u, t.warpKeys / 8)) {}
  void run();

private:
  Value sharedAt(Value offset) { return bytesBehind(shared, offset); }
  Value overRow(Value v, llvm::function_ref<Value(Value, Value)> combine) {
    for (unsigned distance : {1u, 2u})
      v = combine(v, exchangeLanes(b, v, distance));
    return v;
  }

  void divide();
  void fetchKeys(Value step, Value stage, SmallVector<OperandLines::Held> &keysHeld,
                 SmallVector<OperandLines::Held> &valuesHeld);
  SmallVector<Value> queryWords(unsigned i, unsigned k);
  void multiplyTwo(const MatrixInstruction &instruction, ArrayRef<SmallVector<Value>> left,
                   ArrayRef<Value> right, unsigned j, unsigned across, SmallVector<Value> &sums);
  SmallVector<Value> multiplyKeys(Value stage);
  SmallVector<Value> scoresOf(unsigned i, unsigned half, Value firstKey, ArrayRef<Value> products);
  void multiplyValues(Value stage, ArrayRef<Value> weights, SmallVector<Value> &results);
  /// Of row l / 4 of each eight of the warp's. Tops are those of all the warp's keys, sums those of
  /// the lane's own; results are tiles of sums.
  RunningRows visit(Value step, Value stage, RunningRows state);
  RunningRows goOverKeys();
  void leave(const RunningRows &state, AttentionParts &parts);

  Schedule s;
  MatrixAttention m;
  AttentionFrame a;
  AttentionTile t;
  unsigned stages, down, group; ///< down: tiles of 16 rows of a warp; group: of 8 keys together
  std::optional<OperandLines> queryLines, keyLines, valueLines;
  SmallVector<SmallVector<Value>> queries; ///< words of the warp's, where they stay in registers
  SmallVector<Coords> rowsOfLane;
  Value tileNumber, part, rowTile;
  Value firstStep, endStep, endKey; ///< of this block
  bool checksKeys = true;           ///< the last tile may be cut
  Value shared, lane, warpRow, warpKey;
  Value queryAt, keyAt, valueAt; ///< bytes, where the lane reads its part of a first tile
};

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void MmaAttentionEmitter::fetchKeys(Value step, Value stage,
                                    SmallVector<OperandLines::Held> &keysHeld,
                                    SmallVector<OperandLines::Held> &valuesHeld) {
  Value first = f.e.mulIndex(step, f.e.index(t.keys));
  unsigned keyBytes = t.keys * (m.depthFilled() * 2 + 16);
  keysHeld.append(keyLines->fetch(first, endKey, stage));
  valuesHeld.append(valueLines->fetch(first, endKey, add(stage, c(keyBytes))));
  commitCopies(b);
}

/// The words of 16 rows of the warp's queries, tile `i` of them, at 16 of their depth.
SmallVector<Value> MmaAttentionEmitter::queryWords(unsigned i, unsigned k) {
  if (!queries.empty())
    return queries[i * (m.depthFilled() / 16) + k];
  int64_t offset = int64_t(i) * 16 * (m.depthFilled() * 2 + 16) + int64_t(k) * 32;
  return loadMatrices(b, sharedAt(add(queryAt, c(offset))), 4);
}

/// Adds all tiles of `left` times tiles j and j + 1 of `across` to `sums`.
void MmaAttentionEmitter::multiplyTwo(const MatrixInstruction &instruction,
                                      ArrayRef<SmallVector<Value>> left, ArrayRef<Value> right,
                                      unsigned j, unsigned across, SmallVector<Value> &sums) {
  for (unsigned i = 0; i < down; ++i)
    for (unsigned tile : {0u, 1u}) {
      size_t first = (size_t(i) * across + j + tile) * 4;
      llvm::copy(instruction.multiply(b, left[i], right.slice(tile * 2, 2),
                                      ArrayRef(sums).slice(first, 4)),
                 sums.begin() + first);
    }
}

/// Sums of the warp's queries times its keys of a stage: tiles of 16 by 8, row by row.
SmallVector<Value> MmaAttentionEmitter::multiplyKeys(Value stage) {
  unsigned across = t.warpKeys / 8;
  int64_t pitch = m.depthFilled() * 2 + 16;
  SmallVector<Value> sums(size_t(down) * across * 4, a.number(0));
  Value start = add(stage, keyAt);
  for (unsigned k = 0; k < m.depthFilled() / 16; ++k) {
    SmallVector<SmallVector<Value>> left;
    for (unsigned i = 0; i < down; ++i)
      left.push_back(queryWords(i, k));
    for (unsigned j = 0; j < across; j += 2) {
      Value at = add(start, c(int64_t(j) * 8 * pitch + int64_t(k) * 32));
      multiplyTwo(m.scores, left, loadMatrices(b, sharedAt(at), 4), j, across, sums);
    }
  }
  return sums;
}

/// Adds weights times the warp's values of a stage; both as tiles of 16 by 8, row by row.
void MmaAttentionEmitter::multiplyValues(Value stage, ArrayRef<Value> weights,
                                         SmallVector<Value> &results) {
  unsigned inner = t.warpKeys / 8, across = m.widthFilled() / 8;
  int64_t pitch = m.widthFilled() * 2 + 16;
  bool isHalf = m.values.left == NVVM::MMATypes::f16;
  Type element = isHalf ? Type(b.getF16Type()) : Type(b.getBF16Type());
  auto packed = [&](Value x, Value y) -> Value {
    Value pair =
        vector::FromElementsOp::create(b, VectorType::get({2}, b.getF32Type()), ValueRange{x, y});
    Value narrow = arith::TruncFOp::create(b, VectorType::get({2}, element), pair);
    return LLVM::BitcastOp::create(b, b.getI32Type(), narrow);
  };
  Value start = add(stage, valueAt);
  for (unsigned k = 0; k < inner; k += 2) {
    SmallVector<SmallVector<Value>> left;
    for (unsigned i = 0; i < down; ++i) {
      ArrayRef<Value> w = weights.slice((size_t(i) * inner + k) * 4, 8);
      left.push_back(
          {packed(w[0], w[1]), packed(w[2], w[3]), packed(w[4], w[5]), packed(w[6], w[7])});
    }
    for (unsigned j = 0; j < across; j += 2) {
      Value at = add(start, c(int64_t(k) * 8 * pitch + int64_t(j) * 16));
      multiplyTwo(m.values, left, loadMatrices(b, sharedAt(at), 4, /*transposed=*/true), j, across,
                  results);
    }
  }
}

//===----------------------------------------------------------------------===//
// The running softmax
//===----------------------------------------------------------------------===//

/// The lane's scores of one of its rows, in the order of its sums: two of each tile of keys.
SmallVector<Value> MmaAttentionEmitter::scoresOf(unsigned i, unsigned half, Value firstKey,
                                                 ArrayRef<Value> products) {
  unsigned together = 2 * group, lanes = a.scoreLanes(together);
  Value none = a.number(-std::numeric_limits<double>::infinity());
  Value own = mul(band(lane, 3), together);
  SmallVector<Value> scores;
  for (unsigned j = 0; j < t.warpKeys / 8; j += group) {
    Value key = f.e.addIndex(firstKey, toIndex(add(add(warpKey, own), c(int64_t(j) * 8))));
    for (unsigned n = 0; n < together; n += lanes) {
      SmallVector<Value> run;
      for (unsigned e = n; e < n + lanes; ++e)
        run.push_back(products[(j + e / 2) * 4 + half * 2 + e % 2]);
      Value raw = run[0];
      if (lanes > 1)
        raw = vector::FromElementsOp::create(b, VectorType::get({lanes}, b.getF32Type()), run);
      Value first = f.e.addIndex(key, f.e.index(n));
      Value score = a.score(rowsOfLane[i * 2 + half], first, lanes, raw);
      Value inside = checksKeys ? f.less(first, a.keys) : Value();
      for (unsigned e = 0; e < lanes; ++e) {
        Value one = lanes > 1 ? Value(vector::ExtractOp::create(b, score, int64_t(e))) : score;
        scores.push_back(inside ? Value(arith::SelectOp::create(b, inside, one, none)) : one);
      }
    }
  }
  return scores;
}

RunningRows MmaAttentionEmitter::visit(Value step, Value stage, RunningRows state) {
  SmallVector<Value> products = multiplyKeys(stage);
  unsigned perRow = t.warpKeys / 8 * 4, across = m.widthFilled() / 8;
  Value firstKey = f.e.mulIndex(step, f.e.index(t.keys));
  for (unsigned i = 0; i < down; ++i)
    for (unsigned half : {0u, 1u}) {
      unsigned row = i * 2 + half;
      SmallVector<Value> scores =
          scoresOf(i, half, firstKey, ArrayRef(products).slice(size_t(i) * perRow, perRow));
      Value top = state.tops[row];
      for (Value score : scores)
        top = a.larger(score, top);
      top = overRow(top, [&](Value x, Value y) { return a.larger(x, y); });
      ShiftedPowers shifted = a.shiftedBy(a.ownShift(top));
      Value correction = a.power(state.tops[row], shifted);
      Value sum = arith::MulFOp::create(b, state.sums[row], correction);
      for (auto [e, score] : llvm::enumerate(scores)) {
        Value weight = a.power(score, shifted);
        sum = arith::AddFOp::create(b, sum, weight);
        products[size_t(i) * perRow + e / 2 * 4 + half * 2 + e % 2] = weight;
      }
      state.tops[row] = top;
      state.sums[row] = sum;
      for (unsigned j = 0; j < across; ++j)
        for (unsigned column : {0u, 1u}) {
          Value &result = state.results[(size_t(i) * across + j) * 4 + half * 2 + column];
          result = arith::MulFOp::create(b, result, correction);
        }
    }
  multiplyValues(stage, products, state.results);
  return state;
}

RunningRows MmaAttentionEmitter::goOverKeys() {
  RunningRows state;
  state.tops.assign(size_t(down) * 2, a.number(-std::numeric_limits<double>::infinity()));
  state.sums.assign(size_t(down) * 2, a.number(0));
  state.results.assign(size_t(down) * m.widthFilled() / 2, a.number(0));
  Value ring = c(t.queryBytes(m));
  auto stageAt = [&](unsigned i) { return add(ring, c(int64_t(i) * t.stageBytes(m))); };
  SmallVector<OperandLines::Held> queriesHeld = queryLines->fetch(rowTile, {}, c(0)), keysHeld,
                                  valuesHeld;
  for (unsigned i = 0; i + 1 < stages; ++i)
    fetchKeys(f.e.addIndex(firstStep, f.e.index(i)), stageAt(i), keysHeld, valuesHeld);
  queryLines->write(queriesHeld);
  keyLines->write(keysHeld);
  valueLines->write(valuesHeld);
  constexpr unsigned kKept = 128; // of depth, that fit registers for 16 rows
  if (m.depthFilled() * down <= kKept) {
    awaitCopies(b, stages - 2);
    f.barrier();
    SmallVector<SmallVector<Value>> words;
    for (unsigned i = 0; i < down; ++i)
      for (unsigned k = 0; k < m.depthFilled() / 16; ++k)
        words.push_back(queryWords(i, k));
    queries = std::move(words);
  }

  SmallVector<Value> carried = state.all();
  size_t count = carried.size();
  // The stage to multiply and the one to fill.
  carried.push_back(stageAt(0));
  carried.push_back(stageAt(stages - 1));
  auto loop = scf::ForOp::create(b, firstStep, endStep, f.e.index(1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = f.e.nested([&] {
      ValueRange in = loop.getRegionIterArgs();
      Value here = in[count], ahead = in[count + 1], step = loop.getInductionVar();
      awaitCopies(b, stages - 2);
      f.barrier();
      SmallVector<OperandLines::Held> keysLater, valuesLater;
      fetchKeys(f.e.addIndex(step, f.e.index(stages - 1)), ahead, keysLater, valuesLater);
      SmallVector<Value> out =
          visit(step, here, RunningRows::of(in.take_front(count), down * 2)).all();
      keyLines->write(keysLater);
      valueLines->write(valuesLater);
      Value after = add(here, c(t.stageBytes(m)));
      Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, after, stageAt(stages));
      out.push_back(arith::SelectOp::create(b, wraps, ring, after));
      out.push_back(here);
      return out;
    });
    scf::YieldOp::create(b, next);
  }
  awaitCopies(b, 0);
  return RunningRows::of(loop.getResults().take_front(count), down * 2);
}

/// Leaves what the lane found where keys and values were.
void MmaAttentionEmitter::leave(const RunningRows &state, AttentionParts &parts) {
  unsigned across = m.widthFilled() / 8;
  Value sharer = toIndex(arith::DivUIOp::create(b, warpKey, c(t.warpKeys)));
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, band(lane, 3), c(0));
  f.barrier(); // all have read the last stage
  for (unsigned i = 0; i < down; ++i)
    for (unsigned half : {0u, 1u}) {
      Value row = toIndex(add(add(warpRow, shr(lane, 2)), c(int64_t(i) * 16 + half * 8)));
      Value sum = overRow(state.sums[i * 2 + half],
                          [&](Value x, Value y) { return arith::AddFOp::create(b, x, y); });
      f.when(isFirst, [&] { parts.leaveRow(sharer, row, state.tops[i * 2 + half], sum); });
      for (unsigned j = 0; j < across; ++j) {
        ArrayRef<Value> two =
            ArrayRef(state.results).slice((size_t(i) * across + j) * 4 + half * 2, 2);
        parts.leaveResults(sharer, row, toIndex(add(mul(band(lane, 3), 2), c(int64_t(j) * 8))),
                           two);
      }
    }
  f.barrier();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Which rows and which steps over the keys are the block's.
void MmaAttentionEmitter::divide() {
  auto ceilDiv = [&](Value x, int64_t y) {
    return f.e.divIndex(f.e.addIndex(x, f.e.index(y - 1)), f.e.index(y));
  };
  Value split = f.e.index(s.getSplit()), tiles = ceilDiv(a.rows, t.rows);
  part = f.e.remIndex(f.block, split);
  tileNumber = f.e.divIndex(f.block, split);
  SmallVector<Value> place = f.delinearize(tileNumber, {a.batches, tiles});
  a.enter(place[0]);
  // Later rows may see more keys: these come first, so that the last wave is short.
  Value tile = a.bounded() ? f.e.subIndex(f.e.subIndex(tiles, f.e.index(1)), place[1]) : place[1];
  rowTile = f.e.mulIndex(tile, f.e.index(t.rows));
  auto [first, end] = a.seenKeys(rowTile, t.rows);
  firstStep = f.e.divIndex(first, f.e.index(t.keys));
  endStep = ceilDiv(end, t.keys);
  if (s.getSplit() > 1) {
    endStep = arith::MaxSIOp::create(b, endStep, firstStep);
    Value each = ceilDiv(f.e.subIndex(endStep, firstStep), s.getSplit());
    firstStep = f.e.addIndex(firstStep, f.e.mulIndex(part, each));
    endStep = f.minIndex(f.e.addIndex(firstStep, each), endStep);
  }
  endKey = f.minIndex(a.keys, f.e.mulIndex(endStep, f.e.index(t.keys)));
  checksKeys = getConstantIntValue(a.keys).value_or(1) % t.keys != 0;
}

void MmaAttentionEmitter::run() {
  divide();
  shared = f.dynamicShared();
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = band(thread, 31);
  Value warp = shr(thread, 5);
  warpRow = mul(arith::DivUIOp::create(b, warp, c(t.sharing())), t.warpRows);
  warpKey = mul(arith::RemUIOp::create(b, warp, c(t.sharing())), t.warpKeys);
  for (unsigned i = 0; i < t.warpRows; i += 8) {
    Value row = add(add(warpRow, shr(lane, 2)), c(i));
    rowsOfLane.push_back(a.rowAt(f.e.addIndex(rowTile, toIndex(row))));
  }
  unsigned depthChunks = m.depthFilled() / 8, widthChunks = m.widthFilled() / 8;
  queryLines.emplace(f, sourceOf(a.scores, true, a.batch),
                     LineShape{t.rows, depthChunks, /*linesAreInner=*/false}, shared);
  keyLines.emplace(f, sourceOf(a.scores, false, a.batch),
                   LineShape{t.keys, depthChunks, /*linesAreInner=*/false, group}, shared);
  valueLines.emplace(f, sourceOf(a.values, false, a.batch),
                     LineShape{t.keys, widthChunks, /*linesAreInner=*/true, group}, shared);
  // Lane l gives the address of row l % 8 of tile l / 8: rows before depth of queries, depth before
  // keys, keys before columns of the values.
  Value row = band(lane, 7), low = band(shr(lane, 3), 1), high = shr(lane, 4);
  int64_t keyPitch = m.depthFilled() * 2 + 16, valuePitch = m.widthFilled() * 2 + 16;
  queryAt = add(mul(add(add(warpRow, row), mul(low, 8)), keyPitch), mul(high, 16));
  keyAt = add(mul(add(add(warpKey, row), mul(high, 8)), keyPitch), mul(low, 16));
  valueAt = add(add(mul(add(add(warpKey, row), mul(low, 8)), valuePitch), mul(high, 16)),
                c(int64_t(t.keys) * keyPitch));
  RunningRows state = goOverKeys();
  if (f.failed)
    return;
  AttentionParts parts(a, t, m, shared, {rowTile, tileNumber, part});
  leave(state, parts);
  parts.finish();
}

void device::emitMmaAttentionKernel(KernelFrame &f) {
  MmaAttentionEmitter(f, attentionOf(f.launch)).run();
}
