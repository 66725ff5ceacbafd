//===- OpenExtents.cpp - Extents that a run knows -------------------------===//
#include "tcc/Analysis/OpenExtents.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

SmallVector<Value> tcc::openExtents(OpBuilder &b, Value tensor) {
  SmallVector<Value> open;
  Location loc = tensor.getLoc();
  for (auto [axis, extent] : llvm::enumerate(tensorType(tensor).getShape()))
    if (ShapedType::isDynamic(extent))
      open.push_back(getValueOrCreateConstantIndexOp(
          b, loc, prim::dimOf(b, loc, tensor, static_cast<unsigned>(axis))));
  return open;
}
