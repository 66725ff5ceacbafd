//===- AttentionKernel.cpp - softmax(scores) * values, block by block -----===//
//
// A task has a block of queries of one batch entry; heads that share keys and values are rows
// of one entry. It goes over the keys in blocks:
//
//   for block of keys that some query of the task sees:
//     for panel of keys:                     packed once for all queries of the task
//       scores of the block = queries * keys   in register tiles, to a buffer that stays in L2
//     for query:
//       score = what the kernel's region computes from it: scale, bias, mask
//       top' = max(top, scores);  c = exp(top - top')
//       score = exp(score - top');  sum = c * sum + scores
//     results = c * results + scores * values  in register tiles
//   results / sum, and what follows in the region
//
// A cache and the keys that come to it are read where they lie: the blocks of one follow those of
// the other, each with its own code.
//
// The lanes are keys, then columns of the values, so that masks are read and results are written
// along their rows. Sums are f32: those of a block start from zero, as in PartialSums.h.
//
// A row that has seen nothing but minus infinity has the top -inf, and is shifted by 0 until
// it sees more. What becomes of it at the end, and of any other top, is what the region says:
// all that was summed with the template's shift is multiplied by exp(shift - the region's).
// NaNs do not get into the top; they make the sum one.
//
//===----------------------------------------------------------------------===//
#include "../Products/PanelPacking.h"
#include "AttentionEmitter.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

AttentionEmitter::AttentionEmitter(KernelFrame &f, cpu::AttentionScheduleAttr schedule,
                                   AttentionSpec given, AttentionForm form)
    : f(f), schedule(schedule), spec(std::move(given)), form(form), k(f.b, f.b.getLoc()),
      f32(f.b.getF32Type()), bf16(f.b.getBF16Type()), lanes(schedule.getLanes()),
      lanesType(VectorType::get({lanes}, f32)), depth(*k.known(spec.scores.k)),
      width(*k.known(spec.values.n)), panelKeys(lanes * schedule.getVectors()),
      panelColumns(lanes * schedule.getValueVectors()),
      keyGrain(schedule.getMatrixTiles() ? panelKeys : lanes) {
  KeyMask mask = keyMaskOf(form.score);
  bounds = mask.bounds;
  seenScore = mask.seen;
  onlyUpper = llvm::all_of(bounds, [](const KeyBound &bound) { return bound.isUpper; });
  spec.scores.schedule.lanes = spec.values.schedule.lanes = lanes;
  spec.scores.schedule.vectors = schedule.getVectors();
  spec.values.schedule.vectors = schedule.getValueVectors();
  if (schedule.getMatrixTiles())
    spec.scores.steps = spec.values.steps = bfloatSteps(f.cpu);
  streams = schedule.getTaskRows() <= schedule.getValueRows();
  std::optional<int64_t> keys = k.known(spec.keys);
  oneBlock =
      keys && *keys <= schedule.getKeys() && schedule.getSplit() == 1 && spec.parts.size() == 1;
  far = !streams && comesFromAfar();
}

void AttentionEmitter::selectPart(const KeyPart &of) {
  spec.select(of);
  partFirst = of.first;
  // Dense f32 rows are read in place, and all others if they are read once.
  spec.scores.kElements = spec.scores.k;
  spec.values.kElements = spec.values.k;
  bool dense = spec.values.bElement == f32 && k.isKnown(spec.values.bStride, width);
  packsValues = spec.values.bLayout == PanelLayout::Transposed || (!dense && !streams);
}

void AttentionEmitter::allocate() {
  auto buffer = [&](int64_t height, int64_t length) {
    int64_t stride = packedRowStride(f.cpu, length, 4);
    return Buffer{k.scratch(f32, height * stride), stride};
  };
  int64_t scoreRows = llvm::alignTo(schedule.getTaskRows(), schedule.getRows());
  int64_t valueRows = llvm::alignTo(schedule.getTaskRows(), schedule.getValueRows());
  scores = buffer(std::max(scoreRows, valueRows), schedule.getKeys());
  results = buffer(valueRows, llvm::alignTo(width, panelColumns));
  if (schedule.getMatrixTiles())
    allocateForMatrix();
  else
    queries = buffer(scoreRows, depth);
  for (const KeyPart &part : spec.parts) {
    selectPart(part);
    if (matrix)
      break;
    if (spec.scores.bLayout == PanelLayout::Transposed && !scoresByKey() && !panel)
      panel = k.scratch(f32, depth * panelKeys);
    if (packsValues && !valuePanel)
      valuePanel = k.scratch(f32, schedule.getKeys() * panelColumns);
  }
  tops = k.scratch(f32, valueRows);
  corrections = k.scratch(f32, valueRows);
  sums = k.scratch(f32, valueRows * lanes);
  if (!bounds.empty())
    rowRanges = k.scratch(k.builder.getI64Type(), 2 * schedule.getTaskRows());
}

