#include "tcc/Codegen/Common/HostCode.h"

using namespace mlir;
using namespace tcc::codegen;

HostCode::HostCode(func::FuncOp function, ModuleOp module)
    : b(function.getLoc(), function.getContext()), module(module),
      pointer(LLVM::LLVMPointerType::get(b.getContext())), i64(b.getI64Type()),
      frame(function.getArgument(0)), entry(&function.getBody().front()) {
  b.setInsertionPointToStart(entry);
}

Value HostCode::constant(int64_t v) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(v)); }

Value HostCode::toI64(Value v) {
  return v.getType().isIndex() ? Value(arith::IndexCastOp::create(b, i64, v)) : v;
}

Value HostCode::loadField(Value base, int64_t offset, Type type) {
  Value at = LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::LoadOp::create(b, type, at, 8);
}

Value HostCode::offsetPointer(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{constant(bytes)});
}

LLVM::LLVMFuncOp HostCode::declare(StringRef name, Type result, ArrayRef<Type> arguments) {
  LLVM::LLVMFuncOp &known = declared[name];
  if (known)
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  return known = LLVM::LLVMFuncOp::create(top, module.getLoc(), name,
                                          LLVM::LLVMFunctionType::get(result, arguments));
}

Value HostCode::call(StringRef name, Type result, ValueRange operands) {
  auto callee = declare(name, result, SmallVector<Type>(operands.getTypes()));
  return LLVM::CallOp::create(b, callee, operands).getResult();
}

void HostCode::callVoid(StringRef name, ValueRange operands) {
  auto callee = declare(name, LLVM::LLVMVoidType::get(b.getContext()),
                        SmallVector<Type>(operands.getTypes()));
  LLVM::CallOp::create(b, callee, operands);
}

Value HostCode::onStack(ArrayRef<Value> words) {
  if (!callWords) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    Value size = constant(1);
    callWordsSize = size.getDefiningOp<arith::ConstantOp>();
    callWords = LLVM::AllocaOp::create(b, pointer, i64, size, 8);
  }
  auto known = cast<IntegerAttr>(callWordsSize.getValue()).getInt();
  callWordsSize.setValueAttr(b.getI64IntegerAttr(std::max<int64_t>(known, words.size())));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value at = LLVM::GEPOp::create(b, pointer, i64, callWords,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, word, at, 8);
  }
  return callWords;
}
