//===- MatrixLoops.cpp - LU, Cholesky and QR by loops of primitives -------===//
//
// For factors that a target has no kernels for, and for those of complex matrices, for which no
// target has any. Step k of each algorithm works on the whole matrix and leaves by a mask what it
// must not change, so that shapes stay as they are and a loop can carry them: O(n) kernels of
// O(n m) elements, whatever the batch. Complex pivots and reflections are LAPACK's.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"
#include "tcc/Decompose/Decompose.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tcc {
#define GEN_PASS_DECL_MATRIXLOOPSPASS
#define GEN_PASS_DEF_MATRIXLOOPSPASS
#include "tcc/Decompose/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::matrices;
using namespace tcc::complexmath;
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

/// By which a pivot is chosen: |x|, of complex numbers |re| + |im|.
Value sizeOf(PrimBuilder &b, Value x) {
  if (!isComplex(x))
    return b.abs(x);
  Parts z = partsOf(b, x);
  return b.add(b.abs(z.re), b.abs(z.im));
}

using Values = SmallVector<Value>;

} // namespace

Factors matrices::luLoop(PrimBuilder &b, Value x, bool pivoting) {
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dims batch = batchOf(b, x), rows = batchOf(b, x, 1);
  Dim n = b.dim(x, rank - 2), least = b.minDims(n, b.dim(x, rank - 1));
  Value start = b.broadcastTo(b.iota({n}, 0, i64), rows);
  auto step = [&](Value k, ValueRange have) -> Values {
    Value a = have[0], order = have[1], pivots = have[2];
    Value i = b.iota({n}, 0, i64);
    if (pivoting) {
      Value size = sizeOf(b, column(b, a, k));
      size = b.select(b.compare(P::ge, i, k), size, b.scalar(-1, realType(element)));
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

Value matrices::choleskyLoop(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  auto step = [&](Value k, ValueRange have) -> Values {
    Value a = have[0], entries = column(b, a, k);
    Value i = b.iota({b.dim(a, rank - 1)}, 0, indexType(b));
    Value pivot = b.sqrt(realPart(b, spread(b, b.take(entries, k, rank - 2))));
    Value line = where(b, b.compare(P::ge, i, k), b.div(entries, b.cast(pivot, b.elem(x))));
    Value r = position(b, a, 2), c = position(b, a, 1);
    Value rest = logicalAnd(b, b.compare(P::gt, r, k), b.compare(P::gt, c, k));
    Value reduced = b.sub(a, b.mul(asColumn(b, line), asRow(b, conjugate(b, line))));
    a = b.select(rest, reduced, a);
    return {b.select(b.compare(P::eq, c, k), asColumn(b, line), a)};
  };
  return lower(b, repeat(b, b.dim(x, rank - 1), {x}, step)[0]);
}

Value matrices::triangularLoop(PrimBuilder &b, Value t, Value rhs, bool isUpper, bool unit) {
  Type i64 = indexType(b);
  int64_t rank = b.rank(t);
  Dim n = b.dim(t, rank - 1);
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0);
  auto step = [&](Value turn, ValueRange have) -> Values {
    Value x = have[0], k = isUpper ? b.sub(last, turn) : turn;
    Value entries = column(b, t, k), solved = row(b, x, k);
    if (!unit)
      solved = b.div(solved, spread(b, b.take(entries, k, rank - 2)));
    Value i = position(b, x, 2), known = asRow(b, solved);
    Value left = b.sub(x, b.mul(asColumn(b, entries), known));
    x = b.select(b.compare(isUpper ? P::lt : P::gt, i, k), left, x);
    return {b.select(b.compare(P::eq, i, k), known, x)};
  };
  return repeat(b, n, {rhs}, step)[0];
}

namespace {

/// y - tau v (v^H y), tau [.., 1] and v [.., n].
Value reflect(PrimBuilder &b, Value tau, Value v, Value y) {
  Value sums = b.reduce(K::sum, b.mul(asColumn(b, conjugate(b, v)), y), {b.rank(y) - 2}, true);
  return b.sub(y, b.mul(spread(b, tau), b.mul(asColumn(b, v), sums)));
}

/// tau of the reflection that takes a column of the first element `head`, over `rest` (the squares
/// of those below), to the real number `beta`.
Value factorOf(PrimBuilder &b, Value head, Value rest, Value beta) {
  if (!isComplex(head)) {
    Value top = b.sub(head, beta), square = b.mul(top, top);
    return b.div(b.mul(square, 2.0), b.add(square, rest));
  }
  Parts z = partsOf(b, head);
  return joined(b, {b.div(b.sub(beta, z.re), beta), b.neg(b.div(z.im, beta))});
}

} // namespace

Factors matrices::qrLoop(PrimBuilder &b, Value x) {
  Type i64 = indexType(b), element = b.elem(x), real = realType(element);
  int64_t rank = b.rank(x);
  Dims rows = batchOf(b, x, 1);
  Dim n = b.dim(x, rank - 2), m = b.dim(x, rank - 1);
  auto square = [&](Value v) { return realPart(b, b.mul(v, conjugate(b, v))); };
  auto step = [&](Value k, ValueRange have) -> Values {
    Value r = have[0], taus = have[1], entries = column(b, r, k);
    Value i = b.iota({n}, 0, i64), isBelow = b.compare(P::gt, i, k);
    Value below = where(b, isBelow, entries);
    // Scaled by the largest entry, squares neither overflow nor vanish.
    Value largest =
        b.reduce(K::max, sizeOf(b, where(b, b.compare(P::ge, i, k), entries)), {rank - 2}, true);
    Value one = b.scalar(1, real);
    Value scale = b.select(b.compare(P::eq, largest, 0.0), one, largest);
    Value unit = b.cast(scale, element);
    below = b.div(below, unit);
    Value head = b.div(spread(b, b.take(entries, k, rank - 2)), unit);
    Value rest = b.reduce(K::sum, square(below), {rank - 2}, true);
    Value length = b.sqrt(b.add(rest, square(head)));
    Value beta = b.select(b.compare(P::ge, realPart(b, head), 0.0), b.neg(length), length);
    // v = x - beta e_k, scaled so that its first element is 1. Nothing to take away: H = 1.
    Value idle = b.compare(P::eq, rest, 0.0);
    if (isa<ComplexType>(element))
      idle = logicalAnd(b, idle, b.compare(P::eq, partsOf(b, head).im, 0.0));
    beta = b.select(idle, one, beta);
    Value tau = b.select(idle, b.scalar(0, element), factorOf(b, head, rest, beta));
    Value top = b.select(idle, b.scalar(1, element), b.sub(head, b.cast(beta, element)));
    below = b.div(below, top);
    Value isStep = b.compare(P::eq, i, k);
    Value v = b.select(isStep, b.scalar(1, element), below);
    Value next = reflect(b, conjugate(b, tau), v, r), c = position(b, r, 1);
    next = b.select(b.compare(P::gt, c, k), next, r);
    Value first = b.mul(b.select(idle, head, b.cast(beta, element)), unit);
    Value own = b.select(isBelow, below, b.select(isStep, first, entries));
    return {b.select(b.compare(P::eq, c, k), asColumn(b, own), next), b.select(isStep, tau, taus)};
  };
  return repeat(b, b.minDims(n, m), {x, b.full(rows, 0, element)}, step);
}

Value matrices::reflectLoop(PrimBuilder &b, Value packed, Value tau, Value y) {
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
  return repeat(b, count, {y}, step)[0];
}

static Factors asLoop(PrimBuilder &b, Operation *factor) {
  return llvm::TypeSwitch<Operation *, Factors>(factor)
      .Case([&](prim::LuOp op) { return luLoop(b, op.getX(), op.getPivoting()); })
      .Case([&](prim::CholeskyOp op) { return Factors{choleskyLoop(b, op.getX())}; })
      .Case([&](prim::TriangularSolveOp op) {
        return Factors{triangularLoop(b, op.getT(), op.getRhs(), op.getUpper(), op.getUnit())};
      })
      .Case([&](prim::QrOp op) { return qrLoop(b, op.getX()); })
      .Case([&](prim::ReflectOp op) {
        return Factors{reflectLoop(b, op.getPacked(), op.getTau(), op.getY())};
      })
      .Case([&](prim::SymmetricEigenOp op) { return eigenLoop(b, op.getX()); })
      .Case([&](prim::SvdOp op) { return svdLoop(b, op.getX()); });
}

namespace {

class MatrixLoopsPass : public tcc::impl::MatrixLoopsPassBase<MatrixLoopsPass> {
public:
  MatrixLoopsPass(int64_t most, std::function<bool(Operation *)> hasSpectral)
      : hasSpectral(std::move(hasSpectral)) {
    mostRows = most;
  }

  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation().walk([&](Operation *op) {
      if (op->hasTrait<prim::MatrixFactor>() && !hasKernel(op))
        all.push_back(op);
    });
    for (Operation *op : all) {
      OpBuilder builder(op);
      PrimBuilder b(builder, op->getLoc());
      Factors loop = asLoop(b, op);
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

private:
  bool hasKernel(Operation *op) const {
    if (isa<prim::SymmetricEigenOp, prim::SvdOp>(op))
      return hasSpectral && hasSpectral(op);
    auto known = [&](Type type) { return cast<RankedTensorType>(type).hasStaticShape(); };
    auto x = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t fits = x.getElementType().isF64() ? mostRows / 2 : mostRows.getValue();
    return llvm::all_of(op->getOperandTypes(), known) && known(x) &&
           x.getShape().drop_back().back() <= fits;
  }

  std::function<bool(Operation *)> hasSpectral;
};

} // namespace

std::unique_ptr<Pass> tcc::createMatrixLoopsPass(int64_t mostRows,
                                                 std::function<bool(Operation *)> hasSpectral) {
  return std::make_unique<MatrixLoopsPass>(mostRows, std::move(hasSpectral));
}
