//===- DeviceHere.h - Whether this machine runs code for GPUs ----*- C++ -*-===//
#pragma once
#include "tcc/Target/Gpu.h"

namespace tcc {

/// Whether this machine's first GPU runs code of one of `devices`. To be asked before any thread is
/// started: it forks.
bool runsHere(const GpuTarget &devices);

} // namespace tcc
