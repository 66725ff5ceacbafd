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
// Operands that the kernel computes, as both parts of numbers that lie as pairs, are asked for in
// vectors where a tensor would be read; and where it joins its two results to pairs, these are
// stored (FourierData.h).
//
// Long lines and few of them are matrices of their own (FourierMatrix.cpp).
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "FourierData.h"
#include "FourierStages.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class FourierCode {
public:
  FourierCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks);
  void emitTask(Value task);

private:
  void emit(Value task);
  /// Lines of a tensor whose extent along the axis is `extent`; `half`: the second lanes. Of what
  /// is computed there is no memory.
  struct Lines {
    Value memory;
    int64_t extent;
    unsigned half;
    int64_t parts = 1; ///< of a number, beside each other
    Value computed = {};
  };
  using Buffer = Value; ///< scratch: vectors in a row

  Value get(Buffer buffer, Index i) { return stages.get(buffer, i); }
  void put(Value v, Buffer buffer, Index i) { stages.put(v, buffer, i); }
  Buffer at(Buffer buffer, Index i) { return stages.at(buffer, i); }

  Lines operand(Value v, int64_t extent, unsigned half) {
    return {data.memoryOf(v), extent, half, 1, v};
  }
  Index lineNumber(unsigned half, unsigned lane) {
    return k.add(first, k.constant(half * lanes + lane));
  }
  bool hasAllLines();
  Index lastOrNot(Index line);
  Index partOfRow(const Lines &lines, unsigned lane, Index valid);
  Index validLanes(unsigned half);
  Value lineStart(const Lines &lines, unsigned lane, bool clamped);
  void whenLine(unsigned half, unsigned lane, function_ref<void()> body);
  void forVectors(int64_t extent, function_ref<void(Index first, Index valid)> body);
  Index neighbours(const Lines &lines);
  void read(const Lines &from, Buffer to);
  Value scaled(Buffer from, Index i);
  void write(Buffer from, const Lines &to);
  void halves(Index valid, function_ref<void(unsigned part, Index count)> body);
  void readPairs(const Lines &from, Complex to);
  void writePairs(Complex from, const Lines &to);
  void writeRowsOfPairs(Complex from, const Lines &to, Index i, Index valid);

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
  FourierData data;
  FourierStages::Line transform;
  Complex rooms[2];
  // Of the task at hand.
  Value outer, first;
  bool isTail = false; ///< it may have fewer lines
};

} // namespace

FourierCode::FourierCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks)
    : f(f), k(f.b, f.launch.getLoc()), op(op), tasks(tasks), type(f.results[0].elementType),
      lanes(tasks.lanes), vector(VectorType::get({lanes}, type)), n(op.getLength()),
      room(llvm::alignTo(n, lanes) + 2 * lanes + 2), axis(op.getAxis()),
      extents(extentsOf(f, op.getRe())), stages(f, type, lanes), data(f, op, lanes) {
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
  if (!isTail && known && *known >= tasks.lines)
    return k.constant(lanes);
  return k.min(k.constant(lanes), k.sub(k.sub(inner, first), k.constant(half * lanes)));
}

/// Whether each lane of every task has a line. Of lines that are done alone the last task has some
/// of the task before again; those of a pair round each other's results.
bool FourierCode::hasAllLines() {
  auto known = getConstantIntValue(lineCount);
  return known &&
         (*known % tasks.lines == 0 || (!tasks.across && !tasks.pairs && *known >= tasks.lines));
}

/// `line`, or the last one again where there is no such line.
Index FourierCode::lastOrNot(Index line) {
  return hasAllLines() ? line : k.min(line, k.sub(lineCount, k.constant(1)));
}

/// How many elements are read, or written, of `valid` numbers of a line: a whole vector where a
/// line is shorter and others of the task follow, which are written afterwards. Masks cost more.
Index FourierCode::partOfRow(const Lines &lines, unsigned lane, Index valid) {
  int64_t row = lines.extent * lines.parts, all = lanes;
  bool isWithin = lane * row + all <= all * row;
  return hasAllLines() && row <= all && isWithin ? k.constant(all)
                                                 : k.mul(valid, k.constant(lines.parts));
}

/// Of lines that lie apart: where one of them begins. Beyond the last one it is the last again.
Value FourierCode::lineStart(const Lines &lines, unsigned lane, bool clamped) {
  Index line = lineNumber(lines.half, lane);
  if (clamped)
    line = lastOrNot(line);
  Index step = k.mul(k.constant(lines.extent), inner);
  Index place = k.add(k.mul(k.floorDiv(line, inner), step), k.rem(line, inner));
  return k.address(lines.memory, type, k.mul(place, k.constant(lines.parts)));
}

/// Of lines that are neighbours: where the task's begin.
Index FourierCode::neighbours(const Lines &lines) {
  return k.add(k.mul(outer, k.mul(k.constant(lines.extent), inner)),
               k.add(first, k.constant(lines.half * lanes)));
}

