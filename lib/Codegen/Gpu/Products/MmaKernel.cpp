//===- MmaKernel.cpp - Products on the matrix units of all GPUs -----------===//
//
// A block computes a tile of the result, its warps parts of the tile. Slices of both
// operands, 128 bytes of k for each row and column, come through a ring of stages in
// shared memory: each step waits for the oldest slice, starts to copy the one that is
// stages - 1 ahead, and multiplies. What lies in memory as it is multiplied, 4 bytes or
// more together, is copied asynchronously, past the end of k as zeros; anything else (views
// that lie across, other types, what is computed first) is evaluated before the products of
// the step and written after them.
//
// A convolution is the same product: its left operand is read where the window lies, so
// that no pixel is copied side by side in memory.
//
// Shared memory is read in tiles of eight rows of 16 bytes (ldmatrix). Rows of 128 bytes
// would have them in the same banks, so their eight chunks are swapped by the row's number.
// Neighbouring columns of the right operand go to different lanes: in a group of 32 columns,
// column 8 t + 2 j + i is column 2 t + i of the instruction's tile j. A lane then holds eight
// neighbouring columns of the result, which the epilogue computes and stores together.
// Operands of 16 bits that lie along the rows or columns instead of k are transposed on the
// way to the lanes, those of 32 bits are read one by one; their columns keep their places.
//
// Where there are fewer tiles than multiprocessors, blocks share what a tile sums: each leaves its
// sums in scratch memory, and the last one to be done adds them up in order.
//
//===----------------------------------------------------------------------===//
#include "MmaKernel.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

/// Line and chunk in it of the thread's chunk `i`.
std::pair<Value, Value> MmaEmitter::chunkAt(const Part &part, unsigned i) {
  Value number = add(tid, c(int64_t(i) * t.threads()));
  unsigned perLine = chunksOfLine(part);
  return {shr(number, llvm::Log2_32(perLine)), band(number, perLine - 1)};
}

/// Where a chunk of a line is in shared memory, so that eight lines that are read at once
/// have it in different banks.
Value MmaEmitter::swizzled(const Part &part, Value line, Value chunk) {
  if (!part.byInner && instruction.elementBytes() == 4) {
    // A warp reads eight elements, two chunks, of four lines at once.
    bool half = chunksOfLine(part) < 8; // of what the banks hold
    return bxor(chunk, mul(band(shr(line, half ? 1 : 0), half ? 1 : 3), 2));
  }
  if (!part.byInner || part.left)
    return bxor(chunk, band(line, std::min(7u, chunksOfLine(part) - 1)));
  // Lines 8 t + i of a tile, t to 3, i to 1.
  Value pair = band(shr(line, 2), 6);
  return bxor(chunk, arith::OrIOp::create(b, pair, band(line, 1)));
}

/// Neighbours along an extent that only a run knows are as many as divide it.
SmallVector<MmaEmitter::Part, 1> MmaEmitter::waysOf(bool left) {
  OperandSource source = sourceOf(p, left, batch);
  ArrayRef<Value> along = source.innerFirst ? source.inner : source.own;
  bool open = source.runs && !along.empty() && !getConstantIntValue(along.back()) &&
              isa<BlockArgument>(p.op->getOperand(left ? 0 : 1));
  if (!open)
    return {partOf(left, source, runsOf(f, source))};
  Value extent = along.back();
  source.whole = true;
  f.e.bindAligned(extent); // where the condition of a way holds
  SmallVector<Part, 1> ways;
  for (unsigned most = group; most > 0; most = ways.back().runs.lanes / 2) {
    ways.push_back(partOf(left, source, runsOf(f, source, most)));
    unsigned lanes = ways.back().runs.lanes;
    if (lanes > 1)
      ways.back().holds = arith::CmpIOp::create(
          b, arith::CmpIPredicate::eq, f.e.remIndex(extent, f.e.index(lanes)), f.e.index(0));
  }
  return ways;
}

