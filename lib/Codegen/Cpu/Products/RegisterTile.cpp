//===- RegisterTile.cpp - The innermost loop of contractions --------------===//
//
// Accumulators are loop-carried SSA values, so LLVM keeps them in registers as
// long as tile + operands fit (lib/Codegen/Cpu/Products/Schedule.cpp sees to that). With a
// known row stride all rows are addressed from one pointer with constant
// displacements; with an unknown one, or a table, each row has its own pointer,
// which LLVM reloads from the stack once per unrolled step: cheap, since a step of
// 4 k does 100 multiply-adds.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/RegisterTile.h"
#include "GroupedPanels.h"
#include "StepDot.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

unsigned RegisterTile::columns() const {
  unsigned sum = 0;
  for (unsigned width : widths)
    sum += width;
  return sum;
}

SmallVector<unsigned> panelVectors(int64_t columns, unsigned lanes) {
  SmallVector<unsigned> widths(columns / lanes, lanes);
  if (int64_t rest = columns % lanes)
    widths.push_back(std::min<unsigned>(lanes, std::max<int64_t>(4, llvm::PowerOf2Ceil(rest))));
  return widths;
}

PanelSource PanelSource::from(KernelBuilder &k, Index begin) const {
  PanelSource rest = *this;
  rest.base = k.address(base, element, k.mul(begin, kStride));
  if (ahead)
    rest.ahead = k.address(ahead, k.builder.getI8Type(),
                           k.mul(begin, aheadStride ? aheadStride : k.constant(aheadStep)));
  if (alone)
    rest.soon = k.address(soon, k.builder.getI8Type(), k.mul(begin, k.constant(stepBytes)));
  return rest;
}

/// Fetches what the steps from `at` on are to fetch of the next panel.
static void prefetchAhead(KernelBuilder &k, const CpuTarget &cpu, const PanelSource &b, Index at,
                          unsigned count) {
  Type byte = k.builder.getI8Type();
  auto fetchSoon = [&] {
    Value from = k.address(b.soon, byte, k.mul(at, k.constant(b.stepBytes)));
    for (int64_t offset = 0; offset < b.stepBytes * count; offset += cpu.lineBytes)
      k.prefetch(k.address(from, byte, k.constant(offset)), KernelBuilder::kInL1);
  };
  auto fetch = [&](Index begin, int64_t bytes) {
    for (unsigned panel = 0; panel < b.panels; ++panel) {
      Value from = b.ahead;
      if (panel)
        from = k.address(from, b.element, k.mul(k.constant(panel), b.panelStride));
      Value pointer = k.address(from, byte, begin);
      for (int64_t offset = 0; offset < bytes; offset += cpu.lineBytes)
        k.prefetch(k.address(pointer, byte, k.constant(offset)),
                   b.isNear ? KernelBuilder::kInL1 : KernelBuilder::kInL2);
    }
  };
  auto fetchNext = [&] {
    if (!b.aheadStride)
      return fetch(k.mul(at, k.constant(b.aheadStep)), b.aheadStep * count);
    for (unsigned step = 0; step < count; ++step)
      fetch(k.mul(k.add(at, k.constant(step)), b.aheadStride), b.aheadStep);
  };
  b.alone ? k.ifThenElse(b.alone, fetchSoon, fetchNext) : fetchNext();
}

SmallVector<Value> zeroTile(KernelBuilder &k, const RegisterTile &tile) {
  SmallVector<Value> zeros;
  for (unsigned row = 0; row < tile.rows; ++row)
    for (unsigned width : tile.widths)
      zeros.push_back(k.zero(VectorType::get({int64_t(width)}, tile.acc)));
  return zeros;
}

/// The vectors of a row of B, panel by panel: where the panel lies, of which the first one lies at
/// `first`, the vector's first column in it and its lanes.
static void forVectors(KernelBuilder &k, const RegisterTile &tile, const PanelSource &b,
                       Value first, llvm::function_ref<void(Value, unsigned, unsigned)> body) {
  unsigned perPanel = tile.widths.size() / b.panels, column = 0;
  Value panel = first;
  for (auto [i, width] : llvm::enumerate(tile.widths)) {
    if (i && i % perPanel == 0) {
      panel = k.address(first, b.element, k.mul(k.constant(i / perPanel), b.panelStride));
      column = 0;
    }
    body(panel, column, width);
    column += width;
  }
}

SmallVector<Value> initialTile(KernelBuilder &k, const RegisterTile &tile, const PanelSource &b) {
  if (!b.sums)
    return zeroTile(k, tile);
  SmallVector<Value> row, all;
  forVectors(k, tile, b, b.sums, [&](Value panel, unsigned column, unsigned width) {
    row.push_back(k.load(VectorType::get({int64_t(width)}, tile.acc),
                         k.address(panel, tile.acc, k.constant(column))));
  });
  for (unsigned i = 0; i < tile.rows; ++i)
    all.append(row);
  return all;
}

