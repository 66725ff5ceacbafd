//===- ShortTime.cpp - ATen's short-time Fourier transforms ----------------===//
//
// A signal in overlapping windows, each transformed on its own, and back: windows are added up
// where they lie and divided by what the squared window adds up to there.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/FourierSteps.h"
#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Windows.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::complexmath;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// The window in the middle of `length` elements, or null where it is all ones.
Value windowOf(AtenNode &a, int64_t length, Type elementType) {
  PrimBuilder &b = a.b;
  Value window = a.tensor("window");
  if (!window && !a.has("win_length"))
    return {};
  window = window ? b.cast(window, elementType)
                  : b.full({a.extent("win_length", length)}, 1, elementType);
  Dim less = b.subDims(b.dim(length), b.dim(window, 0));
  Dim low = b.floorDivDims(less, b.dim(2));
  return b.pad(window, b.scalar(0, elementType), {low}, {b.subDims(less, low)});
}

/// Transforms of windows every `hop_length`, as [..., frequencies, frames].
LogicalResult shortTime(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t length = a.integer("n_fft", 0), hop = a.integer("hop_length", length / 4);
  int64_t last = b.rank(x) - 1;
  if (last < 0 || last > 1 || length < 1 || hop < 1)
    return a.fail("needs signals, a length and a step");
  Type element = AtenNode::wide(b.elem(x));
  if (Value window = a.tensor("window"); window && isComplex(window) && !isComplex(x))
    element = ComplexType::get(element);
  bool half = a.flag("onesided", !isa<ComplexType>(element));
  if (half && isa<ComplexType>(element))
    return a.fail("of complex signals or windows there is no half of the frequencies");
  Dim frames = windowsIn(b, b.dim(x, last), b.dim(length), b.dim(hop));
  Value framed = // [..., frames, length]
      windowsByIndex(b, b.cast(x, element), last, frames, b.dim(length), b.dim(hop));
  if (Value window = windowOf(a, length, b.elem(framed)))
    framed = b.mul(framed, window);
  double scale = a.flag("normalized", false) ? 1 / std::sqrt(static_cast<double>(length)) : 1;
  Value z =
      half ? spectrum(a, framed, last + 1, scale) : transformed(a, framed, last + 1, false, scale);
  SmallVector<int64_t> order = allAxes(last + 2);
  std::swap(order[last], order[last + 1]);
  if (a.flag("return_complex", false))
    return a.give(b.transpose(z, order));
  Value re = b.transpose(realPart(b, z), order), im = b.transpose(partsOf(b, z).im, order);
  return a.give(b.concat({b.unsqueeze(re, {last + 2}), b.unsqueeze(im, {last + 2})}, last + 2));
}

/// Frames [.., length, frames] added up every `hop` elements, [.., length + hop (frames - 1)].
Value overlapped(PrimBuilder &b, Value frames, int64_t length, int64_t hop) {
  Dims dims = b.dims(frames);
  Dim span = b.addDims(b.dim(length), b.mulDims(b.subDims(dims.back(), b.dim(1)), b.dim(hop)));
  ColumnBlocks blocks{{span}, {b.dim(length)}, {hop}, {1}, {0, 0}};
  Value sum = columnsToImage(b, frames, blocks); // [N, 1, span]
  return sum ? b.squeeze(sum, {1}) : frames;
}

/// [.., frequencies, frames] back to signals, real or complex as the file says.
LogicalResult inverseShortTime(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value z = a.tensor("self");
  int64_t length = a.integer("n_fft", 0), hop = a.integer("hop_length", length / 4);
  bool batched = b.rank(z) == 3;
  if ((b.rank(z) != 2 && !batched) || length < 1 || hop < 1 || !isa<ComplexType>(b.elem(z)))
    return a.fail("needs complex spectra of signals, a length and a step");
  if (!batched)
    z = b.unsqueeze(z, {0});
  double scale = 1 / static_cast<double>(length);
  if (a.flag("normalized", false))
    scale = std::sqrt(scale);
  SmallVector<Value> parts;
  if (!isa<ComplexType>(a.own())) { // of all frequencies, too, torch takes the first half
    parts = {realSignal(a, z, 1, b.dim(length), scale)};
  } else {
    Value whole = transformed(a, z, 1, true, scale);
    parts = {realPart(b, whole), partsOf(b, whole).im};
  }
  Type t = b.elem(parts[0]);
  Value window = windowOf(a, length, t);
  if (!window)
    window = b.full({b.dim(length)}, 1, t);
  window = b.unsqueeze(window, {0, 2});
  Value square = b.broadcastTo(b.mul(window, window), {b.dim(1), b.dim(length), b.dim(z, 2)});
  Value weight = overlapped(b, square, length, hop);
  Dim span = b.dim(weight, 1), half = b.dim(a.flag("center", true) ? length / 2 : 0);
  Dim end = a.has("length") ? b.addDims(half, *a.extent("length")) : b.subDims(span, half);
  Dim have = b.subDims(b.minDims(end, span), half), missing = b.subDims(b.subDims(end, half), have);
  weight = b.sliceAxis(weight, 1, half, have);
  Value least = b.reduce(K::min, weight, {0, 1}, false);
  b.check(b.readElements(b.compare(P::gt, least, 1e-11))[0],
          "istft: the windows leave a part of the signal out");
  for (Value &part : parts) {
    part = b.sliceAxis(overlapped(b, b.mul(part, window), length, hop), 1, half, have);
    part = b.pad(b.div(part, weight), b.scalar(0, t), {b.dim(0), b.dim(0)}, {b.dim(0), missing});
    if (!batched)
      part = b.squeeze(part, {0});
  }
  return a.give(parts.size() > 1 ? joined(b, {parts[0], parts[1]}) : parts[0]);
}

