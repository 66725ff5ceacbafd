#include "tcc/Analysis/DotOperand.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tcc;

bool DotOperand::isContiguous(const ViewFactors::Axis &axis) const {
  if (axis.empty())
    return true;
  const ViewFactors::Factor &last = view.factor(axis.back());
  return last.scale == 1 &&
         llvm::all_of(view.sourceExtents().drop_front(last.axis + 1),
                      [](OpFoldResult d) { return getConstantIntValue(d) == 1; });
}

std::optional<DotOperand> tcc::dotOperand(prim::DotOp dot, unsigned index,
                                          ViewFactors::ExtentsFn extents,
                                          function_ref<bool(Operation *)> through) {
  return dotOperand(dot, index, dot->getOperand(index), extents, through);
}

std::optional<DotOperand> tcc::dotOperand(prim::DotOp dot, unsigned index, Value value,
                                          ViewFactors::ExtentsFn extents,
                                          function_ref<bool(Operation *)> through) {
  ArrayRef<int64_t> batch = index ? dot.getRhsBatch() : dot.getLhsBatch();
  ArrayRef<int64_t> contract = index ? dot.getRhsContract() : dot.getLhsContract();
  if (contract.size() != 1)
    return std::nullopt;
  DotOperand operand{ViewFactors::of(value, extents, through), {}, {}, {}};
  ArrayRef<ViewFactors::Axis> axes = operand.view.axes();
  if (!operand.view.isStrided())
    return std::nullopt;
  operand.contract = axes[contract[0]];
  for (int64_t axis : batch)
    operand.batch.push_back(axes[axis]);
  for (int64_t axis = 0, e = axes.size(); axis < e; ++axis)
    if (axis != contract[0] && !llvm::is_contained(batch, axis))
      operand.free.append(axes[axis]);
  for (size_t i = 0; i + 1 < operand.free.size(); ++i)
    if (!operand.view.nested(operand.free[i], operand.free[i + 1]))
      return std::nullopt;
  // Columns are loaded as vectors, along n or along k.
  if (index && !operand.isContiguous(operand.free) && !operand.isContiguous(operand.contract))
    return std::nullopt;
  return operand;
}
