//===- ImportOptions.h - What a user may say about a model ------*- C++ -*-===//
//
// Shared by the importers. A file leaves dims open ("N", "seq"); the user closes
// or bounds them on the command line, and the importer applies that before any
// type is inferred, so that every later phase sees the closed form.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tcc {

/// One extent of an input's shape: a number, a name, or unknown.
struct ShapeDim {
  std::optional<int64_t> value; ///< >= 0
  std::string symbol;           ///< when there is no value; empty: unknown
};

/// The values that a symbolic dim may take, both ends included.
struct DimRange {
  int64_t min = 0;
  int64_t max = 0;
  bool isOne() const { return min == max; }
};

struct ImportOptions {
  /// Input name → shape, from `--shape x=1x3x224x224`. A static extent given for
  /// a named dim binds that name everywhere.
  llvm::StringMap<llvm::SmallVector<ShapeDim, 4>> shapes;
  /// Dim name → range, from `--dim N=1..64`; a range of one value binds the name.
  llvm::StringMap<DimRange> dims;
  /// Whether decompose has a rule for an operator of ONNX at an opset. The
  /// importer replaces a node that has none by the function body that its schema
  /// gives, if it gives one. When not set, no schema function is expanded.
  std::function<bool(llvm::StringRef domain, llvm::StringRef op, int64_t version)> hasRule;
  /// Told each file that the model is made of, for dependency files.
  std::function<void(llvm::StringRef path)> fileRead;
  /// Told what the model says that does not hold, and is passed over.
  std::function<void(std::string note)> note;
};

/// Adds `x=1x3x224x224` (or `x=N,3,?,?`; `x=` is a scalar) to `options.shapes`.
llvm::Error addShapeOption(ImportOptions &options, llvm::StringRef text);
/// Adds `N=1..64` or `N=8` to `options.dims`.
llvm::Error addDimOption(ImportOptions &options, llvm::StringRef text);

} // namespace tcc