Value emitMultiplyAdd(KernelBuilder &k, const CpuTarget &cpu, Value a, Value b, Value acc) {
  OpBuilder &builder = k.builder;
  if (isa<FloatType>(getElementTypeOrSelf(acc.getType()))) {
    if (cpu.fma)
      return math::FmaOp::create(builder, k.loc, a, b, acc);
    return arith::AddFOp::create(builder, k.loc, acc, arith::MulFOp::create(builder, k.loc, a, b));
  }
  return arith::AddIOp::create(builder, k.loc, acc, arith::MulIOp::create(builder, k.loc, a, b));
}

namespace {
/// Addresses of A's rows, prepared before the loop over k.
class RowAddresses {
public:
  RowAddresses(KernelBuilder &k, const RegisterTile &tile, const RowSource &source)
      : source(source) {
    bool contiguousRows = !source.table && !source.validRows && k.known(source.rowStride);
    if (contiguousRows)
      return;
    auto pointer = LLVM::LLVMPointerType::get(k.builder.getContext());
    for (unsigned row = 0; row < tile.rows; ++row) {
      Index at = k.constant(row);
      if (source.table) {
        Value start = k.load(pointer, k.address(source.table, pointer, at));
        Index offset = source.offset ? source.offset : k.constant(0);
        pointers.push_back(k.address(start, source.element, offset));
        continue;
      }
      if (source.validRows && row)
        at = k.min(at, k.sub(source.validRows, k.constant(1)));
      pointers.push_back(k.address(source.base, source.element, k.mul(at, source.rowStride)));
    }
  }

  /// Starts step k: every address of the step is a constant away from one of these.
  void begin(KernelBuilder &k, Index at) {
    Index offset = k.mul(at, source.kStride);
    stepBase = pointers.empty() ? k.address(source.base, source.element, offset) : Value();
    stepPointers.clear();
    for (Value pointer : pointers)
      stepPointers.push_back(k.address(pointer, source.element, offset));
  }

  Value at(KernelBuilder &k, unsigned row, unsigned ahead) {
    Index offset = k.mul(k.constant(ahead), source.kStride);
    if (pointers.empty())
      offset = k.add(offset, k.mul(k.constant(row), source.rowStride));
    Value from = pointers.empty() ? stepBase : stepPointers[row];
    return k.address(from, source.element, offset);
  }

  /// The start of a row, whose step k is at k * kStride.
  Value start(KernelBuilder &k, unsigned row) {
    if (!pointers.empty())
      return pointers[row];
    return k.address(source.base, source.element, k.mul(k.constant(row), source.rowStride));
  }

private:
  const RowSource &source;
  SmallVector<Value> pointers, stepPointers;
  Value stepBase;
};
} // namespace

static Value loadPanelVector(KernelBuilder &k, const RegisterTile &tile, const PanelSource &b,
                             Value stepBase, unsigned ahead, unsigned column, unsigned width) {
  int64_t group = tile.steps.size;
  Index offset = k.add(k.mul(k.constant(ahead), b.kStride), k.constant(column * group));
  Value pointer = k.address(stepBase, b.element, offset);
  auto type = VectorType::get({int64_t(width) * group}, b.element);
  Value vector;
  if (!b.validColumns)
    vector = k.load(type, pointer);
  else
    vector =
        k.loadPart(type, pointer, k.max(k.sub(b.validColumns, k.constant(column)), k.constant(0)));
  return group > 1 ? vector : k.widen(vector, tile.acc, b.isUnsigned);
}

namespace {
/// One run of the register tile along k.
class Run {
public:
  Run(KernelBuilder &k, const CpuTarget &cpu, const RegisterTile &tile, const RowSource &a,
      const PanelSource &b)
      : k(k), cpu(cpu), tile(tile), a(a), b(b), rows(k, tile, a) {}

  SmallVector<Value> whole(Index begin, Index end, unsigned unroll, ValueRange init);
  /// By the groups of integers that the panel has.
  SmallVector<Value> grouped(Index length, ValueRange init);
  /// Of `count` elements of a row of A from `first` on.
  Value rowSum(unsigned row, Index first, int64_t count);
  /// Steps of which a row has not all elements.
  SmallVector<Value> partial(Index begin, Index end, ValueRange init);

private:
  SmallVector<Value> steps(Index at, unsigned count, ValueRange in);
  SmallVector<Value> panelVectors(Value panel, unsigned ahead);
  Value loadA(unsigned row, unsigned ahead);
  void multiply(unsigned row, unsigned vector, Value scalar, Value b, SmallVector<Value> &accs);
  void multiply(unsigned row, Value scalar, ArrayRef<Value> vectors, SmallVector<Value> &accs);

