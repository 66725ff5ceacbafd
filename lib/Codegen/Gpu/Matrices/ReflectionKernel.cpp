//===- ReflectionKernel.cpp - QR and reflections by a block's warps -------===//
//
// A warp has a column in its registers, a row of it in so many a lane, so that what a reflection
// sums meets by exchanges within the warp. In a panel each warp has one column: it applies the
// reflections of those before it, then makes its own and leaves it in shared memory, for all to
// see after a barrier: one a step. The columns after a panel are several a warp, and stay in
// registers for all reflections of the panel; what reflections are applied to (prim.reflect) stays
// there for those of all panels, and is cut into columns, some a block.
//
// A reflection lies in shared memory as a column of its own, 0 before its row, 1 there, and 0 after
// the matrix's last row, so that nobody asks where it begins.
//
//===----------------------------------------------------------------------===//
#include "MatrixBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static int64_t lengthOf(int64_t rows) { return int64_t(llvm::alignTo(rows, GpuArch::warp)); }

Room device::roomOfReflections(int64_t rows, int64_t width, int64_t bytes) {
  return {{lengthOf(rows) * width, bytes}, {width, bytes}};
}

namespace {

class Reflections {
public:
  explicit Reflections(MatrixBlock &m)
      : m(m), f(m.f), b(m.b), length(lengthOf(m.rows)), ofLane(length / GpuArch::warp),
        warps(f.schedule.getThreads() / GpuArch::warp), vectors(m.room(m.type, length * m.width)),
        factors(m.room(m.type, m.width)) {}
  void emitQr(prim::QrOp op);
  void emitReflect(prim::ReflectOp op);

private:
  using Column = SmallVector<Value>; ///< of a warp: elements of a lane
  Value rowOf(int64_t e) { return f.e.addIndex(m.lane, f.e.index(e * GpuArch::warp)); }
  Value safeRowOf(int64_t e) { return f.minIndex(rowOf(e), f.e.index(m.rows - 1)); }
  Value vectorAt(Value k, Value row) {
    return f.e.addIndex(f.e.mulIndex(k, f.e.index(length)), row);
  }
  SmallVector<Value> apply(Value k, ArrayRef<Value> columns);
  void reflector(Value k0, Value k, ArrayRef<Value> own);
  void panel(Value k0, int64_t count);
  void columnsAfter(Value k0, int64_t count);
  void bringPanel(prim::ReflectOp op, Value k0, int64_t count);

  MatrixBlock &m;
  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  int64_t length, ofLane, warps;
  Value vectors, factors;
};

} // namespace

SmallVector<Value> device::reflected(MatrixBlock &m, ArrayRef<Value> v, Value factor,
                                     ArrayRef<Value> columns) {
  ImplicitLocOpBuilder &b = m.b;
  size_t ofLane = v.size();
  Value minus = m.negated(factor);
  SmallVector<Value> sums, results;
  for (size_t first = 0; first < columns.size(); first += ofLane) {
    Value own = arith::MulFOp::create(b, v[0], columns[first]);
    for (size_t e = 1; e < ofLane; ++e)
      own = m.multiplyAdd(v[e], columns[first + e], own);
    sums.push_back(own);
  }
  for (Value &one : sums)
    one = arith::MulFOp::create(b, minus, reduceWarp(b, one, prim::ReduceKind::sum, m.type));
  for (auto [i, x] : llvm::enumerate(columns))
    results.push_back(m.multiplyAdd(sums[i / ofLane], v[i % ofLane], x));
  return results;
}

std::pair<Value, Value> device::powersOf(MatrixBlock &m, Value number) {
  ImplicitLocOpBuilder &b = m.b;
  auto type = cast<FloatType>(m.type);
  int64_t mantissa = type.getFPMantissaWidth() - 1;
  int64_t most = (int64_t(1) << (type.getWidth() - mantissa - 1)) - 2; // of exponents
  Type bits = b.getIntegerType(type.getWidth());
  auto word = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(bits, v));
  };
  auto withExponent = [&](Value exponent) -> Value {
    return arith::BitcastOp::create(b, type, arith::ShLIOp::create(b, exponent, word(mantissa)));
  };
  Value exponent = arith::ShRUIOp::create(b, arith::BitcastOp::create(b, bits, number),
                                          word(mantissa)); // it has no sign
  exponent =
      arith::MinUIOp::create(b, arith::MaxUIOp::create(b, exponent, word(1)), word(most - 1));
  return {withExponent(exponent), withExponent(arith::SubIOp::create(b, word(most), exponent))};
}

