//===- WeightObject.h - Shared by the weight writers ------------*- C++ -*-===//
#pragma once
#include "tcc/Emit/WeightBlob.h"

namespace tcc::emit {

/// The blob's bytes, with the gaps between tensors as zeros.
llvm::Error writeBlob(const WeightBlob &blob, llvm::raw_ostream &os);

} // namespace tcc::emit
