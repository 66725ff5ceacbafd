//===- DotSchedule.cpp - When columns along k are not copied --------------===//
#include "DotSchedule.h"
#include "tcc/Target/CpuCosts.h"
#include "llvm/Support/MathExtras.h"

namespace tcc::codegen {

bool multipliesDots(const CpuTarget &cpu, const ContractionShape &shape, unsigned lanes) {
  // In multiply-adds of a vector, as measured: for a block's sums, and for each vector that lies in
  // two lines of the cache, or of few registers, which hold small blocks.
  constexpr double addingLanes = 0.7, splitVector = 0.1, fewRegisters = 0.075;
  constexpr int64_t typicalM = 256;
  constexpr unsigned fewestLanes = 4;
  constexpr unsigned manyRegisters = 32;
  if (shape.b != PanelLayout::Transposed || !shape.alongK || shape.matrixTiles || shape.copiesA ||
      shape.k <= 0 || shape.n <= 0 || lanes < fewestLanes)
    return false;
  const CpuCosts &costs = costsOf(cpu.name);
  double vectors = double(shape.k) / lanes;
  double copied = costs[CpuCost::Packed] / costs[CpuCost::Product] * vectors;
  double more = (shape.splitsLines ? splitVector : 0) +
                (cpu.vectorRegisters < manyRegisters ? fewRegisters : 0);
  double added = addingLanes * llvm::divideCeil(shape.k, dotBlock) + more * vectors;
  return (shape.m > 0 ? shape.m : typicalM) * added < copied;
}

} // namespace tcc::codegen
