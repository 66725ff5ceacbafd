//===- FactorKernel.cpp - LU and Cholesky by a block's threads ------------===//
//
// A thread has a row of a panel in registers.
//
// - LU: a step finds its pivot by exchanges within warps and then between them. The thread that has
//   the pivot's row leaves it in shared memory, where it stays, and goes on with the row that was
//   in its place; all others subtract it. Two barriers a step. Which rows changed places is a list
//   by which the other columns are put in order, all reads before the first write, on the way to
//   being solved.
// - Cholesky: the rows on the diagonal leave their elements of a step's column in shared memory.
//   One barrier a step.
//
// A panel lies in rows of shared memory that are a vector longer than it is wide, so that
// neighbouring threads, which read vectors of neighbouring rows, meet in no bank.
//
//===----------------------------------------------------------------------===//
#include "MatrixBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Columns that are solved at once and wait in shared memory for the product.
constexpr int64_t kSolved = 256;
constexpr int64_t kWarps = GpuArch::threads / GpuArch::warp;

static int64_t pitchOf(int64_t width, int64_t bytes) {
  return width + GpuArch::accessBytes / bytes;
}

Room device::roomOfLu(int64_t rows, int64_t width, int64_t bytes) {
  return {{rows * pitchOf(width, bytes), bytes},
          {width * kSolved, bytes},
          {2 * width, bytes},
          {kWarps, bytes},
          {kWarps, 4},
          {width, 4},
          {rows, 4},
          {rows, 4}};
}

Room device::roomOfCholesky(int64_t rows, int64_t width, int64_t bytes) {
  return {{rows * pitchOf(width, bytes), bytes}, {width * width, bytes}};
}

namespace {

/// What both have in common: a panel, a row of it a thread.
class Panel {
public:
  explicit Panel(MatrixBlock &m)
      : m(m), f(m.f), b(m.b), row(f.thread), rows(f.e.index(m.rows)), inside(f.less(row, rows)),
        safe(f.minIndex(row, f.e.index(m.rows - 1))),
        pitch(f.e.index(pitchOf(m.width, elementBytes(m.type)))),
        panel(m.room(m.type, m.rows * pitchOf(m.width, elementBytes(m.type)))) {}

protected:
  Value place(Value i, int64_t k) { return f.e.addIndex(f.e.mulIndex(i, pitch), f.e.index(k)); }
  Value inPanel(Value i, int64_t k) { return m.get(panel, place(i, k)); }
  Value fromRow(Value low) { return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, row, low); }
  SmallVector<Value> ownRow(Value k0, int64_t count) {
    SmallVector<Value> own;
    for (int64_t j = 0; j < count; ++j)
      own.push_back(m.element(safe, f.e.addIndex(k0, f.e.index(j))));
    return own;
  }

  MatrixBlock &m;
  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Value row, rows, inside, safe, pitch, panel;
};

class LuCode : Panel {
public:
  LuCode(MatrixBlock &m, bool pivoting)
      : Panel(m), pivoting(pivoting), i32(b.getI32Type()),
        solved(m.room(m.type, m.width * kSolved)), displaced(m.room(m.type, 2 * m.width)),
        sizes(m.room(m.type, kWarps)), places(m.room(i32, kWarps)), pivots(m.room(i32, m.width)),
        moved(m.room(i32, m.rows)), order(m.room(i32, m.rows)) {}
  void emit();

private:
  struct Pivot {
    Value size, row; ///< row: i32
  };
  Pivot larger(Pivot x, Pivot y);
  Value findPivot(Value at, Value entry);
  void exchange(Value list, Value i, Value j);
  void step(Value k0, int64_t k, SmallVectorImpl<Value> &own);
  void putInOrder(Value k0, int64_t count, Value column, bool solves, Value number);
  Value asIndex(Value place) { return arith::IndexCastUIOp::create(b, b.getIndexType(), place); }
  Value asPlace(Value index) { return arith::IndexCastUIOp::create(b, i32, index); }

