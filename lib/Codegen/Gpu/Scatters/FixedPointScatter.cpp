//===- FixedPointScatter.cpp - Sums of floats in any order ----------------===//
//
// Integers add up to the same in whatever order they come, so memory can add them, and results
// repeat. Updates are added as multiples of a unit so small that those that meet fit 64 bits:
//
//   most updates of an element    2^16        2^22        2^28
//   bits of the largest one       46          40          34       (f32 has 24, f64 has 53)
//
// An element has several such numbers, each of which goes on where the one above it ends: two of
// f32, three of f64, and one of 16 bits, which are computed with as f32. Mostly they hold every
// digit of all updates, with the largest update of all at the top: then sums are exact, and most
// updates go to a part of the numbers alone. Where updates are further apart, and where one is
// infinite or no number, the exponent of the largest of each element is found before, and goes to
// the top of its numbers, of which f32 then has one: it is off by less than sums in order are,
// which lose what is below 24 bits of what has been summed up; what f64 loses lies 100 bits below
// its largest. What the tensor had there is added last, and the total rounded once.
//
//   phases   clear the sums, survey the updates -> add -> write the results
//   or       clear the sums, survey the updates -> the largest of each -> add -> write the results
//
// Infinities are counted in the sum, each sign in half of it; the exponent of a NaN counts as
// larger than all else. Where few elements have many updates, each has several sums, which are
// added up in the end; and a warp all of whose updates go to one element adds them up before.
//
//===----------------------------------------------------------------------===//
#include "../FloatParts.h"
#include "SortedScatter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr unsigned kInFlight = 4;   // updates of a thread
constexpr unsigned kInFallback = 1; // windows of f32 below the largest of an element

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

/// As numbers are computed with: those of 16 bits are f32.
static FloatParts partsOf(KernelFrame &f) { return {f, computeType(f.results[0].elementType)}; }

static Value wide(ImplicitLocOpBuilder &b, int64_t c) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(c));
}

/// A shift of a number of 64 bits by `by`, which is as good as 63 where it is more, and as none
/// where it is negative.
static Value shiftBy(KernelFrame &f, Value by) {
  Value clamped = arith::MinSIOp::create(f.b, arith::MaxSIOp::create(f.b, by, f.i32(0)), f.i32(63));
  return arith::ExtUIOp::create(f.b, f.b.getI64Type(), clamped);
}

static Value negatedIf(ImplicitLocOpBuilder &b, Value condition, Value number) {
  Value minus = arith::SubIOp::create(b, wide(b, 0), number);
  return arith::SelectOp::create(b, condition, minus, number);
}

/// Of the largest update, its rank plus one; 0: there is none.
Value SortedScatter::largestAt(Value element) {
  return f.scratchAt(scratch.largest, b.getI32Type(), element);
}

/// `window`: of those of an element, 0 being the upper one.
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
  Value nothing = wide(b, 0);
  forParts(item, items, list.slots * list.points, [&](Value element) {
    LLVM::StoreOp::create(b, f.i32(0), largestAt(element));
    for (unsigned window = 0; window < list.windows; ++window)
      for (int64_t copy = 0; copy < list.copies(); ++copy)
        LLVM::StoreOp::create(b, nothing, fixedSumAt(element, f.e.index(copy), window));
  });
}

//===----------------------------------------------------------------------===//
// How far apart updates are
//===----------------------------------------------------------------------===//

