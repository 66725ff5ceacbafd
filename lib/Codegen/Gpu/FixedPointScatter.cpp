//===- FixedPointScatter.cpp - Sums of f32 in any order -------------------===//
//
// Integers add up to the same in whatever order they come, so memory can add them, and results
// repeat. Of each element the largest of its updates is found first; then all of them are added as
// multiples of a unit so small that as many as can meet there do not leave 64 bits:
//
//   most updates of an element    2^16        2^22        2^28
//   bits of the largest one       46          40          34       (f32 has 24)
//
// So a sum is off by less than sums in order are, which lose what is below 24 bits of what has been
// summed up. What the tensor had there is added last, and the total rounded once.
//
//   phases   clear the sums -> the largest of each element -> add -> write the results
//
// Infinities are counted in the sum, each sign in half of it; a NaN is larger than all else. Where
// few elements have many updates, each has several sums, which are added up in the end; and a warp
// all of whose updates go to one element adds them up before.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr unsigned kInFlight = 4; // updates of a thread
constexpr int64_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000, kMantissaBits = 23;

int64_t device::UpdateList::copies() const {
  constexpr int64_t kSums = 16384, kMost = 32, kMany = 64; // sums apart; updates of an element
  int64_t elements = slots * points, wanted = kSums / elements;
  bool meets = wanted > 1 && updates / slots >= kMany;
  return meets ? int64_t(llvm::bit_floor(uint64_t(std::min(wanted, kMost)))) : 1;
}

/// The bits of an element's largest update; the sign is beside them.
static int64_t bitsOf(const device::UpdateList &list) {
  return 62 - int64_t(llvm::Log2_64_Ceil(uint64_t(list.meeting)));
}

/// Of the largest update, its magnitude plus one; 0: there is none.
Value SortedScatter::largestAt(Value element) {
  return f.scratchAt(scratch.largest, b.getI32Type(), element);
}

Value SortedScatter::fixedSumAt(Value element, Value copy) {
  Value number = f.e.addIndex(f.e.mulIndex(copy, f.e.index(list.slots * list.points)), element);
  return f.scratchAt(scratch.sums, b.getI64Type(), number);
}

/// Updates `first` plus the thread's own number, and every so many behind it.
SmallVector<SortedScatter::Update> SortedScatter::updatesFrom(Value first) {
  f.e.forget();
  int64_t all = list.updates * list.points;
  SmallVector<Update> found;
  SmallVector<std::pair<Value, Value>> places;
  Value points = f.e.index(list.points);
  for (unsigned i = 0; i < kInFlight; ++i) {
    Value number = f.e.addIndex(f.e.addIndex(first, f.thread),
                                f.e.index(int64_t(i) * device::GridSortSizes::threads));
    Value safe = f.minIndex(number, f.e.index(all - 1));
    Value update = f.e.divIndex(safe, points), point = f.e.remIndex(safe, points);
    Value slot = arith::IndexCastUIOp::create(b, b.getIndexType(), slotOf(update));
    Value inside = arith::AndIOp::create(b, f.less(number, f.e.index(all)),
                                         f.less(slot, f.e.index(list.slots)));
    found.push_back({f.e.addIndex(f.e.mulIndex(slot, points), point), inside, {}});
    places.push_back({update, point});
  }
  for (auto [update, place] : llvm::zip(found, places))
    update.v = read(updates, source(place.first, place.second));
  return found;
}

/// A block's part of the updates; all its threads are in `body`.
void SortedScatter::forUpdates(Value item, int64_t items, function_ref<void(const Update &)> body) {
  constexpr int64_t kTogether = int64_t(device::GridSortSizes::threads) * kInFlight;
  Value first = f.e.mulIndex(item, f.e.index(kTogether));
  f.loop(first, f.e.index(list.updates * list.points), items * kTogether, [&](Value begin) {
    for (const Update &update : updatesFrom(begin))
      if (update.v)
        body(update);
  });
}

void SortedScatter::clearFixedSums(Value item, int64_t items) {
  Value nothing = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  forParts(item, items, list.slots * list.points, [&](Value element) {
    LLVM::StoreOp::create(b, f.i32(0), largestAt(element));
    for (int64_t copy = 0; copy < list.copies(); ++copy)
      LLVM::StoreOp::create(b, nothing, fixedSumAt(element, f.e.index(copy)));
  });
}

