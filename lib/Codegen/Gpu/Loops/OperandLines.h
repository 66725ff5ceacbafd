//===- OperandLines.h - Lines of an operand in shared memory -----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A part of an operand as ldmatrix takes it: lines of 16-byte chunks,
// 16 bytes apart, so that eight neighbouring lines have a chunk in eight different groups of banks
// whatever their length is. What lies in memory as it is multiplied is copied asynchronously,
// anything else is evaluated.
//
// Lines may be interleaved: in a group of eight times `interleave` of them, line
// 2 * interleave * t + 2 * j + i lies at place 8 * j + 2 * t + i, with t to 3 and i to 1. Where
// the columns of a tile of sums are lines, a lane then has 2 * interleave neighbouring ones.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/Product.h"

namespace tcc::codegen::device {

struct LineShape {
  unsigned lines, chunks;  ///< of 16 bytes, an even number
  bool linesAreInner;      ///< a line for each k, along the rows or columns; else along k
  unsigned interleave = 1; ///< a power of two

  unsigned pitch() const { return chunks * 16 + 16; } ///< bytes from line to line
  unsigned bytes() const { return lines * pitch(); }
};

class OperandLines {
public:
  /// `shared` is where byte 0 of dynamic shared memory is. The operand has 16-bit elements.
  OperandLines(KernelFrame &f, OperandSource source, LineShape shape, mlir::Value shared);

  /// What is evaluated and not written yet.
  struct Held {
    mlir::Value offset, chunk;
  };
  /// Lines from `first` on come to byte `offset` (i32), those from line `end` on (null: none)
  /// as zeros; past the operand's last line the last one. Copies have begun, what is evaluated
  /// is given.
  llvm::SmallVector<Held> fetch(mlir::Value first, mlir::Value end, mlir::Value offset);
  void write(llvm::ArrayRef<Held> held);

private:
  /// A part of a line that is read at once.
  struct Piece {
    Coords along;
    mlir::Value inside; ///< null: always
  };
  /// What the thread brings: a chunk of a line.
  struct Chunk {
    mlir::Value line, offset; ///< index, i32
    llvm::SmallVector<Piece> pieces;
  };
  void addChunk(unsigned i);
  mlir::Value evaluated(const ProductOperand &operand);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  OperandSource source;
  LineShape shape;
  OperandRuns runs;
  mlir::Value shared;
  llvm::SmallVector<Chunk> chunks;
};

} // namespace tcc::codegen::device