MmaEmitter::Part MmaEmitter::partOf(bool left, OperandSource source, OperandRuns runs) {
  Part part;
  part.source = std::move(source);
  part.runs = runs;
  part.left = left;
  part.byInner = part.source.innerFirst || instruction.elementBytes() == 1;
  if (part.byInner != part.source.innerFirst)
    part.runs = {};
  part.width = left ? t.rows : t.columns;
  part.offset = left ? 0 : t.leftBytes();
  Value first = left ? rowTile : columnTile;
  // Past the end nothing is copied: all blocks would read the last line at once.
  Value extent = left ? rows : columns;
  bool whole = getConstantIntValue(extent).value_or(1) % part.width == 0;
  auto ownAt = [&](Value place, unsigned lanes) {
    Value at = f.e.addIndex(first, toIndex(place));
    part.own.push_back(runCoords(f, at, part.source.own, lanes));
    part.exists.push_back(whole || !part.runs.direct ? Value() : f.less(at, extent));
  };
  // The own index differs from line to line, or within one.
  if (part.byInner)
    for (unsigned i = 0; i < chunksOfThread(part); ++i)
      ownAt(chunkAt(part, i).first, 1);
  else
    for (unsigned j = 0; j < piecesOfChunk(part); ++j)
      ownAt(add(mul(chunkAt(part, 0).second, group), c(int64_t(j) * part.runs.lanes)),
            part.runs.lanes);
  return part;
}

/// The values of an operand's run as they lie in shared memory.
Value MmaEmitter::evaluated(const Part &part, const ProductOperand &operand) {
  Value v = Product::eval(f, operand);
  if (!v)
    return {};
  if (part.runs.lanes > 1 && !isa<VectorType>(v.getType()))
    v = f.e.splat(v, part.runs.lanes);
  Type element = storageType(part.source.element);
  Type wanted = part.runs.lanes > 1 ? Type(VectorType::get({part.runs.lanes}, element)) : element;
  return v.getType() == wanted ? v : Value(arith::TruncFOp::create(b, wanted, v));
}

/// The thread's chunks of step `step` of k: copies to `stage` that have begun, and what is to be
/// written there.
SmallVector<MmaEmitter::Held> MmaEmitter::fetch(const Part &part, Value step, Value stage) {
  SmallVector<Held> held;
  unsigned lanes = part.runs.lanes, bytes = lanes * instruction.elementBytes();
  Value first = f.e.mulIndex(step, f.e.index(depth));
  f.e.setLanes(lanes);
  auto kAt = [&](Value place, unsigned kLanes) {
    Value k = f.e.addIndex(first, toIndex(place));
    bool whole = getConstantIntValue(inner).value_or(1) % depth == 0;
    return std::pair(runCoords(f, k, part.source.inner, kLanes),
                     whole ? Value() : f.less(k, inner));
  };
  using At = std::pair<Coords, Value>;
  SmallVector<At> along;
  if (part.byInner)
    for (unsigned j = 0; j < piecesOfChunk(part); ++j)
      along.push_back(kAt(add(mul(chunkAt(part, 0).second, group), c(int64_t(j) * lanes)), lanes));
  for (unsigned i = 0; i < chunksOfThread(part); ++i) {
    auto [line, chunk] = chunkAt(part, i);
    Value place = add(mul(line, part.lineBytes(instruction.elementBytes())),
                      mul(swizzled(part, line, chunk), 16));
    Value offset = add(add(stage, c(part.offset)), place);
    At across = part.byInner ? At() : kAt(line, 1);
    SmallVector<Value> elements;
    for (unsigned j = 0; j < piecesOfChunk(part); ++j) {
      const auto &[k, before] = part.byInner ? along[j] : across;
      ProductOperand operand = part.source.operand(batch, part.own[part.byInner ? i : j], k);
      for (Value condition : {before, part.exists[part.byInner ? i : j]})
        if (condition)
          operand.inside = operand.inside
                               ? Value(arith::AndIOp::create(b, operand.inside, condition))
                               : condition;
      if (part.runs.direct) {
        Value from = f.e.readingOf(operand.tensor, operand.at).place->pointer;
        copyAsync(b, sharedAt(add(offset, c(int64_t(j) * bytes))), from, bytes, operand.inside);
        continue;
      }
      Value v = evaluated(part, operand);
      if (!v)
        return held;
      for (unsigned lane = 0; lane < lanes; ++lane)
        elements.push_back(lanes > 1 ? Value(vector::ExtractOp::create(b, v, int64_t(lane))) : v);
    }
    if (!elements.empty()) {
      auto type = VectorType::get({group}, elements[0].getType());
      held.push_back({offset, vector::FromElementsOp::create(b, type, elements)});
    }
  }
  f.e.setLanes(1);
  return held;
}

/// The first of several ways that holds. What it reads one by one is written at once.
void MmaEmitter::fetchEither(ArrayRef<Part> ways, Value step, Value stage) {
  auto body = [&] { write(fetch(ways.front(), step, stage)); };
  if (ways.size() == 1)
    return body();
  auto branch = scf::IfOp::create(b, ways.front().holds, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested(body);
  b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { fetchEither(ways.drop_front(), step, stage); });
}

