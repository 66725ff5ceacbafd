//===- SelectedElement.cpp - One element of a line's order ----------------===//
//
// The element that k others of a line come before, found among fewer and fewer of them, without
// any order. Keys (OrderKey.h) lie on the stack, where a turn asks a few of them, far apart,
// between which two the k-th lies most likely, counts what is below, between and above, and keeps
// the part that has it: about a third. Where a turn hardly takes any away (few different keys), the
// next one halves the range of the keys instead, so that there are at most two for each of a key's
// bits. The last few are counted against each other.
//
// Of a line that the stack does not hold, a part is found first that it does (SelectedPart.cpp).
//
// Of equal elements the one counts that a stable sort puts there: it is looked for in the line. The
// first elements of a line are those before the last one of them, and as many equal to it.
//
//===----------------------------------------------------------------------===//
#include "SelectedElement.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using Cmp = arith::CmpIPredicate;

/// Keys, which compare as signed integers, of the element at `i` and its lanes.
Value SelectedElement::keyOf(Value i) {
  Coords point(at);
  point.back() = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
  Value v = f.e.lanes() > 1 ? f.e.evalVector(x, point) : f.e.eval(x, point);
  f.failed |= !v;
  if (!v)
    return constant(0, f.e.lanes() > 1 ? Type(vec) : key);
  Value own = orderKey(f, v, element, descending);
  Value sign = IntegerLanes{f}.constant(int64_t(uint64_t(1) << (bits - 1)), bits);
  return arith::XOrIOp::create(f.b, own, sign);
}

/// body(place, keys) for all of the line, in vectors and then one by one.
void SelectedElement::forKeys(function_ref<void(Value, Value)> body) {
  Value rest = f.wholeVectors(length, lanes, [&](ArrayRef<Value> places) {
    for (Value i : places)
      body(i, keyOf(i));
  });
  f.loop(rest, length, 1, [&](Value i) { body(i, keyOf(i)); });
}

