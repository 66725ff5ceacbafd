//===- FarRows.h - How a large B is read where it lies ----------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

/// How a B, or a batch's, far beyond L2 is read where it lies row by row: by whole rows. One or two
/// rows wait for the next cache too, more of them compute meanwhile.
struct FarRows {
  static constexpr int64_t beside = 8;       ///< rows of a large B
  int64_t block = 0, columns = 0, tiles = 1; ///< rows of B beside each other (0: none); of a task
  /// `k`: rows of B, assumed where they are open.
  static FarRows of(const CpuTarget &cpu, const ContractionShape &shape, int64_t k,
                    const ContractionSchedule &schedule);
};

/// Whether more rows than those of two tiles read a B that lies row by row in place: every tile
/// finds it in the next cache, where copying it would come before each task's first product.
bool readsNearRows(const CpuTarget &cpu, const ContractionShape &shape,
                   const ContractionSchedule &schedule);
/// The blocks of k in which they do; 0: it is not cut.
int64_t nearRowsBlock(const CpuTarget &cpu, const ContractionShape &shape,
                      const ContractionSchedule &schedule);

} // namespace tcc::codegen
