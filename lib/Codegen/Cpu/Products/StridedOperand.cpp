#include "StridedOperand.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// The stride, in elements, of each axis of a dense tensor.
static SmallVector<Index> stridesOf(KernelBuilder &k, ArrayRef<Index> extents) {
  SmallVector<Index> strides(extents.size());
  Index stride = k.constant(1);
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride = k.mul(stride, extents[i]);
  }
  return strides;
}

Value tcc::codegen::memoryBehind(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (!op->hasTrait<prim::StridedView>())
      break;
    operand = op->getOperand(0);
  }
  return operand;
}

Index StridedOperand::stride(KernelBuilder &k, const ViewFactors::Axis &axis, int64_t unit) const {
  if (axis.empty())
    return k.constant(unit);
  const ViewFactors::Factor &last = axes.view.factor(axis.back());
  return k.mul(sourceStrides[last.axis], k.constant(last.scale));
}

Index StridedOperand::extent(KernelBuilder &k, const ViewFactors::Axis &axis) const {
  Index product = k.constant(1);
  for (unsigned id : axis)
    product = k.mul(product, axes.view.factor(id).extent);
  return product;
}

std::optional<StridedOperand> tcc::codegen::stridedOperand(KernelBuilder &k, prim::DotOp dot,
                                                           unsigned index, ArrayRef<Index> extents,
                                                           Value part) {
  // Views have static shapes; only a tensor itself may have unknown extents.
  auto extentsOf = [&](Value v) -> SmallVector<Index> {
    if (isa<BlockArgument>(v))
      return llvm::to_vector(extents);
    return getAsIndexOpFoldResult(k.builder.getContext(), tensorType(v).getShape());
  };
  Value operand = part ? part : dot->getOperand(index);
  auto axes = dotOperand(dot, index, operand, extentsOf, [](Operation *) { return true; });
  if (!axes || !isa<BlockArgument>(axes->view.source()))
    return std::nullopt;
  StridedOperand strided{*axes, stridesOf(k, extents), k.constant(0)};
  for (auto [start, stride] : llvm::zip(axes->view.starts(), strided.sourceStrides))
    strided.offset = k.mulAdd(k.constant(start), stride, strided.offset);
  return strided;
}