void AttentionEmitter::run() {
  allocate();
  if (matrix)
    matrix->configure();
  if (schedule.getSplit() > 1)
    runSplit();
  else
    runWhole();
  if (matrix)
    releaseMatrixTiles(k);
}

void AttentionEmitter::runWhole() {
  Index blocks = spec.rowBlocks(k, schedule);
  k.loop(f.begin, f.end, k.constant(1), [&](Index task) {
    f.e.nested([&] {
      beginTask(k.floorDiv(task, blocks), k.rem(task, blocks));
      emitKeys(k.constant(0));
      emitResults();
    });
  });
}

void AttentionEmitter::beginTask(Index ofEntry, Index block) {
  entry = ofEntry;
  Index most = k.constant(schedule.getTaskRows());
  firstRow = k.mul(block, most);
  std::optional<int64_t> m = k.known(spec.scores.m);
  rows = m && *m % schedule.getTaskRows() == 0 ? most : k.min(most, k.sub(spec.scores.m, firstRow));
  SmallVector<Value> extents;
  for (Index d : spec.batchExtents)
    extents.push_back(k.value(d));
  batch = f.delinearize(k.value(entry), extents);
}

std::pair<Index, Index> AttentionEmitter::sharedBlocks(Index share) {
  Index blocks = k.ceilDiv(spec.scores.n, k.constant(schedule.getKeys()));
  if (schedule.getSplit() == 1)
    return {k.constant(0), blocks};
  Index each = k.ceilDiv(blocks, k.constant(schedule.getSplit()));
  return {k.mul(share, each), k.mul(k.add(share, k.constant(1)), each)};
}

void AttentionEmitter::emitKeys(Index share) {
  auto address = [&](Value memory, Type element, Index offset, ArrayRef<Index> batchStrides) {
    for (auto [v, stride] : llvm::zip(batch, batchStrides))
      offset = k.mulAdd(v, stride, offset);
    return k.address(f.e.memoryOf(memory)->pointer, element, offset);
  };
  spec.scores.a = address(memoryBehind(form.scores.getLhs()), spec.scores.aElement,
                          spec.queryOffset, spec.queryBatchStrides);

  copyQueries();
  if (!oneBlock)
    startRows();
  if (!bounds.empty())
    seen = seenKeys();
  for (const KeyPart &part : spec.parts) {
    selectPart(part);
    spec.scores.b = address(part.keys, spec.scores.bElement, part.keyOffset, part.keyBatchStrides);
    spec.values.b =
        address(part.values, spec.values.bElement, part.valueOffset, part.valueBatchStrides);
    auto [first, last] = sharedBlocks(share);
    forKeyBlocks(first, last, [&](const KeyBlock &keys) {
      emitScores(keys);
      emitSoftmax(keys);
      emitValues(keys);
    });
  }
}

void AttentionEmitter::copyQueries() {
  if (matrix)
    return copyMatrixQueries();
  // Missing rows repeat the last.
  TileRows all{unsigned(llvm::alignTo(schedule.getTaskRows(), schedule.getRows())), firstRow, rows};
  packRows(k, spec.scores, all, {k.constant(0), spec.scores.k}, queries.base, queries.stride);
}

void AttentionEmitter::startRows() {
  Value none = number(-std::numeric_limits<float>::infinity()), zero = k.zero(lanesType);
  int64_t height = llvm::alignTo(schedule.getTaskRows(), schedule.getValueRows());
  k.loop(k.constant(0), k.constant(height), k.constant(1), [&](Index row) {
    k.store(none, k.address(tops, f32, row));
    k.store(number(0), k.address(corrections, f32, row));
    k.store(zero, k.address(sums, f32, k.mul(row, k.constant(lanes))));
    for (unsigned column = 0; column < llvm::alignTo(width, panelColumns); column += lanes)
      k.store(zero, at(results, row, k.constant(column)));
  });
}

