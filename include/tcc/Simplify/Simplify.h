//===- Simplify.h - Passes of the simplify phase -----------------*- C++ -*-===//
//
// Between decompose, which gives every node its primitives one by one, and layout.
// The essay at the head of each pass's file says what it rewrites and what it does
// not. Folding constants has a header of its own: FoldConstants.h.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Pass/Pass.h"
#include <functional>

namespace tcc {
class WeightTable;
namespace prim {
class ConvOp;
}

/// tcc-simplify-common-subexpressions: MLIR's, for any number of operators with regions; see
/// lib/Simplify/CommonSubexpressions.cpp.
std::unique_ptr<mlir::Pass> createCommonSubexpressionsPass();

/// tcc-simplify-expressions: the six families below together, until none matches.
std::unique_ptr<mlir::Pass> createExpressionsPass();
/// tcc-simplify-algebra: arithmetic that is known beforehand.
std::unique_ptr<mlir::Pass> createAlgebraPass();
/// tcc-simplify-cast-chains: one cast where several were.
std::unique_ptr<mlir::Pass> createCastChainsPass();
/// tcc-simplify-selects: choices that are made already.
std::unique_ptr<mlir::Pass> createSelectsPass();
/// tcc-simplify-views: views of views.
std::unique_ptr<mlir::Pass> createSimplifyViewsPass();
/// tcc-simplify-broadcasts: compute before repeating.
std::unique_ptr<mlir::Pass> createBroadcastsPass();
/// tcc-simplify-gathers: gather before computing.
std::unique_ptr<mlir::Pass> createGathersPass();

/// tcc-simplify-loop-counters: loops count on the host. After tcc-simplify-expressions.
std::unique_ptr<mlir::Pass> createLoopCountersPass();

/// tcc-simplify-fold-scales: batch norms and scales into weights. After constant
/// folding. `weights` outlives the pass.
std::unique_ptr<mlir::Pass> createFoldScalesPass(WeightTable *weights);

/// tcc-simplify-requantized: bytes that are only moved between dequantising and quantising stay
/// bytes. Before tcc-simplify-integer-products, which finds more bytes then. `weights` outlives the
/// pass.
std::unique_ptr<mlir::Pass> createRequantizedPass(WeightTable *weights);

/// How a target multiplies bytes.
struct ByteProducts {
  using Asked = std::function<bool(mlir::Operation *)>;
  static bool never(mlir::Operation *) { return false; }
  /// Whether a product or a convolution of floats is faster than one of the bytes that they were.
  Asked prefersFloats = never;
  /// Whether a product's left operand is widened to 16 bits before it is multiplied.
  Asked widensRows = never;
};

/// tcc-simplify-integer-products: products of dequantised bytes multiply integers. Before
/// tcc-simplify-integer-weights, for targets that have instructions for it. `weights` outlives the
/// pass.
std::unique_ptr<mlir::Pass> createIntegerProductsPass(WeightTable *weights,
                                                      ByteProducts target = {});

/// tcc-simplify-integer-weights: products read weights of 8 bits as they are. Before constant
/// folding, for targets that have kernels for them. `weights` outlives the pass.
std::unique_ptr<mlir::Pass> createIntegerWeightsPass(WeightTable *weights);

/// tcc-simplify-reached-taps: filters without taps that meet padding alone.
std::unique_ptr<mlir::Pass> createReachedTapsPass();

/// tcc-simplify-absorb-transposes: contractions read any axis order.
std::unique_ptr<mlir::Pass> createAbsorbTransposesPass();
/// tcc-simplify-shared-operands: products read once what several rows share. After
/// tcc-simplify-absorb-transposes.
std::unique_ptr<mlir::Pass> createSharedOperandsPass();
/// tcc-simplify-product-rows: products keep the axes of their rows. After
/// tcc-simplify-absorb-transposes.
std::unique_ptr<mlir::Pass> createProductRowsPass();
/// tcc-simplify-row-order: products take rows in the order in which they lie. After
/// tcc-simplify-product-rows and before tcc-simplify-compose-views.
std::unique_ptr<mlir::Pass> createRowOrderPass();
/// tcc-simplify-norm-order: norms take rows in the order in which they are read. After
/// tcc-simplify-row-order, which leaves no transpose to those that a product takes in any order.
std::unique_ptr<mlir::Pass> createNormOrderPass();
/// tcc-simplify-compose-views: see lib/Simplify/ComposeViews.cpp. Before
/// tcc-simplify-absorb-transposes, which sees one transpose then.
std::unique_ptr<mlir::Pass> createComposeViewsPass();
/// tcc-simplify-defer-scales: see lib/Simplify/DeferScales.cpp.
std::unique_ptr<mlir::Pass> createDeferScalesPass();

} // namespace tcc
