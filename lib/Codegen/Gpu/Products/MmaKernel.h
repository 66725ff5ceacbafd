//===- MmaKernel.h - Products on the matrix units of all GPUs ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The kernel of MmaKernel.cpp; what becomes of its sums is in
// MmaEpilogue.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../WordArithmetic.h"
#include "MmaTile.h"
#include "Product.h"

namespace tcc::codegen::device {

class MmaEmitter : WordArithmetic {
public:
  MmaEmitter(KernelFrame &f, Product product)
      : WordArithmetic(f), p(std::move(product)), s(f.schedule), t(MmaTile::of(s)),
        instruction(*MatrixInstruction::of(p.leftElement, p.rightElement)),
        group(16 / instruction.elementBytes()), depth(8 * group),
        stages(s.getSharedBytes() / t.stageBytes()) {}
  void run();

private:
  /// An operand's part of a stage: lines of k, or for operands that lie the other way lines of
  /// neighbouring rows or columns for each k.
  struct Part {
    OperandSource source;
    OperandRuns runs;
    bool left, byInner;
    unsigned width, offset; ///< rows or columns; bytes in a stage
    llvm::SmallVector<Coords> own;
    llvm::SmallVector<Value> exists; ///< whether it is before the end; null: it is
    Value holds;                     ///< whether it may be read so; null: it may

    unsigned lineBytes(unsigned elementBytes) const {
      return byInner ? MmaTile::lineBytes : width * elementBytes;
    }
  };
  /// What is read for a later stage and not written yet.
  struct Held {
    Value offset, chunk;
  };

  Value sharedAt(Value offset) { return bytesBehind(shared, offset); }

  llvm::SmallVector<Part, 1> waysOf(bool left);
  Part partOf(bool left, OperandSource source, OperandRuns runs);
  unsigned chunksOfThread(const Part &part) const { return part.width * 8 / t.threads(); }
  unsigned chunksOfLine(const Part &part) const {
    return part.lineBytes(instruction.elementBytes()) / 16;
  }
  unsigned piecesOfChunk(const Part &part) const { return group / part.runs.lanes; }
  std::pair<Value, Value> chunkAt(const Part &part, unsigned i);
  Value swizzled(const Part &part, Value line, Value chunk);
  llvm::SmallVector<Held> fetch(const Part &part, Value step, Value stage);
  void fetchEither(llvm::ArrayRef<Part> ways, Value step, Value stage);
  void fetchAll(Value step, Value stage, llvm::SmallVector<Held> &held);
  Value evaluated(const Part &part, const ProductOperand &operand);
  void write(llvm::ArrayRef<Held> held);

  Value tileAt(const Part &part, Value stage, unsigned first, unsigned k);
  llvm::SmallVector<Value> loadAcross(const Part &part, Value stage, unsigned first, unsigned k);
  llvm::SmallVector<Value> multiply(Value stage, mlir::ValueRange sums);
  llvm::SmallVector<Value> multiplyAll();
  llvm::SmallVector<Value> multiplyAny();
  enum class Order { Columns, Across, Mixed };
  Order orderOfResults();
  unsigned lanesOfRun(unsigned most);
  unsigned tilesTogether() const;
  bool exchanges();
  void store(mlir::ValueRange sums);
  void storeRun(Value row, Value column, llvm::ArrayRef<Value> sums);
  void storeExchanged(Value memory, unsigned row, unsigned column, mlir::ValueRange sums);

  Product p;
  Schedule s;
  MmaTile t;
  MatrixInstruction instruction;
  unsigned group, depth, stages; ///< elements of 16 bytes, of k in a stage
  Value rows, columns, inner;    ///< extents as one number
  Coords batch;
  Value batchNumber, rowTile, columnTile;
  ProductParts shares; ///< of k that blocks have of the tile
  Value firstStep, endStep;
  Value shared, tid, lane, warpRow, warpColumn; ///< the warp's first ones in the tile
  /// Left, right: the ways to read it, of which a run takes the first that holds.
  llvm::SmallVector<llvm::SmallVector<Part, 1>, 2> operands;
};

} // namespace tcc::codegen::device
