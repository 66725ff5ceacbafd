//===- Artefact.h - model.so and the files beside it -------------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"

namespace tcc {

/// Whether decompose has a rule, for the importer.
bool hasRule(llvm::StringRef domain, llvm::StringRef op, int64_t version);

/// Links model.so, writes the manifest and, above the limit, the weights beside
/// it; all or nothing. Gives the bytes of the weights.
llvm::Expected<uint64_t> writeArtefact(Model &model, CompiledModel &compiled,
                                       const DriverOptions &options, const CpuTarget &cpu);

} // namespace tcc
