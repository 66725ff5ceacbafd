//===- FourierKernel.cpp - Fourier transforms in shared memory ------------===//
//
// Threads of a block share a line, and a block has several lines. A stage of radix r (Stockham's,
// as in Codegen/Cpu/Fourier/FourierStages.cpp) takes r numbers at a time through a thread's
// registers:
//
//   x[q + s (p + i m)], i < r   ->   butterfly, roots   ->   x[q + s (r p + t)], t < r
//
// with m = length / r butterflies for each of s transforms side by side. The first stage reads the
// operands and the last writes the results, so that a line goes through shared memory once less
// than it has stages; there, every eighth number is followed by a gap, as lanes would meet in a
// bank where they write r numbers apart. Where lines are neighbours in memory, lanes are lines.
//
// Two real lines are the parts of a complex one (Codegen/Cpu/Fourier/FourierKernel.cpp): on the way
// there the result is in shared memory once more, as numbers k and n - k make the same number of
// both; on the way back they are put together as they are read. Few lines are one each, since
// multiprocessors would be idle. An inverse transform is one of the parts exchanged.
//
// Operands are computed where they are read, so that complex numbers that lie as pairs, the roots
// between the rows and the columns of a long line, or a product of spectra take no launch and no
// memory; and where the launch joins the two parts of its result to pairs, these are stored, in the
// type that they are wanted in. Where
// it also stores another axis last, numbers go through shared memory once more, so that
// neighbouring threads write neighbours.
//
//===----------------------------------------------------------------------===//
#include "FourierKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Analysis/FourierLength.h"
#include "tcc/Codegen/Common/FourierButterflies.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kGap = 8; ///< numbers of a line in shared memory between two gaps
/// Odd, so that neighbouring lines begin in neighbouring banks.
static int64_t pitchOf(int64_t n) { return (n + n / kGap) | 1; }

/// Whether only the first half of a real line's spectrum is stored.
static bool storesHalf(prim::FourierOp op) {
  return op.fromReal() &&
         tensorType(op.getParts()[0]).getDimSize(op.getAxis()) == int64_t(op.getLength()) / 2 + 1;
}

/// Whether two real lines are done as a complex one.
static bool pairsLines(prim::FourierOp op, const GpuArch &arch) {
  constexpr int64_t kBusy = 2, kNumbers = 4096; // lines of a multiprocessor; numbers of one
  RankedTensorType x = tensorType(op.getRe());
  int64_t all = volumeOf(x.getShape()), lines = all / x.getDimSize(op.getAxis());
  bool few = all >= 0 && lines <= kBusy * arch.multiprocessors &&
             lines * int64_t(op.getLength()) <= kNumbers * arch.multiprocessors;
  // Of long ones beside each other a block has many threads for few lines.
  constexpr int64_t kLong = 512, kMany = 16;
  bool beside = volumeOf(x.getShape().drop_front(op.getAxis() + 1)) != 1;
  few |= all >= 0 && beside && op.getLength() > kLong && lines < kMany * arch.multiprocessors;
  return !few && (op.toReal() || storesHalf(op));
}

void device::scheduleFourier(ScheduleChoice &s, prim::FourierOp op, const GpuArch &arch) {
  constexpr int64_t kOwn = 8, kThreads = 256; // numbers of a thread; of a block, or twice as many
  constexpr int64_t kRoom = 40 << 10;         // bytes: several blocks of a multiprocessor
  constexpr int64_t kSector = 32;             // bytes of neighbours that are read together
  RankedTensorType x = tensorType(op.getRe());
  int64_t n = op.getLength(), bytes = elementBytes(x.getElementType());
  int64_t line = 2 * pitchOf(n) * bytes;
  s.form = Form::Line;
  s.vectors = pairsLines(op, arch) ? 2 : 1;
  s.rowThreads = unsigned(llvm::divideCeil(n, kOwn));
  int64_t inner = volumeOf(x.getShape().drop_front(op.getAxis() + 1));
  int64_t beside = std::max<int64_t>(1, (inner == 1 ? 1 : 2) * kThreads / s.rowThreads);
  int64_t least = inner == 1 ? 1 : std::min(kSector / bytes, beside);
  beside = std::max(least, std::min(beside, kRoom / line));
  int64_t lines = volumeOf(x.getShape());
  while (lines > 0 && beside / 2 >= least &&
         lines / n < 2 * arch.multiprocessors * beside * s.vectors)
    beside /= 2;
  s.threads = unsigned(beside) * s.rowThreads;
  s.sharedBytes = unsigned(beside * line);
}

