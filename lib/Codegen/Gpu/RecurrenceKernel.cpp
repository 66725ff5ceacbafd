//===- RecurrenceKernel.cpp - All turns of a recurrent layer --------------===//
//
// A block takes a few rows of the batch through all turns. States lie in shared memory, twice: a
// turn reads the ones and writes the others. A turn is
//
// - for each group of products of one left operand: that operand, if it is no state, is computed
//   and left in shared memory; then each thread multiplies its part of a column's weights by it.
//   Weights stay where they are from before the first turn: as many as there is room for in
//   registers, the others in shared memory, each thread's beside those of its neighbours. Threads
//   of a column add up by exchanges, and leave the sum in shared memory;
// - what is computed from the sums, element by element, for each unit of the states, which also
//   writes the turn's place of the outputs.
//
// What a turn reads from memory does not depend on the turn before. It is read at the turn's
// beginning, wherever it is used, so that it comes while the products are made.
//
//===----------------------------------------------------------------------===//
#include "Recurrence.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include <set>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class RecurrenceEmitter {
public:
  RecurrenceEmitter(KernelFrame &f, Recurrence recurrence, RecurrencePlan plan)
      : f(f), b(f.b), r(std::move(recurrence)), plan(std::move(plan)),
        pack(VectorType::get({kChunk}, b.getF32Type())), memory(f.dynamicShared()) {}
  void run();

private:
  static constexpr unsigned kChunk = RecurrencePlan::chunk;

  /// Shared memory of a state: [2][rows][width].
  struct State {
    Value base;
    int64_t width;
  };
  /// Of a phase, and the thread's part of it.
  struct Products {
    Value left, weights, sums; ///< left: null where it is a state
    Value column, lane;
    SmallVector<Value> kept;
    VectorType chunk; ///< of weights
  };

  Value room(int64_t bytes);
  Value real(double v) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(v))); }
  Value read(Type type, Value base, Value index, unsigned aligned);
  void write(Value v, Value base, Value index) {
    LLVM::StoreOp::create(b, v, f.at(base, v.getType(), index));
  }
  Value rounded(Value v, Type element);
  Value stateAt(const State &state, Value turn, Value row, Value unit) {
    Value line = f.e.addIndex(f.e.mulIndex(turn, f.e.index(plan.rows)), row);
    return f.e.addIndex(f.e.mulIndex(line, f.e.index(state.width)), unit);
  }
  void forPoints(int64_t units, llvm::function_ref<void(Value row, Value unit)> body);

  void placeStates();
  Value weightsAt(const Recurrence::Phase &phase, const RecurrencePlan::Part &part,
                  const Products &p, unsigned n);
  void readWeights();
  void begin();
  Value leftChunk(unsigned phase, unsigned row, Value k);
  void multiply(unsigned phase);
  void finishTurn();
  void emitTurn(Value turn);
  void readAhead(Operation *first);
  void finish();

  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Recurrence r;
  RecurrencePlan plan;
  VectorType pack;
  Value memory;
  int64_t used = 0;
  DenseMap<unsigned, State> states;
  SmallVector<Products> products;
  Value firstRow;                     ///< of the block
  Value here;                         ///< which of the two a turn reads
  Value localRow;                     ///< of what is evaluated, in the block
  SmallPtrSet<Operation *, 32> meets; ///< reads of what threads leave each other
};

} // namespace

Value RecurrenceEmitter::room(int64_t bytes) {
  Value base = LLVM::GEPOp::create(b, memory.getType(), b.getI8Type(), memory,
                                   ArrayRef<LLVM::GEPArg>{int32_t(used)});
  used += int64_t(llvm::alignTo(bytes, GpuArch::accessBytes));
  return base;
}

Value RecurrenceEmitter::read(Type type, Value base, Value index, unsigned aligned) {
  auto load = LLVM::LoadOp::create(b, type, f.at(base, b.getF32Type(), index), aligned);
  meets.insert(load);
  return load;
}