  bool pivoting;
  Type i32;
  Value solved, displaced, sizes, places, pivots, moved, order;
};

} // namespace

/// The row that comes first of those that are as large.
LuCode::Pivot LuCode::larger(Pivot x, Pivot y) {
  Value wins = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, y.size, x.size);
  Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y.size, x.size);
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, y.row, x.row);
  wins = arith::OrIOp::create(b, wins, arith::AndIOp::create(b, same, first));
  return {arith::SelectOp::create(b, wins, y.size, x.size),
          arith::SelectOp::create(b, wins, y.row, x.row)};
}

/// Among the rows from `at` on, of which each thread has an entry.
Value LuCode::findPivot(Value at, Value entry) {
  Value size = math::AbsFOp::create(b, entry);
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, size, size);
  size = arith::SelectOp::create(b, isNumber, size, m.number(-1));
  Value takesPart = arith::AndIOp::create(b, inside, fromRow(at));
  Pivot best{arith::SelectOp::create(b, takesPart, size, m.number(-2)), asPlace(row)};
  for (unsigned distance = GpuArch::warp / 2; distance; distance /= 2)
    best =
        larger(best, {exchangeLanes(b, best.size, distance), exchangeLanes(b, best.row, distance)});
  int64_t warps = f.schedule.getThreads() / GpuArch::warp;
  if (warps == 1)
    return best.row;
  f.when(m.isEqual(m.lane, f.e.index(0)), [&] {
    m.put(best.size, sizes, m.warp);
    m.put(best.row, places, m.warp);
  });
  f.barrier();
  constexpr int64_t kFew = 8; // warps whose pivots every thread compares alone
  auto ofWarp = [&](Value number) -> Pivot {
    return {m.get(sizes, number), m.get(places, i32, number)};
  };
  if (warps > kFew) {
    best = ofWarp(f.minIndex(m.lane, f.e.index(warps - 1)));
    for (unsigned distance = GpuArch::warp / 2; distance; distance /= 2)
      best = larger(best,
                    {exchangeLanes(b, best.size, distance), exchangeLanes(b, best.row, distance)});
    return best.row;
  }
  SmallVector<Pivot> all;
  for (int64_t w = 0; w < warps; ++w)
    all.push_back(ofWarp(f.e.index(w)));
  for (size_t distance = 1; distance < all.size(); distance *= 2)
    for (size_t i = 0; i + distance < all.size(); i += 2 * distance)
      all[i] = larger(all[i], all[i + distance]);
  return all[0].row;
}

void LuCode::exchange(Value list, Value i, Value j) {
  Value x = m.get(list, i32, i), y = m.get(list, i32, j);
  m.put(y, list, i);
  m.put(x, list, j);
}

/// Step k of the panel. Rows before it lie in shared memory, and what their threads have from then
/// on counts no more.
void LuCode::step(Value k0, int64_t k, SmallVectorImpl<Value> &own) {
  int64_t count = own.size();
  Value at = f.e.addIndex(k0, f.e.index(k));
  Value chosen = pivoting ? asIndex(findPivot(at, own[k])) : at;
  Value isPivot = m.isEqual(row, chosen);
  // The step after the next writes here again, which is a barrier later.
  auto aside = [&](int64_t j) { return f.e.index(k % 2 * m.width + j); };
  f.when(isPivot, [&] {
    for (int64_t j = 0; j < count; ++j)
      m.put(own[j], panel, place(at, j));
  });
  f.when(m.isEqual(row, at), [&] {
    for (int64_t j = 0; j < count; ++j)
      m.put(own[j], displaced, aside(j));
  });
  f.when(m.isEqual(row, f.e.index(0)), [&] {
    m.put(asPlace(chosen), pivots, f.e.index(k));
    m.putInColumn(arith::IndexCastUIOp::create(b, b.getI64Type(), chosen), 1, at);
    if (pivoting) {
      exchange(moved, at, chosen);
      exchange(order, at, chosen);
    }
  });
  f.barrier();
  if (pivoting)
    own.assign(m.where(isPivot, own, [&] {
      SmallVector<Value> other;
      for (int64_t j = 0; j < count; ++j)
        other.push_back(m.get(displaced, aside(j)));
      return other;
    }));
  Value pivot = inPanel(at, k);
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, pivot, m.number(0));
  Value divisor = arith::SelectOp::create(b, isZero, m.number(1), pivot);
  Value factor = arith::SelectOp::create(b, isZero, m.number(0), own[k]);
  factor = arith::DivFOp::create(b, factor, divisor);
  own[k] = factor;
  Value minus = m.negated(factor);
  for (int64_t j = k + 1; j < count; ++j)
    own[j] = m.multiplyAdd(minus, inPanel(at, j), own[j]);
}

