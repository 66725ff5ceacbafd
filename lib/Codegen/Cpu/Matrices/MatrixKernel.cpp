//===- MatrixKernel.cpp - LU, Cholesky and QR in blocks of lanes ----------===//
//
// A task has a matrix, or some columns of right sides, and works in the result's memory. For n
// columns in blocks of w lanes, all but n w of the n^2 / 3 multiply-adds and more are done by the
// tiles of MatrixCode; the block's own columns are done so:
//
// - LU: each row of the block is a vector. A step reads each row once: it scales the element of
//   the pivot's column, subtracts the pivot's row from the lanes after it, and finds the largest
//   element of each lane for the pivots to come.
// - Cholesky: the block on the diagonal first; then each row below stays in its register for all
//   columns of the block.
// - QR: reflections one after the other. They are applied to two vectors of columns at a time,
//   which stay in L1 for all reflections of a block.
//
//===----------------------------------------------------------------------===//
#include "../Products/StridedOperand.h"
#include "MatrixTask.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using P = arith::CmpIPredicate;

int64_t tcc::codegen::matrixColumns(Operation *op, cpu::SpecialScheduleAttr schedule) {
  bool cuts = isa<prim::TriangularSolveOp, prim::ReflectOp>(op) && !areMatricesInLanes(op);
  return cuts ? schedule.getLanes() : 0;
}

namespace {

/// The largest element of each lane, and the row it is in.
struct Largest {
  Value size, row;
};

class LuCode {
public:
  LuCode(MatrixCode &m, Target a, Places pivots, Places order, bool pivoting)
      : m(m), k(m.k), a(a), pivots(pivots), order(order), pivoting(pivoting),
        places(VectorType::get({m.lanes}, f().b.getIntegerType(m.type.getIntOrFloatBitWidth()))) {
    picked = k.scratch(places.getElementType(), m.lanes);
  }
  void emit();

private:
  KernelFrame &f() { return m.f; }
  Largest search(Index low, const Columns &block, function_ref<Value(Index)> rowAt);
  Largest larger(Largest x, Largest y);
  SmallVector<Value> step(Index k0, Index at, const Columns &block, ValueRange best);
  void exchange(Index i, Index j);

  MatrixCode &m;
  KernelBuilder &k;
  Target a;
  Places pivots, order;
  bool pivoting;
  VectorType places;
  Value picked;
};

} // namespace

/// Of equal ones x's.
Largest LuCode::larger(Largest x, Largest y) {
  Value wins = arith::CmpFOp::create(f().b, arith::CmpFPredicate::OGT, y.size, x.size);
  return {m.select(wins, y.size, x.size), m.select(wins, y.row, x.row)};
}

/// Among rows from `low` on, which `rowAt` gives, once each.
Largest LuCode::search(Index low, const Columns &block, function_ref<Value(Index)> rowAt) {
  auto entry = [&](Index i) -> Largest {
    Value number = arith::IndexCastOp::create(f().b, places.getElementType(), k.value(i));
    return {math::AbsFOp::create(f().b, rowAt(i)), k.broadcast(number, m.lanes)};
  };
  Value none = m.splat(m.number(-1));
  Value first = arith::IndexCastOp::create(f().b, places.getElementType(), k.value(low));
  SmallVector<Value> best{none, k.broadcast(first, m.lanes)};
  constexpr unsigned kRows = 4;
  for (unsigned rows : {kRows, 1u}) {
    Index count = k.constant(rows);
    Index middle = k.add(low, k.mul(k.floorDiv(k.sub(a.rows, low), count), count));
    best = k.loop(low, middle, count, best, [&](Index i, ValueRange carried) {
      SmallVector<Largest> found;
      for (unsigned r = 0; r < rows; ++r)
        found.push_back(entry(k.add(i, k.constant(r))));
      for (unsigned width = 1; width < rows; width *= 2)
        for (unsigned r = 0; r < rows; r += 2 * width)
          found[r] = larger(found[r], found[r + width]);
      Largest next = larger({carried[0], carried[1]}, found[0]);
      return SmallVector<Value>{next.size, next.row};
    });
    low = middle;
  }
  return {best[0], best[1]};
}

