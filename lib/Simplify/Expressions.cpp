//===- Expressions.cpp - All rewrites of expressions together -------------===//
//
// tcc-simplify-expressions runs the patterns of tcc-simplify-algebra,
// -cast-chains, -selects, -views, -broadcasts and -gathers until none matches: a vanished
// cast brings two additions together, a composed slice two transposes.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_EXPRESSIONSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

LogicalResult tcc::simplify::rewriteAll(ModuleOp module,
                                        llvm::function_ref<void(RewritePatternSet &)> populate) {
  RewritePatternSet patterns(module.getContext());
  populate(patterns);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Folding and merging constants are passes of their own.
  config.enableFolding(false).enableConstantCSE(false);
  // Whether the driver came to an end within its rounds is no error.
  (void)applyPatternsGreedily(module, std::move(patterns), config);
  return success();
}

namespace {

class ExpressionsPass : public tcc::impl::ExpressionsPassBase<ExpressionsPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), [](RewritePatternSet &patterns) {
          populateAlgebraPatterns(patterns);
          populateCastPatterns(patterns);
          populateSelectPatterns(patterns);
          populateViewPatterns(patterns);
          populateBroadcastPatterns(patterns);
          populateGatherPatterns(patterns);
        })))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createExpressionsPass() { return std::make_unique<ExpressionsPass>(); }
