//===- LowerToLLVM.h - Kernel modules to the LLVM dialect -------*- C++ -*-===//
//
// The last step of code generation, shared by every kernel: builders write scf,
// arith, math, vector and llvm operations, and this turns a module of them into
// the LLVM dialect alone, ready for lib/Emit. A kernel has a few hundred ops and a
// model hundreds of kernels, so it is one conversion with all patterns instead of
// upstream's chain of eight passes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir {
class ConversionTarget;
class RewritePatternSet;
} // namespace mlir

namespace tcc::codegen {

/// Registers the dialects that kernels are written in and their translation to
/// LLVM IR. A context made for compiling kernels needs nothing else.
void registerKernelDialects(mlir::DialectRegistry &registry);

struct LowerOptions {
  /// Of `index`. 32 where every extent and offset of the kernel is smaller: a GPU divides
  /// 64-bit numbers slowly.
  unsigned indexBits = 64;
  /// Math functions that LLVM has no instruction for become calls of libm, one per element:
  /// expand what must be fast before. Without, such a function is an error.
  bool libm = true;
  /// Adds the patterns of one more dialect, and says in the target what of it is legal.
  llvm::function_ref<void(mlir::RewritePatternSet &, mlir::ConversionTarget &)> extend;
};

/// Lowers every function of `module` to the LLVM dialect in place. Operands of vector.create_mask
/// must lie below 2^31: clamp what is left of an extent to the number of lanes. Fails, with a
/// diagnostic, on an operation of another dialect: that is a bug of the builder.
mlir::LogicalResult lowerKernelModule(mlir::ModuleOp module, const LowerOptions &options = {});

} // namespace tcc::codegen
