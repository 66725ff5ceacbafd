#include "tcc/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"
#include "tcc/Dialect/Kernel/Places.h"

using namespace mlir;
using namespace tcc::kernel;

#include "tcc/Dialect/Kernel/KernelDialect.cpp.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Kernel/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tcc/Dialect/Kernel/KernelOps.cpp.inc"
      >();
}

LogicalResult LaunchOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("has ") << block.getNumArguments() << " region arguments for "
                               << getInputs().size() << " inputs";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("must yield values of its result types");
  int64_t dynamic = 0;
  for (Type type : getResultTypes())
    dynamic += cast<RankedTensorType>(type).getNumDynamicDims();
  if (static_cast<int64_t>(getSizes().size()) != dynamic)
    return emitOpError("has ") << dynamic << " dynamic result dims but " << getSizes().size()
                               << " sizes";
  return success();
}

LogicalResult LaunchOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  size_t next = 0;
  for (Type type : getResultTypes()) {
    SmallVector<OpFoldResult> &dims = shapes.emplace_back();
    for (int64_t extent : cast<RankedTensorType>(type).getShape()) {
      if (ShapedType::isDynamic(extent))
        dims.push_back(getSizes()[next++]);
      else
        dims.push_back(builder.getIndexAttr(extent));
    }
  }
  return success();
}

int64_t tcc::elementBytes(Type e) {
  if (auto complex = dyn_cast<ComplexType>(e))
    return 2 * elementBytes(complex.getElementType());
  return std::max<int64_t>(1, e.getIntOrFloatBitWidth() / 8);
}

int64_t tcc::tensorBytes(RankedTensorType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}
