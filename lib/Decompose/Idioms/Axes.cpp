#include "Decompose/Idioms/Axes.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;

Type tcc::wideType(Type elementType) {
  if (auto f = dyn_cast<FloatType>(elementType); f && f.getWidth() < 32)
    return Float32Type::get(f.getContext());
  return elementType;
}

Value tcc::widen(PrimBuilder &b, Value x) { return b.cast(x, wideType(b.elem(x))); }

Value tcc::extremeOf(PrimBuilder &b, Type t, int sign) {
  if (isa<FloatType>(t))
    return b.scalar(sign * std::numeric_limits<double>::infinity(), t);
  unsigned width = t.getIntOrFloatBitWidth();
  bool isSigned = !prim::isUnsigned(t);
  APInt bound = sign > 0 ? (isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width))
                         : (isSigned ? APInt::getSignedMinValue(width) : APInt::getMinValue(width));
  return b.constant(DenseElementsAttr::get(RankedTensorType::get({}, t), bound));
}

Value tcc::scalarOf(PrimBuilder &b, Dim d, Type elementType) {
  return b.cast(b.fromHost({d}, {}, b.builder().getI64Type()), elementType);
}

Value tcc::alongAxis(PrimBuilder &b, Value vector, int64_t axis, int64_t rank) {
  if (b.rank(vector) != 1 || axis < 0 || axis >= rank) {
    b.fault("a parameter has rank " + llvm::Twine(b.rank(vector)) + " and must be a vector");
    return b.full(Dims(std::max<int64_t>(rank, 0), b.dim(1)), 0, b.elem(vector));
  }
  Dims shape(rank, b.dim(1));
  shape[axis] = b.dim(vector, 0);
  return b.reshape(vector, shape);
}

SmallVector<int64_t> tcc::allAxes(int64_t rank) { return axesFrom(0, rank); }

SmallVector<int64_t> tcc::axesFrom(int64_t first, int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}
