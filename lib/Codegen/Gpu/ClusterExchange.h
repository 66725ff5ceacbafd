//===- ClusterExchange.h - What blocks of a cluster tell each other -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Blocks of a cluster write numbers to each other's shared memory, and
// a barrier there counts what has come: nobody waits until all of a block's threads have come
// somewhere, nor until all of the GPU sees what they wrote.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"

namespace tcc::codegen::device {

class ClusterExchange {
public:
  static constexpr int64_t bytesOfBarrier = 8;

  /// `split` neighbouring blocks of the launch are a cluster from here on.
  ClusterExchange(KernelFrame &f, unsigned split);

  mlir::Value cluster, rank; ///< the block's, and the block in it; index

  /// Whether numbers of `type` can be sent.
  static bool canSend(mlir::Type type) { return type.isF32(); }
  /// One thread makes `count` barriers, for what one of its threads says will come.
  void makeBarriers(mlir::Value first, unsigned count);
  /// All threads of the cluster have come here.
  void meet();
  /// One thread says once a phase how much will come.
  void expect(mlir::Value barrier, int64_t bytes);
  /// Writes an f32 to `place` of all blocks, which their `barrier` counts.
  void send(mlir::Value v, mlir::Value place, mlir::Value barrier);
  /// The same of four, at 16 bytes.
  void send(llvm::ArrayRef<mlir::Value> four, mlir::Value place, mlir::Value barrier);
  /// Waits for all that comes in the phase of `parity`, an index.
  void await(mlir::Value barrier, mlir::Value parity);

private:
  mlir::Value ofBlock(mlir::Value place, unsigned number);
  void assembly(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  unsigned split;
};

} // namespace tcc::codegen::device
