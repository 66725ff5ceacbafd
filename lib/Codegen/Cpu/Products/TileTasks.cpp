//===- TileTasks.cpp - Tasks of a product, and those that are done as one -===//
#include "MatrixTile.h"
#include "TaskEmitter.h"

using namespace mlir;
namespace tcc::codegen {

Index emitTileTaskCount(KernelBuilder &k, const ContractionSpec &spec) {
  Tiling tiling = cutTiles(k, spec);
  return k.mul(tiling.taskRows, tiling.taskColumns);
}

void emitTileTask(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, Index task,
                  EpilogueFn epilogue) {
  TaskEmitter(k, spec, feed, epilogue).emit(task);
  if (spec.schedule.matrixTiles)
    releaseMatrixTiles(k);
}

bool staysByPanel(KernelBuilder &k, const ContractionSpec &spec, const RowFeed &feed) {
  return !spec.integers && spec.groups == 1 && !feed.writesRows() && k.known(spec.m) &&
         k.known(spec.k) &&
         goesPanelByPanel(spec.cpu, spec.bLayout, spec.schedule, *k.known(spec.k),
                          spec.acc.getIntOrFloatBitWidth());
}

/// Rows of B in place have short runs where there is a task for each of a few threads: tasks beside
/// each other make them long. Tasks below each other copy the same panels, or read blocks of the
/// same weights.
static JoinedTasks joinedTasks(KernelBuilder &k, const ContractionSpec &spec, const RowFeed &feed) {
  constexpr int64_t longRun = 1024; // columns
  constexpr int64_t mostRows = 16, mostSums = 64 << 10;
  const ContractionSchedule &schedule = spec.schedule;
  Tiling tiling = cutTiles(k, spec);
  bool cutsK = !k.isKnown(tiling.kBlocks, 1);
  int64_t columns = schedule.panelsPerTask * schedule.panelWidth();
  bool rereads = feed.mayBeFew() && cutsK && spec.bLayout == PanelLayout::Packed &&
                 !spec.integers && !schedule.matrixTiles && !staysByPanel(k, spec, feed);
  if ((schedule.packsB() || rereads) && !k.isKnown(tiling.taskRows, 1)) {
    int64_t bytes = spec.acc.getIntOrFloatBitWidth() / 8;
    int64_t sums = schedule.tilesPerTask * tiling.rows * columns * bytes;
    return {.rows = cutsK ? std::clamp<int64_t>(mostSums / sums, 1, mostRows) : mostRows};
  }
  bool streams = spec.bLayout == PanelLayout::RowMajor && cutsK && !schedule.packsB();
  if (!streams || spec.groups > 1 || !k.isKnown(tiling.tiles, 1))
    return {};
  return {.columns = std::max<int64_t>(1, longRun / columns)};
}

void emitTileTasks(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, Index begin,
                   Index end, EpilogueFn epilogue) {
  JoinedTasks joined = joinedTasks(k, spec, feed);
  auto emit = [&](Index first, Index last, int64_t most) {
    Index step = k.constant(most);
    k.loop(first, last, step, [&](Index task) {
      TaskEmitter emitter(k, spec, feed, epilogue, joined);
      most == 1 ? emitter.emit(task) : emitter.emit(task, k.min(last, k.add(task, step)));
      if (spec.schedule.matrixTiles)
        releaseMatrixTiles(k);
    });
  };
  if (joined.rows == 1)
    return emit(begin, end, joined.columns);
  Index rows = cutTiles(k, spec).rowsInOrder;
  k.loop(k.floorDiv(begin, rows), k.ceilDiv(end, rows), k.constant(1), [&](Index column) {
    Index first = k.mul(column, rows);
    emit(k.max(begin, first), k.min(end, k.add(first, rows)), joined.rows);
  });
}

} // namespace tcc::codegen
