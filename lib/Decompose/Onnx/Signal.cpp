//===- Signal.cpp - Fourier transforms, and signals beside each other -------===//
//
// ONNX holds complex numbers as a last axis of extent 2 (1: the imaginary part
// is 0). One-sided results are the first half of the spectrum.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Fourier.h"
#include "Decompose/Idioms/Windows.h"
#include "Decompose/Onnx/Operands.h"
#include <numbers>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// Part i of the last axis, without that axis.
Value part(PrimBuilder &b, Value x, int64_t i) {
  int64_t last = b.rank(x) - 1;
  return b.squeeze(b.sliceAxis(x, last, b.dim(i), b.dim(1)), {last});
}

/// x with `length` elements on an axis: cut, or followed by zeros.
Value fitted(PrimBuilder &b, Value x, int64_t axis, Dim length) {
  Dims low(b.rank(x), b.dim(0)), high = low;
  high[axis] = b.subDims(length, b.dim(x, axis));
  return b.pad(x, b.scalar(0, b.elem(x)), low, high);
}

/// [..., 1 or 2] as the parts of complex [...]. Where only a run knows which, the imaginary part is
/// what lies there, or 0.
ComplexParts toComplex(PrimBuilder &b, Value x) {
  int64_t last = b.rank(x) - 1;
  Dim count = b.dim(x, last);
  if (b.known(count) == 1)
    return {part(b, x, 0), Value()};
  if (!b.known(count)) {
    const char *message = "the last axis of a signal holds a real or a real and an imaginary part";
    b.check(b.compareDims(arith::CmpIPredicate::sge, count, b.dim(1)), message);
    b.check(b.compareDims(arith::CmpIPredicate::sle, count, b.dim(2)), message);
    x = fitted(b, x, last, b.dim(2));
  }
  return {part(b, x, 0), part(b, x, 1)};
}

Dim halfSpectrum(PrimBuilder &b, Dim length) {
  return b.addDims(b.floorDivDims(length, b.dim(2)), b.dim(1));
}

/// The spectrum of z as [..., 2], its first half when one-sided.
Value spectrum(NodeContext &c, ComplexParts z, int64_t axis, bool inverse, bool oneSided) {
  PrimBuilder &b = c.b;
  Dim length = b.dim(z.re, axis);
  Dim count = oneSided ? halfSpectrum(b, length) : length;
  auto [re, im] = fourier(b, c.weightTable(), z, axis, inverse, count);
  int64_t rank = b.rank(re);
  return b.concat({b.unsqueeze(re, {rank}), b.unsqueeze(im, {rank})}, rank);
}

/// The real signal whose half spectrum z is: z[k] for k <= n/2, conj z[n-k] after.
Value fromHalfSpectrum(NodeContext &c, ComplexParts z, int64_t axis, Dim length) {
  PrimBuilder &b = c.b;
  Dim half = halfSpectrum(b, length);
  Value re = fitted(b, z.re, axis, half);
  Value im = z.im ? fitted(b, z.im, axis, half) : b.full(b.dims(re), 0, b.elem(re));
  Type i64 = b.builder().getI64Type();
  int64_t rank = b.rank(re);
  Value k = b.iota({length}, 0, i64), n = scalarOf(b, length, i64);
  Value mirrored = b.compare(P::gt, b.mul(k, 2.0), n);
  Value from = b.select(mirrored, b.sub(n, k), k);
  Value sign = b.select(mirrored, b.scalar(-1, b.elem(re)), b.scalar(1, b.elem(re)));
  // The imaginary parts of the constant and of the middle do not count.
  Value edge = b.binary<prim::OrOp>(b.compare(P::eq, k, 0.0), b.compare(P::eq, b.mul(k, 2.0), n));
  sign = b.select(edge, b.scalar(0, b.elem(re)), sign);
  Value fullRe = b.take(re, from, axis);
  Value fullIm = b.mul(b.take(im, from, axis), alongAxis(b, sign, axis, rank));
  return b.unsqueeze(fourier(b, c.weightTable(), {fullRe, fullIm}, axis, true, length).re, {rank});
}

