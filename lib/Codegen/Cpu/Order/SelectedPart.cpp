//===- SelectedPart.cpp - The part of a long line to select from ----------===//
//
// A line that the stack does not hold is counted by the leading bits of what its keys are above the
// smallest one, and then the keys that have the bits of the one sought by those that follow, until
// the stack holds as many. Numbers in no order, and small integers, take one turn.
//
//===----------------------------------------------------------------------===//
#include "SelectedElement.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using Cmp = arith::CmpIPredicate;

/// Narrows the range of keys until the stack holds what lies in it.
void SelectedElement::countDigits() {
  constexpr int64_t kDigits = int64_t(1) << kDigit;
  Cell shift = cell(key), lows = cell(vec), highs = cell(vec);
  Value counts = k.scratch(i64, kDigits + 1), digits = k.scratch(key, lanes);
  low.set(most());
  high.set(least());
  lows.set(splat(most()));
  highs.set(splat(least()));
  forKeys([&](Value, Value v) {
    const Cell &l = f.e.lanes() > 1 ? lows : low, &h = f.e.lanes() > 1 ? highs : high;
    l.set(arith::MinSIOp::create(f.b, l.get(), v));
    h.set(arith::MaxSIOp::create(f.b, h.get(), v));
  });
  auto fold = [&](vector::CombiningKind how, const Cell &all, const Cell &one) {
    one.set(vector::ReductionOp::create(f.b, how, all.get(), one.get()));
  };
  fold(vector::CombiningKind::MINSI, lows, low);
  fold(vector::CombiningKind::MAXSI, highs, high);
  count.set(wide(length));
  // The digit of the first turn begins with the first bit in which keys differ.
  Value free = math::CountLeadingZerosOp::create(f.b, sub(high.get(), low.get()));
  Value digit = constant(kDigit, key);
  auto lessDigit = [&](Value v) {
    return arith::MaxSIOp::create(f.b, sub(v, digit), constant(0, key)).getResult();
  };
  shift.set(lessDigit(sub(constant(bits, key), free)));
  auto goesOn = [&] {
    Value many = is(Cmp::sgt, count.get(), number(room));
    return arith::AndIOp::create(f.b, many, is(Cmp::slt, low.get(), high.get())).getResult();
  };
  whileHolds(goesOn, [&] {
    f.loop(f.e.index(0), f.e.index(kDigits + 1), 1,
           [&](Value i) { k.store(number(0), k.address(counts, i64, i)); });
    forKeys([&](Value, Value v) {
      bool many = f.e.lanes() > 1;
      auto all = [&](Value one) { return many ? splat(one) : one; };
      Value from = sub(v, all(low.get()));
      from = arith::ShRUIOp::create(f.b, from, all(shift.get()));
      from = arith::MinUIOp::create(f.b, from, all(constant(kDigits, key)));
      k.store(from, digits);
      for (int64_t lane = 0; lane < (many ? lanes : 1); ++lane) {
        Value own = k.load(key, k.address(digits, key, k.constant(lane)));
        Value own64 = arith::IndexCastUIOp::create(f.b, f.b.getIndexType(), own);
        Value place = k.address(counts, i64, own64);
        k.store(add(k.load(i64, place), number(1)), place);
      }
    });
    Cell bin = cell(i64);
    bin.set(number(0));
    auto here = [&] { return k.load(i64, k.address(counts, i64, index(bin.get()))); };
    auto isBehind = [&] {
      Value last = is(Cmp::slt, bin.get(), number(kDigits - 1));
      return arith::AndIOp::create(f.b, last, is(Cmp::sle, here(), rank.get())).getResult();
    };
    whileHolds(isBehind, [&] {
      rank.set(sub(rank.get(), here()));
      bin.set(add(bin.get(), number(1)));
    });
    count.set(here());
    Value first = bin.get(), by = shift.get();
    if (first.getType() != key)
      first = arith::TruncIOp::create(f.b, key, first);
    Value begin = add(low.get(), arith::ShLIOp::create(f.b, first, by).getResult());
    Value width = arith::ShLIOp::create(f.b, constant(1, key), by);
    Value span = sub(width, constant(1, key)), most = sub(high.get(), begin);
    low.set(begin);
    high.set(add(begin, arith::MinUIOp::create(f.b, span, most).getResult()));
    shift.set(lessDigit(by));
  });
}

/// The keys of the range at hand; where they are all equal, none is needed.
void SelectedElement::fillFromPart() {
  Value begin = low.get(), differ = is(Cmp::slt, begin, high.get());
  Value span = sub(high.get(), begin);
  f.when(differ, [&] {
    count.set(number(0));
    forKeys([&](Value, Value v) { keep(v, begin, span, count); });
  });
}
