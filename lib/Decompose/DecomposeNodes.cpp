#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {
#define GEN_PASS_DEF_DECOMPOSENODESPASS
#include "tcc/Decompose/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class DecomposeNodesPass : public tcc::impl::DecomposeNodesPassBase<DecomposeNodesPass> {
public:
  DecomposeNodesPass(WeightTable *weights, llvm::Error *error) : weights(weights), error(error) {}
  void runOnOperation() override {
    llvm::Error failed = decompose(getOperation(), *weights);
    if (!failed)
      return;
    if (error)
      *error = llvm::joinErrors(std::move(*error), std::move(failed));
    else
      getOperation().emitError(llvm::toString(std::move(failed)));
    signalPassFailure();
  }

private:
  WeightTable *weights;
  llvm::Error *error;
};

} // namespace

std::unique_ptr<Pass> tcc::createDecomposeNodesPass(WeightTable *weights, llvm::Error *error) {
  return std::make_unique<DecomposeNodesPass>(weights, error);
}
