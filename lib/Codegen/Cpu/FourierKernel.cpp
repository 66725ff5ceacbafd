//===- FourierKernel.cpp - Fourier transforms of many lines ---------------===//
//
// Lanes are lines: every number of a transform is a vector, one line a lane, so that no stage
// shuffles (FourierStages.cpp). Where neighbouring lines lie next to each other (a transform along
// another axis than the last) vectors are read as they lie; lines along the last axis are
// transposed in registers on their way to scratch and back.
//
// Two real lines are the parts of a complex one, x + i y. Its transform Z gives both, since those
// of real lines are symmetric: X[k] = (Z[k] + conj Z[n - k]) / 2, Y[k] = (Z[k] - conj Z[n - k]) /
// 2i. The way back puts Z = X + i Y together. An inverse transform is one of the parts exchanged.
//
// Long lines and few of them are matrices of their own (FourierMatrix.cpp).
//
//===----------------------------------------------------------------------===//
#include "FourierStages.h"
#include "SpecialKernel.h"
#include "StridedOperand.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether two real lines are done as a complex one.
static bool pairsLines(prim::FourierOp op) {
  int64_t n = op.getLength();
  auto result = cast<RankedTensorType>(op.getParts()[0].getType());
  return op.toReal() || (op.fromReal() && result.getDimSize(op.getAxis()) == n / 2 + 1);
}

/// Whether a line along the last axis is done alone, where `lines` could be done beside each
/// other: those of some length would not stay in a near cache.
static bool isMatrix(prim::FourierOp op, int64_t lines) {
  constexpr int64_t kLongest = 256; // beside each other
  int64_t n = op.getLength();
  if (n < kShortestFourierMatrix)
    return false;
  int64_t have = 1;
  for (int64_t d : cast<RankedTensorType>(op.getRe().getType()).getShape().drop_back())
    have = ShapedType::isDynamic(d) ? lines : std::min(have * d, lines);
  return n > kLongest || have < lines || !hasFourierStages(n);
}

FourierTasks tcc::codegen::fourierTasks(prim::FourierOp op, cpu::SpecialScheduleAttr schedule) {
  auto type = cast<RankedTensorType>(op.getRe().getType());
  constexpr int64_t kRegisters = 4; // of 32-bit lanes, that the schedule has
  FourierTasks tasks;
  tasks.lanes =
      std::max<int64_t>(2, schedule.getLanes() / kRegisters * 32 / type.getElementTypeBitWidth());
  tasks.pairs = pairsLines(op);
  int64_t together = tasks.pairs ? 2 : 1;
  tasks.lines = together * tasks.lanes;
  int64_t inner = pointsAfter(type, op.getAxis());
  bool open = llvm::any_of(type.getShape().drop_front(op.getAxis() + 1), ShapedType::isDynamic);
  tasks.across = open || inner >= tasks.lanes;
  if (!open && inner == 1 && isMatrix(op, tasks.lines)) {
    tasks.matrix = fourierMatrix(op.getLength(), tasks.lanes);
    tasks.lines = together;
  }
  return tasks;
}

namespace {

class FourierCode {
public:
  FourierCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks);
  void emit(Value task);

private:
  /// Lines of a tensor whose extent along the axis is `extent`; `half`: the second lanes.
  struct Lines {
    Memory memory;
    int64_t extent;
    unsigned half;
  };
  using Buffer = Value; ///< scratch: vectors in a row

  Value get(Buffer buffer, Index i) { return stages.get(buffer, i); }
  void put(Value v, Buffer buffer, Index i) { stages.put(v, buffer, i); }
  Buffer at(Buffer buffer, Index i) { return stages.at(buffer, i); }

  Memory operand(Value v) {
    Memory memory = *f.e.memoryOf(memoryBehind(v));
    memory.extents = extentsOf(f, v);
    return memory;
  }
  Index validLanes(unsigned half);
  Value lineStart(const Lines &lines, unsigned lane, bool clamped);
  void whenLine(unsigned half, unsigned lane, function_ref<void()> body);
  void forVectors(int64_t extent, function_ref<void(Index first, Index valid)> body);
  void read(const Lines &from, Buffer to);
  void write(Buffer from, const Lines &to);

