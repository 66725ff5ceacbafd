//===- GatheredRows.cpp - What lies under a filter, side by side ----------===//
//
// For few channels a pixel's taps are copied beside each other, a line of the filter at once where
// that lies inside of the image. Of several groups all channels of a tap are, of which a product
// takes those of its own.
//
//===----------------------------------------------------------------------===//
#include "../Products/PanelPacking.h"
#include "../Products/PartialSums.h"
#include "ConvRows.h"

using namespace mlir;
namespace tcc::codegen {

GatheredRows::GatheredRows(KernelBuilder &k, const ConvSpec &spec,
                           const ContractionSchedule &schedule)
    : ConvFeed(spec, schedule) {
  assert((spec.groups == 1 || spec.steps.size == 1) && "steps lie within a group's channels");
  pixelElements = spec.groups * spec.channels;
  lines =
      !schedule.kBlock && spec.dims[2].dilation == 1 && k.isKnown(spec.strides[2], pixelElements);
  element = spec.steps.size > 1 ? spec.inputElement : spec.acc;
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t length = blockTaps(spec, schedule) * pixelElements;
  rowStride = packedRowStride(spec.cpu, length, bytes);
  packed = k.scratch(element, schedule.rows * rowStride);
  // The last group of bytes is read whole.
  for (int64_t row = 0; row < schedule.rows; ++row)
    for (int64_t at = length; at % spec.steps.size; ++at)
      k.store(k.zero(element), k.address(packed, element, k.constant(row * rowStride + at)));
}

Value GatheredRows::inside(KernelBuilder &k, const Pixel &pixel, int64_t width) {
  Value all;
  for (unsigned d = 0; d < 3; ++d) {
    if (!leavesImage(k, d))
      continue;
    Index extent = spec.dims[d].input;
    if (d == 2) // of `width` pixels the first is inside if `width - 1` remain after it
      extent = k.max(k.sub(extent, k.constant(width - 1)), k.constant(0));
    Value in = k.compare(arith::CmpIPredicate::ult, pixel[d], extent);
    all = all ? arith::AndIOp::create(k.builder, k.loc, all, in).getResult() : in;
  }
  return all;
}

void GatheredRows::prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) {
  Index one = k.constant(1), zero = k.constant(0);
  forRows(k, rows, [&](Index row, Index image, const Pixel &first) {
    Value to = k.address(packed, element, k.mul(row, k.constant(rowStride)));
    auto at = [&](const Pixel &shift) {
      Pixel pixel;
      for (unsigned d = 0; d < 3; ++d)
        pixel.push_back(k.add(first[d], shift[d]));
      return pixel;
    };
    if (lines) {
      int64_t width = spec.dims[2].kernel;
      Index count = k.constant(spec.dims[0].kernel * spec.dims[1].kernel);
      return k.loop(zero, count, one, [&](Index line) {
        Index offset = k.mul(line, k.constant(width * pixelElements));
        gatherLine(k, image, at(tapShift(k, k.mul(line, k.constant(width)))),
                   k.address(to, element, offset));
      });
    }
    Index channels = k.constant(spec.channels);
    Index firstTap = k.floorDiv(block.begin, channels), taps = k.floorDiv(block.length, channels);
    if (spec.steps.size > 1) // at once: a step may lie across two taps
      taps = k.constant(blockTaps(spec, schedule));
    k.loop(zero, taps, one, [&](Index tap) {
      gatherTap(k, image, at(tapShift(k, k.add(firstTap, tap))),
                k.address(to, element, k.mul(tap, k.constant(pixelElements))));
    });
  });
}

