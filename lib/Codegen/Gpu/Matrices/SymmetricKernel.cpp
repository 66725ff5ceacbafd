//===- SymmetricKernel.cpp - Eigenvalues of a matrix in shared memory -----===//
//
// Jacobi's method from both sides. A round has two steps: a thread a pair finds its rotation, then
// threads turn squares of 2 x 2, those of two pairs of columns, from both sides at once, so that
// nobody reads what another one writes. Vectors are rows beside the matrix, and turn with it.
//
//===----------------------------------------------------------------------===//
#include "Jacobi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

Room device::roomOfSymmetric(int64_t rows, bool vectors) {
  Tournament all(rows);
  Room room = roomOfJacobi(rows);
  room.append({{all.even * all.even, 8}, {vectors ? all.even * rows : 0, 8}, {2 * all.pairs, 8}});
  return room;
}

namespace {

class Symmetric : Jacobi {
public:
  Symmetric(MatrixBlock &m, prim::SymmetricEigenOp op)
      : Jacobi(m, m.rows), op(op), matrix(m.room(m.type, even * even)),
        vectors(m.room(m.type, op.getVectors() ? even * count : 0)),
        rotations(m.room(m.type, 2 * pairs)) {}
  void emit();

private:
  Value at(Value i, Value j) { return f.e.addIndex(f.e.mulIndex(i, f.e.index(even)), j); }
  Value vectorAt(Value i, Value j) { return f.e.addIndex(f.e.mulIndex(i, f.e.index(count)), j); }
  Rotation rotationOf(Value k) {
    return {m.get(rotations, k), m.get(rotations, f.e.addIndex(k, f.e.index(pairs)))};
  }
  void round(Value number);

  prim::SymmetricEigenOp op;
  Value matrix, vectors, rotations;
};

} // namespace

void Symmetric::round(Value number) {
  // What vanishes beside the largest elements is nothing.
  Value least = orNan(m.number(std::numeric_limits<double>::epsilon()));
  f.loop(f.thread, f.e.index(pairs), f.schedule.getThreads(), [&](Value k) {
    Pair p = pairOf(number, k);
    Value mixed = m.get(matrix, at(p.first, p.second));
    Value size = math::AbsFOp::create(b, mixed);
    Rotation r = rotation(m.get(matrix, at(p.first, p.first)),
                          m.get(matrix, at(p.second, p.second)), mixed, exceeds(size, least));
    m.put(r.c, rotations, k);
    m.put(r.s, rotations, f.e.addIndex(k, f.e.index(pairs)));
    constexpr double kLeft = 1e-14;
    goesOn(exceeds(size, orNan(m.number(kLeft))));
  });
  f.barrier();
  forAll(pairs, pairs, [&](Value i, Value j) {
    Pair p = pairOf(number, i), q = pairOf(number, j);
    Rotation rows = rotationOf(i), columns = rotationOf(j);
    Pair upper =
        rotated(columns, m.get(matrix, at(p.first, q.first)), m.get(matrix, at(p.first, q.second)));
    Pair lower = rotated(columns, m.get(matrix, at(p.second, q.first)),
                         m.get(matrix, at(p.second, q.second)));
    Pair left = rotated(rows, upper.first, lower.first);
    Pair right = rotated(rows, upper.second, lower.second);
    m.put(left.first, matrix, at(p.first, q.first));
    m.put(right.first, matrix, at(p.first, q.second));
    m.put(left.second, matrix, at(p.second, q.first));
    m.put(right.second, matrix, at(p.second, q.second));
  });
  if (op.getVectors())
    forAll(pairs, count, [&](Value k, Value j) {
      Pair p = pairOf(number, k);
      Pair turned = rotated(rotationOf(k), m.get(vectors, vectorAt(p.first, j)),
                            m.get(vectors, vectorAt(p.second, j)));
      m.put(turned.first, vectors, vectorAt(p.first, j));
      m.put(turned.second, vectors, vectorAt(p.second, j));
    });
  f.barrier();
}

void Symmetric::emit() {
  bring(op.getX(), count, [&](Value v, Value i, Value j) { m.put(v, matrix, at(i, j)); });
  if (even != count)
    f.loop(f.thread, f.e.index(even), f.schedule.getThreads(), [&](Value i) {
      m.put(m.number(0), matrix, at(i, f.e.index(count)));
      m.put(m.number(0), matrix, at(f.e.index(count), i));
    });
  if (op.getVectors())
    forAll(even, count, [&](Value i, Value j) {
      Value one = arith::SelectOp::create(b, m.isEqual(i, j), m.number(1), m.number(0));
      m.put(one, vectors, vectorAt(i, j));
    });
  sweeps([&](Value number) { round(number); });
  order(/*falls=*/false, 1, [&](Value i) { return m.get(matrix, at(i, i)); });
  if (op.getVectors())
    forAll(count, count, [&](Value i, Value j) {
      m.putElement(orNan(m.get(vectors, vectorAt(i, j))), placeOf(i), j);
    });
}

void device::emitSymmetric(MatrixBlock &m, prim::SymmetricEigenOp op) { Symmetric(m, op).emit(); }