/// What is no larger than another is not written, which most are not where many meet.
void SortedScatter::noteLargest(const Update &update) {
  f.when(update.inside, [&] {
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), update.v);
    Value magnitude = arith::AndIOp::create(b, bits, f.i32(kMagnitude));
    Value noted = arith::AddIOp::create(b, magnitude, f.i32(1)), at = largestAt(update.element);
    Value there = LLVM::LoadOp::create(b, b.getI32Type(), at, /*alignment=*/4,
                                       /*isVolatile=*/false, /*isNonTemporal=*/false,
                                       /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                       LLVM::AtomicOrdering::monotonic, "device");
    Value larger = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, there, noted);
    f.when(larger, [&] {
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umax, at, noted,
                                LLVM::AtomicOrdering::monotonic, "device");
    });
  });
}

/// Of the bits of a magnitude: the exponent, that of subnormal numbers being 1.
static Value exponentOf(KernelFrame &f, Value magnitude) {
  Value field = arith::ShRUIOp::create(f.b, magnitude, f.i32(kMantissaBits));
  return arith::MaxUIOp::create(f.b, field, f.i32(1));
}

/// As a multiple of the unit that goes with `largest`; where that is no number, a count of
/// infinities.
Value SortedScatter::inFixedPoint(Value v, Value largest) {
  Type i64 = b.getI64Type();
  auto wide = [&](int64_t c) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(c));
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), v);
  Value magnitude = arith::AndIOp::create(b, bits, f.i32(kMagnitude));
  Value isNormal = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, magnitude,
                                         f.i32((1 << kMantissaBits) - 1));
  Value mantissa = arith::AndIOp::create(b, magnitude, f.i32((1 << kMantissaBits) - 1));
  mantissa = arith::OrIOp::create(
      b, mantissa, arith::SelectOp::create(b, isNormal, f.i32(1 << kMantissaBits), f.i32(0)));
  // How far the mantissa lies above the unit.
  Value below = arith::SubIOp::create(b, exponentOf(f, largest), exponentOf(f, magnitude));
  Value shift = arith::SubIOp::create(b, f.i32(bitsOf(list) - kMantissaBits - 1), below);
  Value back = arith::SubIOp::create(b, f.i32(0), shift);
  auto asShift = [&](Value s) -> Value {
    Value clamped = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, s, f.i32(0)), f.i32(63));
    return arith::ExtUIOp::create(b, i64, clamped);
  };
  Value whole = arith::ExtUIOp::create(b, i64, mantissa);
  Value fixed =
      arith::ShRUIOp::create(b, arith::ShLIOp::create(b, whole, asShift(shift)), asShift(back));
  Value isInfinity =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, f.i32(kInfinity));
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, f.i32(0));
  Value minus = arith::SubIOp::create(b, wide(0), fixed);
  fixed = arith::SelectOp::create(b, isNegative, minus, fixed);
  Value one = arith::SelectOp::create(b, isNegative, wide(int64_t(1) << 32), wide(1));
  Value counted = arith::SelectOp::create(b, isInfinity, one, wide(0));
  Value finite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, largest, f.i32(kInfinity));
  return arith::SelectOp::create(b, finite, fixed, counted);
}

void SortedScatter::addInFixedPoint(const Update &update) {
  constexpr int64_t kAll = -1;
  // What is nobody's is not read; its place is that of no element.
  Value element = arith::SelectOp::create(b, update.inside, update.element, f.e.index(0));
  Value largest = LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element));
  largest = arith::SubIOp::create(b, largest, f.i32(1));
  Value fixed = inFixedPoint(update.v, largest);
  Value copy = f.e.remIndex(f.block, f.e.index(list.copies()));
  auto add = [&](Value sum) {
    LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, fixedSumAt(element, copy), sum,
                              LLVM::AtomicOrdering::monotonic, "device");
  };
  Value number = arith::IndexCastUIOp::create(b, b.getI32Type(), element);
  number = arith::SelectOp::create(b, update.inside, number, f.i32(kAll));
  auto allOf = [&](Value condition) -> Value {
    Value bits = NVVM::VoteSyncOp::create(b, b.getI32Type(), f.i32(kAll), condition,
                                          NVVM::VoteSyncKind::ballot);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, f.i32(kAll));
  };
  auto sameAs = [&](unsigned distance) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number,
                                 exchangeLanes(b, number, distance));
  };
  Value pairs = allOf(sameAs(1));
  Value isNone = arith::ConstantOp::create(b, b.getBoolAttr(false));
  auto together = [&]() -> Value {
    Value same = sameAs(2);
    for (unsigned distance = 4; distance < GpuArch::warp; distance *= 2)
      same = arith::AndIOp::create(b, same, sameAs(distance));
    Value one = allOf(same);
    f.when(one, [&] {
      Value sum = reduceWarp(b, fixed, prim::ReduceKind::sum, b.getI64Type());
      Value lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
      Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0));
      f.when(arith::AndIOp::create(b, leads, update.inside), [&] { add(sum); });
    });
    return one;
  };
  auto done = scf::IfOp::create(
      b, pairs, [&](OpBuilder &, Location) { scf::YieldOp::create(b, together()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, isNone); });
  Value apart = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, done.getResult(0), isNone);
  f.when(arith::AndIOp::create(b, apart, update.inside), [&] { add(fixed); });
}

