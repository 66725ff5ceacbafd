//===- Interpreter.h - What the prim dialect means -------------*- C++ -*-===//
//
// The definition of every prim operator as running code: the oracle that tests
// and `--verify` compare compiled kernels with, and what constant folding
// evaluates by. Floats are computed in double and rounded once per operator;
// sums are kept in double. A host scalar (index, i1, i64, f64, ...) is a rank-0
// Tensor, with i64 for index. Single-threaded and deterministic.
//
// Whatever an input can cause (extents that do not fit, a failed prim.assert) is
// a UserError that names the operator and its location.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "tcc/Reference/Tensor.h"
#include <functional>
#include <map>
#include <vector>

namespace tcc {
class WeightTable;
}

namespace tcc::reference {

/// The random numbers of a context, from one run to the next (prim.random_draw). The same
/// seed and counts give what a compiled model gives.
struct RandomState {
  uint64_t seed = 0;
  std::map<uint64_t, uint64_t> draws; ///< by generator; none yet where it has no entry
};

struct EvaluateOptions {
  /// Called with each result of each operator as it is computed, also within
  /// regions (for every turn of a loop). It may put another value in its place,
  /// of the same type and shape.
  std::function<void(mlir::OpResult, Tensor &)> observer;
  /// Moves on with the run if it succeeds; without one a run starts at seed 0.
  RandomState *random = nullptr;
};

/// Runs `function`, of prim operators, kernel.launch and arith on host scalars,
/// on `inputs`.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::func::FuncOp function,
                                             llvm::ArrayRef<Tensor> inputs,
                                             const WeightTable &weights,
                                             const EvaluateOptions &options = {});

/// Whether `evaluateOp` knows the operator: of prim or arith, without regions.
bool isEvaluable(mlir::OperationName name);

/// One operator on values of its operands.
llvm::Expected<llvm::SmallVector<Tensor, 1>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands, const WeightTable &weights);

/// The tensor of `type` whose memory holds `stored`: a copy in row-major order where it lies in
/// another (prim::StorageLayout), else `stored` itself.
llvm::Expected<Tensor> fromStorage(mlir::RankedTensorType type, Tensor stored);

/// The value of a dense attribute; an error for an element type no DType names.
llvm::Expected<Tensor> tensorOf(mlir::ElementsAttr attribute);
/// `tensor` as a dense attribute (a splat where it is one) of type `type`, whose
/// shape and element type are the tensor's.
mlir::DenseElementsAttr attributeOf(const Tensor &tensor, mlir::RankedTensorType type);

} // namespace tcc::reference