void MmaEmitter::fetchAll(Value step, Value stage, SmallVector<Held> &held) {
  // What lies behind the last step is never multiplied.
  auto several = [](ArrayRef<Part> ways) { return ways.size() > 1; };
  if (llvm::any_of(operands, several))
    f.when(f.less(step, endStep), [&] {
      for (ArrayRef<Part> ways : llvm::make_filter_range(operands, several))
        fetchEither(ways, step, stage);
    });
  for (ArrayRef<Part> ways : operands)
    if (ways.size() == 1)
      held.append(fetch(ways.front(), step, stage));
  commitCopies(b);
}

void MmaEmitter::write(ArrayRef<Held> held) {
  for (const Held &chunk : held)
    LLVM::StoreOp::create(b, chunk.chunk, sharedAt(chunk.offset), 16);
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// The address that the lane gives for ldmatrix of 16 rows from `first` of the warp's on (two
/// tiles of eight columns: of the instruction's, from there on), 32 bytes of k from `k` on.
Value MmaEmitter::tileAt(const Part &part, Value stage, unsigned first, unsigned k) {
  Value row = band(lane, 7), half = band(shr(lane, 3), 1), other = shr(lane, 4);
  // Tiles of left: rows, then k; of right: k, then columns.
  Value kHalf = part.left ? other : half, ownHalf = part.left ? half : other;
  Value warp = part.left ? warpRow : warpColumn, line, chunk;
  if (!part.byInner) {
    line = add(add(mul(kHalf, 8), row), c(int64_t(k) * 16));
    chunk = add(shr(add(warp, c(first)), 3), ownHalf);
  } else {
    chunk = add(kHalf, c(int64_t(k) * 2));
    Value place;
    if (part.left) {
      place = add(add(mul(ownHalf, 8), row), c(first));
    } else {
      // Column 2 t + i of tile j is column 8 t + 2 j + i of its 32.
      Value column = add(mul(shr(row, 1), 8), band(row, 1));
      place = add(add(column, mul(ownHalf, 2)), c(first / 32 * 32 + first % 32 / 8 * 2));
    }
    line = add(warp, place);
  }
  Value offset = add(mul(line, part.lineBytes(instruction.elementBytes())),
                     mul(swizzled(part, line, chunk), 16));
  return sharedAt(add(add(stage, c(part.offset)), offset));
}

/// What ldmatrix would give of the same 16 rows if it transposed elements of 32 bits.
SmallVector<Value> MmaEmitter::loadAcross(const Part &part, Value stage, unsigned first,
                                          unsigned k) {
  SmallVector<Value> words;
  Value warp = part.left ? warpRow : warpColumn;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned kHalf = part.left ? i / 2 : i % 2, ownHalf = part.left ? i % 2 : i / 2;
    Value line = add(band(lane, 3), c(int64_t(k) * 8 + kHalf * 4));
    Value own = add(add(warp, shr(lane, 2)), c(int64_t(first) + ownHalf * 8));
    Value place = add(mul(swizzled(part, line, shr(own, 2)), 16), mul(band(own, 3), 4));
    Value offset = add(mul(line, part.lineBytes(instruction.elementBytes())), place);
    words.push_back(LLVM::LoadOp::create(b, b.getI32Type(),
                                         sharedAt(add(add(stage, c(part.offset)), offset)), 4));
  }
  return words;
}

/// The warp's sums with the products of one stage added.
SmallVector<Value> MmaEmitter::multiply(Value stage, ValueRange sums) {
  SmallVector<Value> next(sums);
  unsigned down = t.warpRows / 16, across = t.warpColumns / 8;
  for (unsigned k = 0; k < MmaTile::lineBytes / MatrixInstruction::bytes; ++k) {
    SmallVector<SmallVector<Value>> left, right;
    auto load = [&](const Part &part, Value stage, unsigned first, unsigned k) {
      bool across = !part.byInner && instruction.elementBytes() == 4;
      return instruction.rounded(
          b, across ? loadAcross(part, stage, first, k)
                    : loadMatrices(b, tileAt(part, stage, first, k), 4, !part.byInner));
    };
    for (unsigned i = 0; i < down; ++i)
      left.push_back(load(operands[0].front(), stage, i * 16, k));
    for (unsigned j = 0; j < across; j += 2)
      right.push_back(load(operands[1].front(), stage, j * 8, k));
    for (unsigned i = 0; i < down; ++i)
      for (unsigned j = 0; j < across; ++j) {
        size_t at = (i * across + j) * 4;
        SmallVector<Value> added = instruction.multiply(
            b, left[i], ArrayRef(right[j / 2]).slice(j % 2 * 2, 2), ArrayRef(next).slice(at, 4));
        llvm::copy(added, next.begin() + at);
      }
  }
  return next;
}