/// What the length of a window counts as: one more where it is periodic.
int64_t windowSteps(AtenNode &a, int64_t length) {
  return std::max<int64_t>(length - (a.flag("periodic", true) ? 0 : 1), 1);
}

/// alpha - beta cos(2 pi k / n) + gamma cos(4 pi k / n).
LogicalResult cosineWindow(AtenNode &a, double alpha, double beta, double gamma) {
  PrimBuilder &b = a.b;
  auto length = a.integer("window_length", 0);
  if (length < 1)
    return a.fail("needs a length");
  double n = static_cast<double>(windowSteps(a, length));
  Value k = b.mul(b.iota({b.dim(length)}, 0, b.builder().getF64Type()), 2 * std::numbers::pi / n);
  Value v = b.sub(b.scalar(alpha, b.elem(k)), b.mul(b.unary<prim::CosOp>(k), beta));
  if (gamma != 0)
    v = b.add(v, b.mul(b.unary<prim::CosOp>(b.mul(k, 2.0)), gamma));
  return a.give(length == 1 ? b.full({b.dim(1)}, 1, a.own()) : v);
}
LogicalResult hann(AtenNode &a) { return cosineWindow(a, 0.5, 0.5, 0); }
LogicalResult hamming(AtenNode &a) {
  return cosineWindow(a, a.real("alpha", 0.54), a.real("beta", 0.46), 0);
}
LogicalResult blackman(AtenNode &a) { return cosineWindow(a, 0.42, 0.5, 0.08); }

/// 1 - |2 k / n - 1|.
LogicalResult bartlett(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto length = a.integer("window_length", 0);
  if (length < 1)
    return a.fail("needs a length");
  double n = static_cast<double>(windowSteps(a, length));
  Value k = b.mul(b.iota({b.dim(length)}, 0, b.builder().getF64Type()), 2 / n);
  Value v = b.sub(b.scalar(1, b.elem(k)), b.abs(b.sub(k, 1.0)));
  return a.give(length == 1 ? b.full({b.dim(1)}, 1, a.own()) : v);
}

/// I0(beta sqrt(1 - (2 k / n - 1)^2)) / I0(beta).
LogicalResult kaiser(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto length = a.integer("window_length", 0);
  double beta = a.real("beta", 12);
  if (length < 1)
    return a.fail("needs a length");
  double n = static_cast<double>(windowSteps(a, length));
  Type f64 = b.builder().getF64Type();
  Value k = b.sub(b.mul(b.iota({b.dim(length)}, 0, f64), 2 / n), 1.0);
  Value height = b.maximum(b.sub(b.scalar(1, f64), b.mul(k, k)), 0.0);
  Value v = b.unary<prim::BesselI0Op>(b.mul(b.sqrt(height), beta));
  v = b.div(v, b.unary<prim::BesselI0Op>(b.scalar(beta, f64)));
  return a.give(length == 1 ? b.full({b.dim(1)}, 1, a.own()) : v);
}

} // namespace

void tcc::populateAtenShortTimeRules(RuleSet &rules) {
  addRules(rules,
           {{"stft", "default", "self", shortTime},
            {"istft", "default", "self", inverseShortTime},
            {"hann_window", "default periodic", "", hann},
            {"hamming_window", "default periodic periodic_alpha periodic_alpha_beta", "", hamming},
            {"blackman_window", "default periodic", "", blackman},
            {"bartlett_window", "default periodic", "", bartlett},
            {"kaiser_window", "default periodic beta", "", kaiser}});
}
