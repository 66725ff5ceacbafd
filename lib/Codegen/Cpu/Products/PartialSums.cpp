//===- PartialSums.cpp - Long sums as sums of short ones ------------------===//
#include "PartialSums.h"

using namespace mlir;
namespace tcc::codegen {

Index sumBlock(KernelBuilder &k, const RegisterTile &tile, Index length) {
  std::optional<int64_t> known = k.known(length);
  if (!isa<FloatType>(tile.acc) || (known && *known <= kSumBlock * 3 / 2))
    return {};
  if (!known)
    return k.constant(kSumBlock);
  // Blocks of equal, even length: the run is unrolled by two.
  int64_t blocks = llvm::divideCeil(*known, kSumBlock);
  return k.constant(llvm::alignTo(llvm::divideCeil(*known, blocks), 2));
}

PartialSums::PartialSums(KernelBuilder &k, const RegisterTile &tile, ValueRange init)
    : k(k), element(tile.acc) {
  int64_t offset = 0;
  for (Value v : init) {
    types.push_back(v.getType());
    offsets.push_back(offset);
    offset += cast<VectorType>(v.getType()).getNumElements();
  }
  buffer = k.scratch(element, offset);
  for (auto [i, v] : llvm::enumerate(init))
    store(v, i);
}

Value PartialSums::slot(unsigned i) { return k.address(buffer, element, k.constant(offsets[i])); }

// Volatile, or LLVM makes the buffer variables, which it then has to spill.

void PartialSums::store(Value value, unsigned i) {
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(k.builder, k.loc, value, slot(i), alignment, /*isVolatile=*/true);
}

Value PartialSums::load(unsigned i) {
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  return LLVM::LoadOp::create(k.builder, k.loc, types[i], slot(i), alignment, /*isVolatile=*/true);
}

void PartialSums::add(ValueRange accs) {
  for (auto [i, acc] : llvm::enumerate(accs))
    store(arith::AddFOp::create(k.builder, k.loc, load(i), acc), i);
}

SmallVector<Value> PartialSums::total() {
  SmallVector<Value> values;
  for (unsigned i = 0; i < types.size(); ++i)
    values.push_back(load(i));
  return values;
}

void addRun(KernelBuilder &k, const CpuTarget &cpu, const RegisterTile &tile, const RowSource &a,
            const PanelSource &b, Index length, unsigned unroll, PartialSums &sums) {
  Index block = sumBlock(k, tile, length);
  if (!block)
    return sums.add(emitRun(k, cpu, tile, a, b, length, unroll, zeroTile(k, tile)));
  k.loop(k.constant(0), length, block, [&](Index begin) {
    RowSource rows = a;
    Index ahead = k.mul(begin, a.kStride);
    if (a.table)
      rows.offset = a.offset ? k.add(a.offset, ahead) : ahead;
    else
      rows.base = k.address(a.base, a.element, ahead);
    if (a.validK)
      rows.validK = k.sub(a.validK, k.mul(begin, k.constant(tile.steps.size)));
    PanelSource panel = b.from(k, begin);
    bool equal = k.known(length) && *k.known(length) % *k.known(block) == 0;
    Index count = equal ? block : k.min(block, k.sub(length, begin));
    sums.add(emitRun(k, cpu, tile, rows, panel, count, unroll, zeroTile(k, tile)));
  });
}

SmallVector<Value> emitLongRun(KernelBuilder &k, const CpuTarget &cpu, const RegisterTile &tile,
                               const RowSource &a, const PanelSource &b, Index length,
                               unsigned unroll, ValueRange accs) {
  if (!sumBlock(k, tile, length))
    return emitRun(k, cpu, tile, a, b, length, unroll, accs);
  PartialSums sums(k, tile, accs);
  addRun(k, cpu, tile, a, b, length, unroll, sums);
  return sums.total();
}

} // namespace tcc::codegen
