//===- PlaneTiles.cpp - Convolutions whose lanes are pixels ---------------===//
#include "tcc/Dialect/Cpu/PlaneTiles.h"
#include "tcc/Dialect/Cpu/SumBlock.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/PresentTaps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
namespace tcc {

int64_t PlaneAxis::plane(int64_t tap) const {
  SmallVector<int64_t, 4> all = planes();
  return llvm::find(all, tap * dilation % stride) - all.begin();
}

SmallVector<int64_t, 4> PlaneAxis::planes() const {
  SmallVector<int64_t, 4> found;
  for (int64_t tap = 0; tap < kernel; ++tap)
    if (int64_t rest = tap * dilation % stride; !llvm::is_contained(found, rest))
      found.push_back(rest);
  return found;
}

int64_t PlaneCut::planeStride(const PlaneConv &conv) const {
  return llvm::alignTo(conv.axes[1].length(lines) * lineStride(conv), lanes) + lanes;
}

int64_t PlaneCut::channelStride(const PlaneConv &conv) const {
  int64_t planes = conv.axes[1].planes().size() * conv.axes[2].planes().size();
  return conv.axes[0].kernel * planes * planeStride(conv);
}

int64_t PlaneCut::sumStride(const PlaneConv &conv) const {
  return llvm::alignTo(pixels(conv), lanes);
}

bool PlaneCut::storesTiles(const CpuTarget &cpu, const PlaneConv &conv) const {
  int64_t copies = conv.channels * channelStride(conv) * int64_t(sizeof(float));
  return channels == conv.channels && conv.filters > rows && copies <= cpu.l1Bytes * 3 / 4;
}

std::optional<PlaneConv> planeConv(prim::ConvOp op) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), y = tensorType(op.getResult());
  int64_t spatial = op.getStrides().size();
  auto isOne = [](int64_t v) { return v == 1; };
  auto isKnown = [](RankedTensorType type) { // what has to be, and not empty
    return !type.isDynamicDim(1) &&
           llvm::none_of(type.getShape(), [](int64_t extent) { return extent == 0; });
  };
  constexpr int64_t kTypicalLine = 512; // of a signal
  if (op.getChannelsLast() || spatial < 1 || spatial > 3 || prim::layoutOf(op.getW()) ||
      !isKnown(x) || !w.hasStaticShape() || !isKnown(y) || !x.getElementType().isF32() ||
      !w.getElementType().isF32() || !y.getElementType().isF32() ||
      !llvm::all_of(op.getInputDilation(), isOne) || w.getNumElements() == 0)
    return std::nullopt;
  PlaneConv conv;
  if (!x.isDynamicDim(0))
    conv.batch = x.getDimSize(0);
  conv.groups = op.getGroups();
  conv.channels = w.getDimSize(1);
  conv.filters = w.getDimSize(0) / conv.groups;
  for (int64_t i = 0; i < spatial; ++i) {
    PlaneAxis &axis = conv.axes[3 - spatial + i];
    axis = {x.getDimSize(i + 2), y.getDimSize(i + 2),  w.getDimSize(i + 2),
            op.getStrides()[i],  op.getDilations()[i], op.getLow()[i]};
    axis.open = x.isDynamicDim(i + 2) || y.isDynamicDim(i + 2);
    if (y.isDynamicDim(i + 2))
      axis.output = spatial == 1 ? kTypicalLine : kTypicalExtent;
    if (x.isDynamicDim(i + 2))
      axis.input = axis.output * axis.stride;
  }
  return conv;
}

/// Filters of a register tile: of equal tiles, at most so many as leave registers for vectors.
static int64_t tileFilters(const CpuTarget &cpu, int64_t filters) {
  constexpr unsigned manyRegisters = 32;
  int64_t most = cpu.vectorRegisters >= manyRegisters ? 8 : 4;
  return llvm::divideCeil(filters, llvm::divideCeil(filters, most));
}

/// Of the copies of a task.
static constexpr int64_t kCopyBytes = 128 << 10;

/// `cut` with the register tiles and channels that go with its lines.
static PlaneCut withTiles(const CpuTarget &cpu, const PlaneConv &conv, PlaneCut cut) {
  constexpr int64_t kMostVectors = 8;
  int64_t registers = cpu.vectorRegisters, vectors = cut.sumStride(conv) / cut.lanes;
  int64_t most = std::clamp<int64_t>((registers - 1) / (cut.rows + 1), 1, kMostVectors);
  cut.vectors = llvm::divideCeil(vectors, llvm::divideCeil(vectors, most));
  int64_t taps = conv.taps(), channels = std::max<int64_t>(1, kSumBlock / taps);
  channels = std::min(channels, std::max<int64_t>(1, kCopyBytes / 4 / cut.channelStride(conv)));
  channels = std::min(channels, conv.channels);
  cut.channels = llvm::divideCeil(conv.channels, llvm::divideCeil(conv.channels, channels));
  return cut;
}