void LuCode::exchange(Index i, Index j) {
  m.forColumns(k.constant(0), a.columns, [&](const Columns &at) {
    for (unsigned v = 0; v < at.vectors; ++v) {
      Value x = m.row(a.matrix, i, at, v), y = m.row(a.matrix, j, at, v);
      m.putRow(y, a.matrix, i, at, v);
      m.putRow(x, a.matrix, j, at, v);
    }
  });
  Value x = order.at(i), y = order.at(j);
  order.put(y, i);
  order.put(x, j);
}

/// Eliminates column `at` from the rows below, in the columns of the block that begins at k0.
SmallVector<Value> LuCode::step(Index k0, Index at, const Columns &block, ValueRange best) {
  Index lane = k.sub(at, k0);
  if (pivoting) {
    k.store(best[1], picked);
    Value chosen =
        k.load(places.getElementType(), k.address(picked, places.getElementType(), lane));
    Value row = arith::IndexCastOp::create(f().b, f().b.getIndexType(), chosen);
    k.ifThen(k.compare(P::ne, row, at), [&] { exchange(at, row); });
    pivots.put(k.toI64(row), at);
  }
  Value pivot = m.element(a.matrix, at, at);
  Value isZero = arith::CmpFOp::create(f().b, arith::CmpFPredicate::OEQ, pivot, m.number(0));
  Value divisor = m.select(isZero, m.number(1), pivot);
  Value after = m.lanesThat(P::sgt, lane), own = m.lanesThat(P::eq, lane);
  Value minus = m.negated(m.row(a.matrix, at, block));
  auto reduced = [&](Index i) -> Value {
    Value factor = m.select(isZero, m.number(0), m.element(a.matrix, i, at));
    factor = m.splat(arith::DivFOp::create(f().b, factor, divisor));
    Value row = m.row(a.matrix, i, block);
    row = m.select(after, m.multiplyAdd(factor, minus, row), row);
    row = m.select(own, factor, row);
    m.putRow(row, a.matrix, i, block);
    return row;
  };
  Largest next = search(k.add(at, k.constant(1)), block, reduced);
  return {next.size, next.row};
}

