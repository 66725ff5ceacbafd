//===- HostReads.h - Conditions and extents computed where they are read -*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// The elements of `tensor` as host scalars, where the host can compute them from arguments of the
/// model and constants; they are few.
std::optional<Dims> hostReads(PrimBuilder &pb, mlir::Value tensor);

} // namespace tcc
