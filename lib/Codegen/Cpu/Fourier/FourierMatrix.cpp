//===- FourierMatrix.cpp - Fourier transforms of a line at a time ---------===//
//
// A long line, or one of few, is a matrix of r rows and c columns, n = r c (Cooley and Tukey):
//
//   X[k1 + r k2] = sum over j2 of w_c^(j2 k2) w_n^(j2 k1) (sum over j1 of x[j1 c + j2] w_r^(j1 k1))
//
// Lanes are neighbouring columns first, which lie side by side, and then rows, for which squares
// of the matrix are transposed in registers. Neither step shuffles, all of it stays in a near
// cache, and results are written as they lie.
//
// A length with a large prime factor is a convolution (Bluestein): since 2 j k = j^2 + k^2 -
// (k - j)^2, X[k] = c[k] sum over j of (x[j] c[j]) conj c[k - j] with c[j] = exp(-pi i j^2 / n).
// It is done by transforms of a longer matrix there and back. Between them results are where the
// rows' transforms left them, so that the way back begins with the same rows, in the same lanes.
// The way back is the way there of numbers whose parts are exchanged.
//
// Two real lines are the parts of a complex one (FourierKernel.cpp). Where there is no second line
// it is the first once more, which is written last.
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "FourierData.h"
#include "FourierStages.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Analysis/FourierTransform.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class FourierMatrixCode {
public:
  FourierMatrixCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks);
  void emit(Value task);

private:
  using Part = function_ref<void(Index start, Index valid)>;
  /// Vectors of `extent` elements, the last with what is left.
  void vectors(int64_t extent, Part body);
  Value part(Value base, Index place, Index valid) {
    return k.loadPart(vector, k.address(base, type, place), valid);
  }
  Complex part(Complex base, Index place, Index valid);
  void setPart(Complex v, Complex base, Index place, Index valid);
  Complex whole(Complex base, Index place) { return part(base, place, k.constant(lanes)); }
  Complex tables(StringRef name, int64_t count, function_ref<std::complex<double>(int64_t)> value);
  Value reversed(Value v);

  /// Where the task's lines begin in `memory`, that of lines of `extent` elements.
  Complex linesIn(Value memory, int64_t extent);
  /// Vectors, or a number, of one of the task's lines of an operand; zero if that is null.
  Value vectorOf(Value operand, unsigned line, int64_t extent, Index place, Index valid);
  Value numberOf(Value operand, unsigned line, int64_t extent, Index place);

  Complex source(Index place, Index valid);
  void joinSpectra();
  void splitSpectra();
  void result(Index place, Complex v, Index valid);

  Complex turned(Complex v, Index row, Index column);
  using Numbers = function_ref<Complex(Index place, Index valid)>;
  void downColumns(Numbers from);
  void backUpColumns();
  void rowsTurned(Index row);
  void alongRows();
  void throughFilter();
  void convolve(Numbers from);

  KernelFrame &f;
  KernelBuilder k;
  prim::FourierOp op;
  Type type;
  unsigned lanes;
  VectorType vector;
  int64_t n, half, rows, columns, pitch;
  bool exact, pairs, splits, inverse;
  FourierStages stages;
  FourierData data;
  FourierStages::Line down, along;
  Complex line;   ///< numbers in a row
  Complex matrix; ///< between its columns and its rows
  Complex roots, chirp, filter;
  Value lineCount;
  Value lineOf[2]; ///< of the task at hand
};

} // namespace

static std::complex<double> conjugateRoot(int64_t j, int64_t n) {
  auto [re, im] = fourierRoot(j % n, n);
  return {re, -im};
}

