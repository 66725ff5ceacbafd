//===- Contraction.cpp - Matrix products on the CPU -----------------------===//
//
// The tile loop (TileLoop.h) over rows of A that are read in place, or, where they
// would fall into the same cache sets or are no neighbours along k, from a packed copy
// of the tile's rows.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/Contraction.h"
#include "CutTimes.h"
#include "PanelPacking.h"
#include "PartialSums.h"
#include "TileLoop.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

class MatrixRows : public RowFeed {
public:
  explicit MatrixRows(const ContractionSpec &spec) : spec(spec) {}

  void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) override {
    if (!spec.schedule.packsA()) {
      int64_t size = spec.steps.size;
      Index step = k.mul(spec.aKStride, k.constant(size));
      Index offset = k.add(k.mul(rows.first, spec.aRowStride), k.mul(block.begin, step));
      source = RowSource();
      source.element = spec.aElement;
      source.isUnsigned = spec.aUnsigned;
      source.base = k.address(spec.a, spec.aElement, offset);
      source.rowStride = spec.aRowStride;
      source.kStride = step;
      source.validRows = rows.valid;
      if (size > 1 && k.known(spec.kElements).value_or(1) % size)
        source.validK = k.sub(spec.kElements, k.mul(block.begin, k.constant(size)));
      return;
    }
    unsigned bytes = spec.acc.getIntOrFloatBitWidth() / 8;
    int64_t stride = packedRowStride(spec.cpu, packedDepth(k, spec), bytes);
    if (!packed)
      packed = k.scratch(spec.acc, spec.schedule.rows * stride);
    source = RowSource();
    source.element = spec.acc;
    source.base = packed;
    if (k.isKnown(spec.aRowStride, 1)) {
      packSteps(k, spec, rows, block, packed);
      source.rowStride = k.constant(1);
      source.kStride = k.constant(spec.schedule.rows);
      return;
    }
    packRows(k, spec, rows, block, packed, stride);
    source.rowStride = k.constant(stride);
    source.kStride = k.constant(1);
  }

  bool writesRows() const override { return spec.schedule.packsA(); }
  bool mayBeFew() const override { return true; }

  SmallVector<Value> run(KernelBuilder &k, const RegisterTile &tile, const PanelSource &panel,
                         Index group, const KBlock &block, ValueRange accs) override {
    RowSource rows = source;
    if (spec.groups > 1)
      rows.base = k.address(rows.base, rows.element,
                            k.mul(group, spec.steps.size > 1 ? spec.kElements : spec.k));
    // Blocks of k that share packed panels are short enough, known or not.
    bool isShort = spec.schedule.kBlock && spec.schedule.kBlock <= kSumBlock * 3 / 2;
    auto run = isShort ? emitRun : emitLongRun;
    bool mixedSizes = tile.widths.front() != tile.widths.back();
    unsigned unroll = mixedSizes ? 1 : spec.schedule.unroll;
    return run(k, spec.cpu, tile, rows, panel, block.length, unroll, accs);
  }

  void runMatrixTile(MatrixTile &tile, const PanelSource &panel, const KBlock &block, Value to,
                     bool adds) override {
    tile.run(source, panel, block.length, to, adds);
  }

  void runDots(KernelBuilder &k, DotTile &tile, unsigned count, const ColumnSource &columns,
               const KBlock &block, Value to, bool adds) override {
    Index step = k.constant(spec.steps.size), length = k.mul(block.length, step);
    if (k.known(spec.kElements ? spec.kElements : spec.k).value_or(1) % spec.steps.size)
      length = k.min(length, k.sub(spec.kElements, k.mul(block.begin, step)));
    tile.run(count, source, columns, length, to, adds);
  }

private:
  const ContractionSpec &spec;
  RowSource source;
  Value packed;
};

} // namespace

Index taskTiles(KernelBuilder &k, int64_t most, std::optional<int64_t> least, Index tiles,
                Index taskColumns) {
  if (!least || *least >= most)
    return k.constant(most);
  Index taskRows = k.max(k.constant(1), k.floorDiv(k.constant(kMostCutThreads), taskColumns));
  Index equal = k.ceilDiv(tiles, taskRows);
  return k.min(k.constant(most), k.max(k.constant(*least), equal));
}

Index emitContractionTaskCount(OpBuilder &builder, Location loc, const ContractionSpec &spec) {
  KernelBuilder k(builder, loc);
  return emitTileTaskCount(k, spec);
}

void emitContractionTask(OpBuilder &builder, Location loc, const ContractionSpec &spec, Value task,
                         EpilogueFn epilogue) {
  KernelBuilder k(builder, loc);
  MatrixRows feed(spec);
  emitTileTask(k, spec, feed, task, epilogue);
}

void emitContractionTasks(OpBuilder &builder, Location loc, const ContractionSpec &spec,
                          Value begin, Value end, EpilogueFn epilogue) {
  KernelBuilder k(builder, loc);
  MatrixRows feed(spec);
  emitTileTasks(k, spec, feed, begin, end, epilogue);
}

} // namespace tcc::codegen