/// Cycles of a core in register tiles of pixels.
static double cyclesOf(const PlaneConv &conv, const PlaneCut &cut) {
  constexpr double kLine = 8, kCopied = 4, kStored = 6, kAdded = 1.5;
  double blocks = double(llvm::divideCeil(conv.axes[1].output, cut.lines)) *
                  llvm::divideCeil(conv.axes[2].output, cut.columns) * conv.axes[0].output;
  double tasks = double(conv.batch) * conv.groups * blocks;
  double terms = double(conv.channels) * conv.taps();
  double vectors = double(cut.sumStride(conv)) / cut.lanes;
  double tiles = llvm::divideCeil(conv.filters, cut.rows);
  // Multiply-adds, two a cycle, or loads: vectors lie across two lines of the cache.
  double products = conv.filters * vectors / 2;
  double chunks = std::ceil(vectors / cut.vectors);
  double loads = (tiles * vectors * 1.8 + chunks * conv.filters) / 2 + tiles * chunks;
  double latency = tiles * chunks * 4;
  double planes = conv.axes[1].planes().size() * conv.axes[2].planes().size();
  double copies = double(conv.channels) * conv.axes[0].kernel * planes *
                  conv.axes[1].length(cut.lines) *
                  (kLine + kCopied * llvm::divideCeil(cut.lineStride(conv), cut.lanes));
  double stored = double(conv.filters) * cut.lines * llvm::divideCeil(cut.columns, cut.lanes);
  double runs = std::ceil(double(conv.channels) / cut.channels);
  return tasks * (terms * std::max({products, loads, latency}) + copies + kStored * stored +
                  kAdded * runs * conv.filters * vectors);
}

std::optional<PlaneCut> planeCut(const CpuTarget &cpu, const PlaneConv &conv) {
  constexpr int64_t kSumBytes = 64 << 10, kMostColumns = 512, kMostPixels = 1024, kFewTasks = 8;
  constexpr double kFewer = 0.97;
  PlaneCut cut;
  cut.lanes = cpu.lanes(32);
  cut.rows = tileFilters(cpu, conv.filters);
  const PlaneAxis &width = conv.axes[2], &height = conv.axes[1];
  int64_t parts = llvm::divideCeil(width.output, kMostColumns);
  cut.columns = llvm::divideCeil(width.output, parts);
  auto fits = [&](int64_t lines, int64_t columns) {
    PlaneCut tried = cut;
    tried.lines = lines;
    tried.columns = columns;
    tried = withTiles(cpu, conv, tried);
    return tried.waitingFilters(cpu, conv) * tried.sumStride(conv) * 4 <= kSumBytes &&
           tried.channelStride(conv) * 4 <= kCopyBytes;
  };
  while (cut.columns > cut.lanes && !fits(1, cut.columns))
    cut.columns = llvm::divideCeil(width.output, ++parts);
  if (!fits(1, cut.columns))
    return std::nullopt;
  // Blocks of whole lines: the more, the fewer lines are copied twice and the longer the runs.
  if (parts == 1) {
    int64_t others = conv.batch * conv.groups * conv.axes[0].output;
    // Blocks, so that threads have some.
    int64_t least = conv.hasOpenPlanes() ? 1 : llvm::divideCeil(kFewTasks, others);
    while (cut.lines < height.output && fits(cut.lines + 1, cut.columns)) {
      PlaneCut more = cut;
      ++more.lines;
      if (more.pixels(conv) > kMostPixels ||
          (int64_t(llvm::divideCeil(height.output, more.lines)) < least && cut.pixels(conv) >= 96))
        break;
      cut = more;
    }
    cut.lines = llvm::divideCeil(height.output, llvm::divideCeil(height.output, cut.lines));
    // The last vector of many lines may be mostly empty, where that of fewer is full.
    double fewest = kFewer * cyclesOf(conv, withTiles(cpu, conv, cut));
    for (int64_t lines = cut.lines - 1, most = cut.lines; lines > most / 2; --lines) {
      PlaneCut fewer = cut;
      fewer.lines = lines;
      if (double cycles = cyclesOf(conv, withTiles(cpu, conv, fewer)); cycles < fewest) {
        fewest = cycles;
        cut = fewer;
      }
    }
  }
  return withTiles(cpu, conv, cut);
}

bool comesAtRunTime(Value filters) {
  Operation *from = filters.getDefiningOp();
  if (auto cast = dyn_cast_or_null<prim::CastOp>(from)) // which is folded
    from = cast.getX().getDefiningOp();
  return !from || !prim::has<prim::ModelConstant>(from);
}

