//===- HostEmitter.h - State of emitting the host function -------*- C++ -*-===//
//
// Internal to HostProgram.cpp and HostArguments.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tcc/Codegen/Cpu/HostProgram.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::codegen {

class HostEmitter {
public:
  HostEmitter(mlir::func::FuncOp source, mlir::ModuleOp module, const HostCallbacks &callbacks);
  mlir::LogicalResult run();

private:
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);
  mlir::Value constant(int64_t v);
  mlir::Value index(int64_t v);
  mlir::Value toI64(mlir::Value v);
  mlir::Value loadWord(mlir::Value base, int64_t slot, mlir::Type type);
  mlir::Value offsetPointer(mlir::Value base, int64_t bytes);
  mlir::Value stackWords(size_t count);
  void storeWords(mlir::Value base, llvm::ArrayRef<mlir::Value> words);
  mlir::Value byteSize(mlir::Value tensor, mlir::Location loc);
  mlir::Value allocate(mlir::Value tensor);
  void copy(mlir::Value to, mlir::Value from, mlir::Value bytes);

  mlir::Value scalarOf(mlir::Value v);
  mlir::Value extent(mlir::Value tensor, unsigned axis);
  llvm::SmallVector<mlir::Value> extents(mlir::Value tensor);
  mlir::Value pointerOf(mlir::Value tensor);
  mlir::Value outputStorage(int64_t output, mlir::Value tensor);
  mlir::Value inDynamicArena(int64_t arena, int64_t place, mlir::Value tensor);
  void place(kernel::LaunchOp launch);

  mlir::LogicalResult bindArguments();
  void nameChanges();
  llvm::StringRef changed(int64_t i) const { return changedNames[i]; }
  void giveOutputs();
  void writeBack();

  mlir::LogicalResult emitBlock(mlir::Block &block);
  void emitLaunch(kernel::LaunchOp launch);
  void emitExtract(prim::ExtractOp op);
  void emitAssert(prim::AssertOp op);
  mlir::LogicalResult emitIf(prim::IfOp op);
  mlir::LogicalResult emitWhile(prim::WhileOp op);
  void endTurn(prim::WhileOp op);
  void leaveRegion(mlir::Value v, mlir::Type outer, bool dies,
                   llvm::SmallVectorImpl<mlir::Value> &words, mlir::Value target = {});
  void enterValue(mlir::Value v, mlir::ValueRange words, size_t &next);
  llvm::SmallVector<mlir::Type> wordTypes(mlir::TypeRange types);
  void release(mlir::Value v);
  void freeOwned(mlir::Block &block);

  mlir::func::FuncOp source;
  mlir::ModuleOp module;
  const HostCallbacks &callbacks;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp entry;
  mlir::Type pointer, i64;
  mlir::Value frame, arena, weights, callWords;
  mlir::arith::ConstantOp callWordsSize;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers, scalars;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> dynamicExtents;
  llvm::DenseSet<mlir::Value> owned;
  /// Memory and factor of each dynamic arena, by number less one.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> dynamicArenas;
  llvm::DenseSet<int64_t> written;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> declared;
  /// By result of the source: the argument that it is the new value of, or "".
  std::vector<llvm::StringRef> changedNames;
  std::vector<int32_t> outputNumbers; ///< by result of the source: those before it that are outputs
  unsigned messages = 0;
};

} // namespace tcc::codegen