/// As a tensor of `element` would have it.
Value RecurrenceEmitter::rounded(Value v, Type element) {
  if (element.isF32())
    return v;
  Value narrow = arith::TruncFOp::create(b, element, v);
  return arith::ExtFOp::create(b, b.getF32Type(), narrow);
}

/// body(row of the block, unit) for all points of the block's rows, a thread each. Indices are safe
/// in all threads, so that what is read by them may be read before it is known whose they are.
void RecurrenceEmitter::forPoints(int64_t units, function_ref<void(Value, Value)> body) {
  int64_t all = units * plan.rows;
  for (int64_t first = 0; first < all; first += plan.threads) {
    Value number = f.e.addIndex(f.thread, f.e.index(first));
    Value safe = f.minIndex(number, f.e.index(all - 1));
    Value row = f.e.divIndex(safe, f.e.index(units)), unit = f.e.remIndex(safe, f.e.index(units));
    if (plan.rows == 1) {
      row = f.e.index(0);
      unit = safe;
    }
    f.when(f.less(number, f.e.index(all)), [&] {
      localRow = row;
      body(row, unit);
    });
  }
}

void RecurrenceEmitter::placeStates() {
  for (unsigned number : r.states) {
    int64_t width = r.units(number);
    for (auto [phase, part] : llvm::zip(r.phases, plan.parts))
      if (phase.left == r.stateIn(number))
        width = std::max<int64_t>(width, part.width);
    width = int64_t(llvm::alignTo(width, kChunk));
    State state{room(2 * plan.rows * width * 4), width};
    states[number] = state;
    f.e.bindProvider(r.stateIn(number), [this, state](ArrayRef<Coord> at) {
      return read(b.getF32Type(), state.base, stateAt(state, here, localRow, at[1].base), 4);
    });
  }
}

/// Chunk `n` of the weights of the thread's column, with zeros behind what is summed; null after an
/// error.
Value RecurrenceEmitter::weightsAt(const Recurrence::Phase &phase, const RecurrencePlan::Part &part,
                                   const Products &p, unsigned n) {
  bool whole = phase.inner % kChunk == 0;
  unsigned lanes = whole ? kChunk : 1;
  Type type = whole ? Type(pack) : b.getF32Type();
  Value first = f.e.mulIndex(f.e.addIndex(f.e.index(n * part.lanes), p.lane), f.e.index(kChunk));
  f.e.setLanes(lanes);
  SmallVector<Value> pieces;
  for (unsigned i = 0; i < kChunk; i += lanes) {
    Value k = f.e.addIndex(first, f.e.index(i));
    Value safe = f.minIndex(k, f.e.index(phase.inner - lanes)), found;
    if (whole)
      f.e.bindAligned(safe);
    for (prim::DotOp dot : phase.products) {
      int64_t offset = phase.offsetOf(dot), width = tensorType(dot.getRhs()).getDimSize(0);
      Value own =
          arith::MaxSIOp::create(b, f.e.subIndex(p.column, f.e.index(offset)), f.e.index(0));
      own = f.minIndex(own, f.e.index(width - 1));
      Coord along = whole ? Coord::affine(safe, 1) : Coord::uniform(safe);
      Value v = f.e.evalVector(dot.getRhs(), {Coord::uniform(own), along});
      f.failed |= !v;
      if (!v)
        return {};
      Value before = f.less(p.column, f.e.index(offset));
      found = found ? Value(arith::SelectOp::create(b, before, found, v)) : v;
    }
    if (int64_t(part.width) != phase.inner) {
      Value none = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
      found = arith::SelectOp::create(b, f.less(k, f.e.index(phase.inner)), found, none);
    }
    pieces.push_back(found);
  }
  f.e.setLanes(1);
  Value all = whole ? pieces[0] : Value(vector::FromElementsOp::create(b, pack, pieces));
  return p.chunk == pack ? all : Value(arith::TruncFOp::create(b, p.chunk, all));
}

