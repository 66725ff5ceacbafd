//===- AttentionSpec.h - Attention of a launch as a template -----*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what the schedule model, the host's count of tasks and the kernel
// know of an attention.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/ProductSpec.h"
#include "tcc/Analysis/AttentionForm.h"

namespace tcc::codegen {

/// Keys and their values that lie in one place each: all of them, or one of the parts that they are
/// joined from.
struct KeyPart {
  mlir::Value keys, values; ///< arguments of the launch
  Index first, count;       ///< of the keys of an entry
  Index keyOffset, valueOffset;
  llvm::SmallVector<Index> keyBatchStrides, valueBatchStrides;
  PanelLayout keyLayout, valueLayout;
  Index keyStride, valueStride;
};

struct AttentionSpec {
  /// One batch entry each, without pointers; heads that share keys are rows of one entry.
  /// `values` has no A: its rows are the exponentials of the scores. Their keys are those of the
  /// part that was selected last, of the first one to begin with.
  ContractionSpec scores, values;
  Index batch, keys; ///< entries, and keys of all parts
  Index queryOffset;
  llvm::SmallVector<Index> batchExtents, queryBatchStrides;
  llvm::SmallVector<KeyPart, 1> parts;

  void select(const KeyPart &part) {
    scores.n = values.k = part.count;
    scores.bLayout = part.keyLayout;
    scores.bStride = part.keyStride;
    values.bLayout = part.valueLayout;
    values.bStride = part.valueStride;
  }

  /// Blocks of queries, which have a task each, of one entry.
  Index rowBlocks(KernelBuilder &k, cpu::AttentionScheduleAttr schedule) const {
    return k.ceilDiv(scores.m, k.constant(schedule.getTaskRows()));
  }
};

/// Floats of scratch memory for what one task of several that share a row found of it: its part of
/// the result, the top and the sum.
int64_t splitRecord(const AttentionForm &form);

/// `extents` gives those of a launch's argument.
std::optional<AttentionSpec>
attentionSpec(mlir::OpBuilder &b, mlir::Location loc, AttentionForm form,
              llvm::function_ref<llvm::SmallVector<Index>(mlir::Value)> extents,
              const CpuTarget &cpu);

/// Ways to run it, the one that should be fastest first; with `variations`, more.
llvm::SmallVector<kernel::Schedule> rankAttention(mlir::MLIRContext *context, KernelBuilder &k,
                                                  const AttentionSpec &spec, bool variations);

bool emitAttentionKernel(KernelFrame &frame, cpu::AttentionScheduleAttr schedule);

} // namespace tcc::codegen
