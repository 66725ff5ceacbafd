//===- EpilogueOperands.cpp - What follows a product reads ----------------===//
//
// An operand is known in advance if the kernel's region reads it at one place for each element of
// the result. For a residual that is the element's own place: the way from the result back to it
// goes through operators of points and reshapes alone. For a bias it is the element's column: the
// way from it to the result begins with a repetition along the rows, and keeps the last axis where
// it is until a result is stored in another order.
//
//===----------------------------------------------------------------------===//
#include "EpilogueOperands.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool isStaticReshape(Operation *op) {
  return isa<prim::ReshapeOp>(op) && tensorType(op->getResult(0)).hasStaticShape();
}

/// The operators that read a value, not only its extents.
static auto readersOf(Value v) {
  return llvm::make_filter_range(v.getUsers(),
                                 [](Operation *user) { return !isa<prim::DimOp>(user); });
}

BlockArgument device::residualOf(kernel::LaunchOp launch, Operation *product) {
  auto result = cast<RankedTensorType>(launch.getResultTypes()[0]);
  auto isResidual = [&](BlockArgument argument) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return type && !prim::layoutOf(argument) && type.getRank() &&
           type.getElementTypeBitWidth() == 16 &&
           type.getShape().back() == result.getShape().back() &&
           llvm::hasSingleElement(readersOf(argument));
  };
  llvm::SmallSetVector<Value, 8> way;
  way.insert(launch.getBody().front().getTerminator()->getOperand(0));
  for (size_t i = 0; i < way.size(); ++i) {
    Value v = way[i];
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (isResidual(argument))
        return argument;
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (op == product || !(prim::isElementwise(op) || isStaticReshape(op)))
      continue;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        way.insert(operand);
  }
  return {};
}

/// Whether all that is computed from `repeated` has its columns in the last axis, until it is
/// stored.
static bool keepsColumns(Value repeated) {
  int64_t columns = tensorType(repeated).getShape().back();
  llvm::SmallSetVector<Value, 8> way;
  way.insert(repeated);
  for (size_t i = 0; i < way.size(); ++i)
    for (Operation *reader : readersOf(way[i])) {
      if (isa<kernel::YieldOp>(reader))
        continue;
      bool isStored = isa<prim::TransposeOp>(reader) &&
                      llvm::all_of(reader->getUsers(), llvm::IsaPred<kernel::YieldOp>);
      if (isStored)
        continue;
      bool isHere = prim::isElementwise(reader) ||
                    (isStaticReshape(reader) && tensorType(reader->getResult(0)).getRank() &&
                     tensorType(reader->getResult(0)).getShape().back() == columns);
      if (!isHere)
        return false;
      way.insert(reader->getResult(0));
    }
  return true;
}

SmallVector<BlockArgument, 2> device::perColumnOf(kernel::LaunchOp launch, Operation *product) {
  int64_t columns = tensorType(product->getResult(0)).getShape().back();
  auto isRepeated = [&](Operation *reader) {
    auto repeated = dyn_cast<prim::BroadcastOp>(reader);
    if (!repeated || repeated.getAxes().empty())
      return false;
    auto type = tensorType(repeated.getResult());
    return repeated.getAxes().back() + 1 == type.getRank() && type.getShape().back() == columns &&
           keepsColumns(repeated.getResult());
  };
  SmallVector<BlockArgument, 2> found;
  for (BlockArgument argument : launch.getBody().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getElementType().isF32() && type.hasStaticShape() && type.getRank() &&
        type.getShape().back() == columns && type.getNumElements() == columns &&
        !prim::layoutOf(argument) && llvm::all_of(readersOf(argument), isRepeated))
      found.push_back(argument);
  }
  return found;
}
