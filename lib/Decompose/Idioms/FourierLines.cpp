//===- FourierLines.cpp - Fourier transforms that a target has kernels for -===//
//
// Rules make one primitive of a transform of known length. A target has kernels for lines of some
// lengths along the last axis, and for many short ones along any. What is longer is n = p q numbers
// in p rows (Cooley and Tukey): transforms along the columns, which lie side by side, roots, and
// transforms along the rows; p is such that there is a kernel for columns where they lie. Real
// lines need half of the rows, as the others follow from them: of the results, or, where a kernel
// computes what it reads, of what it reads. Short lengths with large prime factors are products,
// long ones convolutions (Bluestein; as in Codegen/Cpu/Fourier/FourierMatrix.cpp).
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Fourier.h"
#include "tcc/Analysis/FourierLength.h"
#include "tcc/Decompose/Decompose.h"
#include <numeric>

namespace tcc {
#define GEN_PASS_DECL_FOURIERLINESPASS
#define GEN_PASS_DEF_FOURIERLINESPASS
#include "tcc/Decompose/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

/// Transforms up to here are computed in f64: they cost nothing, and sums that cancel give an
/// exact zero.
static constexpr int64_t kExact = 16;

static Type computed(PrimBuilder &b, Value x, int64_t n) {
  return n <= kExact ? Type(b.builder().getF64Type()) : b.elem(x);
}

static ComplexParts create(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t extent,
                           unsigned results, bool inverse, double scale) {
  int64_t length = std::max(extent, *b.known(b.dim(z.re, axis)));
  if (length > kLongestFourier)
    b.fault("a Fourier transform of " + llvm::Twine(length) + " points is too long");
  Dims dims = b.dims(z.re);
  dims[axis] = b.dim(extent);
  SmallVector<Type> types(results, b.typeOf(dims, b.elem(z.re)));
  auto parts = prim::FourierOp::create(b.builder(), b.location(), types, z.re, z.im, axis, inverse,
                                       llvm::APFloat(scale))
                   .getParts();
  return {parts[0], results > 1 ? Value(parts[1]) : Value()};
}

ComplexParts tcc::fourierLines(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t count,
                               bool inverse, double scale) {
  int64_t n = *b.known(b.dim(z.re, axis));
  Type own = b.elem(z.re), e = computed(b, z.re, n);
  ComplexParts in{b.cast(z.re, e), z.im ? b.cast(z.im, e) : Value()};
  ComplexParts out = create(b, in, axis, count, 2, inverse, scale);
  return {b.cast(out.re, own), b.cast(out.im, own)};
}

Value tcc::realFourierLines(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t n, bool inverse,
                            double scale) {
  Type own = b.elem(z.re), e = computed(b, z.re, n);
  ComplexParts in{b.cast(z.re, e), b.cast(z.im, e)};
  return b.cast(create(b, in, axis, n, 1, inverse, scale).re, own);
}

ComplexParts tcc::fourier(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t axis,
                          bool inverse, Dim count) {
  int64_t rank = b.rank(z.re);
  Dim n = b.dim(z.re, axis);
  if (auto length = b.known(n); length && *length > 0) {
    auto wanted = b.known(count);
    bool whole = z.im || !wanted || *wanted > *length / 2 + 1;
    double scale = inverse ? 1.0 / static_cast<double>(*length) : 1;
    ComplexParts all = fourierLines(b, z, axis, whole ? *length : *length / 2 + 1, inverse, scale);
    return {b.sliceAxis(all.re, axis, b.dim(0), count), b.sliceAxis(all.im, axis, b.dim(0), count)};
  }
  SmallVector<int64_t> to, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      to.push_back(i);
  to.push_back(axis);
  for (auto [i, from] : llvm::enumerate(to))
    back[from] = i;
  ComplexParts line{b.transpose(z.re, to), z.im ? b.transpose(z.im, to) : Value()};
  ComplexParts result = fourierProducts(b, weights, line, inverse, count);
  result = {b.transpose(result.re, back), b.transpose(result.im, back)};
  if (inverse) {
    Value scale = b.cast(b.fromHost({n}, {}, b.builder().getI64Type()), b.elem(result.re));
    result = {b.div(result.re, scale), b.div(result.im, scale)};
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// Lines of n = p q numbers, along `axis`: p rows of q.
class SplitLines {
public:
  SplitLines(PrimBuilder &b, WeightTable &weights, prim::FourierOp op, int64_t rows)
      : b(b), weights(weights), axis(op.getAxis()), n(op.getLength()), p(rows), q(n / p),
        half(p / 2 + 1), inverse(op.getInverse()), scale(op.getScale().convertToDouble()) {}
  ComplexParts complex(ComplexParts z);
  ComplexParts fromReal(Value x);
  ComplexParts fromRealMirrored(Value x);
  Value toReal(ComplexParts z);

private:
  template <typename Fn> ComplexParts each(ComplexParts z, Fn fn) { return {fn(z.re), fn(z.im)}; }
  /// `first` by `second` numbers at the axis and after it, and back.
  Value square(Value v, int64_t first, int64_t second) {
    Dims dims = b.dims(v);
    dims[axis] = b.dim(first);
    dims.insert(dims.begin() + axis + 1, b.dim(second));
    return b.reshape(v, dims);
  }
  Value line(Value v) {
    Dims dims = b.dims(v);
    dims[axis] = b.mulDims(dims[axis], dims[axis + 1]);
    dims.erase(dims.begin() + axis + 1);
    return b.reshape(v, dims);
  }
  Value swapped(Value v) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(v)));
    std::swap(order[axis], order[axis + 1]);
    return b.transpose(v, order);
  }
  /// Times the roots w^(i j) of places i and j along the axis and after it.
  ComplexParts turned(ComplexParts z, int64_t rows, bool across);

