//===- PanelPacking.cpp - Copies of operands for the register tile --------===//
//
// Operands that no layout pass could pack (activations, weights that come at run time) are copied
// into panels by the task that needs them. Columns that lie apart are transposed in registers,
// because a gather a step would cost more than the product.
//
//===----------------------------------------------------------------------===//
#include "PanelPacking.h"
#include "GroupedPanels.h"
#include "StepPacking.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

int64_t packedDepth(KernelBuilder &k, const ContractionSpec &spec) {
  if (spec.schedule.kBlock)
    return spec.schedule.kBlock;
  std::optional<int64_t> depth = k.known(spec.k);
  assert(depth && "packing needs a bounded block of k");
  return *depth;
}

/// Bytes of one step of k in a packed panel.
static int64_t stepBytes(const ContractionSpec &spec) {
  unsigned bits = spec.steps.size > 1 ? spec.steps.size * spec.steps.elementBits()
                                      : spec.acc.getIntOrFloatBitWidth();
  return int64_t(spec.schedule.panelWidth()) * bits / 8;
}

int64_t packedPanelBytes(KernelBuilder &k, const ContractionSpec &spec, int64_t panels) {
  return panels * stepBytes(spec) * (packedDepth(k, spec) + spec.steps.sumSteps());
}

Value groupsAt(KernelBuilder &k, const ContractionSpec &spec, Index panel, const KBlock &block) {
  const GroupedShape &shape = *spec.integers;
  Index group =
      k.mulAdd(panel, k.constant(shape.groups), k.floorDiv(block.begin, k.constant(shape.group)));
  return k.address(spec.b, k.builder.getI32Type(), k.mul(group, k.constant(shape.groupWords())));
}

Value packedPanelAt(KernelBuilder &k, const ContractionSpec &spec, Value panels, Index slot) {
  return k.address(panels, k.builder.getI8Type(),
                   k.mul(slot, k.constant(packedPanelBytes(k, spec, 1))));
}

Value packedSumsAt(KernelBuilder &k, const ContractionSpec &spec, Value panel) {
  if (!spec.steps.addsSums())
    return {};
  return k.address(panel, k.builder.getI8Type(),
                   k.constant(packedDepth(k, spec) * stepBytes(spec)));
}

static void packRowMajor(KernelBuilder &k, const ContractionSpec &spec, Value from, Index columns,
                         Index length, Value to) {
  unsigned lanes = spec.schedule.lanes;
  auto type = VectorType::get({int64_t(lanes)}, spec.bElement);
  Index width = k.constant(spec.schedule.panelWidth());
  k.loop(k.constant(0), length, k.constant(1), [&](Index row) {
    for (unsigned vector = 0; vector < spec.schedule.vectors; ++vector) {
      Index column = k.constant(vector * lanes);
      Value source = k.address(from, spec.bElement, k.mulAdd(row, spec.bStride, column));
      Index valid = k.max(k.sub(columns, column), k.constant(0));
      Value values = k.widen(k.loadPart(type, source, valid), spec.acc, spec.bUnsigned);
      k.store(values, k.address(to, spec.acc, k.mulAdd(row, width, column)));
    }
  });
}

SmallVector<Value> transposeSquare(KernelBuilder &k, SmallVector<Value> rows) {
  int64_t lanes = rows.size();
  for (int64_t step = lanes / 2; step >= 1; step /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i & step ? lanes + i - step : i);
      high.push_back(i & step ? lanes + i : i + step);
    }
    for (int64_t i = 0; i < lanes; ++i)
      if (!(i & step)) {
        Value a = rows[i], b = rows[i + step];
        rows[i] = vector::ShuffleOp::create(k.builder, k.loc, a, b, low);
        rows[i + step] = vector::ShuffleOp::create(k.builder, k.loc, a, b, high);
      }
  }
  return rows;
}

static void packTransposed(KernelBuilder &k, const ContractionSpec &spec, Value from, Index columns,
                           Index length, Value to, bool streams) {
  unsigned lanes = spec.schedule.lanes;
  Index width = k.constant(spec.schedule.panelWidth()), step = k.constant(lanes);
  Index whole = k.mul(k.floorDiv(length, step), step);
  // Columns that do not exist repeat the last one that does; nobody reads their sums.
  Index lastColumn = k.sub(columns, k.constant(1));
  k.loop(k.constant(0), width, step, [&](Index column) {
    SmallVector<Value> lines;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Index at = k.min(k.add(column, k.constant(lane)), lastColumn);
      lines.push_back(k.address(from, spec.bElement, k.mul(at, spec.bStride)));
    }
    auto storeAt = [&](Value values, Index row) {
      k.store(values, k.address(to, spec.acc, k.mulAdd(row, width, column)));
    };
    k.loop(k.constant(0), whole, step, [&](Index row) {
      SmallVector<Value> rows;
      Index next = k.mulAdd(k.constant(lanes), spec.bStride, row);
      for (Value line : streams ? ArrayRef(lines) : ArrayRef<Value>())
        k.prefetch(k.address(line, spec.bElement, next));
      for (Value line : lines)
        rows.push_back(k.widen(k.load(VectorType::get({int64_t(lanes)}, spec.bElement),
                                      k.address(line, spec.bElement, row)),
                               spec.acc, spec.bUnsigned));
      for (auto [i, values] : llvm::enumerate(transposeSquare(k, rows)))
        storeAt(values, k.add(row, k.constant(i)));
    });
    k.loop(whole, length, k.constant(1), [&](Index row) {
      SmallVector<Value> scalars;
      for (Value line : lines)
        scalars.push_back(k.widen(k.load(spec.bElement, k.address(line, spec.bElement, row)),
                                  spec.acc, spec.bUnsigned));
      storeAt(vector::FromElementsOp::create(k.builder, k.loc,
                                             VectorType::get({int64_t(lanes)}, spec.acc), scalars),
              row);
    });
  });
}

