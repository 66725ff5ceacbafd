//===- AttentionMatrix.cpp - Attention of bf16 on a matrix unit ------------===//
//
// Scores and results are products of MatrixTile.h: queries, keys and values stay bf16, and weights
// are rounded to it, as every other engine's are there; sums, the softmax and its sum stay f32.
//
// All tiles are whole, so that the unit is told their size once: missing queries repeat the last,
// what follows the depth is zero, and so are the weights and values of keys past the last one that
// a tile sees, up to as many as a turn takes. A row's weights lie where its scores were, at half of
// their room: none is written before the score there has been read.
//
//===----------------------------------------------------------------------===//
#include "../Products/PanelPacking.h"
#include "AttentionEmitter.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {
constexpr int64_t kPair = 2; ///< elements of a step
} // namespace

void AttentionEmitter::allocateForMatrix() {
  int64_t rows = llvm::alignTo(schedule.getTaskRows(), kMatrixTileRows);
  int64_t stride = packedRowStride(f.cpu, matrixDepth(), sizeof(int16_t));
  queries = {k.scratch(bf16, rows * stride), stride};
  panel = k.scratch(bf16, matrixDepth() * panelKeys);
  valuePanel = k.scratch(bf16, schedule.getKeys() * panelColumns);
  matrixSums = k.scratch(f32, kMatrixTileRows * panelColumns);
  matrix.emplace(k, spec.scores.steps, k.constant(kMatrixTileRows), schedule.getVectors(),
                 MatrixTile::mostSteps, MatrixTile::mostSteps);
}

void AttentionEmitter::copyMatrixQueries() {
  const ContractionSpec &product = spec.scores;
  auto type = VectorType::get({panelKeys}, bf16);
  Index last = k.sub(rows, k.constant(1));
  int64_t all = llvm::alignTo(schedule.getTaskRows(), kMatrixTileRows);
  k.loop(k.constant(0), k.constant(all), k.constant(1), [&](Index row) {
    Index from = k.mul(k.add(firstRow, k.min(row, last)), product.aRowStride);
    for (int64_t column = 0; column < depth; column += panelKeys) {
      Value some = k.loadPart(type, k.address(product.a, bf16, k.add(from, k.constant(column))),
                              k.constant(depth - column));
      Index to = k.mulAdd(row, k.constant(queries.stride), k.constant(column));
      k.store(some, k.address(queries.base, bf16, to));
    }
  });
}

void AttentionEmitter::emitMatrixScores(const KeyBlock &keys) {
  const ContractionSpec &product = spec.scores;
  Index steps = k.constant(matrixDepth() / kPair);
  k.loop(k.constant(0), keys.count, k.constant(panelKeys), [&](Index panelFirst) {
    Index first = k.add(keys.first, panelFirst), columns = k.constant(panelKeys);
    if (!keys.whole)
      columns = k.min(columns, k.sub(product.n, first));
    packPanel(k, product, first, columns, {k.constant(0), steps}, panel);
    PanelSource source;
    source.element = bf16;
    source.base = panel;
    forTilesSeeing(keys, panelFirst, [&](Index row) {
      k.loop(row, k.min(rows, k.add(row, k.constant(kMatrixTileRows))), k.constant(1),
             [&](Index at) { fetchForScores(keys, panelFirst, at, 1); });
      if (far)
        fetchBehind(keys, panelFirst, row);
      RowSource left;
      left.element = bf16;
      left.base = k.address(queries.base, bf16, k.mul(row, k.constant(queries.stride)));
      left.rowStride = k.constant(queries.stride);
      left.kStride = k.constant(kPair);
      matrix->run(left, source, steps, at(scores, row, panelFirst), /*adds=*/false, scores.stride);
    });
  });
}

/// Subnormal numbers become zero, which the unit takes them for anyway.
void AttentionEmitter::storeMatrixWeights(Value weights, Index row, Index key) {
  auto type = VectorType::get({lanes}, bf16);
  auto rounded = LLVM::CallIntrinsicOp::create(
      k.builder, k.loc, type, k.builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"),
      weights);
  k.store(rounded->getResult(0), matrixWeights(row, key));
}

Value AttentionEmitter::matrixWeights(Index row, Index key) {
  return k.address(at(scores, row, k.constant(0)), bf16, key);
}

void AttentionEmitter::emitMatrixValues(const KeyBlock &keys) {
  k.loop(k.constant(0), k.constant(width), k.constant(panelColumns),
         [&](Index column) { f.e.nested([&] { emitMatrixValues(keys, column); }); });
}

void AttentionEmitter::emitMatrixValues(const KeyBlock &keys, Index column) {
  Index columns = k.min(k.constant(panelColumns), k.sub(k.constant(width), column));
  Index grain = k.constant(keyGrain), pair = k.constant(kPair);
  auto roundedUp = [&](Index count) { return k.mul(k.ceilDiv(count, grain), grain); };
  packPanel(k, spec.values, column, columns,
            {k.floorDiv(keys.first, pair), k.floorDiv(roundedUp(keys.count), pair)}, valuePanel);
  forSeeingTiles(keys, kMatrixTileRows, [&](Index row, const KeySpan &seen) {
    Index first = firstWeight(seen), last = roundedUp(seen.last);
    RowSource weights;
    weights.element = bf16;
    weights.base = matrixWeights(row, first);
    weights.rowStride = k.constant(2 * scores.stride);
    weights.kStride = pair;
    PanelSource source;
    source.element = bf16;
    source.base = k.address(valuePanel, bf16, k.mul(first, k.constant(panelColumns)));
    matrix->run(weights, source, k.floorDiv(k.sub(last, first), pair), matrixSums, /*adds=*/false);
    k.loop(k.constant(0), k.constant(kMatrixTileRows), k.constant(1), [&](Index r) {
      Index here = k.add(row, r);
      Value correction = oneBlock ? Value() : k.load(f32, k.address(corrections, f32, here));
      for (int64_t vector = 0; vector < panelColumns; vector += lanes) {
        Index from = k.mulAdd(r, k.constant(panelColumns), k.constant(vector));
        Value sum = k.load(lanesType, k.address(matrixSums, f32, from));
        Value to = at(results, here, k.add(column, k.constant(vector)));
        k.store(correction ? multiplyAdd(splat(correction), k.load(lanesType, to), sum) : sum, to);
      }
    });
  });
}
