//===- SpecialOperator.h - What a special kernel is about -------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::kernel {

/// The operator with an algorithm of its own that gives the results of a special launch; its two
/// results may be stored as the parts of one. Null where an argument is yielded.
mlir::Operation *specialOf(LaunchOp launch);

} // namespace tcc::kernel