  void readAll();
  void joinSpectra(ArrayRef<Buffer> parts);
  void writeAll(Complex z, Complex other);

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
  FourierStages stages;
  FourierStages::Line transform;
  Complex rooms[2];
  // Of the task at hand.
  Value outer, first;
};

} // namespace

FourierCode::FourierCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks)
    : f(f), k(f.b, f.launch.getLoc()), op(op), tasks(tasks), type(f.results[0].elementType),
      lanes(tasks.lanes), vector(VectorType::get({lanes}, type)), n(op.getLength()),
      room(llvm::alignTo(n, lanes) + 2 * lanes + 2), axis(op.getAxis()),
      extents(extentsOf(f, op.getRe())), stages(f, type, lanes) {
  inner = f.e.index(1);
  lineCount = f.e.index(1);
  for (auto [i, extent] : llvm::enumerate(extents)) {
    if (i > axis)
      inner = f.e.mulIndex(inner, extent);
    if (i != axis)
      lineCount = f.e.mulIndex(lineCount, extent);
  }
  for (Complex &each : rooms)
    each = stages.scratch(room);
  transform = stages.line(n, "roots", rooms[1], rooms[0]);
}

/// Lanes of neighbouring lines that there are.
Index FourierCode::validLanes(unsigned half) {
  auto known = getConstantIntValue(inner);
  if (known && (*known >= tasks.lines))
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

/// Vectors that cover a line; the last one ends where the line does and has numbers of the one
/// before again, if the line is as long as a vector.
void FourierCode::forVectors(int64_t extent, function_ref<void(Index first, Index valid)> body) {
  int64_t whole = extent - extent % lanes;
  Index all = k.constant(lanes);
  k.loop(k.constant(0), k.constant(whole), all, [&](Index i) { body(i, all); });
  if (whole == 0)
    body(k.constant(0), k.constant(extent));
  else if (whole < extent)
    body(k.constant(extent - lanes), all);
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
  forVectors(from.extent, [&](Index i, Index valid) {
    SmallVector<Value> rows;
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
    return scale == 1 ? v : stages.times(v, scale);
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
  forVectors(to.extent, [&](Index i, Index valid) {
    SmallVector<Value> rows;
    for (unsigned lane = 0; lane < lanes; ++lane)
      rows.push_back(value(k.add(i, k.constant(lane))));
    transposeSquare(f.b, rows);
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
  Complex z = rooms[0];
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
    put(stages.sub(xr, yi), z.re, i);
    put(stages.add(xi, yr), z.im, i);
    put(stages.add(xr, yi), z.re, mirror);
    put(stages.sub(yr, xi), z.im, mirror);
  });
  if (n > 1 && n % 2 == 0)
    real(n / 2);
}

void FourierCode::readAll() {
  Complex z = rooms[0];
  if (op.getInverse())
    std::swap(z.re, z.im);
  Memory re = operand(op.getRe());
  if (op.fromReal() && !tasks.pairs) {
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
    parts.push_back(at(rooms[1].re, k.constant(i * each)));
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
  if (!tasks.pairs) {
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
    put(stages.times(stages.add(v.re, m.re), 0.5), parts[0], i);
    put(stages.times(stages.sub(v.im, m.im), 0.5), parts[1], i);
    put(stages.times(stages.add(v.im, m.im), 0.5), parts[2], i);
    put(stages.times(stages.sub(m.re, v.re), 0.5), parts[3], i);
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
  // Neighbours that the task before has as well are better than lanes without a line.
  if (auto known = getConstantIntValue(inner); tasks.across && known && *known >= tasks.lines)
    first = f.minIndex(first, f.e.index(*known - tasks.lines));
  readAll();
  Complex result = transform.lastRoom();
  stages.transform(
      transform, [&](Index i) { return stages.get(rooms[0], i); },
      [&](Index i, Complex v) { stages.put(v, result, i); });
  writeAll(result, result.re == rooms[0].re ? rooms[1] : rooms[0]);
}

void tcc::codegen::emitFourier(KernelFrame &f, prim::FourierOp op) {
  FourierTasks tasks = fourierTasks(op, cast<cpu::SpecialScheduleAttr>(f.launch.getScheduleAttr()));
  if (tasks.matrix)
    return emitFourierMatrix(f, op, tasks);
  FourierCode code(f, op, tasks);
  f.loop(f.begin, f.end, 1, [&](Value task) { code.emit(task); });
}
