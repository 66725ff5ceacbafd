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

struct ProductSpec {
  ContractionSpec spec; ///< of one batch entry, without pointers
  Index batch;          ///< entries
  llvm::SmallVector<Index> batchExtents, lhsBatchStrides, rhsBatchStrides;
};

/// Null when the template cannot do it: the elemental form then does.
std::optional<ProductSpec> productSpec(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op,
                                       llvm::ArrayRef<Index> lhsExtents,
                                       llvm::ArrayRef<Index> rhsExtents, const CpuTarget &cpu);

/// The template's view of a packed convolution, without pointers.
std::optional<ConvSpec> convSpec(mlir::OpBuilder &b, mlir::Location loc, prim::PackedConvOp op,
                                 llvm::ArrayRef<Index> inputExtents,
                                 llvm::ArrayRef<Index> outputExtents, const CpuTarget &cpu);

/// Gives `emitTemplate` the epilogue that computes and stores the launch's results.
void withEpilogue(KernelFrame &f, mlir::Operation *product, llvm::ArrayRef<mlir::Value> batch,
                  llvm::ArrayRef<mlir::Value> rowExtents, bool hasColumns,
                  llvm::function_ref<void(EpilogueFn)> emitTemplate);

bool emitContractionKernel(KernelFrame &frame);
bool emitConvolutionKernel(KernelFrame &frame);

} // namespace tcc::codegen
