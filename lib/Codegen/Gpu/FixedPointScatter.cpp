//===- FixedPointScatter.cpp - Sums of f32 in any order -------------------===//
//
// Integers add up to the same in whatever order they come, so memory can add them, and results
// repeat. Updates are added as multiples of a unit so small that as many as can meet do not leave
// 64 bits:
//
//   most updates of an element    2^16        2^22        2^28
//   bits of the largest one       46          40          34       (f32 has 24)
//
// Mostly two such numbers an element, of which the lower one goes on where the upper one ends, hold
// every digit of all updates, with the largest update of all at the top: then sums are exact, and
// most updates go to the upper one alone. Where updates are further apart, and where one is
// infinite or no number, the largest of each element is found before, and the element has one sum
// whose unit goes with that: it is off by less than sums in order are, which lose what is below 24
// bits of what has been summed up. What the tensor had there is added last, and the total rounded
// once.
//
//   phases   clear the sums, survey the updates -> add -> write the results
//   or       clear the sums, survey the updates -> the largest of each -> add -> write the results
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
#include <limits>

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

/// Of the bits of a magnitude: the exponent, that of subnormal numbers being 1.
static Value exponentOf(KernelFrame &f, Value magnitude) {
  Value field = arith::ShRUIOp::create(f.b, magnitude, f.i32(kMantissaBits));
  return arith::MaxUIOp::create(f.b, field, f.i32(1));
}

/// The same: the mantissa, of 64 bits.
static Value mantissaOf(KernelFrame &f, Value magnitude) {
  ImplicitLocOpBuilder &b = f.b;
  constexpr int64_t kLeading = int64_t(1) << kMantissaBits;
  Value isNormal = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, magnitude, f.i32(kLeading));
  Value mantissa = arith::AndIOp::create(b, magnitude, f.i32(kLeading - 1));
  Value leading = arith::SelectOp::create(b, isNormal, f.i32(kLeading), f.i32(0));
  return arith::ExtUIOp::create(b, b.getI64Type(), arith::OrIOp::create(b, mantissa, leading));
}

/// A number of 64 bits with the sign of `bits`.
static Value withSign(KernelFrame &f, Value magnitude, Value bits) {
  ImplicitLocOpBuilder &b = f.b;
  Value nothing = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, f.i32(0));
  Value minus = arith::SubIOp::create(b, nothing, magnitude);
  return arith::SelectOp::create(b, isNegative, minus, magnitude);
}

/// Of the largest update, its magnitude plus one; 0: there is none.
Value SortedScatter::largestAt(Value element) {
  return f.scratchAt(scratch.largest, b.getI32Type(), element);
}

/// `window`: of the two of an element, 0 being the upper one.
Value SortedScatter::fixedSumAt(Value element, Value copy, unsigned window) {
  copy = f.e.addIndex(copy, f.e.index(window * list.copies()));
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
    for (unsigned window : {0, 1})
      for (int64_t copy = 0; copy < list.copies(); ++copy)
        LLVM::StoreOp::create(b, nothing, fixedSumAt(element, f.e.index(copy), window));
  });
}

//===----------------------------------------------------------------------===//
// How far apart updates are
//===----------------------------------------------------------------------===//

