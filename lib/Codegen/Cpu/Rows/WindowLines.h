//===- WindowLines.h - Windows of a pool, a line at a time ------*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// The pools of a kernel of points of which a line is worth reducing along all axes of their
/// windows but the last first.
llvm::SmallVector<prim::PoolOp> poolsOfLines(kernel::LaunchOp launch);

/// Lanes that hold a line, of which a part may be masked.
unsigned lanesOfLine(unsigned most, int64_t extent);

class WindowLines {
public:
  /// For lines of which `points` are asked for at a time.
  WindowLines(KernelFrame &f, int64_t points);
  /// Lines that are made before the first of them is read: a vector over two that were just stored
  /// waits until those are in the cache.
  static constexpr int64_t kTogether = 8;
  /// The line, of those, that what follows is about: of points from `low` on.
  void choose(mlir::Value line, mlir::Value low);
  /// Before its points up to `high`, of the row `outer`, are evaluated.
  void fill(const Coords &outer, mlir::Value high);

private:
  struct Line {
    prim::PoolOp pool;
    Memory scratch;
    int64_t elements;  ///< of a line in scratch
    mlir::Value begin; ///< the column of x, or of what is around it, that the line begins with
    mlir::Value first; ///< where the line begins in scratch
  };
  mlir::Value evaluate(const Line &line, llvm::ArrayRef<Coord> at);
  void fill(const Line &line, const Coords &outer, mlir::Value high);
  Coord placeOf(const Line &line, mlir::Value column, int64_t step);
  mlir::Value larger(mlir::Value x, mlir::Value y);

  KernelFrame &f;
  unsigned lanes;
  llvm::SmallVector<std::unique_ptr<Line>> pools;
};

} // namespace tcc::codegen
