//===- SharedPoints.h - What neighbouring points have in common --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which points of a loop a thread has together, because much of what
// they are computed from is the same.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <optional>

namespace tcc::codegen::device {

struct SharedPoints {
  unsigned before; ///< so many axes before the last one
  unsigned points; ///< of a thread along it, of which its extent is a multiple
};

/// Null where points share too little, or a point's values are not followed. `most`: of a thread.
std::optional<SharedPoints> sharedPoints(kernel::LaunchOp launch, int64_t most);

} // namespace tcc::codegen::device
