//===- AttentionKeys.cpp - The keys that queries see -----------------------===//
//
// What bounds the keys of a query (KeyRange.h) is known before there is a score. A task goes over
// the blocks of keys that one of its queries sees; of a block, a tile of queries is multiplied by
// the panels that one of its rows sees, and the weights of a tile by the values of just those keys.
// Of a row, scores past its own last key are not computed: their weights are zero.
//
// Keys, values and queries beyond L2 are a few lines in each of many rows, which hardware reads
// ahead too late: tiles of queries fetch what the task, or the one behind it, comes to next.
//
//===----------------------------------------------------------------------===//
#include "AttentionEmitter.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

std::pair<Index, Index> AttentionEmitter::seenKeys() {
  Type i64 = k.builder.getI64Type();
  Value none = k.toI64(k.constant(0)), all = k.toI64(spec.keys);
  auto seen =
      k.loop(k.constant(0), rows, k.constant(1), {all, none}, [&](Index row, ValueRange in) {
        return f.e.nested([&]() -> SmallVector<Value> {
          f.e.setLanes(1);
          KeyRange range = emitKeyRange(f.e, bounds, rowCoords(row), {none, all});
          if (!range.begin) {
            f.failed = true;
            return llvm::to_vector(in);
          }
          Value at = k.address(rowRanges, i64, k.mul(row, k.constant(2)));
          k.store(range.begin, at);
          k.store(range.end, k.address(at, i64, k.constant(1)));
          return {arith::MinSIOp::create(k.builder, k.loc, in[0], range.begin),
                  arith::MaxSIOp::create(k.builder, k.loc, in[1], range.end)};
        });
      });
  auto toIndex = [&](Value v) -> Index {
    return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), v).getResult();
  };
  return {toIndex(seen[0]), toIndex(seen[1])};
}

KeySpan AttentionEmitter::seenBy(const KeyBlock &keys, Index row, int64_t count) {
  Type i64 = k.builder.getI64Type();
  auto rangeOf = [&](Index at) -> SmallVector<Value> {
    Value range = k.address(rowRanges, i64, k.mul(at, k.constant(2)));
    return {k.load(i64, range), k.load(i64, k.address(range, i64, k.constant(1)))};
  };
  SmallVector<Value> range = rangeOf(row);
  if (count > 1)
    range = k.loop(k.add(row, k.constant(1)), k.min(k.add(row, k.constant(count)), rows),
                   k.constant(1), range, [&](Index at, ValueRange in) -> SmallVector<Value> {
                     SmallVector<Value> other = rangeOf(at);
                     return {arith::MinSIOp::create(k.builder, k.loc, in[0], other[0]),
                             arith::MaxSIOp::create(k.builder, k.loc, in[1], other[1])};
                   });
  Index before = k.add(partFirst, keys.first);
  auto inBlock = [&](Value key) {
    Index at =
        arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), key).getResult();
    return k.min(k.max(k.sub(at, before), k.constant(0)), keys.count);
  };
  Index first = onlyUpper ? k.constant(0) : inBlock(range[0]);
  return {first, k.max(first, inBlock(range[1]))};
}

void AttentionEmitter::forSeeingTiles(
    const KeyBlock &keys, int64_t height,
    llvm::function_ref<void(Index row, const KeySpan &seen)> body) {
  k.loop(k.constant(0), rows, k.constant(height), [&](Index row) {
    f.e.nested([&] {
      if (bounds.empty())
        return body(row, {k.constant(0), keys.count});
      KeySpan seen = seenBy(keys, row, height);
      if (oneBlock) // which nothing was started for
        return body(row, seen);
      k.ifThen(k.compare(arith::CmpIPredicate::slt, seen.first, seen.last),
               [&] { body(row, seen); });
    });
  });
}

void AttentionEmitter::forTilesSeeing(const KeyBlock &keys, Index panelFirst,
                                      llvm::function_ref<void(Index row)> body) {
  k.loop(k.constant(0), rows, k.constant(schedule.getRows()), [&](Index row) {
    if (bounds.empty())
      return body(row);
    KeySpan seen = seenBy(keys, row, schedule.getRows());
    Value some = arith::AndIOp::create(
        k.builder, k.loc, k.compare(arith::CmpIPredicate::sgt, seen.last, panelFirst),
        k.compare(arith::CmpIPredicate::slt, seen.first, k.add(panelFirst, k.constant(panelKeys))));
    k.ifThen(some, [&] { body(row); });
  });
}

