//===- Jacobi.cpp - Rotations by the threads of a block -------------------===//
//
// A round's pairs touch no column twice, so that all of them turn at once and a barrier follows.
// What makes a round long is not its multiplications but that one thing waits for the other, the
// rotation's roots and quotients of f64 most of all. An angle need not be exact, only what turns by
// it orthogonal: it is found in f32, and its cosine made exact by two of Newton's steps.
//
//===----------------------------------------------------------------------===//
#include "Jacobi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kWarps = GpuArch::threads / GpuArch::warp;
constexpr int64_t kSweeps = 30;

Room device::roomOfJacobi(int64_t columns) {
  return {{2 * kWarps, 8}, {columns, 8}, {columns, 4}, {1, 4}};
}

Jacobi::Jacobi(MatrixBlock &m, int64_t count)
    : Tournament(count), m(m), f(m.f), b(m.b), i32(b.getI32Type()),
      warpNumbers(m.room(m.type, 2 * kWarps)), values(m.room(m.type, count)),
      places(m.room(i32, count)), met(m.room(i32, 1)) {}

Value Jacobi::multiply(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
Value Jacobi::exceeds(Value x, Value y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
}
Value Jacobi::both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }

void Jacobi::forAll(int64_t rows, int64_t columns, function_ref<void(Value, Value)> body) {
  f.loop(f.thread, f.e.index(rows * columns), f.schedule.getThreads(), [&](Value number) {
    body(f.e.divIndex(number, f.e.index(columns)), f.e.remIndex(number, f.e.index(columns)));
  });
}

Jacobi::Pair Jacobi::pairOf(Value round, Value k) {
  Value all = f.e.index(rounds);
  auto wrapped = [&](Value i) -> Value {
    return arith::SelectOp::create(b, f.less(i, all), i, f.e.subIndex(i, all));
  };
  Value first = wrapped(f.e.addIndex(round, k));
  Value second = wrapped(f.e.subIndex(f.e.addIndex(round, all), k));
  Value isFirst = m.isEqual(k, f.e.index(0));
  return {first, arith::SelectOp::create(b, isFirst, f.e.index(even - 1), second)};
}

Jacobi::Rotation Jacobi::rotation(Value first, Value second, Value mixed, Value turns) {
  Type f32 = b.getF32Type();
  auto shorter = [&](Value v) -> Value { return arith::TruncFOp::create(b, f32, v); };
  auto single = [&](double v) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(v)));
  };
  Value one = single(1);
  Value divisor = arith::SelectOp::create(b, turns, mixed, m.number(1));
  Value half = arith::DivFOp::create(b, arith::SubFOp::create(b, second, first), divisor);
  Value zeta = shorter(multiply(half, m.number(0.5)));
  // t of t^2 + 2 zeta t = 1 that is nearer to 0.
  Value size = math::AbsFOp::create(b, zeta);
  Value root = math::SqrtOp::create(b, math::FmaOp::create(b, zeta, zeta, one));
  // Squares of large ones overflow, and what is added to them is nothing.
  constexpr double large = 1e6;
  Value sum = arith::AddFOp::create(
      b, size, arith::SelectOp::create(b, exceeds(size, single(large)), size, root));
  Value t = math::CopySignOp::create(b, arith::DivFOp::create(b, one, sum), zeta);
  t = arith::SelectOp::create(b, turns, t, single(0));
  Value tangent = arith::ExtFOp::create(b, m.type, t);
  Value square = m.multiplyAdd(tangent, tangent, m.number(1));
  Value length = math::SqrtOp::create(b, math::FmaOp::create(b, t, t, one));
  Value rough = arith::DivFOp::create(b, one, length);
  Value c = arith::ExtFOp::create(b, m.type, rough);
  Value minusHalf = multiply(square, m.number(-0.5));
  for (int step = 0; step < 2; ++step)
    c = multiply(c, m.multiplyAdd(multiply(minusHalf, c), c, m.number(1.5)));
  return {c, multiply(c, tangent)};
}

Jacobi::Pair Jacobi::rotated(const Rotation &r, Value first, Value second) {
  return {m.multiplyAdd(r.c, first, m.negated(multiply(r.s, second))),
          m.multiplyAdd(r.c, second, multiply(r.s, first))};
}

