//===- SmallMatrices.cpp - Many matrices of few rows, one a lane ----------===//
//
// Rows of a few elements fill a part of a vector, and each step waits for the one before. Of a
// batch of such matrices, as many as a vector has lanes are done at once: all of their elements are
// in registers, rows change places by choices, and every lane takes the steps that MatrixKernel
// takes for a matrix alone, so that results do not depend on who is beside whom.
//
//===----------------------------------------------------------------------===//
#include "MatrixTask.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool tcc::codegen::areMatricesInLanes(Operation *op) {
  constexpr int64_t kMostRows = 6, kMostColumns = 8, kFewestMatrices = 8;
  if (!isa<prim::LuOp, prim::CholeskyOp, prim::TriangularSolveOp>(op))
    return false;
  RankedTensorType type = tensorType(op->getResult(0));
  if (type.getRank() != 3)
    return false;
  int64_t count = type.getDimSize(0), rows = type.getDimSize(1), columns = type.getDimSize(2);
  return !ShapedType::isDynamic(rows) && rows <= kMostRows && !ShapedType::isDynamic(columns) &&
         columns <= kMostColumns && (ShapedType::isDynamic(count) || count >= kFewestMatrices);
}

namespace {

class LanesCode {
public:
  LanesCode(KernelFrame &f, MatrixCode &m, Operation *op, Value first)
      : f(f), m(m), op(op), first(first), type(tensorType(op->getResult(0))),
        rows(type.getDimSize(1)), columns(type.getDimSize(2)) {}
  void emit();

private:
  Coords at(int64_t i, std::optional<int64_t> j) {
    Coords point{Coord::affine(first, f.e.lanes() > 1 ? 1 : 0), Coord::uniform(f.e.index(i))};
    if (j)
      point.push_back(Coord::uniform(f.e.index(*j)));
    return point;
  }
  Value load(Value x, int64_t i, int64_t j) {
    Value v = f.e.evalVector(x, at(i, j));
    f.failed |= !v;
    return v ? v : like(0);
  }
  void store(Value v, unsigned result, int64_t i, std::optional<int64_t> j = {}) {
    f.e.store(f.results[result], at(i, j), v);
  }
  /// A number in all lanes.
  Value like(double v) {
    Value one = m.number(v);
    return f.e.lanes() > 1 ? m.k.broadcast(one, f.e.lanes()) : one;
  }
  Value whole(int64_t v) {
    Value one = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(v));
    return f.e.lanes() > 1 ? m.k.broadcast(one, f.e.lanes()) : one;
  }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(f.b, c, x, y); }
  Value divide(Value x, Value y) { return arith::DivFOp::create(f.b, x, y); }

  void lu(prim::LuOp op);
  void cholesky(prim::CholeskyOp op);
  void solve(prim::TriangularSolveOp op);

  KernelFrame &f;
  MatrixCode &m;
  Operation *op;
  Value first;
  RankedTensorType type;
  int64_t rows, columns;
};

} // namespace

void LanesCode::lu(prim::LuOp op) {
  SmallVector<SmallVector<Value>> a(rows);
  SmallVector<Value> order, pivots;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      a[i].push_back(load(op.getX(), i, j));
    order.push_back(whole(i));
    pivots.push_back(whole(i));
  }
  for (int64_t step = 0; step < std::min(rows, columns); ++step) {
    if (op.getPivoting()) {
      Value best = math::AbsFOp::create(f.b, a[step][step]), row = whole(step);
      for (int64_t i = step + 1; i < rows; ++i) {
        Value size = math::AbsFOp::create(f.b, a[i][step]);
        Value wins = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OGT, size, best);
        best = select(wins, size, best);
        row = select(wins, whole(i), row);
      }
      pivots[step] = row;
      for (int64_t i = step + 1; i < rows; ++i) {
        Value chosen = arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, row, whole(i));
        auto exchange = [&](Value &x, Value &y) {
          Value kept = x;
          x = select(chosen, y, x);
          y = select(chosen, kept, y);
        };
        for (int64_t j = 0; j < columns; ++j)
          exchange(a[step][j], a[i][j]);
        exchange(order[step], order[i]);
      }
    }
    Value pivot = a[step][step];
    Value isZero = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OEQ, pivot, like(0));
    Value divisor = select(isZero, like(1), pivot);
    for (int64_t i = step + 1; i < rows; ++i) {
      Value factor = divide(select(isZero, like(0), a[i][step]), divisor);
      a[i][step] = factor;
      for (int64_t j = step + 1; j < columns; ++j)
        a[i][j] = m.multiplyAdd(factor, m.negated(a[step][j]), a[i][j]);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      store(a[i][j], 0, i, j);
    store(pivots[i], 1, i);
    store(order[i], 2, i);
  }
}

void LanesCode::cholesky(prim::CholeskyOp op) {
  SmallVector<SmallVector<Value>> a(rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j <= i; ++j)
      a[i].push_back(load(op.getX(), i, j));
  for (int64_t step = 0; step < rows; ++step) {
    a[step][step] = math::SqrtOp::create(f.b, a[step][step]);
    for (int64_t i = step + 1; i < rows; ++i)
      a[i][step] = divide(a[i][step], a[step][step]);
    for (int64_t i = step + 1; i < rows; ++i)
      for (int64_t j = step + 1; j <= i; ++j)
        a[i][j] = m.multiplyAdd(m.negated(a[i][step]), a[j][step], a[i][j]);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      store(j <= i ? a[i][j] : like(0), 0, i, j);
}

void LanesCode::solve(prim::TriangularSolveOp op) {
  SmallVector<SmallVector<Value>> t(rows);
  bool upper = op.getUpper();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      bool isRead = j == i ? !op.getUnit() : (j > i) == upper;
      t[i].push_back(isRead ? load(op.getT(), i, j) : Value());
    }
  for (int64_t j = 0; j < columns; ++j) {
    SmallVector<Value> x;
    for (int64_t i = 0; i < rows; ++i)
      x.push_back(load(op.getRhs(), i, j));
    for (int64_t step = 0; step < rows; ++step) {
      int64_t i = upper ? rows - 1 - step : step;
      for (int64_t before = 0; before < step; ++before) {
        int64_t s = upper ? rows - 1 - before : before;
        x[i] = m.multiplyAdd(m.negated(t[i][s]), x[s], x[i]);
      }
      if (!op.getUnit())
        x[i] = divide(x[i], t[i][i]);
    }
    for (int64_t i = 0; i < rows; ++i)
      store(x[i], 0, i, j);
  }
}

void LanesCode::emit() {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::LuOp op) { lu(op); })
      .Case([&](prim::CholeskyOp op) { cholesky(op); })
      .Case([&](prim::TriangularSolveOp op) { solve(op); });
}

void tcc::codegen::emitMatricesInLanes(KernelFrame &f, MatrixCode &m, Operation *op) {
  f.vectorLoop(f.begin, f.end, m.lanes, false,
               [&](Value first) { LanesCode(f, m, op, first).emit(); });
}
