//===- AheadProductSchedule.h - Products that read ahead ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The models of AheadProductSchedule.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "MmaTile.h"
#include "ScheduleChoice.h"

namespace tcc::codegen::device {

/// Blocks of so many threads, with `words` of sums each, that registers of a multiprocessor are
/// for. `shares`: blocks add up what others left.
unsigned aheadBlocks(int64_t threads, unsigned words, bool shares);

/// Blocks of such a schedule that a multiprocessor has at once.
unsigned residentProducts(kernel::LaunchOp launch, Schedule schedule, const GpuArch &arch);

/// A tile of a product of f32 that costs less than `against`, in cycles; gives what it costs, or 0
/// with nothing chosen.
double aheadProduct(ScheduleChoice &choice, prim::DotOp dot, const ProductSizes &sizes,
                    const GpuArch &arch, double against);

/// A tile of a product of f64 for matrix units; false, with nothing chosen, where there is none.
bool unitsProduct(ScheduleChoice &choice, prim::DotOp dot, const ProductSizes &sizes,
                  const GpuArch &arch);

} // namespace tcc::codegen::device
