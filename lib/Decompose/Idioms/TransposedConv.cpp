//===- TransposedConv.cpp - Transposed convolutions as plain ones ----------===//
//
// A transposed convolution of stride s slides over x with s - 1 zeros put between
// its elements, so that only one tap in s (along each axis) ever meets a value.
// Result position s q + r meets the taps k = s u + (low mod s) - r alone, at x
// position q + u - floor(low / s), whatever q is: the phase r has a short kernel
// of its own. The phases become output channels of one plain convolution with
//
//   w'[r, u] = w[s u + (low mod s) - r]      (0 outside of w)
//
// which is a pad, a reshape and a reversal of the weights, folded at compile
// time; its result is then interleaved: [N, r, Q] -> [N, Q, r] -> [N, Q s]. A bias comes after
// that, one number for a line whatever phases it has. Where sums become a narrower type, that and
// the bias come before it, one for each phase: what is interleaved has half the bytes. Which taps
// each phase has is said of the convolution (Dialect/Prim/PresentTaps.h): of a kernel of 3 with
// stride 2, 9 of 16.
//
// All phases share one window, and where low mod s is not s - 1 it may be longer than any phase
// needs: a kernel of 4 with stride 2 and padding 1 would have 3 taps a phase, of which each uses 2.
// The result is then computed from up to s - 1 positions before its first one, which are cut off.
//
// A dilated kernel is a longer one with zeros between its taps, which the phases do not have
// either.
//
// A kernel shorter than the stride has phases without any tap. They are zeros put between the
// others, before a bias, and not computed; where the bias comes first, if they are half of all.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/TransposedConv.h"
#include "Decompose/Idioms/Axes.h"
#include "tcc/Dialect/Prim/PresentTaps.h"

using namespace mlir;
using namespace tcc;

namespace {

int64_t floorDiv(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
int64_t ceilDiv(int64_t x, int64_t y) { return -floorDiv(-x, y); }

/// One spatial axis.
struct Phases {
  int64_t stride, padLow, padHigh; ///< of the weights
  int64_t taps;                    ///< of each phase
  int64_t low, high;               ///< of the plain convolution
  int64_t rest;                    ///< the phases have stride * extent + rest elements
  int64_t cut = 0;                 ///< of which the first are not the result's
  int64_t first = 0, present;      ///< phases that have taps

  Phases(int64_t stride, int64_t kernel, int64_t before, int64_t after)
      : stride(stride), present(stride) {
    low = floorDiv(before, stride);
    padLow = stride - 1 - (before - low * stride);
    taps = ceilDiv(kernel, stride);
    if (taps < ceilDiv(kernel + padLow, stride)) {
      cut = padLow;
      padLow = 0;
      before += cut;
    } else {
      taps = ceilDiv(kernel + padLow, stride);
    }
    padHigh = stride * taps - kernel - padLow;
    rest = 2 - stride + before + after - kernel;
    high = ceilDiv(rest, stride) + taps - 1 - low;
  }

  /// Of a kernel shorter than the stride the phases that have taps are `kernel` in a row.
  void leaveOut(int64_t kernel) {
    first = kernel < stride ? padHigh : 0;
    present = std::min(kernel, stride);
  }
};

/// Leaves phases without taps out, if that is worth storing the others by themselves: `always`, or
/// where those are half of all and more.
void leaveOutAbsent(MutableArrayRef<Phases> axes, ArrayRef<int64_t> kernel, bool always) {
  int64_t all = 1, present = 1;
  for (auto [axis, extent] : llvm::zip_equal(axes, kernel)) {
    all *= axis.stride;
    present *= std::min(axis.stride, extent);
  }
  if (!always && 2 * present > all)
    return;
  for (auto [axis, extent] : llvm::zip_equal(axes, kernel))
    axis.leaveOut(extent);
}

/// Of each phase, the taps that are the kernel's, which lie `apart`, a bit each; empty if all of
/// all phases are.
SmallVector<int64_t> tapsOfPhases(ArrayRef<Phases> axes, ArrayRef<int64_t> kernel,
                                  ArrayRef<int64_t> apart) {
  constexpr int64_t kMostTaps = 64;
  int64_t taps = 1, phases = 1;
  for (const Phases &axis : axes) {
    taps *= axis.taps;
    phases *= axis.present;
  }
  if (taps > kMostTaps)
    return {};
  SmallVector<int64_t> masks(phases);
  bool all = true;
  for (int64_t phase = 0; phase < phases; ++phase)
    for (int64_t tap = 0; tap < taps; ++tap) {
      bool present = true;
      int64_t r = phase, u = tap;
      for (int64_t i = axes.size(); i-- > 0; r /= axes[i].present, u /= axes[i].taps) {
        int64_t s = axes[i].stride, shift = r % axes[i].present + axes[i].first;
        int64_t at = u % axes[i].taps * s + s - 1 - shift - axes[i].padLow;
        present &= at >= 0 && at < kernel[i] && at % apart[i] == 0;
      }
      masks[phase] |= static_cast<int64_t>(present) << tap;
      all &= present;
    }
  return all ? SmallVector<int64_t>() : masks;
}

/// [M, C / g, K...] -> [g * present... * (M / g), C / g, taps...].
Value phaseWeights(PrimBuilder &b, Value w, ArrayRef<Phases> axes, int64_t groups) {
  int64_t n = axes.size();
  Dims low(2, b.dim(0)), high(2, b.dim(0));
  Dims split = {b.dim(groups), b.floorDivDims(b.dim(w, 0), b.dim(groups)), b.dim(w, 1)};
  SmallVector<int64_t> phaseAxes, tapAxes;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low.push_back(b.dim(axis.padLow));
    high.push_back(b.dim(axis.padHigh));
    split.append({b.dim(axis.taps), b.dim(axis.stride)});
    tapAxes.push_back(3 + 2 * i);
    phaseAxes.push_back(4 + 2 * i);
  }
  Dims merged = {b.dim(w, 0), b.dim(w, 1)};
  for (const Phases &axis : axes) {
    merged[0] = b.mulDims(merged[0], b.dim(axis.present));
    merged.push_back(b.dim(axis.taps));
  }
  w = b.pad(w, b.scalar(0, b.elem(w)), low, high, SmallVector<int64_t>(n + 2, 0));
  w = b.reverse(b.reshape(w, split), phaseAxes);
  for (auto [axis, at] : llvm::zip(axes, phaseAxes))
    if (axis.present < axis.stride)
      w = b.sliceAxis(w, at, b.dim(axis.first), b.dim(axis.present));
  SmallVector<int64_t> order = {0};
  order.append(phaseAxes);
  order.append({1, 2});
  order.append(tapAxes);
  return b.reshape(b.transpose(w, order), merged);
}

/// Sums [N, M, Q...] with a bias and narrowed.
Value finish(PrimBuilder &b, Value y, const ConvEnd &end) {
  if (end.bias)
    y = b.add(y, alongAxis(b, end.bias, 1, b.rank(y)));
  return end.element ? b.cast(y, end.element) : y;
}

/// [N, g * present... * (M / g), Q...] -> [N, g * s... * (M / g), Q...].
Value withAbsentPhases(PrimBuilder &b, Value y, ArrayRef<Phases> axes, Dim channels,
                       int64_t groups) {
  if (llvm::all_of(axes, [](const Phases &axis) { return axis.present == axis.stride; }))
    return y;
  Dims all = b.dims(y), split = {all[0], b.dim(groups)};
  for (const Phases &axis : axes)
    split.push_back(b.dim(axis.present));
  split.push_back(b.floorDivDims(channels, b.dim(groups)));
  split.append(all.begin() + 2, all.end());
  Dims low(split.size(), b.dim(0)), high = low;
  all[1] = channels;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[2 + i] = b.dim(axis.first);
    high[2 + i] = b.dim(axis.stride - axis.first - axis.present);
    all[1] = b.mulDims(all[1], b.dim(axis.stride));
  }
  return b.reshape(b.pad(b.reshape(y, split), b.scalar(0, b.elem(y)), low, high), all);
}