FourierMatrixCode::FourierMatrixCode(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks)
    : f(f), k(f.b, f.launch.getLoc()), op(op), type(f.results[0].elementType), lanes(tasks.lanes),
      vector(VectorType::get({lanes}, type)), n(op.getLength()), half(n / 2 + 1),
      rows(tasks.matrix->rows), columns(tasks.matrix->columns),
      // Not a power of two, whose rows would share sets of the cache.
      pitch(llvm::alignTo(columns, lanes) + lanes), exact(tasks.matrix->numbers() == n),
      pairs(tasks.pairs), splits(pairs && op.fromReal()), inverse(op.getInverse()),
      stages(f, type, lanes), data(f, op, lanes) {
  int64_t longer = llvm::alignTo(std::max(rows, columns), lanes), tall = llvm::alignTo(rows, lanes);
  Complex first = stages.scratch(longer), second = stages.scratch(longer);
  down = stages.line(rows, "down", first, second);
  along = rows == columns ? down : stages.line(columns, "along", first, second);
  matrix = stages.scratch(tall * pitch / lanes);
  line = stages.scratch(llvm::divideCeil(rows * columns, lanes) + 1);
  // What multiplies results does so on the way.
  double scale = op.getScale().convertToDouble() * (splits ? 0.5 : 1);
  int64_t m = rows * columns;
  roots = tables("roots", tall * pitch, [&](int64_t at) -> std::complex<double> {
    int64_t i = at / pitch, j = at % pitch;
    return i < rows && j < columns ? conjugateRoot(i * j, m) * (exact ? scale : 1) : 0;
  });
  if (!exact) {
    chirp = tables("chirp", llvm::alignTo(n, lanes), [&](int64_t j) -> std::complex<double> {
      return j < n ? conjugateRoot(j * j, 2 * n) : 0;
    });
    std::vector<std::complex<double>> x(m), response(m), work(m);
    for (int64_t j = 0; j < n; ++j)
      x[j] = x[(m - j) % m] = std::conj(conjugateRoot(j * j, 2 * n));
    FourierTransform(m, false).run(x.data(), response.data(), work.data());
    filter = tables("filter", tall * columns, [&](int64_t at) -> std::complex<double> {
      int64_t block = at / (columns * lanes), i = block * lanes + at % lanes;
      int64_t j = at % (columns * lanes) / lanes;
      return i < rows ? response[i + rows * j] * (scale / static_cast<double>(m)) : 0;
    });
  }
  lineCount = f.e.index(1);
  for (auto [i, extent] : llvm::enumerate(extentsOf(f, op.getRe())))
    if (i != op.getAxis())
      lineCount = f.e.mulIndex(lineCount, extent);
}

//===----------------------------------------------------------------------===//
// Vectors of numbers in a row
//===----------------------------------------------------------------------===//

void FourierMatrixCode::vectors(int64_t extent, Part body) {
  int64_t full = extent / lanes * lanes;
  k.loop(k.constant(0), k.constant(full), k.constant(lanes),
         [&](Index i) { body(i, k.constant(lanes)); });
  if (full < extent)
    body(k.constant(full), k.constant(extent - full));
}

Complex FourierMatrixCode::part(Complex base, Index place, Index valid) {
  return {part(base.re, place, valid), part(base.im, place, valid)};
}

void FourierMatrixCode::setPart(Complex v, Complex base, Index place, Index valid) {
  // The second of two lines may be the first.
  k.storePart(v.im, k.address(base.im, type, place), valid);
  k.storePart(v.re, k.address(base.re, type, place), valid);
}

Complex FourierMatrixCode::tables(StringRef name, int64_t count,
                                  function_ref<std::complex<double>(int64_t)> value) {
  std::vector<double> re, im;
  for (int64_t i = 0; i < count; ++i) {
    std::complex<double> v = value(i);
    re.push_back(v.real());
    im.push_back(v.imag());
  }
  return {stages.table(f.function, (name + "_re").str(), re),
          stages.table(f.function, (name + "_im").str(), im)};
}

Value FourierMatrixCode::reversed(Value v) {
  auto order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, lanes)));
  return vector::ShuffleOp::create(f.b, v, v, order);
}

Complex FourierMatrixCode::linesIn(Value memory, int64_t extent) {
  auto start = [&](Value which) {
    return k.address(memory, type, k.mul(which, k.constant(extent)));
  };
  return {start(lineOf[0]), start(lineOf[1])};
}

//===----------------------------------------------------------------------===//
// What is transformed, and where it goes
//===----------------------------------------------------------------------===//

Value FourierMatrixCode::vectorOf(Value operand, unsigned line, int64_t extent, Index place,
                                  Index valid) {
  if (!operand)
    return k.zero(vector);
  Value memory = data.memoryOf(operand);
  if (!memory)
    return data.vectorAt(operand, data.line(lineOf[line]), place, valid);
  return part(k.address(memory, type, k.mul(lineOf[line], k.constant(extent))), place, valid);
}

Value FourierMatrixCode::numberOf(Value operand, unsigned line, int64_t extent, Index place) {
  Value memory = data.memoryOf(operand);
  if (!memory)
    return data.elementAt(operand, data.line(lineOf[line]), place);
  Index start = k.mul(lineOf[line], k.constant(extent));
  return k.load(type, k.address(memory, type, k.add(start, place)));
}

