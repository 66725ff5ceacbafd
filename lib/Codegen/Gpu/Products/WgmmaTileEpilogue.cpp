//===- WgmmaTileEpilogue.cpp - What becomes of a tile's sums --------------===//
//
// The sums of a block, which go through shared memory in rows, and what follows the product
// (WgmmaTileKernel.cpp).
//
//===----------------------------------------------------------------------===//
#include "WgmmaTileKernel.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// The sums in rows, where slices of k lay that nobody reads any more.
void WgmmaTileEmitter::leave(Value sums) {
  NVVM::BarrierOp::create(b, Type(), c(1), c(t.multiplying()), NVVM::BarrierReductionAttr(),
                          Value());
  if (t.turned) {
    for (unsigned i = 0; i < t.instructionColumns() / 2; ++i)
      LLVM::StoreOp::create(b, LLVM::ExtractValueOp::create(b, sums, int64_t(i)),
                            bytesBehind(shared, placeOfSum(i)));
    return;
  }
  Value row = add(mul(shr(tid, 5), 16), shr(lane, 2));
  Value place = bytesBehind(shared, add(mul(row, sumPitch()), mul(band(lane, 3), 8)));
  auto pair = VectorType::get({2}, instruction.sum());
  for (unsigned i = 0; i < t.columns / 2; i += 2) {
    Value two = vector::FromElementsOp::create(
        b, pair,
        ValueRange{LLVM::ExtractValueOp::create(b, sums, int64_t(i)),
                   LLVM::ExtractValueOp::create(b, sums, int64_t(i) + 1)});
    int64_t offset = int64_t(i / 4) * 32 + (i % 4 / 2) * 8 * int64_t(sumPitch());
    LLVM::StoreOp::create(b, two, bytesBehind(place, c(offset)), 8);
  }
}

//===----------------------------------------------------------------------===//
// The epilogue
//===----------------------------------------------------------------------===//

/// All threads of the tile's blocks have come here, and see each other's shared memory.
void WgmmaTileEmitter::meetCluster() {
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// The thread reads no other block's shared memory any more, and has nothing to tell the others:
/// the arrival that does would wait until all of the GPU sees what the thread wrote.
void WgmmaTileEmitter::leaveCluster() {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, StringRef("block")); // the reads are done
  NVVM::ClusterArriveRelaxedOp::create(b, b.getUnitAttr());
}

/// `lanes` neighbouring sums of the tile from all of its blocks.
SmallVector<Value> WgmmaTileEmitter::totalsOf(Value unit) {
  unsigned wide = std::min(lanes, 4u);
  auto type = VectorType::get({wide}, instruction.sum());
  auto [row, run] = inTile(unit);
  Value offset = add(mul(row, sumPitch()), mul(run, int64_t(lanes) * 4));
  SmallVector<Value> totals;
  for (unsigned i = 0; i < lanes; i += wide) {
    Value total;
    for (Value part : parts) {
      Value some =
          LLVM::LoadOp::create(b, type, bytesBehind(part, add(offset, c(i * 4))), wide * 4);
      total = !total                      ? some
              : instruction.sum().isF32() ? Value(arith::AddFOp::create(b, total, some))
                                          : Value(arith::AddIOp::create(b, total, some));
    }
    for (unsigned j = 0; j < wide; ++j)
      totals.push_back(vector::ExtractOp::create(b, total, int64_t(j)));
  }
  return totals;
}

/// The row and the run of columns of a unit: neighbouring threads have those that lie together in
/// the result.
std::pair<Value, Value> WgmmaTileEmitter::inTile(Value unit) {
  Value together = c(alongRows ? t.rows : t.columns / lanes);
  Value far = div(unit, together), near = rem(unit, together);
  return alongRows ? std::pair(near, far) : std::pair(far, near);
}

/// The first row and column of a unit, which may lie past the result's edges.
std::pair<Value, Value> WgmmaTileEmitter::placeOf(Value unit) {
  auto [row, run] = inTile(unit);
  return {toIndex(add(firstRow, row)), toIndex(add(firstColumn, mul(run, int64_t(lanes))))};
}

/// Of how many of a thread's units an operand is read early: once where all have the same columns,
/// and of all or none, where registers have no room.
int64_t WgmmaTileEmitter::earlyUnits(const EarlyOperand &operand) {
  constexpr int64_t kMost = 4;
  if (operand.isPerColumn && !alongRows && round() % (t.columns / lanes) == 0)
    return 1;
  auto count = int64_t(llvm::divideCeil(units(), round()));
  return count <= kMost ? count : 0;
}

/// What is added to the thread's units, and biases, are on their way while they are multiplied: as
/// stored, of one operand after the other.
SmallVector<Type> WgmmaTileEmitter::earlyTypes() {
  SmallVector<Type> types;
  for (const EarlyOperand &operand : earlyOperands) {
    Type element = storageType(tensorType(operand.argument).getElementType());
    types.append(earlyUnits(operand),
                 lanes > 1 ? Type(VectorType::get({lanes}, element)) : element);
  }
  return types;
}

