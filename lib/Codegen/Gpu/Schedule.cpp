//===- Schedule.cpp - How a kernel is cut into blocks ---------------------===//
//
// The model behind GPU schedules: how a launch is cut into blocks, and how many elements a thread
// takes. It prefers what fills the machine, then what reads memory in whole lines. What it chooses
// is recorded on the launch; the kernel's template and the host's count of blocks read it there,
// because they would disagree if each computed it.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "MatrixTile.h"
#include "MmaTile.h"
#include "ScheduleChoice.h"
#include "TransposedOperand.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static unsigned elementBytes(Type e) {
  return std::max(1u, storageType(e).getIntOrFloatBitWidth() / 8);
}

/// Elements, or -1 when they are not known.
static int64_t elements(RankedTensorType type) {
  return type.hasStaticShape() ? type.getNumElements() : -1;
}

/// 32 where every number of an element fits, with room for the threads past the end.
static unsigned indexBits(kernel::LaunchOp launch) {
  constexpr int64_t kMost = int64_t(1) << 30;
  bool small = true;
  auto look = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      small &= tensor.hasStaticShape() && tensor.getNumElements() < kMost;
    else
      small &= !type.isIndex() && !type.isInteger(64);
  };
  for (Type type : launch->getOperandTypes())
    look(type);
  for (Operation &op : launch.getBody().front())
    for (Type type : op.getResultTypes())
      look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  return small ? 32 : 64;
}

/// A channels-last convolution with a filter for each channel, whose neighbours lie together too.
static bool isDepthwise(prim::ConvOp conv) {
  auto w = tensorType(conv.getW());
  auto order = dyn_cast_if_present<prim::AxisOrderAttr>(prim::layoutOf(w));
  return conv.getChannelsLast() && w.getDimSize(1) == 1 &&
         w.getDimSize(0) == int64_t(conv.getGroups()) && order && order.getOrder().back() == 0;
}

/// Whether neighbours of a result come from neighbours of what is in memory, as far as can be
/// seen at a glance: vectors would otherwise be gathered one by one.
static bool keepsNeighbours(kernel::LaunchOp launch) {
  return llvm::none_of(launch.getBody().front(), [](Operation &op) {
    if (auto transpose = dyn_cast<prim::TransposeOp>(op)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      return !permutation.empty() && permutation.back() + 1 != int64_t(permutation.size());
    }
    if (auto conv = dyn_cast<prim::ConvOp>(op))
      return !isDepthwise(conv);
    if (auto pool = dyn_cast<prim::PoolOp>(op))
      return !pool.getChannelsLast();
    return isa<prim::ReverseOp, prim::PadOp, prim::ConcatOp, prim::TakeAlongOp, prim::GatherNdOp,
               prim::DotOp>(op);
  });
}

unsigned device::lanesFor(kernel::LaunchOp launch, RankedTensorType space) {
  constexpr unsigned kMost = 8;
  if (space.getRank() == 0 || space.isDynamicDim(space.getRank() - 1) || !keepsNeighbours(launch))
    return 1;
  unsigned narrowest = 8;
  auto look = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && (elements(tensor) < 0 || elements(tensor) * 2 >= elements(space)))
      narrowest = std::min(narrowest, elementBytes(tensor.getElementType()));
  };
  for (Type type : launch.getInputs().getTypes())
    look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  unsigned lanes = std::min<unsigned>(kMost, GpuArch::accessBytes / narrowest);
  while (lanes > 1 && space.getShape().back() % lanes != 0)
    lanes /= 2;
  return lanes;
}

