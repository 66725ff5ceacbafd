//===- SingularKernel.cpp - Singular values of a matrix in shared memory --===//
//
// Jacobi's method from one side. Columns lie as rows in shared memory, and some lanes of a warp
// have a pair of them: they sum squares and products, exchange these, and turn what they read, with
// one barrier a round. Columns that are orthogonal at last are left vectors times values.
//
// Of those that are nothing beside the largest element, left vectors are unit vectors without what
// is along all others, by one warp.
//
//===----------------------------------------------------------------------===//
#include "Jacobi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

unsigned device::lanesOfPair(int64_t rows, int64_t columns) {
  constexpr int64_t kOfLane = 4; // elements: of more, sums wait for each other
  auto lanes = int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(rows, kOfLane))));
  lanes = std::clamp<int64_t>(lanes, 1, GpuArch::warp);
  while (lanes > 1 && Tournament(columns).pairs * lanes > GpuArch::threads)
    lanes /= 2;
  return unsigned(lanes);
}

/// Of a column in shared memory: neighbouring groups of lanes read neighbouring columns, which
/// should begin in different banks.
static int64_t pitchOf(int64_t rows, int64_t lanes) {
  return lanes == GpuArch::warp ? rows : lanes * (int64_t(llvm::divideCeil(rows, lanes)) | 1);
}

Room device::roomOfSingular(int64_t rows, int64_t columns, bool vectors) {
  Tournament all(columns);
  int64_t lanes = lanesOfPair(rows, columns);
  Room room = roomOfJacobi(columns);
  room.append({{all.even * pitchOf(rows, lanes), 8},
               {vectors ? all.even * pitchOf(columns, lanes) : 0, 8},
               {columns + 1, 4}});
  return room;
}

namespace {

class Singular : Jacobi {
public:
  Singular(MatrixBlock &m, prim::SvdOp op)
      : Jacobi(m, m.columns), op(op), i32(b.getI32Type()), rows(m.rows),
        lanes(f.schedule.getVectors()), pitch(pitchOf(rows, lanes)),
        rightPitch(pitchOf(count, lanes)), left(m.room(m.type, even * pitch)),
        right(m.room(m.type, op.getVectors() ? even * rightPitch : 0)),
        known(m.room(i32, count + 1)), lane(f.e.remIndex(f.thread, f.e.index(lanes))) {}
  void emit();

private:
  Value at(Value j, Value i) { return f.e.addIndex(f.e.mulIndex(j, f.e.index(pitch)), i); }
  Value rightAt(Value j, Value i) {
    return f.e.addIndex(f.e.mulIndex(j, f.e.index(rightPitch)), i);
  }
  /// Sums over the elements of a column, of which each of so many lanes has some.
  SmallVector<Value> sums(Value from, unsigned among, unsigned count,
                          function_ref<SmallVector<Value>(Value)> of);
  void round(Value number);
  void complete();
  Value isKnown(Value j) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, m.get(known, i32, j), f.i32(0));
  }

  prim::SvdOp op;
  Type i32;
  int64_t rows, lanes, pitch, rightPitch;
  Value left, right, known;
  Value lane; ///< of those that have a pair
};

} // namespace

SmallVector<Value> Singular::sums(Value from, unsigned among, unsigned count,
                                  function_ref<SmallVector<Value>(Value)> of) {
  SmallVector<Value> zeros(count, m.number(0));
  auto own = m.carry(from, f.e.index(rows), among, zeros, [&](Value i, ValueRange have) {
    SmallVector<Value> next = of(i);
    for (auto [sum, more] : llvm::zip_equal(have, next))
      more = arith::AddFOp::create(b, sum, more);
    return next;
  });
  for (Value &sum : own)
    sum = reduceWarp(b, sum, prim::ReduceKind::sum, m.type, among);
  return own;
}

void Singular::round(Value number) {
  Value group = f.e.divIndex(f.thread, f.e.index(lanes));
  Value inside = f.less(group, f.e.index(pairs));
  Pair p = pairOf(number, f.minIndex(group, f.e.index(pairs - 1)));
  auto all = sums(lane, lanes, 3, [&](Value i) -> SmallVector<Value> {
    Value x = m.get(left, at(p.first, i)), y = m.get(left, at(p.second, i));
    return {multiply(x, x), multiply(y, y), multiply(x, y)};
  });
  // A cosine's square, and columns that are nothing have no direction.
  Value square = multiply(all[2], all[2]), scale = multiply(all[0], all[1]);
  Value nothing = orNan(m.number(kEpsilon * kEpsilon));
  Value counts = both(inside, both(exceeds(all[0], nothing), exceeds(all[1], nothing)));
  auto above = [&](double cosine) {
    return both(counts, exceeds(square, multiply(scale, m.number(cosine * cosine))));
  };
  Value turns = above(kEpsilon);
  constexpr double kLeft = 1e-14;
  goesOn(above(kLeft));
  f.when(turns, [&] {
    Rotation r = rotation(all[0], all[1], all[2], turns);
    auto turn = [&](Value base, int64_t length, function_ref<Value(Value, Value)> place) {
      f.loop(lane, f.e.index(length), lanes, [&](Value i) {
        Value first = place(p.first, i), second = place(p.second, i);
        Pair turned = rotated(r, m.get(base, first), m.get(base, second));
        m.put(turned.first, base, first);
        m.put(turned.second, base, second);
      });
    };
    turn(left, rows, [&](Value j, Value i) { return at(j, i); });
    if (op.getVectors())
      turn(right, count, [&](Value j, Value i) { return rightAt(j, i); });
  });
  f.barrier();
}

