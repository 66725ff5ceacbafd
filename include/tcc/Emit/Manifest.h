//===- Manifest.h - What a model.so says about itself -----------*- C++ -*-===//
//
// Filled in by the pipeline, written as JSON into model.so and beside it. The
// schema is docs/manifest.schema.json; a field that is added here is added
// there. It must hold nothing that differs between two builds of the same
// input: no paths, times or machine names.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Emit/WeightBlob.h"
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tcc::emit {

/// A size, or the name of the symbol ("" when it has none) that stands for it.
using ManifestDim = std::variant<int64_t, std::string>;

struct ManifestTensor {
  std::string name;
  DType dtype;
  std::vector<ManifestDim> shape;
  bool written = false; ///< an input that the model writes back
};

struct ManifestSymbol {
  std::string name;
  int64_t min = 0;
  std::optional<int64_t> max;
};

/// A number, or a formula over symbols where shapes are open ("2*N*4096").
using ManifestAmount = std::variant<int64_t, std::string>;

/// A kernel's code for one architecture of devices; what is measured of it, by name.
struct ManifestCode {
  std::string arch;
  std::vector<std::string> kinds; ///< "cubin", "ptx", "object"
  std::vector<std::pair<std::string, int64_t>> facts;
};

struct ManifestKernel {
  std::string name;
  std::vector<std::string> sources; ///< nodes of the input model, in order
  ManifestAmount flops, bytes;      ///< per launch; bytes are compulsory traffic
  uint64_t launches = 1;            ///< places in the host code that start it
  std::string target = "cpu";
  std::vector<ManifestCode> code; ///< of kernels for devices
};

struct ManifestMemory {
  uint64_t arenaBytes = 0; ///< static, planned
  uint64_t deviceArenaBytes = 0;
  uint64_t stateBytes = 0; ///< kept from run to run
  ManifestAmount peakBytes =
      int64_t(0);       ///< arena, state and dynamic blocks; no weights, inputs, outputs
  bool dynamic = false; ///< some buffers have run-time sizes
};

/// Where the host waits for the device that the model runs on.
struct ManifestCrossings {
  uint64_t stalls = 0;  ///< in the middle of a run
  uint64_t inLoops = 0; ///< of these, in every turn of a loop
  uint64_t atEnd = 0;
};

struct Manifest {
  std::string toolVersion;
  std::vector<std::string> flags; ///< that change the result; neither paths nor --jobs
  std::string inputFormat;        ///< "onnx" or "pt2"
  std::string inputSha256;
  std::string triple, cpu;
  std::vector<std::string> archs;    ///< of devices
  std::vector<std::string> features; ///< LLVM's names
  std::vector<ManifestSymbol> symbols;
  std::vector<ManifestTensor> inputs, outputs;
  std::vector<ManifestKernel> kernels;
  ManifestMemory memory;
  std::optional<ManifestCrossings> crossings; ///< of a model for devices
  std::string weightsFile;                    ///< base name; empty: embedded, or none
  WeightLayout weights;
};

/// The JSON text, with the guards (dtype, rank, static dims, ranges, equal
/// symbols) that follow from inputs and symbols.
std::string manifestJson(const Manifest &manifest);

} // namespace tcc::emit