  PrimBuilder &b;
  WeightTable &weights;
  int64_t axis, n, p, q, half;
  bool inverse;
  double scale;
};

class FourierLinesPass : public tcc::impl::FourierLinesPassBase<FourierLinesPass> {
public:
  FourierLinesPass(WeightTable *weights, FourierKernels has) : weights(weights) {
    longest = has.longest;
    convolves = has.convolves;
    longestTogether = has.longestTogether;
    fewestLines = has.fewestLines;
    mirrors = has.mirrors;
    longestOfMany = has.longestOfMany;
    manyLines = has.manyLines;
  }
  void runOnOperation() override;

private:
  /// Whether there is a kernel for one line of n numbers.
  bool hasMatrix(int64_t n) {
    return n >= kShortestFourierMatrix &&
           (hasFourierStages(n) ? n <= longest : convolves && 2 * n - 1 <= longest);
  }
  bool hasKernel(prim::FourierOp op);
  int64_t rowsOf(prim::FourierOp op);
  SmallVector<Value> replacement(PrimBuilder &b, prim::FourierOp op);
  SmallVector<Value> products(PrimBuilder &b, prim::FourierOp op);
  SmallVector<Value> convolution(PrimBuilder &b, prim::FourierOp op);
  SmallVector<Value> alongLast(PrimBuilder &b, prim::FourierOp op);

  WeightTable *weights;
};

} // namespace

ComplexParts SplitLines::turned(ComplexParts z, int64_t rows, bool across) {
  ComplexParts w = fourierTwiddles(b, weights, b.elem(z.re), rows, p, q, inverse);
  SmallVector<int64_t> axes{across ? axis + 1 : axis, across ? axis : axis + 1};
  w = each(w, [&](Value v) {
    if (across) {
      v = b.transpose(v, {1, 0});
      std::swap(axes[0], axes[1]);
    }
    Value wide = b.broadcastInDim(v, b.dims(z.re), axes);
    if (across)
      std::swap(axes[0], axes[1]);
    return wide;
  });
  return {b.sub(b.mul(z.re, w.re), b.mul(z.im, w.im)), b.add(b.mul(z.re, w.im), b.mul(z.im, w.re))};
}

/// `z` may be real.
ComplexParts SplitLines::complex(ComplexParts z) {
  z = each(z, [&](Value v) { return v ? square(v, p, q) : v; });
  z = turned(fourierLines(b, z, axis, p, inverse), p, false);
  z = fourierLines(b, z, axis + 1, q, inverse, scale); // X[k1 + p k2] at [k1, k2]
  return each(z, [&](Value v) { return line(swapped(v)); });
}

