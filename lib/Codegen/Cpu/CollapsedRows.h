//===- CollapsedRows.h - Rows of several axes as lines ----------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"
#include <optional>

namespace tcc::codegen {

/// The elements of a row of `launch`, of kind row, if its rows have several axes that nothing in
/// it tells apart; none else.
std::optional<int64_t> collapsedLength(kernel::LaunchOp launch);

/// Makes one axis of those. The elements of all arguments and results stay where they are.
void collapseRows(kernel::LaunchOp launch);

} // namespace tcc::codegen