void LuCode::emit() {
  Index width = k.constant(m.lanes), zero = k.constant(0), one = k.constant(1);
  k.loop(zero, a.rows, one, [&](Index i) {
    pivots.put(k.toI64(i), i);
    order.put(k.toI64(i), i);
  });
  Index least = k.min(a.rows, a.columns);
  k.loop(zero, least, width, [&](Index k0) {
    Columns block = m.block(k0, a.columns);
    Index end = k.min(k.add(k0, width), least), next = k.add(k0, width);
    Largest best = search(k0, block, [&](Index i) { return m.row(a.matrix, i, block); });
    k.loop(k0, end, one, {best.size, best.row},
           [&](Index at, ValueRange carried) { return step(k0, at, block, carried); });
    m.forColumns(k.min(next, a.columns), a.columns, [&](const Columns &at) {
      k.ifThenElse(
          k.compare(P::sle, next, least),
          [&] {
            m.solveBlock(a.matrix, a.matrix, k0, at, /*unit=*/true);
            m.addProduct(a.matrix, a.matrix, next, a.rows, k0, at);
          },
          [&] {
            // Rows end within the block.
            k.loop(k.add(k0, one), end, one, [&](Index i) {
              for (unsigned v = 0; v < at.vectors; ++v) {
                SmallVector<Value> sum =
                    k.loop(k0, i, one, {m.row(a.matrix, i, at, v)}, [&](Index s, ValueRange sums) {
                      Value factor = m.negated(m.inLanes(a.matrix, i, s));
                      return SmallVector<Value>{
                          m.multiplyAdd(factor, m.row(a.matrix, s, at, v), sums[0])};
                    });
                m.putRow(sum[0], a.matrix, i, at, v);
              }
            });
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// Cholesky
//===----------------------------------------------------------------------===//

namespace {
class CholeskyCode {
public:
  CholeskyCode(MatrixCode &m, Target a) : m(m), k(m.k), a(a) {
    columns = {k.scratch(m.type, m.lanes * m.lanes), k.constant(m.lanes), k.constant(1)};
    scales = {k.scratch(m.type, m.lanes * m.lanes), k.constant(m.lanes), k.constant(1)};
  }
  void emit();

private:
  Columns all() { return {k.constant(0), 1, k.constant(m.lanes)}; }
  void factorBlock(Index k0, Index end);
  void rowsBelow(Index k0);
  void putAside(Index k0, const Columns &at);

  MatrixCode &m;
  KernelBuilder &k;
  Target a;
  /// Row c: column c of the factor's block, below the diagonal; and ones, but for the
  /// reciprocal of its diagonal in lane c.
  Matrix columns, scales;
};

} // namespace

void CholeskyCode::factorBlock(Index k0, Index end) {
  OpBuilder &b = m.f.b;
  Index one = k.constant(1);
  Columns block = m.block(k0, a.columns);
  k.loop(k0, end, one, [&](Index at) {
    Index c = k.sub(at, k0);
    Value root = math::SqrtOp::create(b, k.loc, m.element(a.matrix, at, at));
    m.put(root, a.matrix, at, at);
    m.putRow(m.splat(m.number(1)), scales, c, all());
    m.put(arith::DivFOp::create(b, k.loc, m.number(1), root), scales, c, c);
    m.putRow(k.zero(m.vector), columns, c, all());
    k.loop(k.add(at, one), end, one, [&](Index i) {
      Value l = arith::DivFOp::create(b, k.loc, m.element(a.matrix, i, at), root);
      m.put(l, a.matrix, i, at);
      m.put(l, columns, c, k.sub(i, k0));
    });
    Value after = m.lanesThat(P::sgt, c), column = m.row(columns, c, all());
    k.loop(k.add(at, one), end, one, [&](Index i) {
      Value row = m.row(a.matrix, i, block), minus = m.negated(m.inLanes(a.matrix, i, at));
      m.putRow(m.select(after, m.multiplyAdd(minus, column, row), row), a.matrix, i, block);
    });
  });
}

/// X L^T = a for the rows below a whole block.
void CholeskyCode::rowsBelow(Index k0) {
  constexpr unsigned kRows = 4;
  Columns block{k0, 1, k.constant(m.lanes)};
  m.forRows(k.add(k0, k.constant(m.lanes)), a.rows, kRows, [&](Index i, unsigned count) {
    SmallVector<Value> rows;
    for (unsigned r = 0; r < count; ++r)
      rows.push_back(m.row(a.matrix, k.add(i, k.constant(r)), block));
    for (unsigned c = 0; c < m.lanes; ++c) {
      Value scale = m.row(scales, k.constant(c), all());
      Value column = m.row(columns, k.constant(c), all());
      for (Value &row : rows) {
        row = arith::MulFOp::create(m.f.b, row, scale);
        Value factor = vector::ShuffleOp::create(m.f.b, row, row, SmallVector<int64_t>(m.lanes, c));
        row = m.multiplyAdd(m.negated(factor), column, row);
      }
    }
    for (auto [r, row] : llvm::enumerate(rows))
      m.putRow(row, a.matrix, k.add(i, k.constant(r)), block);
  });
}

/// Minus the transpose of rows that become columns.
void CholeskyCode::putAside(Index k0, const Columns &at) {
  Index count = k.min(k.constant(at.vectors * m.lanes), k.sub(a.rows, at.first));
  Matrix aside{m.aside(0, 0, at.vectors), k.constant(at.vectors * m.lanes), k.constant(1)};
  k.loop(k.constant(0), count, k.constant(1), [&](Index j) {
    for (unsigned s = 0; s < m.lanes; ++s) {
      Index step = k.constant(s);
      m.put(m.negated(m.element(a.matrix, k.add(at.first, j), k.add(k0, step))), aside, step, j);
    }
  });
}

void CholeskyCode::emit() {
  Index width = k.constant(m.lanes), zero = k.constant(0), one = k.constant(1);
  k.loop(zero, a.rows, width, [&](Index k0) {
    Index next = k.add(k0, width), end = k.min(next, a.rows);
    factorBlock(k0, end);
    k.ifThen(k.compare(P::slt, next, a.rows), [&] {
      rowsBelow(k0);
      m.forColumns(next, a.columns, [&](const Columns &at) {
        putAside(k0, at);
        m.addProduct(a.matrix, a.matrix, at.first, a.rows, k0, at);
      });
    });
  });
  k.loop(zero, a.rows, one, [&](Index i) {
    k.loop(k.add(i, one), a.columns, width, [&](Index j) {
      m.putRow(k.zero(m.vector), a.matrix, i, {j, 1, k.min(width, k.sub(a.columns, j))});
    });
  });
}

//===----------------------------------------------------------------------===//
// QR
//===----------------------------------------------------------------------===//

/// Column `step` becomes beta and the reflection that makes it so; gives tau.
static Value emitReflector(MatrixCode &m, Target a, Index step) {
  KernelBuilder &k = m.k;
  ImplicitLocOpBuilder &b = m.f.b;
  Index one = k.constant(1), below = k.add(step, one);
  auto sumBelow = [&](Value init, function_ref<Value(Value x, Value sum)> add) {
    return k.loop(below, a.rows, one, {init}, [&](Index i, ValueRange sum) {
      return SmallVector<Value>{add(m.element(a.matrix, i, step), sum[0])};
    })[0];
  };
  auto divide = [&](Value x, Value y) -> Value { return arith::DivFOp::create(b, x, y); };
  auto multiply = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
  auto compare = [&](arith::CmpFPredicate p, Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, p, x, y);
  };
  Value zero = m.number(0), unit = m.number(1), head = m.element(a.matrix, step, step);
  // Scaled by the largest, squares neither overflow nor vanish.
  Value rest = sumBelow(zero, [&](Value x, Value sum) -> Value {
    return arith::MaximumFOp::create(b, math::AbsFOp::create(b, x), sum);
  });
  Value idle = compare(arith::CmpFPredicate::OEQ, rest, zero);
  Value largest = arith::MaximumFOp::create(b, rest, math::AbsFOp::create(b, head));
  largest = m.select(idle, unit, largest);
  Value squares = sumBelow(zero, [&](Value x, Value sum) -> Value {
    Value scaled = divide(x, largest);
    return m.multiplyAdd(scaled, scaled, sum);
  });
  Value first = divide(head, largest);
  Value length = math::SqrtOp::create(b, m.multiplyAdd(first, first, squares));
  Value positive = compare(arith::CmpFPredicate::OGE, head, zero);
  Value beta = m.select(positive, m.negated(length), length);
  Value top = arith::SubFOp::create(b, first, beta);
  // tau = 2 / (1 + |below|^2) of the vector whose first element is 1.
  Value square = multiply(top, top);
  Value tau =
      divide(arith::AddFOp::create(b, square, square), arith::AddFOp::create(b, square, squares));
  Value divisor = multiply(top, largest);
  auto active = arith::XOrIOp::create(b, idle, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  k.ifThen(active, [&] {
    k.loop(below, a.rows, one, [&](Index i) {
      m.put(divide(m.element(a.matrix, i, step), divisor), a.matrix, i, step);
    });
    m.put(multiply(beta, largest), a.matrix, step, step);
  });
  return m.select(idle, zero, tau);
}

static void emitQr(MatrixCode &m, Target a, const Matrix &tau) {
  KernelBuilder &k = m.k;
  Index width = k.constant(m.lanes), zero = k.constant(0), one = k.constant(1);
  k.loop(zero, a.rows, one, [&](Index i) { m.put(m.number(0), tau, i, zero); });
  Index least = k.min(a.rows, a.columns);
  k.loop(zero, least, width, [&](Index k0) {
    Columns block = m.block(k0, a.columns);
    Index end = k.min(k.add(k0, width), least);
    k.loop(k0, end, one, [&](Index step) {
      Value factor = emitReflector(m, a, step);
      m.put(factor, tau, step, zero);
      emitReflection(m, a.matrix, factor, a.matrix, step, a.rows, block,
                     m.lanesThat(P::sgt, k.sub(step, k0)));
    });
    m.forColumns(k.min(k.add(k0, width), a.columns), a.columns, [&](const Columns &at) {
      k.loop(k0, end, one, [&](Index step) {
        emitReflection(m, a.matrix, m.element(tau, step, zero), a.matrix, step, a.rows, at);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// From the last row up: the same as from the first down.
static Matrix reversed(MatrixCode &m, const Matrix &x, Index rows, Index columns) {
  KernelBuilder &k = m.k;
  Index one = k.constant(1);
  auto minus = [&](Index stride) { return k.sub(k.constant(0), stride); };
  Index last = columns ? k.sub(columns, one) : Index(k.constant(0));
  return {m.pointer(x, k.sub(rows, one), last), minus(x.rowStride),
          columns ? minus(x.columnStride) : x.columnStride};
}

static void emitSolve(TaskMatrices &task, prim::TriangularSolveOp op, Value low, Value high) {
  MatrixCode &m = task.m;
  Target x = task.target(task.f.results[0]);
  Matrix t = task.operand(op.getT());
  task.copy(op.getRhs(), task.f.results[0], low, high);
  if (op.getUpper()) {
    t = reversed(m, t, x.rows, x.rows);
    x.matrix = reversed(m, x.matrix, x.rows, {});
  }
  emitTriangularSolve(m, t, x.matrix, x.rows, low, high, op.getUnit());
}

static void emitReflections(TaskMatrices &task, prim::ReflectOp op, Value low, Value high) {
  MatrixCode &m = task.m;
  KernelBuilder &k = m.k;
  Target y = task.target(task.f.results[0]);
  Matrix packed = task.operand(op.getPacked()), tau = task.operand(op.getTau(), 1);
  task.copy(op.getY(), task.f.results[0], low, high);
  Index count =
      k.min(extentsOf(task.f, op.getTau()).back(), extentsOf(task.f, op.getPacked()).back());
  m.forColumns(low, high, [&](const Columns &at) {
    k.loop(k.constant(0), count, k.constant(1), [&](Index turn) {
      Index step = k.sub(k.sub(count, k.constant(1)), turn);
      emitReflection(m, packed, m.element(tau, step, k.constant(0)), y.matrix, step, y.rows, at);
    });
  });
}

void tcc::codegen::emitMatrices(KernelFrame &f, Operation *op) {
  auto schedule = cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr());
  const Memory &result = f.results[0];
  MatrixCode m(f, result.elementType);
  if (areMatricesInLanes(op))
    return emitMatricesInLanes(f, m, op);
  Value columns = result.extents.back(), zero = f.e.index(0), parts = f.e.index(1);
  int64_t part = matrixColumns(op, schedule);
  if (part)
    parts = f.e.divIndex(f.e.addIndex(columns, f.e.index(part - 1)), f.e.index(part));
  f.loop(f.begin, f.end, 1, [&](Value number) {
    TaskMatrices task{f, m, f.e.divIndex(number, parts)};
    Value low = zero, high = columns;
    if (part) {
      low = f.e.mulIndex(f.e.remIndex(number, parts), f.e.index(part));
      high = f.minIndex(f.e.addIndex(low, f.e.index(part)), columns);
    }
    if (auto solve = dyn_cast<prim::TriangularSolveOp>(op))
      return emitSolve(task, solve, low, high);
    if (auto reflect = dyn_cast<prim::ReflectOp>(op))
      return emitReflections(task, reflect, low, high);
    if (isa<prim::SymmetricEigenOp, prim::SvdOp>(op))
      return emitSpectral(task, op);
    task.copy(op->getOperand(0), result, low, high);
    Target a = task.target(result);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](prim::LuOp lu) {
          LuCode(m, a, task.places(f.results[1]), task.places(f.results[2]), lu.getPivoting())
              .emit();
        })
        .Case([&](prim::CholeskyOp) { CholeskyCode(m, a).emit(); })
        .Case([&](prim::QrOp) { emitQr(m, a, task.matrix(f.results[1], 1)); });
  });
}
