//===- Signature.h - What a model takes, gives and keeps ---------*- C++ -*-===//
//
// Import states the interface of a model once: the names of inputs and outputs, the symbols that
// stand for open extents and the ranges of those, which arguments are state that a context keeps,
// and which results are new values of arguments. Every later phase, --verify and the artefact read
// it here. What weights are for is told by the weight table (WeightRole), since weights come and
// go with folding.
//
// It lies on the model's function, as attributes of its arguments and results: IR of any phase
// has it, and passes that change types need not know of it. The guards that a run checks follow
// from it and the types (lib/Emit/Manifest.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace tcc {

/// Stands for open extents that are equal; both ends are included.
struct Symbol {
  std::string name;
  int64_t min = 0, max = INT64_MAX;
};

/// What the model says of an argument or result beside its type.
struct Port {
  llvm::StringRef name; ///< "" where the model has none
  mlir::ArrayAttr dims; ///< numbers and names, or null
  /// For the caller it is complex, its parts are a last axis of extent 2 here.
  bool isComplex = false;

  /// The symbol of an open extent; "" where the model has no name for it.
  llvm::StringRef symbol(unsigned axis) const;
};

class Signature {
public:
  explicit Signature(mlir::FunctionOpInterface model) : model(model) {}

  //===-- Arguments: inputs and state ---------------------------------------===//
  Port argument(unsigned i) const;
  bool isState(unsigned i) const { return !firstValue(i).empty(); }
  /// The weight that holds the first value of state `i`; "" for inputs.
  llvm::StringRef firstValue(unsigned i) const;
  /// Arguments that are state.
  llvm::SmallVector<unsigned> states() const;

  //===-- Results: outputs and new values of arguments ----------------------===//
  Port result(unsigned i) const;
  bool isOutput(unsigned i) const { return changedName(i).empty(); }
  /// The argument that result `i` is the new value of; nullopt for outputs, and where no
  /// argument has the name that it gives.
  std::optional<unsigned> changedArgument(unsigned i) const;
  /// Its name; "" for outputs.
  llvm::StringRef changedName(unsigned i) const;

  //===-- Symbols -----------------------------------------------------------===//
  /// The range of any symbol.
  Symbol symbol(llvm::StringRef name) const;
  /// Those that the model, or the user, gave a range.
  llvm::SmallVector<Symbol> rangedSymbols() const;

  //===-- What importers, and decompose for complex numbers, state ----------===//
  /// Names that are UTF-8. `dims`: numbers, names, and "?" for open extents without one.
  void setArgument(unsigned i, llvm::StringRef name, mlir::ArrayAttr dims);
  void setResult(unsigned i, llvm::StringRef name, mlir::ArrayAttr dims);
  void setState(unsigned argument, llvm::StringRef firstValue);
  void setChange(unsigned result, llvm::StringRef argument);
  void setRanges(llvm::ArrayRef<Symbol> symbols);
  void setComplexArgument(unsigned i);
  void setComplexResult(unsigned i);

private:
  mutable mlir::FunctionOpInterface model; ///< a handle, whose methods are not const
};

} // namespace tcc
