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

void DimTraces::forget(ValueRange values) {
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (unsigned axis = 0, e = type.getRank(); axis < e; ++axis)
        known.erase({value, axis});
}

void DimTraces::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  forget(op->getResults());
}

void DimTraces::notifyBlockInserted(Block *block, Region *, Region::iterator) {
  forget(block->getArguments());
}

} // namespace tcc::prim
