#include "Dialect/Prim/Verify.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tcc::prim;

/// Whether a value of one type may go on as the other: extents may become known, or open, on the
/// way.
static bool isPassedOn(Type from, Type to) {
  if (from == to)
    return true;
  auto a = dyn_cast<RankedTensorType>(from), b = dyn_cast<RankedTensorType>(to);
  return a && b && a.getElementType() == b.getElementType() &&
         succeeded(verifyCompatibleShape(a, b));
}

static LogicalResult verifyPassed(Operation *op, TypeRange from, TypeRange to, StringRef what) {
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(from, to)))
    if (auto [given, taken] = pair; !isPassedOn(given, taken))
      return op->emitOpError(what) << ' ' << i << " is " << given << " and goes on as " << taken;
  return success();
}

static LogicalResult verifyYield(Operation *op, Region &region, TypeRange expected,
                                 StringRef what) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield->getNumOperands() != expected.size())
    return op->emitOpError(what) << " must yield " << expected.size() << " values";
  return verifyPassed(op, yield->getOperandTypes(), expected, (what + ": value").str());
}

LogicalResult RandomDrawOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto generators = module ? module->getAttrOfType<IntegerAttr>(kGeneratorsAttr) : IntegerAttr();
  if (int64_t known = generators ? generators.getInt() : 0;
      static_cast<int64_t>(getGenerator()) > known)
    return emitOpError("draws from generator ")
           << getGenerator() << ", the module has " << known << " beside the context's";
  return success();
}

LogicalResult RandomBitsOp::verify() { return verifySizes(*this, getSizes(), getResult()); }

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
    else if (failed(verifyPassed(*this, getInits().getTypes(), region->getArgumentTypes(),
                                 "carried value")))
      return failure();
  if (getNumResults() != getInits().size())
    return emitOpError("has ") << getNumResults() << " results for " << getInits().size()
                               << " carried values";
  if (failed(
          verifyYield(*this, getCondition(), IntegerType::get(getContext(), 1), "the condition")))
    return failure();
  if (failed(verifyYield(*this, getBody(), getBody().getArgumentTypes(), "the body")))
    return failure();
  return verifyYield(*this, getBody(), getResultTypes(), "the body");
}
