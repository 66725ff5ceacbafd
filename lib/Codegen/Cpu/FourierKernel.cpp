//===- FourierKernel.cpp - Fourier transforms by mixed radix --------------===//
//
// Lanes are lines: every number of a transform is a vector, one line a lane, so that no stage
// shuffles. Where neighbouring lines lie next to each other (a transform along another axis than
// the last) vectors are read as they lie; lines along the last axis are transposed in registers on
// their way to scratch and back.
//
// Stages are Stockham's: one of radix r takes n / r butterflies of r numbers from one half of the
// scratch to the other, and the last leaves them in order. Roots come from a table, two numbers a
// broadcast.
//
// Two real lines are the parts of a complex one, x + i y. Its transform Z gives both, since those
// of real lines are symmetric: X[k] = (Z[k] + conj Z[n - k]) / 2, Y[k] = (Z[k] - conj Z[n - k]) /
// 2i. The way back puts Z = X + i Y together. An inverse transform is one of the parts exchanged.
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"
#include "StridedOperand.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tcc/Analysis/FourierLength.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether two real lines are done as a complex one.
static bool pairsLines(prim::FourierOp op) {
  int64_t n = op.getLength();
  auto result = cast<RankedTensorType>(op.getParts()[0].getType());
  return op.toReal() || (op.fromReal() && result.getDimSize(op.getAxis()) == n / 2 + 1);
}

FourierTasks tcc::codegen::fourierTasks(prim::FourierOp op, cpu::SpecialScheduleAttr schedule) {
  auto type = cast<RankedTensorType>(op.getRe().getType());
  constexpr int64_t kRegisters = 4; // of 32-bit lanes, that the schedule has
  FourierTasks tasks;
  tasks.lanes =
      std::max<int64_t>(2, schedule.getLanes() / kRegisters * 32 / type.getElementTypeBitWidth());
  tasks.lines = pairsLines(op) ? 2 * tasks.lanes : tasks.lanes;
  int64_t inner = pointsAfter(type, op.getAxis());
  bool open = llvm::any_of(type.getShape().drop_front(op.getAxis() + 1), ShapedType::isDynamic);
  tasks.across = open || inner >= tasks.lanes;
  return tasks;
}

namespace {

struct Complex {
  Value re, im;
};

class FourierCode {
public:
  FourierCode(KernelFrame &f, prim::FourierOp op);
  void emit(Value task);

private:
  /// Lines of a tensor whose extent along the axis is `extent`; `half`: the second lanes.
  struct Lines {
    Memory memory;
    int64_t extent;
    unsigned half;
  };
  using Buffer = Value; ///< scratch: vectors in a row

