//===- HostCode.h - Code that calls the runtime ------------------*- C++ -*-===//
//
// What the host program and the back-ends' launch emitters write host code with.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tcc::codegen {

class HostCode {
public:
  /// At the start of `entry`, whose argument is the frame of a run (lib/Runtime/Program.h).
  HostCode(mlir::func::FuncOp entry, mlir::ModuleOp module);

  mlir::Value constant(int64_t v);
  mlir::Value toI64(mlir::Value v);
  /// What lies `offset` bytes from `base` on, a word.
  mlir::Value loadField(mlir::Value base, int64_t offset, mlir::Type type);
  mlir::Value offsetPointer(mlir::Value base, int64_t bytes);

  /// A function outside of the module, the same for a name each time.
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);
  void callVoid(llvm::StringRef name, mlir::ValueRange operands);
  /// `words` on the stack for the next call; all calls of a run use the same place.
  mlir::Value onStack(llvm::ArrayRef<mlir::Value> words);

  mlir::ImplicitLocOpBuilder b;
  mlir::ModuleOp module;
  mlir::Type pointer, i64;
  mlir::Value frame;

private:
  mlir::Block *entry;
  mlir::Value callWords;
  mlir::arith::ConstantOp callWordsSize;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> declared;
};

} // namespace tcc::codegen
