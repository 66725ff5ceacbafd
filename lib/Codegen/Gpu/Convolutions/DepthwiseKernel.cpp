//===- DepthwiseKernel.cpp - Convolutions of single channels --------------===//
//
// A filter for each channel leaves matrix units nothing to share: what counts is how often an
// element is read and converted for how many multiplications. A thread computes a strip of
// neighbouring places along the last spatial axis, of a few neighbouring channels: for each row
// of the window it reads every element under the strip and every tap once, and multiplies what
// they have in common. Neighbouring threads have neighbouring channels, so that their reads
// join.
//
// Of planes, strips of a channel lie beside each other instead, as its lines do.
//
// Rows of the window that lie in the padding are left out of the loop; along the strip, what
// lies in the padding is read elsewhere and counts as zero.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <map>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

std::pair<unsigned, unsigned> device::depthwiseStrip(prim::ConvOp conv, unsigned lanes,
                                                     const GpuArch &arch) {
  constexpr unsigned kMostLanes = 4, kMostPlaces = 8, kFew = 2;
  constexpr int64_t kThreads = 256; // of a multiprocessor that is busy
  auto result = tensorType(conv.getResult());
  unsigned places = kMostPlaces;
  lanes = std::min(lanes, kMostLanes);
  if (!conv.getChannelsLast())
    lanes = 1;
  int64_t row = result.getShape()[result.getRank() - (conv.getChannelsLast() ? 2 : 1)];
  while (!ShapedType::isDynamic(row) && places > 1 && int64_t(places) >= 2 * row)
    places /= 2;
  if (!result.hasStaticShape())
    return {places, lanes};
  int64_t points = result.getNumElements() / (arch.multiprocessors * kThreads);
  while (places > kFew && points < int64_t(places) * lanes)
    places /= 2;
  while (lanes > kFew && points < int64_t(places) * lanes)
    lanes /= 2;
  while (places > 1 && points < int64_t(places) * lanes)
    places /= 2;
  // Few points wait for what they read, one element after the other: rather more threads do.
  if (places == 1)
    lanes = 1;
  return {places, lanes};
}

namespace {

class DepthwiseEmitter {
public:
  DepthwiseEmitter(device::KernelFrame &f, prim::ConvOp conv)
      : f(f), b(f.b), conv(conv), strip(f.schedule.getRows()), lanes(f.schedule.getLanes()),
        last(conv.getStrides().size() - 1), first(conv.getChannelsLast() ? 1 : 2),
        channel(conv.getChannelsLast() ? last + 2 : 1), x(tensorType(conv.getX()).getElementType()),
        w(tensorType(conv.getW()).getElementType()),
        sum(sumType(tensorType(conv.getResult()).getElementType())) {}
  void run();

private:
  Value vectorOf(Value v) {
    return lanes > 1 && !isa<VectorType>(v.getType()) ? f.e.splat(v, lanes) : v;
  }
  Value ult(Value a, Value c) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, a, c); }
  /// Where the window of place `at` begins along an axis.
  Value origin(Value at, size_t axis) {
    return f.e.subIndex(f.e.mulIndex(at, f.e.index(conv.getStrides()[axis])),
                        f.e.index(conv.getLow()[axis]));
  }
  SmallVector<Value> overRows(SmallVector<Value> taps, Coords input, Value inside,
                              SmallVector<Value> sums);
  SmallVector<Value> alongStrip(ArrayRef<Value> taps, const Coords &input, Value inside,
                                ArrayRef<Value> sums);
  Value element(const Coords &at, Value inside);
  void store(ArrayRef<Value> sums);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ConvOp conv;
  unsigned strip, lanes;
  size_t last;  ///< the spatial axis along which a strip lies
  size_t first; ///< of the result's spatial axes, and its axis of channels
  size_t channel;
  Type x, w, sum;
  Coords point; ///< of the strip's first result
};

} // namespace

/// An element of the input as it is multiplied: zero unless `inside` (null: it is).
Value DepthwiseEmitter::element(const Coords &at, Value inside) {
  Value v = f.e.evalVector(conv.getX(), at);
  if (!v) {
    f.failed = true;
    return {};
  }
  v = emitCast(b, vectorOf(v), x, sum, true);
  if (!inside)
    return v;
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
  return arith::SelectOp::create(b, inside, v, zero);
}

