//===- MatrixLoops.cpp - LU, Cholesky and QR by loops of primitives -------===//
//
// For targets without kernels for the factors of a matrix. Step k of each algorithm works on the
// whole matrix and leaves by a mask what it must not change, so that shapes stay as they are and
// a loop can carry them: O(n) kernels of O(n m) elements, whatever the batch.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Matrices.h"
#include "tcc/Decompose/Decompose.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tcc {
#define GEN_PASS_DEF_MATRIXLOOPSPASS
#include "tcc/Decompose/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::matrices;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

Type indexType(PrimBuilder &b) { return b.builder().getI64Type(); }

/// [.., n] as a row, [.., 1, n].
Value asRow(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v) - 1}); }

/// The matrix's column k as [.., n], its row k as [.., m].
Value column(PrimBuilder &b, Value x, Value k) { return b.take(x, k, b.rank(x) - 1); }
Value row(PrimBuilder &b, Value x, Value k) { return b.take(x, k, b.rank(x) - 2); }

Value logicalAnd(PrimBuilder &b, Value x, Value y) { return b.binary<prim::AndOp>(x, y); }

using Values = SmallVector<Value>;

Values luLoop(PrimBuilder &b, prim::LuOp op) {
  Value x = op.getX();
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dims batch = batchOf(b, x), rows = batchOf(b, x, 1);
  Dim n = b.dim(x, rank - 2), least = b.minDims(n, b.dim(x, rank - 1));
  Value start = b.broadcastTo(b.iota({n}, 0, i64), rows);
  auto step = [&](Value k, ValueRange have) -> Values {
    Value a = have[0], order = have[1], pivots = have[2];
    Value i = b.iota({n}, 0, i64);
    if (op.getPivoting()) {
      Value size = b.select(b.compare(P::ge, i, k), b.abs(column(b, a, k)), b.scalar(-1, element));
      Value best = prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(batch, i64),
                                             K::max, size, rank - 2)
                       .getResult();
      Value at = spread(b, best);
      Value from = b.select(b.compare(P::eq, i, k), at, b.select(b.compare(P::eq, i, at), k, i));
      a = rowsInOrder(b, a, from);
      order = b.takeAlong(order, from, rank - 2);
      pivots = b.select(b.compare(P::eq, i, k), at, pivots);
    }
    Value pivotColumn = column(b, a, k), pivot = spread(b, b.take(pivotColumn, k, rank - 2));
    Value below = logicalAnd(b, b.compare(P::gt, i, k), b.compare(P::ne, pivot, 0.0));
    Value factor = where(b, below, b.div(pivotColumn, pivot));
    Value r = position(b, a, 2), c = position(b, a, 1);
    Value right = where(b, b.compare(P::gt, b.iota({b.dim(a, rank - 1)}, 0, i64), k), row(b, a, k));
    Value reduced = b.sub(a, b.mul(asColumn(b, factor), asRow(b, right)));
    Value isFactor = logicalAnd(b, b.compare(P::gt, r, k), b.compare(P::eq, c, k));
    a = b.select(isFactor, asColumn(b, factor), reduced);
    return {a, order, pivots};
  };
  Values done = repeat(b, least, {x, start, start}, step);
  return {done[0], done[2], done[1]};
}

Values choleskyLoop(PrimBuilder &b, prim::CholeskyOp op) {
  Value x = op.getX();
  int64_t rank = b.rank(x);
  auto step = [&](Value k, ValueRange have) -> Values {
    Value a = have[0], entries = column(b, a, k);
    Value i = b.iota({b.dim(a, rank - 1)}, 0, indexType(b));
    Value pivot = b.sqrt(spread(b, b.take(entries, k, rank - 2)));
    Value line = where(b, b.compare(P::ge, i, k), b.div(entries, pivot));
    Value r = position(b, a, 2), c = position(b, a, 1);
    Value rest = logicalAnd(b, b.compare(P::gt, r, k), b.compare(P::gt, c, k));
    Value reduced = b.sub(a, b.mul(asColumn(b, line), asRow(b, line)));
    a = b.select(rest, reduced, a);
    return {b.select(b.compare(P::eq, c, k), asColumn(b, line), a)};
  };
  return {lower(b, repeat(b, b.dim(x, rank - 1), {x}, step)[0])};
}

Values triangularLoop(PrimBuilder &b, prim::TriangularSolveOp op) {
  Value t = op.getT();
  Type i64 = indexType(b);
  int64_t rank = b.rank(t);
  Dim n = b.dim(t, rank - 1);
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0);
  auto step = [&](Value turn, ValueRange have) -> Values {
    Value x = have[0], k = op.getUpper() ? b.sub(last, turn) : turn;
    Value entries = column(b, t, k), solved = row(b, x, k);
    if (!op.getUnit())
      solved = b.div(solved, spread(b, b.take(entries, k, rank - 2)));
    Value i = position(b, x, 2), known = asRow(b, solved);
    Value left = b.sub(x, b.mul(asColumn(b, entries), known));
    x = b.select(b.compare(op.getUpper() ? P::lt : P::gt, i, k), left, x);
    return {b.select(b.compare(P::eq, i, k), known, x)};
  };
  return repeat(b, n, {op.getRhs()}, step);
}

