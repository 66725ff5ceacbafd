//===- LlvmPipeline.cpp - LLVM's optimiser over one module ----------------===//
//
// Kernels come as their builder wants them: vectors chosen, inner loops unrolled, one function
// without calls but to helpers that stay calls. Left to do is what builders do not bother with:
// equal addresses, invariant values, loops with their test on top, branches whose sides begin or
// end alike. LLVM's pipeline for -O3 does that several times over and looks for much else, which
// took more time than generating the code (docs/Rationale/compile-time.md).
//
//===----------------------------------------------------------------------===//
#include "LlvmPipeline.h"
#include "ExpandedZeros.h"
#include "NarrowMoves.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include <algorithm>

using namespace llvm;
namespace tcc::emit {
namespace {

/// Memory that helpers do not touch is known before loads are moved over their calls. Copies and
/// fills of unknown length become memcpy and memset.
constexpr StringLiteral kCpuPasses =
    "inferattrs,cgscc(function-attrs),"
    "function<eager-inv>("
    "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(loop-idiom,loop-deletion),"
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg<hoist-common-insts;sink-common-insts>),"
    "globaldce";

/// LLVM's own unrolling costs memory-bound kernels 1.3x and code size, and vectors are chosen.
PipelineTuningOptions tuning() {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  tuning.LoopInterleaving = tuning.LoopUnrolling = false;
  return tuning;
}

void run(llvm::Module &module, TargetMachine &machine,
         function_ref<void(PassBuilder &, ModulePassManager &)> addPasses) {
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cgam;
  ModuleAnalysisManager mam;
  PassBuilder builder(&machine, tuning());
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  ModulePassManager passes;
  addPasses(builder, passes);
  passes.run(module, mam);
}

} // namespace

void optimizeForCpu(llvm::Module &module, TargetMachine &machine, const EmitOptions &options) {
  run(module, machine, [&](PassBuilder &builder, ModulePassManager &passes) {
    if (options.optLevel > 0)
      cantFail(builder.parsePassPipeline(passes, kCpuPasses));
    else
      passes = builder.buildO0DefaultPipeline(OptimizationLevel::O0);
  });
  hideExpandedZeros(module, machine);
  moveNarrowFloats(module, machine);
}

void optimizeForDevice(llvm::Module &module, TargetMachine &machine, const EmitOptions &options) {
  run(module, machine, [&](PassBuilder &builder, ModulePassManager &passes) {
    const OptimizationLevel levels[] = {OptimizationLevel::O0, OptimizationLevel::O1,
                                        OptimizationLevel::O2, OptimizationLevel::O3};
    OptimizationLevel level = levels[std::min(options.optLevel, 3u)];
    passes = options.optLevel == 0 ? builder.buildO0DefaultPipeline(level)
                                   : builder.buildPerModuleDefaultPipeline(level);
  });
}

CodeGenOptLevel codegenLevel(const EmitOptions &options) {
  constexpr CodeGenOptLevel levels[] = {CodeGenOptLevel::None, CodeGenOptLevel::Less,
                                        CodeGenOptLevel::Default, CodeGenOptLevel::Aggressive};
  return levels[std::min(options.optLevel, 3u)];
}

} // namespace tcc::emit
