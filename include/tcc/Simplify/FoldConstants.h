//===- FoldConstants.h - Computes what does not depend on inputs -*- C++ -*-===//
//
// Part of simplify. Evaluates, by the reference interpreter, every pure operator
// whose operands are known: batch-norm scales multiplied into convolution
// weights, transposed and cast weights, shape arithmetic that became tensors.
//
// What would only make the artefact bigger stays: an operator whose result is
// larger than `growth` times the constants it is made of (iota, a causal mask, a
// broadcast bias) is cheaper to compute in the kernel that uses it. Such a value
// still counts as known for the operators after it, so that a broadcast scale
// does fold into the weight that it multiplies. A table of a moderate size that
// takes several steps a point (the places and weights of a resized axis) is
// cheaper to read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tcc {
class WeightTable;

struct FoldOptions {
  /// Up to so many elements a result is a `prim.constant`, else a `prim.weight`
  /// (unless all its elements are equal).
  int64_t smallElements = 64;
  /// A result may have this many times the bytes of the constants it is made
  /// of, and in any case `freeBytes`.
  int64_t growth = 4, freeBytes = 1024;
  /// Or `tableBytes`, if a point takes as many steps or one that is costly.
  int64_t tableBytes = 64 << 10;
  unsigned tableSteps = 3;
  /// Multiply-adds of a dot or conv that are worth doing at compile time.
  int64_t work = int64_t(1) << 31;
  /// Bytes of a value that is not kept but may be computed on the way.
  int64_t transientBytes = int64_t(256) << 20;
};

struct FoldStatistics {
  unsigned folded = 0;         ///< operators replaced
  unsigned weights = 0;        ///< entries added to the weight table
  unsigned droppedWeights = 0; ///< entries that nothing refers to any more
};

/// Folds in all functions of `module`, removes what became dead and drops
/// weights that are no longer referred to. Deterministic.
FoldStatistics foldConstants(mlir::ModuleOp module, WeightTable &weights,
                             const FoldOptions &options = {});

/// tcc-simplify-fold-constants: `foldConstants`. `weights` outlives the pass.
///
///   %w = prim.weight "w" : tensor<64x32xf16>
///   %f = prim.cast %w : (tensor<64x32xf16>) -> tensor<64x32xf32>
///   %t = prim.transpose %f [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
/// becomes
///   %t = prim.weight "w.transpose" : tensor<32x64xf32>
///
/// Runs after decompose; CSE before it saves work, CSE after it merges equal
/// constants.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(WeightTable *weights,
                                                    const FoldOptions &options = {});

} // namespace tcc
