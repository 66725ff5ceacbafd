//===- ScheduleChecks.h - What schedules of any target check -----*- C++ -*-===//
//
// For the verifiers of the schedules in the dialects of targets.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include <limits>

namespace tcc::kernel {

/// More lanes, vectors, rows or threads has no machine for one piece of work: code is written out
/// for each.
constexpr int64_t kMostWrittenOut = 1024;

/// A size in a schedule, and what it is at least and at most.
struct ScheduleSize {
  llvm::StringRef name;
  int64_t value, least = 1, most = std::numeric_limits<int64_t>::max();
};

/// An error that names the first of `sizes` that is too small or too large.
llvm::LogicalResult verifySizes(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                std::initializer_list<ScheduleSize> sizes);

/// An error at `launch` unless it is of one of `kinds`; `schedule` is the mnemonic of what runs
/// those.
llvm::LogicalResult verifyKind(LaunchOp launch, llvm::StringRef schedule,
                               llvm::ArrayRef<KernelKind> kinds);

} // namespace tcc::kernel
