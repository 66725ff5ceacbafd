//===- Simplify.h - Passes of the simplify phase -----------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace tcc {

/// tcc-simplify-absorb-transposes: see lib/Simplify/AbsorbTransposes.cpp.
std::unique_ptr<mlir::Pass> createAbsorbTransposesPass();

} // namespace tcc