/// Of a block's part of the updates, the largest magnitude, and by how much the least that is not
/// zero lies below the largest magnitude that there is: both at their most in `surveyed`.
void SortedScatter::survey(Value item, int64_t items) {
  constexpr unsigned kTogether = 8, kWarps = device::GridSortSizes::threads / GpuArch::warp;
  constexpr int64_t kThreads = device::GridSortSizes::threads;
  int64_t all = list.updates * list.points;
  Value points = f.e.index(list.points), zero = f.i32(0);
  Type type = IntegerType::get(b.getContext(), 32, IntegerType::Unsigned);
  auto most = [&](Value x, Value y) -> Value { return arith::MaxUIOp::create(b, x, y); };
  auto look = [&](OpBuilder &, Location, Value begin, ValueRange found) {
    f.e.forget();
    SmallVector<Value> values, next(found);
    for (unsigned i = 0; i < kTogether; ++i) {
      Value number = f.e.addIndex(begin, f.e.index(int64_t(i) * kThreads));
      number = f.minIndex(number, f.e.index(all - 1));
      values.push_back(
          read(updates, source(f.e.divIndex(number, points), f.e.remIndex(number, points))));
    }
    for (Value v : values) {
      if (!v)
        continue;
      Value bits = arith::BitcastOp::create(b, b.getI32Type(), v);
      Value magnitude = arith::AndIOp::create(b, bits, f.i32(kMagnitude));
      Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, zero);
      Value below = arith::SubIOp::create(b, f.i32(kMagnitude), magnitude);
      next[0] = most(next[0], magnitude);
      next[1] = most(next[1], arith::SelectOp::create(b, isZero, zero, below));
    }
    scf::YieldOp::create(b, next);
    f.e.forget();
  };
  Value first = f.e.addIndex(f.e.mulIndex(item, f.e.index(kThreads * kTogether)), f.thread);
  auto loop = scf::ForOp::create(b, first, f.e.index(all), f.e.index(items * kThreads * kTogether),
                                 ValueRange{zero, zero}, look);
  Value warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp)),
        lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  auto isFirst = [&](Value v) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, v, f.e.index(0));
  };
  Value room = f.shared(b.getI32Type(), int64_t(kWarps) * 2, "surveyed");
  auto roomAt = [&](Value of, unsigned i) {
    Value number = f.e.addIndex(f.e.mulIndex(of, f.e.index(2)), f.e.index(i));
    return f.at(room, b.getI32Type(), number);
  };
  for (unsigned i : {0, 1}) {
    Value found = reduceWarp(b, loop.getResult(i), prim::ReduceKind::max, type);
    f.when(isFirst(lane), [&] { LLVM::StoreOp::create(b, found, roomAt(warp, i)); });
  }
  f.barrier();
  f.when(isFirst(f.thread), [&] {
    for (unsigned i : {0, 1}) {
      Value found = zero;
      for (unsigned w = 0; w < kWarps; ++w)
        found = most(found, LLVM::LoadOp::create(b, b.getI32Type(), roomAt(f.e.index(w), i)));
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umax, surveyed[i], found,
                                LLVM::AtomicOrdering::monotonic, "device");
    }
  });
}

/// Whether both sums of an element hold all digits of what was surveyed; then `top` is the exponent
/// of the largest.
Value SortedScatter::readSurvey() {
  SmallVector<Value> found;
  for (Value at : surveyed)
    found.push_back(LLVM::LoadOp::create(b, b.getI32Type(), at));
  top = exponentOf(f, found[0]);
  Value least = exponentOf(f, arith::SubIOp::create(b, f.i32(kMagnitude), found[1]));
  // Of zeros alone the least is large, and the difference negative.
  Value apart = arith::SubIOp::create(b, top, least);
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, apart,
                                     f.i32(2 * bitsOf(list) - kMantissaBits - 1));
  Value finite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, found[0], f.i32(kInfinity));
  return arith::AndIOp::create(b, fits, finite);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

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

/// As a multiple of the unit that goes with `largest`; where that is no number, a count of
/// infinities.
Value SortedScatter::inFixedPoint(Value v, Value largest) {
  Type i64 = b.getI64Type();
  auto wide = [&](int64_t c) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(c));
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), v);
  Value magnitude = arith::AndIOp::create(b, bits, f.i32(kMagnitude));
  // How far the mantissa lies above the unit.
  Value below = arith::SubIOp::create(b, exponentOf(f, largest), exponentOf(f, magnitude));
  Value shift = arith::SubIOp::create(b, f.i32(bitsOf(list) - kMantissaBits - 1), below);
  Value back = arith::SubIOp::create(b, f.i32(0), shift);
  auto asShift = [&](Value s) -> Value {
    Value clamped = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, s, f.i32(0)), f.i32(63));
    return arith::ExtUIOp::create(b, i64, clamped);
  };
  Value whole = mantissaOf(f, magnitude);
  Value fixed =
      arith::ShRUIOp::create(b, arith::ShLIOp::create(b, whole, asShift(shift)), asShift(back));
  Value isInfinity =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, f.i32(kInfinity));
  fixed = withSign(f, fixed, bits);
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, f.i32(0));
  Value one = arith::SelectOp::create(b, isNegative, wide(int64_t(1) << 32), wide(1));
  Value counted = arith::SelectOp::create(b, isInfinity, one, wide(0));
  Value finite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, largest, f.i32(kInfinity));
  return arith::SelectOp::create(b, finite, fixed, counted);
}

