//===- ScheduleChecks.h - What schedules of any target check -----*- C++ -*-===//
//
// For the verifiers of the schedules in the dialects of targets.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::kernel {

/// A size in a schedule, and what it is at least.
struct ScheduleSize {
  llvm::StringRef name;
  int64_t value, least = 1;
};

/// An error that names the first of `sizes` that is too small.
llvm::LogicalResult verifySizes(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                std::initializer_list<ScheduleSize> sizes);

/// An error at `launch` unless it is of one of `kinds`; `schedule` is the mnemonic of what runs
/// those.
llvm::LogicalResult verifyKind(LaunchOp launch, llvm::StringRef schedule,
                               llvm::ArrayRef<KernelKind> kinds);

} // namespace tcc::kernel
