//===- MatrixCode.cpp - What factors of matrices are made of --------------===//
//
// Registers hold the rows of a block while they are solved, and a tile of rows by two vectors of
// columns while a block's product is added to it: a multiply-add for each broadcast and half a
// vector that is read. The block's rows lie aside for that, with the other sign, so that an
// address is a constant and the sum a multiply-add.
//
//===----------------------------------------------------------------------===//
#include "MatrixCode.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

MatrixCode::MatrixCode(KernelFrame &f, Type element)
    : f(f), k(f.b, f.launch.getLoc()), type(element),
      lanes(std::max(2u, f.cpu.lanes(element.getIntOrFloatBitWidth()))),
      vector(VectorType::get({lanes}, element)), tileRows(f.cpu.vectorRegisters >= 32 ? 8 : 4) {
  kept = k.scratch(type, lanes * lanes * kColumnVectors);
}

//===----------------------------------------------------------------------===//
// Elements and rows
//===----------------------------------------------------------------------===//

Value MatrixCode::pointer(const Matrix &m, Index i, Index j) {
  return k.address(m.base, type, k.add(k.mul(i, m.rowStride), k.mul(j, m.columnStride)));
}

Value MatrixCode::element(const Matrix &m, Index i, Index j) {
  return k.load(type, pointer(m, i, j));
}

Value MatrixCode::inLanes(const Matrix &m, Index i, Index j) { return splat(element(m, i, j)); }

Value MatrixCode::row(const Matrix &m, Index i, const Columns &at, unsigned v) {
  return k.loadPart(vector, pointer(m, i, k.add(at.first, k.constant(v * lanes))), at.valid);
}

void MatrixCode::putRow(Value value, const Matrix &m, Index i, const Columns &at, unsigned v) {
  k.storePart(value, pointer(m, i, k.add(at.first, k.constant(v * lanes))), at.valid);
}

Value MatrixCode::multiplyAdd(Value x, Value y, Value sum) {
  if (f.cpu.fma)
    return math::FmaOp::create(f.b, x, y, sum);
  return arith::AddFOp::create(f.b, arith::MulFOp::create(f.b, x, y), sum);
}

Value MatrixCode::negated(Value v) { return arith::NegFOp::create(f.b, v); }

Value MatrixCode::number(double v) {
  return arith::ConstantOp::create(f.b, f.b.getFloatAttr(type, v));
}

Value MatrixCode::laneNumbers() {
  return arith::ConstantOp::create(
      f.b, f.b.getI32VectorAttr(llvm::to_vector(llvm::seq<int32_t>(0, lanes))));
}

Value MatrixCode::lanesThat(arith::CmpIPredicate predicate, Index c) {
  Value number = arith::IndexCastOp::create(f.b, f.b.getI32Type(), k.value(c));
  return arith::CmpIOp::create(f.b, predicate, laneNumbers(), splat(number));
}

Value MatrixCode::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(f.b, condition, x, y);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void MatrixCode::forColumns(Index low, Index high, function_ref<void(const Columns &)> body) {
  Index one = k.constant(lanes), many = k.constant(lanes * kColumnVectors);
  Index middle = k.add(low, k.mul(k.floorDiv(k.sub(high, low), many), many));
  k.loop(low, middle, many, [&](Index j) { body({j, kColumnVectors, one}); });
  // Where columns end with a vector, none of it is masked.
  std::optional<int64_t> last = k.known(high);
  bool whole = last && *last % lanes == 0;
  k.loop(middle, high, one,
         [&](Index j) { body({j, 1, whole ? one : k.min(one, k.sub(high, j))}); });
}

Columns MatrixCode::block(Index first, Index columns) {
  Index one = k.constant(lanes);
  std::optional<int64_t> last = k.known(columns);
  return {first, 1, last && *last % lanes == 0 ? one : k.min(one, k.sub(columns, first))};
}

