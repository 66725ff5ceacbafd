//===- Conv.cpp - Convolutions on the CPU ---------------------------------===//
//
// Groups narrower than a vector, depthwise ones among them, have a kernel of their own
// (LaneGroups.h). Any other convolution is the tile loop (TileLoop.h) over one of three
// kinds of rows:
//   1x1 without padding on dense pixels   rows of the input matrix, in place
//   few channels, few filters             from copies of the input lines (CopiedLines.h); where
//                                         these or the weights are large, gathered (im2row) a
//                                         tile at a time
//   anything else                         in place, through a table of pointers
// 3x3 convolutions whose weights came transformed are computed in tiles (WinogradConv.h).
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/Conv.h"
#include "ConvRows.h"
#include "CopiedLines.h"
#include "LaneGroups.h"
#include "WinogradConv.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

int64_t tapCount(const ConvSpec &spec) {
  return spec.dims[0].kernel * spec.dims[1].kernel * spec.dims[2].kernel;
}

ConvExtents extentsOf(const ConvSpec &spec) {
  return {spec.groups, spec.filters, spec.channels, tapCount(spec)};
}

bool gathers(const ConvSpec &spec) { return gathersTaps(extentsOf(spec)); }

/// Whether the channels of a group's tap are too few for a pointer of its own, and its filters fill
/// a vector.
bool hasFewChannels(const ConvSpec &spec) {
  ConvExtents ofGroup = extentsOf(spec);
  ofGroup.groups = 1;
  return gathersTaps(ofGroup) &&
         (spec.groups == 1 || spec.filters >= spec.cpu.lanes(spec.acc.getIntOrFloatBitWidth()));
}

constexpr int64_t shortestLine = 16; ///< of which a tile has all of its rows

/// Whether lines are so short that a tile of one has few rows, where gathering a pixel, of which a
/// tile has as many of any lines, is little beside its products. Tiles of 6 rows and fewer, as of
/// 16 registers, are no better across lines: they make no squares, which results are stored by.
bool hasShortLines(KernelBuilder &k, const ConvSpec &spec) {
  constexpr double cyclesOfRun = 8, little = 0.125;
  constexpr unsigned manyRegisters = 32;
  std::optional<int64_t> line = k.known(spec.dims[2].output);
  if (spec.cpu.vectorRegisters < manyRegisters || !line || *line >= shortestLine ||
      !hasFewChannels(spec) || spec.steps.size > 1 || !spec.presentTaps.empty())
    return false;
  const ConvDim *dims = spec.dims;
  double runs = dims[2].dilation == 1 ? dims[0].kernel * dims[1].kernel : tapCount(spec);
  double products = double(tapCount(spec)) * spec.channels * spec.filters * spec.groups;
  unsigned lanes = spec.cpu.lanes(spec.acc.getIntOrFloatBitWidth());
  return runs * cyclesOfRun <= little * products / (2 * lanes);
}

/// Whether lines may be copied for the pixels that read them: the weights of a line come from a
/// near cache, and lines are dense. Of several groups pointers are as fast for lines of a few.
bool mayCopyLines(KernelBuilder &k, const ConvSpec &spec) {
  int64_t weightBytes = tapCount(spec) * spec.channels * spec.filters * spec.groups *
                        (spec.weightElement.getIntOrFloatBitWidth() / 8);
  bool isNarrow = spec.presentTaps.empty() &&
                  copiesFewFilters(spec.cpu, extentsOf(spec), spec.acc.getIntOrFloatBitWidth());
  bool copiesGroups = spec.groups > 1 && hasFewChannels(spec) && spec.presentTaps.empty() &&
                      k.known(spec.dims[2].output).value_or(0) >= shortestLine;
  return (gathers(spec) || isNarrow || copiesGroups) && spec.steps.size == 1 &&
         k.isKnown(spec.strides[2], spec.groups * spec.channels) &&
         2 * weightBytes <= spec.cpu.l2Bytes;
}