//===----------------------------------------------------------------------===//
// The products
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitScores(const KeyBlock &keys) {
  if (matrix)
    return emitMatrixScores(keys);
  if (scoresByKey())
    return emitScoresByKey(keys);
  Index step = k.constant(panelKeys);
  SmallVector<unsigned> all(schedule.getVectors(), lanes);
  std::optional<int64_t> most = k.known(keys.most);
  Index bulk = most ? k.constant(*most / panelKeys * panelKeys) : keys.count;
  k.loop(k.constant(0), k.min(keys.count, bulk), step,
         [&](Index first) { emitPanel(keys, first, all); });
  if (!most || *most % panelKeys == 0)
    return;
  auto last = [&] { emitPanel(keys, bulk, panelVectors(*most % panelKeys, lanes)); };
  if (k.known(keys.count))
    return last();
  k.ifThen(k.compare(arith::CmpIPredicate::sgt, keys.count, bulk), last);
}

RegisterTile AttentionEmitter::tileOf(unsigned rows, ArrayRef<unsigned> widths) {
  RegisterTile tile{rows, llvm::to_vector(widths), f32};
  // With vectors of two sizes LLVM's allocator spills once k is unrolled.
  tile.rolled = 2 * widths.back() <= widths.front();
  return tile;
}

void AttentionEmitter::emitPanel(const KeyBlock &keys, Index panelFirst,
                                 ArrayRef<unsigned> widths) {
  const ContractionSpec &product = spec.scores;
  Index first = k.add(keys.first, panelFirst);
  Index columns = k.constant(panelKeys);
  if (!keys.whole)
    columns = k.min(columns, k.sub(product.n, first));
  PanelSource source;
  source.element = f32;
  if (product.bLayout == PanelLayout::Transposed) {
    packPanel(k, product, first, columns, {k.constant(0), product.k}, panel, streams);
    source.base = panel;
    source.kStride = k.constant(panelKeys);
  } else {
    source.element = product.bElement;
    source.base = k.address(product.b, product.bElement, first);
    source.kStride = product.bStride;
    if (!keys.whole)
      source.validColumns = columns;
  }
  RegisterTile tile = tileOf(schedule.getRows(), widths);
  auto multiply = [&](Index row) {
    fetchForScores(keys, panelFirst, row, tile.rows);
    if (far)
      fetchBehind(keys, panelFirst, row);
    SmallVector<Value> sums = emitRun(k, f.cpu, tile, rowsFrom(queries, row), source, product.k,
                                      /*unroll=*/2, zeroTile(k, tile));
    unsigned next = 0;
    for (unsigned r = 0; r < tile.rows; ++r) {
      Index column = panelFirst;
      for (unsigned w : widths) {
        k.store(sums[next++], at(scores, k.add(row, k.constant(r)), column));
        column = k.add(column, k.constant(w));
      }
    }
  };
  forTilesSeeing(keys, panelFirst, multiply);
}

void AttentionEmitter::emitValues(const KeyBlock &keys) {
  if (matrix)
    return emitMatrixValues(keys);
  SmallVector<unsigned> all(schedule.getValueVectors(), lanes);
  int64_t bulk = width / panelColumns * panelColumns;
  k.loop(k.constant(0), k.constant(bulk), k.constant(panelColumns),
         [&](Index column) { emitValuePanel(keys, column, all); });
  if (bulk < width)
    emitValuePanel(keys, k.constant(bulk), panelVectors(width - bulk, lanes));
}

/// Values that come from far away: each row fetches `columns` of one that is read soon.
void AttentionEmitter::fetchAhead(PanelSource &source, int64_t columns) {
  constexpr int64_t aheadBytes = 4096;
  int64_t bytes = source.element.getIntOrFloatBitWidth() / 8;
  Index rowsAhead = k.constant(std::max<int64_t>(1, aheadBytes / (width * bytes)));
  source.ahead = k.address(source.base, source.element, k.mul(rowsAhead, source.kStride));
  source.aheadStep = columns * bytes;
  source.aheadStride = k.mul(source.kStride, k.constant(bytes));
}

