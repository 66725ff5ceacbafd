//===- PlaneRun.h - The cut of one run's planes -----------------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Cpu/PlaneTiles.h"

namespace tcc::codegen {

/// A PlaneCut over the extents of a run: constants where types tell them.
struct PlaneRun {
  Index lines, columns;           ///< of a task
  Index lineBlocks, columnBlocks; ///< of a plane of results
  Index lineStride, planeStride, channelStride, sumStride;
  Index tasks; ///< of an image, of all groups
};

/// `output`: extents of the three axes; `images`: how many.
PlaneRun planeRun(KernelBuilder &k, const PlaneConv &conv, const PlaneCut &cut, Index images,
                  llvm::ArrayRef<Index> output);

} // namespace tcc::codegen
