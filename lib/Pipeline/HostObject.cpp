#include "HostObject.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"
#include "tcc/Codegen/Common/VectorMath.h"

using namespace mlir;
using namespace tcc;

void tcc::showLoops(ModuleOp module, StringRef name, StringRef suffix,
                    const CodeObserver &observer) {
  if (!observer)
    return;
  OwningOpRef<ModuleOp> tidy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  (void)pm.run(*tidy);
  std::string text;
  llvm::raw_string_ostream(text) << *tidy << '\n';
  observer(name, suffix, text);
}

LogicalResult HostObject::lower() {
  showLoops(module, name, ".mlir", observer);
  codegen::expandMath(module, codegen::ExpandMathOptions::forTarget(cpu));
  if (failed(codegen::lowerKernelModule(module)))
    return failure();
  // Helpers stay inside their object: several objects may have the same.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && function.getName() != entry)
      function.setLinkage(LLVM::Linkage::Internal);
  return success();
}

void HostObject::showCode(emit::EmitOptions how) {
  if (!observer)
    return;
  for (auto [kind, suffix] :
       {std::pair(emit::OutputKind::LlvmIr, ".ll"), std::pair(emit::OutputKind::Assembly, ".s")}) {
    how.kind = kind;
    auto text = emit::emitObject(module, cpu, how);
    if (text)
      observer(name, suffix, StringRef(text->data(), text->size()));
    else
      llvm::consumeError(text.takeError()); // the object's emission says so
  }
}

llvm::Expected<llvm::SmallVector<char, 0>> HostObject::emit(CodeForm form, emit::EmitOptions how) {
  how.kind = form == CodeForm::Assembly ? emit::OutputKind::Assembly
             : form == CodeForm::LlvmIr ? emit::OutputKind::LlvmIr
                                        : emit::OutputKind::Object;
  showCode(how);
  return emit::emitObject(module, cpu, how);
}
