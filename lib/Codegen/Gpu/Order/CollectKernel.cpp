//===- CollectKernel.cpp - What a condition selects, in order -------------===//
//
// A warp looks at 32 neighbours at a time: each lane's place among the hits is the number of hits
// of the lanes before it. Where the number of elements is known, each warp of the grid has a run of
// them: all first count their hits, then each goes on from those of the runs before its own.
//
//===----------------------------------------------------------------------===//
#include "../GridPhases.h"
#include "../ScheduleChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr unsigned kOwn = 8; ///< elements that a lane reads at once

namespace {

/// Runs of warps: `rounds` times 32 kOwn elements each, `warps` of them a chunk.
struct Runs {
  static constexpr unsigned threads = 256; ///< of a block
  static constexpr int64_t warps = threads / GpuArch::warp;
  int64_t rounds, chunks;
  static Runs of(int64_t elements) {
    constexpr int64_t kRound = warps * GpuArch::warp * kOwn, kMostChunks = 1024;
    int64_t all = llvm::divideCeil(elements, kRound), rounds = llvm::divideCeil(all, kMostChunks);
    return {rounds, int64_t(llvm::divideCeil(all, rounds))};
  }
};

class Collector {
public:
  explicit Collector(device::KernelFrame &f)
      : f(f), b(f.b), op(cast<prim::NonzeroOp>(specialOf(f.launch))),
        extents(extentsOf(f, op.getX())), total(f.volume(extents)),
        lane(f.e.remIndex(f.thread, f.e.index(GpuArch::warp))) {}
  void byOneWarp();
  void byAllBlocks();

private:
  struct Hit {
    Coords at;
    Value hit, bits; ///< of the lane's element, of all of the warp
  };
  Hit look(Value position);
  Value count(Value bits) {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), math::CtPopOp::create(b, bits));
  }
  Value collect(const Hit &element, Value place);
  Value walk(Value run, int64_t rounds, Value from, bool stores);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::NonzeroOp op;
  SmallVector<Value> extents;
  Value total, lane;
};

} // namespace

/// The element at `position`, which may lie behind the last one.
Collector::Hit Collector::look(Value position) {
  Value inside = f.less(position, total);
  Value safe = f.minIndex(position, f.e.subIndex(total, f.e.index(1)));
  Hit element;
  for (Value i : f.delinearize(safe, extents))
    element.at.push_back(Coord::uniform(i));
  Value v = f.e.eval(op.getX(), element.at);
  if (!v) {
    f.failed = true;
    return element;
  }
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
  Value hit = isa<FloatType>(tensorType(op.getX()).getElementType())
                  ? Value(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, v, zero))
                  : Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero));
  element.hit = arith::AndIOp::create(b, hit, inside);
  return element;
}

/// The warp's hits go to `place` and after it; gives what comes next.
Value Collector::collect(const Hit &element, Value place) {
  Value number = arith::IndexCastUIOp::create(b, b.getI32Type(), lane);
  Value below = arith::SubIOp::create(b, arith::ShLIOp::create(b, f.i32(1), number), f.i32(1));
  Value own = f.e.addIndex(place, count(arith::AndIOp::create(b, element.bits, below)));
  f.when(element.hit, [&] {
    for (auto [axis, c] : llvm::enumerate(element.at)) {
      Coord to[] = {Coord::uniform(f.e.index(axis)), Coord::uniform(own)};
      f.e.store(f.results[0], to, arith::IndexCastOp::create(b, b.getI64Type(), c.base));
    }
  });
  return f.e.addIndex(place, count(element.bits));
}

/// The warp's run number `run`, whose hits `from` others come before: with it, how many.
Value Collector::walk(Value run, int64_t rounds, Value from, bool stores) {
  constexpr int64_t kRound = int64_t(GpuArch::warp) * kOwn;
  Value begin = f.e.mulIndex(run, f.e.index(rounds * kRound));
  auto loop = scf::ForOp::create(b, f.e.index(0), f.e.index(rounds), f.e.index(1), from);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next = f.e.nested([&]() -> Value {
    Value place = loop.getRegionIterArg(0);
    Value first = f.e.addIndex(f.e.addIndex(begin, lane),
                               f.e.mulIndex(loop.getInductionVar(), f.e.index(kRound)));
    SmallVector<Hit> elements;
    for (unsigned i = 0; i < kOwn; ++i) {
      elements.push_back(look(f.e.addIndex(first, f.e.index(int64_t(i) * GpuArch::warp))));
      if (f.failed)
        return place;
    }
    for (Hit &element : elements) {
      element.bits = NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(-1), element.hit,
                                              NVVM::VoteSyncKind::ballot);
      place = stores ? collect(element, place) : f.e.addIndex(place, count(element.bits));
    }
    return place;
  });
  scf::YieldOp::create(b, next);
  return loop.getResult(0);
}