void GatheredRows::gatherLine(KernelBuilder &k, Index image, const Pixel &pixel, Value to) {
  int64_t width = spec.dims[2].kernel;
  auto whole = [&] { copy(k, image, pixel, width * pixelElements, to); };
  Value isInside = inside(k, pixel, width);
  if (!isInside)
    return whole();
  k.ifThenElse(isInside, whole, [&] {
    k.loop(k.constant(0), k.constant(width), k.constant(1), [&](Index tap) {
      Pixel at = pixel;
      at[2] = k.add(at[2], tap);
      gatherTap(k, image, at, k.address(to, element, k.mul(tap, k.constant(pixelElements))));
    });
  });
}

void GatheredRows::gatherTap(KernelBuilder &k, Index image, const Pixel &pixel, Value to) {
  Value isInside = inside(k, pixel, 1);
  if (!isInside)
    return copy(k, image, pixel, pixelElements, to);
  k.ifThenElse(
      isInside, [&] { copy(k, image, pixel, pixelElements, to); },
      [&] { fill(k, pixelElements, to); });
}

void forChunks(KernelBuilder &k, int64_t count, int64_t lanes,
               llvm::function_ref<void(Index at, unsigned width)> body) {
  int64_t whole = count / lanes * lanes;
  if (whole <= 4 * lanes)
    for (int64_t at = 0; at < whole; at += lanes)
      body(k.constant(at), lanes);
  else
    k.loop(k.constant(0), k.constant(whole), k.constant(lanes), [&](Index at) { body(at, lanes); });
  for (int64_t at = whole, width = lanes / 2; at < count; width /= 2)
    if (at + width <= count) {
      body(k.constant(at), width);
      at += width;
    }
}

void GatheredRows::copy(KernelBuilder &k, Index image, const Pixel &pixel, int64_t count,
                        Value to) {
  Index offset = k.mulAdd(image, spec.imageStride, pixelOffset(k, pixel));
  Value from = k.address(spec.input, spec.inputElement, offset);
  forChunks(k, count, schedule.lanes, [&](Index at, unsigned width) {
    Value values = k.load(VectorType::get({int64_t(width)}, spec.inputElement),
                          k.address(from, spec.inputElement, at));
    k.store(widened(k, spec, values, element), k.address(to, element, at));
  });
}

void GatheredRows::fill(KernelBuilder &k, int64_t count, Value to) {
  Value pad = element == spec.acc ? k.zero(spec.acc) : zeroOf(k, spec);
  forChunks(k, count, schedule.lanes, [&](Index at, unsigned width) {
    k.store(k.broadcast(pad, width), k.address(to, element, at));
  });
}

SmallVector<Value> GatheredRows::run(KernelBuilder &k, const RegisterTile &tile,
                                     const PanelSource &panel, Index group, const KBlock &block,
                                     ValueRange accs) {
  RowSource source;
  source.element = element;
  source.base = packed;
  source.rowStride = k.constant(rowStride);
  source.kStride = k.constant(spec.steps.size);
  if (spec.groups == 1)
    return emitLongRun(k, spec.cpu, tile, source, panel, block.length, schedule.unroll, accs);
  // Of each tap the channels of the group.
  Index channels = k.constant(spec.channels), taps = k.floorDiv(block.length, channels);
  Index zero = k.constant(0), first = k.mul(group, channels);
  auto runTaps = [&](Index begin, Index end, ValueRange init) {
    return k.loop(begin, end, k.constant(1), init, [&](Index tap, ValueRange in) {
      source.base = k.address(packed, element, k.mulAdd(tap, k.constant(pixelElements), first));
      return emitRun(k, spec.cpu, tile, source, panel.from(k, k.mul(tap, channels)), channels,
                     schedule.unroll, in);
    });
  };
  if (!sumBlock(k, tile, block.length))
    return runTaps(zero, taps, accs);
  PartialSums sums(k, tile, accs);
  Index together = k.constant(std::max<int64_t>(1, kSumBlock / spec.channels));
  k.loop(zero, taps, together, [&](Index begin) {
    sums.add(runTaps(begin, k.min(taps, k.add(begin, together)), zeroTile(k, tile)));
  });
  return sums.total();
}

} // namespace tcc::codegen