/// [M] -> [g * s... * (M / g)], as the phases are channels.
Value phaseBias(PrimBuilder &b, Value bias, ArrayRef<Phases> axes, int64_t groups) {
  Dim ofGroup = b.floorDivDims(b.dim(bias, 0), b.dim(groups)), all = b.dim(bias, 0);
  Dims split = {b.dim(groups)}, repeated = split;
  split.append(axes.size(), b.dim(1));
  for (const Phases &axis : axes) {
    repeated.push_back(b.dim(axis.stride));
    all = b.mulDims(all, b.dim(axis.stride));
  }
  split.push_back(ofGroup);
  repeated.push_back(ofGroup);
  return b.reshape(b.broadcastTo(b.reshape(bias, split), repeated), {all});
}

/// [N, g * s... * (M / g), Q...] -> [N, M, (Q s)...], or [N, g, M / g, (Q s)...] if that `splits`.
Value interleave(PrimBuilder &b, Value y, ArrayRef<Phases> axes, Dim channels, int64_t groups,
                 bool splits) {
  int64_t n = axes.size();
  Dim ofGroup = b.floorDivDims(channels, b.dim(groups));
  Dims have = b.dims(y), split = {have[0], b.dim(groups)}, merged = {have[0]};
  if (splits)
    merged.append({b.dim(groups), ofGroup});
  else
    merged.push_back(channels);
  for (const Phases &axis : axes)
    split.push_back(b.dim(axis.stride));
  split.push_back(ofGroup);
  split.append(have.begin() + 2, have.end());
  SmallVector<int64_t> order = {0, 1, 2 + n};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    order.append({static_cast<int64_t>(3 + n + i), static_cast<int64_t>(2 + i)});
    merged.push_back(b.mulDims(have[2 + i], b.dim(axis.stride)));
  }
  return b.reshape(b.transpose(b.reshape(y, split), order), merged);
}