/// The tensor's own number with the sum of the updates, which is rounded once.
void SortedScatter::writeFixedSum(Value element) {
  f.e.forget();
  Type i64 = b.getI64Type(), f64 = b.getF64Type(), f32 = b.getF32Type();
  auto wide = [&](int64_t c) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(c));
  };
  Value points = f.e.index(list.points);
  Coords at = target(f.e.divIndex(element, points), f.e.remIndex(element, points));
  Value noted = LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element));
  SmallVector<Value> sums;
  for (int64_t copy = 0; copy < list.copies(); ++copy)
    sums.push_back(LLVM::LoadOp::create(b, i64, fixedSumAt(element, f.e.index(copy))));
  Value sum = sums[0];
  for (Value v : ArrayRef(sums).drop_front())
    sum = arith::AddIOp::create(b, sum, v);
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, noted, f.i32(0));
  auto write = [&] {
    Value old = read(x, at);
    if (!old)
      return;
    Value largest = arith::SubIOp::create(b, noted, f.i32(1));
    // 2 to the power that the unit is, an f64 whose bits are its exponent alone.
    constexpr int64_t kBias32 = 127, kBias64 = 1023, kMantissaBits64 = 52;
    Value power = arith::AddIOp::create(b, exponentOf(f, largest),
                                        f.i32(kBias64 - kBias32 + 1 - bitsOf(list)));
    Value unit =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, power), wide(kMantissaBits64));
    Value exact = arith::MulFOp::create(b, arith::SIToFPOp::create(b, f64, sum),
                                        arith::BitcastOp::create(b, f64, unit));
    Value total = arith::AddFOp::create(b, exact, arith::ExtFOp::create(b, f64, old));
    total = arith::TruncFOp::create(b, f32, total);
    auto constant = [&](double c) -> Value {
      return arith::ConstantOp::create(b, b.getF32FloatAttr(float(c)));
    };
    double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    Value low = arith::TruncIOp::create(b, b.getI32Type(), sum);
    Value high =
        arith::TruncIOp::create(b, b.getI32Type(), arith::ShRUIOp::create(b, sum, wide(32)));
    auto isZero = [&](Value v) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, v, f.i32(0));
    };
    Value other = arith::SelectOp::create(b, isZero(low), constant(-inf), constant(nan));
    other = arith::SelectOp::create(b, isZero(high), constant(inf), other);
    Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, largest, f.i32(kInfinity));
    other = arith::SelectOp::create(b, isNan, constant(nan), other);
    other = arith::AddFOp::create(b, other, old);
    Value finite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, largest, f.i32(kInfinity));
    total = arith::SelectOp::create(b, finite, total, other);
    f.e.store(f.results[0], at, arith::SelectOp::create(b, some, total, old));
  };
  if (Value elsewhere = liesElsewhere(f, x))
    f.when(arith::OrIOp::create(b, some, elsewhere), write);
  else
    write();
}

void SortedScatter::runInFixedPoint() {
  device::GridPhases phases(f);
  int64_t elements = sharedItems(list.slots * list.points),
          parts = sharedItems(int64_t(llvm::divideCeil(list.updates * list.points, kInFlight)));
  phases.run(elements, [&](Value item) { clearFixedSums(item, elements); });
  phases.run(parts, [&](Value item) {
    forUpdates(item, parts, [&](const Update &update) { noteLargest(update); });
  });
  phases.run(parts, [&](Value item) {
    forUpdates(item, parts, [&](const Update &update) { addInFixedPoint(update); });
  });
  phases.finish(elements, [&](Value item) {
    forParts(item, elements, list.slots * list.points,
             [&](Value element) { writeFixedSum(element); });
  });
}
