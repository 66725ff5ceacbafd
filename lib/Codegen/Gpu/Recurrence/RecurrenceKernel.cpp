//===- RecurrenceKernel.cpp - All turns of a recurrent layer --------------===//
//
// A block takes a few rows of the batch through all turns. States lie in shared memory, twice: a
// turn reads the ones and writes the others. A turn is
//
// - for each group of products of one left operand: that operand, if it is no state, is computed
//   and left in shared memory; then each thread multiplies its part of a column's weights by it.
//   Weights stay where they are from before the first turn: as many as there is room for in
//   registers, the others in shared memory, each thread's beside those of its neighbours; what has
//   no room there either is read in every turn. Threads of a column add up by exchanges, and leave
//   the sum in shared memory;
// - what is computed from the sums, element by element, for each unit of the states, which also
//   writes the turn's place of the outputs.
//
// Blocks of a cluster share the units of the states: each has the weights of its own units'
// columns, and sends what it computes of a left operand to all of them. The states' barriers are
// two, because a block may send what the next turn reads before another one has everything of this
// turn. It cannot be further ahead, since it needs what that one sends; so no block writes what
// another still reads, nor to one that has ended.
//
// What a turn reads from memory does not depend on the turn before. It is read at the turn's
// beginning, wherever it is used, so that it comes while the products are made.
//
//===----------------------------------------------------------------------===//
#include "RecurrenceEmitter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <set>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

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

/// body(row of the block, unit) for all points of the block's rows and units, or of `all` units, a
/// thread each. Indices are safe in all threads, so that what is read by them may be read before it
/// is known whose they are.
void RecurrenceEmitter::forPoints(int64_t units, function_ref<void(Value, Value)> body, bool all) {
  bool shares = exchange && !all;
  int64_t own = shares ? plan.units : units, points = own * plan.rows;
  for (int64_t first = 0; first < points; first += plan.threads) {
    Value number = f.e.addIndex(f.thread, f.e.index(first));
    Value safe = f.minIndex(number, f.e.index(points - 1));
    Value row = f.e.divIndex(safe, f.e.index(own)), unit = f.e.remIndex(safe, f.e.index(own));
    if (plan.rows == 1) {
      row = f.e.index(0);
      unit = safe;
    }
    Value is = f.less(number, f.e.index(points));
    if (shares) {
      unit = f.e.addIndex(unit, firstUnit);
      if (own * plan.split != units) {
        is = arith::AndIOp::create(b, is, f.less(unit, f.e.index(units)));
        unit = f.minIndex(unit, f.e.index(units - 1));
      }
    }
    f.when(is, [&] {
      localRow = row;
      body(row, unit);
    });
  }
}

/// Element `index` of what all blocks have at `base`.
void RecurrenceEmitter::leave(Value v, Value base, Value index, Value barrier) {
  if (exchange)
    exchange->send(v, f.at(base, v.getType(), index), barrier);
  else
    write(v, base, index);
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
    auto begins = [&](Value row, Value unit) {
      Value global = f.minIndex(f.e.addIndex(firstRow, row), f.e.index(r.batch - 1));
      Value v = f.e.eval(init, {Coord::uniform(global), Coord::uniform(unit)});
      f.failed |= !v;
      if (v)
        write(v, states[number].base, stateAt(states[number], f.e.index(0), row, unit));
    };
    forPoints(r.units(number), begins, /*all=*/true);
  }
  if (!exchange)
    return f.barrier();
  for (const Products &p : products)
    if (p.barrier)
      exchange->makeBarriers(p.barrier, 1);
  stateBarriers = room(2 * ClusterExchange::bytesOfBarrier);
  exchange->makeBarriers(stateBarriers, 2);
  exchange->meet();
}

/// The states after the turn, and the turn's place of the outputs.
void RecurrenceEmitter::finishTurn(Value turn) {
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
      SmallVector<std::pair<unsigned, Value>> next;
      for (unsigned number : r.states)
        if (r.units(number) == units)
          next.push_back({number, valueOf(r.stateOut(number))});
      SmallVector<Value> outputs;
      for (const Recurrence::Sequence &s : r.sequences)
        outputs.push_back(tensorType(s.row).getDimSize(1) == units ? valueOf(s.row) : Value());
      // Whoever has what is left here may change what was read before.
      for (auto [number, v] : next) {
        if (!v)
          continue;
        v = rounded(v, tensorType(r.stateIn(number)).getElementType());
        Value place = stateAt(states[number], other, row, unit);
        isLeft(number) ? leave(v, states[number].base, place, stateBarrier)
                       : write(v, states[number].base, place);
      }
      for (auto [s, v] : llvm::zip(r.sequences, outputs)) {
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
  if (exchange)
    exchange->await(stateBarrier, f.e.remIndex(f.e.divIndex(turn, f.e.index(2)), f.e.index(2)));
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
  if (exchange) {
    int64_t bytes = 0;
    for (unsigned number : r.states)
      if (isLeft(number))
        bytes += r.units(number) * plan.rows * 4;
    stateBarrier = f.at(stateBarriers, b.getI64Type(), here);
    exchange->expect(stateBarrier, bytes);
  }
  Operation *first = arith::ConstantIndexOp::create(b, 0);
  for (unsigned phase = 0; phase < r.phases.size(); ++phase)
    multiply(phase, turn);
  finishTurn(turn);
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
  if (plan.split > 1) {
    exchange.emplace(f, plan.split);
    firstUnit = f.e.mulIndex(exchange->rank, f.e.index(plan.units));
  }
  Value number = exchange ? exchange->cluster : f.block;
  firstRow = f.e.mulIndex(number, f.e.index(plan.rows));
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
      r ? RecurrencePlan::of(*r, f.schedule.getRows(), f.schedule.getKept(), f.schedule.getSplit(),
                             f.schedule.getSharedBytes())
        : std::nullopt;
  if (!plan) {
    f.launch.emitError("a GPU has no kernel for this loop");
    f.failed = true;
    return;
  }
  RecurrenceEmitter(f, std::move(*r), std::move(*plan)).run();
}