void MatrixCode::forRows(Index low, Index high, unsigned most,
                         function_ref<void(Index, unsigned)> body) {
  for (unsigned rows = most; rows; rows /= 2) {
    Index count = k.constant(rows);
    Index middle = k.add(low, k.mul(k.floorDiv(k.sub(high, low), count), count));
    k.loop(low, middle, count, [&](Index i) { body(i, rows); });
    low = middle;
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value MatrixCode::aside(unsigned row, unsigned v, unsigned vectors) {
  return k.address(kept, type, k.constant((row * vectors + v) * lanes));
}

void MatrixCode::solveBlock(const Matrix &t, const Matrix &x, Index from, const Columns &at,
                            bool unit) {
  for (unsigned v = 0; v < at.vectors; ++v) {
    SmallVector<Value> minus;
    for (unsigned r = 0; r < lanes; ++r) {
      Index i = k.add(from, k.constant(r));
      Value value = row(x, i, at, v);
      for (unsigned s = 0; s < r; ++s)
        value = multiplyAdd(inLanes(t, i, k.add(from, k.constant(s))), minus[s], value);
      if (!unit)
        value = arith::DivFOp::create(f.b, value, inLanes(t, i, i));
      putRow(value, x, i, at, v);
      minus.push_back(negated(value));
      k.store(minus.back(), aside(r, v, at.vectors));
    }
  }
}

void MatrixCode::solveRest(const Matrix &t, const Matrix &x, Index from, Index rows,
                           const Columns &at, bool unit) {
  k.loop(from, rows, k.constant(1), [&](Index i) {
    for (unsigned v = 0; v < at.vectors; ++v) {
      SmallVector<Value> value =
          k.loop(from, i, k.constant(1), {row(x, i, at, v)}, [&](Index s, ValueRange sum) {
            Value minus = negated(inLanes(t, i, s));
            return SmallVector<Value>{multiplyAdd(minus, row(x, s, at, v), sum[0])};
          });
      if (!unit)
        value[0] = arith::DivFOp::create(f.b, value[0], inLanes(t, i, i));
      putRow(value[0], x, i, at, v);
    }
  });
}

void MatrixCode::addProduct(const Matrix &a, const Matrix &x, Index low, Index high, Index from,
                            const Columns &at) {
  constexpr unsigned kUnroll = 4;
  unsigned unroll = std::min(kUnroll, lanes);
  forRows(low, high, tileRows, [&](Index i, unsigned rows) {
    SmallVector<Value> sums;
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned v = 0; v < at.vectors; ++v)
        sums.push_back(row(x, k.add(i, k.constant(r)), at, v));
    sums = k.loop(k.constant(0), k.constant(lanes), k.constant(unroll), sums,
                  [&](Index first, ValueRange carried) {
                    SmallVector<Value> next(carried);
                    for (unsigned step = 0; step < unroll; ++step) {
                      Index s = k.add(first, k.constant(step));
                      SmallVector<Value> block;
                      for (unsigned v = 0; v < at.vectors; ++v) {
                        Index place =
                            k.mulAdd(s, k.constant(at.vectors * lanes), k.constant(v * lanes));
                        block.push_back(k.load(vector, k.address(kept, type, place)));
                      }
                      for (unsigned r = 0; r < rows; ++r) {
                        Value factor = inLanes(a, k.add(i, k.constant(r)), k.add(from, s));
                        for (unsigned v = 0; v < at.vectors; ++v) {
                          Value &sum = next[r * at.vectors + v];
                          sum = multiplyAdd(factor, block[v], sum);
                        }
                      }
                    }
                    return next;
                  });
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned v = 0; v < at.vectors; ++v)
        putRow(sums[r * at.vectors + v], x, k.add(i, k.constant(r)), at, v);
  });
}

//===----------------------------------------------------------------------===//
// Whole matrices
//===----------------------------------------------------------------------===//

void tcc::codegen::emitTriangularSolve(MatrixCode &m, const Matrix &t, const Matrix &x, Index rows,
                                       Index low, Index high, bool unit) {
  KernelBuilder &k = m.k;
  Index width = k.constant(m.lanes), whole = k.mul(k.floorDiv(rows, width), width);
  m.forColumns(low, high, [&](const Columns &at) {
    k.loop(k.constant(0), whole, width, [&](Index from) {
      m.solveBlock(t, x, from, at, unit);
      m.addProduct(t, x, k.add(from, width), rows, from, at);
    });
    m.solveRest(t, x, whole, rows, at, unit);
  });
}

void tcc::codegen::emitReflection(MatrixCode &m, const Matrix &packed, Value tau, const Matrix &y,
                                  Index step, Index rows, const Columns &at, Value mask) {
  KernelBuilder &k = m.k;
  constexpr unsigned kRows = 4; // a sum each, since each step waits for the one before
  Index below = k.add(step, k.constant(1));
  SmallVector<Value> top, sums;
  for (unsigned v = 0; v < at.vectors; ++v)
    top.push_back(m.row(y, step, at, v));
  for (unsigned r = 0; r < kRows; ++r)
    for (unsigned v = 0; v < at.vectors; ++v)
      sums.push_back(r == 0 ? top[v] : k.zero(m.vector));
  Index length = k.sub(rows, below);
  auto adds = [&](Index i, unsigned count, ValueRange carried) {
    SmallVector<Value> next(carried);
    for (unsigned r = 0; r < count; ++r) {
      Index at_ = k.add(i, k.constant(r));
      Value factor = m.inLanes(packed, at_, step);
      for (unsigned v = 0; v < at.vectors; ++v) {
        Value &sum = next[r * at.vectors + v];
        sum = m.multiplyAdd(factor, m.row(y, at_, at, v), sum);
      }
    }
    return next;
  };
  Index turn = k.constant(kRows), one = k.constant(1);
  Index middle = k.add(below, k.mul(k.floorDiv(length, turn), turn));
  sums = k.loop(below, middle, turn, sums,
                [&](Index i, ValueRange carried) { return adds(i, kRows, carried); });
  sums = k.loop(middle, rows, one, sums,
                [&](Index i, ValueRange carried) { return adds(i, 1, carried); });
  Value minusTau = m.splat(m.negated(tau));
  SmallVector<Value> scaled;
  for (unsigned v = 0; v < at.vectors; ++v) {
    Value sum = sums[v];
    for (unsigned r = 1; r < kRows; ++r)
      sum = arith::AddFOp::create(m.f.b, sum, sums[r * at.vectors + v]);
    sum = arith::MulFOp::create(m.f.b, minusTau, sum);
    scaled.push_back(mask ? m.select(mask, sum, k.zero(m.vector)) : sum);
    m.putRow(arith::AddFOp::create(m.f.b, top[v], scaled[v]), y, step, at, v);
  }
  m.forRows(below, rows, kRows, [&](Index i, unsigned count) {
    for (unsigned r = 0; r < count; ++r) {
      Index at_ = k.add(i, k.constant(r));
      Value factor = m.inLanes(packed, at_, step);
      for (unsigned v = 0; v < at.vectors; ++v)
        m.putRow(m.multiplyAdd(factor, scaled[v], m.row(y, at_, at, v)), y, at_, at, v);
    }
  });
}