/// The transform along a known axis; null when it is out of range.
FailureOr<Value> dftAlong(NodeContext &c, int64_t axis) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  auto at = axisWithin(c, axis, b.rank(x));
  if (failed(at))
    return failure();
  bool inverse = c.intAttr("inverse", 0), oneSided = c.intAttr("onesided", 0);
  if (*at == b.rank(x) - 1)
    return c.fail("transforms the axis of real and imaginary parts");
  if (auto parts = b.known(b.dim(x, b.rank(x) - 1)); parts && *parts != 1 && *parts != 2)
    return c.fail("the last axis has " + llvm::Twine(*parts) +
                  " elements, not real and imaginary parts");
  Dim length = b.dim(x, *at);
  if (inverse && oneSided)
    length = b.mulDims(b.subDims(length, b.dim(1)), b.dim(2));
  if (c.has(1)) {
    auto given = hostInt(c, 1);
    if (failed(given))
      return failure();
    length = *given;
  }
  Type own = b.elem(c.in(0));
  if (inverse && oneSided)
    return b.cast(fromHalfSpectrum(c, toComplex(b, x), *at, length), own);
  ComplexParts z = toComplex(b, b.same(length, b.dim(x, *at)) ? x : fitted(b, x, *at, length));
  return b.cast(spectrum(c, z, *at, inverse, oneSided), own);
}

LogicalResult dft(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t rank = b.rank(c.in(0));
  if (c.version() < 20 || !c.has(2)) {
    auto result = dftAlong(c, c.version() < 20 ? c.intAttr("axis", 1) : -2);
    return failed(result) ? failure() : c.give(*result);
  }
  auto axis = hostInt(c, 2);
  if (failed(axis) || rank < 2)
    return failed(axis) ? failure() : c.fail("needs a signal axis");
  if (auto constant = b.known(*axis)) {
    auto result = dftAlong(c, *constant);
    return failed(result) ? failure() : c.give(*result);
  }
  // The axis is data: one branch for each.
  auto first = dftAlong(c, 0);
  if (failed(first))
    return failure();
  Value result = *first;
  for (int64_t i = 1; i < rank - 1; ++i) {
    auto chosen = b.branch(
        isNamedAxis(b, *axis, i, rank),
        [&] {
          auto along = dftAlong(c, i);
          return succeeded(along) ? SmallVector<Value>{*along} : SmallVector<Value>();
        },
        [&] { return SmallVector<Value>{result}; });
    if (!chosen)
      return c.fail("the axis must be a constant");
    result = (*chosen)[0];
  }
  return c.give(result);
}

/// signal [N, length, 1 or 2], frame_step, window, frame_length.
LogicalResult stft(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  if (b.rank(x) == 2)
    x = b.unsqueeze(x, {2});
  if (b.rank(x) != 3)
    return c.fail("needs a batch of signals");
  auto step = hostInt(c, 1);
  if (failed(step))
    return failure();
  Dim length = b.dim(x, 1);
  Value window;
  if (c.has(2)) {
    window = b.cast(c.in(2), b.elem(x));
    length = b.dim(window, 0);
  }
  if (c.has(3)) {
    auto given = hostInt(c, 3);
    if (failed(given))
      return failure();
    length = *given;
  }
  auto isBelow1 = [&](Dim d) { return b.known(d).value_or(1) < 1; };
  if (isBelow1(*step) || isBelow1(length))
    return c.fail("the frame step and length must be above 0");
  constexpr const char *kLonger = "a frame is longer than the signal";
  Dim have = b.dim(x, 1);
  if (b.known(length) && b.known(have) && *b.known(length) > *b.known(have))
    return c.fail(kLonger);
  b.check(b.compareDims(arith::CmpIPredicate::sle, length, have), kLonger);
  b.check(b.compareDims(arith::CmpIPredicate::sge, *step, b.dim(1)),
          "the frame step must be above 0");
  Dim frames = windowsIn(b, b.dim(x, 1), length, *step);
  Value framed = windowsByIndex(b, x, 1, frames, length, *step); // [N, frames, length, parts]
  if (window)
    framed = b.mul(framed, alongAxis(b, window, 2, 4));
  Value result = spectrum(c, toComplex(b, framed), 2, false, c.intAttr("onesided", 1));
  return c.give(b.cast(result, b.elem(c.in(0))));
}

/// w[n] = a - b cos t + c cos 2t, t from 0 around the circle; in f64, because the result may be.
LogicalResult cosineWindow(NodeContext &c, ArrayRef<double> weights) {
  PrimBuilder &b = c.b;
  auto size = hostInt(c, 0);
  Type f64 = b.builder().getF64Type();
  Type to = onnxElementType(b.context(), c.intAttr("output_datatype", 1));
  if (failed(size) || !to)
    return to ? failure() : c.fail("has an unknown element type");
  Dim count = b.nonNegative(*size) ? *size : b.maxDims(*size, b.dim(0));
  Dim period = c.intAttr("periodic", 1) ? count : b.subDims(count, b.dim(1));
  Value turn = b.div(b.iota({count}, 0, f64), scalarOf(b, period, f64));
  Value window = b.full({count}, weights[0], f64);
  for (size_t i = 1; i < weights.size(); ++i) {
    double sign = i % 2 ? -1 : 1, around = 2 * std::numbers::pi * static_cast<double>(i);
    Value wave = b.unary<prim::CosOp>(b.mul(turn, around));
    window = b.add(window, b.mul(wave, sign * weights[i]));
  }
  return c.give(b.cast(window, to));
}