void AttentionEmitter::forKeyBlocks(Index firstBlock, Index lastBlock,
                                    llvm::function_ref<void(const KeyBlock &)> body) {
  Index step = k.constant(schedule.getKeys()), n = spec.scores.n, zero = k.constant(0);
  auto block = [&](Index first, Index count, Index most, bool whole) {
    f.e.nested([&] { body({first, count, most, whole}); });
  };
  Index begin = k.mul(firstBlock, step), end = k.min(n, k.mul(lastBlock, step));
  if (!bounds.empty()) {
    Index low = k.max(k.sub(seen.first, partFirst), zero);
    Index high = k.max(k.sub(seen.second, partFirst), zero);
    begin = k.max(begin, k.mul(k.floorDiv(low, step), step));
    end = k.min(end, high);
  }
  if (oneBlock)
    return block(zero, end, n, k.known(n) == k.known(step));
  // A block whose last keys nobody sees has those it needs at its beginning.
  Index wholeEnd = k.mul(k.floorDiv(n, step), step);
  k.loop(begin, k.min(end, wholeEnd), step, [&](Index first) {
    block(first, bounds.empty() ? step : k.min(step, k.sub(end, first)), step, true);
  });
  if (k.known(n) && k.known(wholeEnd) == k.known(n))
    return;
  Index rest = k.sub(n, wholeEnd);
  if (k.known(n) && k.known(end) == k.known(n))
    return block(wholeEnd, rest, rest, false);
  k.ifThen(k.compare(arith::CmpIPredicate::sgt, end, k.max(begin, wholeEnd)),
           [&] { block(wholeEnd, bounds.empty() ? rest : k.sub(end, wholeEnd), rest, false); });
}

/// Values that scores are computed with and that `v`, an element for each, depends on; those of
/// `scores` are not among them.
static void collectOperands(Value v, Value scores, SetVector<Value> &found) {
  Operation *op = v.getDefiningOp();
  if (v == scores || (op && op->hasTrait<prim::ModelConstant>()))
    return;
  if (op && prim::isElementwise(op)) {
    for (Value operand : op->getOperands())
      collectOperands(operand, scores, found);
    return;
  }
  found.insert(v);
}

/// Whether a mask or a bias has an element for each query and key: one for each key stays in L1.
static bool isMatrix(Value v) {
  auto type = tensorType(v);
  return type.getRank() >= 2 &&
         llvm::none_of(type.getShape().take_back(2), [](int64_t extent) { return extent == 1; });
}

void AttentionEmitter::fetchForScores(const KeyBlock &keys, Index panelFirst, Index row,
                                      unsigned count) {
  SetVector<Value> operands;
  collectOperands(seenScore, form.scores.getResult(), operands);
  for (Value operand : operands) {
    Value memory = operand;
    while (Operation *op = memory.getDefiningOp()) {
      if (!isa<prim::BroadcastOp, prim::ReshapeOp>(op))
        break;
      memory = op->getOperand(0);
    }
    if (!isa<BlockArgument>(memory) || !isMatrix(memory))
      continue;
    int64_t bytes = storageType(tensorType(memory).getElementType()).getIntOrFloatBitWidth() / 8;
    for (unsigned r = 0; r < count; ++r)
      f.e.nested([&] {
        f.e.setLanes(lanes);
        Coords at = rowCoords(k.add(row, k.constant(r)));
        Index key = k.add(partFirst, k.add(keys.first, panelFirst));
        at.push_back(Coord::affine(k.value(key), 1));
        auto place = f.e.readingOf(operand, at).place;
        f.e.setLanes(1);
        for (int64_t byte = 0; place && byte < panelKeys * bytes; byte += f.cpu.lineBytes)
          k.prefetch(k.address(place->pointer, k.builder.getI8Type(), k.constant(byte)));
      });
  }
}

void AttentionEmitter::fetchLines(Value from, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += f.cpu.lineBytes)
    k.prefetch(k.address(from, k.builder.getI8Type(), k.constant(byte)));
}

bool AttentionEmitter::comesFromAfar() {
  int64_t bytes = (depth + width) * spec.scores.bElement.getIntOrFloatBitWidth() / 8;
  std::optional<int64_t> keys = k.known(spec.keys), entries = k.known(spec.batch);
  return !keys || !entries || *entries * *keys * bytes > f.cpu.l2Bytes;
}

void AttentionEmitter::fetchBehind(const KeyBlock &keys, Index panelFirst, Index row) {
  int64_t most = schedule.getTaskRows();
  if (auto m = k.known(spec.scores.m))
    most = std::min(most, *m);
  int64_t share = llvm::divideCeil(panelKeys, llvm::divideCeil(most, schedule.getRows()));
  Index tile = k.floorDiv(row, k.constant(schedule.getRows()));
  Index first = k.add(k.add(keys.first, panelFirst), k.mul(tile, k.constant(share)));
  auto fetch = [&](const ContractionSpec &product, PanelLayout rows, Index from, int64_t elements) {
    if (product.bLayout != rows)
      return;
    for (int64_t key = 0; key < share; ++key) {
      Index at = k.mul(k.add(from, k.constant(key)), product.bStride);
      fetchLines(k.address(product.b, product.bElement, at),
                 elements * product.bElement.getIntOrFloatBitWidth() / 8);
    }
  };
  fetch(spec.scores, PanelLayout::Transposed, k.add(first, k.constant(panelKeys)), depth);
  fetch(spec.values, PanelLayout::RowMajor, first, width);
}

void AttentionEmitter::fetchNextQuery(Index row) {
  const ContractionSpec &product = spec.scores;
  if (!k.isKnown(product.aKStride, 1))
    return;
  Index at = k.mul(k.add(k.add(firstRow, rows), row), product.aRowStride);
  fetchLines(k.address(product.a, product.aElement, at),
             depth * product.aElement.getIntOrFloatBitWidth() / 8);
}
