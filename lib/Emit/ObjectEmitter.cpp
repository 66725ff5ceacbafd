//===- ObjectEmitter.cpp - LLVM dialect to machine code -------------------===//
#include "tcc/Emit/ObjectEmitter.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;
namespace tcc::emit {
namespace {

Error internal(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

void initializeTargetsOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

Expected<std::unique_ptr<TargetMachine>> makeTargetMachine(const CpuTarget &cpu, unsigned level) {
  initializeTargetsOnce();
  std::string message;
  Triple triple(cpu.triple);
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return internal(message);
  TargetOptions options;
  options.NoTrappingFPMath = true;
  options.MCOptions.AsmVerbose = true; // spills are named in assembly text
  constexpr CodeGenOptLevel levels[] = {CodeGenOptLevel::None, CodeGenOptLevel::Less,
                                        CodeGenOptLevel::Default, CodeGenOptLevel::Aggressive};
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, cpu.name, cpu.features, options, Reloc::PIC_,
                                  std::nullopt, levels[std::min(level, 3u)]));
}

void addFunctionAttributes(llvm::Module &module, const CpuTarget &cpu) {
  for (llvm::Function &function : module) {
    function.addFnAttr(Attribute::NoUnwind);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu.name);
    if (!cpu.features.empty())
      function.addFnAttr("target-features", cpu.features);
    function.addFnAttr("prefer-vector-width", std::to_string(cpu.vectorBits));
    function.addFnAttr("min-legal-vector-width", std::to_string(cpu.vectorBits));
    function.addFnAttr("no-trapping-math", "true");
  }
}

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

} // namespace

Expected<SmallVector<char, 0>> emitObject(mlir::ModuleOp module, const CpuTarget &cpu,
                                          const EmitOptions &options) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(module, context, "tcc");
  if (!ir)
    return internal("translation to LLVM IR failed");
  return emitLlvmModule(*ir, cpu, options);
}

Expected<SmallVector<char, 0>> emitLlvmModule(llvm::Module &ir, const CpuTarget &cpu,
                                              const EmitOptions &options) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(cpu, options.optLevel);
  if (!machine)
    return machine.takeError();
  ir.setTargetTriple((*machine)->getTargetTriple());
  ir.setDataLayout((*machine)->createDataLayout());
  addFunctionAttributes(ir, cpu);
  optimize(ir, **machine, options);

  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  if (options.kind == OutputKind::LlvmIr) {
    ir.print(stream, nullptr);
    return bytes;
  }
  legacy::PassManager codegen;
  TargetLibraryInfoImpl library((*machine)->getTargetTriple());
  codegen.add(new TargetLibraryInfoWrapperPass(library));
  CodeGenFileType type = options.kind == OutputKind::Assembly ? CodeGenFileType::AssemblyFile
                                                              : CodeGenFileType::ObjectFile;
  if ((*machine)->addPassesToEmitFile(codegen, stream, nullptr, type))
    return internal("no object emission for " + cpu.triple);
  codegen.run(ir);
  return bytes;
}

} // namespace tcc::emit
