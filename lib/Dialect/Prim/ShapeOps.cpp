//===- ShapeOps.cpp - Constants, views and what their types must be ------===//
//
// A verifier states what every pass and code generator may take for granted, so each condition
// that one of them relies on is checked here and nowhere else.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Prim/Verify.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tcc::prim;

LogicalResult tcc::prim::verifySizes(Operation *op, ValueRange sizes, Value result) {
  int64_t dynamic = tensorType(result).getNumDynamicDims();
  if (static_cast<int64_t>(sizes.size()) != dynamic)
    return op->emitOpError("has ")
           << dynamic << " dynamic result dims but " << sizes.size() << " sizes";
  return success();
}

LogicalResult tcc::prim::verifyAxis(Operation *op, int64_t axis, Value of) {
  if (axis < 0 || axis >= tensorType(of).getRank())
    return op->emitOpError("axis ")
           << axis << " is out of range for rank " << tensorType(of).getRank();
  return success();
}

LogicalResult tcc::prim::verifyAxes(Operation *op, ArrayRef<int64_t> axes, Value of) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t axis : axes) {
    if (failed(verifyAxis(op, axis, of)))
      return failure();
    if (!seen.insert(axis).second)
      return op->emitOpError("names axis ") << axis << " twice";
  }
  return success();
}

LogicalResult tcc::prim::verifyShape(Operation *op, Value result, ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = tensorType(result).getShape();
  if (shape.size() != expected.size())
    return op->emitOpError("result has rank ") << shape.size() << ", expected " << expected.size();
  for (auto [i, have, want] : llvm::enumerate(shape, expected))
    if (!ShapedType::isDynamic(have) && !ShapedType::isDynamic(want) && have != want)
      return op->emitOpError("result dim ") << i << " is " << have << ", expected " << want;
  return success();
}

LogicalResult tcc::prim::verifyElementType(Operation *op, Value result, Type expected) {
  Type have = tensorType(result).getElementType();
  if (have != expected)
    return op->emitOpError("has element type ") << have << ", expected " << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

ElementsAttr ConstantOp::getElements() { return cast<ElementsAttr>(getValue()); }

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  if (failed(verifyAxis(*this, getAxis(), getResult())))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult DimOp::verify() { return verifyAxis(*this, getAxis(), getX()); }

OpFoldResult DimOp::fold(FoldAdaptor) {
  auto type = tensorType(getX());
  if (type.isDynamicDim(getAxis()))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), type.getDimSize(getAxis()));
}

LogicalResult FromElementsOp::verify() {
  int64_t count = cast<RankedTensorType>(getType()).getNumElements();
  if (static_cast<int64_t>(getElements().size()) != count)
    return emitOpError("has ") << getElements().size() << " elements, its type " << count;
  for (Type type : getElements().getTypes())
    if (!type.isIntOrIndexOrFloat())
      return emitOpError("takes host scalars, not ") << type;
  return success();
}

LogicalResult ExtractOp::verify() {
  auto type = tensorType(getX());
  auto position = static_cast<int64_t>(getPosition());
  if (position < 0 || (type.hasStaticShape() && position >= type.getNumElements()))
    return emitOpError("has no element ") << position << " in " << type;
  if (!getResult().getType().isIntOrIndexOrFloat())
    return emitOpError("gives ") << getResult().getType() << ", which is not a scalar";
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  // A result that lies in an order of its own is what x holds.
  auto from = tensorType(getX()), to = storedType(tensorType(getResult()));
  if (from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() != to.getNumElements())
    return emitOpError("changes the number of elements from ")
           << from.getNumElements() << " to " << to.getNumElements();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type");
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult TransposeOp::verify() {
  auto type = tensorType(getX());
  if (static_cast<int64_t>(getPermutation().size()) != type.getRank())
    return emitOpError("permutes ")
           << getPermutation().size() << " axes of a tensor of rank " << type.getRank();
  if (failed(verifyAxes(*this, getPermutation(), getX())) ||
      failed(verifyElementType(*this, getResult(), type.getElementType())))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t axis : getPermutation())
    expected.push_back(type.getDimSize(axis));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult BroadcastOp::verify() {
  auto from = tensorType(getX()), to = tensorType(getResult());
  ArrayRef<int64_t> axes = getAxes();
  if (static_cast<int64_t>(axes.size()) != from.getRank())
    return emitOpError("maps ") << axes.size() << " axes of a tensor of rank " << from.getRank();
  if (failed(verifyAxes(*this, axes, getResult())) ||
      failed(verifyElementType(*this, getResult(), from.getElementType())))
    return failure();
  if (!llvm::is_sorted(axes))
    return emitOpError("axes must increase");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t have = from.getDimSize(i), want = to.getDimSize(axis);
    if (have != 1 && !ShapedType::isDynamic(have) && !ShapedType::isDynamic(want) && have != want)
      return emitOpError("axis ") << i << " of extent " << have << " cannot become " << want;
  }
  return verifySizes(*this, getSizes(), getResult());
}