/// Of a block's part of the updates, the largest exponent, and by how much the least of what is not
/// zero lies below that of infinity: both at their most in `surveyed`.
void SortedScatter::survey(Value item, int64_t items) {
  constexpr unsigned kTogether = 8, kWarps = device::GridSortSizes::threads / GpuArch::warp;
  constexpr int64_t kThreads = device::GridSortSizes::threads;
  int64_t all = list.updates * list.points;
  Value points = f.e.index(list.points), zero = f.i32(0);
  Type type = IntegerType::get(b.getContext(), 32, IntegerType::Unsigned);
  FloatParts numbers = partsOf(f);
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
      Value magnitude = numbers.magnitudeOf(numbers.bitsOf(v));
      Value exponent = numbers.exponentOf(magnitude);
      Value below = arith::SubIOp::create(b, f.i32(numbers.infinity), exponent);
      next[0] = most(next[0], exponent);
      next[1] = most(next[1], arith::SelectOp::create(b, numbers.isZero(magnitude), zero, below));
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

/// Whether the sums of an element hold all digits of what was surveyed; then `top` is the exponent
/// of the largest.
Value SortedScatter::readSurvey() {
  FloatParts numbers = partsOf(f);
  SmallVector<Value> found;
  for (Value at : surveyed)
    found.push_back(LLVM::LoadOp::create(b, b.getI32Type(), at));
  top = found[0];
  // Of zeros alone the least is that of infinity, and the difference negative.
  Value least = arith::SubIOp::create(b, f.i32(numbers.infinity), found[1]);
  Value apart = arith::SubIOp::create(b, top, least);
  int64_t room = int64_t(list.windows) * bitsOf(list) -
                 cast<FloatType>(f.results[0].elementType).getFPMantissaWidth();
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, apart, f.i32(room));
  return arith::AndIOp::create(b, fits, numbers.isFinite(top));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What is no larger than another is not written, which most are not where many meet.
void SortedScatter::noteLargest(const Update &update) {
  f.when(update.inside, [&] {
    FloatParts numbers = partsOf(f);
    Value rank = numbers.rankOf(numbers.magnitudeOf(numbers.bitsOf(update.v)));
    Value noted = arith::AddIOp::create(b, rank, f.i32(1)), at = largestAt(update.element);
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

/// `v` in the sums of an element that has `exponent` at the top: a part for each of its windows.
SmallVector<Value> SortedScatter::inFixedPoint(Value v, Value exponent, unsigned windows) {
  FloatParts numbers = partsOf(f);
  int64_t bits = bitsOf(list);
  Value given = numbers.bitsOf(v), magnitude = numbers.magnitudeOf(given);
  Value mantissa = numbers.mantissaOf(magnitude), isNegative = numbers.isNegative(given);
  // Bits of the mantissa above the unit of the lowest sum; what is below it is cut.
  Value below = arith::SubIOp::create(b, exponent, numbers.exponentOf(magnitude));
  Value above =
      arith::SubIOp::create(b, f.i32(int64_t(windows) * bits - numbers.mantissaBits - 1), below);
  SmallVector<Value> parts;
  for (unsigned window = 0; window < windows; ++window) {
    Value by = arith::SubIOp::create(b, above, f.i32(int64_t(windows - 1 - window) * bits));
    Value back = arith::SubIOp::create(b, f.i32(0), by);
    Value part = arith::ShRUIOp::create(b, arith::ShLIOp::create(b, mantissa, shiftBy(f, by)),
                                        shiftBy(f, back));
    if (window > 0) // what is above goes to the others
      part = arith::AndIOp::create(b, part, wide(b, (int64_t(1) << bits) - 1));
    parts.push_back(negatedIf(b, isNegative, part));
  }
  return parts;
}

/// Where the largest update of an element is no finite number, its infinities are counted.
Value SortedScatter::countOfInfinity(Value v) {
  FloatParts numbers = partsOf(f);
  Value bits = numbers.bitsOf(v);
  Value one =
      arith::SelectOp::create(b, numbers.isNegative(bits), wide(b, int64_t(1) << 32), wide(b, 1));
  return arith::SelectOp::create(b, numbers.isInfinity(numbers.magnitudeOf(bits)), one, wide(b, 0));
}

/// Of the sums of an element those that are used.
unsigned SortedScatter::windowsOf(bool allDigits) const {
  return allDigits || list.windows > 2 ? list.windows : kInFallback;
}

void SortedScatter::addInFixedPoint(const Update &update, bool allDigits) {
  constexpr int64_t kAll = -1;
  // What is nobody's is not read; its place is that of no element.
  Value element = arith::SelectOp::create(b, update.inside, update.element, f.e.index(0));
  Value exponent = top;
  if (!allDigits)
    exponent = arith::SubIOp::create(b, LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element)),
                                     f.i32(1));
  SmallVector<Value> fixed = inFixedPoint(update.v, exponent, windowsOf(allDigits));
  if (!allDigits) {
    Value finite = partsOf(f).isFinite(exponent);
    for (auto [window, part] : llvm::enumerate(fixed))
      part = arith::SelectOp::create(b, finite, part,
                                     window == 0 ? countOfInfinity(update.v) : wide(b, 0));
  }
  Value copy = f.e.remIndex(f.block, f.e.index(list.copies()));
  Value nothing = wide(b, 0);
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

/// Multiplied by 2 to the power of `power`, which is at least -`below` and may be less than any f64
/// has.
static Value scaled(KernelFrame &f, Value v, Value power, int64_t below) {
  // An f64 whose bits are its exponent alone.
  constexpr int64_t kBias = 1023, kMantissaBits = 52, kLeast = -960;
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<Value, 2> powers{power};
  if (-below < kLeast) {
    powers[0] = arith::MaxSIOp::create(b, power, f.i32(kLeast));
    powers.push_back(arith::SubIOp::create(b, power, powers[0]));
  }
  for (Value part : powers) {
    Value field = arith::AddIOp::create(b, part, f.i32(kBias));
    Value bits = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, b.getI64Type(), field),
                                       wide(b, kMantissaBits));
    v = arith::MulFOp::create(b, v, arith::BitcastOp::create(b, b.getF64Type(), bits));
  }
  return v;
}

/// `old` and the sums of an element whose upper one has `exponent` at the top. Of f32 sums are
/// rounded to f64 first. Of f64 all is rounded once: magnitude and sign of the sums come first, so
/// that no part is larger than what it is part of, then their halves, which are exact, with what
/// each addition loses.
Value SortedScatter::withFixedSums(Value old, SmallVector<Value> sums, Value exponent) {
  constexpr int64_t kHalf = 32;
  int64_t bits = bitsOf(list);
  FloatParts numbers = partsOf(f);
  // `sum` of a window as an f64, of which the unit is 2 to the power of `up` more.
  auto numberOf = [&](Value sum, unsigned window, int64_t up) {
    int64_t unit = up + 1 - numbers.infinity / 2 - bits * (int64_t(window) + 1);
    return scaled(f, sum, arith::AddIOp::create(b, exponent, f.i32(unit)), -unit);
  };
  if (!old.getType().isF64()) {
    Value total;
    for (auto [window, sum] : llvm::enumerate(sums)) {
      Value v = numberOf(arith::SIToFPOp::create(b, b.getF64Type(), sum), window, 0);
      total = total ? Value(arith::AddFOp::create(b, total, v)) : v;
    }
    total = arith::AddFOp::create(b, total, arith::ExtFOp::create(b, b.getF64Type(), old));
    return arith::TruncFOp::create(b, old.getType(), total);
  }
  auto carry = [&] {
    for (size_t window = sums.size(); --window > 0;) {
      Value more = arith::ShRSIOp::create(b, sums[window], wide(b, bits));
      sums[window] = arith::AndIOp::create(b, sums[window], wide(b, (int64_t(1) << bits) - 1));
      sums[window - 1] = arith::AddIOp::create(b, sums[window - 1], more);
    }
  };
  carry();
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, sums[0], wide(b, 0));
  for (Value &sum : sums)
    sum = negatedIf(b, isNegative, sum);
  carry();
  Value total = old, lost = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  for (auto [window, sum] : llvm::enumerate(sums)) {
    Value high = arith::ShRUIOp::create(b, sum, wide(b, kHalf)),
          low = arith::AndIOp::create(b, sum, wide(b, (int64_t(1) << kHalf) - 1));
    for (auto [half, up] : {std::pair(high, kHalf), {low, int64_t(0)}}) {
      Value v = numberOf(arith::UIToFPOp::create(b, b.getF64Type(), half), window, up);
      v = arith::SelectOp::create(b, isNegative, arith::NegFOp::create(b, v), v);
      Value sum = arith::AddFOp::create(b, total, v);
      Value mine = arith::SubFOp::create(b, sum, total);
      Value others = arith::SubFOp::create(b, total, arith::SubFOp::create(b, sum, mine));
      lost = arith::AddFOp::create(
          b, lost, arith::AddFOp::create(b, others, arith::SubFOp::create(b, v, mine)));
      total = sum;
    }
  }
  // Of what is infinite nothing is lost, and the difference is no number.
  Value exact = arith::AddFOp::create(b, total, lost);
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, exact, exact);
  return arith::SelectOp::create(b, isNan, total, exact);
}

