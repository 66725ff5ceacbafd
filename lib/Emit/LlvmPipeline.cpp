//===- LlvmPipeline.cpp - LLVM's optimiser over one module ----------------===//
#include "LlvmPipeline.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include <algorithm>

using namespace llvm;
namespace tcc::emit {

void optimize(llvm::Module &module, TargetMachine &machine, const EmitOptions &options) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.vectorize;
  tuning.SLPVectorization = options.vectorize;
  tuning.LoopInterleaving = options.vectorize;
  tuning.LoopUnrolling = options.unroll;
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cgam;
  ModuleAnalysisManager mam;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  const OptimizationLevel levels[] = {OptimizationLevel::O0, OptimizationLevel::O1,
                                      OptimizationLevel::O2, OptimizationLevel::O3};
  OptimizationLevel level = levels[std::min(options.optLevel, 3u)];
  ModulePassManager passes = options.optLevel == 0 ? builder.buildO0DefaultPipeline(level)
                                                   : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, mam);
}

CodeGenOptLevel codegenLevel(const EmitOptions &options) {
  constexpr CodeGenOptLevel levels[] = {CodeGenOptLevel::None, CodeGenOptLevel::Less,
                                        CodeGenOptLevel::Default, CodeGenOptLevel::Aggressive};
  return levels[std::min(options.optLevel, 3u)];
}

} // namespace tcc::emit