/// Steps of k: elements, or steps of bytes, of a tap or, gathered, of all of them.
int64_t stepCount(const ConvSpec &spec) {
  return gathers(spec) ? spec.steps.count(tapCount(spec) * spec.channels)
                       : tapCount(spec) * spec.steps.count(spec.channels);
}

/// Every output pixel reads the input pixel of the same number.
bool isMatrixProduct(KernelBuilder &k, const ConvSpec &spec) {
  if (!spec.dense)
    return false;
  return llvm::all_of(spec.dims, [&](const ConvDim &dim) {
    return dim.kernel == 1 && dim.stride == 1 && k.isKnown(dim.padBefore, 0) &&
           (dim.input == dim.output ||
            (k.known(dim.input) && k.known(dim.input) == k.known(dim.output)));
  });
}

Index pixelCount(KernelBuilder &k, const ConvSpec &spec, Index images) {
  Index count = images;
  for (const ConvDim &dim : spec.dims)
    count = k.mul(count, dim.output);
  return count;
}

ConvShape shapeOf(KernelBuilder &k, const ConvSpec &spec) {
  ConvShape shape;
  shape.pixels = k.known(pixelCount(k, spec, spec.batch)).value_or(-1);
  shape.imagePixels = k.known(pixelCount(k, spec, k.constant(1))).value_or(-1);
  shape.groups = spec.groups;
  shape.filters = spec.filters;
  shape.taps = gathers(spec) && spec.steps.size > 1 ? 1 : tapCount(spec);
  shape.channels = stepCount(spec) / shape.taps;
  for (const ConvDim &dim : spec.dims)
    shape.inputPixels *= dim.stride;
  shape.accBits = spec.acc.getIntOrFloatBitWidth();
  shape.panelWidth = spec.panelWidth;
  shape.linePixels = k.known(spec.dims[2].output).value_or(-1);
  shape.copies = lineCopies(spec);
  shape.a = gathers(spec)              ? OperandAccess::Gathered
            : isMatrixProduct(k, spec) ? OperandAccess::InPlace
                                       : OperandAccess::Pointers;
  return shape;
}

ContractionSpec productOf(KernelBuilder &k, const ConvSpec &spec) {
  ContractionSpec product;
  product.cpu = spec.cpu;
  product.schedule = std::get<ContractionSchedule>(spec.schedule);
  product.m = pixelCount(k, spec, spec.batch);
  product.n = k.constant(spec.filters);
  product.k = k.constant(stepCount(spec));
  product.steps = spec.steps;
  product.kElements = k.constant(tapCount(spec) * spec.channels);
  product.groups = spec.groups;
  product.acc = spec.acc;
  product.aElement = spec.inputElement;
  product.aUnsigned = spec.inputUnsigned;
  product.a = spec.input;
  product.aRowStride = spec.strides[2];
  product.aKStride = k.constant(1);
  product.bElement = spec.weightElement;
  product.bUnsigned = spec.weightUnsigned;
  product.b = spec.weights;
  return product;
}

} // namespace

void setDenseStrides(KernelBuilder &k, ConvSpec &spec) {
  Index stride = k.constant(spec.groups * spec.channels);
  for (int d = 2; d >= 0; --d) {
    spec.strides[d] = stride;
    stride = k.mul(stride, spec.dims[d].input);
  }
  spec.imageStride = stride;
  spec.dense = true;
}

