//===- InPlace.h - Kernels that may write over what they read --*- C++ -*-===//
//
// Plan puts results over such inputs. Equal launches share a kernel, so that its code has to be
// right wherever plan may have put the result: code generation asks the same.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc {

/// The inputs of `launch` that its result may be written over, if nobody needs them
/// afterwards: tensors of as many bytes, of which the kernel reads, to make one
/// element, only the element in its place.
llvm::SmallVector<unsigned> overwritableInputs(kernel::LaunchOp launch);

} // namespace tcc