/// The thread's weights of each phase, and where its sums go.
void RecurrenceEmitter::readWeights() {
  for (auto [phase, part] : llvm::zip(r.phases, plan.parts)) {
    Products p;
    p.column = f.e.divIndex(f.thread, f.e.index(part.lanes));
    p.lane = f.e.remIndex(f.thread, f.e.index(part.lanes));
    p.chunk = VectorType::get({kChunk}, storageType(phase.element()));
    unsigned bytes = kChunk * tcc::elementBytes(phase.element());
    p.weights = room(int64_t(part.chunks - part.kept) * bytes * plan.threads);
    p.sums = room(plan.rows * phase.columns * 4);
    bool isState =
        llvm::any_of(r.states, [&](unsigned number) { return r.stateIn(number) == phase.left; });
    if (!isState)
      p.left = room(int64_t(plan.rows) * part.width * 4);
    for (unsigned n = 0; n < part.chunks; ++n) {
      Value found = weightsAt(phase, part, p, n);
      if (!found)
        return;
      if (n < part.kept) {
        p.kept.push_back(found);
        continue;
      }
      Value place = f.e.addIndex(f.e.index(int64_t(n - part.kept) * plan.threads), f.thread);
      LLVM::StoreOp::create(b, found, f.at(p.weights, p.chunk, place), bytes);
    }
    for (prim::DotOp dot : phase.products) {
      Value sums = p.sums;
      int64_t offset = phase.offsetOf(dot), columns = phase.columns;
      f.e.bindProvider(dot.getResult(), [this, sums, offset, columns](ArrayRef<Coord> at) {
        Value place = f.e.addIndex(f.e.mulIndex(localRow, f.e.index(columns)),
                                   f.e.addIndex(at[1].base, f.e.index(offset)));
        return read(b.getF32Type(), sums, place, 4);
      });
    }
    products.push_back(std::move(p));
  }
}

/// Zeros behind what is summed, and the states before the first turn.
void RecurrenceEmitter::begin() {
  auto clear = [&](Value base, int64_t count) {
    f.loop(f.thread, f.e.index(count), plan.threads, [&](Value i) { write(real(0), base, i); });
  };
  for (unsigned number : r.states)
    clear(states[number].base, 2 * plan.rows * states[number].width);
  for (auto [p, part] : llvm::zip(products, plan.parts))
    if (p.left)
      clear(p.left, int64_t(plan.rows) * part.width);
  f.barrier();
  for (unsigned number : r.states) {
    Value init = r.loop.getInits()[number];
    forPoints(r.units(number), [&](Value row, Value unit) {
      Value global = f.minIndex(f.e.addIndex(firstRow, row), f.e.index(r.batch - 1));
      Value v = f.e.eval(init, {Coord::uniform(global), Coord::uniform(unit)});
      f.failed |= !v;
      if (v)
        write(v, states[number].base, stateAt(states[number], f.e.index(0), row, unit));
    });
  }
  f.barrier();
}

Value RecurrenceEmitter::leftChunk(unsigned phase, unsigned row, Value k) {
  if (Value left = products[phase].left)
    return read(pack, left, f.e.addIndex(f.e.index(row * plan.parts[phase].width), k),
                GpuArch::accessBytes);
  for (unsigned number : r.states)
    if (r.stateIn(number) == r.phases[phase].left)
      return read(pack, states[number].base, stateAt(states[number], here, f.e.index(row), k),
                  GpuArch::accessBytes);
  llvm_unreachable("a left operand is a state or has room of its own");
}

