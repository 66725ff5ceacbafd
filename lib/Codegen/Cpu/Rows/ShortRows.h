//===- ShortRows.h - Rows of a few elements, several in a vector -*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// How many rows of a launch of rows are lanes of a vector; 1: the lanes lie along a row.
unsigned lanesOfShortRows(kernel::LaunchOp launch, const CpuTarget &cpu);

/// Rows as `schedule` says, whose lanes are rows; false after an error was emitted.
bool emitShortRows(KernelFrame &frame, cpu::RowScheduleAttr schedule);

} // namespace tcc::codegen