namespace {

class FourierCode {
public:
  FourierCode(device::KernelFrame &f, prim::FourierOp op);
  void emit();

private:
  Value constant(double v) { return arith::ConstantOp::create(b, b.getFloatAttr(type, v)); }
  Coords at(unsigned line, Value place) const {
    Coords coords(lines[line].at);
    coords[axis] = Coord::uniform(place);
    return coords;
  }
  Value operand(Value v, unsigned line, Value place) {
    Value read = f.e.eval(v, at(line, place));
    f.failed |= !read;
    return read ? read : constant(0);
  }
  Complex read(Value place);
  Complex readSpectra(Value place);
  void store(unsigned result, unsigned line, Value place, Value v);
  Value scaled(Value v);
  void storePair(Coords coords, Complex z);
  void storeNumber(unsigned line, Value place, Complex z);
  void write(Value place, Complex z);
  void writeSpectra();
  Value slot(Value base, Value place);
  Complex get(Value place) {
    return {LLVM::LoadOp::create(b, type, slot(room.re, place)),
            LLVM::LoadOp::create(b, type, slot(room.im, place))};
  }
  void put(Complex z, Value place) {
    LLVM::StoreOp::create(b, z.re, slot(room.re, place));
    LLVM::StoreOp::create(b, z.im, slot(room.im, place));
  }
  void readYield();
  void enterLines(bool across);
  /// Where a stage's numbers lie, and the roots that they are multiplied by.
  struct Butterfly {
    Value p, q, exists; ///< exists: null where all threads have one
    SmallVector<Complex> roots, x;
  };
  struct Stage {
    unsigned radix;
    int64_t length, stride;
    SmallVector<Butterfly> own; ///< of the thread
    int64_t count() const { return length / radix; }
  };
  Stage stage(unsigned radix, int64_t length, int64_t stride);
  void readNumbers(Stage &stage);
  void run(Stage &stage, bool isLast);
  Complex root(Value roots, int64_t count, unsigned t, Value p);

  struct Line {
    Coords at;
    Value inside; ///< whether there is such a line
  };

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::FourierOp op;
  Type type;
  FourierButterflies numbers;
  int64_t n, threads; ///< threads: of a line
  unsigned axis;
  bool pairs;
  bool joined = false;        ///< results are pairs
  SmallVector<int64_t> order; ///< of the axes of a result in memory
  int64_t whole = 0,
          kept = 0;          ///< numbers of a line in memory, of which the first are stored; 0: all
  bool across, storesAcross; ///< neighbouring threads read, or store, neighbouring lines
  Complex room;
  Value share, lineOfBlock; ///< of the thread: its place among those of its line
  SmallVector<Line, 2> lines;
  SmallVector<Value> merged, parts; ///< extents of the results in their order, as pairs in memory
};

} // namespace

FourierCode::FourierCode(device::KernelFrame &f, prim::FourierOp op)
    : f(f), b(f.b), op(op), type(tensorType(op.getRe()).getElementType()),
      numbers(b, type, /*fma=*/true), n(op.getLength()), threads(f.schedule.getRowThreads()),
      axis(op.getAxis()), pairs(f.schedule.getVectors() == 2) {
  room.re = f.dynamicShared();
  int64_t beside = f.schedule.getThreads() / threads;
  room.im = f.at(room.re, type, f.e.index(beside * pitchOf(n)));
  across =
      getConstantIntValue(f.volume(ArrayRef(extentsOf(f, op.getRe())).drop_front(axis + 1))) != 1;
  readYield();
  enterLines(across);
}

