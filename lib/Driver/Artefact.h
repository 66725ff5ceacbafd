//===- Artefact.h - model.so and the files beside it -------------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"
#include "tcc/Emit/Manifest.h"

namespace tcc {

/// Whether decompose has a rule, for the importer.
bool hasRule(llvm::StringRef domain, llvm::StringRef op, int64_t version);

/// The manifest lies beside the library: model.json for model.so.
std::string manifestPath(llvm::StringRef library);

/// Links model.so, writes the manifest and, above the limit, the weights beside
/// it; all or nothing. Gives the bytes of the weights. `inputHash` is asked when the
/// weights are written: it may still be at work.
llvm::Expected<uint64_t> writeArtefact(Model &model, const CompiledModel &compiled,
                                       const DriverOptions &options, const CpuTarget &cpu,
                                       llvm::function_ref<std::string()> inputHash);

/// The model's IR and, beside it, its weights, for --start-from.
llvm::Error writeCheckpoint(Model &model, llvm::StringRef path);
llvm::Error readCheckpoint(Model &model, llvm::StringRef path, mlir::MLIRContext &context);

/// Kernels with their source nodes, FLOPs and bytes, and the memory plan.
std::string planReport(mlir::ModuleOp module);
/// The compiled kernels for the manifest.
std::vector<emit::ManifestKernel> manifestKernels(const CompiledModel &compiled);

} // namespace tcc