SmallVector<ConvSchedule> rankConvSchedules(KernelBuilder &k, const ConvSpec &spec,
                                            bool variations) {
  SmallVector<ConvSchedule> ranked;
  if (spec.winograd) {
    llvm::append_range(ranked, rankWinograd(spec.cpu, winogradShape(k, spec)));
  } else if (narrowGroupLanes(spec.cpu, extentsOf(spec), spec.acc.getIntOrFloatBitWidth())) {
    ranked.push_back(chooseLines(k, spec));
  } else {
    ConvShape shape = shapeOf(k, spec);
    bool gathersLines = hasShortLines(k, spec);
    if (gathersLines)
      shape.a = OperandAccess::Gathered;
    if (mayCopyLines(k, spec) && !gathersLines) {
      ConvShape lines = shape;
      lines.a = OperandAccess::Copied;
      llvm::append_range(ranked, rankConv(spec.cpu, lines, variations));
    }
    if (ranked.empty() || variations)
      llvm::append_range(ranked, rankConv(spec.cpu, shape, variations));
    if (variations && shape.a == OperandAccess::Pointers && spec.groups == 1 &&
        spec.steps.size == 1) {
      shape.a = OperandAccess::Gathered; // costs copies, saves a pointer a tap: not modelled
      llvm::append_range(ranked, ArrayRef(rankConv(spec.cpu, shape)).take_front(2));
    }
    for (ConvSchedule &schedule : ranked)
      std::get<ContractionSchedule>(schedule).stepBytes = spec.steps.size;
  }
  return ranked;
}

/// Output lines of all images.
static Index lineCount(KernelBuilder &k, const ConvSpec &spec) {
  return k.mul(k.mul(spec.batch, spec.dims[0].output), spec.dims[1].output);
}

/// Tasks of a line, with the lines that it reads copied.
static void emitLineTasks(KernelBuilder &k, const ConvSpec &spec, ContractionSpec product,
                          Value begin, Value end, EpilogueFn epilogue) {
  product.m = spec.dims[2].output;
  Index tasks = emitTileTaskCount(k, product);
  CopiedLines feed(k, spec, product.schedule);
  k.loop(begin, end, k.constant(1), [&](Index task) {
    Index line = k.floorDiv(task, tasks);
    feed.setLine(line);
    product.firstRow = k.mul(line, product.m);
    emitTileTask(k, product, feed, k.rem(task, tasks), epilogue);
  });
}

Index emitConvTaskCount(OpBuilder &builder, Location loc, const ConvSpec &spec) {
  KernelBuilder k(builder, loc);
  if (std::holds_alternative<WinogradSchedule>(spec.schedule))
    return emitWinogradTaskCount(k, spec);
  if (std::holds_alternative<LineSchedule>(spec.schedule))
    return emitLaneGroupTaskCount(k, spec);
  ContractionSpec product = productOf(k, spec);
  if (!product.schedule.packsA())
    return emitTileTaskCount(k, product);
  product.m = spec.dims[2].output;
  return k.mul(lineCount(k, spec), emitTileTaskCount(k, product));
}

void emitConvTasks(OpBuilder &builder, Location loc, const ConvSpec &spec, Value begin, Value end,
                   EpilogueFn epilogue) {
  KernelBuilder k(builder, loc);
  if (std::holds_alternative<WinogradSchedule>(spec.schedule))
    return emitWinogradTasks(k, spec, begin, end, epilogue);
  if (std::holds_alternative<LineSchedule>(spec.schedule))
    return emitLaneGroupTasks(k, spec, begin, end, epilogue);
  ContractionSpec product = productOf(k, spec);
  if (product.schedule.packsA())
    return emitLineTasks(k, spec, product, begin, end, epilogue);
  if (product.schedule.a == OperandAccess::InPlace)
    return emitContractionTasks(builder, loc, product, begin, end, epilogue);
  std::unique_ptr<RowFeed> feed;
  if (product.schedule.a == OperandAccess::Gathered)
    feed = std::make_unique<GatheredRows>(k, spec, product.schedule);
  else
    feed = std::make_unique<PointerRows>(k, spec, product.schedule);
  k.loop(begin, end, k.constant(1),
         [&](Index task) { emitTileTask(k, product, *feed, task, epilogue); });
}

} // namespace tcc::codegen