/// A concatenation of the parts, each in another type and transposed or not, or the parts
/// themselves.
void FourierCode::readYield() {
  for (unsigned i = 0; i < tensorType(op.getRe()).getRank(); ++i)
    order.push_back(i);
  storesAcross = across;
  Operation *last = f.yield().getOperand(0).getDefiningOp();
  if (last == op)
    return;
  joined = true;
  auto reshape = cast<prim::ReshapeOp>(last->getOperand(0).getDefiningOp());
  if (auto slice = reshape.getX().getDefiningOp<prim::SliceOp>()) {
    reshape = slice.getX().getDefiningOp<prim::ReshapeOp>();
    whole = tensorType(slice.getX()).getShape().back();
    kept = tensorType(slice.getResult()).getShape().back();
  }
  if (auto transpose = reshape.getX().getDefiningOp<prim::TransposeOp>()) {
    order.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
    storesAcross = order.back() != int64_t(axis);
  }
  SmallVector<Value> extents = extentsOf(f, op.getParts()[0]);
  for (int64_t from : order)
    merged.push_back(extents[from]);
  parts = merged;
  if (kept)
    parts = {f.e.divIndex(f.volume(merged), f.e.index(whole)), f.e.index(kept)};
  parts.push_back(f.e.index(2));
}

/// `across`: neighbouring threads have neighbouring lines, else places of one line.
void FourierCode::enterLines(bool across) {
  SmallVector<Value> others = extentsOf(f, op.getRe());
  others.erase(others.begin() + axis);
  lines.clear();
  int64_t beside = f.schedule.getThreads() / threads, together = pairs ? 2 : 1;
  Value number = across ? f.e.remIndex(f.thread, f.e.index(beside))
                        : f.e.divIndex(f.thread, f.e.index(threads));
  share = across ? f.e.divIndex(f.thread, f.e.index(beside))
                 : f.e.remIndex(f.thread, f.e.index(threads));
  lineOfBlock = number;
  Value first = f.e.addIndex(f.e.mulIndex(f.block, f.e.index(beside)), number);
  first = f.e.mulIndex(first, f.e.index(together));
  Value count = f.volume(others), last = f.e.subIndex(count, f.e.index(1));
  for (int64_t i = 0; i < together; ++i) {
    Value line = f.e.addIndex(first, f.e.index(i));
    Line one{{}, f.less(line, count)};
    for (Value c : f.delinearize(f.minIndex(line, last), others))
      one.at.push_back(Coord::uniform(c));
    one.at.insert(one.at.begin() + axis, Coord::uniform(f.e.index(0)));
    lines.push_back(std::move(one));
  }
}

Value FourierCode::slot(Value base, Value place) {
  Value padded = f.e.addIndex(place, f.e.divIndex(place, f.e.index(kGap)));
  return f.at(base, type, f.e.addIndex(f.e.mulIndex(lineOfBlock, f.e.index(pitchOf(n))), padded));
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Z = X + i Y of the spectra X and Y of real lines, of which the first half is there, or X. What
/// makes the first and the middle number complex does not count.
Complex FourierCode::readSpectra(Value place) {
  Value zero = f.e.index(0), half = f.e.index(n / 2);
  Value mirrored = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, place, half);
  Value from = arith::SelectOp::create(b, mirrored, f.e.subIndex(f.e.index(n), place), place);
  Value isReal = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, zero);
  if (n % 2 == 0)
    isReal = arith::OrIOp::create(b, isReal,
                                  arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, half));
  auto imaginary = [&](unsigned line) -> Value {
    Value v = operand(op.getIm(), line, from), negative = arith::NegFOp::create(b, v);
    v = arith::SelectOp::create(b, mirrored, negative, v);
    return arith::SelectOp::create(b, isReal, constant(0), v);
  };
  if (!pairs)
    return {operand(op.getRe(), 0, from), imaginary(0)};
  return {numbers.sub(operand(op.getRe(), 0, from), imaginary(1)),
          numbers.add(imaginary(0), operand(op.getRe(), 1, from))};
}