device::Reflection device::reflectionOf(MatrixBlock &m, Value at, ArrayRef<Value> rows,
                                        ArrayRef<Value> column) {
  KernelFrame &f = m.f;
  ImplicitLocOpBuilder &b = m.b;
  size_t ofLane = rows.size();
  Value zero = m.number(0), one = m.number(1);
  auto multiply = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
  auto divide = [&](Value x, Value y) -> Value { return arith::DivFOp::create(b, x, y); };
  auto select = [&](Value c, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, c, x, y);
  };
  auto isThat = [&](arith::CmpFPredicate p, Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, p, x, y);
  };
  auto sum = [&](Value v) { return reduceWarp(b, v, prim::ReduceKind::sum, m.type); };
  SmallVector<Value> isHead, isBelow, below;
  Value head = zero, rest = zero;
  for (size_t e = 0; e < ofLane; ++e) {
    isHead.push_back(m.isEqual(rows[e], at));
    Value after = f.less(at, rows[e]);
    isBelow.push_back(arith::AndIOp::create(b, after, f.less(rows[e], f.e.index(m.rows))));
    below.push_back(select(isBelow[e], column[e], zero));
    head = select(isHead[e], column[e], head);
    rest = arith::MaximumFOp::create(b, rest, math::AbsFOp::create(b, below[e]));
  }
  head = sum(head); // of one lane
  rest = reduceWarp(b, rest, prim::ReduceKind::max, m.type);
  // Scaled by the largest, squares neither overflow nor vanish; by a power of two nothing is
  // rounded.
  Value idle = isThat(arith::CmpFPredicate::OEQ, rest, zero);
  Value largest = arith::MaximumFOp::create(b, rest, math::AbsFOp::create(b, head));
  auto [scale, inverse] = powersOf(m, largest);
  Value squares = zero;
  for (Value &x : below) {
    x = multiply(x, inverse);
    squares = m.multiplyAdd(x, x, squares);
  }
  squares = sum(squares);
  Value first = multiply(head, inverse);
  Value norm = math::SqrtOp::create(b, m.multiplyAdd(first, first, squares));
  Value positive = isThat(arith::CmpFPredicate::OGE, head, zero);
  Value beta = select(positive, m.negated(norm), norm);
  Value top = arith::SubFOp::create(b, first, beta), square = multiply(top, top);
  // tau = 2 / (1 + |below|^2) of the vector whose first element is 1.
  Value factor =
      divide(arith::AddFOp::create(b, square, square), arith::AddFOp::create(b, square, squares));
  factor = select(idle, zero, factor);
  Value ofTop = divide(one, select(idle, one, top));
  Value diagonal = select(idle, head, multiply(beta, scale));
  Reflection made{{}, {}, factor};
  for (size_t e = 0; e < ofLane; ++e) {
    Value v = multiply(below[e], ofTop);
    made.v.push_back(select(isHead[e], one, v));
    made.packed.push_back(select(isBelow[e], v, select(isHead[e], diagonal, column[e])));
  }
  return made;
}

/// Reflection k of those in shared memory, of one column after the other.
SmallVector<Value> Reflections::apply(Value k, ArrayRef<Value> columns) {
  Column v;
  for (int64_t e = 0; e < ofLane; ++e)
    v.push_back(m.get(vectors, vectorAt(k, rowOf(e))));
  return reflected(m, v, m.get(factors, k), columns);
}

