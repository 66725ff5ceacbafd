//===- StoragePlan.h - Where every kernel's results lie ----------*- C++ -*-===//
#pragma once
#include "Plan/CheckFlags.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include <variant>

namespace tcc::plan {

/// In an arena, from `offset` of its units on.
struct InArena {
  size_t arena;
  int64_t offset;
};
struct InBlock {}; ///< a block of its own, taken when its extents are known
/// The storage of what result `result` of the model is.
struct InOutput {
  unsigned result;
};
/// Over input `input` of the launch, whose block it takes over.
struct OverInput {
  unsigned input;
};
/// Where input `input` of the launch lies, which is an argument of the model that changes to this.
struct OverArgument {
  unsigned input;
};
/// Where argument `argument` of the loop's body lies, whose block it takes over.
struct OverCarried {
  unsigned argument;
};
/// Where launch `inserts` would insert it (Analysis/InsertedPart.h).
struct InPart {
  kernel::LaunchOp inserts;
};
struct InFlag {}; ///< where the host finds whether a check failed (CheckFlags.h)
using Place =
    std::variant<InBlock, InArena, InOutput, OverInput, OverArgument, OverCarried, InPart, InFlag>;

struct StoragePlan {
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Place>> places; ///< by launch, its results
  /// Launches that have nothing to do: what they insert is written where it belongs.
  llvm::DenseSet<mlir::Operation *> done;
  /// In units; number 0 is the static one, where a unit is a byte. The others have one
  /// for each byte times the product of the unknown extents of the tensors in it.
  llvm::SmallVector<int64_t> arenas;
  CheckFlags flags;
};

StoragePlan planStorage(mlir::func::FuncOp function, bool inPlace = true, CheckFlags flags = {});

} // namespace tcc::plan
