//===- SpecialKernel.h - Loops that special kernels share --------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include "tcc/Codegen/Common/LineKernel.h"

namespace tcc::codegen {

/// body(at) for every point of `extents`, row-major.
void forEachPoint(KernelFrame &f, llvm::ArrayRef<mlir::Value> extents,
                  llvm::function_ref<void(Coords &)> body, Coords prefix = {});

} // namespace tcc::codegen
