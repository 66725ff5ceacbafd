//===- WgmmaEpilogue.cpp - What follows a product, in slabs ---------------===//
//
// What is fused after the product is evaluated on the accumulators where they lie, two
// neighbouring columns at a time, and goes in slabs of 64 rows of 128 or 64 bytes through shared
// memory to bulk copies, which leave out what lies past the result's edge.
//
// A residual, an operand of 16 bits that is read at the result's own index alone, comes the same
// way: bulk copies bring it while the tile is multiplied, to the slabs that the tile leaves by.
// Each pair of the result is written where its pair of the residual was read. A thread that would
// read it from memory has 4 bytes at a time, and waits for them when the sums are done.
//
// What is the same in all rows, biases above all, comes to registers while the tile is multiplied:
// each lane has one column of 32, and gives it to those that ask for it. Read at the end, from the
// L2 cache, it would be waited for as often as registers are free for some more of it.
//
//===----------------------------------------------------------------------===//
#include "WgmmaEpilogue.h"
#include "EpilogueOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

WgmmaEpilogue::WgmmaEpilogue(KernelFrame &f, const MatrixProduct &product, const MatrixTile &tile,
                             Group group)
    : WordArithmetic(f), p(product), t(tile), group(group), sum(p.instruction(t.columns).sum()),
      result(cast<RankedTensorType>(f.launch.getResultTypes()[0]).getElementType()),
      perColumn(perColumnOf(f.launch, product.op)), lane(band(group.thread, GpuArch::warp - 1)) {}

Value WgmmaEpilogue::sharedAt(Value offset) { return bytesBehind(group.shared, offset); }

/// Where slab `across` of 64 rows of the tile lies in shared memory.
Value WgmmaEpilogue::slabAt(unsigned part, unsigned across) {
  unsigned turn = (part * slabsAcross() + across) % t.slabs;
  return add(mul(group.number, int64_t(t.slabs) * t.slabBytes()),
             c(int64_t(t.slabOffset()) + turn * t.slabBytes()));
}

