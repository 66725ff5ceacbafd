//===- WinogradConv.h - 3x3 convolutions in tiles ---------------*- C++ -*-===//
//
// The convolution template for weights that layout has transformed (Dialect/Cpu/Winograd.h):
// same specification, tasks and epilogue as Conv.h, by which it is called.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Conv.h"

namespace tcc::codegen {

/// The extents that a schedule depends on.
WinogradShape winogradShape(KernelBuilder &k, const ConvSpec &spec);

Index emitWinogradTaskCount(KernelBuilder &k, const ConvSpec &spec);
void emitWinogradTasks(KernelBuilder &k, const ConvSpec &spec, Index begin, Index end,
                       EpilogueFn epilogue);

} // namespace tcc::codegen
