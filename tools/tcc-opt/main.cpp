// Parses IR, runs passes on it and prints it: the tool of tests and of whoever
// works on the compiler. Code is for x86-64-v3, on whatever machine it runs, or with
// --arch for GPUs.
//
// Weights that the IR names have no data here; -tcc-test-fill-weights gives each
// one the elements 0, 1, 2, ...
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Fusion/Fusion.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Plan/Plan.h"
#include "tcc/Schedule/Schedule.h"
#include "tcc/Simplify/FoldConstants.h"
#include "tcc/Simplify/Simplify.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include <numeric>

namespace {

class FillWeightsPass
    : public mlir::PassWrapper<FillWeightsPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FillWeightsPass)
  explicit FillWeightsPass(tcc::WeightTable &weights) : weights(weights) {}
  llvm::StringRef getArgument() const override { return "tcc-test-fill-weights"; }
  llvm::StringRef getDescription() const override {
    return "Give f32, i64 and 8-bit weights the data 0, 1, 2, .., 16-bit floats their bits";
  }
  void runOnOperation() override {
    getOperation().walk([&](tcc::graph::WeightOp op) { fill(op.getName(), op.getType()); });
    getOperation().walk([&](tcc::prim::WeightOp op) { fill(op.getName(), op.getType()); });
  }

private:
  void fill(llvm::StringRef name, mlir::Type weight) {
    auto type = mlir::cast<mlir::RankedTensorType>(weight);
    if (weights.lookup(name))
      return;
    if (type.getElementType().isF32())
      fill<float>(name, type);
    else if (type.getElementType().isInteger(64))
      fill<int64_t>(name, type);
    else if (type.getElementType().isF16() || type.getElementType().isBF16())
      fill<uint16_t>(name, type);
    else if (type.getElementType().isInteger(8))
      fill<char>(name, type);
  }
  template <typename T> void fill(llvm::StringRef name, mlir::RankedTensorType type) {
    std::vector<T> values(type.getNumElements());
    std::iota(values.begin(), values.end(), T());
    const char *bytes = reinterpret_cast<const char *>(values.data());
    weights.addOwned(name, *tcc::prim::dtypeOf(type.getElementType()), type.getShape(),
                     std::vector<char>(bytes, bytes + values.size() * sizeof(T)));
  }

  tcc::WeightTable &weights;
};

llvm::cl::opt<std::string> archs("arch", llvm::cl::desc("GPU architectures, as tcc's --arch"));

tcc::CpuTarget hostCpu() {
  return llvm::cantFail(tcc::CpuTarget::create("x86-64-v3", "x86_64-linux-gnu"));
}

/// Of a target whose launches may run on either side.
const tcc::Backend &deviceBackend() {
  static std::unique_ptr<tcc::Backend> backend = llvm::cantFail(tcc::createBackend(
      tcc::kOwnBackend, {hostCpu(), llvm::cantFail(tcc::GpuTarget::parse("sm_90a"))}));
  return *backend;
}

/// Passes are made before the command line is read, and for it once more.
const tcc::Backend &backend() {
  static llvm::StringMap<std::unique_ptr<tcc::Backend>> made;
  std::unique_ptr<tcc::Backend> &backend = made[archs];
  if (!backend) {
    tcc::Target target{hostCpu(), {}};
    if (!archs.empty())
      target.devices = llvm::cantFail(tcc::GpuTarget::parse(archs));
    backend = llvm::cantFail(tcc::createBackend(tcc::kOwnBackend, target));
  }
  return *backend;
}

} // namespace

