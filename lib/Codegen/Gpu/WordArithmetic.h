//===- WordArithmetic.h - What emitters compute addresses with ---*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Threads, stages and offsets in shared memory are words of 32
// bits: indices of 64 bits would take two registers each and two instructions an addition.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tcc::codegen::device {

class WordArithmetic {
protected:
  using Value = mlir::Value;
  explicit WordArithmetic(KernelFrame &f) : f(f), b(f.b) {}

  Value c(int64_t v) { return f.i32(v); }
  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  Value mul(Value x, int64_t y) { return mul(x, c(y)); }
  Value div(Value x, Value y) { return mlir::arith::DivUIOp::create(b, x, y); }
  Value rem(Value x, Value y) { return mlir::arith::RemUIOp::create(b, x, y); }
  Value band(Value x, int64_t y) { return mlir::arith::AndIOp::create(b, x, c(y)); }
  Value shr(Value x, int64_t y) { return mlir::arith::ShRUIOp::create(b, x, c(y)); }
  Value bxor(Value x, Value y) { return mlir::arith::XOrIOp::create(b, x, y); }
  Value bxor(Value x, int64_t y) { return bxor(x, c(y)); }
  Value smaller(Value x, Value y) { return mlir::arith::MinSIOp::create(b, x, y); }
  Value larger(Value x, Value y) { return mlir::arith::MaxSIOp::create(b, x, y); }
  Value equal(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, x, y);
  }
  Value toIndex(Value v) { return mlir::arith::IndexCastUIOp::create(b, b.getIndexType(), v); }
  Value to32(Value index) { return mlir::arith::IndexCastUIOp::create(b, b.getI32Type(), index); }
  /// `offset` bytes behind `base`.
  Value bytesBehind(Value base, Value offset) {
    return mlir::LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                                     llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
};

} // namespace tcc::codegen::device
