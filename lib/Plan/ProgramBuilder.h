//===- ProgramBuilder.h - State of making a host program ---------*- C++ -*-===//
//
// Internal to HostProgram.cpp, HostControl.cpp and ProgramBuilder.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Plan/HostProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tcc/Analysis/StorageLiveness.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::plan {

class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp source, const StoragePlan &plan, KernelTable &kernels,
                 host::MemorySpace space)
      : source(source), plan(plan), kernels(kernels), space(space),
        b(source.getLoc(), source.getContext()) {}
  mlir::LogicalResult run();

private:
  // Values of the program for those of the source.
  void bind(mlir::Value v, mlir::Value to);
  mlir::Value scalarOf(mlir::Value v);
  mlir::Value memoryOf(mlir::Value tensor);
  mlir::Value boundExtent(mlir::Value tensor, unsigned axis);
  mlir::Value extent(mlir::Value tensor, unsigned axis);
  llvm::SmallVector<mlir::Value> openExtents(mlir::Value tensor);

  // Memory
  host::MemorySpace spaceOf(mlir::Value tensor) const;
  mlir::MemRefType memoryType(mlir::Value tensor) const;
  /// Tensors as memory, scalars as they are.
  llvm::SmallVector<mlir::Type> programTypes(mlir::ValueRange values) const;
  void findHostArguments();
  mlir::Value whereHostReads(mlir::Value tensor);
  mlir::Value dataOf(mlir::Operation *op, host::MemorySpace space);
  mlir::Value allocate(mlir::Value tensor);
  void copy(mlir::Value from, mlir::Value to);
  mlir::Value viewAs(mlir::Value memory, mlir::MemRefType type, mlir::ValueRange sizes);
  mlir::Value arena(size_t number, mlir::Value tensor);
  mlir::Value place(kernel::LaunchOp launch, unsigned i);
  void release(mlir::Value v);
  const StorageLiveness &livenessOf(mlir::Block &block);

  // Results and changed arguments
  mlir::BlockArgument changedBy(unsigned i);
  mlir::Value outputStorage(unsigned i);
  void giveOutputs();
  void writeBack();

  // Operators
  mlir::LogicalResult convertBlock(mlir::Block &block);
  mlir::LogicalResult convert(mlir::Operation *op);
  mlir::LogicalResult convertOther(mlir::Operation *op);
  mlir::Value elementsOf(mlir::Value tensor);
  mlir::Value largestOf(kernel::LaunchOp launch);
  void convertLaunch(kernel::LaunchOp launch);
  void convertMove(kernel::MoveOp move);
  mlir::LogicalResult convertIf(prim::IfOp op);
  bool diesIn(prim::WhileOp op, mlir::Value init);
  mlir::LogicalResult convertWhile(prim::WhileOp op);
  mlir::Value leave(mlir::Value v, mlir::Type outer, bool dies, mlir::Value target = {});
  llvm::SmallVector<mlir::Value> nextTurn(prim::WhileOp op);
  void freeOwned(mlir::Block &block);

  mlir::func::FuncOp source;
  const StoragePlan &plan;
  KernelTable &kernels;
  host::MemorySpace space; ///< of launches' tensors, but for those on the host
  mlir::ImplicitLocOpBuilder b;
  std::map<mlir::Block *, StorageLiveness> livenesses; ///< of the source's blocks
  llvm::DenseMap<mlir::Value, mlir::Value> memory, scalars;
  llvm::DenseMap<mlir::Operation *, mlir::Value> hostData; ///< weights and constants that it reads
  llvm::DenseSet<mlir::Value> hostArguments;               ///< of the model, that lie on the host
  /// Tensors that bring their extents with them: arguments, and what regions carry or give.
  llvm::DenseSet<mlir::Value> bound;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> boundExtents;
  llvm::DenseSet<mlir::Value> owned; ///< tensors that a block of the heap belongs to
  /// Results that lie in the argument whose new value they are.
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> inArgument;
  llvm::SmallVector<mlir::Value> arenas, outputs; ///< by number; null until they are needed
  mlir::Block *entry = nullptr;                   ///< of the program
  mlir::Operation *lastWeight = nullptr;
};

} // namespace tcc::plan