int main(int argc, char **argv) {
  static tcc::WeightTable weights;
  static tcc::CpuTarget cpu = hostCpu();
  mlir::DialectRegistry registry;
  tcc::registerDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass([] { return std::make_unique<FillWeightsPass>(weights); });
  mlir::registerPass([] { return tcc::createDecomposeNodesPass(&weights); });
  mlir::registerPass([] { return tcc::createFourierLinesPass(&weights, {}); });
  mlir::registerPass([] { return tcc::createMatrixLoopsPass(/*mostRows=*/0); });
  mlir::registerPass(tcc::createWideSumsPass);
  mlir::registerPass([] { return tcc::createFoldConstantsPass(&weights); });
  mlir::registerPass([] { return tcc::createExpressionsPass(); });
  mlir::registerPass([] { return tcc::createLoopCountersPass(); });
  mlir::registerPass([] { return tcc::createAlgebraPass(); });
  mlir::registerPass([] { return tcc::createCastChainsPass(); });
  mlir::registerPass([] { return tcc::createSelectsPass(); });
  mlir::registerPass([] { return tcc::createGathersPass(); });
  mlir::registerPass([] { return tcc::createSimplifyViewsPass(); });
  mlir::registerPass([] { return tcc::createBroadcastsPass(); });
  mlir::registerPass([] { return tcc::createFoldScalesPass(&weights); });
  mlir::registerPass([] { return tcc::createNarrowPass(&weights, tcc::Precision::F32); });
  mlir::registerPass([] { return tcc::createGroupedChannelsPass(0); });
  mlir::registerPass([] { return tcc::createChannelsLastPass(0, 0); });
  mlir::registerPass([] { return tcc::createSeparatePoolsPass(); });
  mlir::registerPass([] { return tcc::createSplitReductionsPass(); });
  mlir::registerPass([] { return tcc::createOrderStatisticsPass(); });
  mlir::registerPass([] { return tcc::createOrientProductsPass(&cpu); });
  mlir::registerPass([] { return tcc::createVectorProductsPass({&cpu}); });
  mlir::registerPass([] { return tcc::createWidenBytesPass(&cpu); });
  mlir::registerPass([] { return tcc::createPackWeightsPass(&weights, &cpu); });
  mlir::registerPass([] { return tcc::createGroupedWeightsPass(&weights, &cpu); });
  mlir::registerPass([] { return tcc::createFilterGradientsPass(); });
  mlir::registerPass([] { return tcc::createKMajorWeightsPass(&weights); });
  mlir::registerPass([] { return tcc::createProductColumnsPass(); });
  mlir::registerPass([] { return tcc::createJoinProductsPass(&weights); });
  mlir::registerPass([] { return tcc::createDeferScalesPass(); });
  mlir::registerPass([] { return tcc::createRequantizedPass(&weights); });
  mlir::registerPass([] { return tcc::createIntegerProductsPass(&weights); });
  mlir::registerPass([] { return tcc::createIntegerWeightsPass(&weights); });
  mlir::registerPass([] { return tcc::createProductRowsPass(); });
  mlir::registerPass([] { return tcc::createRowOrderPass(); });
  mlir::registerPass([] { return tcc::createNormOrderPass(); });
  mlir::registerPass([] { return tcc::createComposeViewsPass(); });
  mlir::registerPass([] { return tcc::createAbsorbTransposesPass(); });
  mlir::registerPass([] { return tcc::createSharedOperandsPass(); });
  mlir::registerPass([] { return tcc::createReachedTapsPass(); });
  mlir::registerPass([] {
    const tcc::ScheduleModel *model = archs.empty() ? nullptr : &backend().schedules();
    return tcc::createFuseKernelsPass({true, true, model});
  });
  mlir::registerPass([] { return tcc::createShareKernelsPass(); });
  mlir::registerPass([] { return tcc::createOperandExtentsPass(); });
  mlir::registerPass([] { return tcc::createCutKernelsPass(); });
  mlir::registerPass([] { return tcc::createCommonSubexpressionsPass(); });
  mlir::registerPass([] { return tcc::createScheduleKernelsPass(&backend().schedules()); });
  mlir::registerPass([] {
    return tcc::createPlaceLaunchesPass(&deviceBackend().schedules(),
                                        &deviceBackend().hostBackend()->schedules());
  });
  mlir::registerPass(
      [] { return tcc::codegen::createRecurrenceLaunchesPass(deviceBackend().target().devices); });
  mlir::registerPass([] { return tcc::codegen::createJoinChecksPass(); });
  mlir::registerPass([] { return tcc::codegen::createEarlyStartsPass(); });
  mlir::registerPass([] { return tcc::codegen::createWordIndicesPass(); });
  mlir::registerPass([] { return tcc::createPlanMemoryPass(); });
  mlir::registerPass([] { return tcc::codegen::createExpandMathPass(); });
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tcc's passes one at a time\n", registry));
}
