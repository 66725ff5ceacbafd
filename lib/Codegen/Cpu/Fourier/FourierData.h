//===- FourierData.h - What a Fourier transform reads ------------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: an operand of a transform is a launch's argument, or the kernel
// computes it where it is asked for; and results are tensors, or the parts of one whose numbers lie
// as pairs.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

class FourierData {
public:
  FourierData(KernelFrame &f, prim::FourierOp op, unsigned lanes);

  bool joined; ///< the launch's result is pairs

  /// Where an operand lies; null: it is computed.
  mlir::Value memoryOf(mlir::Value operand);
  /// Where numbers lie of which `re` and `im` are the parts, as pairs; null: they do not.
  mlir::Value pairsBehind(mlir::Value re, mlir::Value im);

  // Of operands that are computed, whose extents are known.
  /// The first number of line `number`, of all in their order.
  Coords line(Index number);
  /// Lanes are neighbouring lines from `inner` on, of those that have `outer` before the axis.
  Coords neighbours(Index outer, Index inner);
  /// Where number `place` of the lines at `at` is asked for, the lanes along the last axis; of them
  /// the first `valid`, others are 0.
  mlir::Value vectorAt(mlir::Value operand, Coords at, Index place, Index valid);
  mlir::Value elementAt(mlir::Value operand, Coords at, Index place);

private:
  KernelFrame &f;
  KernelBuilder k;
  unsigned lanes, axis;
  llvm::SmallVector<mlir::Value> extents; ///< of the operands, without the axis
};

} // namespace tcc::codegen