ComplexParts SplitLines::fromReal(Value x) {
  ComplexParts z = turned(fourierLines(b, {square(x, p, q), {}}, axis, half, inverse), half, false);
  z = fourierLines(b, z, axis + 1, q, inverse, scale);
  // Row p - k1 has the others: X[k1 + p k2] is conjugate to X[p - k1 + p (q - 1 - k2)].
  auto whole = [&](Value v, bool isIm) {
    Value rest = b.sliceAxis(v, axis, b.dim(1), b.dim(p - half));
    rest = b.reverse(rest, {axis, axis + 1});
    Value all = b.concat({swapped(v), swapped(isIm ? b.neg(rest) : rest)}, axis + 1);
    return b.sliceAxis(line(all), axis, b.dim(0), b.dim(n / 2 + 1));
  };
  return {whole(z.re, false), whole(z.im, true)};
}

/// The same, of which all rows are transformed: row p - k1 of what comes of real columns is
/// conjugate to row k1.
ComplexParts SplitLines::fromRealMirrored(Value x) {
  ComplexParts z = fourierLines(b, {square(x, p, q), {}}, axis, half, inverse);
  auto whole = [&](Value v, bool isIm) {
    Value rest = b.reverse(b.sliceAxis(v, axis, b.dim(1), b.dim(p - half)), {axis});
    return b.concat({v, isIm ? b.neg(rest) : rest}, axis);
  };
  z = turned({whole(z.re, false), whole(z.im, true)}, p, false);
  z = fourierLines(b, z, axis + 1, q, inverse, scale);
  return each(
      z, [&](Value v) { return b.sliceAxis(line(swapped(v)), axis, b.dim(0), b.dim(n / 2 + 1)); });
}

/// The n numbers of which z is the first n / 2 + 1, and whose transform is real.
static ComplexParts wholeSpectrum(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t n) {
  int64_t rest = n - (n / 2 + 1);
  // What makes the first and the middle number complex does not count.
  Type i64 = b.builder().getI64Type();
  Value k = b.iota({b.dim(n / 2 + 1)}, 0, i64);
  Value counts = b.compare(prim::ComparePredicate::ne, k, 0.0);
  if (n % 2 == 0)
    counts = b.binary<prim::AndOp>(
        counts, b.compare(prim::ComparePredicate::ne, k, static_cast<double>(n / 2)));
  counts = b.broadcastInDim(counts, b.dims(z.im), {axis});
  z.im = b.select(counts, z.im, b.scalar(0, b.elem(z.im)));
  auto whole = [&](Value v, bool isIm) {
    Value mirror = b.reverse(b.sliceAxis(v, axis, b.dim(1), b.dim(rest)), {axis});
    return b.concat({v, isIm ? b.neg(mirror) : mirror}, axis);
  };
  return {whole(z.re, false), whole(z.im, true)};
}

Value SplitLines::toReal(ComplexParts z) {
  z = each(wholeSpectrum(b, z, axis, n), [&](Value v) {
    return b.sliceAxis(square(v, q, p), axis + 1, b.dim(0), b.dim(half)); // [k2, k1]
  });
  z = turned(fourierLines(b, z, axis, q, inverse), half, true); // [j2, k1]
  return line(swapped(realFourierLines(b, z, axis + 1, p, inverse, scale)));
}

bool FourierLinesPass::hasKernel(prim::FourierOp op) {
  int64_t n = op.getLength(), axis = op.getAxis();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getRe().getType()).getShape();
  if (llvm::all_of(shape.drop_front(axis + 1), [](int64_t d) { return d == 1; }) && hasMatrix(n))
    return true;
  bool needsMany = n > longestTogether;
  if (n > std::max<int64_t>(longestTogether, longestOfMany) || !hasFourierStages(n))
    return false;
  // Few lines leave lanes empty, and long ones blocks.
  int64_t lines = 1, few = needsMany ? manyLines : fewestLines;
  if (needsMany && llvm::any_of(shape, ShapedType::isDynamic))
    return false;
  for (auto [i, d] : llvm::enumerate(shape))
    if (static_cast<int64_t>(i) != axis)
      lines = ShapedType::isDynamic(d) ? few : std::min(lines * d, few);
  return lines >= few || n < kShortestFourierMatrix;
}

/// The same along the last axis.
SmallVector<Value> FourierLinesPass::alongLast(PrimBuilder &b, prim::FourierOp op) {
  int64_t last = b.rank(op.getRe()) - 1;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  std::swap(order[op.getAxis()], order[last]);
  auto turned = [&](Value v) { return v ? b.transpose(v, order) : v; };
  ComplexParts z{turned(op.getRe()), turned(op.getIm())};
  int64_t count = b.type(op.getParts()[0]).getDimSize(op.getAxis());
  ComplexParts parts = create(b, z, last, count, op.getParts().size(), op.getInverse(),
                              op.getScale().convertToDouble());
  if (op.toReal())
    return {turned(parts.re)};
  return {turned(parts.re), turned(parts.im)};
}

