//===- TriangularKernel.cpp - Triangular systems by a block's threads -----===//
#include "MatrixBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

Room device::roomOfTriangularSolve(int64_t columns, int64_t width, int64_t bytes) {
  return {{2 * width * columns, bytes}, {2 * width * width, bytes}};
}

namespace {

/// A thread has a row of the right sides in registers, and the columns of a panel of T in it. Rows
/// of the panel meet in shared memory, where a thread a right side solves them; all after them
/// subtract what that gives. An upper triangle is a lower one whose rows are counted from the last.
class SolveCode {
public:
  SolveCode(MatrixBlock &m, prim::TriangularSolveOp op)
      : m(m), f(m.f), b(m.b), op(op), row(f.thread), sides(f.schedule.getColumns()),
        solved(m.room(m.type, 2 * m.width * sides)),
        triangle(m.room(m.type, 2 * m.width * m.width)) {}
  void emit();

private:
  Value inMemory(Value i) { return op.getUpper() ? f.e.subIndex(f.e.index(m.rows - 1), i) : i; }
  SmallVector<Value> panel(Value k0, int64_t count, SmallVector<Value> own);
  void solve(int64_t count, Value turn);
  /// Of the arrays of this panel; the next one has others, and so on in turns.
  Value at(Value turn, int64_t size, Value i) {
    return f.e.addIndex(f.e.mulIndex(turn, f.e.index(size)), i);
  }
  Value sideAt(Value turn, Value i, Value side) {
    return at(turn, m.width * sides, f.e.addIndex(f.e.mulIndex(i, f.e.index(sides)), side));
  }
  Value triangleAt(Value turn, Value i, int64_t j) {
    Value place = f.e.addIndex(f.e.mulIndex(i, f.e.index(m.width)), f.e.index(j));
    return at(turn, m.width * m.width, place);
  }

  MatrixBlock &m;
  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::TriangularSolveOp op;
  Value row;
  int64_t sides;
  Value solved, triangle;
};

} // namespace

/// One thread's right side: T^-1 of the rows of the panel.
void SolveCode::solve(int64_t count, Value turn) {
  SmallVector<Value> x, inverses; // divided before it is waited for
  for (int64_t s = 0; s < count; ++s) {
    x.push_back(m.get(solved, sideAt(turn, f.e.index(s), row)));
    if (op.getUnit())
      continue;
    Value diagonal = m.get(triangle, triangleAt(turn, f.e.index(s), s));
    inverses.push_back(arith::DivFOp::create(b, m.number(1), diagonal));
  }
  for (int64_t s = 0; s < count; ++s) {
    if (!op.getUnit())
      x[s] = arith::MulFOp::create(b, x[s], inverses[s]);
    Value minus = m.negated(x[s]);
    for (int64_t r = s + 1; r < count; ++r)
      x[r] = m.multiplyAdd(m.get(triangle, triangleAt(turn, f.e.index(r), s)), minus, x[r]);
  }
  for (int64_t s = 0; s < count; ++s)
    m.put(x[s], solved, sideAt(turn, f.e.index(s), row));
}

SmallVector<Value> SolveCode::panel(Value k0, int64_t count, SmallVector<Value> own) {
  Value turn = f.e.remIndex(f.e.divIndex(k0, f.e.index(m.width)), f.e.index(2));
  Value safe = f.minIndex(row, f.e.index(m.rows - 1)), i = inMemory(safe);
  SmallVector<Value> t;
  for (int64_t k = 0; k < count; ++k)
    t.push_back(m.operand(op.getT(), i, inMemory(f.e.addIndex(k0, f.e.index(k)))));
  Value next = f.e.addIndex(k0, f.e.index(count)), number = f.e.subIndex(row, k0);
  Value starts = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, row, k0);
  Value isTop = arith::AndIOp::create(b, starts, f.less(row, next));
  f.when(isTop, [&] {
    for (int64_t k = 0; k < count; ++k)
      m.put(t[k], triangle, triangleAt(turn, number, k));
    for (int64_t c = 0; c < sides; ++c)
      m.put(own[c], solved, sideAt(turn, number, f.e.index(c)));
  });
  f.barrier();
  f.when(f.less(row, f.e.index(sides)), [&] { solve(count, turn); });
  f.barrier();
  own = m.where(isTop, own, [&] {
    SmallVector<Value> final;
    for (int64_t c = 0; c < sides; ++c)
      final.push_back(m.get(solved, sideAt(turn, number, f.e.index(c))));
    return final;
  });
  Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, row, next);
  return m.where(isLater, own, [&] {
    SmallVector<Value> rest(own);
    for (int64_t k = 0; k < count; ++k) {
      Value minus = m.negated(t[k]);
      for (int64_t c = 0; c < sides; ++c) {
        Value x = m.get(solved, sideAt(turn, f.e.index(k), f.e.index(c)));
        rest[c] = m.multiplyAdd(minus, x, rest[c]);
      }
    }
    return rest;
  });
}

void SolveCode::emit() {
  Value i = inMemory(f.minIndex(row, f.e.index(m.rows - 1)));
  SmallVector<Value> own, columns;
  for (int64_t c = 0; c < sides; ++c) {
    columns.push_back(f.e.addIndex(m.firstColumn, f.e.index(c)));
    Value safe = f.minIndex(columns.back(), f.e.index(m.columns - 1));
    own.push_back(m.operand(op.getRhs(), i, safe));
  }
  int64_t whole = m.rows / m.width * m.width;
  own = m.carry(f.e.index(0), f.e.index(whole), m.width, own, [&](Value k0, ValueRange have) {
    return panel(k0, m.width, SmallVector<Value>(have));
  });
  if (whole < m.rows)
    own = panel(f.e.index(whole), m.rows - whole, own);
  Value inside = f.less(row, f.e.index(m.rows));
  for (int64_t c = 0; c < sides; ++c) {
    Value has = f.less(columns[c], f.e.index(m.columns));
    f.when(arith::AndIOp::create(b, inside, has), [&] { m.putElement(own[c], i, columns[c]); });
  }
}

void device::emitTriangularSolve(MatrixBlock &m, prim::TriangularSolveOp op) {
  SolveCode(m, op).emit();
}
