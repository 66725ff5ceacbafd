//===- TaskSpace.cpp - How many tasks a launch has ------------------------===//
//
// The formulas of the schedules over the extents of a run, as host code: what a schedule
// holds is constant, what it is divided into may be known to a run only.
//
//===----------------------------------------------------------------------===//
#include "Attention/AttentionSpec.h"
#include "Convolutions/PlaneConv.h"
#include "LaunchSchedules.h"
#include "Rows/ColumnBlocks.h"
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// Host index arithmetic that folds.
struct HostIndex {
  OpBuilder &b;
  Location loc;
  OpFoldResult constant(int64_t v) { return b.getIndexAttr(v); }
  template <typename Op>
  OpFoldResult apply(OpFoldResult x, OpFoldResult y, int64_t (*fold)(int64_t, int64_t)) {
    auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
    if (cx && cy)
      return constant(fold(*cx, *cy));
    return Op::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                      getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  }
  OpFoldResult mul(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MulIOp>(x, y, [](int64_t a, int64_t c) { return a * c; });
  }
  OpFoldResult min(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MinSIOp>(x, y, [](int64_t a, int64_t c) { return std::min(a, c); });
  }
  OpFoldResult max(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MaxSIOp>(x, y, [](int64_t a, int64_t c) { return std::max(a, c); });
  }
  OpFoldResult ceilDiv(OpFoldResult x, OpFoldResult y) {
    return apply<arith::CeilDivSIOp>(x, y, [](int64_t a, int64_t c) { return (a + c - 1) / c; });
  }
  /// Of extents, which are not negative.
  OpFoldResult floorDiv(OpFoldResult x, OpFoldResult y) {
    return apply<arith::DivSIOp>(x, y, [](int64_t a, int64_t c) { return a / c; });
  }
};

} // namespace

/// Tasks worth a thread, where `grain` are of runs of `typical` points: of longer ones fewer.
static OpFoldResult grainOfRuns(HostIndex h, int64_t grain, int64_t typical, OpFoldResult points) {
  if (grain == 1)
    return h.constant(1);
  OpFoldResult all = h.constant(grain * typical);
  return h.max(h.floorDiv(all, h.max(points, h.constant(1))), h.constant(1));
}

static TaskSpace loopTasks(HostIndex h, cpu::LoopScheduleAttr schedule,
                           ArrayRef<OpFoldResult> dims) {
  if (dims.empty())
    return {h.constant(1), h.constant(1)};
  SmallVector<OpFoldResult> joined(dims.drop_back(schedule.getJoinedAxes() - 1));
  for (OpFoldResult d : dims.take_back(schedule.getJoinedAxes() - 1))
    joined.back() = h.mul(joined.back(), d);
  dims = joined;
  unsigned last = schedule.getAxis();
  OpFoldResult tasks = h.ceilDiv(dims[last], h.constant(schedule.getChunk()));
  for (auto [axis, d] : llvm::enumerate(dims.take_front(last)))
    tasks = h.mul(tasks, int64_t(axis) == schedule.getBlockAxis()
                             ? h.ceilDiv(d, h.constant(schedule.getBlockRows()))
                             : d);
  if (getConstantIntValue(dims[last]))
    return {tasks, h.constant(schedule.getGrain())};
  OpFoldResult run = h.min(dims[last], h.constant(schedule.getChunk()));
  return {tasks, grainOfRuns(h, schedule.getGrain(), kOpenRun, run)};
}

static TaskSpace rowTasks(HostIndex h, kernel::LaunchOp launch, cpu::RowScheduleAttr schedule,
                          ArrayRef<OpFoldResult> dims) {
  if (schedule.getColumns())
    return {h.constant(columnBlocks(launch, schedule)), h.constant(schedule.getGrain())};
  OpFoldResult tasks = h.constant(1);
  for (OpFoldResult d : dims.take_front(*launch.getRows()))
    tasks = h.mul(tasks, d);
  return {tasks, h.constant(schedule.getGrain())};
}

/// Tasks worth a thread, of `tasks` that make up a product of these extents.
static OpFoldResult productGrain(HostIndex h, OpFoldResult tasks, ArrayRef<OpFoldResult> extents,
                                 std::optional<int64_t> grainProducts) {
  if (!grainProducts)
    return h.constant(1);
  OpFoldResult products = h.constant(1);
  for (OpFoldResult d : extents)
    products = h.mul(products, d);
  // Rounded down, so that a product worth two threads has two, whatever its tasks are.
  OpFoldResult grain =
      h.floorDiv(h.mul(tasks, h.constant(*grainProducts)), h.max(products, h.constant(1)));
  return h.max(grain, h.constant(1));
}

