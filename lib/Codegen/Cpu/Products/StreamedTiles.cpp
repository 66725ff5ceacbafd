//===- StreamedTiles.cpp - Tiles that wait for what they read -------------===//
//
// What a task reads of B comes from far away where it has few rows: it is fetched before it is
// needed, from several places at once, or where it lies.
//
//===----------------------------------------------------------------------===//
#include "TaskEmitter.h"

using namespace mlir;
namespace tcc::codegen {

/// Weights are read once a run and come from far away. Each tile of the task, or each of the first
/// ones, fetches its part of the panel that follows in memory, which is the one of the next block
/// or of the next task: threads take neighbouring tasks. A single tile streams its panels, faster
/// than hardware prefetches across pages: it fetches what it comes to some steps later.
void TaskEmitter::prefetchNext(PanelSource &source, Index tile, const KBlock &block) {
  constexpr int64_t manyTiles = 64; // no time to lose
  constexpr int64_t fetchingTiles = 2;
  constexpr int64_t streamedAhead = 8192;
  int64_t tiles = source.groups ? 1 : spec.schedule.tilesPerTask;
  if (spec.bLayout != PanelLayout::Packed || copiesB || tiles > manyTiles || feed.keepsPanels())
    return;
  int64_t width = spec.schedule.panelWidth();
  int64_t bytes = width * spec.steps.size * std::max(1u, spec.bElement.getIntOrFloatBitWidth() / 8);
  // Of open rows the first tiles fetch all of it, since there may be no others.
  bool isOpen = feed.mayBeFew() && !k.known(tiling.tiles);
  int64_t fetching = isOpen ? std::min(tiles, fetchingTiles) : tiles;
  source.aheadStep = llvm::divideCeil(bytes, fetching);
  if (source.groups) {
    // Panels beside each other are followed by as many.
    const GroupedShape &shape = *source.groups;
    int64_t bytes = 4 * shape.groupWords(), groups = llvm::divideCeil(streamedAhead, bytes);
    source.ahead = k.address(source.base, k.builder.getI8Type(), k.constant(groups * bytes));
    source.aheadGroups =
        k.sub(k.constant(shape.groups - groups), k.floorDiv(block.begin, k.constant(shape.group)));
    return;
  }
  Value soon = k.address(source.base, k.builder.getI8Type(), k.constant(streamedAhead));
  if (tiles == 1) {
    source.ahead = soon;
    source.isNear = true;
    return;
  }
  if (!k.known(tiling.tiles)) {
    Index count = k.sub(endTile, firstTile);
    source.alone = k.compare(arith::CmpIPredicate::sle, count, k.constant(1));
    source.soon = soon;
    source.stepBytes = bytes;
  }
  Index next = k.mul(panelRows(), k.constant(byPanel ? 1 : spec.schedule.panelsPerTask));
  if (cutsK && !byPanel)
    next = block.length;
  Index number = k.sub(tile, firstTile);
  if (fetching < tiles)
    number = k.rem(number, k.constant(fetching));
  Index part = k.mul(k.mul(number, block.length), k.constant(source.aheadStep));
  Value after = k.address(source.base, spec.bElement, k.mul(next, source.kStride));
  source.ahead = k.address(after, k.builder.getI8Type(), part);
}

/// Whether B takes so many shares of L2 or more; what only a run knows does not.
bool TaskEmitter::isFarB(int64_t shares) const {
  int64_t elements = k.known(spec.n).value_or(0) * k.known(spec.k).value_or(0) * spec.steps.size;
  return elements * spec.bElement.getIntOrFloatBitWidth() / 8 > shares * int64_t(spec.cpu.l2Bytes);
}

/// Rows of a B that comes at run time, of which a task takes a part of each: hardware fetches what
/// follows, which another task reads. While a block of them is multiplied the next one is fetched,
/// but for a single row, which waits for nothing else.
void TaskEmitter::prefetchRows(PanelSource &source, Index panel, const KBlock &block) {
  bool rows = spec.bLayout == PanelLayout::RowMajor && spec.steps.size == 1 && cutsK;
  constexpr int64_t copiedShares = 8; // the last cache gives less far ones fast enough
  constexpr int64_t fewBlocks = 3;    // behind the last one nothing is left to fetch
  if (!rows || spec.groups > 1 || tiling.rows == 1 || !isFarB(copiesB ? copiedShares : farShares) ||
      *k.known(spec.k) < fewBlocks * spec.schedule.kBlock)
    return;
  int64_t bytes = std::max(1u, spec.bElement.getIntOrFloatBitWidth() / 8);
  Index column = k.mul(panel, k.constant(spec.schedule.panelWidth()));
  Index next = k.mulAdd(k.add(block.begin, block.length), spec.bStride, column);
  source.ahead = k.address(spec.b, spec.bElement, next);
  source.aheadStep = spec.schedule.panelWidth() * bytes;
  source.aheadStride = k.mul(spec.bStride, k.constant(bytes));
  source.isNear = !copiesB;
}

/// Sums of few terms are stored faster than memory gives the lines that they go to.
void TaskEmitter::prefetchResults(const TileRows &rows, Index panel, bool full) {
  if (!epilogue.far)
    return;
  Value column = k.value(firstColumn(panel));
  int64_t columns = 0;
  for (unsigned lanes : panelWidths(full))
    columns += lanes;
  for (unsigned row = 0; row < rows.count; ++row) {
    Value m = k.value(resultRow(k.add(rows.first, k.constant(row))));
    Value line = epilogue.far->address(k.builder, k.loc, m, column);
    for (int64_t byte = 0; byte < columns * epilogue.far->bytes; byte += spec.cpu.lineBytes)
      k.prefetch(k.address(line, k.builder.getI8Type(), k.constant(byte)), KernelBuilder::kInL1);
  }
}

unsigned TaskEmitter::panelsOfTile() const {
  const ContractionSchedule &schedule = spec.schedule;
  bool streams = spec.bLayout == PanelLayout::Packed && !schedule.packsB();
  bool single = k.isKnown(tiling.tiles, 1) && !schedule.leastTiles;
  bool cutsRuns = cutsK && !spec.integers;
  if (!streams || !single || cutsRuns || schedule.matrixTiles || spec.groups > 1 || storesTurned())
    return 1;
  ContractionSchedule shape = schedule;
  shape.rows = tiling.rows;
  return panelsBeside(spec.cpu, shape, spec.integers.has_value());
}

void TaskEmitter::emitWideTile(Index tile, unsigned panels, const KBlock &block) {
  chooseRows(tile, [&](const TileRows &rows) {
    feed.prepare(k, rows, block);
    emitWidePanels(tile, rows, panels, block);
  });
  firstPanel = wideEnd(panels);
  forPanels([&](Index panel, bool full) { emitTile(tile, panel, full, block); });
  firstPanel = taskPanel;
}

Index TaskEmitter::wideEnd(unsigned panels) {
  Index count = k.constant(panels), last = k.min(endPanel, tiling.fullPanels);
  Index sets = k.floorDiv(k.max(k.sub(last, firstPanel), k.constant(0)), count);
  return k.add(firstPanel, k.mul(sets, count));
}

void TaskEmitter::emitWidePanels(Index tile, const TileRows &rows, unsigned panels,
                                 const KBlock &block) {
  Index count = k.constant(panels), one = k.constant(1);
  k.loop(firstPanel, wideEnd(panels), count, [&](Index panel) {
    RegisterTile registers{rows.count, {}, spec.acc, spec.steps};
    SmallVector<unsigned> widths = panelWidths(/*full=*/true);
    for (unsigned i = 0; i < panels; ++i)
      registers.widths.append(widths);
    PanelSource source = panelSource(panel, /*full=*/true, block);
    source.panels = panels;
    source.panelStride = spec.integers ? k.constant(spec.integers->panelWords())
                                       : k.mul(panelRows(), source.kStride);
    // What is widened keeps the processor from looking as far ahead as hardware would fetch.
    if (spec.integers || (spec.bElement != spec.acc && spec.steps.size <= 1))
      prefetchNext(source, tile, block);
    SmallVector<Value> accs =
        feed.run(k, registers, source, k.constant(0), block,
                 cutsK ? zeroTile(k, registers) : initialTile(k, registers, source));
    Index size = k.constant(int64_t(tiling.rows) * spec.schedule.panelWidth());
    auto place = [&](Index i) { return k.address(buffer, spec.acc, k.mul(i, size)); };
    for (unsigned i = 0; i < panels; ++i) {
      SmallVector<Value> sums;
      for (unsigned row = 0; row < rows.count; ++row)
        llvm::append_range(sums,
                           ArrayRef(accs).slice((row * panels + i) * widths.size(), widths.size()));
      if (cutsK) {
        addToSums(this->sums(tile, k.add(panel, k.constant(i))), rows.count, widths, sums);
        continue;
      }
      storeTile(place(k.constant(i)), rows.count, widths, sums);
    }
    if (!cutsK)
      k.loop(k.constant(0), count, one,
             [&](Index i) { finishSpilled(tile, k.add(panel, i), /*full=*/true, place(i)); });
  });
}

void TaskEmitter::emitDots(Index tile, const KBlock &block) {
  const ContractionSchedule &schedule = spec.schedule;
  Index width = k.constant(schedule.panelWidth());
  // Each column of a far matrix is a stream, which ends with the block of k: the first tile fetches
  // the next block of columns.
  Index next;
  if (isFarB(farShares)) {
    Index isFirst = k.max(k.constant(0), k.sub(k.add(firstTile, k.constant(1)), tile)); // or 0
    next = k.mul(isFirst, k.mul(k.constant(DotTile::blockColumns), spec.bStride));
  }
  DotTile dots(k, spec.cpu, spec.acc, spec.steps, schedule.lanes, schedule.panelWidth());
  forPanels([&](Index panel, bool full) {
    Value to = cutsK ? sums(tile, panel) : buffer;
    Index first = k.mulAdd(k.mul(panel, width), spec.bStride,
                           k.mul(block.begin, k.constant(spec.steps.size)));
    ColumnSource columns{spec.bElement, k.address(spec.b, spec.bElement, first), spec.bStride,
                         panelColumns(panel, full), next};
    chooseRows(tile, [&](const TileRows &rows) {
      feed.prepare(k, rows, block);
      feed.runDots(k, dots, rows.count, columns, block, to, /*adds=*/cutsK);
    });
    if (!cutsK)
      finishSpilled(tile, panel, full, to);
  });
}

} // namespace tcc::codegen