/// Writes the integers of a block as numbers, [length][width].
static void packIntegers(KernelBuilder &k, const ContractionSpec &spec, Index panel,
                         const KBlock &block, Value to) {
  const GroupedShape &shape = *spec.integers;
  SmallVector<unsigned> widths(spec.schedule.vectors, spec.schedule.lanes);
  Value from = groupsAt(k, spec, panel, block);
  constexpr int64_t groupsAhead = 16384; // bytes: widening takes long
  Value ahead = k.address(from, k.builder.getI8Type(), k.constant(groupsAhead));
  Index one = k.constant(1), groups = k.floorDiv(block.length, k.constant(shape.group));
  k.loop(k.constant(0), groups, one, [&](Index g) {
    GroupReader reader(k, spec.cpu, shape, widths, from, g);
    SmallVector<Value> scales = reader.scales(), offsets = reader.offsets(scales);
    reader.prefetchScales(ahead);
    if (offsets.empty())
      for (Value scale : scales)
        offsets.push_back(k.zero(scale.getType()));
    k.loop(k.constant(0), k.constant(shape.integerRows()), one, [&](Index row) {
      reader.beginWords(row);
      reader.prefetch(ahead, row);
      Index first = k.mulAdd(g, k.constant(shape.group), k.mul(row, k.constant(shape.perWord())));
      for (unsigned i = 0; i < shape.perWord(); ++i)
        for (auto [vector, integers] : llvm::enumerate(reader.integers(i))) {
          Index column = k.constant(vector * spec.schedule.lanes);
          Index at = k.mulAdd(k.add(first, k.constant(i)), k.constant(shape.width), column);
          k.store(emitMultiplyAdd(k, spec.cpu, integers, scales[vector], offsets[vector]),
                  k.address(to, spec.acc, at));
        }
    });
  });
}

void packPanel(KernelBuilder &k, const ContractionSpec &spec, Index firstColumn, Index columns,
               const KBlock &block, Value to, bool streams) {
  if (spec.integers)
    return packIntegers(k, spec, k.floorDiv(firstColumn, k.constant(spec.integers->width)), block,
                        to);
  if (spec.steps.size > 1)
    return packStepPanel(k, spec, firstColumn, columns, block, to);
  bool transposed = spec.bLayout == PanelLayout::Transposed;
  Index offset = transposed ? k.mulAdd(firstColumn, spec.bStride, block.begin)
                            : k.mulAdd(block.begin, spec.bStride, firstColumn);
  Value from = k.address(spec.b, spec.bElement, offset);
  if (transposed)
    packTransposed(k, spec, from, columns, block.length, to, streams);
  else
    packRowMajor(k, spec, from, columns, block.length, to);
}

int64_t packedRowStride(const CpuTarget &cpu, int64_t length, unsigned elementBytes) {
  int64_t line = cpu.lineBytes / elementBytes;
  int64_t lines = (length + line - 1) / line;
  return (lines | 1) * line;
}

void packRows(KernelBuilder &k, const ContractionSpec &spec, const TileRows &rows,
              const KBlock &block, Value to, int64_t stride) {
  unsigned lanes = spec.schedule.lanes;
  Index count = k.constant(rows.count), step = k.constant(lanes);
  Index whole = k.mul(k.floorDiv(block.length, step), step);
  k.loop(k.constant(0), count, k.constant(1), [&](Index row) {
    Index valid = rows.valid ? k.min(row, k.sub(rows.valid, k.constant(1))) : row;
    Index m = k.add(rows.first, valid);
    auto copy = [&](Index at, unsigned width) {
      Index from = k.add(block.begin, at);
      Index offset = k.add(k.mul(m, spec.aRowStride), k.mul(from, spec.aKStride));
      Value pointer = k.address(spec.a, spec.aElement, offset);
      Value values = k.load(VectorType::get({int64_t(width)}, spec.aElement), pointer);
      k.store(k.widen(values, spec.acc, spec.aUnsigned),
              k.address(to, spec.acc, k.mulAdd(row, k.constant(stride), at)));
    };
    bool vectors = k.isKnown(spec.aKStride, 1);
    Index bulk = vectors ? whole : k.constant(0);
    k.loop(k.constant(0), bulk, step, [&](Index at) { copy(at, lanes); });
    k.loop(bulk, block.length, k.constant(1), [&](Index at) { copy(at, 1); });
  });
}

void packSteps(KernelBuilder &k, const ContractionSpec &spec, const TileRows &rows,
               const KBlock &block, Value to) {
  Index stride = k.constant(spec.schedule.rows), one = k.constant(1);
  k.loop(k.constant(0), block.length, one, [&](Index step) {
    Index offset = k.mulAdd(k.add(block.begin, step), spec.aKStride, rows.first);
    Value from = k.address(spec.a, spec.aElement, offset);
    Value into = k.address(to, spec.acc, k.mul(step, stride));
    auto copy = [&](Index source, Index row, unsigned count) {
      auto type = VectorType::get({int64_t(count)}, spec.aElement);
      Value values = k.load(type, k.address(from, spec.aElement, source));
      k.store(k.widen(values, spec.acc, spec.aUnsigned), k.address(into, spec.acc, row));
    };
    if (!rows.valid)
      return copy(k.constant(0), k.constant(0), rows.count);
    Index last = k.sub(rows.valid, one);
    k.loop(k.constant(0), k.constant(rows.count), one,
           [&](Index row) { copy(k.min(row, last), row, 1); });
  });
}

} // namespace tcc::codegen
