//===- Ptx.cpp - LLVM dialect to PTX --------------------------------------===//
#include "tcc/Emit/Ptx.h"
#include "LlvmPipeline.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;
namespace tcc::emit {

static void initializeTargetOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static Expected<std::unique_ptr<TargetMachine>> makeTargetMachine(const GpuArch &arch,
                                                                  const EmitOptions &options) {
  initializeTargetOnce();
  std::string message;
  Triple triple("nvptx64-nvidia-cuda");
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, arch.name, arch.features(), TargetOptions(), std::nullopt,
                                  std::nullopt, codegenLevel(options)));
}

Expected<std::string> emitPtx(mlir::ModuleOp module, const GpuArch &arch,
                              const EmitOptions &options) {
  LLVMContext context;
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(module, context, "tcc");
  if (!ir)
    return createStringError("translation to LLVM IR failed");
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(arch, options);
  if (!machine)
    return machine.takeError();
  ir->setTargetTriple((*machine)->getTargetTriple());
  ir->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *ir)
    function.addFnAttr(Attribute::NoUnwind);
  optimizeForDevice(*ir, **machine, options);

  SmallString<0> text;
  raw_svector_ostream stream(text);
  if (options.kind == OutputKind::LlvmIr) {
    ir->print(stream, nullptr);
    return text.str().str();
  }
  legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, stream, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("LLVM writes no PTX");
  codegen.run(*ir);
  return text.str().str();
}

} // namespace tcc::emit
