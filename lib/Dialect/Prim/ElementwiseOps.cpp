#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::prim;

static Type elementOf(Value value) { return tensorType(value).getElementType(); }

LogicalResult CompareOp::verify() {
  Type element = elementOf(getLhs());
  if (element != elementOf(getRhs()))
    return emitOpError("compares ") << element << " with " << elementOf(getRhs());
  ComparePredicate predicate = getPredicate();
  if (isa<ComplexType>(element) && predicate != ComparePredicate::eq &&
      predicate != ComparePredicate::ne)
    return emitOpError("cannot order complex values");
  return success();
}

LogicalResult SelectOp::verify() {
  Type element = elementOf(getOnTrue());
  if (failed(verifyElementType(*this, getOnFalse(), element)))
    return failure();
  return verifyElementType(*this, getResult(), element);
}

LogicalResult BitcastOp::verify() {
  std::optional<tcc::DType> from = dtypeOf(elementOf(getX())), to = dtypeOf(elementOf(getResult()));
  if (!from || !to || tcc::bitWidth(*from) != tcc::bitWidth(*to))
    return emitOpError("cannot read ") << elementOf(getX()) << " as " << elementOf(getResult());
  return success();
}

static Type partOf(Value complex) { return cast<ComplexType>(elementOf(complex)).getElementType(); }

LogicalResult RealOp::verify() { return verifyElementType(*this, getResult(), partOf(getX())); }
LogicalResult ImagOp::verify() { return verifyElementType(*this, getResult(), partOf(getX())); }

LogicalResult ComplexOp::verify() {
  Type part = partOf(getResult());
  if (failed(verifyElementType(*this, getRe(), part)))
    return failure();
  return verifyElementType(*this, getIm(), part);
}
