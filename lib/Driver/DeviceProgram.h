//===- DeviceProgram.h - Kernels for devices in a library -------*- C++ -*-===//
#pragma once
#include "tcc/Emit/Manifest.h"
#include "tcc/Emit/Program.h"
#include "tcc/Pipeline/Pipeline.h"

namespace tcc {

/// The kernels' tables for the runtime; their bytes stay in `compiled`. Nothing for a target
/// without devices.
emit::ProgramDevices deviceProgram(const CompiledModel &compiled, const GpuTarget &devices,
                                   llvm::ArrayRef<emit::ManifestKernel> kernels);

/// What the manifest says of a kernel's code.
std::vector<emit::ManifestCode> manifestCode(const CompiledKernel &kernel);

} // namespace tcc