/// The sums with one row of the window added; `taps` and `input` say which row.
SmallVector<Value> DepthwiseEmitter::alongStrip(ArrayRef<Value> taps, const Coords &input,
                                                Value inside, ArrayRef<Value> sums) {
  int64_t window = tensorType(conv.getW()).getShape().back();
  int64_t stride = conv.getStrides()[last], dilation = conv.getDilations()[last];
  Value begin = origin(point[first + last].base, last);
  Value extent = f.e.extent(conv.getX(), first + last);
  std::map<int64_t, Value> elements; // by their distance from the strip's beginning
  SmallVector<Value> next(sums);
  for (int64_t tap = 0; tap < window; ++tap) {
    SmallVector<Value> k(taps);
    k.insert(k.begin(), f.e.index(0));
    k.push_back(f.e.index(tap));
    Value weight = f.e.evalConvWeight(conv, point, k);
    if (!weight) {
      f.failed = true;
      return next;
    }
    weight = emitCast(b, vectorOf(weight), w, sum, true);
    for (unsigned place = 0; place < strip; ++place) {
      int64_t distance = int64_t(place) * stride + tap * dilation;
      Value &v = elements[distance];
      if (!v) {
        Coords at(input);
        Value column = f.e.addIndex(begin, f.e.index(distance)), here = ult(column, extent);
        at.push_back(Coord::uniform(arith::SelectOp::create(b, here, column, f.e.index(0))));
        if (conv.getChannelsLast())
          at.push_back(point.back());
        v = element(at, inside ? Value(arith::AndIOp::create(b, inside, here)) : here);
        if (!v)
          return next;
      }
      Value product = emitCombine(b, prim::ReduceKind::prod, sum, v, weight);
      next[place] = emitCombine(b, prim::ReduceKind::sum, sum, product, next[place]);
    }
  }
  return next;
}

/// The sums with all rows of the window added whose first taps are `taps`.
SmallVector<Value> DepthwiseEmitter::overRows(SmallVector<Value> taps, Coords input, Value inside,
                                              SmallVector<Value> sums) {
  size_t axis = taps.size();
  if (axis == last)
    return alongStrip(taps, input, inside, sums);
  Value begin = origin(point[first + axis].base, axis);
  Value extent = f.e.extent(conv.getX(), first + axis);
  Value from = f.e.index(0), end = f.e.extent(conv.getW(), 2 + axis);
  bool dense = conv.getDilations()[axis] == 1;
  if (dense) {
    from = arith::MaxSIOp::create(b, from, f.e.subIndex(f.e.index(0), begin));
    end = arith::MinSIOp::create(b, end, f.e.subIndex(extent, begin));
  }
  auto loop = scf::ForOp::create(b, from, end, f.e.index(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    Value tap = loop.getInductionVar();
    Value row = f.e.addIndex(begin, f.e.mulIndex(tap, f.e.index(conv.getDilations()[axis])));
    Value within = inside;
    if (!dense) {
      Value here = ult(row, extent);
      within = inside ? Value(arith::AndIOp::create(b, inside, here)) : here;
      row = arith::SelectOp::create(b, here, row, f.e.index(0));
    }
    taps.push_back(tap);
    input.push_back(Coord::uniform(row));
    return overRows(taps, input, within, SmallVector<Value>(loop.getRegionIterArgs()));
  });
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

void DepthwiseEmitter::store(ArrayRef<Value> sums) {
  Value extent = f.e.extent(conv.getResult(), first + last);
  for (unsigned place = 0; place < strip; ++place) {
    Coords at(point);
    Coord &column = at[first + last];
    column.base = f.e.addIndex(column.base, f.e.index(place));
    f.when(f.less(column.base, extent), [&] {
      f.e.bindProvider(conv.getResult(), [&](ArrayRef<Coord>) { return sums[place]; });
      for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
        Value v = f.e.eval(value, at);
        if (!v) {
          f.failed = true;
          return;
        }
        f.e.store(memory, at, v);
      }
    });
    f.e.forget();
  }
}

void DepthwiseEmitter::run() {
  f.e.setLanes(lanes);
  SmallVector<Value> units;
  for (unsigned axis = 0; axis < last + 3; ++axis)
    units.push_back(f.e.extent(conv.getResult(), axis));
  Value &places = units[first + last], &channels = units[channel];
  places = f.e.divIndex(f.e.addIndex(places, f.e.index(strip - 1)), f.e.index(strip));
  channels = f.e.divIndex(channels, f.e.index(lanes));
  Value task = f.globalThread(), total = f.volume(units);
  f.when(f.less(task, total), [&] {
    SmallVector<Value> index = f.delinearize(task, units);
    index[first + last] = f.e.mulIndex(index[first + last], f.e.index(strip));
    for (Value i : index)
      point.push_back(Coord::uniform(i));
    if (lanes > 1) {
      Value lane = arith::MulIOp::create(b, index[channel], f.e.index(lanes));
      f.e.bindAligned(lane);
      point[channel] = Coord::affine(lane, 1);
    }
    Type type = lanes > 1 ? Type(VectorType::get({lanes}, sum)) : sum;
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
    SmallVector<Value> sums = overRows({}, Coords(ArrayRef(point).take_front(first)), {},
                                       SmallVector<Value>(strip, zero));
    if (!f.failed)
      store(sums);
  });
}

void device::emitDepthwiseKernel(KernelFrame &f) {
  DepthwiseEmitter(f, cast<prim::ConvOp>(productOf(f.launch))).run();
}