  KernelBuilder &k;
  const CpuTarget &cpu;
  const RegisterTile &tile;
  const RowSource &a;
  const PanelSource &b;
  RowAddresses rows;
};
} // namespace

SmallVector<Value> Run::panelVectors(Value panel, unsigned ahead) {
  SmallVector<Value> vectors;
  forVectors(k, tile, b, panel, [&](Value from, unsigned column, unsigned width) {
    vectors.push_back(loadPanelVector(k, tile, b, from, ahead, column, width));
  });
  return vectors;
}

Value Run::loadA(unsigned row, unsigned ahead) {
  Value pointer = rows.at(k, row, ahead);
  if (tile.steps.size > 1)
    return loadStep(k, tile.steps, tile.steps.lhsElementBits(), pointer);
  return k.widen(k.load(a.element, pointer), tile.acc, a.isUnsigned);
}

void Run::multiply(unsigned row, unsigned vector, Value scalar, Value b, SmallVector<Value> &accs) {
  unsigned width = tile.widths[vector];
  Value &acc = accs[row * tile.widths.size() + vector];
  acc = tile.steps.size > 1
            ? emitStepDot(k, cpu, tile.steps, spreadStep(k, tile.steps, scalar, width), b, acc)
            : emitMultiplyAdd(k, cpu, k.broadcast(scalar, width), b, acc);
}

void Run::multiply(unsigned row, Value scalar, ArrayRef<Value> vectors, SmallVector<Value> &accs) {
  for (auto [i, vector] : llvm::enumerate(vectors))
    multiply(row, i, scalar, vector, accs);
}

/// Registers hold a step's elements of A or its vectors of B, whichever are fewer, beside the sums.
SmallVector<Value> Run::steps(Index at, unsigned count, ValueRange in) {
  SmallVector<Value> accs = llvm::to_vector(in);
  rows.begin(k, at);
  Value panel = k.address(b.base, b.element, k.mul(at, b.kStride));
  if (b.ahead)
    prefetchAhead(k, cpu, b, at, count);
  bool holdsRows = tile.rows < tile.widths.size();
  for (unsigned ahead = 0; ahead < count; ++ahead) {
    if (!holdsRows) {
      SmallVector<Value> vectors = panelVectors(panel, ahead);
      for (unsigned row = 0; row < tile.rows; ++row)
        multiply(row, loadA(row, ahead), vectors, accs);
      continue;
    }
    SmallVector<Value> elements;
    for (unsigned row = 0; row < tile.rows; ++row)
      elements.push_back(loadA(row, ahead));
    unsigned vector = 0;
    forVectors(k, tile, b, panel, [&](Value from, unsigned column, unsigned width) {
      Value loaded = loadPanelVector(k, tile, b, from, ahead, column, width);
      for (auto [row, element] : llvm::enumerate(elements))
        multiply(row, vector, element, loaded, accs);
      ++vector;
    });
  }
  return accs;
}

SmallVector<Value> Run::whole(Index begin, Index end, unsigned unroll, ValueRange init) {
  Index length = k.sub(end, begin);
  std::optional<int64_t> known = k.known(length);
  if (tile.rolled)
    unroll = 1;
  unroll = std::max(1u, known ? unsigned(std::min<int64_t>(unroll, *known)) : unroll);
  Index bulk = k.add(begin, k.mul(k.floorDiv(length, k.constant(unroll)), k.constant(unroll)));
  SmallVector<Value> accs = k.loop(begin, bulk, k.constant(unroll), init,
                                   [&](Index at, ValueRange in) { return steps(at, unroll, in); });
  if (unroll == 1)
    return accs;
  if (known && *known % unroll)
    return steps(bulk, *known % unroll, accs);
  return k.loop(bulk, end, k.constant(1), accs,
                [&](Index at, ValueRange in) { return steps(at, 1, in); });
}

Value Run::rowSum(unsigned row, Index first, int64_t count) {
  int64_t lanes = std::min<int64_t>(cpu.lanes(32), count & -count);
  auto type = VectorType::get({lanes}, a.element);
  Value sum;
  for (int64_t i = 0; i < count; i += lanes) {
    Value at = k.address(rows.start(k, row), a.element, k.add(first, k.constant(i)));
    Value part = k.widen(k.load(type, at), tile.acc, a.isUnsigned);
    sum = sum ? Value(arith::AddFOp::create(k.builder, k.loc, sum, part)) : part;
  }
  return vector::ReductionOp::create(k.builder, k.loc, vector::CombiningKind::ADD, sum,
                                     arith::FastMathFlags::reassoc);
}