LogicalResult hannWindow(NodeContext &c) { return cosineWindow(c, {0.5, 0.5}); }
LogicalResult hammingWindow(NodeContext &c) { return cosineWindow(c, {25. / 46, 21. / 46}); }
LogicalResult blackmanWindow(NodeContext &c) { return cosineWindow(c, {0.42, 0.5, 0.08}); }

/// Triangles between points that are equally far apart on the mel scale.
LogicalResult melWeightMatrix(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f64 = b.builder().getF64Type(), i64 = b.builder().getI64Type();
  Value v[5];
  for (size_t i = 0; i < 5; ++i) {
    auto given = scalarOperand(c, i);
    if (failed(given))
      return failure();
    v[i] = b.cast(*given, f64);
  }
  auto bins = hostInt(c, 0), length = hostInt(c, 1);
  Type to = onnxElementType(b.context(), c.intAttr("output_datatype", 1));
  if (failed(bins) || failed(length) || !to)
    return to ? failure() : c.fail("has an unknown element type");
  constexpr double kLn10 = 2.302585092994046;
  auto toMel = [&](Value hertz) {
    return b.mul(b.unary<prim::Log1pOp>(b.div(hertz, 700.0)), 2595 / kLn10);
  };
  Value low = toMel(v[3]), high = toMel(v[4]);
  Dim points = b.addDims(*bins, b.dim(2));
  Value step = b.div(b.sub(high, low), scalarOf(b, points, f64));
  Value mel = b.add(b.mul(b.iota({points}, 0, f64), step), low);
  Value hertz = b.mul(b.unary<prim::Expm1Op>(b.mul(mel, kLn10 / 2595)), 700.0);
  Value bin = b.unary<prim::FloorOp>(b.div(b.mul(hertz, b.add(v[1], 1.0)), v[2]));
  auto point = [&](int64_t first) { // [1, bins]
    return b.unsqueeze(b.sliceAxis(bin, 0, b.dim(first), *bins), {0});
  };
  Value left = point(0), centre = point(1), right = point(2);
  Value row = b.unsqueeze(b.cast(b.iota({halfSpectrum(b, *length)}, 0, i64), f64), {1});
  Value one = b.scalar(1, f64), zero = b.scalar(0, f64);
  auto ratio = [&](Value above, Value below) {
    return b.div(above, b.select(b.compare(P::eq, below, 0.0), one, below));
  };
  auto between = [&](Value from, Value to, P end) {
    return b.binary<prim::AndOp>(b.compare(P::ge, row, from), b.compare(end, row, to));
  };
  Value rise = b.sub(centre, left), fall = b.sub(right, centre);
  Value up = b.select(b.compare(P::eq, rise, 0.0), one, ratio(b.sub(row, left), rise));
  Value weights = b.select(between(left, centre, P::le), up, zero);
  weights = b.select(between(centre, right, P::lt), ratio(b.sub(right, row), fall), weights);
  return c.give(b.cast(weights, to));
}

