//===- Ptx.h - LLVM dialect to PTX and cubin --------------------*- C++ -*-===//
//
// Device code is made in two steps: LLVM writes PTX, in process, and NVIDIA's ptxas
// makes a cubin of it, as a program of its own, because nothing else writes code for
// these GPUs. ptxas is optional: a machine without it still gets PTX, which the driver
// of the GPU translates when a model is loaded.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Target/Gpu.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace tcc::emit {

/// `module` is in the LLVM dialect, with NVVM operations; its kernels are functions with
/// `nvvm.kernel`. `options.kind` is LlvmIr for the optimised IR, else PTX is written.
/// Thread-safe. An error is a fault of ours.
llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const GpuArch &arch,
                                    const EmitOptions &options = {});

/// What ptxas says about one kernel.
struct KernelResources {
  unsigned registers = 0;                          ///< of a thread
  int64_t sharedBytes = 0;                         ///< static ones
  int64_t stackBytes = 0;                          ///< of a thread
  int64_t spillStoreBytes = 0, spillLoadBytes = 0; ///< registers that went to memory

  bool spills() const { return spillStoreBytes + spillLoadBytes > 0; }
};

struct Cubin {
  llvm::SmallVector<char, 0> bytes;
  llvm::StringMap<KernelResources> kernels;
  /// Performance warnings of ptxas, such as C7510: wgmma instructions that wait for each other.
  std::vector<std::string> warnings;
};

/// NVIDIA's assembler on this machine.
class Ptxas {
public:
  /// `path` if it is not empty: then it must be there. Else the first of PATH, $CUDA_HOME,
  /// /usr/local/cuda and the wheel nvidia-cuda-nvcc of an active Python environment; nullopt
  /// when there is none.
  static llvm::Expected<std::optional<Ptxas>> find(llvm::StringRef path = "");

  const std::string &path() const { return program; }
  /// "V13.0.88": part of every cache key of what it made.
  const std::string &version() const { return release; }

  /// Thread-safe. PTX that it refuses is a fault of ours.
  llvm::Expected<Cubin> assemble(llvm::StringRef ptx, const GpuArch &arch) const;

  /// Reads what `ptxas -v` prints; for tests.
  static void readLog(llvm::StringRef log, Cubin &cubin);

private:
  Ptxas(std::string program, std::string release)
      : program(std::move(program)), release(std::move(release)) {}

  std::string program, release;
};

} // namespace tcc::emit
