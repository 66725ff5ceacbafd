//===- SpectralKernel.cpp - Eigenvalues and singular values of a matrix ---===//
//
// A task has a matrix. It is copied to where the runtime (lib/Runtime/SymmetricEigen.c,
// SingularValues.c) computes, which has the function for each width of vectors.
//
//===----------------------------------------------------------------------===//
#include "MatrixTask.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// The runtime's function of this name for the CPU: of `pointers`, and then numbers.
static LLVM::LLVMFuncOp runtimeFunction(KernelFrame &f, StringRef name, unsigned pointers,
                                        unsigned numbers) {
  constexpr unsigned kAvx512 = 512, kAvx2 = 256;
  bool isX86 = StringRef(f.cpu.triple).starts_with("x86_64");
  std::string symbol = name.str();
  if (isX86 && f.cpu.fma)
    symbol += f.cpu.vectorBits >= kAvx512 ? "_avx512" : f.cpu.vectorBits >= kAvx2 ? "_avx2" : "";
  auto module = f.function->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  MLIRContext *context = b.getContext();
  SmallVector<Type> arguments(pointers, LLVM::LLVMPointerType::get(context));
  arguments.append(numbers, b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), arguments);
  return LLVM::LLVMFuncOp::create(b, f.function.getLoc(), symbol, type);
}

void tcc::codegen::emitSpectral(TaskMatrices &task, Operation *op) {
  KernelFrame &f = task.f;
  Value columns = f.results[0].extents.back();
  task.copy(op->getOperand(0), f.results[0], f.e.index(0), columns);
  auto numbers = [&](Value extent) {
    return arith::IndexCastOp::create(f.b, f.b.getI64Type(), extent).getResult();
  };
  auto flag = [&](bool set) {
    return arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(set)).getResult();
  };
  auto base = [&](unsigned result, unsigned inner) {
    return task.base(f.results[result], task.m.type, inner);
  };
  if (auto eigen = dyn_cast<prim::SymmetricEigenOp>(op)) {
    LLVM::CallOp::create(
        f.b, runtimeFunction(f, "tcc_symmetric_eigen", 3, 2),
        ValueRange{base(0, 2), base(1, 1), base(2, 2), numbers(columns), flag(eigen.getVectors())});
    return;
  }
  auto svd = cast<prim::SvdOp>(op);
  Value rows = ArrayRef<Value>(f.results[0].extents).drop_back().back();
  LLVM::CallOp::create(f.b, runtimeFunction(f, "tcc_svd", 5, 3),
                       ValueRange{base(0, 2), base(1, 2), base(2, 1), base(3, 2), base(4, 2),
                                  numbers(rows), numbers(columns), flag(svd.getVectors())});
}
