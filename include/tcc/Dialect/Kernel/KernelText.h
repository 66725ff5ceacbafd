//===- KernelText.h - What the code of a launch depends on -------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::kernel {

/// The launch alone in a module, in generic form, without its name, locations and what was
/// predicted of it: equal texts are equal kernels. Without the schedule it is the problem that a
/// schedule is chosen for.
std::string textOf(LaunchOp launch, bool withSchedule = true);

} // namespace tcc::kernel
