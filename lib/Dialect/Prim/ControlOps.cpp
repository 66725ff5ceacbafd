#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc::prim;

static LogicalResult verifyYield(Operation *op, Region &region, TypeRange expected,
                                 StringRef what) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield->getNumOperands() != expected.size())
    return op->emitOpError(what) << " must yield " << expected.size() << " values";
  return success();
}

LogicalResult RandomBitsOp::verify() {
  if (tensorType(getSeed()).getRank() != 0)
    return emitOpError("takes a seed of rank 0, not ") << tensorType(getSeed()).getRank();
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult IfOp::verify() {
  if (failed(verifyYield(*this, getThenRegion(), getResultTypes(), "the then region")))
    return failure();
  return verifyYield(*this, getElseRegion(), getResultTypes(), "the else region");
}

LogicalResult WhileOp::verify() {
  for (Region *region : {&getCondition(), &getBody()})
    if (region->getNumArguments() != getInits().size())
      return emitOpError("region has ") << region->getNumArguments() << " arguments for "
                                        << getInits().size() << " carried values";
  if (getNumResults() != getInits().size())
    return emitOpError("has ") << getNumResults() << " results for " << getInits().size()
                               << " carried values";
  if (failed(
          verifyYield(*this, getCondition(), IntegerType::get(getContext(), 1), "the condition")))
    return failure();
  return verifyYield(*this, getBody(), getResultTypes(), "the body");
}