SmallVector<Value> MmaEmitter::multiplyAll() {
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(instruction.sum)));
  SmallVector<Value> carried(t.sums(), zero);
  SmallVector<Held> held;
  for (unsigned i = 0; i + 1 < stages; ++i)
    fetchAll(f.e.addIndex(firstStep, f.e.index(i)), c(int64_t(i) * t.stageBytes()), held);
  write(held);
  // The stage to multiply and the one to fill.
  carried.push_back(c(0));
  carried.push_back(c(int64_t(stages - 1) * t.stageBytes()));
  auto loop = scf::ForOp::create(b, firstStep, endStep, f.e.index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    ValueRange carried = loop.getRegionIterArgs();
    Value here = carried[t.sums()], ahead = carried[t.sums() + 1];
    awaitCopies(b, stages - 2);
    f.barrier();
    SmallVector<Held> later;
    fetchAll(f.e.addIndex(loop.getInductionVar(), f.e.index(stages - 1)), ahead, later);
    SmallVector<Value> sums = multiply(here, carried.take_front(t.sums()));
    write(later);
    Value after = add(here, c(t.stageBytes()));
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, after,
                                        c(int64_t(stages) * t.stageBytes()));
    sums.push_back(arith::SelectOp::create(b, wraps, c(0), after));
    sums.push_back(here);
    return sums;
  });
  scf::YieldOp::create(b, next);
  b.setInsertionPointAfter(loop);
  awaitCopies(b, 0);
  return SmallVector<Value>(loop.getResults().take_front(t.sums()));
}

/// The warp's sums of all steps of the block. Operands without elements are not read.
SmallVector<Value> MmaEmitter::multiplyAny() {
  if (getConstantIntValue(inner))
    return multiplyAll();
  auto any = scf::IfOp::create(b, SmallVector<Type>(t.sums(), instruction.sum),
                               f.less(f.e.index(0), inner), /*withElseRegion=*/true);
  auto body = [&](Block *block, function_ref<SmallVector<Value>()> sums) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    scf::YieldOp::create(b, f.e.nested([&] { return sums(); }));
  };
  body(any.thenBlock(), [&] { return multiplyAll(); });
  body(any.elseBlock(), [&] {
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(instruction.sum)));
    return SmallVector<Value>(t.sums(), zero);
  });
  return SmallVector<Value>(any.getResults());
}

void MmaEmitter::run() {
  rows = f.volume(p.rows);
  columns = f.volume(p.columns);
  inner = f.volume(p.inner);
  auto tiles = [&](Value extent, unsigned size) {
    return f.e.divIndex(f.e.addIndex(extent, f.e.index(size - 1)), f.e.index(size));
  };
  Value tilesM = tiles(rows, t.rows), tilesN = tiles(columns, t.columns);
  Value steps = tiles(inner, depth), ofMatrix = f.e.mulIndex(tilesM, tilesN);
  shares = ProductParts::of(f, f.e.mulIndex(f.volume(p.batch), ofMatrix), steps);
  SmallVector<Value> place = f.delinearize(shares.tile, {f.volume(p.batch), ofMatrix});
  batchNumber = place[0];
  batch = uniform(f.delinearize(batchNumber, p.batch));
  auto [down, acrossTile] = tileIn(f, place[1], tilesM, tilesN);
  rowTile = f.e.mulIndex(down, f.e.index(t.rows));
  columnTile = f.e.mulIndex(acrossTile, f.e.index(t.columns));
  Value each = f.e.addIndex(steps, f.e.subIndex(shares.count, f.e.index(1)));
  each = f.e.divIndex(each, shares.count);
  firstStep = f.e.mulIndex(shares.part, each);
  endStep = f.minIndex(f.e.addIndex(firstStep, each), steps);
  shared = f.dynamicShared();
  tid = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = band(tid, 31);
  unsigned across = t.columns / t.warpColumns;
  Value warp = shr(tid, 5);
  warpRow = mul(shr(warp, llvm::Log2_32(across)), t.warpRows);
  warpColumn = mul(band(warp, across - 1), t.warpColumns);
  for (bool left : {true, false})
    operands.push_back(waysOf(left));
  SmallVector<Value> sums = multiplyAny();
  if (f.failed)
    return;
  if (exchanges())
    f.barrier(); // all slices have been multiplied
  if (s.getSplit() == 1)
    return store(sums);
  shareSums(f, shares, sums, instruction.sum, [&](ValueRange totals) { store(totals); });
}

void device::emitMmaKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    MmaEmitter(f, *product).run();
}
