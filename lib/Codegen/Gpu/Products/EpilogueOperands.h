//===- EpilogueOperands.h - What follows a product reads ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Operands of what is fused after a product that are read in a regular
// way, and can be on their way before the sums are done.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::codegen::device {

/// The argument that the first result of a launch reads at its own index alone, behind `product`,
/// if its elements have 16 bits; else null.
mlir::BlockArgument residualOf(kernel::LaunchOp launch, mlir::Operation *product);

/// Arguments of f32 that have an element for each column of `product`'s result, the last axis, and
/// that nothing but what follows the product reads, each at its own column: biases and scales.
llvm::SmallVector<mlir::BlockArgument, 2> perColumnOf(kernel::LaunchOp launch,
                                                      mlir::Operation *product);

} // namespace tcc::codegen::device
