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
#include "tcc/Codegen/Common/KeyRange.h"
#include "tcc/Codegen/Cpu/ScheduleModel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// The part whose keys and values are `keys` and `values`; `product` is that of its keys.
static std::optional<KeyPart> keyPart(KernelBuilder &k, prim::DotOp dot, Value keys, Value values,
                                      const ProductSpec &product, ArrayRef<Index> valueExtents) {
  auto operand = stridedOperand(k, dot, 1, valueExtents, values);
  if (!operand)
    return std::nullopt;
  KeyPart part;
  part.keys = memoryBehind(keys);
  part.values = memoryBehind(values);
  part.count = product.spec.n;
  part.keyOffset = product.rhsOffset;
  part.valueOffset = operand->offset;
  part.keyBatchStrides = product.rhsBatchStrides;
  for (const ViewFactors::Axis &axis : operand->axes.batch)
    part.valueBatchStrides.push_back(operand->stride(k, axis, 0));
  part.keyLayout = product.spec.bLayout;
  part.keyStride = product.spec.bStride;
  bool rowMajor = operand->axes.isContiguous(operand->axes.free);
  part.valueLayout = rowMajor ? PanelLayout::RowMajor : PanelLayout::Transposed;
  part.valueStride = operand->stride(k, rowMajor ? operand->axes.contract : operand->axes.free, 1);
  return part;
}

std::optional<AttentionSpec>
tcc::codegen::attentionSpec(OpBuilder &b, Location loc, AttentionForm form,
                            function_ref<SmallVector<Index>(Value)> extents, const CpuTarget &cpu) {
  KernelBuilder k(b, loc);
  SmallVector<Value> keys = {form.scores.getRhs()}, values = {form.values.getRhs()};
  if (auto joined = joinedKeys(form)) {
    keys = joined->keys.getInputs();
    values = joined->values.getInputs();
  }
  SmallVector<Index> queryExtents = extents(memoryBehind(form.scores.getLhs()));
  AttentionSpec spec;
  spec.keys = k.constant(0);
  for (auto [ofPart, valuesOfPart] : llvm::zip(keys, values)) {
    auto product =
        productSpec(b, loc, form.scores, queryExtents, extents(memoryBehind(ofPart)), cpu, ofPart);
    auto part = product ? keyPart(k, form.values, ofPart, valuesOfPart, *product,
                                  extents(memoryBehind(valuesOfPart)))
                        : std::optional<KeyPart>();
    if (!part)
      return std::nullopt;
    if (spec.parts.empty()) {
      spec.scores = product->spec;
      spec.batch = product->batch;
      spec.batchExtents = product->batchExtents;
      spec.queryOffset = product->lhsOffset;
      spec.queryBatchStrides = product->lhsBatchStrides;
    }
    part->first = spec.keys;
    spec.keys = k.add(spec.keys, part->count);
    spec.parts.push_back(*part);
  }
  ContractionSpec &v = spec.values;
  v.cpu = cpu;
  v.acc = spec.scores.acc;
  v.m = spec.scores.m;
  v.n = k.constant(tensorType(form.values.getResult()).getShape().back());
  v.bElement = storageType(tensorType(form.values.getRhs()).getElementType());
  spec.select(spec.parts.front());
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

/// Of few rows as many columns as registers have sums of: values are read in few passes then.
static Tile valueTile(const CpuTarget &cpu, int64_t columns, int64_t rows) {
  constexpr int64_t fewRows = 2;
  if (rows <= 0 || rows > fewRows)
    return registerTile(cpu, columns, rows);
  int64_t sums = int64_t(cpu.vectorRegisters) / 2 / rows;
  int64_t vectors = llvm::divideCeil(columns, cpu.lanes(32));
  return {int64_t(llvm::divideCeil(vectors, llvm::divideCeil(vectors, sums))), rows};
}

/// Whether a matrix unit multiplies both: bf16, of as many queries as fill half of a tile.
static bool takesMatrixTiles(KernelBuilder &k, const AttentionSpec &spec) {
  constexpr int64_t fewest = kMatrixTileRows / 2, scoreBits = 32;
  const ContractionSpec &scores = spec.scores;
  return scores.cpu.bfloatTiles && bfloatSteps(scores.cpu).size > 1 &&
         scores.cpu.lanes(scoreBits) == kMatrixTileLanes && scores.aElement.isBF16() &&
         scores.bElement.isBF16() && spec.values.bElement.isBF16() && scores.acc.isF32() &&
         k.isKnown(scores.aKStride, 1) && k.known(scores.m).value_or(fewest) >= fewest;
}

static cpu::AttentionScheduleAttr schedule(MLIRContext *context, const CpuTarget &cpu,
                                           const AttentionShape &shape, int64_t mostRows,
                                           int64_t scoreBytes, bool matrixTiles) {
  constexpr int64_t grainProducts = 1 << 17, scoreBits = 32;
  int64_t lanes = cpu.lanes(scoreBits);
  Tile scores = registerTile(cpu, shape.keys, shape.queries);
  Tile values = valueTile(cpu, shape.width, shape.queries);
  if (matrixTiles)
    scores = values = {2, kMatrixTileRows};
  int64_t taskRows = llvm::alignTo(mostRows, scores.rows);
  if (shape.queries > 0) { // keys are packed once a task: a few rows more are worth one less
    constexpr int64_t eighth = 8;
    int64_t most = taskRows + taskRows / eighth;
    taskRows = equalPart(shape.queries, most, scores.rows);
  }
  int64_t panel = lanes * scores.vectors;
  constexpr int64_t fewQueries = 16, share = 4, longestBlock = 1024; // values packed on the stack
  int64_t fitting = scoreBytes / (taskRows * 4);
  if (taskRows >= fewQueries)
    fitting = std::min(fitting, longestBlock);
  int64_t mostKeys = std::max(panel, fitting / panel * panel);
  // What a few queries read in several passes stays in L2 between them.
  if (taskRows < fewQueries)
    mostKeys = std::min(mostKeys,
                        std::max(panel, cpu.l2Bytes / share / (shape.width * 4) / panel * panel));
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
                                         matrixTiles, grainProducts);
}