/// What infinities and what is no number add up to: `counts` of both infinities.
Value SortedScatter::ofInfinities(Value counts, Value rank) {
  auto constant = [&](double c) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(computeType(f.results[0].elementType), c));
  };
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Value half = wide(b, 32);
  auto isZero = [&](Value v) -> Value {
    Value word = arith::TruncIOp::create(b, b.getI32Type(), v);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word, f.i32(0));
  };
  Value isPositive = isZero(arith::ShRUIOp::create(b, counts, half));
  Value sum = arith::SelectOp::create(b, isZero(counts), constant(-inf), constant(nan));
  sum = arith::SelectOp::create(b, isPositive, constant(inf), sum);
  Value isNan =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, rank, f.i32(partsOf(f).infinity));
  return arith::SelectOp::create(b, isNan, constant(nan), sum);
}

/// The tensor's own number with the sum of the updates, which is rounded once.
void SortedScatter::writeFixedSum(Value element, bool allDigits) {
  f.e.forget();
  Value points = f.e.index(list.points);
  Coords at = target(f.e.divIndex(element, points), f.e.remIndex(element, points));
  SmallVector<Value> sums;
  for (unsigned window = 0; window < windowsOf(allDigits); ++window) {
    SmallVector<Value> copies;
    for (int64_t copy = 0; copy < list.copies(); ++copy)
      copies.push_back(
          LLVM::LoadOp::create(b, b.getI64Type(), fixedSumAt(element, f.e.index(copy), window)));
    sums.push_back(copies[0]);
    for (Value v : ArrayRef(copies).drop_front())
      sums.back() = arith::AddIOp::create(b, sums.back(), v);
  }
  Value some = wide(b, 0), exponent = top;
  if (allDigits) {
    for (Value sum : sums)
      some = arith::OrIOp::create(b, some, sum);
    some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, some, wide(b, 0));
  } else {
    Value noted = LLVM::LoadOp::create(b, b.getI32Type(), largestAt(element));
    some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, noted, f.i32(0));
    exponent = arith::SubIOp::create(b, noted, f.i32(1));
  }
  auto write = [&] {
    Value old = read(x, at);
    if (!old)
      return;
    Value total = withFixedSums(old, sums, exponent);
    if (!allDigits) {
      Value other = arith::AddFOp::create(b, ofInfinities(sums[0], exponent), old);
      total = arith::SelectOp::create(b, partsOf(f).isFinite(exponent), total, other);
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
  Value all = readSurvey();
  Value one = arith::XOrIOp::create(b, all, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  auto either = [&](function_ref<void(bool)> body) {
    f.when(all, [&] { f.e.nested([&] { body(true); }); });
    f.when(one, [&] { f.e.nested([&] { body(false); }); });
  };
  f.when(one, [&] {
    phases.run(parts, [&](Value item) {
      forUpdates(item, parts, [&](const Update &update) { noteLargest(update); });
    });
  });
  phases.run(parts, [&](Value item) {
    either([&](bool allDigits) {
      forUpdates(item, parts, [&](const Update &update) { addInFixedPoint(update, allDigits); });
    });
  });
  phases.finish(elements, [&](Value item) {
    either([&](bool allDigits) {
      forParts(item, elements, list.slots * list.points,
               [&](Value element) { writeFixedSum(element, allDigits); });
    });
  });
}
