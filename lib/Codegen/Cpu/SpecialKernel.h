//===- SpecialKernel.h - Loops that special kernels share --------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"

namespace tcc::codegen {

llvm::SmallVector<mlir::Value> extentsOf(KernelFrame &f, mlir::Value v);

/// body(at) for every point of `extents`, row-major.
void forEachPoint(KernelFrame &f, llvm::ArrayRef<mlir::Value> extents,
                  llvm::function_ref<void(Coords &)> body, Coords prefix = {});

/// body(at, length) for the kernel's tasks, which are the lines of `x` along `axis`;
/// `at[axis]` is the body's to set.
void forEachLine(KernelFrame &f, mlir::Value x, unsigned axis,
                 llvm::function_ref<void(Coords &, mlir::Value)> body);

/// The tensor and axis whose lines are an operator's tasks, if they are.
std::optional<std::pair<mlir::Value, unsigned>> lineAxis(mlir::Operation *op);

/// Whether `x` comes before `y` in an ordering where NaN is the largest.
mlir::Value comesBefore(KernelFrame &f, mlir::Type elementType, bool descending, mlir::Value x,
                        mlir::Value y);

/// Results 0 and 1: the first elements of every line in order, and their places.
void emitOrdered(KernelFrame &f, mlir::Value x, unsigned axis, bool descending);

} // namespace tcc::codegen
