//===- AheadProductSchedule.h - Products that read ahead ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The models of AheadProductSchedule.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../ScheduleChoice.h"
#include "MmaTile.h"

namespace tcc::codegen::device {

/// Blocks of so many threads, with `words` of sums each, that registers of a multiprocessor are
/// for. `shares`: blocks add up what others left.
unsigned aheadBlocks(int64_t threads, unsigned words, bool shares);

/// Blocks of such a schedule that a multiprocessor has at once.
unsigned residentProducts(kernel::LaunchOp launch, Schedule schedule, const GpuArch &arch);

/// A tile of a product of f32 that costs less than `against`, in cycles; gives what it costs, or 0
/// with nothing chosen. `only`: the one kernel that is looked at.
double aheadProduct(ScheduleChoice &choice, prim::DotOp dot, const ProductSizes &sizes,
                    const GpuArch &arch, double against, const ScheduleChoice *only);

/// A tile of a product of f64 for matrix units, and what it costs; 0, with nothing chosen, where
/// there is none.
double unitsProduct(ScheduleChoice &choice, prim::DotOp dot, const ProductSizes &sizes,
                    const GpuArch &arch, const ScheduleChoice *only);

} // namespace tcc::codegen::device