/// The last axis where it is short, as the channels of a pixel are: written at once, wherever its
/// elements are gathered from. Neighbouring threads read neighbouring pixels then. 1: it is not.
static unsigned shortLastAxis(kernel::LaunchOp launch, RankedTensorType space) {
  bool views = llvm::all_of(launch.getBody().front().without_terminator(), [](Operation &op) {
    return prim::isElementwise(&op) || isa<prim::PadOp, prim::TransposeOp, prim::ReshapeOp>(op) ||
           op.hasTrait<prim::Generated>();
  });
  int64_t extent = space.getRank() > 1 ? space.getShape().back() : 1;
  bool fits = llvm::all_of(launch.getResultTypes(), [&](Type type) {
    return extent * elementBytes(cast<RankedTensorType>(type).getElementType()) <=
           GpuArch::accessBytes;
  });
  return views && fits && extent > 1 && llvm::isPowerOf2_64(extent) ? unsigned(extent) : 1;
}

static void scheduleLoop(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  s.lanes = lanesFor(launch, space);
  if (s.lanes == 1)
    s.lanes = shortLastAxis(launch, space);
  int64_t total = elements(space);
  if (total < 0)
    return;
  // Few points: rather one a thread than an idle multiprocessor.
  int64_t busy = int64_t(arch.multiprocessors) * s.threads;
  while (s.lanes > 1 && total / s.lanes < busy)
    s.lanes /= 2;
  if (s.lanes > 1)
    while (s.vectors * s.lanes < 16 && total / (s.lanes * s.vectors * 2) >= 8 * busy)
      s.vectors *= 2;
}

/// A depthwise convolution whose results are what follows it, pixel by pixel.
static prim::ConvOp depthwiseIn(kernel::LaunchOp launch) {
  auto conv = dyn_cast_or_null<prim::ConvOp>(productOf(launch));
  bool plain = conv && isDepthwise(conv) && keepsNeighbours(launch) && isEpilogue(launch, conv) &&
               llvm::all_of(conv.getInputDilation(), [](int64_t gap) { return gap == 1; });
  auto shape = cast<RankedTensorType>(launch.getResultTypes()[0]).getShape();
  return plain && shape == tensorType(conv.getResult()).getShape() ? conv : prim::ConvOp();
}

/// Whether threads have to share the points' reductions to fill the machine.
static bool sharesReduction(kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kLong = 16; // elements of a reduction worth sharing
  prim::ReduceOp reduce = columnReduction(launch);
  if (!reduce)
    return false;
  int64_t points = elements(tensorType(reduce.getResult())),
          all = elements(tensorType(reduce.getX()));
  return points > 0 && all >= kLong * points && points < int64_t(arch.multiprocessors) * 1024;
}

/// Without the axes of one element at the end.
static RankedTensorType trimmed(RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  while (!shape.empty() && shape.back() == 1)
    shape = shape.drop_back();
  return RankedTensorType::get(shape, type.getElementType());
}

