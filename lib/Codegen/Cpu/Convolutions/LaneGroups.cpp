//===- LaneGroups.cpp - Convolutions with groups narrower than a vector ---===//
//
// Vectors run over output channels, several groups in one. Output channel `lane`
// needs, for channel j of its group, input channel lane / filters * channels + j: a
// shuffle of one vector of the input, made once and used by every tap of the line
// that meets this pixel (depthwise: no shuffle at all; groups of 8 and more have a
// vector each and a broadcasting load instead).
//
//   task = output line (image, depth, height) x block of channel vectors
//   for vector of channels:
//     for tile of up to 8 output pixels of the line:     accumulators in registers
//       for filter depth and height inside the image:    padding costs nothing
//         for pixel under the tile, channel of the group: load, shuffle
//           for every tap that takes this pixel to an output: multiply-add
//       epilogue
//
// With a known width each tile knows which taps fall outside, so tiles at the edges
// leave them out and equal tiles between form a loop. With an unknown width the
// tiles between the edges are found at run time, and edge pixels go one by one.
//
//===----------------------------------------------------------------------===//
#include "LaneGroups.h"
#include "../Products/TurnedStores.h"
#include "ZeroPoint.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

constexpr unsigned width = 2; // the innermost dimension

/// The range of taps of one dimension that fall inside of the image.
struct TapRange {
  Index begin, end;
};

class LineEmitter {
public:
  LineEmitter(KernelBuilder &k, const ConvSpec &spec, EpilogueFn epilogue)
      : k(k), spec(spec), epilogue(epilogue), schedule(std::get<LineSchedule>(spec.schedule)),
        fullLanes(schedule.lanes), pixelsPerTile(schedule.pixels) {}

  int64_t outputChannels() const { return spec.groups * spec.filters; }
  int64_t vectors() const { return llvm::divideCeil(outputChannels(), fullLanes); }
  int64_t blocks() const { return llvm::divideCeil(vectors(), schedule.vectorsPerTask); }
  Index lines();
  void emitTask(Index task);

private:
  void emitVector(Index vector, unsigned offset, unsigned lanes);
  void emitKnownLine();
  void emitUnknownLine();
  void emitTile(Index firstColumn, unsigned pixels, std::optional<int64_t> knownColumn);
  void addFilterLine(Index depth, Index height, unsigned channel, Index column,
                     std::optional<int64_t> knownColumn, MutableArrayRef<Value> accs);
  void emitPixel(Index column);
  void finish(Index column, unsigned pixels, ValueRange accs);

  bool tapInside(int64_t column, int64_t tap) const;
  bool wholeInside(int64_t column, unsigned pixels) const;
  TapRange tapsInside(const ConvDim &dim, Index first);
  SmallVector<Value> overLines(ValueRange init,
                               llvm::function_ref<SmallVector<Value>(Index, Index, ValueRange)>);
  Value loadWeights(Index depth, Index height, Index tap, unsigned channel);
  Value loadInput(Index depth, Index height, Index column, Index shift, unsigned channel);
  Value spread(Value input, unsigned channel);
  VectorType accType() const { return VectorType::get({int64_t(lanes)}, spec.acc); }

  KernelBuilder &k;
  const ConvSpec &spec;
  EpilogueFn epilogue;
  LineSchedule schedule;
  unsigned fullLanes, pixelsPerTile;