void FourierCode::whenLine(unsigned half, unsigned lane, function_ref<void()> body) {
  if (hasAllLines())
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
  Value memory = from.memory;
  if (tasks.across) {
    Index valid = validLanes(from.half), begin = neighbours(from);
    Coords at;
    if (!memory)
      at = data.neighbours(outer, k.add(first, k.constant(from.half * lanes)));
    return k.loop(zero, extent, one, [&](Index i) {
      Index place = k.add(begin, k.mul(i, inner));
      put(memory ? k.loadPart(vector, k.address(memory, type, place), valid)
                 : data.vectorAt(from.computed, at, i, valid),
          to, i);
    });
  }
  SmallVector<Value> starts;
  SmallVector<Coords> points;
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (memory)
      starts.push_back(lineStart(from, lane, /*clamped=*/true));
    else
      points.push_back(data.line(lastOrNot(lineNumber(from.half, lane))));
  if (getConstantIntValue(inner) != 1)
    return k.loop(zero, extent, one, [&](Index i) {
      for (unsigned lane = 0; lane < lanes; ++lane)
        k.store(memory ? k.load(type, k.address(starts[lane], type, k.mul(i, inner)))
                       : data.elementAt(from.computed, points[lane], i),
                k.address(at(to, i), type, k.constant(lane)));
    });
  forVectors(from.extent, [&](Index i, Index valid) {
    SmallVector<Value> rows;
    for (unsigned lane = 0; lane < lanes; ++lane)
      rows.push_back(memory ? k.loadPart(vector, k.address(starts[lane], type, i),
                                         partOfRow(from, lane, valid))
                            : data.vectorAt(from.computed, points[lane], i, valid));
    transposeSquare(f.b, rows);
    for (auto [lane, row] : llvm::enumerate(rows))
      put(row, to, k.add(i, k.constant(lane)));
  });
}

Value FourierCode::scaled(Buffer from, Index i) {
  double scale = op.getScale().convertToDouble();
  Value v = get(from, i);
  return scale == 1 ? v : stages.times(v, scale);
}

void FourierCode::write(Buffer from, const Lines &to) {
  Index zero = k.constant(0), one = k.constant(1), extent = k.constant(to.extent);
  auto value = [&](Index i) { return scaled(from, i); };
  if (tasks.across) {
    Index valid = validLanes(to.half), begin = neighbours(to);
    return k.loop(zero, extent, one, [&](Index i) {
      k.storePart(value(i), k.address(to.memory, type, k.add(begin, k.mul(i, inner))), valid);
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
        k.storePart(row, k.address(lineStart(to, lane, /*clamped=*/false), type, i),
                    partOfRow(to, lane, valid));
      });
  });
}

/// Numbers i to i + lanes of each line.
void FourierCode::writeRowsOfPairs(Complex from, const Lines &to, Index i, Index valid) {
  auto store = [&](ArrayRef<Value> rows, Index place, Index count) {
    for (auto [lane, row] : llvm::enumerate(rows))
      whenLine(to.half, lane, [&, lane = lane, row = row] {
        Value start = lineStart(to, lane, /*clamped=*/false);
        Index two = k.constant(2);
        k.storePart(row, k.address(start, type, k.mul(place, two)), partOfRow(to, lane, count));
      });
  };
  if (stages.turnsPairs())
    return halves(valid, [&](unsigned part, Index count) {
      Index place = k.add(i, k.constant(part));
      SmallVector<Complex> numbers;
      for (unsigned number = 0; number < lanes / 2; ++number) {
        Index which = k.add(place, k.constant(number));
        numbers.push_back({scaled(from.re, which), scaled(from.im, which)});
      }
      store(stages.pairsOf(numbers), place, count);
    });
  SmallVector<Complex> numbers;
  for (unsigned number = 0; number < lanes; ++number) {
    Index which = k.add(i, k.constant(number));
    numbers.push_back({scaled(from.re, which), scaled(from.im, which)});
  }
  store(stages.widePairsOf(numbers), i, valid);
}

/// Of `valid` numbers of a vector those of each half of the lanes.
void FourierCode::halves(Index valid, function_ref<void(unsigned part, Index count)> body) {
  unsigned side = lanes / 2;
  for (unsigned part : {0U, side}) {
    Index count = k.sub(k.max(valid, k.constant(part)), k.constant(part));
    if (!k.isKnown(count, 0))
      body(part, k.min(count, k.constant(side)));
  }
}

