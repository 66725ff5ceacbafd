//===- AxisOrder.cpp - Dense tensors with their axes in another order -----===//
#include "tcc/Dialect/Prim/Prim.h"
#include <cstring>

using namespace mlir;
using namespace tcc::prim;

LogicalResult
AxisOrderAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                              llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<int64_t> axes(getOrder());
  llvm::sort(axes);
  if (!llvm::equal(axes, llvm::seq<int64_t>(0, shape.size())))
    return emitError() << "the order is not one of the axes of a tensor of rank " << shape.size();
  return ShapedType::isDynamicShape(shape)
             ? emitError() << "a tensor of open extents has its axes in order"
             : success();
}

SmallVector<int64_t> AxisOrderAttr::getStorageShape(ArrayRef<int64_t> shape) const {
  return llvm::map_to_vector(getOrder(), [&](int64_t axis) { return shape[axis]; });
}

void AxisOrderAttr::unpack(ArrayRef<int64_t> shape, unsigned elementBytes, const char *storage,
                           char *to) const {
  // Elements of the row-major tensor from one to the next along each axis in memory.
  SmallVector<int64_t> strides(shape.size(), 1), extents = getStorageShape(shape), at(extents);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  int64_t elements = 1, place = 0;
  for (int64_t extent : extents)
    elements *= extent;
  llvm::fill(at, 0);
  for (int64_t i = 0; i < elements; ++i) {
    std::memcpy(to + place * elementBytes, storage + i * elementBytes, elementBytes);
    for (size_t axis = at.size(); axis-- > 0;) {
      int64_t stride = strides[getOrder()[axis]];
      place += stride;
      if (++at[axis] < extents[axis])
        break;
      place -= stride * extents[axis];
      at[axis] = 0;
    }
  }
}