/// Vectors of neighbouring results, if neighbours lie together; the threads of a block that few
/// results leave over share their elements. Blocks share results until the machine is full, as
/// long as each has work to do, and if there is enough of it to be worth meeting in memory; else
/// each has fewer results.
static void scheduleColumn(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  // Blocks of a multiprocessor; rounds of loads of a thread alone, and of one that shares.
  constexpr int64_t kBlocks = 2, kWorthSharing = 8, kRounds = 2;
  constexpr unsigned kAccumulated = 32; // bytes of a thread, which meet in shared memory
  constexpr unsigned kFewestThreads = 128;
  constexpr int64_t kStrip = 128; // bytes
  s.form = Form::Column;
  prim::ReduceOp reduce = columnReduction(launch);
  auto x = tensorType(reduce.getX()), kept = tensorType(reduce.getResult());
  if (!llvm::is_contained(reduce.getAxes(), trimmed(x).getRank() - 1))
    s.lanes =
        std::min(lanesFor(launch, trimmed(kept)),
                 lanesFor(launch, trimmed(cast<RankedTensorType>(launch.getResultTypes()[0]))));
  unsigned bytes = elementBytes(computeType(x.getElementType()));
  while (s.lanes > 1 && s.lanes * bytes > kAccumulated)
    s.lanes /= 2;
  int64_t points = elements(kept), length = elements(x) / points;
  int64_t units = llvm::divideCeil(points, s.lanes);
  auto side =
      static_cast<unsigned>(std::min<int64_t>(GpuArch::warp, int64_t(llvm::PowerOf2Ceil(units))));
  auto shareBy = [&](unsigned neighbours) {
    side = neighbours;
    s.threads = GpuArch::threads;
    // A thread has its loads in flight at once.
    while (s.threads > kFewestThreads && length < int64_t(kColumnLoads) * s.threads / side)
      s.threads /= 2;
    s.rowThreads = s.threads / side;
  };
  shareBy(side);
  int64_t blocks = llvm::divideCeil(units, side), round = int64_t(kColumnLoads) * s.rowThreads;
  int64_t split = std::min<int64_t>(llvm::divideCeil(kBlocks * arch.multiprocessors, blocks),
                                    length / (kRounds * round));
  if (split >= 2 && length >= kWorthSharing * round) {
    s.split = split;
    s.scratchBytes = kCounterBytes + blocks * split * side * s.lanes * 8;
    return;
  }
  // Too little to meet in memory: narrower blocks, as long as neighbours read enough together.
  while (int64_t(side / 2) * s.lanes * elementBytes(x.getElementType()) >= kStrip &&
         int64_t(llvm::divideCeil(units, side)) < arch.multiprocessors)
    shareBy(side / 2);
}

/// Whether a product of few rows reads its right operand along what it sums.
static bool isSkinny(Operation *op) {
  constexpr int64_t kRows = 8, kShort = 128; // elements of k
  auto dot = dyn_cast<prim::DotOp>(op);
  if (!dot || dot.getRhsContract().empty())
    return false;
  auto last = [](Value v, ArrayRef<int64_t> axes) {
    return axes.back() + 1 == tensorType(v).getRank();
  };
  ProductSizes sizes = ProductSizes::of(op);
  return sizes.rows > 0 && sizes.rows <= kRows && sizes.inner >= kShort &&
         last(dot.getLhs(), dot.getLhsContract()) && last(dot.getRhs(), dot.getRhsContract());
}

/// A few columns a warp: as many as keep its lanes busy at the end.
static void scheduleSkinny(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  s.form = Form::Skinny;
  s.threads = 128;
  ProductSizes sizes = ProductSizes::of(productOf(launch));
  int64_t warps = int64_t(arch.multiprocessors) * s.threads / GpuArch::warp;
  s.columns = 4;
  while (s.columns > 1 && sizes.batch * sizes.columns < 2 * warps * int64_t(s.columns))
    s.columns /= 2;
}

/// Whether few rows go through mma.sync without shared memory: both operands lie along what is
/// summed, in whole pieces of 16 bytes.
static bool isSkinnyMma(Operation *op, const MmaProduct &product) {
  constexpr int64_t kRows = MatrixInstruction::rows;
  auto dot = dyn_cast<prim::DotOp>(op);
  if (!dot || product.rows < 1 || product.rows > kRows)
    return false;
  auto isLast = [&](Value v, ArrayRef<int64_t> axes) {
    RankedTensorType type = tensorType(v);
    int64_t bytes = type.getShape().back() * product.instruction.elementBytes();
    return axes.back() + 1 == type.getRank() && bytes % GpuArch::accessBytes == 0;
  };
  return isLast(dot.getLhs(), dot.getLhsContract()) && isLast(dot.getRhs(), dot.getRhsContract());
}