  Value add(Value x, Value y) { return arith::AddFOp::create(f.b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(f.b, x, y); }
  Value times(Value x, Value y) { return arith::MulFOp::create(f.b, x, y); }
  Value times(Value x, double c) {
    Value constant = arith::ConstantOp::create(f.b, f.b.getFloatAttr(type, c));
    return times(x, k.broadcast(constant, lanes));
  }
  Value multiplyAdd(Value x, Value y, Value sum) {
    return f.cpu.fma ? Value(math::FmaOp::create(f.b, x, y, sum)) : add(times(x, y), sum);
  }
  Complex add(Complex x, Complex y) { return {add(x.re, y.re), add(x.im, y.im)}; }
  Complex sub(Complex x, Complex y) { return {sub(x.re, y.re), sub(x.im, y.im)}; }
  /// -i x.
  Complex turned(Complex x) { return {x.im, arith::NegFOp::create(f.b, x.re)}; }
  SmallVector<Complex> butterfly(ArrayRef<Complex> x);
  SmallVector<Complex> oddButterfly(ArrayRef<Complex> x);

  Value at(Buffer buffer, Index i) { return k.address(buffer, type, k.mul(i, k.constant(lanes))); }
  Value get(Buffer buffer, Index i) { return k.load(vector, at(buffer, i)); }
  void put(Value v, Buffer buffer, Index i) { k.store(v, at(buffer, i)); }

  Memory operand(Value v) {
    Memory memory = *f.e.memoryOf(memoryBehind(v));
    memory.extents = extentsOf(f, v);
    return memory;
  }
  Index validLanes(unsigned half);
  Value lineStart(const Lines &lines, unsigned lane, bool clamped);
  void whenLine(unsigned half, unsigned lane, function_ref<void()> body);
  void read(const Lines &from, Buffer to);
  void write(Buffer from, const Lines &to);

  void readAll();
  void joinSpectra(ArrayRef<Buffer> parts);
  void writeAll(Complex z, Complex other);
  Complex stages();
  void stage(Complex from, Complex to, unsigned radix, int64_t length, int64_t stride,
             int64_t table);
  Value rootTable();

  KernelFrame &f;
  KernelBuilder k;
  prim::FourierOp op;
  FourierTasks tasks;
  Type type;
  unsigned lanes;
  VectorType vector;
  int64_t n, room;
  unsigned axis;
  SmallVector<Value> extents; ///< of re
  Value inner, lineCount;
  SmallVector<unsigned> radices;
  Buffer buffers[4];
  Value roots;
  // Of the task at hand.
  Value outer, first;
};

} // namespace

FourierCode::FourierCode(KernelFrame &f, prim::FourierOp op)
    : f(f), k(f.b, f.launch.getLoc()), op(op),
      tasks(fourierTasks(op, cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr()))),
      type(f.results[0].elementType), lanes(tasks.lanes), vector(VectorType::get({lanes}, type)),
      n(op.getLength()), room(llvm::alignTo(n, lanes) + 2 * lanes + 2), axis(op.getAxis()),
      extents(extentsOf(f, op.getRe())), radices(fourierRadices(n)) {
  inner = f.e.index(1);
  lineCount = f.e.index(1);
  for (auto [i, extent] : llvm::enumerate(extents)) {
    if (i > axis)
      inner = f.e.mulIndex(inner, extent);
    if (i != axis)
      lineCount = f.e.mulIndex(lineCount, extent);
  }
  Value all = k.scratch(type, 4 * room * lanes);
  for (unsigned i = 0; i < 4; ++i)
    buffers[i] = k.address(all, type, k.constant(i * room * lanes));
  roots = rootTable();
}

//===----------------------------------------------------------------------===//
// Butterflies
//===----------------------------------------------------------------------===//

SmallVector<Complex> FourierCode::butterfly(ArrayRef<Complex> x) {
  if (x.size() % 2)
    return oddButterfly(x);
  if (x.size() == 2)
    return {add(x[0], x[1]), sub(x[0], x[1])};
  // Even and odd numbers; roots of one are turns by an eighth.
  SmallVector<Complex> evens, odds;
  for (auto [i, v] : llvm::enumerate(x))
    (i % 2 ? odds : evens).push_back(v);
  evens = butterfly(evens);
  odds = butterfly(odds);
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  if (x.size() == 8) {
    Complex a = odds[1], c = odds[3];
    odds[1] = {times(add(a.re, a.im), kHalfRoot), times(sub(a.im, a.re), kHalfRoot)};
    odds[3] = {times(sub(c.im, c.re), kHalfRoot), times(add(c.re, c.im), -kHalfRoot)};
    odds[2] = turned(odds[2]);
  } else {
    odds[1] = turned(odds[1]);
  }
  SmallVector<Complex> result(x.size());
  for (size_t i = 0; i < odds.size(); ++i) {
    result[i] = add(evens[i], odds[i]);
    result[i + odds.size()] = sub(evens[i], odds[i]);
  }
  return result;
}

