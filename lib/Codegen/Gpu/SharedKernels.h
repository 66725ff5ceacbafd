//===- SharedKernels.h - Few kernels for many numbers of rows ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Schedules by what a run has, whose kernels are few.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "ScheduleChoice.h"

namespace tcc::codegen::device {

/// What is taken for up to so many rows, and what it costs; 0 where that is not known.
struct RowsWay {
  ScheduleChoice choice;
  int64_t rows;
  double cost = 0;
};

/// The kernel of a choice, whatever memory its blocks meet in.
Schedule withoutScratch(ScheduleChoice choice, mlir::MLIRContext *context);

/// Replaces the best of each number of rows by one of few kernels that cost up to `worse` times as
/// much, of which that of `many` is there anyway; more where there would be more than `most`
/// kernels. `costAt`: a kernel for a number of rows; without a cost where it cannot have it.
void shareKernels(llvm::MutableArrayRef<RowsWay> ways, Schedule many, double worse, unsigned most,
                  llvm::function_ref<RowsWay(const ScheduleChoice &kernel, int64_t rows)> costAt);

} // namespace tcc::codegen::device