/// In both sums of an element, with the largest update of all at the top: the upper and the lower
/// part.
std::pair<Value, Value> SortedScatter::inBothSums(Value v) {
  int64_t bits = bitsOf(list);
  auto wide = [&](int64_t c) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(c));
  };
  Value given = arith::BitcastOp::create(b, b.getI32Type(), v);
  Value magnitude = arith::AndIOp::create(b, given, f.i32(kMagnitude));
  Value mantissa = mantissaOf(f, magnitude);
  // Bits of the mantissa above the unit of the lower sum; none are below it, but of zeros.
  Value below = arith::SubIOp::create(b, top, exponentOf(f, magnitude));
  Value shift = arith::SubIOp::create(b, f.i32(2 * bits - kMantissaBits - 1), below);
  auto shiftBy = [&](Value by) -> Value {
    Value clamped = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, by, f.i32(0)), f.i32(63));
    return arith::ExtUIOp::create(b, b.getI64Type(), clamped);
  };
  Value above = arith::SubIOp::create(b, shift, f.i32(bits));
  Value isAbove = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, above, f.i32(0));
  Value raised = arith::ShLIOp::create(b, mantissa, shiftBy(above));
  Value cut =
      arith::ShRUIOp::create(b, mantissa, shiftBy(arith::SubIOp::create(b, f.i32(0), above)));
  Value low = arith::AndIOp::create(b, arith::ShLIOp::create(b, mantissa, shiftBy(shift)),
                                    wide((int64_t(1) << bits) - 1));
  low = arith::SelectOp::create(b, isAbove, wide(0), low);
  Value high = arith::SelectOp::create(b, isAbove, raised, cut);
  return {withSign(f, high, given), withSign(f, low, given)};
}

void SortedScatter::addInFixedPoint(const Update &update, bool both) {
  constexpr int64_t kAll = -1;
  // What is nobody's is not read; its place is that of no element.
  Value element = arith::SelectOp::create(b, update.inside, update.element, f.e.index(0));
  SmallVector<Value, 2> fixed;
  if (both) {
    auto [high, low] = inBothSums(update.v);
    fixed = {high, low};
  } else {
    Value largest = LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element));
    fixed.push_back(inFixedPoint(update.v, arith::SubIOp::create(b, largest, f.i32(1))));
  }
  Value copy = f.e.remIndex(f.block, f.e.index(list.copies()));
  Value nothing = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  auto add = [&](unsigned window, Value sum) {
    Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, sum, nothing);
    f.when(some, [&] {
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, fixedSumAt(element, copy, window), sum,
                                LLVM::AtomicOrdering::monotonic, "device");
    });
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
      Value lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
      Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0));
      leads = arith::AndIOp::create(b, leads, update.inside);
      for (auto [window, v] : llvm::enumerate(fixed)) {
        Value sum = reduceWarp(b, v, prim::ReduceKind::sum, b.getI64Type());
        f.when(leads, [&, window = window] { add(window, sum); });
      }
    });
    return one;
  };
  auto done = scf::IfOp::create(
      b, pairs, [&](OpBuilder &, Location) { scf::YieldOp::create(b, together()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, isNone); });
  Value apart = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, done.getResult(0), isNone);
  f.when(arith::AndIOp::create(b, apart, update.inside), [&] {
    for (auto [window, v] : llvm::enumerate(fixed))
      add(window, v);
  });
}

/// A sum as a number: `exponent` is that of what is at the top of the upper sum.
Value SortedScatter::ofFixedSum(Value sum, Value exponent, unsigned window) {
  // 2 to the power that the unit is, an f64 whose bits are its exponent alone.
  constexpr int64_t kBias32 = 127, kBias64 = 1023, kMantissaBits64 = 52;
  Type i64 = b.getI64Type(), f64 = b.getF64Type();
  int64_t bits = bitsOf(list) * (window + 1);
  Value power = arith::AddIOp::create(b, exponent, f.i32(kBias64 - kBias32 + 1 - bits));
  Value unit =
      arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, power),
                            arith::ConstantOp::create(b, b.getI64IntegerAttr(kMantissaBits64)));
  return arith::MulFOp::create(b, arith::SIToFPOp::create(b, f64, sum),
                               arith::BitcastOp::create(b, f64, unit));
}

