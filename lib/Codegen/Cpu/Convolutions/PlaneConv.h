//===- PlaneConv.h - Convolutions whose lanes are pixels --------*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"
#include "PlaneRun.h"

namespace tcc::codegen {

/// How to compute `op` so; null where that is not how layout left it, or no kernel can.
kernel::Schedule planeSchedule(prim::ConvOp op, const CpuTarget &cpu);

PlaneCut cutOf(cpu::PlaneScheduleAttr attr);

bool emitPlaneConvolution(KernelFrame &frame, cpu::PlaneScheduleAttr schedule);

} // namespace tcc::codegen
