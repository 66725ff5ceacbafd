//===- Agreement.h - Whether outputs are what a case expects -----*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"

namespace tcc::conformance {

/// The first disagreement, or nothing. As numpy.testing.assert_allclose: shapes
/// and element types equal, |have - want| <= atol + rtol |want|, NaN with NaN.
std::optional<std::string> disagreement(llvm::ArrayRef<reference::Tensor> have,
                                        llvm::ArrayRef<reference::Tensor> want, double rtol,
                                        double atol);

} // namespace tcc::conformance
