// Evaluates prim operators from their text form.
#pragma once
#include "catch2/catch.hpp"
#include "tcc/Reference/Tensor.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <limits>

namespace tcc::reference {
struct EvaluateOptions;
}

namespace tcc::reference::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Shape = std::vector<int64_t>;
using Reals = std::vector<double>;
using Integers = std::vector<int64_t>;

inline Tensor reals(DType type, const Shape &shape, const Reals &values) {
  return Tensor::ofReals(type, shape, values);
}
inline Tensor ints(DType type, const Shape &shape, const Integers &values) {
  return Tensor::ofIntegers(type, shape, values);
}
inline Tensor f32(const Shape &shape, const Reals &values) {
  return reals(DType::F32, shape, values);
}
inline Tensor i64(const Shape &shape, const Integers &values) {
  return ints(DType::I64, shape, values);
}
/// 0, 1, 2, ... in row-major order.
Tensor counting(DType type, const Shape &shape);

/// The operators of prim that `evaluate` does not know.
std::vector<std::string> unknownOperators();

/// "tensor<2x3xf32>".
std::string typeText(DType type, llvm::ArrayRef<int64_t> shape);

/// Runs the function @main of `module`.
llvm::Expected<std::vector<Tensor>> tryRun(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                                           const WeightTable &weights = {},
                                           const EvaluateOptions *options = nullptr);
/// The same where it must succeed, and where it must fail.
std::vector<Tensor> run(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                        const WeightTable &weights = {}, const EvaluateOptions *options = nullptr);
std::string errorOf(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                    const WeightTable &weights = {});

/// One operator in the generic form on tensors, with results of `resultTypes`
/// ("tensor<2xf32>, tensor<2xi64>").
std::vector<Tensor> results(llvm::StringRef op, llvm::ArrayRef<Tensor> operands,
                            llvm::StringRef attributes, llvm::StringRef resultTypes);
/// One operator with one result, by default of the first operand's type.
Tensor result(llvm::StringRef op, llvm::ArrayRef<Tensor> operands, llvm::StringRef attributes = "",
              std::string resultType = "");
std::string failure(llvm::StringRef op, llvm::ArrayRef<Tensor> operands, llvm::StringRef attributes,
                    std::string resultType);

/// Values equal within `tolerance` (relative), NaN to NaN.
void checkReals(const Tensor &have, const Reals &want, double tolerance = 0);
void checkIntegers(const Tensor &have, const Integers &want);
void checkShape(const Tensor &have, const Shape &want);

} // namespace tcc::reference::testing
