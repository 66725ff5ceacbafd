//===- PlanarConv.h - Convolutions of planes --------------------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Whether `conv` has a filter for each channel, and channels come before pixels: results that lie
/// beside each other have the same weights and read what lies beside each other.
bool isPlanar(prim::ConvOp conv);

} // namespace tcc
