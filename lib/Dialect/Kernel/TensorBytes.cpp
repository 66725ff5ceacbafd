//===- TensorBytes.cpp - What tensors take in memory ----------------------===//
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

int64_t tcc::elementBytes(Type e) {
  if (auto complex = dyn_cast<ComplexType>(e))
    return 2 * elementBytes(complex.getElementType());
  return std::max<int64_t>(1, e.getIntOrFloatBitWidth() / 8);
}

int64_t tcc::tensorBytes(ShapedType type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = prim::storedType(tensor);
  return type.getNumElements() * elementBytes(type.getElementType());
}

double tcc::typicalElements(ArrayRef<int64_t> shape, int64_t open) {
  double elements = 1;
  for (int64_t d : shape)
    elements *= static_cast<double>(ShapedType::isDynamic(d) ? open : d);
  return elements;
}

double tcc::typicalBytes(ShapedType type, int64_t open) {
  return typicalElements(type.getShape(), open) *
         static_cast<double>(elementBytes(type.getElementType()));
}
