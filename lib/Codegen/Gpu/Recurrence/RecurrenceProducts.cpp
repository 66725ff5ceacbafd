//===- RecurrenceProducts.cpp - Products of a turn ------------------------===//
//
// A thread has its part of a column's weights in registers, and the rest of it in shared memory,
// from before the first turn, as far as there is room.
//
//===----------------------------------------------------------------------===//
#include "RecurrenceEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Where the sum of a product's column lies, which is one of the block's.
Value RecurrenceEmitter::columnOf(const Recurrence::Phase &phase, prim::DotOp dot, Value column) {
  if (exchange) {
    Value all = f.e.index(plan.allUnits), gate = f.e.divIndex(column, all);
    Value unit = f.e.subIndex(f.e.remIndex(column, all), firstUnit);
    column = f.e.addIndex(f.e.mulIndex(gate, f.e.index(plan.units)), unit);
  }
  return f.e.addIndex(column, f.e.index(plan.own(phase.offsetOf(dot))));
}

/// Chunk `n` of the weights of the thread's column, with zeros behind what is summed; null after an
/// error.
Value RecurrenceEmitter::weightsAt(const Recurrence::Phase &phase, const RecurrencePlan::Part &part,
                                   const Products &p, Value n) {
  bool whole = phase.inner % kChunk == 0;
  unsigned lanes = whole ? kChunk : 1;
  Type type = whole ? Type(pack) : b.getF32Type();
  Value own = f.e.addIndex(f.e.mulIndex(n, f.e.index(part.lanes)), p.lane);
  Value first = f.e.mulIndex(own, f.e.index(kChunk));
  f.e.setLanes(lanes);
  SmallVector<Value> pieces;
  for (unsigned i = 0; i < kChunk; i += lanes) {
    Value k = f.e.addIndex(first, f.e.index(i));
    Value safe = f.minIndex(k, f.e.index(phase.inner - lanes)), found;
    if (whole)
      f.e.bindAligned(safe);
    for (prim::DotOp dot : phase.products) {
      int64_t offset = plan.own(phase.offsetOf(dot));
      int64_t width = plan.own(tensorType(dot.getRhs()).getDimSize(0));
      Value own =
          arith::MaxSIOp::create(b, f.e.subIndex(p.column, f.e.index(offset)), f.e.index(0));
      own = f.minIndex(own, f.e.index(width - 1));
      if (exchange) {
        Value units = f.e.index(plan.units), gate = f.e.divIndex(own, units);
        Value unit = f.e.addIndex(f.e.remIndex(own, units), firstUnit);
        unit = f.minIndex(unit, f.e.index(plan.allUnits - 1));
        own = f.e.addIndex(f.e.mulIndex(gate, f.e.index(plan.allUnits)), unit);
      }
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
    p.weights = room(int64_t(part.near) * bytes * plan.threads);
    int64_t columns = plan.own(phase.columns);
    p.sums = room(plan.rows * columns * 4);
    bool isState =
        llvm::any_of(r.states, [&](unsigned number) { return r.stateIn(number) == phase.left; });
    if (!isState)
      p.left = room(int64_t(plan.rows) * part.width * 4);
    if (!isState && exchange)
      p.barrier = room(ClusterExchange::bytesOfBarrier);
    for (unsigned n = 0; n < part.kept + part.near; ++n) {
      Value found = weightsAt(phase, part, p, f.e.index(n));
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
      const Recurrence::Phase *of = &phase;
      f.e.bindProvider(dot.getResult(), [this, sums, of, dot, columns](ArrayRef<Coord> at) {
        Value place = f.e.addIndex(f.e.mulIndex(localRow, f.e.index(columns)),
                                   columnOf(*of, dot, at[1].base));
        return read(b.getF32Type(), sums, place, 4);
      });
    }
    products.push_back(std::move(p));
  }
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

/// `number`, which no compiler knows: what is read by it stays in its turn.
Value RecurrenceEmitter::inTurn(unsigned number) {
  auto hidden = LLVM::InlineAsmOp::create(
      b, b.getI32Type(), f.i32(number), "mov.u32 $0, $1;", "=r,r", /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
      ArrayAttr());
  return arith::IndexCastOp::create(b, b.getIndexType(), hidden.getRes());
}

/// The sums of a phase, for those who ask for them after the barrier.
void RecurrenceEmitter::multiply(unsigned phase, Value turn) {
  const Products &p = products[phase];
  const RecurrencePlan::Part &part = plan.parts[phase];
  if (p.left) {
    Type element = tensorType(r.phases[phase].left).getElementType();
    forPoints(r.phases[phase].inner, [&](Value row, Value unit) {
      Value global = f.minIndex(f.e.addIndex(firstRow, row), f.e.index(r.batch - 1));
      Value v = f.e.eval(r.phases[phase].left, {Coord::uniform(global), Coord::uniform(unit)});
      f.failed |= !v;
      if (v)
        leave(rounded(v, element), p.left,
              f.e.addIndex(f.e.mulIndex(row, f.e.index(part.width)), unit), p.barrier);
    });
    if (exchange) {
      exchange->expect(p.barrier, r.phases[phase].inner * plan.rows * 4);
      exchange->await(p.barrier, f.e.remIndex(turn, f.e.index(2)));
    } else {
      f.barrier();
    }
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
  unsigned inLoop = part.near / kTogether * kTogether;
  auto loopOver = [&](Value begin, Value end, auto &&body) {
    auto loop = scf::ForOp::create(b, begin, end, f.e.index(kTogether), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    f.e.nested([&] {
      body(loop.getInductionVar(), next);
      return 0;
    });
    scf::YieldOp::create(b, next);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  };
  if (inLoop >= kMany)
    loopOver(f.e.index(part.kept), f.e.index(part.kept + inLoop),
             [&](Value n, SmallVectorImpl<Value> &next) {
               for (unsigned i = 0; i < kTogether; ++i)
                 addShared(f.e.addIndex(n, f.e.index(i)), next);
             });
  else
    inLoop = 0;
  unsigned far = part.kept + part.near;
  for (unsigned n = part.kept + inLoop; n < far; ++n)
    addShared(f.e.index(n), sums);
  // All are read before one is multiplied. A step past the last chunk adds zeros.
  if (far < part.chunks)
    loopOver(inTurn(far), f.e.index(part.chunks), [&](Value n, SmallVectorImpl<Value> &next) {
      SmallVector<std::pair<Value, Value>> found;
      for (unsigned i = 0; i < kTogether; ++i) {
        Value chunk = f.e.addIndex(n, f.e.index(i));
        Value safe = f.minIndex(chunk, f.e.index(part.chunks - 1));
        found.push_back({safe, weightsAt(r.phases[phase], part, p, safe)});
        if (!found.back().second)
          return;
        if ((part.chunks - far) % kTogether == 0)
          continue;
        Value none = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(p.chunk)));
        found.back().second = arith::SelectOp::create(b, f.less(chunk, f.e.index(part.chunks)),
                                                      found.back().second, none);
      }
      for (auto [chunk, weights] : found)
        addChunk(chunk, weights, next);
    });
  int64_t columns = plan.own(r.phases[phase].columns);
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, p.lane, f.e.index(0));
  Value stores = arith::AndIOp::create(b, first, f.less(p.column, f.e.index(columns)));
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
      write(total, p.sums, f.e.addIndex(f.e.index(int64_t(row) * columns), p.column));
  });
  f.barrier();
  f.e.forget();
}
