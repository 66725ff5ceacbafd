//===- Softmax.h - Softmax over several axes together ------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

mlir::Value softmaxOver(PrimBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes);
mlir::Value logSoftmaxOver(PrimBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes);

} // namespace tcc