void SelectedElement::whileHolds(function_ref<Value()> condition, function_ref<void()> body) {
  auto loop = scf::WhileOp::create(f.b, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(f.b);
  f.b.createBlock(&loop.getBefore());
  f.e.nested([&] { scf::ConditionOp::create(f.b, condition(), ValueRange()); });
  f.b.createBlock(&loop.getAfter());
  f.e.nested([&] {
    body();
    scf::YieldOp::create(f.b);
  });
}

/// How many lanes of a mask are set, or whether a truth value is.
Value SelectedElement::ones(Value mask) {
  auto type = dyn_cast<VectorType>(mask.getType());
  if (!type)
    return arith::ExtUIOp::create(f.b, i64, mask);
  Type word = f.b.getIntegerType(lanes);
  Value all = vector::BitCastOp::create(f.b, VectorType::get({1}, word), mask);
  all = vector::ExtractOp::create(f.b, all, int64_t(0));
  all = lanes < 64 ? arith::ExtUIOp::create(f.b, i64, all).getResult() : all;
  return math::CtPopOp::create(f.b, all);
}

/// Puts those of `v` that are at most `span` above `lowest` behind the `to` keys that are kept. A
/// vector more is written, which may be what was read.
void SelectedElement::keep(Value v, Value lowest, Value span, const Cell &to) {
  auto isIn = [&](Value v, Value lowest, Value span) { return is(Cmp::ule, sub(v, lowest), span); };
  Value end = to.get();
  if (!isa<VectorType>(v.getType())) {
    k.store(v, k.address(keys, key, index(end)));
    return to.set(add(end, ones(isIn(v, lowest, span))));
  }
  if (f.cpu.maskedMemory) {
    Value mask = isIn(v, splat(lowest), splat(span));
    Value kept = LLVM::CallIntrinsicOp::create(
                     f.b, vec, f.b.getStringAttr("llvm.experimental.vector.compress"),
                     ValueRange{v, mask, v})
                     .getResult(0);
    k.store(kept, k.address(keys, key, index(end)));
    return to.set(add(end, ones(mask)));
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value one = vector::ExtractOp::create(f.b, v, lane);
    k.store(one, k.address(keys, key, index(end)));
    end = add(end, ones(isIn(one, lowest, span)));
  }
  to.set(end);
}

/// Whole vectors, and enough of them to be compared with each other.
void SelectedElement::pad() {
  Value end = count.get(), none = splat(most());
  for (int64_t i = 0; i <= kFew; i += lanes)
    k.store(none, k.address(keys, key, k.add(index(end), k.constant(i))));
  Value n = number(lanes);
  Value vectors = arith::DivUIOp::create(f.b, add(end, number(lanes - 1)), n);
  count.set(arith::MulIOp::create(f.b, vectors, n));
}

void SelectedElement::fill() {
  forKeys([&](Value i, Value v) { k.store(v, k.address(keys, key, i)); });
  count.set(wide(length));
}

/// How many of the first few keys from `few` on are below each of them.
SelectedElement::Ranked SelectedElement::compareAll(Value few) {
  Ranked all;
  for (int64_t i = 0; i < kFew; i += lanes) {
    all.keys.push_back(k.load(vec, k.address(few, key, k.constant(i))));
    all.below.push_back(k.zero(vec));
  }
  all.below = k.loop(k.constant(0), k.constant(kFew), k.constant(1), all.below,
                     [&](Index i, ValueRange before) {
                       Value one = splat(k.load(key, k.address(few, key, i)));
                       SmallVector<Value> sums;
                       for (auto [sum, own] : llvm::zip_equal(before, all.keys)) {
                         Value less = is(Cmp::sgt, own, one);
                         sums.push_back(sub(sum, arith::ExtSIOp::create(f.b, vec, less)));
                       }
                       return sums;
                     });
  return all;
}

/// The key of rank `r` (of a key's type) among few, and how many are below it.
std::pair<Value, Value> SelectedElement::keyOfRank(const Ranked &all, Value r) {
  Value best, below, ranks = splat(r), none = splat(least()), zero = k.zero(vec);
  for (auto [own, less] : llvm::zip_equal(all.keys, all.below)) {
    Value isIn = is(Cmp::sle, less, ranks);
    Value v = choose(isIn, own, none), n = choose(isIn, less, zero);
    best = best ? arith::MaxSIOp::create(f.b, best, v).getResult() : v;
    below = below ? arith::MaxSIOp::create(f.b, below, n).getResult() : n;
  }
  auto highest = [&](Value v) {
    return vector::ReductionOp::create(f.b, vector::CombiningKind::MAXSI, v).getResult();
  };
  return {highest(best), highest(below)};
}

/// Two keys between which the one sought lies most likely.
std::pair<Value, Value> SelectedElement::askSome() {
  Value n = count.get(), few = number(kFew), step = arith::DivUIOp::create(f.b, n, few);
  Value half = arith::ShRUIOp::create(f.b, step, number(1));
  f.loop(f.e.index(0), f.e.index(kFew), 1, [&](Value i) {
    Value from = add(arith::MulIOp::create(f.b, wide(i), step), half);
    k.store(keyAt(keys, index(from), key), k.address(asked, key, i));
  });
  Ranked all = compareAll(asked);
  Value r = arith::DivUIOp::create(f.b, arith::MulIOp::create(f.b, rank.get(), few), n);
  if (r.getType() != key)
    r = arith::TruncIOp::create(f.b, key, r);
  Value before = sub(r, constant(kSpread, key)), behind = add(r, constant(kSpread, key));
  Value none = is(Cmp::slt, before, constant(0, key));
  Value all32 = is(Cmp::sge, behind, constant(kFew, key));
  return {choose(none, low.get(), keyOfRank(all, before).first),
          choose(all32, high.get(), keyOfRank(all, behind).first)};
}

/// Keeps the part of the keys that has the one sought.
void SelectedElement::turn(const Cell &halves) {
  Cell from = cell(key), to = cell(key), below = cell(vec), above = cell(vec), kept = cell(i64);
  k.ifThenElse(
      is(Cmp::ne, halves.get(), number(0)),
      [&] {
        Value span = sub(high.get(), low.get());
        from.set(low.get());
        to.set(add(low.get(), arith::ShRUIOp::create(f.b, span, constant(1, key)).getResult()));
      },
      [&] {
        auto [begin, end] = f.e.nested([&] { return askSome(); });
        from.set(begin);
        to.set(end);
      });
  below.set(k.zero(vec));
  above.set(k.zero(vec));
  Value n = count.get(), begin = from.get(), end = to.get();
  Value begins = splat(begin), ends = splat(end);
  auto counted = [&](const Cell &sum, Value mask) {
    sum.set(sub(sum.get(), arith::ExtSIOp::create(f.b, vec, mask).getResult()));
  };
  f.loop(f.e.index(0), index(n), lanes, [&](Value i) {
    Value v = keyAt(keys, i, vec);
    counted(below, is(Cmp::slt, v, begins));
    counted(above, is(Cmp::sgt, v, ends));
  });
  auto total = [&](const Cell &sum) {
    Value all = vector::ReductionOp::create(f.b, vector::CombiningKind::ADD, sum.get());
    return all.getType() == i64 ? all : arith::ExtUIOp::create(f.b, i64, all).getResult();
  };
  Value less = total(below), upTo = sub(n, total(above)), r = rank.get();
  Value isBelow = is(Cmp::slt, r, less), isAbove = is(Cmp::sge, r, upTo), one = constant(1, key);
  Value first = choose(isBelow, low.get(), choose(isAbove, add(end, one), begin));
  Value last = choose(isBelow, sub(begin, one), choose(isAbove, high.get(), end));
  low.set(first);
  high.set(last);
  rank.set(sub(r, choose(isBelow, number(0), choose(isAbove, upTo, less))));
  f.when(is(Cmp::slt, first, last), [&] {
    Value span = sub(last, first);
    kept.set(number(0));
    f.loop(f.e.index(0), index(n), lanes,
           [&](Value i) { keep(keyAt(keys, i, vec), first, span, kept); });
    count.set(kept.get());
    pad();
    // More than three quarters.
    Value left = arith::ShLIOp::create(f.b, count.get(), number(2));
    Value were = arith::MulIOp::create(f.b, n, number(3));
    halves.set(arith::ExtUIOp::create(f.b, i64, is(Cmp::sgt, left, were)));
  });
}

void SelectedElement::narrow() {
  Cell halves = cell(i64);
  halves.set(number(0));
  auto goesOn = [&] {
    Value many = is(Cmp::sgt, count.get(), number(kFew));
    return arith::AndIOp::create(f.b, many, is(Cmp::slt, low.get(), high.get())).getResult();
  };
  whileHolds(goesOn, [&] { turn(halves); });
}

/// Where the element is that was sought.
Value SelectedElement::placeOf() {
  Cell place = cell(i64), left = cell(i64);
  place.set(number(0));
  left.set(rank.get());
  Value own = sought.get();
  auto walk = [&](Value end, int64_t step) {
    f.e.setLanes(step);
    Cell here = cell(i64);
    auto isBefore = [&] {
      here.set(number(0));
      Value inside = is(Cmp::slt, place.get(), end);
      f.when(inside, [&] {
        Value wanted = step > 1 ? splat(own) : own;
        here.set(ones(is(Cmp::eq, keyOf(index(place.get())), wanted)));
      });
      return arith::AndIOp::create(f.b, inside, is(Cmp::sge, left.get(), here.get())).getResult();
    };
    whileHolds(isBefore, [&] {
      left.set(sub(left.get(), here.get()));
      place.set(add(place.get(), number(step)));
    });
    f.e.setLanes(1);
  };
  Value n = f.e.index(lanes);
  walk(wide(f.e.mulIndex(f.e.divIndex(length, n), n)), lanes);
  walk(wide(f.e.subIndex(length, f.e.index(1))), 1);
  return place.get();
}

/// Finds the key of the element that so many come before.
void SelectedElement::select(Value place) {
  low.set(least());
  high.set(most());
  rank.set(wide(place));
  auto known = getConstantIntValue(length);
  auto partOfLine = [&] {
    countDigits();
    fillFromPart();
  };
  if (known && *known <= room)
    fill();
  else if (known)
    partOfLine();
  else
    k.ifThenElse(
        is(Cmp::sle, wide(length), number(room)), [&] { f.e.nested([&] { fill(); }); },
        [&] { f.e.nested([&] { partOfLine(); }); });
  sought.set(low.get());
  f.when(is(Cmp::slt, low.get(), high.get()), [&] {
    pad();
    narrow();
    sought.set(low.get());
    f.when(is(Cmp::slt, low.get(), high.get()), [&] {
      Value r = rank.get();
      Value narrowed = r.getType() == key ? r : arith::TruncIOp::create(f.b, key, r).getResult();
      auto [found, below] = keyOfRank(compareAll(keys), narrowed);
      if (below.getType() != i64)
        below = arith::ExtUIOp::create(f.b, i64, below);
      sought.set(found);
      rank.set(sub(r, below));
    });
  });
}

void SelectedElement::storePlace() {
  Value place = placeOf();
  Coords from(at), to(at);
  from.back() = Coord::uniform(index(place));
  to.back() = Coord::uniform(f.e.index(0));
  Value v = f.e.eval(x, from);
  f.failed |= !v;
  if (!v)
    return;
  f.e.store(f.results[0], to, v);
  f.e.store(f.results[1], to, place);
}

/// body(number, key, place) for the elements up to the one sought, in the order of their places.
void SelectedElement::forFirst(function_ref<void(Value, Value, Value)> body) {
  Cell taken = cell(i64), equal = cell(i64);
  taken.set(number(0));
  equal.set(number(0));
  Value last = sought.get(), most = rank.get();
  auto take = [&](Value i) {
    Value own = keyOf(i), isEqual = is(Cmp::eq, own, last);
    Value isIn =
        arith::OrIOp::create(f.b, is(Cmp::slt, own, last),
                             arith::AndIOp::create(f.b, isEqual, is(Cmp::sle, equal.get(), most)));
    equal.set(add(equal.get(), ones(isEqual)));
    f.when(isIn, [&] {
      Value to = taken.get();
      body(index(to), own, i);
      taken.set(add(to, number(1)));
    });
  };
  Value rest = f.wholeVectors(length, lanes, [&](ArrayRef<Value> places) {
    for (Value i : places) {
      Value mask = is(Cmp::sle, keyOf(i), splat(last));
      f.e.setLanes(1);
      forEachLane(f, i, mask, {}, [&](Value place, ValueRange) {
        take(place);
        return SmallVector<Value>();
      });
      f.e.setLanes(lanes);
    }
  });
  f.loop(rest, length, 1, [&](Value i) {
    Value mayBeIn = is(Cmp::sle, keyOf(i), last);
    f.when(mayBeIn, [&] { take(i); });
  });
}

void tcc::codegen::emitSelectedElements(KernelFrame &f, prim::KthOp op) {
  SmallVector<Value> extents = extentsOf(f, op.getX());
  extents.pop_back();
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Coords at;
    for (Value i : f.delinearize(task, extents))
      at.push_back(Coord::uniform(i));
    at.push_back(Coord::uniform(f.e.index(0)));
    SelectedElement line(f, op.getX(), op.getDescending(), std::move(at));
    line.select(f.e.scalar(op.getK()));
    line.storePlace();
  });
}

void tcc::codegen::forFirstOfOrder(KernelFrame &f, prim::TopKOp op, Coords at,
                                   function_ref<void(Value, Value, Value)> body) {
  SelectedElement line(f, op.getX(), op.getLargest(), std::move(at));
  Value kept = f.results[0].extents[op.getAxis()], one = f.e.index(1);
  Value some = arith::CmpIOp::create(f.b, Cmp::sgt, kept, f.e.index(0));
  f.when(some, [&] {
    line.select(f.e.subIndex(kept, one));
    line.forFirst(body);
  });
}