/// Columns of a block, warps that share k and steps that a warp has on their way: what has memory
/// busiest. All multiprocessors have about as many columns, and bytes on their way for its
/// latency.
static void scheduleSkinnyMma(ScheduleChoice &s, const MmaProduct &product, const GpuArch &arch) {
  constexpr int64_t kStep = 64, kOpen = 4096, kWarps = 24; // bytes; columns; of a multiprocessor
  constexpr double kClock = 1.8e9, kLatency = 1400, kStart = 1500; // cycles
  s.form = Form::SkinnyMma;
  double memory = double(arch.bytesPerSecond) / arch.multiprocessors / kClock;
  int64_t steps = llvm::divideCeil(product.inner * product.instruction.elementBytes(), kStep);
  int64_t across = (product.batch < 0 ? 1 : product.batch), n = product.columns;
  int64_t most = product.rows > MatrixInstruction::rows / 2 ? 4 : 8; // pieces in registers
  double least = 0;
  for (int64_t columns : {32, 16, 8})
    for (int64_t warps = std::clamp<int64_t>(steps, 1, 16); warps >= std::min<int64_t>(steps, 4);
         warps /= 2)
      for (int64_t depth = most * 8 / columns; depth >= 1; depth /= 2) {
        int64_t rounds = llvm::divideCeil(steps, warps * depth);
        int64_t each = llvm::divideCeil(across * llvm::divideCeil(n < 0 ? kOpen : n, columns),
                                        arch.multiprocessors);
        int64_t resident = std::min(each, std::max<int64_t>(1, kWarps / warps));
        double onTheirWay = double(resident * warps * depth * columns * kStep);
        double bytes = double(each * rounds * warps * depth * columns * kStep);
        double waves = double(llvm::divideCeil(each, resident));
        double cost = kStart * waves + bytes / std::min(memory, onTheirWay / kLatency);
        if (least != 0 && cost >= least)
          continue;
        least = cost;
        s.threads = warps * GpuArch::warp;
        s.columns = columns;
        s.depth = depth;
      }
}

