//===- CopiedTile.cpp - Slices that asynchronous copies bring -------------===//
//
// What lies along k goes to shared memory across it: an element a copy, eight of k and four rows a
// warp, which are whole sectors of memory and different banks. What lies along rows or columns, or
// stays as it lies, goes in vectors.
//
//===----------------------------------------------------------------------===//
#include "CopiedTile.h"
#include "MatrixInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include <numeric>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static unsigned bytesOf(const DirectOperand &operand) {
  return tensorType(operand.memory).getElementTypeBitWidth() / 8;
}

/// Element `index` of an array of any size.
static Value elementAt(KernelFrame &f, Value base, Type element, Value index) {
  Value offset = arith::IndexCastUIOp::create(f.b, f.b.getI64Type(), index);
  return LLVM::GEPOp::create(f.b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset});
}

CopiedTile::Deal CopiedTile::dealOf(const DirectOperand &operand, TileShape shape,
                                    unsigned threads) {
  constexpr unsigned kSector = 32; // bytes
  Deal deal{};
  bool alongK = operand.innerFirst();
  deal.lanes = alongK == shape.byOwn ? operand.lanes : 1;
  if (alongK) {
    deal.acrossK =
        std::gcd(shape.depth / deal.lanes, shape.byOwn ? threads : kSector / bytesOf(operand));
    deal.acrossOwn = threads / deal.acrossK;
  } else {
    deal.acrossOwn = std::gcd(shape.width / deal.lanes, threads);
    deal.acrossK = threads / deal.acrossOwn;
  }
  deal.stepOwn = deal.acrossOwn * (alongK ? 1 : deal.lanes);
  deal.stepK = deal.acrossK * (alongK ? deal.lanes : 1);
  deal.countOwn = shape.width / std::max(1u, deal.stepOwn);
  deal.countK = shape.depth / std::max(1u, deal.stepK);
  return deal;
}

bool CopiedTile::fits(const DirectOperand &operand, TileShape shape, unsigned threads) {
  constexpr int64_t kReach = int64_t(1) << 31; // of a distance
  Deal deal = dealOf(operand, shape, threads);
  return deal.acrossOwn * deal.acrossK == threads && deal.countOwn * deal.stepOwn == shape.width &&
         deal.countK * deal.stepK == shape.depth &&
         operand.ownStride * shape.width * bytesOf(operand) < kReach &&
         operand.innerStride * shape.depth * bytesOf(operand) < kReach;
}

CopiedTile::CopiedTile(KernelFrame &f, DirectOperand given, TileShape shape, TileThreads threads,
                       Value shared, ArrayRef<Value> batch, Value first, Value extent)
    : SliceMemory(f, shape, tensorType(given.memory).getElementType(), shared),
      operand(std::move(given)), deal(dealOf(operand, shape, threads.count)) {
  bool alongK = operand.innerFirst();
  unsigned fast = alongK ? deal.acrossK : deal.acrossOwn;
  Value low = f.e.remIndex(threads.number, f.e.index(fast)),
        high = f.e.divIndex(threads.number, f.e.index(fast));
  Value vector = f.e.mulIndex(low, f.e.index(deal.lanes));
  ownOfThread = alongK ? high : vector;
  kOfThread = alongK ? vector : high;
  Value start = f.e.index(operand.offset);
  for (auto [i, stride] : llvm::zip_equal(batch, operand.batchStrides))
    start = f.e.addIndex(start, f.e.mulIndex(i, f.e.index(stride)));
  start = f.e.addIndex(start, f.e.mulIndex(first, f.e.index(operand.ownStride)));
  start = f.e.addIndex(start, f.e.mulIndex(kOfThread, f.e.index(operand.innerStride)));
  auto bytesOfOwn = [&](Value own) {
    return f.e.mulIndex(own, f.e.index(operand.ownStride * bytesOf(operand)));
  };
  if (operand.own >= int64_t(shape.width)) {
    start = f.e.addIndex(start, f.e.mulIndex(ownOfThread, f.e.index(operand.ownStride)));
  } else {
    // Copies of what is past the end bring the last one again.
    Value last = f.e.subIndex(f.e.subIndex(extent, first), f.e.index(alongK ? 1 : deal.lanes));
    for (unsigned i = 0; i < deal.countOwn; ++i) {
      Value own = f.e.addIndex(ownOfThread, f.e.index(int64_t(i) * deal.stepOwn));
      distances.push_back(bytesOfOwn(f.minIndex(own, last)));
    }
  }
  base = elementAt(f, f.e.memoryOf(operand.memory)->pointer, stored, start);
}

Value CopiedTile::from(Value round) {
  return elementAt(f, base, stored, f.e.mulIndex(round, f.e.index(operand.innerStride)));
}

static Value behind(KernelFrame &f, Value pointer, int64_t bytes) {
  return LLVM::GEPOp::create(f.b, pointer.getType(), f.b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value CopiedTile::next(Value from) {
  return behind(f, from, operand.innerStride * shape.depth * bytesOf(operand));
}

void CopiedTile::copy(Value from, Value slice, Value round, Value end, bool whole) {
  int64_t bytes = bytesOf(operand);
  Value some = whole ? f.less(round, end) : Value();
  Value place = f.e.addIndex(f.e.mulIndex(ownOfThread, f.e.index(shape.byOwn ? shape.pitch() : 1)),
                             f.e.mulIndex(kOfThread, f.e.index(shape.byOwn ? 1 : shape.pitch())));
  Value to =
      f.at(shared, stored, f.e.addIndex(f.e.mulIndex(slice, f.e.index(shape.elements())), place));
  for (unsigned k = 0; k < deal.countK; ++k) {
    int64_t kOff = int64_t(k) * deal.stepK;
    Value inside = some;
    if (!whole)
      inside = f.less(f.e.addIndex(round, f.e.addIndex(kOfThread, f.e.index(kOff))), end);
    for (unsigned own = 0; own < deal.countOwn; ++own) {
      int64_t ownOff = int64_t(own) * deal.stepOwn;
      int64_t there = shape.byOwn ? ownOff * shape.pitch() + kOff : kOff * shape.pitch() + ownOff;
      Value source = behind(f, from,
                            kOff * operand.innerStride * bytes +
                                (distances.empty() ? ownOff * operand.ownStride * bytes : 0));
      if (!distances.empty())
        source = f.at(source, f.b.getI8Type(), distances[own]);
      copyAsync(f.b, behind(f, to, there * bytes), source, unsigned(deal.lanes * bytes), inside);
    }
  }
}
