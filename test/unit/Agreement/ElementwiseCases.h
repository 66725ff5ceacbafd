//===- ElementwiseCases.h - Every elementwise primitive --------*- C++ -*-===//
//
// Found by asking the definitions: which primitives are elementwise, and which element
// types and attributes their verifiers accept. A new primitive is a case without a word
// about it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Builders.h"
#include "tcc/Support/DType.h"
#include <string>
#include <vector>

namespace tcc::test {

/// One primitive on tensors of certain element types, with certain attributes.
struct ElementwiseCase {
  mlir::OperationName op;
  std::vector<DType> operands;
  DType result;
  mlir::NamedAttrList attributes;

  /// "compare<lt>(u8, u8) -> bool".
  std::string text() const;
  mlir::Value build(mlir::OpBuilder &builder, mlir::ValueRange operands) const;
};

/// All of them, but no complex numbers: code generation never sees one.
const std::vector<ElementwiseCase> &elementwiseCases();
/// The elementwise primitives whose verifier accepts no operands that are tried here.
std::vector<std::string> primitivesWithoutCase();

/// Of functions, whose result the reference interpreter rounds from double and code
/// generation computes otherwise: the most steps in f32 and f64 (see stepsBetween) that
/// they may differ, one in narrower floats. Anything else agrees to the last bit.
uint64_t allowedSteps(const ElementwiseCase &c);
/// Whether the sign of a zero is settled by the definition.
bool settlesZeros(const ElementwiseCase &c);

} // namespace tcc::test
