//===- Schedule.h - kernels → kernels with schedules -------------*- C++ -*-===//
//
// The schedule phase: every launch says how the target runs it. Plan, code generation,
// reports and the manifest read it; none of them chooses.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tcc/Analysis/ScheduleModel.h"

namespace tcc {

/// Which of a launch's candidates, given best first, it runs by; null after it told why not.
using ScheduleChooser =
    std::function<kernel::Schedule(kernel::LaunchOp, llvm::ArrayRef<kernel::Schedule>)>;

/// tcc-schedule-kernels: see lib/Schedule/ScheduleKernels.cpp. Without a chooser the
/// model's first candidate is taken.
std::unique_ptr<mlir::Pass> createScheduleKernelsPass(const ScheduleModel *model,
                                                      ScheduleChooser chooser = nullptr);

/// tcc-schedule-place-launches: see lib/Schedule/PlaceLaunches.cpp. Launches have schedules for
/// `device`, whose memory is not the host's; those that run better on the host get one of `host`.
std::unique_ptr<mlir::Pass> createPlaceLaunchesPass(const ScheduleModel *device,
                                                    const ScheduleModel *host);

} // namespace tcc
