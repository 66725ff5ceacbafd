//===- Patterns.h - The rewrites of the simplify phase ---------*- C++ -*-===//
//
// One populate function a family; the pass of each family runs it alone, and
// tcc-simplify-expressions runs all together, since one enables another.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace tcc::simplify {

void populateAlgebraPatterns(mlir::RewritePatternSet &patterns);
void populateCastPatterns(mlir::RewritePatternSet &patterns);
void populateSelectPatterns(mlir::RewritePatternSet &patterns);
void populateViewPatterns(mlir::RewritePatternSet &patterns);
void populateBroadcastPatterns(mlir::RewritePatternSet &patterns);
void populateGatherPatterns(mlir::RewritePatternSet &patterns);

/// Applies the patterns until none matches; regions keep their structure.
mlir::LogicalResult rewriteAll(mlir::ModuleOp module,
                               llvm::function_ref<void(mlir::RewritePatternSet &)> populate);

} // namespace tcc::simplify