/// The sums of a phase, for those who ask for them after the barrier.
void RecurrenceEmitter::multiply(unsigned phase) {
  const Products &p = products[phase];
  const RecurrencePlan::Part &part = plan.parts[phase];
  if (p.left) {
    Type element = tensorType(r.phases[phase].left).getElementType();
    forPoints(r.phases[phase].inner, [&](Value row, Value unit) {
      Value global = f.minIndex(f.e.addIndex(firstRow, row), f.e.index(r.batch - 1));
      Value v = f.e.eval(r.phases[phase].left, {Coord::uniform(global), Coord::uniform(unit)});
      f.failed |= !v;
      if (v)
        write(rounded(v, element), p.left,
              f.e.addIndex(f.e.mulIndex(row, f.e.index(part.width)), unit));
    });
    f.barrier();
  }
  SmallVector<Value> sums(plan.rows,
                          arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(pack))));
  auto addChunk = [&](Value n, Value w, SmallVectorImpl<Value> &sums) {
    if (p.chunk != pack)
      w = arith::ExtFOp::create(b, pack, w);
    Value own = f.e.addIndex(f.e.mulIndex(n, f.e.index(part.lanes)), p.lane);
    Value k = f.e.mulIndex(own, f.e.index(kChunk));
    for (unsigned row = 0; row < plan.rows; ++row)
      sums[row] = math::FmaOp::create(b, w, leftChunk(phase, row, k), sums[row]);
  };
  auto addShared = [&](Value n, SmallVectorImpl<Value> &sums) {
    Value number = f.e.subIndex(n, f.e.index(part.kept));
    Value place = f.e.addIndex(f.e.mulIndex(number, f.e.index(plan.threads)), f.thread);
    auto load =
        LLVM::LoadOp::create(b, p.chunk, f.at(p.weights, p.chunk, place), p.chunk == pack ? 16 : 8);
    meets.insert(load);
    addChunk(n, load, sums);
  };
  for (unsigned n = 0; n < part.kept; ++n)
    addChunk(f.e.index(n), p.kept[n], sums);
  // Of many a few at a time: ptxas would read too many at once.
  constexpr unsigned kTogether = 4, kMany = 20;
  unsigned inLoop = (part.chunks - part.kept) / kTogether * kTogether;
  if (inLoop >= kMany) {
    auto loop = scf::ForOp::create(b, f.e.index(part.kept), f.e.index(part.kept + inLoop),
                                   f.e.index(kTogether), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    f.e.nested([&] {
      for (unsigned i = 0; i < kTogether; ++i)
        addShared(f.e.addIndex(loop.getInductionVar(), f.e.index(i)), next);
      return 0;
    });
    scf::YieldOp::create(b, next);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  } else {
    inLoop = 0;
  }
  for (unsigned n = part.kept + inLoop; n < part.chunks; ++n)
    addShared(f.e.index(n), sums);
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, p.lane, f.e.index(0));
  Value stores =
      arith::AndIOp::create(b, first, f.less(p.column, f.e.index(r.phases[phase].columns)));
  SmallVector<Value> totals;
  for (Value sum : sums) {
    Value total;
    for (int64_t i = 0; i < int64_t(kChunk); ++i) {
      Value v = vector::ExtractOp::create(b, sum, i);
      total = total ? Value(arith::AddFOp::create(b, total, v)) : v;
    }
    totals.push_back(reduceWarp(b, total, prim::ReduceKind::sum, b.getF32Type(), part.lanes));
  }
  f.when(stores, [&] {
    for (auto [row, total] : llvm::enumerate(totals))
      write(total, p.sums,
            f.e.addIndex(f.e.index(int64_t(row) * r.phases[phase].columns), p.column));
  });
  f.barrier();
  f.e.forget();
}

/// The states after the turn, and the turn's place of the outputs.
void RecurrenceEmitter::finishTurn() {
  std::set<int64_t> widths;
  for (unsigned number : r.states)
    widths.insert(r.units(number));
  for (const Recurrence::Sequence &s : r.sequences)
    widths.insert(tensorType(s.row).getDimSize(1));
  Value other = f.e.subIndex(f.e.index(1), here);
  for (int64_t units : widths)
    forPoints(units, [&](Value row, Value unit) {
      Value own = f.e.addIndex(firstRow, row);
      Value global = f.minIndex(own, f.e.index(r.batch - 1));
      SmallVector<Coord, 2> at{Coord::uniform(global), Coord::uniform(unit)};
      auto valueOf = [&](Value wanted) {
        Value v = f.e.eval(wanted, at);
        f.failed |= !v;
        return v;
      };
      for (unsigned number : r.states)
        if (r.units(number) == units)
          if (Value v = valueOf(r.stateOut(number)))
            write(rounded(v, tensorType(r.stateIn(number)).getElementType()), states[number].base,
                  stateAt(states[number], other, row, unit));
      for (const Recurrence::Sequence &s : r.sequences) {
        Value v = tensorType(s.row).getDimSize(1) == units ? valueOf(s.row) : Value();
        if (!v)
          continue;
        OpFoldResult start = prim::InsertSliceOp(s.part).getMixedStarts()[s.axis];
        auto constant = getConstantIntValue(start);
        Coords place(at.begin(), at.end());
        place.insert(
            place.begin() + s.axis,
            Coord::uniform(constant ? f.e.index(*constant) : f.e.scalar(cast<Value>(start))));
        f.when(f.less(own, f.e.index(r.batch)), [&] {
          for (auto [memory, yielded] : llvm::zip(f.results, f.yield().getValues()))
            if (yielded == r.loop.getResult(s.number))
              f.e.store(memory, place, v);
        });
      }
    });
  f.barrier();
}