void FourierCode::readPairs(const Lines &from, Complex to) {
  SmallVector<Value> starts;
  for (unsigned lane = 0; lane < lanes; ++lane)
    starts.push_back(lineStart(from, lane, /*clamped=*/true));
  forVectors(from.extent, [&](Index i, Index valid) {
    halves(valid, [&](unsigned part, Index count) {
      Index place = k.add(i, k.constant(part)), two = k.constant(2);
      SmallVector<Value> rows;
      for (auto [lane, start] : llvm::enumerate(starts))
        rows.push_back(k.loadPart(vector, k.address(start, type, k.mul(place, two)),
                                  partOfRow(from, lane, count)));
      for (auto [number, v] : llvm::enumerate(stages.numbersOf(rows)))
        stages.put(v, to, k.add(place, k.constant(number)));
    });
  });
}

void FourierCode::writePairs(Complex from, const Lines &to) {
  Index zero = k.constant(0), one = k.constant(1), extent = k.constant(to.extent);
  auto value = [&](Index i) { return Complex{scaled(from.re, i), scaled(from.im, i)}; };
  if (tasks.across) {
    Index valid = validLanes(to.half), begin = neighbours(to);
    return k.loop(zero, extent, one, [&](Index i) {
      stages.storePairs(value(i), to.memory, k.add(begin, k.mul(i, inner)), valid);
    });
  }
  if (getConstantIntValue(inner) != 1)
    return k.loop(zero, extent, one, [&](Index i) {
      stages.put(value(i), from, i);
      for (unsigned lane = 0; lane < lanes; ++lane)
        whenLine(to.half, lane, [&] {
          Value start = lineStart(to, lane, /*clamped=*/false);
          for (auto [part, buffer] : llvm::enumerate(std::array{from.re, from.im})) {
            Value element = k.load(type, k.address(at(buffer, i), type, k.constant(lane)));
            Index place = k.mulAdd(k.mul(i, inner), k.constant(2), k.constant(part));
            k.store(element, k.address(start, type, place));
          }
        });
    });
  forVectors(to.extent, [&](Index i, Index valid) { writeRowsOfPairs(from, to, i, valid); });
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
  Value re = op.getRe(), im = op.getIm();
  if (op.fromReal() && !tasks.pairs) {
    read(operand(re, n, 0), z.re);
    return k.loop(k.constant(0), k.constant(n), k.constant(1),
                  [&](Index i) { put(k.zero(vector), z.im, i); });
  }
  if (op.fromReal()) {
    read(operand(re, n, 0), z.re);
    return read(operand(re, n, 1), z.im);
  }
  Value pairs = op.toReal() ? Value() : data.pairsBehind(re, im);
  if (pairs && !tasks.across && getConstantIntValue(inner) == 1 && stages.turnsPairs())
    return readPairs({pairs, n, 0, 2}, z);
  if (!op.toReal()) {
    read(operand(re, n, 0), z.re);
    return read(operand(im, n, 0), z.im);
  }
  // In the other half of the scratch.
  int64_t half = n / 2 + 1, each = llvm::alignTo(half, lanes);
  SmallVector<Buffer> parts;
  for (unsigned i = 0; i < 4; ++i)
    parts.push_back(at(rooms[1].re, k.constant(i * each)));
  for (unsigned i = 0; i < 4; ++i)
    read(operand(i % 2 ? im : re, half, i / 2), parts[i]);
  joinSpectra(parts);
}

void FourierCode::writeAll(Complex z, Complex other) {
  if (op.getInverse())
    std::swap(z.re, z.im);
  auto result = [&](unsigned i) { return f.results[i].pointer; };
  if (op.toReal()) {
    write(z.re, {result(0), n, 0});
    return write(z.im, {result(0), n, 1});
  }
  if (!tasks.pairs && data.joined)
    return writePairs(z, {result(0), n, 0, 2});
  if (!tasks.pairs) {
    write(z.re, {result(0), n, 0});
    return write(z.im, {result(1), n, 0});
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
  if (data.joined) {
    writePairs({parts[0], parts[1]}, {result(0), half, 0, 2});
    return writePairs({parts[2], parts[3]}, {result(0), half, 1, 2});
  }
  for (unsigned i = 0; i < 4; ++i)
    write(parts[i], {result(i % 2), half, i / 2});
}

/// Of lines beside each other, whose number is known, the last task's may be fewer.
void FourierCode::emitTask(Value task) {
  auto known = getConstantIntValue(inner);
  if (!tasks.across || !tasks.pairs || !known || *known < tasks.lines || *known % tasks.lines == 0)
    return emit(task);
  Index parts = k.constant(*known / tasks.lines + 1);
  Value last =
      k.compare(arith::CmpIPredicate::eq, k.rem(task, parts), k.constant(*known / tasks.lines));
  auto emitAs = [&](bool tail) {
    isTail = tail;
    emit(task);
  };
  k.ifThenElse(last, [&] { emitAs(true); }, [&] { emitAs(false); });
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
  auto known = getConstantIntValue(tasks.across ? inner : lineCount);
  if (!tasks.pairs && (tasks.across || hasAllLines()) && known && *known >= tasks.lines)
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
  f.loop(f.begin, f.end, 1, [&](Value task) { code.emitTask(task); });
}