static SmallVector<OpFoldResult> mixed(MLIRContext *context, ArrayRef<int64_t> statics,
                                       ValueRange dynamics) {
  Builder builder(context);
  SmallVector<OpFoldResult> all;
  size_t next = 0;
  for (int64_t value : statics) {
    if (value == kDynamicStart)
      all.push_back(dynamics[next++]);
    else
      all.push_back(builder.getIndexAttr(value));
  }
  return all;
}

SmallVector<OpFoldResult> SliceOp::getMixedStarts() {
  return mixed(getContext(), getStaticStarts(), getStarts());
}
SmallVector<OpFoldResult> InsertSliceOp::getMixedStarts() {
  return mixed(getContext(), getStaticStarts(), getStarts());
}
SmallVector<OpFoldResult> PadOp::getMixedLow() {
  return mixed(getContext(), getStaticLow(), getLows());
}

LogicalResult tcc::prim::verifyStarts(Operation *op, ArrayRef<int64_t> starts, ValueRange dynamic,
                                      ArrayRef<int64_t> perAxis, int64_t rank) {
  if (static_cast<int64_t>(starts.size()) != rank || static_cast<int64_t>(perAxis.size()) != rank)
    return op->emitOpError("needs one entry for each of ") << rank << " axes";
  if (llvm::count(starts, kDynamicStart) != static_cast<int64_t>(dynamic.size()))
    return op->emitOpError("has ")
           << dynamic.size() << " dynamic starts, expected " << llvm::count(starts, kDynamicStart);
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyStarts(*this, getStaticStarts(), getStarts(), getSteps(),
                          tensorType(getX()).getRank())))
    return failure();
  if (llvm::is_contained(getSteps(), 0))
    return emitOpError("has a step of 0");
  if (tensorType(getResult()).getRank() != tensorType(getX()).getRank())
    return emitOpError("changes the rank");
  if (failed(verifyElementType(*this, getResult(), tensorType(getX()).getElementType())))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult PadOp::verify() {
  if (tensorType(getValue()).getRank() != 0)
    return emitOpError("pads with a tensor of rank ") << tensorType(getValue()).getRank();
  if (failed(verifyStarts(*this, getStaticLow(), getLows(), getInterior(),
                          tensorType(getX()).getRank())))
    return failure();
  if (tensorType(getResult()).getRank() != tensorType(getX()).getRank())
    return emitOpError("changes the rank");
  if (llvm::any_of(getInterior(), [](int64_t n) { return n < 0; }))
    return emitOpError("has a negative interior");
  Type element = tensorType(getX()).getElementType();
  if (failed(verifyElementType(*this, getValue(), element)) ||
      failed(verifyElementType(*this, getResult(), element)))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult ReverseOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), getX())) ||
      failed(verifyElementType(*this, getResult(), tensorType(getX()).getElementType())))
    return failure();
  return verifyShape(*this, getResult(), tensorType(getX()).getShape());
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no operands");
  int64_t rank = tensorType(getResult()).getRank(), axis = getAxis();
  if (failed(verifyAxis(*this, axis, getResult())))
    return failure();
  SmallVector<int64_t> expected(rank, ShapedType::kDynamic);
  int64_t extent = 0;
  for (Value input : getInputs()) {
    auto type = tensorType(input);
    if (failed(verifyElementType(*this, getResult(), type.getElementType())))
      return failure();
    if (type.getRank() != rank)
      return emitOpError("operand has rank ") << type.getRank() << ", the result " << rank;
    extent = type.isDynamicDim(axis) || extent < 0 ? -1 : extent + type.getDimSize(axis);
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis && !type.isDynamicDim(i))
        expected[i] = type.getDimSize(i);
  }
  expected[axis] = extent < 0 ? ShapedType::kDynamic : extent;
  return verifyShape(*this, getResult(), expected);
}
