//===- Evaluators.h - One function for each operator -----------*- C++ -*-===//
//
// Each family of operators registers functions `Expected<Tensor | Results> f(Op,
// ArrayRef<Tensor>)` here; the interpreter finds them by operator.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Reference/Wide.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Tensor.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::reference {

using Operands = llvm::ArrayRef<Tensor>;
using Results = llvm::SmallVector<Tensor, 1>;
using Evaluator = llvm::Expected<Results> (*)(mlir::Operation *, Operands);

class Evaluators {
public:
  /// `function` evaluates `Op`: Expected<Tensor>(Op, Operands), or
  /// Expected<Results> where there are several results.
  template <typename Op, auto function> void add() {
    byOperator[mlir::TypeID::get<Op>()] = [](mlir::Operation *op,
                                             Operands operands) -> llvm::Expected<Results> {
      auto result = function(llvm::cast<Op>(op), operands);
      if (!result)
        return result.takeError();
      if constexpr (std::is_same_v<decltype(result), llvm::Expected<Tensor>>)
        return Results{std::move(*result)};
      else
        return std::move(*result);
    };
  }
  Evaluator lookup(mlir::OperationName name) const { return byOperator.lookup(name.getTypeID()); }

private:
  llvm::DenseMap<mlir::TypeID, Evaluator> byOperator;
};

void addElementwise(Evaluators &);
void addConversions(Evaluators &);
void addViews(Evaluators &);
void addIndexing(Evaluators &);
void addScatter(Evaluators &);
void addReductions(Evaluators &);
void addWindows(Evaluators &);
void addContractions(Evaluators &);
void addFft(Evaluators &);
void addSort(Evaluators &);
void addMatrices(Evaluators &);
void addRandom(Evaluators &);
void addHostScalars(Evaluators &);

/// The values of the operands of one ODS operand group.
inline Operands valuesOf(mlir::OperandRange group, Operands all) {
  return group.empty() ? Operands() : all.slice(group.getBeginOperandIndex(), group.size());
}

/// The element type of result `result`; what no DType names does not get here.
inline DType resultDType(mlir::Value result) {
  return *prim::dtypeOf(tensorType(result).getElementType());
}

/// The shape of `result`, with `sizes` for its `?` dims in order.
llvm::Expected<llvm::SmallVector<int64_t>> resultShape(mlir::Value result, Operands sizes);

/// `statics` with the entries that are kDynamicStart taken from `dynamics`.
llvm::SmallVector<int64_t> mixedValues(llvm::ArrayRef<int64_t> statics, Operands dynamics);

/// An error unless all shapes are equal.
llvm::Error checkSameShapes(Operands operands);
/// "is not defined on TYPE".
llvm::Error undefinedOn(DType type);

/// The element at row-major `position`.
inline const char *at(const Tensor &x, int64_t position) {
  return x.data() + position * elementBytes(x.dtype());
}
inline char *at(Tensor &x, int64_t position) {
  return x.mutableData() + position * elementBytes(x.dtype());
}

/// Calls `f(index)` for every point of the index space `shape`, row-major.
template <typename F> void forEachIndex(llvm::ArrayRef<int64_t> shape, F &&f) {
  if (llvm::is_contained(shape, 0))
    return;
  llvm::SmallVector<int64_t, 6> index(shape.size(), 0);
  while (true) {
    f(llvm::ArrayRef<int64_t>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// `x` seen as [outer, extent, inner] around one axis.
struct AroundAxis {
  int64_t outer = 1, extent, inner = 1;
  AroundAxis(llvm::ArrayRef<int64_t> shape, int64_t axis) : extent(shape[axis]) {
    for (int64_t i = 0; i < axis; ++i)
      outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i)
      inner *= shape[i];
  }
};

/// All elements widened, for evaluators that jump about in them.
template <typename W> std::vector<W> widened(const Tensor &x) {
  std::vector<W> values(x.elements());
  widen(x.dtype(), x.data(), x.elements(), values.data());
  return values;
}

} // namespace tcc::reference
