//===- Pool.h - Windows of ATen's pools ---------------------------*- C++ -*-===//
//
// How a pool's arguments say which elements each window sees; its gradient's
// arguments say the same.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// [N, C, spatial..] of an operand that may lack its batch axis.
struct Planes {
  mlir::Value x;
  bool unbatched;
};
mlir::FailureOr<Planes> planes(AtenNode &a, int64_t spatial);
mlir::FailureOr<PrimBuilder::Window> readWindow(AtenNode &a, mlir::Value x, size_t axes);
/// How many elements each window counts: the same windows over ones.
mlir::Value windowCounts(AtenNode &a, mlir::Value x, PrimBuilder::Window w, bool ceilMode,
                         bool padded);
/// What each window's sum is divided by: a number, or the counts of all windows.
mlir::Value averageDivisor(AtenNode &a, mlir::Value x, const PrimBuilder::Window &w);
/// Which elements of an axis each of `count` adaptive windows sees: window o is
/// [floor(o n / count), ceil((o + 1) n / count)). Gives [count, n] of bool.
mlir::Value adaptiveWindows(AtenNode &a, Dim extent, Dim count);

} // namespace tcc::aten
