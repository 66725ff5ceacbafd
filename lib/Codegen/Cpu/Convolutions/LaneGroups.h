//===- LaneGroups.h - Convolutions with groups narrower than a vector *- C++ -*-===//
//
// Depthwise convolutions and those with 2, 4 or 8 filters a group: a vector of output
// channels spans several groups, so A cannot be broadcast; see the .cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Conv.h"

namespace tcc::codegen {

LineSchedule chooseLines(KernelBuilder &k, const ConvSpec &spec);

Index emitLaneGroupTaskCount(KernelBuilder &k, const ConvSpec &spec);
void emitLaneGroupTasks(KernelBuilder &k, const ConvSpec &spec, mlir::Value begin, mlir::Value end,
                        EpilogueFn epilogue);

} // namespace tcc::codegen
