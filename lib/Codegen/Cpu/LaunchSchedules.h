//===- LaunchSchedules.h - Schedules of launches by kind --------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: the parts of the schedule model (ScheduleModel.h).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

/// Points of a run that a loop's grain counts where only a run knows how many there are.
inline constexpr int64_t kOpenRun = 256;

/// Point by point; for launches of any kind but special.
kernel::Schedule loopSchedule(kernel::LaunchOp launch, const CpuTarget &cpu);

} // namespace tcc::codegen
