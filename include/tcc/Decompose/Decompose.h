//===- Decompose.h - graph → prim --------------------------------*- C++ -*-===//
//
// The phase after import. Walks the model in order and replaces each node by
// its rule's primitives. Nodes without a rule, and nodes whose rule refuses, are
// all reported in one error.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace tcc {
class WeightTable;

/// Replaces the graph ops of `module` by prim ops. A UserError lists every node
/// that cannot be decomposed (node, operator, opset, shapes, reason).
llvm::Error decompose(mlir::ModuleOp module, WeightTable &weights);

/// tcc-decompose-nodes: `decompose`. Its error goes to `error`, or where that is null becomes a
/// diagnostic; `weights` and `error` outlive the pass.
std::unique_ptr<mlir::Pass> createDecomposeNodesPass(WeightTable *weights,
                                                     llvm::Error *error = nullptr);

/// The Fourier transforms that a target has kernels for. 0: none.
struct FourierKernels {
  int64_t longest = 0;         ///< line along the last axis
  int64_t longestTogether = 0; ///< along any axis, of small prime factors, where there are
  int64_t fewestLines = 0;     ///< at least so many
  bool convolves = true; ///< lines of large prime factors, if their convolution is not too long
  bool mirrors =
      false; ///< rows are computed where they are read, those that follow from others too
  int64_t longestOfMany = 0; ///< likewise along any axis, where there are `manyLines` at least
  int64_t manyLines = 0;
};
/// tcc-decompose-fourier-lines: others in steps of these, or as products with `weights`, which
/// outlives the pass.
std::unique_ptr<mlir::Pass> createFourierLinesPass(WeightTable *weights, FourierKernels has);

/// tcc-decompose-matrix-loops: factors of matrices as loops of primitives, but for those of known
/// extents and up to `mostRows` rows, half as many of f64, for which the target has kernels; so too
/// eigenvalues and singular values for which `hasSpectral` does not hold.
std::unique_ptr<mlir::Pass>
createMatrixLoopsPass(int64_t mostRows, std::function<bool(mlir::Operation *)> hasSpectral = {});

/// tcc-decompose-wide-sums: scatters that sum or multiply narrow floats in f32.
std::unique_ptr<mlir::Pass> createWideSumsPass();

} // namespace tcc
