//===- Measure.h - A library timed in a process of its own -------*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tcc {

struct Measurement {
  llvm::StringMap<double> seconds; ///< of each kernel in one run, the fastest of several
  double run = 0;                  ///< seconds of the fastest run
  std::vector<reference::Tensor> outputs;
};

/// Runs the model.so at `library` for about `seconds` in a child, so that code which crashes
/// or does not end takes nothing else down. An error says what became of it.
llvm::Expected<Measurement> measure(const std::string &library,
                                    llvm::ArrayRef<reference::Tensor> inputs,
                                    llvm::ArrayRef<DType> outputTypes, double seconds);

} // namespace tcc
