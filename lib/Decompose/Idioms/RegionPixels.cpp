//===- RegionPixels.cpp - What regions of images cover --------------------===//
//
// The channels of a pixel are a row, and a bin is a run of rows: as many as that bin covers, so
// that a large region costs small ones nothing. Samples that lie closer than pixels share those:
// what a pixel weighs is the product of what its line and its column weigh, each the sum over
// samples. All runs are one list. Which line of a bin an entry lies on is counted along the list;
// line and position give pixel and weight.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/RegionPixels.h"
#include "Decompose/Idioms/Axes.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;
using S = prim::ScatterKind;

namespace {

constexpr int64_t kMostOfWord = std::numeric_limits<int32_t>::max();

/// The type in which pixels are counted.
Type placeType(PrimBuilder &b, const Dims &x) {
  auto pixels = b.known(b.mulDims(x[0], b.mulDims(x[2], x[3])));
  return pixels && *pixels <= kMostOfWord ? b.builder().getI32Type() : b.builder().getI64Type();
}

Value scatterAdd(PrimBuilder &b, Value into, Value index, Value what, int64_t axis) {
  return prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), S::add, into,
                                      index, what, axis);
}

Value sumBefore(PrimBuilder &b, Value counts) {
  return prim::CumulativeOp::create(b.builder(), b.location(), counts.getType(), K::sum, counts, 0,
                                    /*exclusive=*/true, /*reverse=*/false);
}

/// Of `total` entries that are runs one after the other, the run of each. Empty runs begin where
/// those behind them do.
Value runOfEach(PrimBuilder &b, Value begins, Dim total) {
  Type t = b.elem(begins);
  // One more, at which empty runs at the end begin.
  Value none = b.full({b.addDims(total, b.dim(1))}, 0, t);
  Value marks = scatterAdd(b, none, begins, b.full({b.dim(begins, 0)}, 1, t), 0);
  Value run = prim::CumulativeOp::create(b.builder(), b.location(), marks.getType(), K::sum, marks,
                                         0, /*exclusive=*/false, /*reverse=*/false);
  return b.sub(b.sliceAxis(run, 0, b.dim(0), total), 1.0);
}

/// [N, C, H, W] as the channels of each pixel: [N * H * W, C].
Value rowsOfPixels(PrimBuilder &b, Value x) {
  Dims d = b.dims(x);
  Dim pixels = b.mulDims(d[0], b.mulDims(d[2], d[3]));
  return b.reshape(b.transpose(x, {0, 2, 3, 1}), {pixels, d[1]});
}

/// What the first `most` elements that each bin covers weigh: [R * bins * most].
Value weightsOf(PrimBuilder &b, const Band &band, Dim most) {
  Type i64 = b.builder().getI64Type();
  Dims d = b.dims(band.taps[0].position);
  Dim lines = b.mulDims(d[0], d[1]);
  Value sums = b.full({lines, most}, 0, b.elem(band.taps[0].weight));
  Value last = scalarOf(b, b.subDims(most, b.dim(1)), i64);
  for (const SampleTap &tap : band.taps) {
    Value place = b.sub(tap.position, b.unsqueeze(band.first, {2}));
    place = b.minimum(b.maximum(place, 0.0), last);
    sums = scatterAdd(b, sums, b.reshape(place, {lines, d[2]}),
                      b.reshape(tap.weight, {lines, d[2]}), 1);
  }
  return b.reshape(sums, {b.mulDims(lines, most)});
}

/// [R * height * width, C] as [R, C, height, width].
Value ofRegions(PrimBuilder &b, Value v, Dim regions, Dim height, Dim width) {
  Dim channels = b.dim(v, 1);
  v = b.transpose(b.reshape(v, {regions, b.mulDims(height, width), channels}), {0, 2, 1});
  return b.reshape(v, {regions, channels, height, width});
}

} // namespace

Band tcc::bandOfSamples(PrimBuilder &b, const BinSamples &s, Dim extent) {
  Type i64 = b.builder().getI64Type();
  Dims apart = {b.dim(s.position, 0), s.bins, s.grid};
  Value zero = b.scalar(0, b.elem(s.position)), sees = zero;
  Band band;
  for (SampleTap tap : linearTaps(b, b.reshape(s.position, apart), extent, false)) {
    if (s.used)
      tap.weight = b.select(b.reshape(s.used, apart), tap.weight, zero);
    sees = b.add(sees, tap.weight);
    band.taps.push_back(tap);
  }
  sees = b.compare(P::gt, sees, 0.0);
  Value low = b.select(sees, band.taps[0].position, scalarOf(b, extent, i64));
  Value high = b.select(sees, band.taps[1].position, b.scalar(-1, i64));
  band.first = b.reduce(K::min, low, {2}, false);
  Value last = b.reduce(K::max, high, {2}, false);
  band.count = b.maximum(b.add(b.sub(last, band.first), 1.0), 0.0);
  return band;
}