/// The task's numbers, each of which is asked for once.
Complex FourierMatrixCode::source(Index place, Index valid) {
  if (op.toReal())
    return part(line, place, valid);
  Complex v{vectorOf(op.getRe(), 0, n, place, valid),
            pairs ? vectorOf(op.getRe(), 1, n, place, valid)
                  : vectorOf(op.getIm(), 0, n, place, valid)};
  if (inverse)
    std::swap(v.re, v.im);
  return v;
}

/// Z = X + i Y of the spectra X and Y of real lines, of which the first half is there.
void FourierMatrixCode::joinSpectra() {
  Value re = op.getRe(), im = op.getIm();
  Complex to = line;
  if (inverse)
    std::swap(to.re, to.im);
  auto real = [&](int64_t i) {
    Index place = k.constant(i);
    k.store(numberOf(re, 0, half, place), k.address(to.re, type, place));
    k.store(numberOf(re, 1, half, place), k.address(to.im, type, place));
  };
  real(0);
  // The last vector begins where it ends with the last pair of numbers.
  int64_t paired = (n + 1) / 2 - 1;
  k.loop(k.constant(0), k.constant(paired), k.constant(lanes), [&](Index i) {
    Index all = k.constant(lanes);
    Index at = k.min(k.add(i, k.constant(1)), k.constant(paired - lanes + 1));
    Index mirror = k.sub(k.constant(n - lanes + 1), at);
    Value xr = vectorOf(re, 0, half, at, all), yr = vectorOf(re, 1, half, at, all),
          xi = vectorOf(im, 0, half, at, all), yi = vectorOf(im, 1, half, at, all);
    setPart({stages.sub(xr, yi), stages.add(xi, yr)}, to, at, all);
    setPart({reversed(stages.add(xr, yi)), reversed(stages.sub(yr, xi))}, to, mirror, all);
  });
  if (n % 2 == 0)
    real(n / 2);
}

/// The way back: twice X and Y, since Z is half of what it should be.
void FourierMatrixCode::splitSpectra() {
  for (Value of : {line.re, line.im})
    k.store(k.load(type, of), k.address(of, type, k.constant(n)));
  Value first = f.results[0].pointer;
  Complex re = linesIn(first, half), im = re;
  if (!data.joined)
    im = linesIn(f.results[1].pointer, half);
  vectors(half, [&](Index i, Index valid) {
    Complex v = whole(line, i), m = whole(line, k.sub(k.constant(n - lanes + 1), i));
    m = {reversed(m.re), reversed(m.im)};
    Complex x{stages.add(v.re, m.re), stages.sub(v.im, m.im)};
    Complex y{stages.add(v.im, m.im), stages.sub(m.re, v.re)};
    if (data.joined) {
      // As in setPart.
      for (auto [z, which] : {std::pair(y, lineOf[1]), std::pair(x, lineOf[0])})
        stages.storePairs(z, first, k.add(k.mul(which, k.constant(half)), i), valid);
      return;
    }
    setPart({x.re, y.re}, re, i, valid);
    setPart({x.im, y.im}, im, i, valid);
  });
}

