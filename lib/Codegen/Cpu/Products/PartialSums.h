//===- PartialSums.h - Long sums as sums of short ones ----------*- C++ -*-===//
//
// One running sum over k terms loses bits in proportion to sqrt(k): each addition
// rounds to the size that the sum has by then. Cut into blocks, each of which is
// summed from zero and added to a total, the terms meet smaller sums. Registers
// hold the block's sums only; the total is in a buffer of one tile, which stays in
// L1 and is touched once a block.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"
#include "tcc/Dialect/Cpu/SumBlock.h"

namespace tcc::codegen {

/// The length of blocks to cut a sum of `length` terms into; null: it is short, or exact.
Index sumBlock(KernelBuilder &k, const RegisterTile &tile, Index length);

class PartialSums {
public:
  PartialSums(KernelBuilder &k, const RegisterTile &tile, mlir::ValueRange init);
  void add(mlir::ValueRange accs);
  llvm::SmallVector<mlir::Value> total();

private:
  mlir::Value slot(unsigned i);
  mlir::Value load(unsigned i);
  void store(mlir::Value value, unsigned i);
  KernelBuilder &k;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int64_t> offsets;
  mlir::Type element;
  mlir::Value buffer;
};

/// Adds the products of a run of any length to `sums`, block by block.
void addRun(KernelBuilder &k, const CpuTarget &cpu, const RegisterTile &tile, const RowSource &a,
            const PanelSource &b, Index length, unsigned unroll, PartialSums &sums);

/// emitRun for a run of any length.
llvm::SmallVector<mlir::Value> emitLongRun(KernelBuilder &k, const CpuTarget &cpu,
                                           const RegisterTile &tile, const RowSource &a,
                                           const PanelSource &b, Index length, unsigned unroll,
                                           mlir::ValueRange accs);

} // namespace tcc::codegen
