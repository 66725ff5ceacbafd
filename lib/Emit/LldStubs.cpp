// For the static build only. lld's drivers initialise every target that LLVM has, which would pull
// all of their code generators into tcc: 40 MB that nothing uses. Empty functions for the targets
// that tcc does not generate code for keep them out; likewise for Polly, which Debian's archives
// refer to. TccLink lists this file as an object, so that it is found before the archives.
#include "llvm/Plugins/PassPlugin.h"

#define TCC_NO_TARGET(target)                                                                      \
  extern "C" {                                                                                     \
  void LLVMInitialize##target##TargetInfo();                                                       \
  void LLVMInitialize##target##Target();                                                           \
  void LLVMInitialize##target##TargetMC();                                                         \
  void LLVMInitialize##target##AsmPrinter();                                                       \
  void LLVMInitialize##target##AsmParser();                                                        \
  void LLVMInitialize##target##Disassembler();                                                     \
  void LLVMInitialize##target##TargetInfo() {}                                                     \
  void LLVMInitialize##target##Target() {}                                                         \
  void LLVMInitialize##target##TargetMC() {}                                                       \
  void LLVMInitialize##target##AsmPrinter() {}                                                     \
  void LLVMInitialize##target##AsmParser() {}                                                      \
  void LLVMInitialize##target##Disassembler() {}                                                   \
  }
TCC_NO_TARGET(AMDGPU)
TCC_NO_TARGET(ARM)
TCC_NO_TARGET(AVR)
TCC_NO_TARGET(BPF)
TCC_NO_TARGET(Hexagon)
TCC_NO_TARGET(Lanai)
TCC_NO_TARGET(LoongArch)
TCC_NO_TARGET(M68k)
TCC_NO_TARGET(MSP430)
TCC_NO_TARGET(Mips)
TCC_NO_TARGET(PowerPC)
TCC_NO_TARGET(RISCV)
TCC_NO_TARGET(SPIRV)
TCC_NO_TARGET(Sparc)
TCC_NO_TARGET(SystemZ)
TCC_NO_TARGET(VE)
TCC_NO_TARGET(WebAssembly)
TCC_NO_TARGET(XCore)
TCC_NO_TARGET(Xtensa)
#undef TCC_NO_TARGET

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}
