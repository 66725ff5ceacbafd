//===- Contraction.h - Products that several operators share ---*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"

namespace tcc::reference {

/// The attributes of prim.conv.
struct Convolution {
  llvm::ArrayRef<int64_t> strides, dilations, inputDilation, low;
  int64_t groups;
  bool channelsLast;
  int64_t zero = 0; ///< each number of x counts less that
};

/// prim.conv of x and w [O, C/groups, window...] into `resultShape` of `type`.
llvm::Expected<Tensor> convolution(const Tensor &x, const Tensor &w, const Convolution &attributes,
                                   DType type, llvm::ArrayRef<int64_t> resultShape);

/// lhs [..., k] times rhs [k, n], of `type` and `resultShape` [..., n].
llvm::Expected<Tensor> matrixProduct(const Tensor &lhs, const Tensor &rhs, DType type,
                                     llvm::ArrayRef<int64_t> resultShape);

} // namespace tcc::reference