/// The warp's column becomes beta and the reflection that makes it so.
void Reflections::reflector(Value k0, Value k, ArrayRef<Value> own) {
  Value at = f.e.addIndex(k0, k);
  Column rows;
  for (int64_t e = 0; e < ofLane; ++e)
    rows.push_back(rowOf(e));
  Reflection made = reflectionOf(m, at, rows, own);
  for (int64_t e = 0; e < ofLane; ++e) {
    m.put(made.v[e], vectors, vectorAt(k, rows[e]));
    f.when(f.less(rows[e], f.e.index(m.rows)), [&] { m.putElement(made.packed[e], rows[e], at); });
  }
  f.when(m.isEqual(m.lane, f.e.index(0)), [&] {
    m.put(made.factor, factors, k);
    m.putInColumn(made.factor, 1, at);
  });
}

/// Columns [k0, k0 + count), of which each warp has one.
void Reflections::panel(Value k0, int64_t count) {
  // Rows are read as they lie.
  f.loop(f.thread, f.e.index(length), f.schedule.getThreads(), [&](Value row) {
    Value safe = f.minIndex(row, f.e.index(m.rows - 1));
    SmallVector<Value> read;
    for (int64_t j = 0; j < count; ++j)
      read.push_back(m.element(safe, f.e.addIndex(k0, f.e.index(j))));
    for (int64_t j = 0; j < count; ++j)
      m.put(read[j], vectors, vectorAt(f.e.index(j), row));
  });
  f.barrier();
  Column own;
  Value column = f.minIndex(m.warp, f.e.index(count - 1));
  for (int64_t e = 0; e < ofLane; ++e)
    own.push_back(m.get(vectors, vectorAt(column, rowOf(e))));
  f.barrier();
  m.carry(f.e.index(0), f.e.index(count), 1, own, [&](Value k, ValueRange have) {
    f.when(m.isEqual(m.warp, k), [&] { reflector(k0, k, SmallVector<Value>(have)); });
    f.barrier();
    Value isLater = f.less(k, m.warp);
    return m.where(isLater, have, [&] { return apply(k, SmallVector<Value>(have)); });
  });
}

void Reflections::columnsAfter(Value k0, int64_t count) {
  int64_t together = f.schedule.getVectors();
  Value next = f.e.addIndex(k0, f.e.index(count));
  Value first = f.e.addIndex(next, f.e.mulIndex(m.warp, f.e.index(together)));
  f.loop(first, f.e.index(m.columns), together * warps, [&](Value column) {
    // Neighbours are read, and written, at once where each warp has as many.
    bool whole = m.columns % together == 0 && m.width % together == 0 &&
                 std::min(m.rows, m.columns) % together == 0;
    SmallVector<Value> own(together * ofLane), numbers;
    for (int64_t c = 0; c < together; ++c)
      numbers.push_back(f.e.addIndex(column, f.e.index(c)));
    for (int64_t e = 0; e < ofLane; ++e)
      for (int64_t c = 0; c < together; ++c) {
        Value safe = whole ? numbers[c] : f.minIndex(numbers[c], f.e.index(m.columns - 1));
        own[c * ofLane + e] = m.element(safeRowOf(e), safe);
      }
    own = m.carry(f.e.index(0), f.e.index(count), 1, own,
                  [&](Value k, ValueRange have) { return apply(k, SmallVector<Value>(have)); });
    auto inside = [&](Value condition, bool always, function_ref<void()> body) {
      always ? body() : f.when(condition, body);
    };
    for (int64_t e = 0; e < ofLane; ++e)
      inside(f.less(rowOf(e), f.e.index(m.rows)), m.rows >= (e + 1) * GpuArch::warp, [&] {
        for (int64_t c = 0; c < together; ++c)
          inside(f.less(numbers[c], f.e.index(m.columns)), whole,
                 [&] { m.putElement(own[c * ofLane + e], rowOf(e), numbers[c]); });
      });
  });
}

/// Numbers of reflections that no column has.
void device::clearFactors(MatrixBlock &m) {
  KernelFrame &f = m.f;
  f.loop(f.thread, f.e.index(m.rows), f.schedule.getThreads(), [&](Value row) {
    Value isLeft = arith::CmpIOp::create(m.b, arith::CmpIPredicate::uge, row,
                                         f.e.index(std::min(m.rows, m.columns)));
    f.when(isLeft, [&] { m.putInColumn(m.number(0), 1, row); });
  });
}