/// Large tiles read shared memory less often, if there are enough of them.
static void scheduleProduct(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kLarge = 128;
  Operation *op = productOf(launch);
  auto result = tensorType(op->getResult(0));
  s.form = Form::Product;
  s.rows = s.columns = 64;
  s.depth = 16;
  if (computeType(sumType(result.getElementType())).getIntOrFloatBitWidth() > 32) {
    s.depth = 8;
    return;
  }
  int64_t columns = result.getRank() ? result.getShape().back() : 1;
  if (auto conv = dyn_cast<prim::ConvOp>(op))
    columns = tensorType(conv.getW()).getDimSize(0) / int64_t(conv.getGroups());
  if (!ShapedType::isDynamic(columns) && columns >= kLarge &&
      elements(result) >= kLarge * kLarge * arch.multiprocessors)
    s.rows = s.columns = kLarge;
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//
// Estimates in cycles of a multiprocessor. They rank tiles, and the two templates where both
// take a product.

/// The tile whose waves over the machine take least: a wide one does more with what it
/// fetches, a narrow one leaves fewer multiprocessors idle in the last wave.
static double scheduleWgmma(ScheduleChoice &s, MatrixProduct product, const GpuArch &arch) {
  constexpr int64_t kFixed = 64;     // what a step costs beside its columns, in columns
  constexpr double kCycles = 4;      // of a column of 128 rows and 64 of k
  constexpr double kPipeline = 2500; // cycles until the first step, and of the epilogue
  s.form = Form::Wgmma;
  s.threads = MatrixTile::threads();
  s.mostBlocks = arch.multiprocessors;
  s.rows = 128;
  int64_t rows = 1;
  for (int64_t d : tensorType(product.rows()).getShape().take_front(product.rowAxes))
    rows = ShapedType::isDynamic(d) || rows < 0 ? -1 : rows * d;
  int64_t down = rows < 0 ? arch.multiprocessors / 8 : llvm::divideCeil(rows, s.rows);
  int64_t steps = product.steps();
  double least = 0;
  for (int64_t columns : {256, 192, 128, 64}) {
    if (product.window && !product.window->fits(columns))
      continue;
    int64_t tiles = down * llvm::divideCeil(product.columns, columns);
    double cost = double(llvm::divideCeil(tiles, arch.multiprocessors)) *
                  (double(steps * (columns + kFixed)) * kCycles + kPipeline);
    if (least == 0 || cost < least) {
      least = cost;
      s.columns = columns;
    }
  }
  s.sharedBytes = MatrixTile::fit(s.rows, s.columns, arch.sharedBytes).sharedBytes();
  return least;
}

/// Slices on their way: enough for the latency of memory, if two blocks fit then. Few rows do
/// little else than to wait for memory.
static unsigned stagesFor(const MmaTile &tile, int64_t steps, const GpuArch &arch) {
  constexpr int64_t kFewRows = 32, kInFlight = 64 << 10, kMost = 8;
  constexpr int64_t kStatic = 1024; // bytes of other shared memory
  int64_t shared = arch.sharedBytes - kStatic, fit = shared / tile.stageBytes();
  int64_t bytes = tile.rows <= kFewRows ? std::max(kInFlight, shared / 2 - kStatic) : kInFlight;
  int64_t wanted = std::clamp<int64_t>(bytes / tile.stageBytes(), 3, kMost);
  return static_cast<unsigned>(std::min({fit, wanted, std::max<int64_t>(steps, 2)}));
}

static double mmaCost(const MmaTile &tile, unsigned stages, int64_t split,
                      const MmaProduct &product, const GpuArch &arch) {
  constexpr double kProducts = 1024, kShared = 128, kL2 = 40; // a cycle: of 16 bits, bytes, bytes
  constexpr double kStep = 650, kMemory = 1000, kPipeline = 1500, kMeeting = 2000; // latencies
  auto tiles = [](int64_t extent, unsigned size) {
    return extent < 0 ? 8 : int64_t(llvm::divideCeil(extent, size));
  };
  int64_t blocks = (product.batch < 0 ? 8 : product.batch) * tiles(product.rows, tile.rows) *
                   tiles(product.columns, tile.columns) * split;
  double warps = tile.threads() / 32;
  double step = std::max({double(tile.rows) * tile.columns * 64 / kProducts,
                          warps * (tile.warpRows + tile.warpColumns) * tile.lineBytes / kShared,
                          tile.stageBytes() / kL2});
  int64_t resident = std::max<int64_t>(1, arch.sharedBytes / (stages * tile.stageBytes()));
  int64_t each = llvm::divideCeil(blocks, arch.multiprocessors);
  int64_t together = std::min(each, resident);
  double steps = double(llvm::divideCeil(product.steps(), split));
  double latency = std::max(kStep, kMemory / (stages - 1));
  double cost = double(llvm::divideCeil(each, together)) *
                (steps * std::max(latency, double(together) * step) + kPipeline);
  if (split > 1)
    cost += kMeeting + double(split) * tile.rows * tile.columns * 4 / kL2;
  return cost;
}

static double scheduleMma(ScheduleChoice &s, const MmaProduct &product, const GpuArch &arch) {
  constexpr int64_t kShortest = 4; // steps of a block that shares a tile
  s.form = Form::Mma;
  s.depth = product.depth();
  bool known = product.batch >= 0 && product.rows >= 0 && product.columns >= 0;
  double least = 0;
  for (const MmaTile &tile : MmaTile::all()) {
    unsigned stages = stagesFor(tile, product.steps(), arch);
    if (stages < std::clamp<int64_t>(product.steps(), 2, 3))
      continue; // too large for the architecture
    int64_t tiles = !known ? 0
                           : product.batch * llvm::divideCeil(product.rows, tile.rows) *
                                 llvm::divideCeil(product.columns, tile.columns);
    for (int64_t split : {1, 2, 3, 4, 6, 8, 12, 16}) {
      bool shares = known && tiles <= int64_t(kCounterBytes / sizeof(int32_t)) &&
                    split * kShortest <= product.steps();
      if (split > 1 && !shares)
        break;
      double cost = mmaCost(tile, stages, split, product, arch);
      if (least != 0 && cost >= least)
        continue;
      least = cost;
      s.rows = tile.rows;
      s.columns = tile.columns;
      s.threads = tile.threads();
      s.vectors = stages;
      s.sharedBytes = stages * tile.stageBytes();
      s.split = split;
      s.scratchBytes = split > 1 ? kCounterBytes + tiles * split * tile.rows * tile.columns * 4 : 0;
    }
  }
  return least;
}

/// A product on matrix units by each template that takes it, and in the general form.
static void scheduleProducts(SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                             const GpuArch &arch, bool tf32) {
  constexpr double kSurely = 0.75; // of the other template's estimate
  ScheduleChoice start = all.pop_back_val(), wgmma = start, mma = start, general = start;
  auto matrices = arch.matrixUnit == MatrixUnit::Wgmma ? matrixProduct(launch) : std::nullopt;
  auto product = arch.matrixUnit != MatrixUnit::None ? mmaProduct(launch, tf32) : std::nullopt;
  double wgmmaCost = matrices ? scheduleWgmma(wgmma, *matrices, arch) : 0;
  double mmaCost = product ? scheduleMma(mma, *product, arch) : 0;
  if (matrices)
    all.push_back(wgmma);
  if (product)
    all.insert(matrices && mmaCost < kSurely * wgmmaCost ? all.begin() : all.end(), mma);
  if (isSkinny(productOf(launch))) {
    ScheduleChoice skinny = start;
    scheduleSkinny(skinny, launch, arch);
    all.insert(product ? all.end() : all.begin(), skinny);
  }
  if (product && isSkinnyMma(productOf(launch), *product)) {
    all.insert(all.begin(), start);
    scheduleSkinnyMma(all.front(), *product, arch);
  }
  scheduleProduct(general, launch, arch);
  all.push_back(general);
}

SmallVector<Schedule> device::schedulesFor(kernel::LaunchOp launch, const GpuArch &arch,
                                           bool tf32) {
  SmallVector<ScheduleChoice> all(1);
  ScheduleChoice &s = all[0];
  s.indexBits = indexBits(launch);
  if (launch.getKind() == kernel::KernelKind::Row) {
    s.form = Form::Row;
    scheduleRow(s, launch, arch);
  } else if (launch.getKind() == kernel::KernelKind::Special) {
    Operation *op = specialOf(launch);
    s.form = isa<prim::NonzeroOp>(op) ? Form::Collect : lineAxis(op) ? Form::Line : Form::Scatter;
    s.threads = s.form == Form::Collect ? GpuArch::warp : 128;
  } else if (launch.getKind() == kernel::KernelKind::Attention) {
    scheduleAttention(all, launch, arch);
  } else if (prim::ConvOp conv = depthwiseIn(launch)) {
    s.threads = 128;
    std::tie(s.rows, s.lanes) =
        depthwiseStrip(conv, lanesFor(launch, tensorType(conv.getResult())), arch);
  } else if (auto conv = dyn_cast_or_null<prim::ConvOp>(productOf(launch));
             conv && isDepthwise(conv) && keepsNeighbours(launch)) {
    // Nothing to share but the filters, which are small: points like any other.
    scheduleLoop(s, launch, arch);
  } else if (productOf(launch)) {
    scheduleProducts(all, launch, arch, tf32);
  } else if (transposedOperand(launch)) {
    s.form = Form::Transpose;
  } else if (sharesReduction(launch, arch)) {
    scheduleColumn(s, launch, arch);
  } else {
    scheduleLoop(s, launch, arch);
  }
  return llvm::map_to_vector(
      all, [&](const ScheduleChoice &choice) { return choice.attr(launch.getContext()); });
}

Schedule device::chooseSchedule(kernel::LaunchOp launch, const GpuArch &arch, bool tf32) {
  return schedulesFor(launch, arch, tf32).front();
}
