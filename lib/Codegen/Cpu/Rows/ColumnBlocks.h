//===- ColumnBlocks.h - Reductions across rows, a few columns a task -*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// How a row kernel of `launch` goes over blocks of columns, if what it reduces lies across rows
/// that are read again; else null.
cpu::RowScheduleAttr columnSchedule(kernel::LaunchOp launch, unsigned vectorLanes,
                                    const CpuTarget &cpu);

/// The tasks of such a kernel.
int64_t columnBlocks(kernel::LaunchOp launch, cpu::RowScheduleAttr schedule);

bool emitColumnBlocks(KernelFrame &frame, cpu::RowScheduleAttr schedule);

} // namespace tcc::codegen