/// Where a column has no direction of its own.
void Singular::complete() {
  Value next = f.e.index(count); // behind what is known: the unit vector to try
  auto forElements = [&](function_ref<void(Value)> body) {
    f.loop(m.lane, f.e.index(rows), GpuArch::warp, body);
  };
  auto isMissing = [&](Value j) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, m.get(known, i32, j), f.i32(0));
  };
  auto attempt = [&](Value j) {
    Value unit = m.get(known, i32, next);
    forElements([&](Value i) {
      Value isUnit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                           arith::IndexCastUIOp::create(b, i32, i), unit);
      m.put(arith::SelectOp::create(b, isUnit, m.number(1), m.number(0)), left, at(j, i));
    });
    f.loop(f.e.index(0), f.e.index(2), 1, [&](Value) { // twice is enough
      f.loop(f.e.index(0), f.e.index(count), 1, [&](Value other) {
        f.when(isKnown(other), [&] {
          Value along = sums(m.lane, GpuArch::warp, 1, [&](Value i) -> SmallVector<Value> {
            return {multiply(m.get(left, at(j, i)), m.get(left, at(other, i)))};
          })[0];
          Value minus = m.negated(along);
          forElements([&](Value i) {
            Value own = m.get(left, at(j, i));
            m.put(m.multiplyAdd(minus, m.get(left, at(other, i)), own), left, at(j, i));
          });
        });
      });
    });
    Value square = sums(m.lane, GpuArch::warp, 1, [&](Value i) -> SmallVector<Value> {
      Value v = m.get(left, at(j, i));
      return {multiply(v, v)};
    })[0];
    // One of all unit vectors leaves at least 1 / rows of its square.
    f.when(exceeds(square, m.number(0.25 / double(rows))), [&] {
      Value inverse =
          arith::DivFOp::create(b, m.number(1), math::SqrtOp::create(b, square).getResult());
      forElements(
          [&](Value i) { m.put(multiply(m.get(left, at(j, i)), inverse), left, at(j, i)); });
      m.put(f.i32(1), known, j);
    });
    Value after = arith::AddIOp::create(b, unit, f.i32(1));
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, after, f.i32(rows));
    m.put(arith::SelectOp::create(b, isLast, f.i32(0), after), known, next);
  };
  f.when(m.isEqual(m.warp, f.e.index(0)), [&] {
    m.put(f.i32(0), known, next);
    f.loop(f.e.index(0), f.e.index(count), 1, [&](Value j) {
      f.when(isMissing(j), [&] {
        f.loop(f.e.index(0), f.e.index(rows), 1,
               [&](Value) { f.when(isMissing(j), [&] { attempt(j); }); });
      });
    });
  });
  f.barrier();
}

void Singular::emit() {
  bring(op.getX(), rows, [&](Value v, Value i, Value j) { m.put(v, left, at(j, i)); });
  if (even != count)
    f.loop(f.thread, f.e.index(rows), f.schedule.getThreads(),
           [&](Value i) { m.put(m.number(0), left, at(f.e.index(count), i)); });
  if (op.getVectors())
    forAll(even, count, [&](Value j, Value i) {
      Value one = arith::SelectOp::create(b, m.isEqual(i, j), m.number(1), m.number(0));
      m.put(one, right, rightAt(j, i));
    });
  sweeps([&](Value number) { round(number); });
  auto lengthOf = [&](Value j) -> Value {
    auto square = m.carry(f.e.index(0), f.e.index(rows), 1, {m.number(0)},
                          [&](Value i, ValueRange have) -> SmallVector<Value> {
                            Value v = m.get(left, at(j, i));
                            return {m.multiplyAdd(v, v, have[0])};
                          });
    return math::SqrtOp::create(b, square[0]);
  };
  auto isDirection = [&](Value length) {
    return exceeds(length, orNan(m.number(kEpsilon * double(rows))));
  };
  order(/*falls=*/true, 2, [&](Value j) {
    Value length = lengthOf(j);
    if (op.getVectors()) {
      Value has = isDirection(length);
      m.put(arith::ExtUIOp::create(b, i32, has), known, j);
      f.when(has, [&] {
        Value inverse = arith::DivFOp::create(b, m.number(1), length);
        f.loop(f.e.index(0), f.e.index(rows), 1,
               [&](Value i) { m.put(multiply(m.get(left, at(j, i)), inverse), left, at(j, i)); });
      });
    }
    return length;
  });
  if (!op.getVectors())
    return;
  complete();
  forAll(count, rows,
         [&](Value j, Value i) { m.putInMatrix(orNan(m.get(left, at(j, i))), 1, placeOf(j), i); });
  forAll(count, count, [&](Value j, Value i) {
    m.putInMatrix(orNan(m.get(right, rightAt(j, i))), 3, placeOf(j), i);
  });
}

void device::emitSingular(MatrixBlock &m, prim::SvdOp op) { Singular(m, op).emit(); }