Value tcc::combinePixels(PrimBuilder &b, Value x, Value images, const Band &y, const Band &w,
                         prim::ScatterKind kind) {
  Type i64 = b.builder().getI64Type();
  Dims d = b.dims(x);
  Type t = placeType(b, d);
  Dims bins = {b.dim(y.first, 0), b.dim(y.first, 1), b.dim(w.first, 1)};
  Dim all = b.productOf(bins);
  auto ofBin = [&](Value v, ArrayRef<int64_t> missing) {
    return b.reshape(b.broadcastTo(b.unsqueeze(v, missing), bins), {all});
  };
  Value rows = ofBin(y.count, {2}), columns = ofBin(w.count, {1});
  Value lines = b.select(b.compare(P::gt, columns, 0.0), rows, b.scalar(0, i64));
  Value area = b.mul(lines, columns);
  auto number = [&](K of, Value v) { return b.reshape(b.reduce(of, v, {0}, false), {b.dim(1)}); };
  Dims have = b.readElements(
      b.concat({number(K::sum, lines), number(K::sum, area), b.maximum(number(K::max, rows), 1.0),
                b.maximum(number(K::max, columns), 1.0)},
               0));
  if (t != i64)
    b.check(b.compareDims(arith::CmpIPredicate::slt, have[1], b.dim(kMostOfWord)),
            "regions of images cover more pixels than 32 bits count");
  Value firstLine = b.cast(sumBefore(b, lines), t), begins = b.cast(sumBefore(b, area), t);
  // For each line of each bin.
  Value bin = runOfEach(b, firstLine, have[0]);
  auto ofLine = [&](Value v) { return b.take(b.cast(v, t), bin, 0); };
  auto counted = [&](Dim n) { return b.iota({n}, 0, t); };
  Value k = b.sub(counted(have[0]), ofLine(firstLine));
  Value start = b.add(ofLine(begins), b.mul(k, ofLine(columns)));
  Value line = b.add(b.mul(ofLine(ofBin(images, {1, 2})), scalarOf(b, d[2], t)),
                     b.add(ofLine(ofBin(y.first, {2})), k));
  Value pixel = b.add(b.mul(line, scalarOf(b, d[3], t)), ofLine(ofBin(w.first, {1})));
  // For each pixel of each line.
  Value lineOf = runOfEach(b, start, have[1]), at = counted(have[1]);
  Value place = b.add(at, b.take(b.sub(pixel, start), lineOf, 0));
  Value updates = b.take(rowsOfPixels(b, x), place, 0);
  if (!y.taps.empty()) {
    auto whichOfAxis = [&](Dim count, int64_t missing) { // of the bins of all regions
      Value region = b.iota({bins[0], count}, 0, t);
      return ofBin(b.add(b.mul(region, scalarOf(b, count, t)), b.iota({bins[0], count}, 1, t)),
                   {missing});
    };
    Value inRows = b.add(b.mul(ofLine(whichOfAxis(bins[1], 2)), scalarOf(b, have[2], t)), k);
    Value inColumns = b.mul(ofLine(whichOfAxis(bins[2], 1)), scalarOf(b, have[3], t));
    Value ofRow = b.take(weightsOf(b, y, have[2]), inRows, 0);
    Value ofColumn =
        b.take(weightsOf(b, w, have[3]), b.add(at, b.take(b.sub(inColumns, start), lineOf, 0)), 0);
    Value weight = b.mul(b.take(ofRow, lineOf, 0), ofColumn);
    updates = b.mul(updates, b.unsqueeze(weight, {1}));
  }
  double neutral = kind == S::add ? 0 : -std::numeric_limits<double>::infinity();
  Value nothing = b.full({all, d[1]}, neutral, b.elem(x));
  Value sums = prim::ScatterRunsOp::create(b.builder(), b.location(), nothing.getType(), kind,
                                           nothing, begins, updates);
  return ofRegions(b, sums, bins[0], bins[1], bins[2]);
}

Value tcc::combineSamples(PrimBuilder &b, Value x, Value images, const BinSamples &y,
                          const BinSamples &w, K kind) {
  Dims d = b.dims(x);
  Type t = placeType(b, d);
  Dim regions = b.dim(y.position, 0), one = b.dim(1);
  Dims all = {regions, y.bins, w.bins, y.grid, w.grid}; // samples of a bin last
  Dim count = b.productOf(all);
  auto flat = [&](Value v) { return b.reshape(b.broadcastTo(v, all), {count}); };
  auto ofRows = [&](Value v) { return b.reshape(v, {regions, y.bins, one, y.grid, one}); };
  auto ofColumns = [&](Value v) { return b.reshape(v, {regions, one, w.bins, one, w.grid}); };
  Value pixels = rowsOfPixels(b, x), sum;
  Value firstLine = b.mul(b.unsqueeze(b.cast(images, t), {1, 2, 3, 4}), scalarOf(b, d[2], t));
  for (const SampleTap &row : linearTaps(b, y.position, d[2], false))
    for (const SampleTap &column : linearTaps(b, w.position, d[3], false)) {
      Value line = b.mul(b.add(firstLine, ofRows(b.cast(row.position, t))), scalarOf(b, d[3], t));
      Value place = flat(b.add(line, ofColumns(b.cast(column.position, t))));
      Value weight = flat(b.mul(ofRows(row.weight), ofColumns(column.weight)));
      Value part = b.mul(b.take(pixels, place, 0), b.unsqueeze(weight, {1}));
      sum = !sum ? part : kind == K::sum ? b.add(sum, part) : b.maximum(sum, part);
    }
  if (y.used) {
    double neutral = kind == K::sum ? 0 : -std::numeric_limits<double>::infinity();
    Value used = flat(b.binary<prim::AndOp>(ofRows(y.used), ofColumns(w.used)));
    sum = b.select(b.unsqueeze(used, {1}), sum, b.scalar(neutral, b.elem(x)));
  }
  Dim bins = b.productOf(ArrayRef(all).take_front(3)), ofBin = b.mulDims(y.grid, w.grid);
  sum = b.reduce(kind, b.reshape(sum, {bins, ofBin, d[1]}), {1}, false);
  return ofRegions(b, sum, regions, y.bins, w.bins);
}
