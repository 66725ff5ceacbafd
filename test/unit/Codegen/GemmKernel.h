//===- GemmKernel.h - A GEMM kernel for tests and benchmarks ----*- C++ -*-===//
#pragma once
#include "KernelRunner.h"
#include "tcc/Codegen/Cpu/Contraction.h"

namespace tcc::test {

struct GemmCase {
  int64_t m, n, k;
  bool dynamicM = false, dynamicN = false, dynamicK = false;
  codegen::PanelLayout layout = codegen::PanelLayout::Packed;
  bool transposedA = false;
  bool copiedA = false; ///< of a transposed A: rows are copied before use
  bool relu = false;    ///< C = relu(A * B + bias) instead of A * B
};

llvm::SmallVector<codegen::ContractionSchedule> candidatesOf(const CpuTarget &cpu,
                                                             const GemmCase &shape);
codegen::ContractionSchedule scheduleOf(const CpuTarget &cpu, const GemmCase &shape);

/// A module with @gemm(args = {A, B, C, bias, M, N, K}) and @tasks(args) which
/// stores the number of tasks to args[7].
mlir::OwningOpRef<mlir::ModuleOp> gemmModule(mlir::MLIRContext &context, const CpuTarget &cpu,
                                             const GemmCase &shape,
                                             const codegen::ContractionSchedule &schedule);

/// B [K][N] in the layout that the case asks for.
std::vector<float> layOutB(const std::vector<float> &b, const GemmCase &shape, int64_t panelWidth);

} // namespace tcc::test
