//===- Contraction.h - Matrix products on the CPU ---------------*- C++ -*-===//
//
// Emits C[m, n] = sum over k of A[m, k] * B[k, n] as tasks that the runtime may run
// in any order and in parallel: GEMM, GEMV, batched products (the caller gives the
// base pointers of a batch entry) and 1x1 convolutions. The result never exists in
// memory as such: every vector of it is handed to an epilogue, which applies bias,
// activation, residual and whatever else was fused, and stores.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

struct ContractionSpec {
  CpuTarget cpu;
  ContractionSchedule schedule;
  Index m, n, k;
  mlir::Type acc;

  mlir::Type aElement;
  bool aUnsigned = false;
  mlir::Value a;
  Index aRowStride, aKStride; ///< elements; a transposed A has aRowStride 1

  mlir::Type bElement;
  bool bUnsigned = false;
  mlir::Value b;
  PanelLayout bLayout = PanelLayout::Packed;
  std::optional<int64_t> panelWidth = {}; ///< of a packed B, if known
  Index bStride;                          ///< elements between rows of RowMajor or Transposed

  /// With steps of bytes, `k` counts steps and elements are bytes: A's elements are
  /// neighbours along k, of which there are kElements; B is packed, here or before.
  ByteSteps bytes = {};
  Index kElements;

  /// Independent products with packed B of n columns each, columns side by side in C:
  /// grouped convolutions. Group g reads A from column g * k on. Known n only, and A in
  /// place.
  int64_t groups = 1;
};

/// Called for row `m`, columns `n .. n + lanes`, of which the first `valid` exist
/// (all of them except at the right edge). It must not touch the others.
using EpilogueFn = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::Value m,
                                           mlir::Value n, mlir::Value acc, Index valid)>;

/// Tasks of one product: its schedule's sizes, and the extents of the run.
Index emitContractionTaskCount(mlir::OpBuilder &builder, mlir::Location loc,
                               const ContractionSpec &spec);

/// One task; `task` is in [0, task count).
void emitContractionTask(mlir::OpBuilder &builder, mlir::Location loc, const ContractionSpec &spec,
                         mlir::Value task, EpilogueFn epilogue);

/// Tasks [begin, end) of one product.
void emitContractionTasks(mlir::OpBuilder &builder, mlir::Location loc, const ContractionSpec &spec,
                          mlir::Value begin, mlir::Value end, EpilogueFn epilogue);

} // namespace tcc::codegen