/// Moves what depends on nothing that threads leave each other before `first`.
void RecurrenceEmitter::readAhead(Operation *first) {
  Block *block = first->getBlock();
  SmallVector<Operation *> all;
  for (Operation &op : llvm::make_range(std::next(first->getIterator()), block->end())) {
    all.push_back(&op);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (Operation &inner : *branch.thenBlock())
        all.push_back(&inner);
  }
  SmallPtrSet<Operation *, 32> moved;
  auto isThere = [&](Value v) {
    Operation *op = v.getDefiningOp();
    return !op || moved.contains(op) || !block->getParentOp()->isAncestor(op) ||
           (op->getBlock() == block && op->isBeforeInBlock(first));
  };
  for (Operation *op : all) {
    auto load = dyn_cast<LLVM::LoadOp>(op);
    bool may = load ? !meets.contains(op)
                    : isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>();
    if (op->getNumRegions() || !may || !llvm::all_of(op->getOperands(), isThere))
      continue;
    op->moveBefore(first);
    moved.insert(op);
  }
}

void RecurrenceEmitter::emitTurn(Value turn) {
  here = f.e.remIndex(turn, f.e.index(2));
  f.e.bindScalar(r.stateIn(r.counter), turn);
  Operation *first = arith::ConstantIndexOp::create(b, 0);
  for (unsigned phase = 0; phase < r.phases.size(); ++phase)
    multiply(phase);
  finishTurn();
  readAhead(first);
}

void RecurrenceEmitter::finish() {
  here = f.e.index(r.turns % 2);
  f.e.forget();
  for (unsigned number : r.states)
    for (auto [memory, yielded] : llvm::zip(f.results, f.yield().getValues())) {
      if (yielded != r.loop.getResult(number))
        continue;
      forPoints(r.units(number), [&](Value row, Value unit) {
        Value own = f.e.addIndex(firstRow, row);
        Value v =
            read(b.getF32Type(), states[number].base, stateAt(states[number], here, row, unit), 4);
        f.when(f.less(own, f.e.index(r.batch)),
               [&] { f.e.store(memory, {Coord::uniform(own), Coord::uniform(unit)}, v); });
      });
    }
}

void RecurrenceEmitter::run() {
  // ptxas would rather spill than have fewer blocks.
  f.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  firstRow = f.e.mulIndex(f.block, f.e.index(plan.rows));
  placeStates();
  readWeights();
  if (f.failed)
    return;
  begin();
  f.loop(f.e.index(0), f.e.index(r.turns), 1, [&](Value turn) { emitTurn(turn); });
  finish();
}

void device::emitRecurrenceKernel(KernelFrame &f) {
  std::optional<Recurrence> r = Recurrence::of(loopOf(f.launch));
  std::optional<RecurrencePlan> plan =
      r ? RecurrencePlan::of(*r, f.schedule.getRows(), f.schedule.getKept()) : std::nullopt;
  if (!plan) {
    f.launch.emitError("a GPU has no kernel for this loop");
    f.failed = true;
    return;
  }
  RecurrenceEmitter(f, std::move(*r), std::move(*plan)).run();
}