SmallVector<Value> WgmmaTileEmitter::fetchEarly() {
  SmallVector<Value> all;
  Value lastRow = f.e.subIndex(rows, f.e.index(1)), lastRun = f.e.index(m.columns - lanes);
  for (const EarlyOperand &operand : earlyOperands)
    for (int64_t i = 0; i < earlyUnits(operand); ++i) {
      Type type = earlyTypes()[all.size()], element = getElementTypeOrSelf(type);
      auto [row, column] = placeOf(unitAt(i * round()));
      Value place = f.minIndex(column, lastRun);
      if (!operand.isPerColumn)
        place = f.e.addIndex(f.e.mulIndex(f.minIndex(row, lastRow), f.e.index(m.columns)), place);
      Value from = f.at(f.e.memoryOf(operand.argument)->pointer, element, place);
      unsigned bytes = lanes * element.getIntOrFloatBitWidth() / 8;
      all.push_back(LLVM::LoadOp::create(b, type, from,
                                         unsigned(std::min<int64_t>(bytes, GpuArch::accessBytes))));
    }
  return all;
}

/// What was read early for the thread's unit number `unit` is what is read next.
void WgmmaTileEmitter::bindEarly(size_t unit) {
  ArrayRef<Value> read = earlyValues;
  for (const EarlyOperand &operand : earlyOperands) {
    auto count = size_t(earlyUnits(operand));
    if (count == 0)
      continue;
    Value v = fromStorage(b, read[std::min(unit, count - 1)],
                          tensorType(operand.argument).getElementType());
    f.e.bindProvider(operand.argument, [v](ArrayRef<Coord>) { return v; });
    read = read.drop_front(count);
  }
}

/// What follows the product, and whether it is to be stored.
std::pair<Value, Product::Finished> WgmmaTileEmitter::finished(Value unit, ArrayRef<Value> totals) {
  auto [row, column] = placeOf(unit);
  Value inside = f.less(row, endRow);
  if (m.columns % t.columns)
    inside = arith::AndIOp::create(b, inside, f.less(column, f.e.index(m.columns)));
  if (units() % round())
    inside = arith::AndIOp::create(b, inside, f.less(toIndex(unit), f.e.index(units())));
  // Nothing is read past the edges either.
  row = f.minIndex(row, f.e.subIndex(rows, f.e.index(1)));
  Value group = f.e.index(0), ofGroup = f.volume(p.columns);
  if (m.window && m.window->filtersOfGroup != m.window->filters) {
    group = f.e.divIndex(column, ofGroup);
    column = f.e.remIndex(column, ofGroup);
  } else if (m.matrixRows) {
    Value ofMatrix = f.e.index(m.matrixRows);
    group = f.e.divIndex(row, ofMatrix);
    row = f.e.remIndex(row, ofMatrix);
  }
  f.e.setLanes(lanes);
  Value total = totals[0];
  if (lanes > 1)
    total = vector::FromElementsOp::create(b, VectorType::get({lanes}, instruction.sum()), totals);
  auto all = p.finish(f, group, row, runCoords(f, column, p.columns, lanes), total);
  f.e.setLanes(1);
  return {inside, all};
}

/// The block's part of the tile: with those of the other blocks, it is all of it. What several
/// units read is on its way at once, because a store may not come before a later load.
void WgmmaTileEmitter::finish() {
  constexpr size_t kTogether = 4;
  SmallVector<std::pair<Value, SmallVector<Value>>> mine;
  for (int64_t first = 0; first < units(); first += round()) {
    Value unit = unitAt(first), from = unit;
    if (units() - first < round())
      from = arith::MinUIOp::create(b, unit, c(units() - 1));
    mine.push_back({unit, {}});
    if (split > 1)
      mine.back().second = totalsOf(from);
  }
  if (split > 1)
    leaveCluster();
  for (size_t first = 0; first < mine.size(); first += kTogether) {
    SmallVector<std::pair<Value, Product::Finished>> done;
    for (auto &[unit, totals] : MutableArrayRef(mine).slice(first).take_front(kTogether)) {
      if (split == 1)
        totals = totalsOf(arith::MinUIOp::create(b, unit, c(units() - 1)));
      bindEarly(first + done.size());
      done.push_back(finished(unit, totals));
    }
    f.e.setLanes(lanes);
    for (auto &[inside, all] : done)
      f.when(inside, [&, &all = all] { Product::store(f, all); });
    f.e.setLanes(1);
  }
}

/// Whether a permuted result has something else than columns beside each other.
bool WgmmaTileEmitter::liesAlongRows() {
  return !llvm::all_of(f.yield().getValues(), [](Value v) {
    auto transpose = v.getDefiningOp<prim::TransposeOp>();
    return !transpose ||
           transpose.getPermutation().back() + 1 == int64_t(transpose.getPermutation().size());
  });
}

/// Neighbouring columns that a thread finishes: they lie together, and all threads have some.
unsigned WgmmaTileEmitter::widestRun() {
  constexpr int64_t kMost = 8;
  int64_t columns = m.window ? m.window->filtersOfGroup : m.columns;
  int64_t run = alongRows ? 1 : std::min(kMost, columns & -columns);
  int64_t ofThread = int64_t(t.rows) * t.columns / (int64_t(split) * t.multiplying());
  while (run > 2 && run > ofThread)
    run /= 2;
  return static_cast<unsigned>(run);
}
