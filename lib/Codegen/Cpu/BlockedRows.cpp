//===- BlockedRows.cpp - Which loops write blocks of rows -----------------===//
//
// A transpose between memory and result: lanes along the result's last axis read with
// a stride, which costs a gather a lane. If the operand is contiguous along another axis
// of the result, a task does a block of that axis, whose reads are made along it and
// transposed in registers (ElementalTranspose.cpp). Here that axis is found: each
// operand is followed from what is stored, and the operands that lie across vote.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "tcc/Analysis/AccessMap.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class OperandWalk {
public:
  explicit OperandWalk(unsigned rank) : votes(rank) {}
  void visit(Value value, const Access &at);

  SmallVector<unsigned> votes; ///< an axis: operands that are contiguous along it
  unsigned operators = 0;      ///< that compute

private:
  void read(ArrayRef<int64_t> shape, const Access &at);
  llvm::DenseMap<Value, SmallVector<Access, 1>> seen;
};

} // namespace

/// Memory of `shape` read at `at`: along which axis it lies, if not the last.
void OperandWalk::read(ArrayRef<int64_t> shape, const Access &at) {
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == 1)
    --last;
  int lanes = votes.size() - 1;
  if (last-- == 0 || at[last] < 0 || at[last] == lanes)
    return;
  if (llvm::is_contained(at, lanes) && !llvm::is_contained(at, kUnknown))
    ++votes[at[last]];
}

void OperandWalk::visit(Value value, const Access &at) {
  auto &known = seen[value];
  if (llvm::is_contained(known, at))
    return;
  known.push_back(at);
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op)
    return read(type.getShape(), at);
  operators += prim::isElementwise(op);
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op))
    if (isa<BlockArgument>(reshape.getX()))
      return read(type.getShape(), at); // the same elements in the same order
  if (auto slice = dyn_cast<prim::SliceOp>(op))
    if (llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }))
      return visit(slice.getX(), at);
  if (!prim::isElementwise(op) &&
      !isa<prim::ReshapeOp, prim::BroadcastOp, prim::TransposeOp, prim::SliceOp>(op))
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      visit(operand.get(), operandAccess(op, operand.getOperandNumber(), at));
}

std::optional<BlockedAxis> tcc::codegen::blockedAxis(kernel::LaunchOp launch,
                                                     const CpuTarget &cpu) {
  constexpr int64_t kFewest = 4, kSmallBody = 6, kLargeBody = 24;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (type.getRank() < 2)
    return std::nullopt;
  unsigned lanes = lanesFor(cpu, launch, type.getShape().back());
  OperandWalk walk(type.getRank());
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  for (Value value : yield.getValues())
    walk.visit(value, identityAccess(type.getRank()));

  auto best = std::max_element(walk.votes.begin(), walk.votes.end());
  unsigned axis = best - walk.votes.begin();
  int64_t extent = type.getDimSize(axis);
  if (*best == 0 || lanes < kFewest || (!ShapedType::isDynamic(extent) && extent < kFewest))
    return std::nullopt;
  // Every row is written out: few of them where much is computed, or held in registers.
  int64_t rows = walk.operators <= kSmallBody && *best == 1 ? 16
                 : walk.operators <= kLargeBody             ? 8
                                                            : 4;
  unsigned bits = type.getElementTypeBitWidth();
  rows = std::min<int64_t>({rows, lanes, bits > 32 ? 8 : 16});
  // The block that leaves the fewest rows to be done one by one.
  if (!ShapedType::isDynamic(extent))
    while (rows > kFewest && (rows > extent || extent % rows > extent % (rows / 2) + extent / 8))
      rows /= 2;
  return BlockedAxis{axis, rows};
}
