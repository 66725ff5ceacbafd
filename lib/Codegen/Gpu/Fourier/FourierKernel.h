//===- FourierKernel.h - Fourier transforms in shared memory -----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"

namespace tcc::codegen::device {

/// The way to transform lines that `row_threads` threads of a block share, one or (`vectors`) two
/// lines each.
void scheduleFourier(ScheduleChoice &choice, prim::FourierOp op, const GpuArch &arch);
/// Line: the kernel of such a schedule.
void emitFourierKernel(KernelFrame &f);

} // namespace tcc::codegen::device
