#include "tcc/Emit/Images.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tcc;

Expected<SmallVector<char, 0>> tcc::emit::emitImages(const std::vector<Image> &images,
                                                     const CpuTarget &cpu) {
  LLVMContext context;
  Module module("images", context);
  for (const Image &image : images) {
    Constant *value = ConstantDataArray::getString(
        context, StringRef(image.bytes.data(), image.bytes.size()), /*AddNull=*/image.isText);
    auto *global = new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                      GlobalValue::ExternalLinkage, value, image.symbol);
    global->setAlignment(Align(64));
  }
  return emitLlvmModule(module, cpu);
}
