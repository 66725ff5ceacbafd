//===- AttentionSchedule.cpp - Blocks of queries and keys -----------------===//
//
// A task's queries, results, scores and a panel of keys lie in L2, or the multiply-adds wait. The
// more queries a task has, the less it matters that it packs the keys into panels, for which
// 64 rows are enough; the more keys a block has, the less that it rescales the results. Both are
// cut into equal parts, so that the last one is no rest of a few. Where that leaves few tasks, as
// one query of a few heads does, several share the keys of each.
//
//===----------------------------------------------------------------------===//
#include "AttentionSpec.h"
#include "tcc/Codegen/Cpu/ScheduleModel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

std::optional<AttentionSpec>
tcc::codegen::attentionSpec(OpBuilder &b, Location loc, AttentionForm form,
                            ArrayRef<Index> queryExtents, ArrayRef<Index> keyExtents,
                            ArrayRef<Index> valueExtents, const CpuTarget &cpu) {
  KernelBuilder k(b, loc);
  auto product = productSpec(b, loc, form.scores, queryExtents, keyExtents, cpu);
  auto values = stridedOperand(k, form.values, 1, valueExtents);
  if (!product || !values)
    return std::nullopt;
  AttentionSpec spec;
  spec.scores = product->spec;
  spec.batch = product->batch;
  spec.batchExtents = product->batchExtents;
  spec.queryOffset = product->lhsOffset;
  spec.keyOffset = product->rhsOffset;
  spec.valueOffset = values->offset;
  spec.queryBatchStrides = product->lhsBatchStrides;
  spec.keyBatchStrides = product->rhsBatchStrides;
  for (const ViewFactors::Axis &axis : values->axes.batch)
    spec.valueBatchStrides.push_back(values->stride(k, axis, 0));
  ContractionSpec &v = spec.values;
  v.cpu = cpu;
  v.acc = spec.scores.acc;
  v.m = spec.scores.m;
  v.k = spec.scores.n;
  v.n = values->extent(k, values->axes.free);
  v.bElement = storageType(tensorType(form.values.getRhs()).getElementType());
  bool rowMajor = values->axes.isContiguous(values->axes.free);
  v.bLayout = rowMajor ? PanelLayout::RowMajor : PanelLayout::Transposed;
  v.bStride = rowMajor ? values->stride(k, values->axes.contract, 1)
                       : values->stride(k, values->axes.free, 1);
  return spec;
}

int64_t tcc::codegen::splitRecord(const AttentionForm &form) {
  prim::DotOp values = form.values;
  return tensorType(values.getResult()).getShape().back() + 2;
}

namespace {

/// Extents that decide on the schedule; -1 where a run decides.
struct AttentionShape {
  int64_t batch, queries, keys, depth, width;
};

struct Tile {
  int64_t vectors, rows;
};

} // namespace

/// `total` in equal parts of at most `most`, each a multiple of `step`.
static int64_t equalPart(int64_t total, int64_t most, int64_t step) {
  int64_t parts = llvm::divideCeil(total, most);
  return llvm::alignTo(llvm::divideCeil(total, parts), step);
}

static Tile registerTile(const CpuTarget &cpu, int64_t columns, int64_t rows) {
  int64_t vectors = choosePanelWidth(cpu, columns) / cpu.lanes(32);
  int64_t most = registerTileRows(cpu, vectors);
  return {vectors, rows > 0 ? equalPart(rows, most, 1) : most};
}

static cpu::AttentionScheduleAttr schedule(MLIRContext *context, const CpuTarget &cpu,
                                           const AttentionShape &shape, int64_t mostRows,
                                           int64_t scoreBytes) {
  constexpr int64_t grainProducts = 1 << 17, scoreBits = 32;
  int64_t lanes = cpu.lanes(scoreBits);
  Tile scores = registerTile(cpu, shape.keys, shape.queries);
  Tile values = registerTile(cpu, shape.width, shape.queries);
  int64_t taskRows = llvm::alignTo(mostRows, scores.rows);
  if (shape.queries > 0)
    taskRows = equalPart(shape.queries, taskRows, scores.rows);
  int64_t panel = lanes * scores.vectors;
  int64_t mostKeys = std::max(panel, scoreBytes / (taskRows * 4) / panel * panel);
  int64_t keys = shape.keys > 0 ? equalPart(shape.keys, mostKeys, panel) : mostKeys;
  int64_t split = 1;
  if (shape.batch > 0 && shape.queries > 0) {
    constexpr int64_t fewTasks = 8, enough = 16, leastKeys = 512, typicalKeys = 1024;
    int64_t tasks = shape.batch * llvm::divideCeil(shape.queries, taskRows);
    int64_t parts = (shape.keys > 0 ? shape.keys : typicalKeys) / std::max(keys, leastKeys);
    if (tasks > 0 && tasks < fewTasks)
      split = std::clamp<int64_t>(enough / tasks, 1, std::max<int64_t>(1, parts));
  }
  return cpu::AttentionScheduleAttr::get(context, lanes, scores.vectors, scores.rows,
                                         values.vectors, values.rows, taskRows, keys, split,
                                         grainProducts);
}

SmallVector<kernel::Schedule> tcc::codegen::rankAttention(MLIRContext *context, KernelBuilder &k,
                                                          const AttentionSpec &spec,
                                                          bool variations) {
  auto known = [&](Index extent) { return k.known(extent).value_or(-1); };
  AttentionShape shape{known(spec.batch), known(spec.scores.m), known(spec.scores.n),
                       known(spec.scores.k), known(spec.values.n)};
  constexpr int64_t usualRows = 64, fewTasks = 16, scoreBytes = 64 << 10;
  // Queries and results of a task have as many bytes as its scores.
  int64_t rows = std::clamp<int64_t>(scoreBytes / 4 / (shape.depth + shape.width), 16, usualRows);
  while (shape.batch > 0 && shape.queries > 0 && rows > 16 &&
         shape.batch * llvm::divideCeil(shape.queries, rows) < fewTasks)
    rows /= 2;
  const CpuTarget &cpu = spec.scores.cpu;
  SmallVector<kernel::Schedule> all = {schedule(context, cpu, shape, rows, scoreBytes)};
  if (!variations)
    return all;
  for (auto [factor, bytes] : {std::pair(1, 32 << 10), {2, 64 << 10}, {2, 128 << 10}})
    if (auto other = schedule(context, cpu, shape, rows * factor, bytes);
        !llvm::is_contained(all, other))
      all.push_back(other);
  return all;
}

bool CpuScheduleModel::prefersAttention(const AttentionForm &form) const {
  // The scores of fewer keys stay in L1 between the kernels of the parts, which pack the keys
  // once (docs/Rationale/attention.md).
  constexpr int64_t fewestKeys = 64;
  int64_t keys = tensorType(form.score).getShape().back();
  return ShapedType::isDynamic(keys) || keys >= fewestKeys;
}
