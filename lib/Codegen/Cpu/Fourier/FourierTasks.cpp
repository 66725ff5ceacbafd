//===- FourierTasks.cpp - How lines of a transform become tasks -----------===//
#include "../SpecialKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether two real lines are done as a complex one.
static bool pairsLines(prim::FourierOp op) {
  int64_t n = op.getLength();
  auto result = cast<RankedTensorType>(op.getParts()[0].getType());
  return op.toReal() || (op.fromReal() && result.getDimSize(op.getAxis()) == n / 2 + 1);
}

/// Whether a line along the last axis is done alone, where `lines` could be done beside each
/// other: those of some length would not stay in a near cache.
static bool isMatrix(prim::FourierOp op, int64_t lines) {
  constexpr int64_t kLongest = 256; // beside each other
  int64_t n = op.getLength();
  if (n < kShortestFourierMatrix)
    return false;
  int64_t have = 1;
  for (int64_t d : cast<RankedTensorType>(op.getRe().getType()).getShape().drop_back())
    have = ShapedType::isDynamic(d) ? lines : std::min(have * d, lines);
  return n > kLongest || have < lines || !hasFourierStages(n);
}

FourierTasks tcc::codegen::fourierTasks(prim::FourierOp op, cpu::SpecialScheduleAttr schedule) {
  auto type = cast<RankedTensorType>(op.getRe().getType());
  constexpr int64_t kRegisters = 4; // of 32-bit lanes, that the schedule has
  FourierTasks tasks;
  tasks.lanes =
      std::max<int64_t>(2, schedule.getLanes() / kRegisters * 32 / type.getElementTypeBitWidth());
  tasks.pairs = pairsLines(op);
  int64_t together = tasks.pairs ? 2 : 1;
  tasks.lines = together * tasks.lanes;
  int64_t inner = pointsAfter(type, op.getAxis());
  bool open = llvm::any_of(type.getShape().drop_front(op.getAxis() + 1), ShapedType::isDynamic);
  tasks.across = open || inner >= tasks.lanes;
  if (!open && inner == 1 && isMatrix(op, tasks.lines)) {
    tasks.matrix = fourierMatrix(op.getLength(), tasks.lanes);
    tasks.lines = together;
  }
  return tasks;
}