void Reflections::emitQr(prim::QrOp op) {
  m.copy(op.getX());
  clearFactors(m);
  f.barrier();
  m.forPanels(std::min(m.rows, m.columns), [&](Value k0, int64_t count) {
    panel(k0, count);
    columnsAfter(k0, count);
    f.barrier();
  });
}

/// Reflections k0 .. of an operand to shared memory.
void Reflections::bringPanel(prim::ReflectOp op, Value k0, int64_t count) {
  Value zero = m.number(0), one = m.number(1);
  f.loop(f.thread, f.e.index(length), f.schedule.getThreads(), [&](Value row) {
    Value safe = f.minIndex(row, f.e.index(m.rows - 1));
    Value inside = f.less(row, f.e.index(m.rows));
    SmallVector<Value> read;
    for (int64_t j = 0; j < count; ++j)
      read.push_back(m.operand(op.getPacked(), safe, f.e.addIndex(k0, f.e.index(j))));
    for (int64_t j = 0; j < count; ++j) {
      Value at = f.e.addIndex(k0, f.e.index(j));
      Value isBelow = arith::AndIOp::create(b, inside, f.less(at, row));
      Value v = arith::SelectOp::create(b, isBelow, read[j], zero);
      v = arith::SelectOp::create(b, m.isEqual(row, at), one, v);
      m.put(v, vectors, vectorAt(f.e.index(j), row));
    }
  });
  f.when(f.less(f.thread, f.e.index(count)), [&] {
    m.put(m.operandInColumn(op.getTau(), f.e.addIndex(k0, f.thread)), factors, f.thread);
  });
  f.barrier();
}

void Reflections::emitReflect(prim::ReflectOp op) {
  int64_t together = f.schedule.getVectors();
  Value first = f.e.addIndex(m.firstColumn, f.e.mulIndex(m.warp, f.e.index(together)));
  SmallVector<Value> own, numbers;
  for (int64_t c = 0; c < together; ++c) {
    numbers.push_back(f.e.addIndex(first, f.e.index(c)));
    Value safe = f.minIndex(numbers[c], f.e.index(m.columns - 1));
    for (int64_t e = 0; e < ofLane; ++e)
      own.push_back(m.operand(op.getY(), safeRowOf(e), safe));
  }
  int64_t all = std::min(tensorType(op.getPacked()).getShape().back(),
                         tensorType(op.getTau()).getShape().back());
  // The last one is the first to be applied.
  auto applyPanel = [&](Value k0, int64_t count, SmallVector<Value> have) {
    bringPanel(op, k0, count);
    have = m.carry(f.e.index(0), f.e.index(count), 1, have, [&](Value turn, ValueRange now) {
      return apply(f.e.subIndex(f.e.index(count - 1), turn), SmallVector<Value>(now));
    });
    f.barrier();
    return have;
  };
  int64_t whole = all / m.width * m.width;
  if (whole < all)
    own = applyPanel(f.e.index(whole), all - whole, own);
  own = m.carry(f.e.index(0), f.e.index(whole), m.width, own, [&](Value done, ValueRange have) {
    Value k0 = f.e.subIndex(f.e.index(whole - m.width), done);
    return applyPanel(k0, m.width, SmallVector<Value>(have));
  });
  for (int64_t c = 0; c < together; ++c) {
    Value has = f.less(numbers[c], f.e.index(m.columns));
    for (int64_t e = 0; e < ofLane; ++e) {
      Value inside = arith::AndIOp::create(b, has, f.less(rowOf(e), f.e.index(m.rows)));
      f.when(inside, [&] { m.putElement(own[c * ofLane + e], rowOf(e), numbers[c]); });
    }
  }
}

void device::emitQr(MatrixBlock &m, prim::QrOp op) { Reflections(m).emitQr(op); }
void device::emitReflect(MatrixBlock &m, prim::ReflectOp op) { Reflections(m).emitReflect(op); }