Complex FourierCode::read(Value place) {
  f.e.forget();
  Complex z;
  if (op.toReal())
    z = readSpectra(place);
  else if (!op.fromReal())
    z = {operand(op.getRe(), 0, place), operand(op.getIm(), 0, place)};
  else
    z = {operand(op.getRe(), 0, place), pairs ? operand(op.getRe(), 1, place) : constant(0)};
  if (op.getInverse())
    std::swap(z.re, z.im);
  return z;
}

Value FourierCode::scaled(Value v) {
  double scale = op.getScale().convertToDouble();
  return scale == 1 ? v : numbers.times(v, scale);
}

void FourierCode::store(unsigned result, unsigned line, Value place, Value v) {
  f.e.store(f.results[result], at(line, place), scaled(v));
}

void FourierCode::storePair(Coords coords, Complex z) {
  Memory memory = f.results[0];
  memory.extents = parts;
  Type stored = tensorType(f.launch.getResult(0)).getElementType();
  auto number = [&](Value v) { return emitCast(f.b, scaled(v), type, stored, /*saturate=*/false); };
  coords.push_back(Coord::uniform(f.e.index(0)));
  f.e.store(memory, coords, number(z.re));
  coords.back() = Coord::uniform(f.e.index(1));
  f.e.store(memory, coords, number(z.im));
}

void FourierCode::storeNumber(unsigned line, Value place, Complex z) {
  f.when(lines[line].inside, [&] {
    if (!joined) {
      store(0, line, place, z.re);
      store(1, line, place, z.im);
      return;
    }
    Coords coords = at(line, place), stored;
    for (int64_t from : order)
      stored.push_back(coords[from]);
    if (!kept)
      return storePair(stored, z);
    Value number = f.e.index(0);
    for (auto [extent, c] : llvm::zip_equal(merged, stored))
      number = f.e.addIndex(f.e.mulIndex(number, extent), c.base);
    Value at = f.e.remIndex(number, f.e.index(whole));
    f.when(f.less(at, f.e.index(kept)), [&] {
      Value row = f.e.divIndex(number, f.e.index(whole));
      storePair({Coord::uniform(row), Coord::uniform(at)}, z);
    });
  });
}

void FourierCode::write(Value place, Complex z) {
  if (op.getInverse())
    std::swap(z.re, z.im);
  if (!op.toReal()) {
    auto all = [&] { storeNumber(0, place, z); };
    return storesHalf(op) ? f.when(f.less(place, f.e.index(n / 2 + 1)), all) : all();
  }
  f.when(lines[0].inside, [&] { store(0, 0, place, z.re); });
  if (pairs)
    f.when(lines[1].inside, [&] { store(0, 1, place, z.im); });
}

/// Of Z = X + i Y in shared memory the first halves of X and Y.
void FourierCode::writeSpectra() {
  f.loop(share, f.e.index(n / 2 + 1), threads, [&](Value k) {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, k, f.e.index(0));
    Value mirror = arith::SelectOp::create(b, isFirst, k, f.e.subIndex(f.e.index(n), k));
    Complex z = get(k), m = get(mirror);
    if (op.getInverse()) {
      std::swap(z.re, z.im);
      std::swap(m.re, m.im);
    }
    auto half = [&](Value v) { return numbers.times(v, 0.5); };
    storeNumber(0, k, {half(numbers.add(z.re, m.re)), half(numbers.sub(z.im, m.im))});
    storeNumber(1, k, {half(numbers.add(z.im, m.im)), half(numbers.sub(m.re, z.re))});
  });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Of result `t` of butterfly `p`, from a table of all for t = 1, then for t = 2, and so on.
Complex FourierCode::root(Value roots, int64_t count, unsigned t, Value p) {
  Value place = f.e.addIndex(p, f.e.index(int64_t(t - 1) * count));
  auto pair = VectorType::get({2}, type);
  Value both = LLVM::LoadOp::create(b, pair, f.at(roots, pair, place));
  return {vector::ExtractOp::create(b, both, int64_t(0)),
          vector::ExtractOp::create(b, both, int64_t(1))};
}

