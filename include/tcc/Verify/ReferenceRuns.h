//===- ReferenceRuns.h - What a model should give ----------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Reference/Interpreter.h"

namespace tcc {
class WeightTable;

/// A model's function as the callers of its library see it: state is no input, and the new
/// value of an argument is no output.
struct CallForm {
  explicit CallForm(mlir::func::FuncOp function);

  struct Change {
    unsigned result, argument; ///< `result` is the new value of `argument`
  };
  llvm::SmallVector<unsigned> inputs;  ///< arguments
  llvm::SmallVector<unsigned> outputs; ///< results
  llvm::SmallVector<unsigned> state;   ///< arguments
  llvm::SmallVector<Change> changes;

  std::vector<reference::Tensor> inputsOf(llvm::ArrayRef<reference::Tensor> arguments) const;
};

/// One run: every argument, with state and random numbers as the run before left them, and every
/// result.
struct ReferenceRun {
  std::vector<reference::Tensor> arguments, results;
  reference::RandomState random; ///< before the run
};

/// Runs of `function`, of primitives, by the reference interpreter, one after the other on one
/// state. The inputs are the first that the model takes; where it keeps state, it runs three
/// times; where dims are open, other sizes follow, and where it compares with integers, those.
/// A user error where no inputs were found.
llvm::Expected<std::vector<ReferenceRun>> referenceRuns(mlir::func::FuncOp function,
                                                        const WeightTable &weights);

} // namespace tcc