/// The extents of an operand of an op in the region, as host values.
static SmallVector<Index> hostExtents(OpBuilder &b, kernel::LaunchOp launch, Value inside) {
  auto argument = cast<BlockArgument>(inside);
  return prim::dimsOf(b, launch.getLoc(), launch.getInputs()[argument.getArgNumber()]);
}

/// The extents of the product of `launch`, whose result may be a transpose of it.
static SmallVector<Index> productExtents(OpBuilder &b, kernel::LaunchOp launch) {
  SmallVector<Index> stored = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  Value yielded = launch.getBody().front().getTerminator()->getOperand(0);
  auto transpose = yielded.getDefiningOp<prim::TransposeOp>();
  if (!transpose)
    return stored;
  SmallVector<Index> extents(stored.size());
  for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
    extents[axis] = stored[i];
  return extents;
}

static TaskSpace convolutionTasks(OpBuilder &b, kernel::LaunchOp launch,
                                  const ConvSchedule &schedule, const CpuTarget &cpu) {
  auto conv = cast<prim::ConvOp>(contractionOf(launch));
  auto spec = convSpec(b, launch.getLoc(), conv, hostExtents(b, launch, conv.getX()),
                       productExtents(b, launch), cpu);
  spec->schedule = schedule;
  Index tasks = emitConvTaskCount(b, launch.getLoc(), *spec);
  const auto *product = std::get_if<ContractionSchedule>(&schedule);
  if (!product || !product->grainProducts)
    return {tasks, b.getIndexAttr(1)};
  HostIndex h{b, launch.getLoc()};
  int64_t weights = tensorType(conv.getW()).getNumElements();
  return {tasks, productGrain(h, tasks,
                              {spec->batch, spec->dims[0].output, spec->dims[1].output,
                               spec->dims[2].output, h.constant(weights)},
                              product->grainProducts)};
}

static TaskSpace planeTasks(HostIndex h, kernel::LaunchOp launch, cpu::PlaneScheduleAttr schedule) {
  auto op = cast<prim::ConvOp>(contractionOf(launch));
  PlaneConv conv = *planeConv(op);
  KernelBuilder k(h.b, launch.getLoc());
  size_t spatial = op.getStrides().size();
  SmallVector<Index> output(3, h.constant(1));
  for (auto [i, extent] : llvm::enumerate(tensorType(op.getResult()).getShape().drop_front(2)))
    output[3 - spatial + i] =
        ShapedType::isDynamic(extent) ? productExtents(h.b, launch)[i + 2] : h.constant(extent);
  OpFoldResult images = hostExtents(h.b, launch, op.getX()).front();
  PlaneRun run = planeRun(k, conv, cutOf(schedule), images, output);
  OpFoldResult tasks = h.mul(images, run.tasks);
  int64_t products = conv.groups * conv.filters * conv.channels * conv.taps();
  return {tasks,
          productGrain(h, tasks, {images, output[0], output[1], output[2], h.constant(products)},
                       schedule.getGrainProducts())};
}

static TaskSpace productTasks(OpBuilder &b, kernel::LaunchOp launch,
                              const ContractionSchedule &schedule, const CpuTarget &cpu) {
  HostIndex h{b, launch.getLoc()};
  KernelBuilder k(b, launch.getLoc());
  Operation *op = contractionOf(launch);
  auto product =
      productSpec(b, launch.getLoc(), op, hostExtents(b, launch, memoryBehind(op->getOperand(0))),
                  hostExtents(b, launch, memoryBehind(op->getOperand(1))), cpu);
  ContractionSpec &spec = product->spec;
  Index rows = spec.m;
  setSchedule(k, spec, schedule);
  Index tasks = h.mul(emitContractionTaskCount(b, launch.getLoc(), spec), product->batch);
  if (schedule.singleTile) // or none
    tasks = h.mul(tasks, k.min(rows, k.constant(1)));
  return {tasks,
          productGrain(h, tasks, {product->batch, spec.m, spec.n, spec.k}, schedule.grainProducts)};
}

static TaskSpace attentionTasks(OpBuilder &b, kernel::LaunchOp launch,
                                cpu::AttentionScheduleAttr schedule, const CpuTarget &cpu) {
  HostIndex h{b, launch.getLoc()};
  KernelBuilder k(b, launch.getLoc());
  AttentionForm form = attentionOf(launch);
  auto extents = [&](Value memory) { return hostExtents(b, launch, memory); };
  auto spec = attentionSpec(b, launch.getLoc(), form, extents, cpu);
  Index tasks = h.mul(spec->batch, spec->rowBlocks(k, schedule));
  Index columns = k.add(spec->scores.k, spec->values.n);
  Index split = h.mul(tasks, h.constant(schedule.getSplit()));
  TaskSpace space{split, productGrain(h, split, {spec->batch, spec->scores.m, spec->keys, columns},
                                      schedule.getGrainProducts())};
  if (schedule.getSplit() > 1) {
    space.secondTasks = tasks;
    int64_t taskBytes = schedule.getTaskRows() * splitRecord(form) * sizeof(float);
    space.scratchBytes = h.mul(split, h.constant(taskBytes));
  }
  return space;
}

