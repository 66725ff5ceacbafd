//===- SimulatedDevice.h - GPU kernels on this machine's CPU -----*- C++ -*-===//
//
// The kernel as lib/Codegen/Gpu emits it, lowered to this machine's code: thread and
// block numbers, barriers, lane exchanges and votes become calls. Blocks run one after
// the other. Threads of a kernel without barriers are a loop; otherwise each is a fiber,
// started in an order that a seed chooses, and a barrier that some thread of the block
// (or lane of the warp) never reaches ends the program with a message.
//
// It shows that a kernel computes what it should and meets its barriers; it says nothing
// about PTX, ptxas or the memory model of a GPU.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Target/Cpu.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace tcc::test {

/// What code of a simulated kernel is for: math must be expanded for it.
const CpuTarget &simulatingCpu();

class SimulatedKernel {
public:
  /// Lowers (in place) and loads `module`, whose kernel is `name`, with math expanded. Ends the
  /// program on failure.
  SimulatedKernel(mlir::ModuleOp module, llvm::StringRef name, codegen::device::Schedule schedule);
  ~SimulatedKernel();

  /// Runs all blocks. `words` are the kernel's parameters; pointers are the process's own.
  void launch(llvm::ArrayRef<int64_t> words, int64_t blocks, unsigned seed = 0) const;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(const int64_t *words) = nullptr;
  unsigned threads;
  bool meets; ///< threads wait for each other
};

} // namespace tcc::test