SmallVector<kernel::Schedule> tcc::codegen::rankAttention(MLIRContext *context, KernelBuilder &k,
                                                          const AttentionSpec &spec,
                                                          bool variations) {
  auto known = [&](Index extent) { return k.known(extent).value_or(-1); };
  int64_t keys = 0; // blocks are cut for the longest part
  for (const KeyPart &part : spec.parts)
    keys = known(part.count) < 0 || keys < 0 ? -1 : std::max(keys, known(part.count));
  AttentionShape shape{known(spec.batch), known(spec.scores.m), keys, known(spec.scores.k),
                       known(spec.values.n)};
  constexpr int64_t usualRows = 96, mostRows = 128, fewRows = 64, fewTasks = 16;
  constexpr int64_t matrixRows = 256;
  constexpr int64_t rowBytes = 64 << 10, leastBytes = 64 << 10, mostBytes = 256 << 10;
  const CpuTarget &cpu = spec.scores.cpu;
  // A row is begun and ended again for each block of keys, which costs as much as a dozen keys.
  bool matrixTiles = takesMatrixTiles(k, spec);
  int64_t scoreBytes =
      std::clamp<int64_t>(cpu.l2Bytes / 4, leastBytes, matrixTiles ? 2 * mostBytes : mostBytes);
  bool isShort = shape.keys > 0 && shape.keys * mostRows * 4 <= leastBytes;
  // A matrix unit multiplies a panel in the time that packing it takes, so more rows share one.
  int64_t leastRows = matrixTiles ? kMatrixTileRows : 16;
  int64_t rows = matrixTiles ? matrixRows
                             : std::clamp<int64_t>(rowBytes / 4 / (shape.depth + shape.width),
                                                   leastRows, isShort ? mostRows : usualRows);
  while (shape.batch > 0 && shape.queries > 0 && rows > leastRows &&
         shape.batch * llvm::divideCeil(shape.queries, rows) < fewTasks)
    rows = rows > fewRows ? fewRows : rows / 2;
  SmallVector<kernel::Schedule> all = {
      schedule(context, cpu, shape, rows, scoreBytes, matrixTiles)};
  if (!variations)
    return all;
  for (auto [factor, bytes] :
       {std::pair(1, 32 << 10), {1, 64 << 10}, {2, 64 << 10}, {2, 128 << 10}})
    if (auto other = schedule(context, cpu, shape, rows * factor, bytes, matrixTiles);
        !llvm::is_contained(all, other))
      all.push_back(other);
  return all;
}

/// Each has its own code.
bool CpuScheduleModel::readsParts(const AttentionForm &, unsigned parts) const {
  constexpr unsigned mostParts = 3;
  return parts <= mostParts;
}

bool CpuScheduleModel::prefersAttention(const AttentionForm &form) const {
  // The scores of fewer keys stay in L1 between the kernels of the parts, which pack the keys
  // once (docs/Rationale/attention.md); what bounds hide they compute all the same.
  int64_t keys = tensorType(form.score).getShape().back();
  int64_t fewestKeys = keyBounds(form.score).empty() ? 64 : 32;
  return ShapedType::isDynamic(keys) || keys >= fewestKeys;
}
