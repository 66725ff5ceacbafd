#include "DirectOperand.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tcc/Analysis/DotOperand.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include <numeric>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Strides of a dense tensor; none where one is not known.
static SmallVector<int64_t> denseStrides(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t axis = type.getRank() - 2; axis >= 0; --axis) {
    if (type.isDynamicDim(axis + 1))
      return {};
    strides[axis] = strides[axis + 1] * type.getDimSize(axis + 1);
  }
  return strides;
}

std::optional<DirectOperand> device::directOperand(prim::DotOp dot, unsigned which, Type element) {
  // Views have known extents; of a tensor itself the first may be unknown, which then stands for
  // itself.
  auto extentsOf = [](Value v) {
    auto type = tensorType(v);
    SmallVector<OpFoldResult> extents;
    for (int64_t d : type.getShape())
      extents.push_back(ShapedType::isDynamic(d)
                            ? OpFoldResult(v)
                            : OpFoldResult(Builder(v.getContext()).getIndexAttr(d)));
    return extents;
  };
  for (Value v = dot->getOperand(which); Operation *op = v.getDefiningOp(); v = op->getOperand(0))
    if (!tensorType(v).hasStaticShape() || !op->hasTrait<prim::StridedView>())
      return std::nullopt;
  auto found = dotOperand(dot, which, extentsOf, [](Operation *) { return true; });
  auto memory = found ? dyn_cast<BlockArgument>(found->view.source()) : BlockArgument();
  if (!memory || prim::layoutOf(memory) || tensorType(memory).getElementType() != element)
    return std::nullopt;
  SmallVector<int64_t> strides = denseStrides(tensorType(memory));
  if (strides.empty())
    return std::nullopt;
  auto strideOf = [&](const ViewFactors::Axis &axis) {
    if (axis.empty())
      return int64_t(0);
    const ViewFactors::Factor &last = found->view.factor(axis.back());
    return strides[last.axis] * last.scale;
  };
  auto extentOf = [&](const ViewFactors::Axis &axis) {
    int64_t extent = 1;
    for (unsigned id : axis) {
      auto known = getConstantIntValue(found->view.factor(id).extent);
      extent = known && extent >= 0 ? extent * *known : -1;
    }
    return extent;
  };
  DirectOperand operand{
      memory, 0, {}, strideOf(found->free), strideOf(found->contract), extentOf(found->free), 1};
  for (auto [start, stride] : llvm::zip_equal(found->view.starts(), strides))
    operand.offset += start * stride;
  for (const ViewFactors::Axis &axis : found->batch)
    operand.batchStrides.push_back(strideOf(axis));
  // An axis of one element has no stride: it is as good as dense.
  if (found->contract.empty())
    operand.innerStride = 1;
  else if (found->free.empty())
    operand.ownStride = operand.innerStride == 1 ? extentOf(found->contract) : 1;
  if (operand.ownStride != 1 && operand.innerStride != 1)
    return std::nullopt;
  int64_t together = GpuArch::accessBytes * 8 / element.getIntOrFloatBitWidth();
  for (int64_t v : {operand.offset, operand.innerFirst() ? operand.ownStride : operand.innerStride,
                    operand.innerFirst() ? extentOf(found->contract) : operand.own})
    together = v < 0 ? 1 : std::gcd(together, v);
  for (int64_t stride : operand.batchStrides)
    together = std::gcd(together, stride);
  operand.lanes = unsigned(together);
  return operand;
}