  // The line and vector at hand.
  Index line, image, first[2]; ///< input coordinates of the first tap: depth, height
  TapRange taps[2];            ///< depth, height
  Index vector, channel, inputChannel;
  unsigned laneOffset = 0, lanes = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

static Index outputLines(KernelBuilder &k, const ConvSpec &spec) {
  return k.mul(spec.batch, k.mul(spec.dims[0].output, spec.dims[1].output));
}

LineSchedule chooseLines(KernelBuilder &k, const ConvSpec &spec) {
  LineSchedule schedule;
  int64_t accBits = spec.acc.getIntOrFloatBitWidth();
  schedule.lanes =
      narrowGroupLanes(spec.cpu, {spec.groups, spec.filters, spec.channels, 1}, accBits);
  schedule.pixels = spec.cpu.vectorRegisters >= 32 ? 8 : 6;
  // The input lines under a task stay in L2; few lines are cut for more tasks.
  int64_t columns = k.known(spec.dims[width].input).value_or(128);
  int64_t bytes = columns * spec.dims[1].kernel * schedule.lanes * accBits / 8;
  int64_t most = std::max<int64_t>(1, spec.cpu.l2Bytes / 2 / std::max<int64_t>(1, bytes));
  constexpr int64_t wantedTasks = 32;
  int64_t lines = std::max<int64_t>(1, k.known(outputLines(k, spec)).value_or(wantedTasks));
  int64_t vectors = llvm::divideCeil(spec.groups * spec.filters, schedule.lanes);
  schedule.vectorsPerTask =
      std::clamp<int64_t>(llvm::divideCeil(vectors, llvm::divideCeil(wantedTasks, lines)), 1, most);
  return schedule;
}

Index LineEmitter::lines() { return outputLines(k, spec); }

void LineEmitter::emitTask(Index task) {
  int64_t perTask = schedule.vectorsPerTask, blocks = this->blocks();
  Index block = k.rem(task, k.constant(blocks));
  line = k.floorDiv(task, k.constant(blocks));
  Index rest = line;
  for (int d = 1; d >= 0; --d) {
    const ConvDim &dim = spec.dims[d];
    Index out = k.rem(rest, dim.output);
    rest = k.floorDiv(rest, dim.output);
    first[d] = k.sub(k.mul(out, k.constant(dim.stride)), dim.padBefore);
    taps[d] = tapsInside(dim, first[d]);
  }
  image = rest;

  Index begin = k.mul(block, k.constant(perTask));
  int64_t whole = outputChannels() / fullLanes;
  Index end = k.min(k.add(begin, k.constant(perTask)), k.constant(whole));
  k.loop(begin, end, k.constant(1), [&](Index at) { emitVector(at, 0, fullLanes); });
  auto emitRest = [&] {
    unsigned offset = 0, rest = outputChannels() % fullLanes;
    for (unsigned size = fullLanes / 2; size; size /= 2)
      if (rest & size) {
        emitVector(k.constant(whole), offset, size);
        offset += size;
      }
  };
  if (outputChannels() % fullLanes == 0)
    return;
  if (blocks == 1)
    return emitRest();
  k.ifThen(k.compare(arith::CmpIPredicate::eq, block, k.constant(blocks - 1)), emitRest);
}

TapRange LineEmitter::tapsInside(const ConvDim &dim, Index firstInput) {
  Index zero = k.constant(0), kernel = k.constant(dim.kernel);
  if (dim.kernel == 1 && k.isKnown(dim.padBefore, 0) && dim.stride == 1 && k.known(dim.output) &&
      k.known(dim.input) == k.known(dim.output))
    return {zero, kernel};
  Index dilation = k.constant(dim.dilation);
  // Of first + tap * dilation in [0, input); the distances are clamped to be nonnegative.
  Index before = k.max(k.sub(zero, firstInput), zero);
  Index after = k.max(k.sub(dim.input, firstInput), zero);
  Index begin = k.min(k.ceilDiv(before, dilation), kernel);
  return {begin, k.max(k.min(k.ceilDiv(after, dilation), kernel), begin)};
}

void LineEmitter::emitVector(Index at, unsigned offset, unsigned size) {
  vector = at;
  laneOffset = offset;
  lanes = size;
  channel = k.mulAdd(at, k.constant(fullLanes), k.constant(offset));
  // Vectors hold whole groups, so the first lane starts one.
  inputChannel = k.mul(k.floorDiv(channel, k.constant(spec.filters)), k.constant(spec.channels));
  const ConvDim &dim = spec.dims[width];
  if (k.known(dim.input) && k.known(dim.output) && k.known(dim.padBefore))
    emitKnownLine();
  else
    emitUnknownLine();
}

//===----------------------------------------------------------------------===//
// Tiles of a line
//===----------------------------------------------------------------------===//

bool LineEmitter::tapInside(int64_t column, int64_t tap) const {
  const ConvDim &dim = spec.dims[width];
  int64_t at = column * dim.stride - *KernelBuilder::known(dim.padBefore) + tap * dim.dilation;
  return at >= 0 && at < *KernelBuilder::known(dim.input);
}

bool LineEmitter::wholeInside(int64_t column, unsigned pixels) const {
  return tapInside(column, 0) && tapInside(column + pixels - 1, spec.dims[width].kernel - 1);
}

void LineEmitter::emitKnownLine() {
  int64_t columns = *k.known(spec.dims[width].output);
  int64_t tiles = llvm::divideCeil(columns, pixelsPerTile);
  auto sizeOf = [&](int64_t tile) { return columns / tiles + (tile < columns % tiles); };
  for (int64_t tile = 0, column = 0; tile < tiles;) {
    int64_t size = sizeOf(tile), equal = 1;
    if (!wholeInside(column, size)) {
      emitTile(k.constant(column), size, column);
    } else {
      while (tile + equal < tiles && sizeOf(tile + equal) == size &&
             wholeInside(column + equal * size, size))
        ++equal;
      k.loop(k.constant(column), k.constant(column + equal * size), k.constant(size),
             [&](Index at) { emitTile(at, size, std::nullopt); });
    }
    tile += equal;
    column += equal * size;
  }
}

void LineEmitter::emitUnknownLine() {
  const ConvDim &dim = spec.dims[width];
  Index zero = k.constant(0), one = k.constant(1), stride = k.constant(dim.stride);
  Index size = k.constant(pixelsPerTile), columns = dim.output;
  // Columns [begin, end) have all taps inside.
  Index begin = k.min(k.ceilDiv(dim.padBefore, stride), columns);
  Index reach = k.constant((dim.kernel - 1) * dim.dilation + 1);
  Index room = k.max(k.sub(k.add(k.add(dim.input, dim.padBefore), stride), reach), zero);
  Index end = k.max(k.min(k.floorDiv(room, stride), columns), begin);
  Index tiled = k.mulAdd(k.floorDiv(k.sub(end, begin), size), size, begin);
  k.loop(begin, tiled, size, [&](Index at) { emitTile(at, pixelsPerTile, std::nullopt); });
  // The pixels on both sides, in one loop: they are most of the code.
  Index between = k.sub(tiled, begin);
  k.loop(zero, k.sub(columns, between), one, [&](Index at) {
    Value left = k.compare(arith::CmpIPredicate::slt, at, begin);
    Value skipped =
        arith::SelectOp::create(k.builder, k.loc, left, k.value(zero), k.value(between));
    emitPixel(k.add(at, skipped));
  });
}

SmallVector<Value>
LineEmitter::overLines(ValueRange init,
                       llvm::function_ref<SmallVector<Value>(Index, Index, ValueRange)> body) {
  Index one = k.constant(1);
  return k.loop(taps[0].begin, taps[0].end, one, init, [&](Index depth, ValueRange outer) {
    return k.loop(taps[1].begin, taps[1].end, one, outer,
                  [&](Index height, ValueRange inner) { return body(depth, height, inner); });
  });
}

void LineEmitter::emitTile(Index column, unsigned pixels, std::optional<int64_t> knownColumn) {
  SmallVector<Value> zeros(pixels, k.zero(accType()));
  SmallVector<Value> accs = overLines(zeros, [&](Index depth, Index height, ValueRange in) {
    SmallVector<Value> accs = llvm::to_vector(in);
    for (unsigned channel = 0; channel < spec.channels; ++channel)
      addFilterLine(depth, height, channel, column, knownColumn, accs);
    return accs;
  });
  finish(column, pixels, accs);
}

void LineEmitter::addFilterLine(Index depth, Index height, unsigned channel, Index column,
                                std::optional<int64_t> knownColumn, MutableArrayRef<Value> accs) {
  const ConvDim &dim = spec.dims[width];
  int64_t reach = (accs.size() - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1;
  SmallVector<Value> weights(dim.kernel); // loaded when first needed, as is the input
  for (int64_t x = 0; x < reach; ++x) {
    Value input;
    for (auto [pixel, acc] : llvm::enumerate(accs)) {
      int64_t distance = x - int64_t(pixel) * dim.stride, tap = distance / dim.dilation;
      if (distance < 0 || distance % dim.dilation || tap >= dim.kernel ||
          (knownColumn && !tapInside(*knownColumn + pixel, tap)))
        continue;
      if (!input)
        input = loadInput(depth, height, column, k.constant(x), channel);
      if (!weights[tap])
        weights[tap] = loadWeights(depth, height, k.constant(tap), channel);
      acc = emitMultiplyAdd(k, spec.cpu, input, weights[tap], acc);
    }
  }
}

void LineEmitter::emitPixel(Index column) {
  const ConvDim &dim = spec.dims[width];
  Index start = k.sub(k.mul(column, k.constant(dim.stride)), dim.padBefore);
  TapRange range = tapsInside(dim, start);
  SmallVector<Value> accs =
      overLines(k.zero(accType()), [&](Index depth, Index height, ValueRange outer) {
        return k.loop(range.begin, range.end, k.constant(1), outer, [&](Index tap, ValueRange in) {
          Value acc = in[0];
          Index shift = k.mul(tap, k.constant(dim.dilation));
          for (unsigned channel = 0; channel < spec.channels; ++channel)
            acc = emitMultiplyAdd(k, spec.cpu, loadInput(depth, height, column, shift, channel),
                                  loadWeights(depth, height, tap, channel), acc);
          return SmallVector<Value>{acc};
        });
      });
  finish(column, 1, accs);
}

void LineEmitter::finish(Index column, unsigned pixels, ValueRange accs) {
  Index m = k.mulAdd(line, spec.dims[width].output, column);
  if (pixels > 1 && lanes > 1 && epilogue.turned && epilogue.turned->element == spec.acc) {
    int64_t stride = lanes;
    Value buffer = k.scratch(spec.acc, pixels * stride);
    for (unsigned pixel = 0; pixel < pixels; ++pixel)
      k.store(accs[pixel], k.address(buffer, spec.acc, k.constant(pixel * stride)));
    TurnedTile tile{*epilogue.turned, buffer, stride, {lanes}, stride, m, channel};
    finishTurned(k, tile, k.constant(pixels));
    return storeTurned(k, tile, pixels);
  }
  for (unsigned pixel = 0; pixel < pixels; ++pixel)
    epilogue(k.builder, k.loc, k.value(k.add(m, k.constant(pixel))), k.value(channel), accs[pixel],
             k.constant(lanes));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value LineEmitter::loadWeights(Index depth, Index height, Index tap, unsigned channel) {
  Index number = k.mulAdd(k.mulAdd(depth, k.constant(spec.dims[1].kernel), height),
                          k.constant(spec.dims[width].kernel), tap);
  int64_t taps = spec.dims[0].kernel * spec.dims[1].kernel * spec.dims[width].kernel;
  Index row = k.mulAdd(k.mulAdd(vector, k.constant(taps), number), k.constant(spec.channels),
                       k.constant(channel));
  Index offset = k.mulAdd(row, k.constant(fullLanes), k.constant(laneOffset));
  Value weights = k.load(VectorType::get({int64_t(lanes)}, spec.weightElement),
                         k.address(spec.weights, spec.weightElement, offset));
  return k.widen(weights, spec.acc, spec.weightUnsigned);
}

/// What channel `channel` of each lane's group is at column `column` * stride - padding +
/// shift, as elements of the accumulator.
Value LineEmitter::loadInput(Index depth, Index height, Index column, Index shift,
                             unsigned channel) {
  const ConvDim &dim = spec.dims[width];
  unsigned count = lanes / spec.filters * spec.channels;
  Index at[3] = {k.mulAdd(depth, k.constant(spec.dims[0].dilation), first[0]),
                 k.mulAdd(height, k.constant(spec.dims[1].dilation), first[1]),
                 k.add(k.sub(k.mul(column, k.constant(dim.stride)), dim.padBefore), shift)};
  // The constant part comes last, so that the addresses of a tile differ by constants.
  Index offset = k.mulAdd(image, spec.imageStride, inputChannel);
  for (unsigned d = 0; d < 2; ++d)
    offset = k.add(offset, k.mul(at[d], spec.strides[d]));
  Index start = k.sub(k.mul(column, k.constant(dim.stride)), dim.padBefore);
  Value base =
      k.address(spec.input, spec.inputElement, k.add(offset, k.mul(start, spec.strides[width])));
  Value pointer = k.address(base, spec.inputElement, k.mul(shift, spec.strides[width]));
  if (lanes == spec.filters && lanes > 1) {
    Value scalar =
        k.load(spec.inputElement, k.address(pointer, spec.inputElement, k.constant(channel)));
    return k.broadcast(widened(k, spec, scalar, spec.acc), lanes);
  }
  Value input = k.load(VectorType::get({int64_t(count)}, spec.inputElement), pointer);
  return spread(widened(k, spec, input, spec.acc), channel);
}

Value LineEmitter::spread(Value input, unsigned channel) {
  if (spec.filters == 1)
    return input;
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask.push_back(lane / spec.filters * spec.channels + channel);
  return vector::ShuffleOp::create(k.builder, k.loc, input, input, mask);
}

Index emitLaneGroupTaskCount(KernelBuilder &k, const ConvSpec &spec) {
  LineEmitter line(k, spec, EpilogueFn());
  return k.mul(line.lines(), k.constant(line.blocks()));
}

void emitLaneGroupTasks(KernelBuilder &k, const ConvSpec &spec, Value begin, Value end,
                        EpilogueFn epilogue) {
  k.loop(begin, end, k.constant(1),
         [&](Index task) { LineEmitter(k, spec, epilogue).emitTask(task); });
}

} // namespace tcc::codegen
