// Parses IR, runs passes on it and prints it: the tool of tests and of whoever
// works on the compiler. Weights that the IR names have no data here.
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Fusion/Fusion.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Plan/Plan.h"
#include "tcc/Simplify/FoldConstants.h"

int main(int argc, char **argv) {
  static tcc::WeightTable weights;
  mlir::DialectRegistry registry;
  tcc::registerDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass([] { return tcc::createFoldConstantsPass(&weights); });
  mlir::registerPass([] { return tcc::createFuseKernelsPass(); });
  mlir::registerPass([] { return tcc::createPlanMemoryPass(); });
  mlir::registerPass([] { return tcc::codegen::createExpandMathPass(); });
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tcc's passes one at a time\n", registry));
}
