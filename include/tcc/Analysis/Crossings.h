//===- Crossings.h - Where the host waits for a device -----------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tcc {

/// A read of a device's memory by the host program, which waits for all that was started before: of
/// one element, or a copy of a tensor.
struct Crossing {
  mlir::Operation *read;
  bool repeated; ///< in a loop
  /// Launches may come after it, which the device waits for in its turn. A check of data comes
  /// after the last one and costs nothing but its copy.
  bool stalls;
  /// What the host needs it for: "an extent", "a branch", "a check", "a kernel on the host".
  std::string reason;
};

/// Those of all functions of a planned module, in their order.
std::vector<Crossing> crossings(mlir::ModuleOp module);

/// How many they are, and a line for each with its reason and the nodes that it is for; "" where a
/// model has none.
std::string crossingReport(llvm::ArrayRef<Crossing> crossings);

} // namespace tcc
