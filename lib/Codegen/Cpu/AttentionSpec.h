//===- AttentionSpec.h - Attention of a launch as a template -----*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what the schedule model, the host's count of tasks and the kernel
// know of an attention.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "ProductSpec.h"
#include "tcc/Analysis/AttentionForm.h"

namespace tcc::codegen {

struct AttentionSpec {
  /// One batch entry each, without pointers; heads that share keys are rows of one entry.
  /// `values` has no A: its rows are the exponentials of the scores.
  ContractionSpec scores, values;
  Index batch; ///< entries
  Index queryOffset, keyOffset, valueOffset;
  llvm::SmallVector<Index> batchExtents, queryBatchStrides, keyBatchStrides, valueBatchStrides;

  /// Blocks of queries, which have a task each, of one entry.
  Index rowBlocks(KernelBuilder &k, cpu::AttentionScheduleAttr schedule) const {
    return k.ceilDiv(scores.m, k.constant(schedule.getTaskRows()));
  }
};

/// Floats of scratch memory for what one task of several that share a row found of it: its part of
/// the result, the top and the sum.
int64_t splitRecord(const AttentionForm &form);

/// The extents are those of the memory behind the operands.
std::optional<AttentionSpec> attentionSpec(mlir::OpBuilder &b, mlir::Location loc,
                                           AttentionForm form, llvm::ArrayRef<Index> queryExtents,
                                           llvm::ArrayRef<Index> keyExtents,
                                           llvm::ArrayRef<Index> valueExtents,
                                           const CpuTarget &cpu);

/// Ways to run it, the one that should be fastest first; with `variations`, more.
llvm::SmallVector<kernel::Schedule> rankAttention(mlir::MLIRContext *context, KernelBuilder &k,
                                                  const AttentionSpec &spec, bool variations);

bool emitAttentionKernel(KernelFrame &frame, cpu::AttentionScheduleAttr schedule);

} // namespace tcc::codegen
