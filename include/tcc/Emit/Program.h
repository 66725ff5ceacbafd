//===- Program.h - The description that every model.so carries ---*- C++ -*-===//
//
// Writes `const struct tcc_program tcc_program` of lib/Runtime/Program.h: what
// the runtime knows of a model.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include "tcc/Target/Cpu.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc::emit {

struct ProgramTensor {
  std::string name;
  DType dtype;
  llvm::SmallVector<int64_t, 4> dims; ///< >= 0: static; -1-k: symbol k; INT64_MIN: anything
  bool mutated = false;               ///< an input that the model writes into
  bool onDevice = false;              ///< it lies in a device's memory
};

struct ProgramSymbol {
  std::string name;
  int64_t min = 0, max = INT64_MAX;
};

/// A kernel's name in profiles, its symbol, and the nodes of the model that it computes.
struct ProgramKernel {
  std::string name, symbol, sources;
  std::string text; ///< for the interpreter, instead of the code of `symbol`
};

/// A part of the state that starts as a copy of a part of the weights.
struct ProgramStateInit {
  uint64_t stateOffset, weightsOffset, size;
};

/// Kernels for devices; each member is what lib/Runtime/Program.h says of it.
struct ProgramArch {
  std::string name;
  unsigned capability = 0;
  bool specific = false, simulated = false;
};
struct ProgramTensorMap {
  unsigned word, elementBytes, swizzleBytes;
  llvm::SmallVector<unsigned, 5> box, steps;
  unsigned pixels = 0; ///< of a window, whose low and high ends follow
  llvm::SmallVector<int32_t, 3> low = {}, high = {};
};
struct ProgramImage {
  llvm::ArrayRef<char> cubin, ptx;
  std::string function; ///< simulated: its symbol
  unsigned threads = 0, sharedBytes = 0;
  /// Where not all GPUs have room for its clusters: these, and the kernel for the others.
  unsigned cluster = 0, narrowThreads = 0, narrowSharedBytes = 0;
  bool scratch = false, meets = false, waits = false; ///< as TCC_IMAGE_ says
  llvm::SmallVector<ProgramTensorMap, 0> maps;
};
struct ProgramDeviceKernel {
  std::string name, sources;
  std::vector<ProgramImage> images; ///< one an architecture
};
struct ProgramDevices {
  std::vector<ProgramArch> archs; ///< none: a program for CPUs
  std::vector<ProgramDeviceKernel> kernels;
  uint64_t arenaSize = 0, stateSize = 0;

  bool simulated() const { return !archs.empty() && archs.front().simulated; }
};

struct ProgramDescription {
  std::vector<ProgramTensor> inputs, outputs;
  std::vector<ProgramSymbol> symbols;
  std::vector<ProgramKernel> kernels; ///< each once; those left out are not timed
  std::vector<ProgramStateInit> stateInits;
  std::string manifest; ///< JSON
  bool embeddedWeights = true;
  std::string weightsFile; ///< base name, when not embedded
  uint64_t weightsOffset = 0, weightsSize = 0, weightsLayoutHash = 0, weightsSampleHash = 0;
  uint64_t arenaSize = 0, stateSize = 0;
  uint64_t generators = 0; ///< of random numbers, for nodes with seeds of their own
  std::string entry;       ///< the host function's symbol
  ProgramDevices devices;
};

/// An object that defines `tcc_program`. The instruction sets of `cpu` are what
/// the runtime asks of the machine.
llvm::Expected<llvm::SmallVector<char, 0>> emitProgram(const ProgramDescription &program,
                                                       const CpuTarget &cpu);

} // namespace tcc::emit