SmallVector<Value> FourierLinesPass::convolution(PrimBuilder &b, prim::FourierOp op) {
  int64_t axis = op.getAxis();
  ComplexParts z{op.getRe(), op.getIm()};
  if (op.toReal())
    z = wholeSpectrum(b, z, axis, op.getLength());
  ComplexParts parts =
      fourierConvolution(b, *weights, z, axis, b.type(op.getParts()[0]).getDimSize(axis),
                         op.getInverse(), op.getScale().convertToDouble());
  if (op.toReal())
    return {parts.re};
  return {parts.re, parts.im};
}

SmallVector<Value> FourierLinesPass::products(PrimBuilder &b, prim::FourierOp op) {
  int64_t rank = b.rank(op.getRe()), axis = op.getAxis(), n = op.getLength();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[axis], order[rank - 1]);
  auto turned = [&](Value v) { return v ? b.transpose(v, order) : v; };
  ComplexParts z{turned(op.getRe()), turned(op.getIm())};
  SmallVector<Value> parts;
  if (op.toReal()) {
    parts = {realFourierProducts(b, *weights, z, n, op.getInverse())};
  } else {
    Dim count = b.dim(b.type(op.getParts()[0]).getDimSize(axis));
    ComplexParts all = fourierProducts(b, *weights, z, op.getInverse(), count);
    parts = {all.re, all.im};
  }
  double scale = op.getScale().convertToDouble();
  for (Value &part : parts)
    part = turned(scale == 1 ? part : b.mul(part, scale));
  return parts;
}

/// The rows of a line as a matrix, as many as it has columns; or fewer, whose columns there is a
/// kernel for without turning them, as far as there is one for rows of so many. Back to real
/// numbers, rows come first.
int64_t FourierLinesPass::rowsOf(prim::FourierOp op) {
  int64_t n = op.getLength(), nearest = nearestFactor(n), longer = n / nearest;
  if ((op.toReal() ? longer : nearest) <= longestTogether)
    return nearest;
  for (int64_t side = longestTogether; side > 1 && n / side <= longest; --side)
    if (n % side == 0 && hasFourierStages(side) && hasMatrix(n / side))
      return op.toReal() ? n / side : side;
  return nearest;
}

SmallVector<Value> FourierLinesPass::replacement(PrimBuilder &b, prim::FourierOp op) {
  int64_t n = op.getLength();
  if (hasMatrix(n))
    return alongLast(b, op);
  bool isLong = llvm::any_of(fourierRadices(n), [](unsigned r) { return r > kLongestProduct; });
  if (isLong || (longest > 0 && n >= kShortestFourierMatrix && !hasFourierStages(n)))
    return convolution(b, op);
  if (longest == 0 || !hasFourierStages(n) || nearestFactor(n) == 1)
    return products(b, op);
  SplitLines split(b, *weights, op, rowsOf(op));
  if (op.toReal())
    return {split.toReal({op.getRe(), op.getIm()})};
  bool half = b.type(op.getParts()[0]).getDimSize(op.getAxis()) < n;
  ComplexParts parts = !half     ? split.complex({op.getRe(), op.getIm()})
                       : mirrors ? split.fromRealMirrored(op.getRe())
                                 : split.fromReal(op.getRe());
  return {parts.re, parts.im};
}

void FourierLinesPass::runOnOperation() {
  bool again = true;
  while (again) {
    SmallVector<prim::FourierOp> all;
    getOperation().walk([&](prim::FourierOp op) {
      if (!hasKernel(op))
        all.push_back(op);
    });
    again = !all.empty();
    for (prim::FourierOp op : all) {
      OpBuilder builder(op);
      PrimBuilder b(builder, op.getLoc());
      SmallVector<Value> parts = replacement(b, op);
      if (std::string fault = b.takeFault(); !fault.empty()) {
        op.emitError(fault);
        return signalPassFailure();
      }
      for (auto [result, value] : llvm::zip_equal(op.getParts(), parts))
        result.replaceAllUsesWith(value);
      op.erase();
    }
  }
}

std::unique_ptr<Pass> tcc::createFourierLinesPass(WeightTable *weights, FourierKernels has) {
  return std::make_unique<FourierLinesPass>(weights, has);
}