void Jacobi::sweeps(function_ref<void(Value)> body) {
  Value isHead = m.isEqual(f.thread, f.e.index(0));
  auto clear = [&] { f.when(isHead, [&] { m.put(f.i32(0), met, f.e.index(0)); }); };
  auto again = [&](OpBuilder &builder, Location, ValueRange have) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(builder.getBlock());
    f.e.nested([&] {
      Value more = f.less(have[0], f.e.index(kSweeps));
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, have[1], f.i32(0));
      scf::ConditionOp::create(b, both(more, some), have);
    });
  };
  auto turn = [&](OpBuilder &builder, Location, ValueRange have) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(builder.getBlock());
    f.e.nested([&] {
      clear();
      f.barrier();
      f.loop(f.e.index(0), f.e.index(rounds), 1, body);
      Value found = m.get(met, i32, f.e.index(0));
      f.barrier(); // before it is cleared again
      scf::YieldOp::create(b, ValueRange{f.e.addIndex(have[0], f.e.index(1)), found});
    });
  };
  scf::WhileOp::create(b, TypeRange{b.getIndexType(), i32}, ValueRange{f.e.index(0), f.i32(1)},
                       again, turn);
}

void Jacobi::goesOn(Value condition) {
  f.when(condition, [&] { m.put(f.i32(1), met, f.e.index(0)); });
}

void Jacobi::bring(Value x, int64_t rows, function_ref<void(Value, Value, Value)> put) {
  int64_t threads = f.schedule.getThreads(), warps = threads / GpuArch::warp;
  auto larger = [&](Value v, Value w) -> Value {
    return arith::SelectOp::create(b, exceeds(v, w), v, w);
  };
  Value zero = m.number(0), all = f.e.index(rows * count);
  auto element = [&](Value number, function_ref<void(Value, Value, Value)> use) {
    Value i = f.e.divIndex(number, f.e.index(count)), j = f.e.remIndex(number, f.e.index(count));
    use(m.operand(x, i, j), i, j);
  };
  // The largest, and what makes a NaN of 0 if one is not finite.
  auto own = m.carry(f.thread, all, threads, {zero, zero}, [&](Value number, ValueRange have) {
    SmallVector<Value> next;
    element(number, [&](Value v, Value, Value) {
      next = {larger(math::AbsFOp::create(b, v), have[0]), m.multiplyAdd(v, zero, have[1])};
    });
    return next;
  });
  for (unsigned distance = GpuArch::warp / 2; distance; distance /= 2) {
    own[0] = larger(exchangeLanes(b, own[0], distance), own[0]);
    own[1] = arith::AddFOp::create(b, exchangeLanes(b, own[1], distance), own[1]);
  }
  if (warps > 1) {
    f.when(m.isEqual(m.lane, f.e.index(0)), [&] {
      m.put(own[0], warpNumbers, m.warp);
      m.put(own[1], warpNumbers, f.e.addIndex(m.warp, f.e.index(kWarps)));
    });
    f.barrier();
    own = m.carry(f.e.index(0), f.e.index(warps), 1, {zero, zero},
                  [&](Value w, ValueRange have) -> SmallVector<Value> {
                    Value size = m.get(warpNumbers, w);
                    Value one = m.get(warpNumbers, f.e.addIndex(w, f.e.index(kWarps)));
                    return {larger(size, have[0]), arith::AddFOp::create(b, one, have[1])};
                  });
  }
  bad = own[1];
  auto [power, inverse] = powersOf(m, own[0]);
  unscale = power;
  f.loop(f.thread, all, threads, [&, inverse = inverse](Value number) {
    element(number, [&](Value v, Value i, Value j) { put(multiply(v, inverse), i, j); });
  });
  f.barrier();
}

Value Jacobi::orNan(Value v) { return arith::AddFOp::create(b, v, bad); }
Value Jacobi::asBefore(Value v) { return orNan(multiply(v, unscale)); }

Value Jacobi::placeOf(Value i) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), m.get(places, i32, i));
}

void Jacobi::order(bool falls, unsigned number, function_ref<Value(Value)> of) {
  f.barrier();
  Value n = f.e.index(count), zero = f.e.index(0);
  f.loop(f.thread, n, f.schedule.getThreads(), [&](Value i) {
    Value v = of(i);
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, v, v);
    m.put(arith::SelectOp::create(b, isNumber, v, m.number(0)), values, i); // each has a place
  });
  f.barrier();
  f.loop(f.thread, n, f.schedule.getThreads(), [&](Value i) {
    Value own = m.get(values, i);
    auto before = m.carry(zero, n, 1, {zero}, [&](Value j, ValueRange have) -> SmallVector<Value> {
      Value other = m.get(values, j);
      Value comes = falls ? exceeds(other, own) : exceeds(own, other);
      Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, own, other);
      comes = arith::OrIOp::create(b, comes, both(same, f.less(j, i)));
      return {arith::SelectOp::create(b, comes, f.e.addIndex(have[0], f.e.index(1)), have[0])};
    });
    m.put(arith::IndexCastUIOp::create(b, i32, before[0]), places, i);
    m.putInColumn(asBefore(own), number, before[0]);
  });
  f.barrier();
}
