//===- Backends.h - The back-ends of this tcc, for the registry -*- C++ -*-===//
#pragma once
#include "tcc/Pipeline/Backend.h"

namespace tcc {

llvm::Expected<std::unique_ptr<Backend>> createCpuBackend(const Target &target);
llvm::Expected<std::unique_ptr<Backend>> createGpuBackend(const Target &target);
llvm::Expected<std::unique_ptr<Backend>> createReferenceBackend(const Target &target);

/// Fails where `launch` computes with elements that no template emits.
llvm::Error acceptsElements(kernel::LaunchOp launch);

} // namespace tcc
