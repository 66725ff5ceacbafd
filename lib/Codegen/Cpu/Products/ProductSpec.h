//===- ProductSpec.h - Contractions of a launch as templates -----*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what the schedule model, the host's count of tasks and the
// kernel know of a product or convolution.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "StridedOperand.h"
#include "tcc/Codegen/Cpu/Contraction.h"
#include "tcc/Codegen/Cpu/Conv.h"

namespace tcc::codegen {

/// The operator that a contraction or convolution kernel is about.
mlir::Operation *contractionOf(kernel::LaunchOp launch);

struct ProductSpec {
  ContractionSpec spec;       ///< of one batch entry, without pointers and schedule
  Index batch;                ///< entries
  Index lhsOffset, rhsOffset; ///< of the first element
  llvm::SmallVector<Index> batchExtents, lhsBatchStrides, rhsBatchStrides;
};

/// Null when the template cannot do it: the elemental form then does. The extents are
/// those of the memory behind the operands; `rhsPart`: a part of the right one with the same axes,
/// which stands in its place.
std::optional<ProductSpec> productSpec(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op,
                                       llvm::ArrayRef<Index> lhsExtents,
                                       llvm::ArrayRef<Index> rhsExtents, const CpuTarget &cpu,
                                       mlir::Value rhsPart = {});

/// Axes of the result that are columns of the product.
unsigned productColumns(mlir::Operation *op);

/// Ways to compute `spec` for each of a batch, the one that should be fastest first; with
/// `variations`, more.
llvm::SmallVector<ContractionSchedule> rankSchedules(KernelBuilder &k, const ContractionSpec &spec,
                                                     Index batch, bool variations);
void setSchedule(KernelBuilder &k, ContractionSpec &spec, const ContractionSchedule &schedule);

/// The template's view of a convolution, without pointers and schedule. Null where the weights
/// are not packed, or windows have more than three axes.
std::optional<ConvSpec> convSpec(mlir::OpBuilder &b, mlir::Location loc, prim::ConvOp op,
                                 llvm::ArrayRef<Index> inputExtents,
                                 llvm::ArrayRef<Index> outputExtents, const CpuTarget &cpu);

/// Gives `emitTemplate` the epilogue that computes and stores the launch's results at
/// `batch`, then the template's row, counted from `firstRow`, as an index into `rowExtents`.
void withEpilogue(KernelFrame &f, mlir::Operation *product, llvm::ArrayRef<mlir::Value> batch,
                  llvm::ArrayRef<mlir::Value> rowExtents, bool hasColumns,
                  llvm::function_ref<void(EpilogueFn)> emitTemplate, mlir::Value firstRow = {});

bool emitContractionKernel(KernelFrame &frame, const ContractionSchedule &schedule);
bool emitConvolutionKernel(KernelFrame &frame, const ConvSchedule &schedule);

} // namespace tcc::codegen
