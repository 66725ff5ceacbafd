//===- HostReads.cpp - Conditions and extents computed where they are read -===//
//
// What the host needs of a tensor of few elements it computes by itself where that comes, by
// operators on single elements, from an argument of the model:
//
//   %c = prim.compare eq %rate, %k : tensor<i64>, tensor<i64>     %r = prim.extract %rate[0]
//   %p = prim.extract %c[0]                                       %p = arith.cmpi eq, %r, 16000
//
// A kernel for one element costs a launch, and on a device a wait in the middle of the run.
//
//===----------------------------------------------------------------------===//
#include "HostReads.h"
#include "HostScalars.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tcc;

namespace {

constexpr int64_t kMostElements = 8;
constexpr unsigned kMostOperators = 16;

/// Follows one tensor to where its elements come from.
class HostReads {
public:
  explicit HostReads(PrimBuilder &pb) : pb(pb) {}
  std::optional<Dims> elements(Value tensor);

private:
  std::optional<Dims> ofArgument(BlockArgument argument);
  std::optional<Dims> ofOperator(Operation *op);
  Dim apply(Operation *op, ArrayRef<Dim> operands);

  PrimBuilder &pb;
  unsigned operators = 0;
};

} // namespace

static bool isSmall(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.hasStaticShape() && type.getNumElements() <= kMostElements &&
         isHostType(type.getElementType());
}

std::optional<Dims> HostReads::elements(Value tensor) {
  if (!isSmall(tensor))
    return std::nullopt;
  if (auto known = pb.hostElements(tensor))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return ofArgument(argument);
  if (++operators > kMostOperators)
    return std::nullopt;
  return ofOperator(tensor.getDefiningOp());
}

std::optional<Dims> HostReads::ofArgument(BlockArgument argument) {
  if (!isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return extractElements(pb, argument);
}

Dim HostReads::apply(Operation *op, ArrayRef<Dim> operands) {
  Type type = pb.elem(op->getOperand(op->getNumOperands() - 1));
  StringRef name = op->getName().getStringRef();
  if (auto compare = dyn_cast<prim::CompareOp>(op))
    return hostCompare(pb, compare.getPredicate(), type, operands[0], operands[1]);
  if (isa<prim::SelectOp>(op))
    return hostSelect(pb, type, operands[0], operands[1], operands[2]);
  if (isa<prim::CastOp>(op))
    return hostCast(pb, type, pb.elem(op->getResult(0)), operands[0]);
  return operands.size() == 1   ? hostUnary(pb, name, type, operands[0])
         : operands.size() == 2 ? hostBinary(pb, name, type, operands[0], operands[1])
                                : Dim();
}

std::optional<Dims> HostReads::ofOperator(Operation *op) {
  if (isa<prim::ReshapeOp>(op))
    return elements(op->getOperand(0));
  if (auto broadcast = dyn_cast<prim::BroadcastOp>(op)) {
    auto one = elements(broadcast.getX());
    if (!one || one->size() != 1)
      return std::nullopt;
    return Dims(pb.type(op->getResult(0)).getNumElements(), one->front());
  }
  if (!prim::isElementwise(op))
    return std::nullopt;
  SmallVector<Dims> lists;
  for (Value operand : op->getOperands()) {
    auto list = elements(operand);
    if (!list)
      return std::nullopt;
    lists.push_back(std::move(*list));
  }
  Dims result;
  for (size_t i = 0; i < lists.front().size(); ++i) {
    Dims operands = llvm::map_to_vector(lists, [&](const Dims &list) { return list[i]; });
    Dim d = apply(op, operands);
    if (!d)
      return std::nullopt;
    result.push_back(d);
  }
  return result;
}

std::optional<Dims> tcc::hostReads(PrimBuilder &pb, Value tensor) {
  return HostReads(pb).elements(tensor);
}
