//===- GridPhases.cpp - Work of a grid in phases --------------------------===//
#include "GridPhases.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr auto kRelaxed = LLVM::AtomicOrdering::monotonic;
static constexpr llvm::StringLiteral kDevice = "device";

device::GridPhases::GridPhases(KernelFrame &f) : f(f), b(f.b) {
  leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0));
  drawn = f.shared(b.getI32Type(), 1, "drawn");
}

/// Each in 32 bytes of its own, which are what a cache reads.
Value device::GridPhases::counter(unsigned number) {
  constexpr unsigned kApart = 8;
  assert((number + 1) * kApart * sizeof(int32_t) <= kCounterBytes - kBesideBytes &&
         "too many phases");
  return f.at(f.scratch, b.getI32Type(), f.e.index(int64_t(number) * kApart));
}

/// What was there before one is added.
Value device::GridPhases::add(Value place) {
  return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, place, f.i32(1), kRelaxed, kDevice);
}

/// The block's next item; nobody of it reads the last one any more.
Value device::GridPhases::draw(Value tickets) {
  f.when(leads, [&] { LLVM::StoreOp::create(b, add(tickets), drawn); });
  f.barrier();
  return LLVM::LoadOp::create(b, b.getI32Type(), drawn);
}

void device::GridPhases::run(Value items, function_ref<void(Value)> body) {
  Value tickets = counter(counters++), done = counter(counters++),
        all = arith::IndexCastUIOp::create(b, b.getI32Type(), items);
  auto fence = [&] { LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, kDevice); };
  auto fewer = [&](Value x) {
    return Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, all));
  };
  auto some = [&](OpBuilder &, Location, ValueRange ticket) {
    scf::ConditionOp::create(b, fewer(ticket[0]), ticket);
  };
  auto work = [&](OpBuilder &, Location, ValueRange ticket) {
    f.e.nested([&] { body(arith::IndexCastUIOp::create(b, b.getIndexType(), ticket[0])); });
    f.barrier();
    f.when(leads, [&] {
      fence();
      add(done);
    });
    scf::YieldOp::create(b, draw(tickets));
  };
  Value first = draw(tickets);
  scf::WhileOp::create(b, TypeRange{b.getI32Type()}, ValueRange{first}, some, work);
  f.when(leads, [&] {
    auto notYet = [&](OpBuilder &, Location, ValueRange) {
      Value now = LLVM::LoadOp::create(b, b.getI32Type(), done, /*alignment=*/4,
                                       /*isVolatile=*/false, /*isNonTemporal=*/false,
                                       /*isInvariant=*/false, /*isInvariantGroup=*/false, kRelaxed,
                                       kDevice);
      scf::ConditionOp::create(b, fewer(now), ValueRange());
    };
    auto again = [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(b, ValueRange()); };
    scf::WhileOp::create(b, TypeRange(), ValueRange(), notYet, again);
    fence();
  });
  f.barrier();
  f.e.forget();
}

void device::GridPhases::finish(Value items, function_ref<void(Value)> body) {
  unsigned blocks = f.schedule.getSplit();
  f.loop(f.block, items, blocks, body);
  // Whoever is here draws no more.
  f.when(leads, [&] {
    Value before = add(counter(0));
    Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, before, f.i32(blocks - 1));
    f.when(last, [&] {
      for (unsigned i = 0; i < counters; ++i)
        LLVM::StoreOp::create(b, f.i32(0), counter(i));
    });
  });
}
