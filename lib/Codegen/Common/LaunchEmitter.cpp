#include "tcc/Codegen/Common/LaunchEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value LaunchSite::valueOf(HostCode &code, OpFoldResult inKernel) const {
  if (auto known = getConstantIntValue(inKernel))
    return arith::ConstantIndexOp::create(code.b, *known);
  auto v = cast<Value>(inKernel);
  if (auto argument = dyn_cast<BlockArgument>(v))
    return arguments[argument.getArgNumber()].front();
  Operation *op = v.getDefiningOp();
  if (auto dim = dyn_cast<prim::DimOp>(op))
    return arguments[cast<BlockArgument>(dim.getX()).getArgNumber()][dim.getAxis()];
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, valueOf(code, operand));
  return code.b.clone(*op, map)->getResult(0);
}
