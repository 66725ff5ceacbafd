//===- CopiedLines.cpp - Lines of a convolution's input -------------------===//
#include "CopiedLines.h"
#include "../Products/PartialSums.h"
#include "ZeroPoint.h"

using namespace mlir;
namespace tcc::codegen {

LineCopies lineCopies(const ConvSpec &spec) {
  return {spec.dims[0].kernel * spec.dims[1].kernel,
          spec.dims[2].kernel,
          spec.channels,
          spec.dims[2].stride,
          spec.dims[2].dilation,
          spec.groups};
}

CopiedLines::CopiedLines(KernelBuilder &k, const ConvSpec &spec,
                         const ContractionSchedule &schedule)
    : ConvFeed(spec, schedule), copies(lineCopies(spec)) {
  int64_t lanes = schedule.lanes;
  int64_t length = copies.length(schedule.tilesPerTask * schedule.rows);
  lineStride = llvm::alignTo(length, lanes) + 2 * lanes; // whole vectors are written at the ends
  scratch = k.scratch(spec.acc, copies.lines * lineStride);
  if (passesOver(k, 2, /*rows=*/1))
    reached = k.scratch(k.builder.getI8Type(), copies.lines);
}

Value CopiedLines::copyOf(KernelBuilder &k, Index line) const {
  return k.address(scratch, spec.acc, k.mul(line, k.constant(lineStride)));
}

void CopiedLines::begin(KernelBuilder &k, Index first, Index end) {
  firstPixel = first;
  Index rest = line, at[2]; // output depth and height
  for (int d = 1; d >= 0; --d) {
    at[d] = k.rem(rest, spec.dims[d].output);
    rest = k.floorDiv(rest, spec.dims[d].output);
  }
  Index image = k.mul(rest, spec.imageStride), channels = k.constant(copies.pixelElements());
  Index left = k.sub(k.mul(first, k.constant(copies.stride)), spec.dims[2].padBefore);
  Index pixels = k.sub(k.sub(end, first), k.constant(1));
  Index length = k.mul(k.add(k.mul(pixels, k.constant(copies.stride)),
                             k.constant((copies.taps - 1) * copies.dilation + 1)),
                       channels);
  k.loop(k.constant(0), k.constant(copies.lines), k.constant(1), [&](Index number) {
    Index tap = k.mul(number, k.constant(spec.dims[2].kernel)), offset = image;
    Pixel shift = tapShift(k, tap);
    Value inside;
    for (unsigned d = 0; d < 2; ++d) {
      const ConvDim &dim = spec.dims[d];
      Index pixel = k.sub(k.add(k.mul(at[d], k.constant(dim.stride)), shift[d]), dim.padBefore);
      offset = k.add(offset, k.mul(pixel, spec.strides[d]));
      if (!leavesImage(k, d))
        continue;
      Value in = k.compare(arith::CmpIPredicate::ult, pixel, dim.input);
      inside = inside ? arith::AndIOp::create(k.builder, k.loc, inside, in).getResult() : in;
    }
    auto copy = [&](Value inside) {
      copyLine(k, k.address(spec.input, spec.inputElement, offset), inside, k.mul(left, channels),
               length, copyOf(k, number));
    };
    if (!reached)
      return copy(inside);
    storeFlag(k, inside, reached, number);
    k.ifThen(inside, [&] { copy(Value()); });
  });
}

void CopiedLines::copyLine(KernelBuilder &k, Value from, Value inside, Index first, Index length,
                           Value to) {
  int64_t lanes = schedule.lanes;
  Index zero = k.constant(0), step = k.constant(lanes);
  auto stored = VectorType::get({lanes}, spec.inputElement);
  // What exists of the line is [low, high) of the copy.
  Index width = k.mul(spec.dims[2].input, k.constant(copies.pixelElements()));
  bool leaves = leavesImage(k, 2);
  Index low = leaves ? k.min(k.max(k.sub(zero, first), zero), length) : zero;
  Index high = leaves ? k.max(k.min(k.sub(width, first), length), low) : length;
  if (inside)
    high =
        arith::SelectOp::create(k.builder, k.loc, inside, k.value(high), k.value(low)).getResult();
  Value source = k.address(from, spec.inputElement, first);
  auto load = [&](Index at, Index valid) {
    Value pointer = k.address(source, spec.inputElement, at);
    Value values = valid ? k.loadPart(stored, pointer, valid) : k.load(stored, pointer);
    values = widened(k, spec, values, spec.acc);
    if (!valid || spec.zero == 0)
      return values;
    return arith::SelectOp::create(k.builder, k.loc, k.firstLanes(lanes, valid), values,
                                   k.zero(values.getType()))
        .getResult();
  };
  auto store = [&](Value values, Index at) { k.store(values, k.address(to, spec.acc, at)); };
  Value none = k.broadcast(k.zero(spec.acc), lanes);
  k.loop(zero, low, step, [&](Index at) { store(none, at); });
  Index rest = k.rem(k.sub(high, low), step), whole = k.sub(high, rest);
  k.loop(low, whole, step, [&](Index at) { store(load(at, Index()), at); });
  if (!k.isKnown(rest, 0))
    store(load(whole, rest), whole);
  k.loop(k.isKnown(rest, 0) ? whole : k.add(whole, step), length, step,
         [&](Index at) { store(none, at); });
}

void CopiedLines::prepare(KernelBuilder &k, const TileRows &rows, const KBlock &) {
  tilePixel = k.sub(rows.first, firstPixel);
}

SmallVector<Value> CopiedLines::run(KernelBuilder &k, const RegisterTile &tile,
                                    const PanelSource &panel, Index group, const KBlock &,
                                    ValueRange accs) {
  Index zero = k.constant(0), one = k.constant(1);
  int64_t runs = copies.joinsTaps() ? 1 : copies.taps, count = copies.lines * runs;
  Index length = k.constant(copies.run());
  Index pixel = k.constant(copies.stride * copies.pixelElements());
  Index first = k.mulAdd(tilePixel, pixel, k.mul(group, k.constant(copies.channels)));
  RowSource source;
  source.element = spec.acc;
  source.rowStride = pixel;
  source.kStride = one;
  auto step = [&](Index number, ValueRange in) {
    Index line = k.floorDiv(number, k.constant(runs));
    auto multiply = [&] {
      Index tap = k.mul(k.rem(number, k.constant(runs)),
                        k.constant(copies.dilation * copies.pixelElements()));
      source.base = k.address(copyOf(k, line), spec.acc, k.add(first, tap));
      return emitRun(k, spec.cpu, tile, source, panel.from(k, k.mul(number, length)), length,
                     schedule.unroll, in);
    };
    return reached ? runIf(k, loadFlag(k, reached, line), in, multiply) : multiply();
  };
  auto runFrom = [&](Index begin, Index end, ValueRange init) {
    return k.loop(begin, end, one, init, step);
  };
  int64_t products = count * copies.run();
  if (!sumBlock(k, tile, k.constant(products))) {
    constexpr int64_t mostProducts = 640; // of vectors; more are a loop
    if (products * tile.count() > mostProducts || tile.rolled)
      return runFrom(zero, k.constant(count), accs);
    SmallVector<Value> sums = llvm::to_vector(accs);
    for (int64_t number = 0; number < count; ++number)
      sums = step(k.constant(number), sums);
    return sums;
  }
  PartialSums sums(k, tile, accs);
  int64_t together = std::max<int64_t>(1, kSumBlock / copies.run());
  k.loop(zero, k.constant(count), k.constant(together), [&](Index first) {
    Index end = k.min(k.constant(count), k.add(first, k.constant(together)));
    sums.add(runFrom(first, end, zeroTile(k, tile)));
  });
  return sums.total();
}

} // namespace tcc::codegen