void AttentionEmitter::emitValuePanel(const KeyBlock &keys, Index column,
                                      ArrayRef<unsigned> widths) {
  const ContractionSpec &product = spec.values;
  RegisterTile tile = tileOf(schedule.getValueRows(), widths);
  Index columns = k.min(k.constant(panelColumns), k.sub(k.constant(width), column));
  bool exact = k.known(columns) ? *k.known(columns) == tile.columns() : true;
  PanelSource source;
  source.element = product.bElement;
  if (packsValues) {
    packPanel(k, product, column, k.known(columns) ? columns : k.constant(panelColumns),
              {keys.first, keys.count}, valuePanel);
    source.element = f32;
    source.base = valuePanel;
    source.kStride = k.constant(panelColumns);
  } else {
    source.base =
        k.address(product.b, product.bElement, k.mulAdd(keys.first, product.bStride, column));
    source.kStride = product.bStride;
    if (!exact)
      source.validColumns = columns;
    if (streams)
      fetchAhead(source, tile.columns());
  }
  forSeeingTiles(keys, schedule.getValueRows(), [&](Index row, const KeySpan &seen) {
    RowSource weights = rowsFrom(scores, row);
    weights.base = k.address(weights.base, f32, seen.first);
    SmallVector<Value> added =
        emitRun(k, f.cpu, tile, weights, source.from(k, seen.first), k.sub(seen.last, seen.first),
                /*unroll=*/2, zeroTile(k, tile));
    unsigned next = 0;
    for (unsigned r = 0; r < tile.rows; ++r) {
      Index here = k.add(row, k.constant(r));
      Value correction = oneBlock ? Value() : k.load(f32, k.address(corrections, f32, here));
      Index to = column;
      for (unsigned w : widths) {
        Value place = at(results, here, to), sum = added[next++];
        if (correction) {
          Value old = k.load(VectorType::get({int64_t(w)}, f32), place);
          sum = multiplyAdd(k.broadcast(correction, w), old, sum);
        }
        k.store(sum, place);
        to = k.add(to, k.constant(w));
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitResults() {
  Operation *op = form.values;
  // What follows a reshape works on all rows, batch entries too, in another shape.
  bool reshaped = isa<prim::ReshapeOp>(*op->getUsers().begin());
  SmallVector<Value> rowExtents;
  if (reshaped)
    llvm::append_range(rowExtents, ArrayRef(f.results[0].extents).drop_back());
  else
    for (int64_t i = batch.size(); i + 1 < tensorType(op->getResult(0)).getRank(); ++i)
      rowExtents.push_back(f.e.extent(op->getResult(0), i));
  Value first = reshaped ? k.value(k.mul(entry, spec.scores.m)) : Value();
  auto emit = [&](EpilogueFn epilogue) {
    k.loop(k.constant(0), rows, k.constant(1), [&](Index row) {
      f.e.nested([&] {
        RowScale scale = finalScale(row);
        if (!scale.factor) {
          f.failed = true;
          return;
        }
        Value m = k.value(k.add(firstRow, row));
        int64_t column = 0;
        for (unsigned w : panelVectors(width, lanes)) {
          Value sum =
              k.load(VectorType::get({int64_t(w)}, f32), at(results, row, k.constant(column)));
          epilogue(k.builder, k.loc, m, k.value(k.constant(column)), scaled(sum, scale),
                   k.constant(std::min<int64_t>(w, width - column)));
          column += w;
        }
      });
    });
  };
  withEpilogue(f, op, reshaped ? ArrayRef<Value>() : batch, rowExtents, /*hasColumns=*/true, emit,
               first);
}

bool tcc::codegen::emitAttentionKernel(KernelFrame &f, cpu::AttentionScheduleAttr schedule) {
  AttentionForm form = attentionOf(f.launch);
  auto extents = [&](Value memory) {
    SmallVector<Index> all;
    for (Value v : f.e.memoryOf(memory)->extents)
      all.push_back(getAsOpFoldResult(v));
    return all;
  };
  auto spec = attentionSpec(f.b, f.b.getLoc(), form, extents, f.cpu);
  if (!spec) {
    f.launch.emitError("has operands that attention does not read in place");
    return false;
  }
  AttentionEmitter(f, schedule, std::move(*spec), form).run();
  return !f.failed;
}