/// For each element of costs [M, N] the step that the cheapest way to it ends with - along both
/// axes (0), the first (1) or the second (2) - as [M + N - 1, M], a row for each diagonal: element
/// (r, c) lies at [r + c, r], and follows from the two diagonals before.
Value lastSteps(PrimBuilder &b, Value costs) {
  Type step = b.builder().getIntegerType(32), index = b.builder().getI64Type();
  Dim zero = b.dim(0), one = b.dim(1), rows = b.dim(costs, 0);
  Dim wide = b.addDims(rows, b.dim(costs, 1)), count = b.subDims(wide, one);
  Value none = extremeOf(b, b.elem(costs), 1);
  // Rows of `wide` elements, cut into rows of one less: each begins one further to the right.
  Value flat = b.reshape(b.pad(costs, none, {zero, zero}, {zero, rows}), {b.mulDims(rows, wide)});
  Value skewed = b.reshape(b.sliceAxis(flat, 0, zero, b.mulDims(rows, count)), {rows, count});
  auto diagonal = [&](Dim d) { return b.squeeze(b.sliceAxis(skewed, 1, d, one), {1}); };
  auto above = [&](Value v) { return b.sliceAxis(b.pad(v, none, {one}, {zero}), 0, zero, rows); };
  SmallVector<Value> inits = {b.indexValue(one), diagonal(zero), b.full({rows}, none),
                              b.full({count, rows}, 2, step)};
  auto result = b.loop(
      inits, [&](ValueRange v) { return b.compareDims(arith::CmpIPredicate::slt, v[0], count); },
      [&](ValueRange v) -> std::optional<SmallVector<Value>> {
        Value both = above(v[2]), down = above(v[1]), right = v[1];
        auto least = [&](Value x, Value y, Value z) {
          return b.binary<prim::AndOp>(b.compare(P::lt, x, y), b.compare(P::lt, x, z));
        };
        Value isBoth = least(both, down, right), isDown = least(down, both, right);
        Value before = b.select(isBoth, both, b.select(isDown, down, right));
        // Whatever the costs are: from the first column there is one way.
        Value first = b.compare(P::eq, b.iota({rows}, 0, index), scalarOf(b, v[0], index));
        isDown = b.binary<prim::OrOp>(isDown, first);
        isBoth = b.binary<prim::AndOp>(isBoth, b.logicalNot(first));
        Value steps = b.select(isBoth, b.scalar(0, step),
                               b.select(isDown, b.scalar(1, step), b.scalar(2, step)));
        return SmallVector<Value>{b.indexValue(b.addDims(v[0], one)), b.add(diagonal(v[0]), before),
                                  v[1], b.insertSlice(v[3], b.unsqueeze(steps, {0}), {v[0], zero})};
      });
  return result ? (*result)[3] : Value();
}

/// The cheapest way from the first to the last of costs [M, N], which goes on along one axis or
/// both: its elements' places, [2, length], found from the end on.
LogicalResult timeWarping(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value costs = c.in(0);
  if (b.rank(costs) == 3) {
    requireSame(b, b.dim(costs, 0), b.dim(1), "the number of cost matrices");
    costs = b.reshape(costs, {b.dim(costs, 1), b.dim(costs, 2)});
  }
  if (b.rank(costs) != 2)
    return c.fail("needs costs [M, N] or [1, M, N]");
  Dim zero = b.dim(0), one = b.dim(1);
  for (int64_t axis : {0, 1})
    requireElements(b, b.dim(costs, axis), {one}, "the end of a way");
  Value steps = lastSteps(b, costs);
  if (!steps)
    return c.fail("its costs have no common type");
  Type place = b.builder().getIntegerType(32);
  Dim count = b.dim(steps, 0);
  auto put = [&](Value way, Dim row, Dim column, Dim at) {
    return b.insertSlice(way, b.fromHost({row, column}, {2, 1}, place), {zero, at});
  };
  SmallVector<Value> inits = {
      b.indexValue(b.subDims(b.dim(costs, 0), one)), b.indexValue(b.subDims(b.dim(costs, 1), one)),
      b.indexValue(b.subDims(count, one)), b.full({b.dim(2), count}, 0, place)};
  auto result = b.loop(
      inits,
      [&](ValueRange v) {
        return b.compareDims(arith::CmpIPredicate::sgt, b.addDims(v[0], v[1]), zero);
      },
      [&](ValueRange v) -> std::optional<SmallVector<Value>> {
        Value last = b.slice(steps, {b.addDims(v[0], v[1]), v[0]}, {one, one}, {1, 1});
        Dim step = b.readElements(last)[0];
        auto back = [&](Dim from, int64_t other) {
          Dim stays = b.compareDims(arith::CmpIPredicate::eq, step, b.dim(other));
          return b.indexValue(b.selectDims(stays, from, b.subDims(from, one)));
        };
        return SmallVector<Value>{back(v[0], 2), back(v[1], 1), b.indexValue(b.subDims(v[2], one)),
                                  put(v[3], v[0], v[1], v[2])};
      });
  if (!result)
    return c.fail("its costs have no common type");
  Value start = (*result)[2], way = put((*result)[3], zero, zero, start);
  return c.give(b.sliceAxis(way, 1, start, b.subDims(count, start)));
}

} // namespace

void tcc::populateOnnxSignalRules(RuleSet &rules) {
  rules.add("com.microsoft", "DynamicTimeWarping", timeWarping);
  rules.add("onnx", "DFT", dft);
  rules.add("onnx", "STFT", stft);
  rules.add("onnx", "MelWeightMatrix", melWeightMatrix);
  rules.add("onnx", "HannWindow", hannWindow);
  rules.add("onnx", "HammingWindow", hammingWindow);
  rules.add("onnx", "BlackmanWindow", blackmanWindow);
}
