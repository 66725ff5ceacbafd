//===- CollapsedRows.h - Rows of several axes as lines ----------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include <optional>

namespace tcc::codegen {

/// The elements along the last axes of the rows of `launch`, of kind row, if nothing in it tells
/// those apart; none where there is one such axis.
std::optional<int64_t> collapsedLength(kernel::LaunchOp launch);

/// Makes one axis of those. The elements of all arguments and results stay where they are.
void collapseRows(kernel::LaunchOp launch);

} // namespace tcc::codegen
