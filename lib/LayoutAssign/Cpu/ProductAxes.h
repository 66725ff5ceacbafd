//===- ProductAxes.h - Axes of products that templates take -----*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Makes a product of `op`, of static f32 or f64 operands, whose rows, columns and terms each lie
/// one stride apart, columns beside each other where that costs no copy. Replaces and erases `op`
/// if it is not one.
void orderAxes(prim::DotOp op);

} // namespace tcc