/// The rows of a column outside of the panel change places as the panel's have. Where it is after
/// the panel, those beside it are solved, and number `number` of what waits for the product.
void LuCode::putInOrder(Value k0, int64_t count, Value column, bool solves, Value number) {
  SmallVector<Value> top, other, to;
  for (int64_t s = 0; s < count; ++s) {
    Value at = f.e.addIndex(k0, f.e.index(s));
    top.push_back(m.element(pivoting ? asIndex(m.get(moved, i32, at)) : at, column));
    if (!pivoting)
      continue;
    to.push_back(asIndex(m.get(pivots, i32, f.e.index(s))));
    other.push_back(m.element(asIndex(m.get(moved, i32, to.back())), column));
  }
  for (int64_t s = 0; s < count; ++s) {
    Value at = f.e.addIndex(k0, f.e.index(s));
    if (solves) {
      for (int64_t t = 0; t < s; ++t)
        top[s] = m.multiplyAdd(m.negated(inPanel(at, t)), top[t], top[s]);
      m.put(top[s], solved, f.e.addIndex(f.e.index(s * kSolved), number));
    }
    m.putElement(top[s], at, column);
  }
  Value end = f.e.addIndex(k0, f.e.index(count));
  for (auto [v, i] : llvm::zip_equal(other, to))
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::uge, i, end),
           [&, v = v, i = i] { m.putElement(v, i, column); });
}

void LuCode::emit() {
  int64_t threads = f.schedule.getThreads();
  f.when(inside, [&] { m.put(asPlace(row), order, row); });
  m.forPanels(std::min(m.rows, m.columns), [&](Value k0, int64_t count) {
    f.when(inside, [&] { m.put(asPlace(row), moved, row); });
    f.barrier();
    SmallVector<Value> own = ownRow(k0, count);
    for (int64_t k = 0; k < count; ++k)
      step(k0, k, own);
    Value next = f.e.addIndex(k0, f.e.index(count));
    f.when(arith::AndIOp::create(b, inside, fromRow(next)), [&] {
      for (int64_t j = 0; j < count; ++j) {
        m.put(own[j], panel, place(row, j));
        m.putElement(own[j], row, f.e.addIndex(k0, f.e.index(j)));
      }
    });
    f.barrier();
    f.loop(row, f.e.index(count * count), threads, [&](Value number) {
      Value i = f.e.addIndex(k0, f.e.divIndex(number, f.e.index(count)));
      Value j = f.e.remIndex(number, f.e.index(count));
      Value v = m.get(panel, f.e.addIndex(f.e.mulIndex(i, pitch), j));
      m.putElement(v, i, f.e.addIndex(k0, j));
    });
    if (pivoting)
      f.loop(row, k0, threads,
             [&](Value column) { putInOrder(k0, count, column, /*solves=*/false, {}); });
    Value all = f.e.index(m.columns);
    f.loop(next, all, kSolved, [&](Value first) {
      Value end = f.minIndex(f.e.addIndex(first, f.e.index(kSolved)), all);
      f.loop(row, f.e.subIndex(end, first), threads, [&](Value number) {
        putInOrder(k0, count, f.e.addIndex(first, number), /*solves=*/true, number);
      });
      f.barrier();
      m.subtractProduct(
          next, first, end, count, [&](Value i, int64_t k) { return inPanel(i, k); },
          [&](Value j, int64_t k) {
            Value number = f.e.subIndex(j, first);
            return m.get(solved, f.e.addIndex(f.e.index(k * kSolved), number));
          });
      f.barrier();
    });
    f.barrier();
  });
  f.when(inside, [&] {
    Value place = m.get(order, i32, row);
    m.putInColumn(arith::ExtUIOp::create(b, b.getI64Type(), place), 2, row);
    // Rows that have no step.
    Value isLeft = fromRow(f.e.index(std::min(m.rows, m.columns)));
    f.when(isLeft,
           [&] { m.putInColumn(arith::IndexCastUIOp::create(b, b.getI64Type(), row), 1, row); });
  });
}

