//===- OperandTile.h - A slice of an operand in shared memory ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu: what the general kernels of products and of attention multiply.
// Threads of a block, all or a group of them, evaluate a slice of `width` rows or columns by
// `depth` of k, whatever stands before it, and write it to shared memory as elements of the type of
// the sum. Neighbours are read together where they lie together.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Product.h"

namespace tcc::codegen::device {

/// Threads that evaluate a slice together: how many, and the thread's number among them.
struct TileThreads {
  unsigned count;
  mlir::Value number;

  static TileThreads all(KernelFrame &f) { return {f.schedule.getThreads(), f.thread}; }
};

/// Which of `down` threads along rows and `across` along columns a thread is. A warp has a few rows
/// and columns of threads, so that its lanes read few different 16 bytes of each operand, and
/// neighbouring lanes the same of one: half a warp is served at once then.
struct ThreadPlace {
  mlir::Value row, column;
  llvm::SmallVector<unsigned, 5> columnDistances; ///< between lanes of a row in a warp, as bits
  /// Rows and columns of threads that are a warp's, and the thread's place among them; 0: a warp's
  /// threads have no such rectangle.
  unsigned laneRows = 0, laneColumns = 0;
  mlir::Value laneRow, laneColumn;

  /// `wholeRows`: all threads of a row are lanes of one warp.
  static ThreadPlace of(KernelFrame &f, mlir::Value number, unsigned down, unsigned across,
                        bool wholeRows = false);
};

/// The extents of a slice, and how it lies.
struct TileShape {
  unsigned width, depth, group; ///< group: elements of 16 bytes, which a thread reads at once
  unsigned apart = group;       ///< elements between what one k has and the next
  bool byOwn = false;           ///< what one row or column has lies together, not what one k has

  /// Elements from one k to the next, or from one row: whole vectors, and threads that write
  /// neighbours in the other use different banks.
  int64_t pitch() const { return (byOwn ? depth : width) + apart; }
  int64_t elements() const { return pitch() * (byOwn ? width : depth); }
};

/// Slices of elements of a type in shared memory, as a thread reads them.
class SliceMemory {
public:
  SliceMemory(KernelFrame &f, TileShape shape, mlir::Type computed, mlir::Value shared)
      : f(f), shape(shape), computed(computed), stored(f.asStored(computed)), shared(shared) {}
  /// `group` neighbours from `place` on, at one k, if a slice has them together.
  llvm::SmallVector<mlir::Value> load(mlir::Value slice, unsigned k, mlir::Value place) const;
  /// The element at `k` and `place`.
  mlir::Value loadOne(mlir::Value slice, mlir::Value k, mlir::Value place) const;

protected:
  /// Where an element lies in a slice.
  mlir::Value placeOf(mlir::Value k, mlir::Value own) const;

  KernelFrame &f;
  TileShape shape;
  mlir::Type computed, stored;
  mlir::Value shared;
};

class OperandTile : public SliceMemory {
public:
  /// From `first` of the operand's own index on; slices begin at multiples of the shape's
  /// elements in `shared`. `sum` is the type of the sum, a prim element type.
  OperandTile(KernelFrame &f, OperandSource source, TileShape shape, TileThreads threads,
              mlir::Type sum, mlir::Value shared, mlir::Value first);

  /// The thread's part of the slice from k = `round` on. Past the extent `inner` of k it is 0
  /// (null: anything); past the others anything, for nothing of it is stored.
  llvm::SmallVector<mlir::Value> read(mlir::Value round, mlir::Value inner);
  void write(llvm::ArrayRef<mlir::Value> values, mlir::Value slice);

private:
  unsigned runsOfThread() const { return shape.width * shape.depth / (threads.count * lanes); }
  std::pair<mlir::Value, mlir::Value> runAt(unsigned i);

  OperandSource source;
  TileThreads threads;
  mlir::Type sum;
  unsigned lanes;
  llvm::SmallVector<Coords> own; ///< of the thread's runs
};

/// Whether a general product whose sums are of type `sum` is made by matrix units.
bool sumsOnUnits(mlir::Type sum, const GpuArch &arch);

/// Elements of 16 bytes of what a sum of type `sum` is kept as in shared memory.
unsigned groupOf(KernelFrame &f, mlir::Type sum);

} // namespace tcc::codegen::device
