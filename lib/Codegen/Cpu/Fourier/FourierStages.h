//===- FourierStages.h - Fourier transforms in lanes -------------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: transforms of short length, one a lane, which both ways of doing
// lines are made of (FourierKernel.cpp, FourierMatrix.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Codegen/Common/FourierButterflies.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

class FourierStages : public FourierButterflies {
public:
  /// Numbers are f32 or f64.
  FourierStages(KernelFrame &f, mlir::Type type, unsigned lanes);

  /// Scratch is vectors in a row.
  Complex scratch(int64_t vectors);
  mlir::Value at(mlir::Value buffer, Index i);
  Complex at(Complex buffer, Index i) { return {at(buffer.re, i), at(buffer.im, i)}; }
  mlir::Value get(mlir::Value buffer, Index i) { return k.load(vector, at(buffer, i)); }
  Complex get(Complex buffer, Index i) { return {get(buffer.re, i), get(buffer.im, i)}; }
  void put(mlir::Value v, mlir::Value buffer, Index i) { k.store(v, at(buffer, i)); }
  void put(Complex v, Complex buffer, Index i);

  /// Whether a pair is as wide as an f64, so that squares of pairs can be turned in registers.
  bool turnsPairs() const { return type.isF32() && lanes >= 4; }
  /// lanes / 2 neighbouring numbers of each lane's line, as pairs, from those numbers; and back.
  llvm::SmallVector<mlir::Value> pairsOf(llvm::ArrayRef<Complex> numbers);
  llvm::SmallVector<Complex> numbersOf(llvm::ArrayRef<mlir::Value> pairs);
  /// As many neighbours as lanes, of any type.
  llvm::SmallVector<mlir::Value> widePairsOf(llvm::ArrayRef<Complex> numbers);
  /// Numbers as pairs: the first `valid` lanes of `v` from pair `place` on.
  void storePairs(Complex v, mlir::Value pairs, Index place, Index valid);

  /// Transforms of `n` numbers: number i of them is read by read(i) and result i written by
  /// write(i, .), each once, all reads before the first result where there are two stages or
  /// more. Of `room`, which holds n vectors twice, stages use the first half first: what is read
  /// may lie in the second one. `writes` may go to lastRoom.
  struct Line {
    int64_t n;
    llvm::SmallVector<unsigned> radices;
    mlir::Value roots;
    Complex room[2];
    Complex lastRoom() const { return room[radices.size() % 2 ? 0 : 1]; }
  };
  Line line(int64_t n, llvm::StringRef name, Complex first, Complex second);
  void transform(const Line &line, llvm::function_ref<Complex(Index)> read,
                 llvm::function_ref<void(Index, Complex)> write);

private:
  mlir::Value interleaved(Complex v);
  llvm::SmallVector<Complex> turns(mlir::Value roots, int64_t table, unsigned radix, Index p);

  KernelFrame &f;
  KernelBuilder k;
  mlir::Type type;
  unsigned lanes;
  mlir::VectorType vector;
};

} // namespace tcc::codegen
