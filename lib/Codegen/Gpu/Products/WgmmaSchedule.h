//===- WgmmaSchedule.h - What products cost by wgmma -------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. What the models of the two templates for the matrix units of sm_90a
// share, in cycles of a multiprocessor.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../ScheduleChoice.h"
#include "WgmmaTile.h"

namespace tcc::codegen::device {

/// Cycles of the matrix units for a step of 128 rows and 128 bytes of k, which costs as much as
/// `fixed` columns beside its own.
inline double wgmmaStep(unsigned columns, double fixed) {
  constexpr double kCycles = 4; // of a column
  return (columns + fixed) * kCycles;
}

/// Tiles of which a block computes one, those that should take least first; none where the template
/// does not take so many rows of the product (-1: not known). `start`: nothing is chosen yet.
llvm::SmallVector<RankedChoice> rankWgmmaTiles(const ScheduleChoice &start,
                                               const MatrixProduct &product, int64_t rows,
                                               const GpuArch &arch);
/// What such a kernel takes for so many rows; 0 where they do not fit.
double costOfWgmmaTile(const ScheduleChoice &kernel, const MatrixProduct &product, int64_t rows,
                       const GpuArch &arch);

} // namespace tcc::codegen::device