/// Of sums and differences of x[j] and x[p - j], whose roots are conjugate.
SmallVector<Complex> FourierCode::oddButterfly(ArrayRef<Complex> x) {
  auto p = static_cast<int64_t>(x.size());
  if (p == 1)
    return {x[0]};
  SmallVector<Complex> sums, differences, result(p);
  result[0] = x[0];
  for (int64_t j = 1; j <= p / 2; ++j) {
    sums.push_back(add(x[j], x[p - j]));
    differences.push_back(sub(x[j], x[p - j]));
    result[0] = add(result[0], sums.back());
  }
  for (int64_t i = 1; i <= p / 2; ++i) {
    Complex even = x[0], odd;
    for (int64_t j = 1; j <= p / 2; ++j) {
      double angle = 2 * std::numbers::pi * static_cast<double>(i * j % p) / static_cast<double>(p);
      Complex s = sums[j - 1], d = differences[j - 1];
      even = add(even, {times(s.re, std::cos(angle)), times(s.im, std::cos(angle))});
      Complex turn{times(d.re, std::sin(angle)), times(d.im, std::sin(angle))};
      odd = j == 1 ? turn : add(odd, turn);
    }
    odd = turned(odd);
    result[i] = add(even, odd);
    result[p - i] = sub(even, odd);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// For each stage but the last, for each butterfly, the roots of its results after the first.
Value FourierCode::rootTable() {
  std::vector<double> values;
  int64_t length = n;
  for (unsigned r : radices) {
    for (int64_t p = 0; p < length / r && r != length; ++p)
      for (int64_t t = 1; t < r; ++t) {
        auto [re, im] = fourierRoot(p * t % length, length);
        values.push_back(re);
        values.push_back(-im);
      }
    length /= r;
  }
  if (values.empty())
    return {};
  SmallVector<APFloat> elements;
  for (double v : values) {
    APFloat element(v);
    bool inexact = false;
    element.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &inexact);
    elements.push_back(element);
  }
  auto module = f.function->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto count = static_cast<int64_t>(values.size());
  std::string name = (f.function.getName() + "_roots").str();
  LLVM::GlobalOp::create(top, k.loc, LLVM::LLVMArrayType::get(type, count), /*isConstant=*/true,
                         LLVM::Linkage::Private, name,
                         DenseElementsAttr::get(RankedTensorType::get({count}, type), elements),
                         /*alignment=*/64);
  return LLVM::AddressOfOp::create(f.b, LLVM::LLVMPointerType::get(f.b.getContext()), name);
}

/// Butterflies over `length` numbers, `stride` transforms of them side by side.
void FourierCode::stage(Complex from, Complex to, unsigned radix, int64_t length, int64_t stride,
                        int64_t table) {
  int64_t count = length / radix;
  Index one = k.constant(1), r = k.constant(radix), s = k.constant(stride);
  k.loop(k.constant(0), k.constant(count), one, [&](Index p) {
    SmallVector<Complex> turns;
    for (unsigned t = 1; t < radix && count > 1; ++t) {
      Index place = k.add(k.mul(p, k.constant(2 * (radix - 1))), k.constant(table + 2 * (t - 1)));
      auto root = [&](int64_t part) {
        return k.broadcast(k.load(type, k.address(roots, type, k.add(place, k.constant(part)))),
                           lanes);
      };
      turns.push_back({root(0), root(1)});
    }
    k.loop(k.constant(0), s, one, [&](Index q) {
      SmallVector<Complex> x;
      for (unsigned i = 0; i < radix; ++i) {
        Index place = k.add(q, k.mul(s, k.add(p, k.constant(i * count))));
        x.push_back({get(from.re, place), get(from.im, place)});
      }
      x = butterfly(x);
      for (unsigned t = 0; t < radix; ++t) {
        Complex v = x[t];
        if (t > 0 && !turns.empty()) {
          Complex w = turns[t - 1];
          Value minus = arith::NegFOp::create(f.b, w.im);
          v = {multiplyAdd(v.re, w.re, times(v.im, minus)),
               multiplyAdd(v.re, w.im, times(v.im, w.re))};
        }
        Index place = k.add(q, k.mul(s, k.add(k.mul(r, p), k.constant(t))));
        put(v.re, to.re, place);
        put(v.im, to.im, place);
      }
    });
  });
}

Complex FourierCode::stages() {
  Complex from{buffers[0], buffers[1]}, to{buffers[2], buffers[3]};
  int64_t length = n, stride = 1, table = 0;
  for (unsigned radix : radices) {
    stage(from, to, radix, length, stride, table);
    table += 2 * (radix - 1) * (length / radix);
    length /= radix;
    stride *= radix;
    std::swap(from, to);
  }
  return from;
}

/// Lanes of neighbouring lines that there are.
Index FourierCode::validLanes(unsigned half) {
  auto known = getConstantIntValue(inner);
  if (known && *known % tasks.lines == 0)
    return k.constant(lanes);
  return k.min(k.constant(lanes), k.sub(k.sub(inner, first), k.constant(half * lanes)));
}

/// Of lines that lie apart: where one of them begins. Beyond the last one it is the last again.
Value FourierCode::lineStart(const Lines &lines, unsigned lane, bool clamped) {
  Index line = k.add(first, k.constant(lines.half * lanes + lane));
  auto known = getConstantIntValue(lineCount);
  if (clamped && !(known && *known % tasks.lines == 0))
    line = k.min(line, k.sub(lineCount, k.constant(1)));
  Index step = k.mul(k.constant(lines.extent), inner);
  Index place = k.add(k.mul(k.floorDiv(line, inner), step), k.rem(line, inner));
  return k.address(lines.memory.pointer, type, place);
}

void FourierCode::whenLine(unsigned half, unsigned lane, function_ref<void()> body) {
  auto known = getConstantIntValue(lineCount);
  if (known && *known % tasks.lines == 0)
    return body();
  Index line = k.add(first, k.constant(half * lanes + lane));
  k.ifThen(k.compare(arith::CmpIPredicate::slt, line, lineCount), body);
}

void FourierCode::read(const Lines &from, Buffer to) {
  Index zero = k.constant(0), one = k.constant(1), extent = k.constant(from.extent);
  if (tasks.across) {
    Index valid = validLanes(from.half);
    Index begin =
        k.add(k.mul(outer, k.mul(extent, inner)), k.add(first, k.constant(from.half * lanes)));
    return k.loop(zero, extent, one, [&](Index i) {
      Value place = k.address(from.memory.pointer, type, k.add(begin, k.mul(i, inner)));
      put(k.loadPart(vector, place, valid), to, i);
    });
  }
  SmallVector<Value> starts;
  for (unsigned lane = 0; lane < lanes; ++lane)
    starts.push_back(lineStart(from, lane, /*clamped=*/true));
  if (getConstantIntValue(inner) != 1)
    return k.loop(zero, extent, one, [&](Index i) {
      for (auto [lane, start] : llvm::enumerate(starts))
        k.store(k.load(type, k.address(start, type, k.mul(i, inner))),
                k.address(at(to, i), type, k.constant(lane)));
    });
  k.loop(zero, extent, k.constant(lanes), [&](Index i) {
    SmallVector<Value> rows;
    Index valid = from.extent % lanes ? k.sub(extent, i) : Index(k.constant(lanes));
    for (Value start : starts)
      rows.push_back(k.loadPart(vector, k.address(start, type, i), valid));
    transposeSquare(f.b, rows);
    for (auto [lane, row] : llvm::enumerate(rows))
      put(row, to, k.add(i, k.constant(lane)));
  });
}

void FourierCode::write(Buffer from, const Lines &to) {
  Index zero = k.constant(0), one = k.constant(1), extent = k.constant(to.extent);
  double scale = op.getScale().convertToDouble();
  auto value = [&](Index i) {
    Value v = get(from, i);
    return scale == 1 ? v : times(v, scale);
  };
  if (tasks.across) {
    Index valid = validLanes(to.half);
    Index begin =
        k.add(k.mul(outer, k.mul(extent, inner)), k.add(first, k.constant(to.half * lanes)));
    return k.loop(zero, extent, one, [&](Index i) {
      k.storePart(value(i), k.address(to.memory.pointer, type, k.add(begin, k.mul(i, inner))),
                  valid);
    });
  }
  if (getConstantIntValue(inner) != 1)
    return k.loop(zero, extent, one, [&](Index i) {
      put(value(i), from, i);
      for (unsigned lane = 0; lane < lanes; ++lane)
        whenLine(to.half, lane, [&] {
          Value element = k.load(type, k.address(at(from, i), type, k.constant(lane)));
          k.store(element,
                  k.address(lineStart(to, lane, /*clamped=*/false), type, k.mul(i, inner)));
        });
    });
  k.loop(zero, extent, k.constant(lanes), [&](Index i) {
    SmallVector<Value> rows;
    for (unsigned lane = 0; lane < lanes; ++lane)
      rows.push_back(value(k.add(i, k.constant(lane))));
    transposeSquare(f.b, rows);
    Index valid = to.extent % lanes ? k.sub(extent, i) : Index(k.constant(lanes));
    for (auto [lane, row] : llvm::enumerate(rows))
      whenLine(to.half, lane, [&, lane = lane, row = row] {
        k.storePart(row, k.address(lineStart(to, lane, /*clamped=*/false), type, i), valid);
      });
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Z = X + i Y of the spectra X and Y of real lines, of which the first half is there.
void FourierCode::joinSpectra(ArrayRef<Buffer> parts) {
  Complex z{buffers[0], buffers[1]};
  if (op.getInverse())
    std::swap(z.re, z.im);
  auto real = [&](int64_t i) {
    put(get(parts[0], k.constant(i)), z.re, k.constant(i));
    put(get(parts[2], k.constant(i)), z.im, k.constant(i));
  };
  real(0);
  k.loop(k.constant(1), k.constant((n + 1) / 2), k.constant(1), [&](Index i) {
    Value xr = get(parts[0], i), xi = get(parts[1], i), yr = get(parts[2], i),
          yi = get(parts[3], i);
    Index mirror = k.sub(k.constant(n), i);
    put(sub(xr, yi), z.re, i);
    put(add(xi, yr), z.im, i);
    put(add(xr, yi), z.re, mirror);
    put(sub(yr, xi), z.im, mirror);
  });
  if (n > 1 && n % 2 == 0)
    real(n / 2);
}

void FourierCode::readAll() {
  Complex z{buffers[0], buffers[1]};
  if (op.getInverse())
    std::swap(z.re, z.im);
  Memory re = operand(op.getRe());
  if (op.fromReal() && !pairsLines(op)) {
    read({re, n, 0}, z.re);
    return k.loop(k.constant(0), k.constant(n), k.constant(1),
                  [&](Index i) { put(k.zero(vector), z.im, i); });
  }
  if (op.fromReal()) {
    read({re, n, 0}, z.re);
    return read({re, n, 1}, z.im);
  }
  Memory im = operand(op.getIm());
  if (!op.toReal()) {
    read({re, n, 0}, z.re);
    return read({im, n, 0}, z.im);
  }
  // In the other half of the scratch.
  int64_t half = n / 2 + 1, each = llvm::alignTo(half, lanes);
  SmallVector<Buffer> parts;
  for (unsigned i = 0; i < 4; ++i)
    parts.push_back(at(buffers[2], k.constant(i * each)));
  for (unsigned i = 0; i < 4; ++i)
    read({i % 2 ? im : re, half, i / 2}, parts[i]);
  joinSpectra(parts);
}

void FourierCode::writeAll(Complex z, Complex other) {
  if (op.getInverse())
    std::swap(z.re, z.im);
  if (op.toReal()) {
    write(z.re, {f.results[0], n, 0});
    return write(z.im, {f.results[0], n, 1});
  }
  if (!pairsLines(op)) {
    write(z.re, {f.results[0], n, 0});
    return write(z.im, {f.results[1], n, 0});
  }
  int64_t half = n / 2 + 1, each = llvm::alignTo(half, lanes);
  SmallVector<Buffer> parts;
  Value room = other.re;
  for (unsigned i = 0; i < 4; ++i)
    parts.push_back(at(room, k.constant(i * each)));
  auto split = [&](Index i, Index mirror) {
    Complex v{get(z.re, i), get(z.im, i)}, m{get(z.re, mirror), get(z.im, mirror)};
    put(times(add(v.re, m.re), 0.5), parts[0], i);
    put(times(sub(v.im, m.im), 0.5), parts[1], i);
    put(times(add(v.im, m.im), 0.5), parts[2], i);
    put(times(sub(m.re, v.re), 0.5), parts[3], i);
  };
  split(k.constant(0), k.constant(0));
  k.loop(k.constant(1), k.constant(half), k.constant(1),
         [&](Index i) { split(i, k.sub(k.constant(n), i)); });
  for (unsigned i = 0; i < 4; ++i)
    write(parts[i], {f.results[i % 2], half, i / 2});
}

void FourierCode::emit(Value task) {
  outer = f.e.index(0);
  if (tasks.across) {
    Value part = f.e.index(tasks.lines);
    Value parts = f.e.divIndex(f.e.addIndex(inner, f.e.index(tasks.lines - 1)), part);
    outer = f.e.divIndex(task, parts);
    task = f.e.remIndex(task, parts);
  }
  first = f.e.mulIndex(task, f.e.index(tasks.lines));
  readAll();
  Complex result = stages();
  bool same = result.re == buffers[0];
  writeAll(result, same ? Complex{buffers[2], buffers[3]} : Complex{buffers[0], buffers[1]});
}

void tcc::codegen::emitFourier(KernelFrame &f, prim::FourierOp op) {
  FourierCode code(f, op);
  f.loop(f.begin, f.end, 1, [&](Value task) { code.emit(task); });
}
