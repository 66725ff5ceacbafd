//===- ThreadOrder.h - Short lines in order, a thread each -------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen::device {

/// The line `at` in order by this thread alone, in registers; false, with nothing done, where it is
/// too long.
bool emitThreadOrder(KernelFrame &f, prim::SortOp op, Coords at, mlir::Value length);

} // namespace tcc::codegen::device
