//===- EpilogueOperands.cpp - What follows a product reads ----------------===//
//
// An operand is known in advance if the kernel's region reads it at one place for each element of
// the result. For a residual that is the element's own place: the way from the result back to it
// goes through operators of points and reshapes alone.
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
