//===- SelectedElement.h - One element of a line's order ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/OrderKey.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

/// What finds the element that so many others of a line come before.
class SelectedElement {
public:
  SelectedElement(KernelFrame &f, mlir::Value x, bool descending, Coords at)
      : f(f), descending(descending), at(std::move(at)), k(f.b, f.launch.getLoc()), x(x),
        element(tensorType(x).getElementType()),
        bits(hasWideKeys(element) ? 2 * kKeyBits : kKeyBits), lanes(f.cpu.lanes(bits)),
        key(f.b.getIntegerType(bits)), i64(f.b.getI64Type()),
        vec(mlir::VectorType::get({int64_t(lanes)}, key)), length(extentsOf(f, x).back()),
        room(kRoomBytes / (bits / 8)), keys(k.scratch(key, room + kFew + lanes)),
        asked(k.scratch(key, kFew)), low(cell(key)), high(cell(key)), count(cell(i64)),
        rank(cell(i64)), sought(cell(key)) {}
  void select(mlir::Value place);
  void storePlace();
  void forFirst(llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body);

private:
  static constexpr int64_t kRoomBytes = 32 << 10;
  static constexpr int64_t kFew = 32;   ///< keys that are compared with each other
  static constexpr int64_t kSpread = 6; ///< of them on either side, two standard deviations
  static constexpr unsigned kDigit = 11;

  /// A variable, which LLVM keeps in a register.
  struct Cell {
    KernelBuilder &k;
    mlir::Type type;
    mlir::Value where;
    mlir::Value get() const { return k.load(type, where); }
    void set(mlir::Value v) const { k.store(v, where); }
  };
  Cell cell(mlir::Type type) { return {k, type, k.scratch(type, 1)}; }
  mlir::Value constant(int64_t v, mlir::Type type) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return k.broadcast(constant(v, vector.getElementType()), lanes);
    return mlir::arith::ConstantOp::create(f.b, f.b.getIntegerAttr(type, v));
  }
  mlir::Value number(int64_t v) { return constant(v, i64); }
  mlir::Value least() { return constant(int64_t(~uint64_t(0) << (bits - 1)), key); }
  mlir::Value most() { return constant(int64_t(~uint64_t(0) >> (65 - bits)), key); }
  mlir::Value index(mlir::Value v) {
    return mlir::arith::IndexCastOp::create(f.b, f.b.getIndexType(), v);
  }
  mlir::Value wide(mlir::Value v) { return mlir::arith::IndexCastOp::create(f.b, i64, v); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(f.b, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubIOp::create(f.b, x, y); }
  mlir::Value is(mlir::arith::CmpIPredicate how, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(f.b, how, x, y);
  }
  mlir::Value choose(mlir::Value c, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(f.b, c, x, y);
  }
  mlir::Value splat(mlir::Value v) { return k.broadcast(v, lanes); }
  mlir::Value keyAt(mlir::Value base, mlir::Value i, mlir::Type type) {
    return k.load(type, k.address(base, key, i));
  }

  mlir::Value keyOf(mlir::Value i);
  void forKeys(llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  void whileHolds(llvm::function_ref<mlir::Value()> condition, llvm::function_ref<void()> body);
  mlir::Value ones(mlir::Value mask);
  void keep(mlir::Value v, mlir::Value lowest, mlir::Value span, const Cell &to);
  void fill();
  void countDigits();
  void fillFromPart();
  void pad();
  struct Ranked {
    llvm::SmallVector<mlir::Value> keys, below;
  };
  Ranked compareAll(mlir::Value few);
  std::pair<mlir::Value, mlir::Value> keyOfRank(const Ranked &all, mlir::Value r);
  std::pair<mlir::Value, mlir::Value> askSome();
  void narrow();
  void turn(const Cell &halves);
  mlir::Value placeOf();

  KernelFrame &f;
  bool descending;
  Coords at;
  KernelBuilder k;
  mlir::Value x;
  mlir::Type element;
  unsigned bits;
  int64_t lanes;
  mlir::Type key, i64;
  mlir::VectorType vec;
  mlir::Value length;
  int64_t room; ///< keys on the stack
  mlir::Value keys, asked;
  Cell low, high; ///< the keys at hand are all of the line's from the one to the other
  Cell count;     ///< of those on the stack, whole vectors: what comes after them has the last key
  Cell rank;      ///< of the element sought among them, and of equal ones when it is found
  Cell sought;    ///< its key
};

} // namespace tcc::codegen