/// 16 bytes of a slab, as bulk copies swizzle it.
Value WgmmaEpilogue::inSlab(Value slab, Value row, Value chunk) {
  Value place = add(mul(row, t.slabRowBytes), mul(chunk, 16));
  return add(slab, bxor(place, mul(band(shr(place, 7), t.slabRowBytes / 16 - 1), 16)));
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

void WgmmaEpilogue::fetchResidual(Value firstRow, Value firstColumn) {
  if (!p.residual)
    return;
  f.when(group.leads, [&] {
    // The copies of the tile before are done with the slabs.
    NVVM::CpAsyncBulkWaitGroupOp::create(b, 0u, b.getUnitAttr());
    Value barrier = sharedAt(add(mul(group.number, 8), c(t.residualOffset(0))));
    expectBytes(b, barrier, int64_t(t.slabs) * t.slabBytes());
    for (unsigned part = 0; part < t.parts(); ++part)
      for (unsigned s = 0; s < slabsAcross(); ++s)
        copyBox(b, sharedAt(slabAt(part, s)), tensorMap(3),
                {add(firstColumn, c(int64_t(s) * t.slabRowBytes / p.resultBytes)),
                 add(firstRow, c(int64_t(part) * MatrixTile::partRows))},
                barrier);
  });
}

/// The residual's pair that is read next lies at `place` in shared memory.
void WgmmaEpilogue::bindResidual(Value place) {
  Type element = tensorType(p.residual).getElementType();
  f.e.bindProvider(p.residual, [this, place, element](ArrayRef<Coord>) -> Value {
    auto pair = VectorType::get({2}, storageType(element));
    return fromStorage(b, LLVM::LoadOp::create(b, pair, sharedAt(place), 4), element);
  });
}

//===----------------------------------------------------------------------===//
// What is the same in all rows
//===----------------------------------------------------------------------===//

WgmmaEpilogue::Columns WgmmaEpilogue::fetchColumns(Value firstColumn) {
  Columns columns;
  for (BlockArgument argument : perColumn) {
    SmallVector<Value> &read = columns.emplace_back();
    for (unsigned first = 0; first < t.columns; first += GpuArch::warp) {
      Value column = add(add(firstColumn, lane), c(first));
      if (p.columns % t.columns || t.columns % GpuArch::warp)
        column = arith::MinUIOp::create(b, column, c(p.columns - 1));
      Value index = arith::IndexCastUIOp::create(b, b.getIndexType(), column);
      Value from = f.at(f.e.memoryOf(argument)->pointer, b.getF32Type(), index);
      read.push_back(LLVM::LoadOp::create(b, b.getI32Type(), from, 4));
    }
  }
  return columns;
}

/// The lane's pair of the tile's eight columns number `block` is what is read next.
void WgmmaEpilogue::bindColumns(const Columns &columns, unsigned block) {
  constexpr unsigned kBlocks = GpuArch::warp / 8;
  Value owner = add(mul(band(lane, 3), 2), c(block % kBlocks * 8));
  for (auto [argument, read] : llvm::zip(perColumn, columns)) {
    auto elementOf = [&, word = read[block / kBlocks]](Value lane) -> Value {
      Value bits = NVVM::ShflOp::create(b, b.getI32Type(), c(-1), word, lane, c(GpuArch::warp - 1),
                                        NVVM::ShflKind::idx, UnitAttr());
      return arith::BitcastOp::create(b, b.getF32Type(), bits);
    };
    Value pair =
        vector::FromElementsOp::create(b, VectorType::get({2}, b.getF32Type()),
                                       ValueRange{elementOf(owner), elementOf(add(owner, c(1)))});
    f.e.bindProvider(argument, [pair](ArrayRef<Coord>) { return pair; });
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The result's index at two neighbouring columns.
Coords WgmmaEpilogue::pairAt(Value row, Value column) {
  Coords at;
  for (Value r : f.delinearize(row, ArrayRef(f.results[0].extents).drop_back()))
    at.push_back(Coord::uniform(r));
  at.push_back(Coord::affine(column, 1));
  f.e.bindAligned(column);
  return at;
}

/// Sums i and i + 1, which are neighbours in a row, after what follows the product, as elements of
/// the result.
Value WgmmaEpilogue::finished(Value sums, unsigned i, ArrayRef<Coord> at) {
  Value x = LLVM::ExtractValueOp::create(b, sums, int64_t(i));
  Value y = LLVM::ExtractValueOp::create(b, sums, int64_t(i) + 1);
  Value pair = vector::FromElementsOp::create(b, VectorType::get({2}, sum), ValueRange{x, y});
  f.e.bindProvider(p.op->getResult(0), [pair](ArrayRef<Coord>) { return pair; });
  Value v = f.e.evalVector(f.yield().getValues()[0], at);
  f.failed |= !v;
  return v ? toStorage(b, v, result) : pair;
}

void WgmmaEpilogue::storeTile(ArrayRef<Value> sums, const Columns &columns, Place place,
                              Value turn) {
  if (p.residual)
    awaitBarrier(b, sharedAt(add(mul(group.number, 8), c(t.residualOffset(0)))), band(turn, 1));
  for (auto [part, rows] : llvm::enumerate(sums)) {
    Place ofPart = place;
    ofPart.firstRow = add(place.firstRow, c(part * MatrixTile::partRows));
    storeRows(rows, columns, part, ofPart);
  }
}

/// 64 rows, `part` of those of the group.
void WgmmaEpilogue::storeRows(Value sums, const Columns &columns, unsigned part, Place place) {
  auto [groupRow, firstColumn, matrix] = place;
  // Bytes of a row whose operands a thread waits for at once; less where they lie in the slab.
  constexpr unsigned kFromMemory = 256, kFromSlab = 64;
  // The fragment: two neighbouring columns in rows r and r + 8.
  Value slabRow = add(mul(band(group.warp, 3), 16), shr(lane, 2)), row = add(groupRow, slabRow);
  Value pairColumn = add(firstColumn, mul(band(lane, 3), 2));
  auto index = [&](Value v) { return arith::IndexCastUIOp::create(b, b.getIndexType(), v); };
  auto inside = [&](Value v, Value most) -> Value { return arith::MinUIOp::create(b, v, most); };
  Value lastRow = f.e.subIndex(f.volume(ArrayRef(f.results[0].extents).drop_back()), f.e.index(1));
  Value rowAt[2] = {inside(index(row), lastRow), inside(index(add(row, c(8))), lastRow)};
  unsigned across = t.columns / 8, ofSlab = t.slabRowBytes / p.resultBytes / 8; // blocks of columns
  unsigned together = (p.residual ? kFromSlab : kFromMemory) / p.resultBytes / 8;
  f.e.setLanes(2);
  for (unsigned first = 0; first < across; first += together) {
    SmallVector<Value> pairs;
    unsigned end = std::min(first + together, across);
    for (unsigned block = first; block < end; ++block) {
      Value column = index(add(pairColumn, c(int64_t(block) * 8)));
      if (p.columns % t.columns != 0)
        column = inside(column, f.e.index(p.columns - 2));
      bindColumns(columns, block);
      for (unsigned half : {0u, 1u}) {
        if (p.residual) {
          Value slab = slabAt(part, block / ofSlab);
          Value chunk = inSlab(slab, add(slabRow, c(half * 8)), c(block % ofSlab));
          bindResidual(add(chunk, mul(band(lane, 3), 4)));
        }
        pairs.push_back(finished(sums, block * 4 + half * 2, pairAt(rowAt[half], column)));
      }
    }
    for (unsigned block = first; block < end; block += 2) {
      Value slab = slabAt(part, block / ofSlab);
      if (block % ofSlab == 0)
        takeSlab();
      storeBlocks(slab, block % ofSlab, ArrayRef(pairs).slice((block - first) * 2, 4));
      if (block % ofSlab == ofSlab - 2) {
        Value column = add(firstColumn, c(int64_t(block / ofSlab) * ofSlab * 8));
        sendSlab(slab, shr(mul(column, p.resultBytes), 1), place);
      }
    }
  }
  f.e.setLanes(1);
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

/// Pairs of 16 bits of two neighbouring blocks of eight columns, `j` twos of blocks into the slab:
/// rows r and r + 8 of each.
void WgmmaEpilogue::storeHalves(Value slab, unsigned j, ArrayRef<Value> pairs) {
  // stmatrix: each lane gives the address of one row of eight columns.
  Value slabRow = add(mul(band(group.warp, 3), 16), band(lane, 15));
  SmallVector<Value> words;
  for (Value pair : pairs)
    words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
  Value to = sharedAt(inSlab(slab, slabRow, add(shr(lane, 4), c(j * 2))));
  NVVM::StMatrixOp::create(b, to, words, NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
                           NVVM::LdStMatrixEltType::B16);
}

/// Pairs of 8 or 32 bits, of rows r and r + 8, of the slab's eight columns number `block`.
void WgmmaEpilogue::storePairs(Value slab, unsigned block, ArrayRef<Value> pairs) {
  unsigned bytes = p.resultBytes, first = block * 8 * bytes; // in a row of the slab
  Value ofLane = mul(band(lane, 3), 2 * bytes);
  Value row = add(mul(band(group.warp, 3), 16), shr(lane, 2));
  for (Value pair : pairs) {
    Value chunk = inSlab(slab, row, add(shr(ofLane, 4), c(first / 16)));
    Value place = add(chunk, add(band(ofLane, 15), c(first % 16)));
    LLVM::StoreOp::create(b, pair, sharedAt(place), 2 * bytes);
    row = add(row, c(8));
  }
}

/// Pairs of the slab's eight columns number `block` and of the next eight.
void WgmmaEpilogue::storeBlocks(Value slab, unsigned block, ArrayRef<Value> pairs) {
  if (p.resultBytes == 2)
    return storeHalves(slab, block / 2, pairs);
  storePairs(slab, block, pairs.take_front(2));
  storePairs(slab, block + 1, pairs.drop_front(2));
}

void WgmmaEpilogue::meet() {
  NVVM::BarrierOp::create(b, Type(), add(group.number, c(1)), c(128), NVVM::BarrierReductionAttr(),
                          Value());
}

/// The copy that read the next slab before is done with it; if a residual came to it since, it was
/// before that.
void WgmmaEpilogue::takeSlab() {
  if (p.residual)
    return;
  f.when(group.leads,
         [&] { NVVM::CpAsyncBulkWaitGroupOp::create(b, t.slabs - 1, b.getUnitAttr()); });
  meet();
}

/// A slab goes to the result, from column `unit` on in units of 16 bits.
void WgmmaEpilogue::sendSlab(Value slab, Value unit, const Place &place) {
  SmallVector<Value> at = {unit, place.firstRow};
  if (place.matrix) // whose rows past the last one are left out
    at = {unit, sub(place.firstRow, mul(place.matrix, p.matrixRows)), place.matrix};
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
  meet();
  f.when(group.leads, [&] {
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(b, tensorMap(2), sharedAt(slab), at, Value(),
                                                       NVVM::TMAStoreMode::TILE, Value());
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  });
}

void WgmmaEpilogue::end() {
  f.when(group.leads, [&] { NVVM::CpAsyncBulkWaitGroupOp::create(b, 0u, UnitAttr()); });
}
