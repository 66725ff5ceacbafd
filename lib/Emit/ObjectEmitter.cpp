//===- ObjectEmitter.cpp - LLVM dialect to machine code -------------------===//
#include "tcc/Emit/ObjectEmitter.h"
#include "LlvmPipeline.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <map>
#include <mutex>
#include <tuple>

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

Expected<std::unique_ptr<TargetMachine>> makeTargetMachine(const CpuTarget &cpu,
                                                           const EmitOptions &options) {
  initializeTargetsOnce();
  std::string message;
  Triple triple(cpu.triple);
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return internal(message);
  TargetOptions machineOptions;
  machineOptions.NoTrappingFPMath = true;
  machineOptions.MCOptions.AsmVerbose = true; // spills are named in assembly text
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, cpu.name, cpu.features, machineOptions, Reloc::PIC_,
                                  std::nullopt, codegenLevel(options)));
}

/// A thread makes each machine once: the features of a CPU are a list of names, each of which
/// brings others, and were a fiftieth of the time of small kernels.
Expected<TargetMachine *> targetMachine(const CpuTarget &cpu, const EmitOptions &options) {
  thread_local std::map<std::tuple<std::string, std::string, std::string, unsigned>,
                        std::unique_ptr<TargetMachine>>
      machines;
  std::unique_ptr<TargetMachine> &machine =
      machines[{cpu.triple, cpu.name, cpu.features, options.optLevel}];
  if (!machine) {
    Expected<std::unique_ptr<TargetMachine>> made = makeTargetMachine(cpu, options);
    if (!made)
      return made.takeError();
    machine = std::move(*made);
  }
  return machine.get();
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
  Expected<TargetMachine *> machine = targetMachine(cpu, options);
  if (!machine)
    return machine.takeError();
  ir.setTargetTriple((*machine)->getTargetTriple());
  ir.setDataLayout((*machine)->createDataLayout());
  addFunctionAttributes(ir, cpu);
  optimizeForCpu(ir, **machine, options);

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