/// What infinities and what is no number add up to: `counts` of both infinities.
Value SortedScatter::ofInfinities(Value counts, Value largest) {
  auto constant = [&](double c) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(c)));
  };
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  auto isZero = [&](Value v) -> Value {
    Value word = arith::TruncIOp::create(b, b.getI32Type(), v);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word, f.i32(0));
  };
  Value isPositive = isZero(arith::ShRUIOp::create(b, counts, half));
  Value sum = arith::SelectOp::create(b, isZero(counts), constant(-inf), constant(nan));
  sum = arith::SelectOp::create(b, isPositive, constant(inf), sum);
  Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, largest, f.i32(kInfinity));
  return arith::SelectOp::create(b, isNan, constant(nan), sum);
}

/// The tensor's own number with the sum of the updates, which is rounded once.
void SortedScatter::writeFixedSum(Value element, bool both) {
  f.e.forget();
  Value points = f.e.index(list.points);
  Coords at = target(f.e.divIndex(element, points), f.e.remIndex(element, points));
  SmallVector<Value, 2> sums;
  for (unsigned window = 0; window < (both ? 2 : 1); ++window) {
    SmallVector<Value> copies;
    for (int64_t copy = 0; copy < list.copies(); ++copy)
      copies.push_back(
          LLVM::LoadOp::create(b, b.getI64Type(), fixedSumAt(element, f.e.index(copy), window)));
    sums.push_back(copies[0]);
    for (Value v : ArrayRef(copies).drop_front())
      sums.back() = arith::AddIOp::create(b, sums.back(), v);
  }
  Value noted, some;
  if (both) {
    Value nothing = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 arith::OrIOp::create(b, sums[0], sums[1]), nothing);
  } else {
    noted = LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element));
    some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, noted, f.i32(0));
  }
  auto write = [&] {
    Value old = read(x, at);
    if (!old)
      return;
    Value largest = both ? Value() : Value(arith::SubIOp::create(b, noted, f.i32(1)));
    Value exponent = both ? top : exponentOf(f, largest);
    Value total = arith::ExtFOp::create(b, b.getF64Type(), old);
    Value exact = ofFixedSum(sums[0], exponent, 0);
    if (both)
      exact = arith::AddFOp::create(b, exact, ofFixedSum(sums[1], exponent, 1));
    total = arith::TruncFOp::create(b, b.getF32Type(), arith::AddFOp::create(b, exact, total));
    if (!both) {
      Value other = arith::AddFOp::create(b, ofInfinities(sums[0], largest), old);
      Value finite = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, largest, f.i32(kInfinity));
      total = arith::SelectOp::create(b, finite, total, other);
    }
    f.e.store(f.results[0], at, arith::SelectOp::create(b, some, total, old));
  };
  if (Value elsewhere = liesElsewhere(f, x))
    f.when(arith::OrIOp::create(b, some, elsewhere), write);
  else
    write();
}

void SortedScatter::runInFixedPoint() {
  device::GridPhases phases(f);
  for (unsigned i = 0; i < 2; ++i)
    surveyed.push_back(phases.word());
  int64_t elements = sharedItems(list.slots * list.points),
          parts = sharedItems(int64_t(llvm::divideCeil(list.updates * list.points, kInFlight))),
          most = std::max(elements, parts);
  phases.run(most, [&](Value item) {
    clearFixedSums(item, most);
    survey(item, most);
  });
  Value both = readSurvey();
  Value one = arith::XOrIOp::create(b, both, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  auto either = [&](function_ref<void(bool)> body) {
    f.when(both, [&] { f.e.nested([&] { body(true); }); });
    f.when(one, [&] { f.e.nested([&] { body(false); }); });
  };
  f.when(one, [&] {
    phases.run(parts, [&](Value item) {
      forUpdates(item, parts, [&](const Update &update) { noteLargest(update); });
    });
  });
  phases.run(parts, [&](Value item) {
    either([&](bool isBoth) {
      forUpdates(item, parts, [&](const Update &update) { addInFixedPoint(update, isBoth); });
    });
  });
  phases.finish(elements, [&](Value item) {
    either([&](bool isBoth) {
      forParts(item, elements, list.slots * list.points,
               [&](Value element) { writeFixedSum(element, isBoth); });
    });
  });
}