/// y - tau v (v^T y), tau [.., 1] and v [.., n].
Value reflect(PrimBuilder &b, Value tau, Value v, Value y) {
  Value sums = b.reduce(K::sum, b.mul(asColumn(b, v), y), {b.rank(y) - 2}, true);
  return b.sub(y, b.mul(spread(b, tau), b.mul(asColumn(b, v), sums)));
}

Values qrLoop(PrimBuilder &b, prim::QrOp op) {
  Value x = op.getX();
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dims rows = batchOf(b, x, 1);
  Dim n = b.dim(x, rank - 2), m = b.dim(x, rank - 1);
  auto step = [&](Value k, ValueRange have) -> Values {
    Value r = have[0], taus = have[1], entries = column(b, r, k);
    Value i = b.iota({n}, 0, i64), isBelow = b.compare(P::gt, i, k);
    Value below = where(b, isBelow, entries);
    // Scaled by the largest entry, squares neither overflow nor vanish.
    Value largest =
        b.reduce(K::max, b.abs(where(b, b.compare(P::ge, i, k), entries)), {rank - 2}, true);
    Value one = b.scalar(1, element);
    Value unit = b.select(b.compare(P::eq, largest, 0.0), one, largest);
    below = b.div(below, unit);
    Value head = b.div(spread(b, b.take(entries, k, rank - 2)), unit);
    Value rest = b.reduce(K::sum, b.mul(below, below), {rank - 2}, true);
    Value length = b.sqrt(b.add(rest, b.mul(head, head)));
    Value beta = b.select(b.compare(P::ge, head, 0.0), b.neg(length), length);
    // v = x - beta e_k, scaled so that its first element is 1. Nothing below: H = 1.
    Value idle = b.compare(P::eq, rest, 0.0);
    Value top = b.select(idle, one, b.sub(head, beta)), square = b.mul(top, top);
    Value tau =
        b.select(idle, b.scalar(0, element), b.div(b.mul(square, 2.0), b.add(square, rest)));
    below = b.div(below, top);
    Value isStep = b.compare(P::eq, i, k);
    Value v = b.select(isStep, one, below);
    Value next = reflect(b, tau, v, r), c = position(b, r, 1);
    next = b.select(b.compare(P::gt, c, k), next, r);
    Value top_ = b.select(idle, b.mul(head, unit), b.mul(beta, unit));
    Value own = b.select(isBelow, below, b.select(isStep, top_, entries));
    return {b.select(b.compare(P::eq, c, k), asColumn(b, own), next), b.select(isStep, tau, taus)};
  };
  return repeat(b, b.minDims(n, m), {x, b.full(rows, 0, element)}, step);
}

Values reflectLoop(PrimBuilder &b, prim::ReflectOp op) {
  Value packed = op.getPacked(), tau = op.getTau();
  Type i64 = indexType(b);
  int64_t rank = b.rank(packed);
  Dim count = b.minDims(b.dim(tau, rank - 2), b.dim(packed, rank - 1));
  Value last = b.sub(b.fromHost({count}, {}, i64), 1.0);
  auto step = [&](Value turn, ValueRange have) -> Values {
    Value k = b.sub(last, turn), i = b.iota({b.dim(packed, rank - 2)}, 0, i64);
    Value below = where(b, b.compare(P::gt, i, k), column(b, packed, k));
    Value v = b.select(b.compare(P::eq, i, k), b.scalar(1, b.elem(packed)), below);
    return {reflect(b, spread(b, b.take(tau, k, rank - 2)), v, have[0])};
  };
  return repeat(b, count, {op.getY()}, step);
}

class MatrixLoopsPass : public tcc::impl::MatrixLoopsPassBase<MatrixLoopsPass> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation().walk([&](Operation *op) {
      if (op->hasTrait<prim::MatrixFactor>())
        all.push_back(op);
    });
    for (Operation *op : all) {
      OpBuilder builder(op);
      PrimBuilder b(builder, op->getLoc());
      Values loop = llvm::TypeSwitch<Operation *, Values>(op)
                        .Case([&](prim::LuOp o) { return luLoop(b, o); })
                        .Case([&](prim::CholeskyOp o) { return choleskyLoop(b, o); })
                        .Case([&](prim::TriangularSolveOp o) { return triangularLoop(b, o); })
                        .Case([&](prim::QrOp o) { return qrLoop(b, o); })
                        .Case([&](prim::ReflectOp o) { return reflectLoop(b, o); });
      std::string fault = b.takeFault();
      if (!fault.empty()) {
        op->emitError(fault);
        return signalPassFailure();
      }
      for (auto [result, value] : llvm::zip_equal(op->getResults(), loop))
        result.replaceAllUsesWith(value);
      op->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createMatrixLoopsPass() { return std::make_unique<MatrixLoopsPass>(); }
