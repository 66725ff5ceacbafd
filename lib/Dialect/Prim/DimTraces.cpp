#include "tcc/Dialect/Prim/DimTraces.h"

using namespace mlir;

namespace tcc::prim {

static thread_local DimTraces *innermost = nullptr;

DimTraces::DimTraces(OpBuilder &builder) : builder(builder), outer(innermost) {
  assert(!builder.getListener() && "somebody else listens to the builder");
  builder.setListener(this);
  innermost = this;
}

DimTraces::~DimTraces() {
  builder.setListener(nullptr);
  innermost = outer;
}

DimTraces *DimTraces::of(const OpBuilder &builder) {
  return innermost && builder.getListener() == innermost ? innermost : nullptr;
}

void DimTraces::remember(ArrayRef<Extent> path, Extent end) {
  for (const Extent &extent : path)
    known[extent] = end;
}

void DimTraces::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      for (unsigned axis = 0, e = type.getRank(); axis < e; ++axis)
        known.erase({result, axis});
}

} // namespace tcc::prim
