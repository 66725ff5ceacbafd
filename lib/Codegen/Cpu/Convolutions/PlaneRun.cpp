//===- PlaneRun.cpp - The cut of one run's planes -------------------------===//
//
// Of open planes the schedule records how much room there is: for copies what its lines and columns
// of planes of the size that was assumed take, and for sums. A run has lines as long as fit, all of
// one length, and as many of them as fit then.
//
//===----------------------------------------------------------------------===//
#include "PlaneRun.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Parts of equal size, at most `most`; one where there is nothing.
static Index equalParts(KernelBuilder &k, Index total, Index most) {
  Index one = k.constant(1), parts = k.max(k.ceilDiv(total, most), one);
  return k.max(k.ceilDiv(total, parts), one);
}

PlaneRun codegen::planeRun(KernelBuilder &k, const PlaneConv &conv, const PlaneCut &cut,
                           Index images, ArrayRef<Index> output) {
  constexpr int64_t kFewTasks = 8, kFewPixels = 96;
  const PlaneAxis &height = conv.axes[1], &width = conv.axes[2];
  auto constant = [&](int64_t v) { return k.constant(v); };
  Index lanes = constant(cut.lanes), groups = constant(conv.groups);
  PlaneRun run;
  if (conv.hasOpenPlanes()) {
    int64_t copied = cut.planeStride(conv) - cut.lanes, sums = cut.sumStride(conv);
    int64_t below = height.shift(height.kernel - 1), beside = width.shift(width.kernel - 1);
    int64_t mostColumns = std::min(sums, copied / (1 + below) - beside);
    run.columns = equalParts(k, output[2], constant(mostColumns));
    run.lineStride = k.add(run.columns, constant(beside));
    Index byCopies = k.sub(k.floorDiv(constant(copied), run.lineStride), constant(below));
    Index bySums =
        k.add(k.floorDiv(k.sub(constant(sums), run.columns), run.lineStride), constant(1));
    // Blocks, so that threads have some, of a few vectors at least.
    Index others = k.max(k.mul(k.mul(images, groups), output[0]), constant(1));
    Index forThreads = k.max(k.ceilDiv(output[1], k.ceilDiv(constant(kFewTasks), others)),
                             k.ceilDiv(constant(kFewPixels), run.lineStride));
    run.lines = equalParts(k, output[1], k.min(k.min(byCopies, bySums), forThreads));
    Index copiedLines = k.add(run.lines, constant(below));
    run.planeStride =
        k.add(k.mul(k.ceilDiv(k.mul(copiedLines, run.lineStride), lanes), lanes), lanes);
    int64_t planes = height.planes().size() * width.planes().size() * conv.axes[0].kernel;
    run.channelStride = k.mul(constant(planes), run.planeStride);
    Index pixels = k.mulAdd(k.sub(run.lines, constant(1)), run.lineStride, run.columns);
    run.sumStride = k.mul(k.ceilDiv(pixels, lanes), lanes);
  } else {
    run.columns = constant(cut.columns);
    run.lines = constant(cut.lines);
    run.lineStride = constant(cut.lineStride(conv));
    run.planeStride = constant(cut.planeStride(conv));
    run.channelStride = constant(cut.channelStride(conv));
    run.sumStride = constant(cut.sumStride(conv));
  }
  run.lineBlocks = k.ceilDiv(output[1], run.lines);
  run.columnBlocks = k.ceilDiv(output[2], run.columns);
  run.tasks = k.mul(k.mul(groups, output[0]), k.mul(run.lineBlocks, run.columnBlocks));
  return run;
}