void Collector::byOneWarp() {
  Value step = f.e.index(GpuArch::warp);
  auto loop = scf::ForOp::create(b, f.e.index(0), total, step, ValueRange{f.e.index(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value place = loop.getRegionIterArg(0);
  Value next = f.e.nested([&]() -> Value {
    Hit element = look(f.e.addIndex(loop.getInductionVar(), lane));
    if (f.failed)
      return place;
    element.bits = NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(-1), element.hit,
                                            NVVM::VoteSyncKind::ballot);
    return collect(element, place);
  });
  scf::YieldOp::create(b, next);
}

void Collector::byAllBlocks() {
  Type i32 = b.getI32Type(), index = b.getIndexType();
  Runs runs = Runs::of(tensorType(op.getX()).getNumElements());
  Value warps = f.e.index(Runs::warps), none = f.e.index(0);
  Value warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, none);
  Value counts = f.shared(i32, Runs::warps, "counts");
  auto hitsOf = [&](Value run) { return f.scratchAt(0, i32, run); };
  device::GridPhases phases(f);
  phases.run(runs.chunks, [&](Value chunk) {
    Value run = f.e.addIndex(f.e.mulIndex(chunk, warps), warp);
    Value hits = walk(run, runs.rounds, none, /*stores=*/false);
    f.when(leads, [&] {
      LLVM::StoreOp::create(b, arith::IndexCastUIOp::create(b, i32, hits), hitsOf(run));
    });
  });
  phases.finish(runs.chunks, [&](Value chunk) {
    // What all runs before the warp's own have: those of other chunks by the block's threads.
    Value first = f.e.mulIndex(chunk, warps);
    auto earlier =
        scf::ForOp::create(b, f.thread, first, f.e.index(Runs::threads), ValueRange{f.i32(0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(earlier.getBody());
      Value more = LLVM::LoadOp::create(b, i32, hitsOf(earlier.getInductionVar()));
      scf::YieldOp::create(b,
                           ValueRange{arith::AddIOp::create(b, earlier.getRegionIterArg(0), more)});
    }
    Value sum = reduceWarp(b, earlier.getResult(0), prim::ReduceKind::sum, i32);
    f.when(leads, [&] { LLVM::StoreOp::create(b, sum, f.at(counts, i32, warp)); });
    f.barrier();
    Value before = f.i32(0);
    for (int64_t i = 0; i < Runs::warps; ++i) {
      Value number = f.e.index(i);
      before =
          arith::AddIOp::create(b, before, LLVM::LoadOp::create(b, i32, f.at(counts, i32, number)));
      Value own = LLVM::LoadOp::create(b, i32, hitsOf(f.e.addIndex(first, number)));
      before = arith::AddIOp::create(
          b, before, arith::SelectOp::create(b, f.less(number, warp), own, f.i32(0)));
    }
    f.barrier(); // the next chunk's go there
    walk(f.e.addIndex(first, warp), runs.rounds, arith::IndexCastUIOp::create(b, index, before),
         /*stores=*/true);
  });
}

void device::scheduleCollect(ScheduleChoice &s, prim::NonzeroOp op, const GpuArch &arch) {
  constexpr int64_t kFew = 512, kMost = int64_t(1) << 31; // elements
  s.form = Form::Collect;
  s.threads = GpuArch::warp;
  RankedTensorType x = tensorType(op.getX());
  if (!x.hasStaticShape() || x.getNumElements() <= kFew || x.getNumElements() >= kMost)
    return;
  constexpr int64_t kBlocks = 4; // of a multiprocessor
  Runs runs = Runs::of(x.getNumElements());
  s.threads = Runs::threads;
  s.split = unsigned(std::min(runs.chunks, arch.multiprocessors * kBlocks));
  s.scratchBytes = unsigned(kCounterBytes + runs.chunks * Runs::warps * int64_t(sizeof(int32_t)));
}

void device::emitCollectKernel(KernelFrame &f) {
  Collector collector(f);
  if (f.schedule.getScratchBytes())
    collector.byAllBlocks();
  else
    collector.byOneWarp();
}
