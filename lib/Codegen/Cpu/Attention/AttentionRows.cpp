//===- AttentionRows.cpp - Scores of a query or two ------------------------===//
//
// A panel of keys is turned for the register tile, which takes longer than the products of one or
// two queries do. Those are multiplied by each key where it lies, along its columns, and the lanes
// of as many sums as a vector has are added up together. Keys are read from end to end, and each
// fetches what comes 4 kB later, beyond the page at which the hardware stops to read ahead.
//
//===----------------------------------------------------------------------===//
#include "AttentionEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool AttentionEmitter::scoresByKey() const {
  constexpr int64_t mostRows = 2, mostProducts = 64; // of vectors, for each key
  int64_t taskRows = schedule.getTaskRows();
  return spec.scores.bLayout == PanelLayout::Transposed && taskRows <= mostRows &&
         taskRows * depth <= mostProducts * lanes;
}

/// The sums over the lanes of each of `vectors`, as many as lanes: one a lane.
static Value addLanes(KernelBuilder &k, SmallVector<Value> vectors) {
  auto lanes = static_cast<int64_t>(vectors.size());
  for (int64_t step = lanes / 2; step >= 1; step /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i & step ? lanes + i - step : i);
      high.push_back(i & step ? lanes + i : i + step);
    }
    for (int64_t i = 0; i < step; ++i) {
      Value a = vectors[i], b = vectors[i + step];
      vectors[i] = arith::AddFOp::create(k.builder, k.loc,
                                         vector::ShuffleOp::create(k.builder, k.loc, a, b, low),
                                         vector::ShuffleOp::create(k.builder, k.loc, a, b, high));
    }
  }
  return vectors.front();
}

void AttentionEmitter::emitScoresByKey(const KeyBlock &keys) {
  const ContractionSpec &product = spec.scores;
  constexpr int64_t aheadBytes = 4096;
  int64_t taskRows = schedule.getTaskRows();
  int64_t keyBytes = depth * product.bElement.getIntOrFloatBitWidth() / 8;
  Index ahead = k.mul(k.constant(std::max<int64_t>(1, aheadBytes / keyBytes)), product.bStride);
  Index last = k.sub(product.n, k.constant(1));
  auto keyType = VectorType::get({int64_t(lanes)}, product.bElement);
  k.loop(k.constant(0), keys.count, k.constant(lanes), [&](Index first) {
    SmallVector<SmallVector<Value>> sums(taskRows);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Index key = k.add(keys.first, k.add(first, k.constant(lane)));
      if (!keys.whole) // nobody reads the scores of keys that do not exist
        key = k.min(key, last);
      Value line = k.address(product.b, product.bElement, k.mul(key, product.bStride));
      Value later = k.address(line, product.bElement, ahead);
      for (int64_t byte = 0; byte < keyBytes; byte += f.cpu.lineBytes)
        k.prefetch(k.address(later, k.builder.getI8Type(), k.constant(byte)));
      SmallVector<Value> sum(taskRows, k.zero(lanesType));
      for (int64_t column = 0; column < depth; column += lanes) {
        Index valid = k.constant(depth - column), at = k.constant(column);
        Value part = k.widen(k.loadPart(keyType, k.address(line, product.bElement, at), valid), f32,
                             /*isUnsigned=*/false);
        for (int64_t row = 0; row < taskRows; ++row) {
          Value query = k.loadPart(lanesType, this->at(queries, k.constant(row), at), valid);
          sum[row] = multiplyAdd(query, part, sum[row]);
        }
      }
      for (int64_t row = 0; row < taskRows; ++row)
        sums[row].push_back(sum[row]);
    }
    for (int64_t row = 0; row < taskRows; ++row)
      k.store(addLanes(k, sums[row]), at(scores, k.constant(row), first));
  });
}
