//===- LanePicker.h - Lanes of registers by numbers of a register -*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Common/LaneAccess.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

/// Gives `access` the target's instruction that picks lanes of 32 bits from vectors of the target's
/// length, if it has one.
void setPickerFor(const CpuTarget &cpu, LaneAccess &access);

} // namespace tcc::codegen
