//===- FewFilters.h - Convolutions of few filters ---------------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Target/Cpu.h"

namespace tcc {

/// Whether `op` has so few filters of several taps over many channels that they leave most lanes of
/// a vector of filters empty.
bool hasFewFilters(prim::ConvOp op, const CpuTarget &cpu);

/// Makes of such a convolution one of filters of one point, a filter for each tap, whose planes are
/// shifted and added up.
void sumShiftedPlanes(prim::ConvOp op);

} // namespace tcc
