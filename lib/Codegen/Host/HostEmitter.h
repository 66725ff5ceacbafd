//===- HostEmitter.h - State of emitting the host function -------*- C++ -*-===//
//
// Internal to lib/Codegen/Host.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Codegen/Host/HostProgram.h"

namespace tcc::codegen {

class HostEmitter {
public:
  HostEmitter(mlir::func::FuncOp program, mlir::func::FuncOp entry, mlir::ModuleOp module,
              LaunchEmitter &launches, const HostCallbacks &callbacks)
      : program(program), code(entry, module), b(code.b), launches(launches), callbacks(callbacks) {
  }
  mlir::LogicalResult run();

private:
  /// A tensor in memory: its extents that are `?`, in order. An arena of the run: the
  /// bytes of its unit.
  struct Memory {
    mlir::Value pointer;
    llvm::SmallVector<mlir::Value, 2> open;
  };

  const Memory &memoryOf(mlir::Value v) const { return memory.at(v); }
  mlir::Value pointerOf(mlir::Value v) const { return memory.at(v).pointer; }
  mlir::Value scalarOf(mlir::Value v) const { return scalars.lookup(v); }
  /// The values here of `sizes`.
  llvm::SmallVector<mlir::Value, 2> scalarsOf(mlir::ValueRange sizes) const;
  llvm::SmallVector<mlir::Value> extents(mlir::Value v);
  mlir::Value byteSize(mlir::Value v);
  mlir::Value dimsOnStack(mlir::ValueRange extents);

  mlir::LogicalResult bindArguments();
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitOther(mlir::Operation *op);

  // Memory
  mlir::Value frameWord(int64_t offset);
  mlir::Value weightsIn(mlir::MemRefType type);
  void emitArena(host::ArenaOp op);
  void emitAllocArena(host::AllocArenaOp op);
  void emitSlice(host::SliceOp op);
  void emitPart(host::PartOp op);
  void emitAlloc(host::AllocOp op);
  void emitFree(host::FreeOp op);
  void emitOutput(host::OutputOp op);
  void emitRead(host::ReadOp op);
  void emitCopy(host::CopyOp op);
  void copyBytes(mlir::Value to, mlir::Value from, mlir::Value bytes, int32_t how);

  // Control
  void emitLaunch(host::LaunchOp op);
  mlir::Value messageOf(mlir::Operation *op, llvm::StringRef message);
  void emitFlag(host::FlagOp op);
  void emitAssert(host::AssertOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  llvm::SmallVector<mlir::Type> wordTypes(mlir::TypeRange types);
  llvm::SmallVector<mlir::Value> wordsOf(mlir::ValueRange values);
  void bind(mlir::ValueRange values, mlir::ValueRange words);

  mlir::func::FuncOp program;
  HostCode code;
  mlir::ImplicitLocOpBuilder &b;
  LaunchEmitter &launches;
  const HostCallbacks &callbacks;
  llvm::DenseMap<int64_t, mlir::Value> frameWords;
  llvm::DenseMap<mlir::Value, Memory> memory;
  mlir::IRMapping scalars;
  llvm::StringMap<unsigned> kernelNumbers;
  unsigned messages = 0, flags = 0;
};

} // namespace tcc::codegen