/// Lines along an axis, or blocks of them; matrices, or columns of them; parts of what a scatter
/// changes; else one task.
static TaskSpace specialTasks(OpBuilder &b, HostIndex h, kernel::LaunchOp launch,
                              cpu::SpecialScheduleAttr schedule, ArrayRef<OpFoldResult> dims) {
  Operation *op = kernel::specialOf(launch);
  OpFoldResult tasks = h.constant(1);
  auto take = [&](OpFoldResult extent, int64_t part) {
    tasks = h.mul(tasks, part == 1 ? extent : h.ceilDiv(extent, h.constant(part)));
  };
  if (auto line = lineAxis(op)) {
    // A scan may compute what it reads, which has its result's extents.
    SmallVector<Index> extents = isa<BlockArgument>(line->first)
                                     ? hostExtents(b, launch, line->first)
                                     : SmallVector<Index>(dims);
    int64_t lines = linesPerTask(op, schedule);
    for (auto [i, d] : llvm::enumerate(extents))
      if (i != line->second)
        take(d, i + 1 == extents.size() ? lines : 1);
    if (OpFoldResult length = extents[line->second]; !getConstantIntValue(length))
      return {tasks, grainOfRuns(h, schedule.getGrain(), kTypicalExtent, length)};
  } else if (auto fourier = dyn_cast<prim::FourierOp>(op)) {
    FourierTasks parts = fourierTasks(fourier, schedule);
    OpFoldResult lines = h.constant(1);
    auto axis = static_cast<size_t>(fourier.getAxis());
    // Of pairs, whose shape may be any, all extents are known.
    SmallVector<OpFoldResult> extents(dims);
    if (RankedTensorType type = tensorType(fourier.getParts()[0]); type.hasStaticShape())
      extents = getAsIndexOpFoldResult(b.getContext(), type.getShape());
    for (auto [i, d] : llvm::enumerate(extents))
      if (i < axis && parts.across)
        take(d, 1);
      else if (i != axis)
        lines = h.mul(lines, d);
    take(lines, parts.lines);
  } else if (isa<prim::KthOp>(op)) {
    for (OpFoldResult d : dims)
      take(d, 1);
  } else if (op->hasTrait<prim::MatrixFactor>()) {
    for (OpFoldResult d : dims.drop_back(2))
      take(d, 1);
    if (int64_t columns = matrixColumns(op, schedule))
      take(dims.back(), columns);
  } else if (prim::has<prim::UpdatesFirst>(op)) {
    ScatterTasks scatter = scatterTasks(op);
    for (OpFoldResult d : dims.take_front(scatter.outer))
      take(d, 1);
    if (scatter.axis)
      take(dims[*scatter.axis], scatter.part);
  }
  return {tasks, h.constant(schedule.getGrain())};
}

TaskSpace tcc::codegen::taskSpace(OpBuilder &b, kernel::LaunchOp launch, const CpuTarget &cpu) {
  HostIndex h{b, launch.getLoc()};
  SmallVector<OpFoldResult> dims = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  bool isProduct = launch.getKind() == kernel::KernelKind::Contraction;
  return llvm::TypeSwitch<Attribute, TaskSpace>(launch.getScheduleAttr())
      .Case([&](cpu::LoopScheduleAttr s) { return loopTasks(h, s, dims); })
      .Case([&](cpu::RowScheduleAttr s) { return rowTasks(h, launch, s, dims); })
      .Case([&](cpu::AttentionScheduleAttr s) { return attentionTasks(b, launch, s, cpu); })
      .Case([&](cpu::SpecialScheduleAttr s) { return specialTasks(b, h, launch, s, dims); })
      .Case([&](cpu::ContractionScheduleAttr s) {
        return isProduct ? productTasks(b, launch, numbersOf(s), cpu)
                         : convolutionTasks(b, launch, numbersOf(s), cpu);
      })
      .Case([&](cpu::PlaneScheduleAttr s) { return planeTasks(h, launch, s); })
      .Case<cpu::WinogradScheduleAttr, cpu::LineScheduleAttr>(
          [&](auto s) { return convolutionTasks(b, launch, numbersOf(s), cpu); });
}
