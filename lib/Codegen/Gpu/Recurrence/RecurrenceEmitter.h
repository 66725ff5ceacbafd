//===- RecurrenceEmitter.h - All turns of a recurrent layer ------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. The template of RecurrenceKernel.cpp, whose products are in
// RecurrenceProducts.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../ClusterExchange.h"
#include "Recurrence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tcc::codegen::device {

class RecurrenceEmitter {
public:
  RecurrenceEmitter(KernelFrame &f, Recurrence recurrence, RecurrencePlan plan)
      : f(f), b(f.b), r(std::move(recurrence)), plan(std::move(plan)),
        pack(mlir::VectorType::get({kChunk}, b.getF32Type())), memory(f.dynamicShared()) {}
  void run();

private:
  static constexpr unsigned kChunk = RecurrencePlan::chunk;

  /// Shared memory of a state: [2][rows][width].
  struct State {
    mlir::Value base;
    int64_t width;
  };
  /// Of a phase, and the thread's part of it.
  struct Products {
    mlir::Value left, weights, sums; ///< left: null where it is a state
    mlir::Value barrier;             ///< of `left`, where blocks share it
    mlir::Value column, lane;
    llvm::SmallVector<mlir::Value> kept;
    mlir::VectorType chunk; ///< of weights
  };

  mlir::Value room(int64_t bytes);
  mlir::Value real(double v) {
    return mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(float(v)));
  }
  mlir::Value read(mlir::Type type, mlir::Value base, mlir::Value index, unsigned aligned);
  void write(mlir::Value v, mlir::Value base, mlir::Value index) {
    mlir::LLVM::StoreOp::create(b, v, f.at(base, v.getType(), index));
  }
  mlir::Value rounded(mlir::Value v, mlir::Type element);
  mlir::Value stateAt(const State &state, mlir::Value turn, mlir::Value row, mlir::Value unit) {
    mlir::Value line = f.e.addIndex(f.e.mulIndex(turn, f.e.index(plan.rows)), row);
    return f.e.addIndex(f.e.mulIndex(line, f.e.index(state.width)), unit);
  }
  void forPoints(int64_t units, llvm::function_ref<void(mlir::Value row, mlir::Value unit)> body,
                 bool all = false);
  bool isLeft(unsigned number) const {
    return llvm::any_of(
        r.phases, [&](const Recurrence::Phase &phase) { return phase.left == r.stateIn(number); });
  }
  void leave(mlir::Value v, mlir::Value base, mlir::Value index, mlir::Value barrier);
  mlir::Value columnOf(const Recurrence::Phase &phase, prim::DotOp dot, mlir::Value column);

  void placeStates();
  mlir::Value weightsAt(const Recurrence::Phase &phase, const RecurrencePlan::Part &part,
                        const Products &p, mlir::Value n);
  void readWeights();
  void begin();
  mlir::Value leftChunk(unsigned phase, unsigned row, mlir::Value k);
  mlir::Value inTurn(unsigned number);
  void multiply(unsigned phase, mlir::Value turn);
  void finishTurn(mlir::Value turn);
  void emitTurn(mlir::Value turn);
  void readAhead(mlir::Operation *first);
  void finish();

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  Recurrence r;
  RecurrencePlan plan;
  mlir::VectorType pack;
  mlir::Value memory;
  int64_t used = 0;
  llvm::DenseMap<unsigned, State> states;
  llvm::SmallVector<Products> products;
  mlir::Value firstRow; ///< of the block
  mlir::Value here;     ///< which of the two a turn reads
  std::optional<ClusterExchange> exchange;
  mlir::Value firstUnit;                          ///< of the block
  mlir::Value stateBarriers, stateBarrier;        ///< of all turns, of this one
  mlir::Value localRow;                           ///< of what is evaluated, in the block
  llvm::SmallPtrSet<mlir::Operation *, 32> meets; ///< reads of what threads leave each other
};

} // namespace tcc::codegen::device
