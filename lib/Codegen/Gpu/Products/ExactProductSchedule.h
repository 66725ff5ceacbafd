//===- ExactProductSchedule.h - Products without matrix units ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. What ExactProductSchedule.cpp tells of one number of rows, for
// schedules by what a run has (OpenExactRows.cpp, OpenProducts.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../ScheduleChoice.h"
#include "MmaTile.h"

namespace tcc::codegen::device {

/// The way to run an exact product as if it had such sizes; gives what it costs, 0 where that is
/// not known. `only`: the one kernel that is looked at, and nothing is chosen where that cannot.
double scheduleExact(ScheduleChoice &choice, kernel::LaunchOp launch, const ProductSizes &sizes,
                     const GpuArch &arch, const ScheduleChoice *only = nullptr);

/// What is known of a matrix product of weights, or of others, whose rows alone are open.
std::optional<ProductSizes> openExactRows(kernel::LaunchOp launch, const GpuArch &arch);

/// Sizes of which those that are open are what they typically are in a run of so many results.
ProductSizes typicalSizes(ProductSizes sizes, int64_t results);
/// Leaves to a run how many blocks share what a tile of the choice sums.
void shareByRun(ScheduleChoice &choice, mlir::Operation *product, const GpuArch &arch);
/// An exact product of open extents, others than rows alone, for runs of few results.
llvm::SmallVector<FewRows> scheduleFewOpenProducts(kernel::LaunchOp launch, Schedule many,
                                                   const GpuArch &arch);

/// Whether both operands of a product lie along what is summed, which is not short.
bool lieAlongSums(mlir::Operation *product, const ProductSizes &sizes);

} // namespace tcc::codegen::device