/// [M] as what is added to [N, g, M / g, ...].
Value biasOfGroups(PrimBuilder &b, Value bias, int64_t groups, int64_t rank) {
  Dims shape(rank, b.dim(1));
  shape[1] = b.dim(groups);
  shape[2] = b.floorDivDims(b.dim(bias, 0), b.dim(groups));
  return b.reshape(bias, shape);
}

} // namespace

std::optional<Value> tcc::convByPhases(PrimBuilder &b, Value x, Value w,
                                       const PrimBuilder::Window &window, int64_t groups,
                                       Type elementType, const ConvEnd &end) {
  auto allOnes = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t v) { return v == 1; });
  };
  if (!allOnes(window.strides) || groups < 1 || !PrimBuilder::type(w).hasStaticShape() ||
      PrimBuilder::type(w).getDimSize(0) % groups != 0)
    return std::nullopt;
  SmallVector<Phases> axes;
  SmallVector<int64_t> kernel(PrimBuilder::type(w).getShape().drop_front(2)), apart(kernel.size());
  PrimBuilder::Window plain = window;
  SmallVector<int64_t> between(2, 0);
  for (size_t i = 0; i < window.strides.size(); ++i) {
    int64_t stride = window.inputDilation[i], dilation = window.dilations[i];
    int64_t span = (kernel[i] - 1) * dilation + 1;
    Phases axis(stride, span, window.low[i], window.high[i]);
    if (axis.low < 0 || axis.high < 0)
      return std::nullopt;
    plain.inputDilation[i] = 1;
    plain.low[i] = axis.low;
    plain.high[i] = axis.high;
    apart[i] = stride == 1 ? 1 : dilation;
    between.push_back(apart[i] - 1);
    if (stride == 1)
      axis.taps = kernel[i]; // one phase, as dilated as the kernel
    else
      std::tie(kernel[i], plain.dilations[i]) = std::pair(span, 1);
    axes.push_back(axis);
  }
  if (!allOnes(apart)) {
    Dims none(between.size(), b.dim(0));
    w = b.pad(w, b.scalar(0, b.elem(w)), none, none, between);
  }
  bool narrows = end.element && end.element != elementType;
  leaveOutAbsent(axes, kernel, /*always=*/!narrows);
  Dim channels = b.dim(w, 0);
  Value y = b.conv(x, phaseWeights(b, w, axes, groups), plain, groups, elementType);
  auto conv = y.getDefiningOp<prim::ConvOp>();
  SmallVector<int64_t> taps = tapsOfPhases(axes, kernel, apart);
  if (conv && !taps.empty() && isa<FloatType>(b.elem(w)))
    prim::setPresentTaps(conv, taps);
  ConvEnd ofPhases = end, ofResult;
  if (!narrows)
    std::swap(ofPhases, ofResult);
  if (ofPhases.bias)
    ofPhases.bias = phaseBias(b, ofPhases.bias, axes, groups);
  y = withAbsentPhases(b, y, axes, channels, groups);
  bool splits = groups > 1 && PrimBuilder::type(w).getDimSize(0) > groups;
  y = interleave(b, finish(b, y, ofPhases), axes, channels, groups, splits);
  int64_t spatial = splits ? 3 : 2;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Dim extent =
        b.addDims(b.mulDims(b.dim(x, i + 2), b.dim(axis.stride)), b.dim(axis.rest - axis.cut));
    if (axis.cut != 0 || axis.rest % axis.stride != 0)
      y = b.sliceAxis(y, i + spatial, b.dim(axis.cut), extent);
  }
  if (!splits)
    return finish(b, y, ofResult);
  // Channels of a group lie beside each other, those of all do not: they are joined last.
  if (ofResult.bias)
    y = b.add(y, biasOfGroups(b, ofResult.bias, groups, b.rank(y)));
  Dims all = b.dims(y);
  all.erase(all.begin() + 1);
  all[1] = channels;
  return b.reshape(y, all);
}

Value tcc::widenedConv(PrimBuilder &b, Value x, Value w, const PrimBuilder::Window &window,
                       int64_t groups, Type elementType, const ConvEnd &end) {
  if (llvm::any_of(window.inputDilation, [](int64_t d) { return d != 1; }))
    if (auto result = convByPhases(b, x, w, window, groups, elementType, end))
      return *result;
  return finish(b, b.conv(x, w, window, groups, elementType), end);
}

Value tcc::transposedWeight(PrimBuilder &b, Value w, int64_t groups) {
  Dims d = b.dims(w);
  int64_t rank = d.size();
  if (groups == 1) {
    SmallVector<int64_t> order = allAxes(rank);
    std::swap(order[0], order[1]);
    w = b.transpose(w, order);
  } else {
    Dim g = b.dim(groups), inner = b.floorDivDims(d[0], g);
    Dims split = {g, inner, d[1]}, merged = {b.mulDims(g, d[1]), inner};
    split.append(d.begin() + 2, d.end());
    merged.append(d.begin() + 2, d.end());
    SmallVector<int64_t> order = allAxes(rank + 1);
    std::swap(order[1], order[2]);
    w = b.reshape(b.transpose(b.reshape(w, split), order), merged);
  }
  return b.reverse(w, axesFrom(2, rank));
}
