//===- DotSchedule.h - When columns along k are not copied ------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

/// k is cut where rows and columns along it would leave L1 between blocks of columns.
inline constexpr int64_t dotBlock = 768;

/// Whether columns that lie along k are multiplied where they lie: adding up the lanes of each sum
/// takes less time than copying panels would.
bool multipliesDots(const CpuTarget &cpu, const ContractionShape &shape, unsigned lanes);

} // namespace tcc::codegen
