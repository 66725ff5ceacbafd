//===- Artefact.h - model.so and the files beside it -------------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"
#include "tcc/Emit/Manifest.h"
#include "tcc/Emit/OutputFiles.h"

namespace tcc {

/// Whether decompose has a rule, for the importer.
bool hasRule(llvm::StringRef domain, llvm::StringRef op, int64_t version);

/// The manifest lies beside the library: model.so.json for model.so.
std::string manifestPath(llvm::StringRef library);

/// What the manifest says of the file that the model was read from.
struct InputFacts {
  llvm::StringRef format;                   ///< "onnx", "pt2" or "mlir"
  llvm::function_ref<std::string()> sha256; ///< asked when the weights are written
};

/// model.so, its manifest and, above the limit, the weights beside it.
class Artefact {
public:
  llvm::Error write(Model &model, const CompiledModel &compiled, const DriverOptions &options,
                    const Target &target, const InputFacts &input, emit::OutputFiles &files);

  uint64_t weightBytes = 0;
  std::string libraryPath, weightsPath; ///< as yet; no path where the weights are embedded
  std::string manifest;                 ///< its text
};

/// Where the weights of IR at `path` lie.
std::string checkpointWeightsPath(llvm::StringRef path);
/// The model's IR and, beside it, its weights, for --start-from.
llvm::Error writeCheckpoint(Model &model, llvm::StringRef path, emit::OutputFiles &files);
/// Whether a file begins as IR that is printed does: such a model needs --start-from.
bool looksLikeCheckpoint(llvm::StringRef path);
llvm::Error readCheckpoint(Model &model, llvm::StringRef path, mlir::MLIRContext &context);

/// Kernels with their source nodes, FLOPs and bytes, and the memory plan.
std::string planReport(mlir::ModuleOp module);
/// The compiled kernels for the manifest.
std::vector<emit::ManifestKernel> manifestKernels(const CompiledModel &compiled);

} // namespace tcc
