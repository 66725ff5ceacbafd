//===- ProductKernel.h - Contractions of any type and size -------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The kernel of ProductKernel.cpp: tiles, groups, what sums become.
// How slices come to shared memory is there, through registers, and in ProductRing.cpp, by
// asynchronous copies.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "CopiedTile.h"
#include "MatrixInstructions.h"

namespace tcc::codegen::device {

/// How the threads of a block are grouped: each group computes a tile, its threads squares of it.
struct GroupShape {
  unsigned threads;       ///< of a group
  unsigned rows, columns; ///< of a thread
  unsigned down, across;  ///< threads along rows and along columns
  unsigned slicesOfGroup = 2;

  /// As many rows as columns, or with so many threads across as the schedule says.
  static GroupShape of(Schedule s) {
    unsigned threads = s.getThreads() / (s.getLanes() * s.getVectors()), side = 1;
    if (unsigned across = s.getRowThreads())
      return {threads, s.getRows() * across / threads, s.getColumns() / across, threads / across,
              across};
    while (side * side * threads < s.getRows() * s.getColumns())
      side *= 2;
    return {threads, side, side, s.getRows() / side, s.getColumns() / side};
  }
  unsigned sums() const { return rows * columns; }
  int64_t slices(Schedule s) const {
    return int64_t(slicesOfGroup) * s.getLanes() * s.getVectors();
  }
  /// Rows and columns of a warp on matrix units.
  unsigned warpRows() const { return rows * DoubleInstruction::rows / 2; }
  unsigned warpColumns() const { return columns / 2 * DoubleInstruction::columns; }
  bool fillsWarps(Schedule s) const {
    return rows % 2 == 0 && columns % 2 == 0 && threads % GpuArch::warp == 0 &&
           s.getRows() % warpRows() == 0 && s.getColumns() % warpColumns() == 0 &&
           s.getDepth() % DoubleInstruction::step == 0;
  }
};

class ProductEmitter {
public:
  ProductEmitter(KernelFrame &f, Product product);
  void run();

private:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;

  void findTile();
  void placeThread();
  void shareSlices();
  void shareRing();
  Value sharedOf(bool left);
  /// Neighbouring rows or columns of a thread at one k.
  Values fragment(bool left, Value slice, unsigned k);
  void addProducts(Values &sums, ValueRange left, ValueRange right);
  Values multiply(Value slice, ValueRange sums);
  Values multiplyAhead(ValueRange carried, Value slice, Value next,
                       llvm::function_ref<void(unsigned)> before);
  Values multiplyOnUnits(Value slice, ValueRange sums);
  Values multiplyAll();
  Values multiplyRing();
  Values zeroSums();
  bool storesVectors() const;
  bool exchanges() const;
  /// Row and column of a sum that the thread stores.
  struct Stored {
    Value row, column, sum;
  };
  llvm::SmallVector<Stored> exchanged(Value memory, Value row, Value first,
                                      llvm::ArrayRef<Value> sums);
  void store(ValueRange sums);
  void storeRun(Value number, llvm::ArrayRef<Value> sums, Value memory);
  void addUp(ValueRange sums);
  const SliceMemory &slicesOf(bool left) const {
    return ring ? static_cast<const SliceMemory &>(copies[left ? 0 : 1]) : slices[left ? 0 : 1];
  }

  TileShape shapeOf(bool left) const {
    unsigned width = left ? s.getRows() : s.getColumns();
    // Four of k by eight of the others are in banks of their own.
    return units ? TileShape{width, s.getDepth(), group, 2 * group,
                             sourceOf(p, left, batch).innerFirst}
                 : TileShape{width, s.getDepth(), group};
  }
  int64_t sliceElements() const { return shapeOf(true).elements() + shapeOf(false).elements(); }
  /// Rows or columns of a thread come in runs of neighbours: how far from one to the next.
  int64_t runStep(bool ofRows) const {
    return units ? DoubleInstruction::columns : int64_t(ofRows ? shape.down : shape.across) * group;
  }
  /// Neighbouring rows of a thread.
  unsigned rowsOfRun() const { return units ? 1 : group; }
  /// The rounds of a thread; null where they are not known.
  std::optional<int64_t> rounds() const;

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  Product p;
  Schedule s;
  mlir::Type sumElement, sum;
  unsigned group; ///< neighbouring rows or columns of a thread
  GroupShape shape;
  bool units;                 ///< a warp multiplies
  bool ring;                  ///< copies bring slices
  bool ahead;                 ///< a thread reads what it multiplies next beside this
  Value operands;             ///< shared memory of slices, where groups' sums meet; else null
  Value rows, columns, inner; ///< extents as one number
  Coords batch;               ///< the block's
  Value batchNumber, rowTile, columnTile;
  Value tileNumber;                           ///< the block's
  ProductParts parts;                         ///< of k that blocks have of it
  Value firstInner, endInner;                 ///< that part: whole slices, up to the end
  Value firstRow, firstColumn;                ///< that the tile owns; null: it begins with them
  Value groupNumber, member;                  ///< the thread's group, and its number there
  Value here;                                 ///< null: the group's matrix is one of the batch
  Value threadRow, threadColumn;              ///< its first ones in the tile
  ThreadPlace place;                          ///< not of matrix units
  Value slicesBegin;                          ///< shared memory of left's slices, or of both
  llvm::SmallVector<DirectOperand, 2> direct; ///< of a ring: left, right
  llvm::SmallVector<OperandTile, 2> slices;   ///< left, right
  llvm::SmallVector<CopiedTile, 2> copies;    ///< the same of a ring
};

} // namespace tcc::codegen::device
