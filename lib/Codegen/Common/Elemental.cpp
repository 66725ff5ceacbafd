//===- Elemental.cpp - The walk from what is stored to what is loaded ------===//
//
// What was computed at a point is remembered until the block ends, because fused expressions read
// their operands many times. The region is never changed: host scalars of it are computed again
// inside the kernel.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/Elemental.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

const Memory *Elemental::memoryOf(Value value) const {
  auto it = memories.find(value);
  return it == memories.end() ? nullptr : &it->second;
}

Value Elemental::scalar(Value value) {
  if (auto it = scalars.find(value); it != scalars.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  assert(op && "host scalar is not bound");
  if (auto dim = dyn_cast<prim::DimOp>(op))
    return extent(dim.getX(), dim.getAxis());
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, scalar(operand));
  Value result = b.clone(*op, map)->getResult(0);
  return result;
}

Value Elemental::extent(Value value, unsigned axis) {
  if (!tensorType(value).isDynamicDim(axis))
    return index(tensorType(value).getDimSize(axis));
  if (const Memory *memory = memoryOf(value))
    return memory->extents[axis];
  // The region is never changed: what dimOf makes is read and removed again.
  OpBuilder region(value.getContext());
  region.setInsertionPointAfterValue(value);
  OpFoldResult dim = prim::dimOf(region, value.getLoc(), value, axis);
  if (auto constant = getConstantIntValue(dim))
    return index(*constant);
  return scalar(cast<Value>(dim));
}

Value Elemental::evalVector(Value value, ArrayRef<Coord> at) {
  return widen(eval(value, at), numLanes > 1);
}

Value Elemental::eval(Value value, ArrayRef<Coord> at) {
  if (auto it = memo.find(value); it != memo.end())
    for (const Known &known : it->second)
      if (llvm::equal(known.at, at))
        return known.result;
  Value result = evalNew(value, at);
  if (result)
    memo[value].push_back({Coords(at), result});
  return result;
}

Value Elemental::evalNew(Value value, ArrayRef<Coord> at) {
  if (auto it = providers.find(value); it != providers.end() && it->second)
    return it->second(at);
  if (const Memory *memory = memoryOf(value)) {
    if (auto order = dyn_cast_if_present<prim::AxisOrderAttr>(prim::layoutOf(value))) {
      Memory stored = *memory;
      Coords place;
      for (auto [i, axis] : llvm::enumerate(order.getOrder())) {
        stored.extents[i] = memory->extents[axis];
        place.push_back(at[axis]);
      }
      return load(stored, place);
    }
    if (prim::layoutOf(value)) {
      emitError(value.getLoc()) << "code generation reads a tensor point by point, which lies in "
                                << cast<RankedTensorType>(value.getType()).getEncoding();
      return {};
    }
    return load(*memory, at);
  }
  Operation *op = value.getDefiningOp();
  assert(op && "tensor argument is not bound");
  if (!prim::isElementwise(op))
    return evalView(op, at);
  SmallVector<Value> operands;
  bool vector = false;
  for (Value operand : op->getOperands()) {
    Value v = eval(operand, at);
    if (!v)
      return {};
    vector |= isa<VectorType>(v.getType());
    operands.push_back(v);
  }
  for (Value &v : operands)
    v = widen(v, vector);
  return emitElementwise(b, op, operands);
}

Elemental::Reading Elemental::readingOf(Value value, ArrayRef<Coord> at) {
  Recorder seen;
  Value result = nested([&] {
    forget();
    llvm::SaveAndRestore recording(recorder, &seen);
    return eval(value, at);
  });
  if (!result || result != seen.read)
    seen.reading.place.reset();
  return seen.reading;
}