/// The same with vectors of filters, channels last; `steps`: multiply-adds at once.
static double channelsLastCycles(const CpuTarget &cpu, prim::ConvOp op, const PlaneConv &conv,
                                 int64_t steps) {
  constexpr double kMoved = 0.25, kFarPart = 1.5, kTiles = 0.6, kTapPointer = 1, kGathered = 1.5,
                   kNear = 1.15, kReadAgain = 4.5, kLoop = 3;
  constexpr int64_t kFewChannels = 16;
  double inputPixels = conv.batch, pixels = conv.batch;
  for (const PlaneAxis &axis : conv.axes) {
    inputPixels *= axis.input;
    pixels *= axis.output;
  }
  // What is turned beyond L2 is written in squares, whose lines are parts of those of a cache.
  auto moved = [&](double elements) {
    double bytes = elements * sizeof(float);
    bool isFar = bytes > double(cpu.l2Bytes) && cpu.vectorBits / 8 < cpu.lineBytes;
    return elements * (kMoved + (isFar ? kFarPart : 0));
  };
  double lanes = cpu.lanes(32);
  bool isNarrow =
      narrowGroupLanes(cpu, ConvExtents{conv.groups, conv.filters, conv.channels, conv.taps()});
  double slots = isNarrow ? std::ceil(conv.groups * conv.filters / lanes)
                          : conv.groups * std::ceil(conv.filters / lanes);
  double terms = double(llvm::divideCeil(conv.channels, steps)) * conv.taps();
  double products = pixels * slots * terms / 2 * kNear;
  if (conv.isDepthwise()) {
    // Twice as many pixels under the taps of a line as sets keep are read again and again.
    int64_t read = conv.axes[0].kernel * conv.axes[1].kernel * conv.axes[2].input;
    if (shareSets(conv.groups * int64_t(sizeof(float)), read / 2))
      products *= kReadAgain;
    if (comesAtRunTime(op.getW()))
      products *= kLoop;
  }
  if (ArrayRef<int64_t> masks = prim::presentTaps(op); !masks.empty()) { // the others are left out
    double present = 0;
    for (int64_t mask : masks)
      present += llvm::popcount(uint64_t(mask));
    products *= present / (double(masks.size()) * conv.taps());
  }
  const PlaneAxis *axes = conv.axes;
  bool isSquare = op.getStrides().size() == 2 &&
                  llvm::all_of(llvm::ArrayRef(axes + 1, 2), [](const PlaneAxis &axis) {
                    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
                  });
  if (isSquare &&
      prefersWinograd(cpu, {conv.batch, axes[1].output, axes[2].output, conv.channels, conv.filters,
                            axes[1].output * axes[2].output * int64_t(sizeof(float)), conv.groups}))
    products *= kTiles;
  // A pointer for each tap of a pixel, and few channels behind it.
  double reads = 0;
  if (conv.taps() > 1 && !isNarrow)
    reads =
        pixels * conv.groups * conv.taps() *
        (conv.channels < kFewChannels && conv.groups > 1 ? kGathered + kTapPointer : kTapPointer);
  double groups = conv.groups;
  return products + reads + moved(inputPixels * groups * conv.channels) +
         moved(pixels * groups * conv.filters);
}

std::optional<double> planeTileCycles(const CpuTarget &cpu, prim::ConvOp op) {
  std::optional<PlaneConv> conv = planeConv(op);
  std::optional<PlaneCut> cut = conv ? planeCut(cpu, *conv) : std::nullopt;
  if (!cut)
    return std::nullopt;
  return cyclesOf(*conv, *cut);
}

bool prefersPlaneTiles(const CpuTarget &cpu, prim::ConvOp op, int64_t steps) {
  constexpr double kMargin = 0.9;
  constexpr int64_t kMostStride = 8;
  std::optional<PlaneConv> conv = planeConv(op);
  if (!conv || !cpu.fma || conv->axes[2].stride > kMostStride)
    return false;
  ConvExtents extents{conv->groups, conv->filters, conv->channels, conv->taps()};
  std::optional<double> cycles = planeTileCycles(cpu, op);
  if (cycles && narrowGroupLanes(cpu, extents)) {
    // Those that a run brings have no other template. Where a vector is a line of the cache, others
    // have not been measured.
    if (!conv->isDepthwise() && comesAtRunTime(op.getW()))
      return true;
    if (cpu.vectorBits / 8 >= cpu.lineBytes)
      return false;
  }
  return cycles && *cycles < kMargin * channelsLastCycles(cpu, op, *conv, steps);
}

} // namespace tcc
