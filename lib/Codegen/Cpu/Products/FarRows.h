//===- FarRows.h - How a large B is read where it lies ----------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

/// How a B, or a batch's, far beyond L2 is read where it lies row by row: by whole rows. One or two
/// rows wait for the next cache too, more of them compute meanwhile.
struct FarRows {
  static constexpr int64_t beside = 8;       ///< rows of a large B
  int64_t block = 0, columns = 0, tiles = 1; ///< rows of B beside each other (0: none); of a task
  static FarRows of(const CpuTarget &cpu, const ContractionShape &shape,
                    const ContractionSchedule &schedule);
};

} // namespace tcc::codegen
