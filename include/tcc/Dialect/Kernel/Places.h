//===- Places.h - Where a kernel's results lie -------------------*- C++ -*-===//
//
// What the plan phase writes and code generation reads: the attribute `places` of
// kernel.launch, one entry a result, and the module's `tcc.arena_size`.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/TensorBytes.h"

namespace tcc {

/// A place >= 0 is an offset in an arena.
inline constexpr int64_t kDynamicPlace = -1; ///< allocated when its extents are known
inline constexpr int64_t kOutputPlace = -2;  ///< kOutputPlace - k: storage of output k
/// kInputPlace + k: over input k of the launch, which dies there and was allocated
/// when its extents were known.
inline constexpr int64_t kInputPlace = INT64_MIN;
inline constexpr int64_t kMaxInputs = 1 << 20;
/// The input whose memory `place` takes over, or -1.
inline int64_t inputOfPlace(int64_t place) {
  return place < kInputPlace + kMaxInputs ? place - kInputPlace : -1;
}
inline constexpr llvm::StringLiteral kPlacesAttr = "places";
inline constexpr llvm::StringLiteral kArenaSizeAttr = "tcc.arena_size";

/// Results whose unknown extents are the same values share a dynamic arena, which the
/// run allocates once: `arenas` gives beside each place the number of its arena, 0
/// being the static one. Offsets and sizes of a dynamic arena count in bytes times its
/// factor, the product of those extents; `tcc.dynamic_arenas` are the sizes, from 1 on.
inline constexpr llvm::StringLiteral kArenasAttr = "arenas";
inline constexpr llvm::StringLiteral kDynamicArenasAttr = "tcc.dynamic_arenas";

} // namespace tcc