void FourierMatrixCode::result(Index place, Complex v, Index valid) {
  if (inverse)
    std::swap(v.re, v.im);
  if (!pairs && data.joined) {
    Index start = k.mul(lineOf[0], k.constant(n));
    return stages.storePairs(v, f.results[0].pointer, k.add(start, place), valid);
  }
  Complex to = line;
  if (pairs && !splits)
    to = linesIn(f.results[0].pointer, n);
  else if (!pairs)
    to = {linesIn(f.results[0].pointer, n).re, linesIn(f.results[1].pointer, n).re};
  setPart(v, to, place, valid);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Times the root of its place, or of the vector of places.
Complex FourierMatrixCode::turned(Complex v, Index row, Index column) {
  return stages.times(v, whole(roots, k.mulAdd(row, k.constant(pitch), column)));
}

void FourierMatrixCode::downColumns(Numbers from) {
  vectors(columns, [&](Index j, Index valid) {
    stages.transform(
        down, [&](Index i) { return from(k.mulAdd(i, k.constant(columns), j), valid); },
        [&](Index i, Complex v) {
          setPart(turned(v, i, j), matrix, k.mulAdd(i, k.constant(pitch), j), k.constant(lanes));
        });
  });
}

void FourierMatrixCode::backUpColumns() {
  vectors(columns, [&](Index j, Index valid) {
    stages.transform(
        down, [&](Index i) { return whole(matrix, k.mulAdd(i, k.constant(pitch), j)); },
        [&](Index i, Complex v) { setPart(v, line, k.mulAdd(i, k.constant(columns), j), valid); });
  });
}

/// Rows from `row` on become lanes, in the room that is read first.
void FourierMatrixCode::rowsTurned(Index row) {
  k.loop(k.constant(0), k.constant(columns), k.constant(lanes), [&](Index j) {
    for (auto [from, to] :
         {std::pair(matrix.re, along.room[1].re), std::pair(matrix.im, along.room[1].im)}) {
      SmallVector<Value> square;
      for (unsigned i = 0; i < lanes; ++i) {
        Index place = k.mulAdd(k.add(row, k.constant(i)), k.constant(pitch), j);
        square.push_back(part(from, place, k.constant(lanes)));
      }
      transposeSquare(f.b, square);
      for (auto [i, v] : llvm::enumerate(square))
        stages.put(v, to, k.add(j, k.constant(i)));
    }
  });
}

void FourierMatrixCode::alongRows() {
  vectors(rows, [&](Index i, Index valid) {
    rowsTurned(i);
    stages.transform(
        along, [&](Index j) { return stages.get(along.room[1], j); },
        [&](Index j, Complex v) { result(k.mulAdd(j, k.constant(rows), i), v, valid); });
  });
}

/// Rows there, by the filter, and back into the matrix, parts exchanged.
void FourierMatrixCode::throughFilter() {
  FourierStages::Line back = along;
  if (along.radices.size() % 2)
    std::swap(back.room[0], back.room[1]);
  vectors(rows, [&](Index i, Index) {
    rowsTurned(i);
    stages.transform(
        along, [&](Index j) { return stages.get(along.room[1], j); },
        [&](Index j, Complex v) {
          Index place = k.mulAdd(i, k.constant(columns), k.mul(j, k.constant(lanes)));
          v = stages.times(v, whole(filter, place));
          stages.put(Complex{v.im, v.re}, along.lastRoom(), j);
        });
    stages.transform(
        back, [&](Index j) { return stages.get(back.room[1], j); },
        [&](Index j, Complex v) { stages.put(v, back.lastRoom(), j); });
    k.loop(k.constant(0), k.constant(columns), k.constant(lanes), [&](Index j) {
      SmallVector<Value> re, im;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        Complex v = stages.get(back.lastRoom(), k.add(j, k.constant(lane)));
        re.push_back(v.re);
        im.push_back(v.im);
      }
      transposeSquare(f.b, re);
      transposeSquare(f.b, im);
      for (unsigned lane = 0; lane < lanes; ++lane) {
        Index row = k.add(i, k.constant(lane));
        setPart(turned({re[lane], im[lane]}, row, j), matrix, k.mulAdd(row, k.constant(pitch), j),
                k.constant(lanes));
      }
    });
  });
}

void FourierMatrixCode::convolve(Numbers from) {
  vectors(n, [&](Index i, Index valid) {
    setPart(stages.times(from(i, valid), whole(chirp, i)), line, i, k.constant(lanes));
  });
  int64_t end = llvm::alignTo(rows * columns, lanes);
  Value zero = k.zero(vector);
  k.loop(k.constant(llvm::alignTo(n, lanes)), k.constant(end), k.constant(lanes),
         [&](Index i) { setPart({zero, zero}, line, i, k.constant(lanes)); });
  downColumns([&](Index place, Index valid) { return part(line, place, valid); });
  throughFilter();
  backUpColumns();
  vectors(n, [&](Index i, Index valid) {
    Complex v = whole(line, i);
    result(i, stages.times(Complex{v.im, v.re}, whole(chirp, i)), valid);
  });
}

void FourierMatrixCode::emit(Value task) {
  lineOf[0] = lineOf[1] = task;
  if (pairs) {
    lineOf[0] = f.e.mulIndex(task, f.e.index(2));
    lineOf[1] = k.value(k.min(k.add(lineOf[0], k.constant(1)), k.sub(lineCount, k.constant(1))));
  }
  if (op.toReal())
    joinSpectra();
  auto from = [&](Index place, Index valid) { return source(place, valid); };
  if (exact) {
    downColumns(from);
    alongRows();
  } else {
    convolve(from);
  }
  if (splits)
    splitSpectra();
}

void tcc::codegen::emitFourierMatrix(KernelFrame &f, prim::FourierOp op,
                                     const FourierTasks &tasks) {
  FourierMatrixCode code(f, op, tasks);
  f.loop(f.begin, f.end, 1, [&](Value task) { code.emit(task); });
}
