//===- Gpu.h - What code generation knows of a GPU --------------*- C++ -*-===//
//
// One row a GPU architecture, as Cpu.h has one record a CPU: schedules and builders
// read its fields and never compare names, so a new architecture is a new row of the
// table in lib/Target/Gpu.cpp. Made once by the driver from --arch; part of every
// cache key. Nothing here needs a GPU or CUDA.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tcc {

/// How a multiprocessor multiplies matrices, as far as tcc has code for it.
enum class MatrixUnit : uint8_t {
  None,    ///< multiply-adds of single numbers
  MmaSync, ///< a warp at a time, operands in registers (mma.sync)
  Wgmma,   ///< four warps at a time, operands in shared memory (wgmma)
};

struct GpuArch {
  const char *name; ///< as ptxas and LLVM call it: "sm_90a"
  /// The compute capability, 10 * major + minor.
  unsigned capability;
  /// Code is for this capability alone and PTX for no later one (sm_90a).
  bool specific;
  /// `major.minor` as 10 * major + minor: the lowest PTX version that has all of the
  /// architecture that tcc uses, for drivers refuse a PTX version that they are too old for.
  unsigned ptxVersion;

  unsigned multiprocessors; ///< of the largest common product
  int64_t sharedBytes;      ///< that one block may have
  int64_t l2Bytes;
  int64_t bytesPerSecond; ///< of device memory
  MatrixUnit matrixUnit;
  bool tma; ///< bulk tensor copies (cp.async.bulk.tensor)
  bool pdl; ///< a kernel may start before the one before it ends (griddepcontrol)
  /// No GPU but this machine's CPU, which runs kernels thread by thread, for tests.
  bool simulated = false;

  static constexpr unsigned warp = 32;            ///< threads
  static constexpr unsigned registers = 65536;    ///< of a multiprocessor
  static constexpr unsigned threads = 1024;       ///< of a block, at most
  static constexpr int64_t accessBytes = 16;      ///< the widest access of a thread
  static constexpr int64_t parameterBytes = 4096; ///< of a kernel, at most

  /// Neighbouring blocks can be a cluster, which reach each other's shared memory.
  bool clusters() const { return capability >= 90; }
  /// Blocks of a cluster that every such GPU has room for, and those that the ones for data centres
  /// have, where a kernel says that it is for these.
  static constexpr unsigned portableCluster = 8;
  unsigned largestCluster() const {
    return capability == 90 || capability == 100 ? 2 * portableCluster : portableCluster;
  }
  /// LLVM's feature string: "+ptx80".
  std::string features() const;
  /// The fields that generated code depends on, as one line, for cache keys.
  std::string key() const;

  /// The rows of GPUs, oldest first.
  static llvm::ArrayRef<GpuArch> all();
  /// A row, or `sim`; else null.
  static const GpuArch *find(llvm::StringRef name);
};

/// One architecture that is asked for.
struct GpuCode {
  const GpuArch *arch;
  /// PTX is kept beside the machine code, for GPUs that come later.
  bool ptx = false;
};

/// The GPUs that a model is compiled for; empty: none.
struct GpuTarget {
  std::vector<GpuCode> codes; ///< in ascending order of capability
  std::string ptxas;          ///< the program to assemble with; empty: what is found
  bool tf32 = false; ///< products of f32 may round their operands to eleven significant bits

  bool empty() const { return codes.empty(); }
  /// `sim` alone.
  bool simulated() const { return !empty() && codes.front().arch->simulated; }
  std::string key() const;

  /// "sm_80,sm_90a,sm_100+ptx". A name that the table lacks, one that is given twice, PTX
  /// where no later GPU could use it and `sim` beside GPUs are the user's errors.
  static llvm::Expected<GpuTarget> parse(llvm::StringRef text);
};

} // namespace tcc
