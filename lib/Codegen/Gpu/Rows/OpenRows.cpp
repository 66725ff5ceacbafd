//===- OpenRows.cpp - Rows whose length only a run knows ------------------===//
//
// How many blocks have a row, or rows a block. The host counts blocks by it and the kernel finds
// its row by it, each from the length that it knows.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value device::partsOfOpenRow(OpBuilder &b, Location loc, Value length, Schedule schedule) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value round = constant(int64_t(schedule.getRowThreads()) * schedule.getVectors());
  Value rounds = arith::CeilDivSIOp::create(b, loc, length, round);
  rounds = arith::MinSIOp::create(b, loc, rounds, constant(schedule.getSplit()));
  return arith::MaxSIOp::create(b, loc, rounds, constant(1));
}

/// The longest rows that are a warp's each; of those whose threads keep points, longer ones have
/// more threads, which keep them as well, and so have rows whose blocks have no others.
static int64_t mostInWarp(device::Schedule schedule) {
  bool alone = schedule.getRows() * GpuArch::warp < schedule.getThreads();
  return alone ? 256 : schedule.getKept() ? 512 : 1024;
}

SmallVector<device::OpenRowForm> device::openRowForms(Schedule schedule) {
  unsigned kept = schedule.getKept(), block = schedule.getThreads(), warp = GpuArch::warp;
  SmallVector<OpenRowForm> forms;
  if (kept)
    forms = {{warp, kept / 2, int64_t(kept / 2) * warp}, {warp, kept, int64_t(kept) * warp}};
  if (forms.empty() || forms.back().most < mostInWarp(schedule))
    forms.push_back({warp, 0, mostInWarp(schedule)});
  if (kept)
    forms.append(
        {{block, kept / 2, int64_t(kept / 2) * block}, {block, kept, int64_t(kept) * block}});
  forms.push_back({block, 0, ShapedType::kDynamic});
  return forms;
}

Value device::rowsOfOpenBlock(OpBuilder &b, Location loc, Value length, Schedule schedule) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value inWarp = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, length,
                                       constant(mostInWarp(schedule)));
  return arith::SelectOp::create(b, loc, inWarp, constant(schedule.getRows()), constant(1));
}
