#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::prim;

/// Operands and result of one domain: floats, integers or complex numbers; an
/// element of the result holds any of theirs.
static LogicalResult verifyProduct(Operation *op, Value lhs, Value rhs, Value result) {
  auto element = [](Value value) { return tensorType(value).getElementType(); };
  Type to = element(result);
  for (Value operand : {lhs, rhs}) {
    Type from = element(operand);
    if (isa<prim::DotOp>(op) && operand == rhs && isa<FloatType>(to) && from.isInteger(8))
      continue; // weights that the product widens
    if (isa<FloatType>(from) != isa<FloatType>(to) ||
        isa<ComplexType>(from) != isa<ComplexType>(to))
      return op->emitOpError("multiplies ") << from << " into " << to;
    std::optional<tcc::DType> narrow = dtypeOf(from), wide = dtypeOf(to);
    if (!narrow || !wide || tcc::bitWidth(*narrow) > tcc::bitWidth(*wide))
      return op->emitOpError("multiplies ") << from << " into " << to;
  }
  return success();
}

LogicalResult DotOp::verify() {
  auto lhs = tensorType(getLhs()), rhs = tensorType(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size())
    return emitOpError("pairs a different number of axes on the two sides");
  SmallVector<int64_t> lhsUsed(getLhsBatch()), rhsUsed(getRhsBatch());
  llvm::append_range(lhsUsed, getLhsContract());
  llvm::append_range(rhsUsed, getRhsContract());
  if (failed(verifyAxes(*this, lhsUsed, getLhs())) || failed(verifyAxes(*this, rhsUsed, getRhs())))
    return failure();
  for (auto [l, r] : llvm::zip(lhsUsed, rhsUsed))
    if (!lhs.isDynamicDim(l) && !rhs.isDynamicDim(r) && lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOpError("pairs axes of extent ")
             << lhs.getDimSize(l) << " and " << rhs.getDimSize(r);
  if (failed(verifyProduct(*this, getLhs(), getRhs(), getResult())))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t axis : getLhsBatch())
    expected.push_back(lhs.getDimSize(axis));
  for (int64_t i = 0; i < lhs.getRank(); ++i)
    if (!llvm::is_contained(lhsUsed, i))
      expected.push_back(lhs.getDimSize(i));
  for (int64_t i = 0; i < rhs.getRank(); ++i)
    if (!llvm::is_contained(rhsUsed, i))
      expected.push_back(rhs.getDimSize(i));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult ConvOp::verify() {
  auto x = tensorType(getX()), w = tensorType(getW());
  size_t spatial = getStrides().size();
  if (x.getRank() != static_cast<int64_t>(spatial) + 2 || w.getRank() != x.getRank())
    return emitOpError("has ") << spatial << " strides for tensors of rank " << x.getRank()
                               << " and " << w.getRank();
  for (ArrayRef<int64_t> list : {getDilations(), getInputDilation(), getLow(), getHigh()})
    if (list.size() != spatial)
      return emitOpError("needs one entry for each of ") << spatial << " spatial axes";
  int64_t channels = x.getDimSize(getChannelsLast() ? x.getRank() - 1 : 1);
  if (getGroups() < 1)
    return emitOpError("has ") << getGroups() << " groups";
  if (!ShapedType::isDynamic(channels) && !w.isDynamicDim(1) &&
      channels != w.getDimSize(1) * static_cast<int64_t>(getGroups()))
    return emitOpError("has ") << channels << " input channels, its weight expects "
                               << w.getDimSize(1) * static_cast<int64_t>(getGroups());
  if (!w.isDynamicDim(0) && w.getDimSize(0) % static_cast<int64_t>(getGroups()) != 0)
    return emitOpError("has ") << w.getDimSize(0) << " output channels for " << getGroups()
                               << " groups";
  for (ArrayRef<int64_t> list : {getStrides(), getDilations(), getInputDilation()})
    if (llvm::any_of(list, [](int64_t n) { return n < 1; }))
      return emitOpError("has a stride or dilation below 1");
  if (int64_t zero = getZero(); zero != 0) {
    Type element = x.getElementType();
    bool isWidened = element.isSignlessInteger(16); // bytes of either signedness
    int64_t least = element.isUnsignedInteger() ? 0 : -128, most = isWidened ? 255 : least + 255;
    if ((!element.isInteger(8) && !isWidened) || zero < least || zero > most)
      return emitOpError("takes ") << zero << " off elements of type " << x.getElementType();
  }
  SmallVector<int64_t> expected(x.getRank(), ShapedType::kDynamic);
  expected[0] = x.getDimSize(0);
  expected[getChannelsLast() ? x.getRank() - 1 : 1] = w.getDimSize(0);
  if (failed(verifyShape(*this, getResult(), expected)) ||
      failed(verifyProduct(*this, getX(), getW(), getResult())))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}

int64_t FourierOp::getLength() {
  return tensorType(fromReal() ? Value(getRe()) : Value(getParts()[0])).getDimSize(getAxis());
}

LogicalResult FourierOp::verify() {
  auto re = tensorType(getRe());
  if (getParts().empty() || getParts().size() > 2 || (fromReal() && toReal()))
    return emitOpError("has neither two parts nor, of two, one");
  if (failed(verifyAxis(*this, getAxis(), getRe())) ||
      (getIm() && failed(verifyShape(*this, getIm(), re.getShape()))))
    return failure();
  int64_t axis = getAxis(), n = getLength();
  if (ShapedType::isDynamic(n) || re.isDynamicDim(axis))
    return emitOpError("needs a known extent along axis ") << axis;
  int64_t half = n / 2 + 1, given = fromReal() || !toReal() ? n : half;
  if (re.getDimSize(axis) != given)
    return emitOpError("needs ") << given << " elements along axis " << axis;
  SmallVector<int64_t> expected(re.getShape());
  expected[axis] = n;
  if (fromReal() && tensorType(getParts()[0]).getRank() > axis &&
      tensorType(getParts()[0]).getDimSize(axis) == half)
    expected[axis] = half;
  for (Value part : getParts())
    if (failed(verifyElementType(*this, part, re.getElementType())) ||
        failed(verifyShape(*this, part, expected)))
      return failure();
  return getIm() ? verifyElementType(*this, getIm(), re.getElementType()) : success();
}

LogicalResult FftOp::verify() {
  auto x = tensorType(getX());
  if (failed(verifyAxis(*this, getAxis(), getX())) ||
      failed(verifyElementType(*this, getResult(), x.getElementType())))
    return failure();
  return verifyShape(*this, getResult(), x.getShape());
}
