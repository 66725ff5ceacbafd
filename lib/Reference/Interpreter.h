//===- Interpreter.h - Walks regions of prim operators ---------*- C++ -*-===//
#pragma once
#include "Reference/Evaluators.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

namespace tcc::reference {

/// Holds the values of one run. A value is dropped after its last use in the
/// block that defines it, so that a run needs about the memory the model does.
class Interpreter {
public:
  Interpreter(const WeightTable &weights, const EvaluateOptions &options)
      : random(options.random ? *options.random : RandomState()), weights(weights),
        options(options) {}

  /// Runs the only block of `region` on `arguments`: the operands of its terminator.
  llvm::Expected<Results> run(mlir::Region &region, Operands arguments);

  RandomState random;

private:
  llvm::Expected<Results> evaluate(mlir::Operation *op);
  llvm::Expected<Results> evaluateIf(prim::IfOp op, Operands operands);
  llvm::Expected<Results> evaluateWhile(prim::WhileOp op, Operands operands);
  Results operandValues(mlir::Operation *op) const;

  /// For each operation of a block, the values of that block it is the last to use.
  using LastUses = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>>;
  const LastUses &lastUses(mlir::Block &block);

  const WeightTable &weights;
  const EvaluateOptions &options;
  llvm::DenseMap<mlir::Value, Tensor> values;
  llvm::DenseMap<mlir::Block *, LastUses> lastUsesOf;
};

/// `error` with the operator and its location in front, of the same kind.
llvm::Error atOp(mlir::Operation *op, llvm::Error error);

/// Checks `value` against a type: dtype, rank and static extents.
llvm::Error checkType(const Tensor &value, mlir::Type type);

} // namespace tcc::reference
