//===- ProductSpec.h - Contractions of a launch as templates -----*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu. The host counts tasks from the same spec that the
// kernel is built from, so both come from here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include "tcc/Codegen/Cpu/Contraction.h"
#include "tcc/Codegen/Cpu/Conv.h"

namespace tcc::codegen {

/// The operator that a contraction or convolution kernel is about.
mlir::Operation *contractionOf(kernel::LaunchOp launch);

/// The launch argument that an operand of it is a view of, or is.
mlir::Value memoryBehind(mlir::Value operand);

struct ProductSpec {
  ContractionSpec spec;       ///< of one batch entry, without pointers
  Index batch;                ///< entries
  Index lhsOffset, rhsOffset; ///< of the first element
  llvm::SmallVector<Index> batchExtents, lhsBatchStrides, rhsBatchStrides;
};

/// Null when the template cannot do it: the elemental form then does. The extents are
/// those of the memory behind the operands.
std::optional<ProductSpec> productSpec(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op,
                                       llvm::ArrayRef<Index> lhsExtents,
                                       llvm::ArrayRef<Index> rhsExtents, const CpuTarget &cpu);

/// The template's view of a packed convolution, without pointers.
std::optional<ConvSpec> convSpec(mlir::OpBuilder &b, mlir::Location loc, prim::PackedConvOp op,
                                 llvm::ArrayRef<Index> inputExtents,
                                 llvm::ArrayRef<Index> outputExtents, const CpuTarget &cpu);

/// Gives `emitTemplate` the epilogue that computes and stores the launch's results at
/// `batch`, then the template's row, counted from `firstRow`, as an index into `rowExtents`.
void withEpilogue(KernelFrame &f, mlir::Operation *product, llvm::ArrayRef<mlir::Value> batch,
                  llvm::ArrayRef<mlir::Value> rowExtents, bool hasColumns,
                  llvm::function_ref<void(EpilogueFn)> emitTemplate, mlir::Value firstRow = {});

bool emitContractionKernel(KernelFrame &frame);
bool emitConvolutionKernel(KernelFrame &frame);

} // namespace tcc::codegen
