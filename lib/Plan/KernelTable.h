//===- KernelTable.h - Equal launches start one kernel -----------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include <map>
#include <string>

namespace tcc::plan {

/// The kernels of a module. Two launches have the same one if they are the same text
/// (Dialect/Kernel/KernelText.h).
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// The kernel that does what `launch` does, added to the end of the module if it is new.
  host::KernelOp kernelOf(kernel::LaunchOp launch);

private:
  mlir::ModuleOp module;
  std::map<std::string, host::KernelOp> kernels;
};

} // namespace tcc::plan
