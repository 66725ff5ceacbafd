//===- Pipeline.cpp - The phases, and the passes of each ------------------===//
//
// The one place that knows the order of passes. What depends on the target the back-end adds;
// after each phase a verifier checks that only what may exist there does.
//
//===----------------------------------------------------------------------===//
#include "tcc/Pipeline/Pipeline.h"
#include "Legality.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Gpu/Gpu.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Fusion/Fusion.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Plan/Plan.h"
#include "tcc/Schedule/Schedule.h"
#include "tcc/Simplify/FoldConstants.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tcc;

static constexpr llvm::StringLiteral kNames[] = {
    "import", "decompose", "simplify", "differentiate", "layout",
    "fuse",   "schedule",  "plan",     "codegen",       "emit"};

StringRef tcc::phaseName(Phase phase) { return kNames[static_cast<size_t>(phase)]; }

std::optional<Phase> tcc::parsePhase(StringRef name) {
  for (Phase phase : kPhases)
    if (phaseName(phase) == name)
      return phase;
  return std::nullopt;
}

mlir::func::FuncOp Model::main() const {
  return mlir::ModuleOp(*module).lookupSymbol<mlir::func::FuncOp>("main");
}

void tcc::registerDialects(DialectRegistry &registry) {
  codegen::registerKernelDialects(registry);
  registry.insert<graph::GraphDialect, prim::PrimDialect, kernel::KernelDialect, cpu::CpuDialect,
                  tcc::gpu::GpuDialect, host::HostDialect>();
}

/// What a node's file is to blame for is told in `error`.
static void addPasses(PassManager &pm, Phase phase, Model &model, const PipelineOptions &options,
                      llvm::Error *error) {
  switch (phase) {
  case Phase::Decompose:
    pm.addPass(createDecomposeNodesPass(model.weights.get(), error));
    options.backend->addDecomposePasses(pm, *model.weights);
    break;
  case Phase::Simplify:
    pm.addPass(createCommonSubexpressionsPass());
    pm.addPass(createAbsorbTransposesPass()); // before a large weight is transposed
    pm.addPass(createSharedOperandsPass());
    pm.addPass(createRequantizedPass(model.weights.get()));
    options.backend->addIntegerWeightPasses(pm, *model.weights);
    pm.addPass(createFoldConstantsPass(model.weights.get()));
    pm.addPass(createReachedTapsPass());
    pm.addPass(createExpressionsPass());
    pm.addPass(createFoldConstantsPass(model.weights.get()));
    pm.addPass(createLoopCountersPass());
    pm.addPass(createFoldScalesPass(model.weights.get()));
    pm.addPass(createDeferScalesPass());
    pm.addPass(createProductRowsPass());
    pm.addPass(createRowOrderPass());
    pm.addPass(createNormOrderPass());
    pm.addPass(createComposeViewsPass());
    pm.addPass(createAbsorbTransposesPass());
    pm.addPass(createCommonSubexpressionsPass());
    break;
  case Phase::Layout:
    if (options.precision != Precision::F32) {
      pm.addPass(createNarrowPass(model.weights.get(), options.precision));
      pm.addPass(createFoldConstantsPass(model.weights.get()));
    }
    options.backend->addAxisOrderPasses(pm, options.precision);
    pm.addPass(createComposeViewsPass());
    pm.addPass(createAbsorbTransposesPass());
    pm.addPass(createFoldConstantsPass(model.weights.get()));
    options.backend->addLayoutPasses(pm, *model.weights, options.chooseLayout);
    pm.addPass(createFoldConstantsPass(model.weights.get()));
    pm.addPass(createCommonSubexpressionsPass());
    break;
  case Phase::Fuse:
    pm.addPass(createFuseKernelsPass({options.fuse, options.fuse, &options.backend->schedules()}));
    pm.addPass(createShareKernelsPass());
    pm.addPass(createCommonSubexpressionsPass());
    pm.addPass(
        createCutKernelsPass({true, true, &options.backend->schedules()}, options.chooseCut));
    pm.addPass(createOperandExtentsPass());
    break;
  case Phase::Schedule:
    pm.addPass(createScheduleKernelsPass(&options.backend->schedules(), options.chooseSchedule));
    if (const Backend *host = options.backend->hostBackend())
      pm.addPass(createPlaceLaunchesPass(&options.backend->schedules(), &host->schedules()));
    options.backend->addSchedulePasses(pm);
    break;
  case Phase::Plan:
    pm.addPass(createPlanMemoryPass(options.inPlace, options.backend->memorySpace()));
    break;
  default:
    break;
  }
}

llvm::Error tcc::runPhases(Model &model, Phase from, Phase to, const PipelineOptions &options) {
  for (Phase phase : kPhases) {
    if (phase <= from || phase > to || phase >= Phase::Codegen)
      continue;
    if (options.beforePhase)
      options.beforePhase(phase);
    llvm::Error error = llvm::Error::success();
    PassManager pm(model.module->getContext());
    pm.enableVerifier(false);
    addPasses(pm, phase, model, options, &error);
    bool ran = succeeded(pm.run(*model.module));
    if (error)
      return error;
    bool ok = ran && succeeded(verifyPhase(*model.module, phase));
    // Decompose gives each node its meaning: what does not fit then is the model.
    if (!ok && phase == Phase::Decompose)
      return userError("the model does not fit together");
    if (!ok)
      return llvm::createStringError("phase '" + phaseName(phase) + "' failed");
    if (options.afterPhase)
      options.afterPhase(phase, *model.module);
  }
  return llvm::Error::success();
}

void tcc::forEachPass(
    llvm::function_ref<void(Phase, StringRef argument, StringRef description)> f) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Model model;
  PipelineOptions options;
  options.backend = llvm::cantFail(createBackend(kOwnBackend, {}));
  options.precision = Precision::BF16; // the passes of every option
  for (Phase phase : kPhases) {
    PassManager pm(&context);
    addPasses(pm, phase, model, options, nullptr);
    if (phase == Phase::Codegen)
      pm.addPass(codegen::createExpandMathPass());
    for (Pass &pass : pm.getPasses())
      f(phase, pass.getArgument(), pass.getDescription());
  }
}