/// Roots come from memory, which takes as long as what a stage does before it needs them.
FourierCode::Stage FourierCode::stage(unsigned radix, int64_t length, int64_t stride) {
  Stage made{radix, length, stride, {}};
  int64_t count = made.count(), all = count * stride;
  Value s = f.e.index(stride), roots;
  if (count > 1) {
    std::vector<double> values;
    for (unsigned t = 1; t < radix; ++t)
      for (int64_t p = 0; p < count; ++p) {
        auto [re, im] = fourierRoot(p * t % length, length);
        values.insert(values.end(), {re, -im});
      }
    roots = numbers.table(f.function, "roots" + std::to_string(stride), values);
  }
  for (int64_t first = 0; first < all; first += threads) {
    Value number = f.e.addIndex(share, f.e.index(first));
    Butterfly one;
    if (first + threads > all) {
      one.exists = f.less(number, f.e.index(all));
      number = f.minIndex(number, f.e.index(all - 1));
    }
    one.p = f.e.divIndex(number, s);
    one.q = f.e.remIndex(number, s);
    for (unsigned t = 1; t < radix && count > 1; ++t)
      one.roots.push_back(root(roots, count, t, one.p));
    made.own.push_back(std::move(one));
  }
  return made;
}

void FourierCode::readNumbers(Stage &stage) {
  Value s = f.e.index(stage.stride);
  for (Butterfly &one : stage.own)
    for (unsigned i = 0; i < stage.radix; ++i) {
      Value row = f.e.addIndex(one.p, f.e.index(int64_t(i) * stage.count()));
      Value place = f.e.addIndex(one.q, f.e.mulIndex(s, row));
      one.x.push_back(stage.stride == 1 ? read(place) : get(place));
    }
}

void FourierCode::run(Stage &stage, bool isLast) {
  Value s = f.e.index(stage.stride);
  if (stage.stride > 1)
    f.barrier(); // all have read what is written over
  bool leaves = isLast && !(pairs && op.fromReal()) && across == storesAcross;
  for (Butterfly &one : stage.own) {
    one.x = numbers.butterfly(one.x);
    for (auto [t, root] : llvm::enumerate(one.roots))
      one.x[t + 1] = numbers.times(one.x[t + 1], root);
    auto results = [&] {
      for (unsigned t = 0; t < stage.radix; ++t) {
        Value row = f.e.addIndex(f.e.mulIndex(one.p, f.e.index(stage.radix)), f.e.index(t));
        Value place = f.e.addIndex(one.q, f.e.mulIndex(s, row));
        leaves ? write(place, one.x[t]) : put(one.x[t], place);
      }
    };
    one.exists ? f.when(one.exists, results) : results();
  }
  if (!leaves)
    f.barrier();
}

void FourierCode::emit() {
  SmallVector<unsigned> radices = fourierRadices(n);
  if (radices.empty())
    radices.push_back(1);
  int64_t length = n, stride = 1;
  Stage next = stage(radices[0], length, stride);
  for (size_t i = 0; i < radices.size(); ++i) {
    Stage current = std::move(next);
    readNumbers(current);
    length /= radices[i];
    stride *= radices[i];
    if (i + 1 < radices.size())
      next = stage(radices[i + 1], length, stride);
    run(current, i + 1 == radices.size());
  }
  if (across != storesAcross)
    enterLines(storesAcross);
  if (pairs && op.fromReal())
    writeSpectra();
  else if (across != storesAcross)
    f.loop(share, f.e.index(n), threads, [&](Value place) { write(place, get(place)); });
}

/// So that both parts of a number are read, and stored, at once.
static void stateAlignment(LLVM::LLVMFuncOp function) {
  Builder b(function.getContext());
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<LLVM::LLVMPointerType>(type))
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          b.getI64IntegerAttr(GpuArch::accessBytes));
}

void device::emitFourierKernel(KernelFrame &f) {
  stateAlignment(f.function);
  FourierCode(f, cast<prim::FourierOp>(specialOf(f.launch))).emit();
}