void device::emitLu(MatrixBlock &m, prim::LuOp op) {
  m.copy(op.getX());
  m.f.barrier();
  LuCode(m, op.getPivoting()).emit();
}

//===----------------------------------------------------------------------===//
// Cholesky
//===----------------------------------------------------------------------===//

namespace {

class CholeskyCode : Panel {
public:
  explicit CholeskyCode(MatrixBlock &m) : Panel(m), diagonal(m.room(m.type, m.width * m.width)) {}
  void emit();

private:
  void step(Value k0, int64_t k, SmallVectorImpl<Value> &own);
  Value diagonal; ///< column k of the panel's rows on the diagonal, as row k
};

} // namespace

void CholeskyCode::step(Value k0, int64_t k, SmallVectorImpl<Value> &own) {
  int64_t count = own.size();
  Value at = f.e.addIndex(k0, f.e.index(k)), end = f.e.addIndex(k0, f.e.index(count));
  f.when(arith::AndIOp::create(b, fromRow(at), f.less(row, end)), [&] {
    Value j = f.e.subIndex(row, k0);
    m.put(own[k], diagonal, f.e.addIndex(f.e.index(k * m.width), j));
  });
  f.barrier();
  auto entry = [&](int64_t j) { return m.get(diagonal, f.e.index(k * m.width + j)); };
  Value root = math::SqrtOp::create(b, entry(k));
  Value inverse = arith::DivFOp::create(b, m.number(1), root);
  auto scaled = [&](Value v) -> Value { return arith::MulFOp::create(b, v, inverse); };
  Value factor = scaled(own[k]), minus = m.negated(factor);
  own[k] = arith::SelectOp::create(b, m.isEqual(row, at), root, factor);
  for (int64_t j = k + 1; j < count; ++j)
    own[j] = m.multiplyAdd(minus, scaled(entry(j)), own[j]);
}

void CholeskyCode::emit() {
  m.forPanels(m.rows, [&](Value k0, int64_t count) {
    SmallVector<Value> own = ownRow(k0, count);
    for (int64_t k = 0; k < count; ++k)
      step(k0, k, own);
    Value next = f.e.addIndex(k0, f.e.index(count));
    f.when(inside, [&] {
      for (int64_t j = 0; j < count; ++j) {
        Value column = f.e.addIndex(k0, f.e.index(j));
        m.put(own[j], panel, place(row, j));
        // Above the diagonal there is nothing, whatever was computed.
        Value v = arith::SelectOp::create(b, fromRow(column), own[j], m.number(0));
        m.putElement(v, row, column);
      }
    });
    f.barrier();
    auto factor = [&](Value i, int64_t k) { return inPanel(i, k); };
    m.subtractProduct(next, next, rows, count, factor, factor, /*symmetric=*/true);
    f.barrier();
  });
}

void device::emitCholesky(MatrixBlock &m, prim::CholeskyOp op) {
  m.copy(op.getX());
  m.f.barrier();
  CholeskyCode(m).emit();
}