/// The sum of x * (q * scale + offset) over a group is that of x * q, times the scale, plus that of
/// x, times the offset: in the innermost loop integers are multiplied.
SmallVector<Value> Run::grouped(Index length, ValueRange init) {
  const GroupedShape &shape = *b.groups;
  assert(k.isKnown(a.kStride, 1) && "sums of a row take neighbours");
  Index zero = k.constant(0), one = k.constant(1), group = k.constant(shape.group);
  return k.loop(zero, k.floorDiv(length, group), one, init, [&](Index g, ValueRange in) {
    SmallVector<GroupReader> readers;
    SmallVector<Value> ahead;
    unsigned perPanel = tile.widths.size() / b.panels;
    Value later = b.ahead;
    if (b.ahead && b.panels > 1) {
      Value same = k.compare(arith::CmpIPredicate::slt, g, b.aheadGroups);
      Index others = k.mul(k.constant(b.panels - 1), b.panelStride);
      later = arith::SelectOp::create(k.builder, k.loc, same, later,
                                      k.address(later, b.element, others));
    }
    for (unsigned i = 0; i < b.panels; ++i) {
      auto at = [&](Value from) {
        return i ? k.address(from, b.element, k.mul(k.constant(i), b.panelStride)) : from;
      };
      readers.emplace_back(k, cpu, shape, ArrayRef(tile.widths).slice(i * perPanel, perPanel),
                           at(b.base), g);
      if (b.ahead)
        ahead.push_back(at(later));
    }
    auto ofAll = [&](llvm::function_ref<GroupReader::Values(GroupReader &)> read) {
      SmallVector<Value> all;
      for (GroupReader &reader : readers)
        llvm::append_range(all, read(reader));
      return all;
    };
    Index first = k.mul(g, group);
    auto addWords = [&](Index row, ValueRange partial) {
      SmallVector<Value> sums = llvm::to_vector(partial);
      rows.begin(k, k.mulAdd(row, k.constant(shape.perWord()), first));
      for (GroupReader &reader : readers)
        reader.beginWords(row);
      for (auto [reader, later] : llvm::zip(readers, ahead))
        reader.prefetch(later, row);
      for (unsigned i = 0; i < shape.perWord(); ++i) {
        SmallVector<Value> vectors = ofAll([&](GroupReader &r) { return r.integers(i); });
        for (unsigned r = 0; r < tile.rows; ++r)
          multiply(r, loadA(r, i), vectors, sums);
      }
      return sums;
    };
    SmallVector<Value> sums =
        k.loop(zero, k.constant(shape.integerRows()), one, zeroTile(k, tile), addWords);
    for (auto [reader, later] : llvm::zip(readers, ahead))
      reader.prefetchScales(later);
    SmallVector<Value> accs = llvm::to_vector(in), offsets;
    SmallVector<Value> scales = ofAll([&](GroupReader &reader) {
      GroupReader::Values scales = reader.scales();
      llvm::append_range(offsets, reader.offsets(scales));
      return scales;
    });
    for (unsigned r = 0; r < tile.rows; ++r) {
      if (!offsets.empty())
        multiply(r, rowSum(r, first, shape.group), offsets, accs);
      for (auto [i, scale] : llvm::enumerate(scales)) {
        unsigned at = r * tile.widths.size() + i;
        accs[at] = emitMultiplyAdd(k, cpu, sums[at], scale, accs[at]);
      }
    }
    return accs;
  });
}

SmallVector<Value> Run::partial(Index begin, Index end, ValueRange init) {
  return k.loop(begin, end, k.constant(1), init, [&](Index at, ValueRange in) {
    SmallVector<Value> accs = llvm::to_vector(in);
    SmallVector<Value> vectors =
        panelVectors(k.address(b.base, b.element, k.mul(at, b.kStride)), 0);
    for (unsigned row = 0; row < tile.rows; ++row) {
      Value step = loadPartOfStep(k, tile.steps, tile.steps.lhsElementBits(), rows.start(k, row),
                                  k.mul(at, k.constant(tile.steps.size)), a.validK);
      multiply(row, step, vectors, accs);
    }
    return accs;
  });
}

SmallVector<Value> emitRun(KernelBuilder &k, const CpuTarget &cpu, const RegisterTile &tile,
                           const RowSource &a, const PanelSource &b, Index length, unsigned unroll,
                           ValueRange init) {
  Run run(k, cpu, tile, a, b);
  Index zero = k.constant(0);
  if (b.groups)
    return run.grouped(length, init);
  if (!a.validK)
    return run.whole(zero, length, unroll, init);
  Index full = k.min(length, k.floorDiv(a.validK, k.constant(tile.steps.size)));
  return run.partial(full, length, run.whole(zero, full, unroll, init));
}

} // namespace tcc::codegen
