//===- PeakMemory.h - What a host program holds at most ----------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tcc/Dialect/Host/Host.h"
#include <map>
#include <string>

namespace tcc {

/// The largest arena in `space` that a program of `module` wants of its context.
int64_t arenaBytes(mlir::ModuleOp module, host::MemorySpace space = host::MemorySpace::host);

/// Bytes by the product of unknown extents that they are multiplied with, as text: "" for
/// a constant number of bytes, "batch*seq", and "?" for an extent that only a run knows.
using MemorySum = std::map<std::string, double>;

/// The blocks of the heap and arenas of the run that live at once in `program`, at their
/// peak. Which moment that is can depend on the dims: it is taken with all of them at 128.
/// Blocks of loops and branches count nothing here.
MemorySum allocatedPeak(mlir::func::FuncOp program);

} // namespace tcc
