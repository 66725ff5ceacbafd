//===- LaunchFrame.cpp - A launch's arguments and loops -------------------===//
#include "tcc/Codegen/Common/LaunchFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

LaunchFrame::LaunchFrame(kernel::LaunchOp launch)
    : launch(launch), b(launch.getLoc(), launch.getContext()), e(b, 1) {}

/// A host scalar of `type` out of its word.
static Value scalarOf(ImplicitLocOpBuilder &b, Type type, Value word) {
  if (isa<FloatType>(type)) {
    Type narrow = b.getIntegerType(type.getIntOrFloatBitWidth());
    if (narrow != word.getType())
      word = arith::TruncIOp::create(b, narrow, word);
    return arith::BitcastOp::create(b, type, word);
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(b, type, word);
  return type.isInteger(64) ? word : Value(arith::TruncIOp::create(b, type, word));
}

void LaunchFrame::bindArguments(Type pointer, unsigned alignment, function_ref<Value(Type)> word) {
  Type i64 = b.getI64Type();
  auto tensor = [&](RankedTensorType type) {
    Memory memory{word(pointer), {}, type.getElementType(), alignment};
    for (int64_t d : type.getShape())
      memory.extents.push_back(ShapedType::isDynamic(d)
                                   ? scalarOf(b, b.getIndexType(), word(i64))
                                   : Value(arith::ConstantIndexOp::create(b, d)));
    return memory;
  };
  for (BlockArgument argument : launch.getBody().getArguments()) {
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      e.bindMemory(argument, tensor(type));
    else
      e.bindScalar(argument, scalarOf(b, argument.getType(), word(i64)));
  }
  for (Type type : launch.getResultTypes())
    results.push_back(tensor(cast<RankedTensorType>(type)));
}

void LaunchFrame::loop(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  auto loopOp = scf::ForOp::create(b, low, high, e.index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loopOp.getBody());
  e.nested([&] { body(loopOp.getInductionVar()); });
}

void LaunchFrame::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  e.nested([&] { body(); });
}

SmallVector<Value> LaunchFrame::delinearize(Value linear, ValueRange extents) {
  SmallVector<Value> indices(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    if (i == 0) {
      indices[i] = linear;
      break;
    }
    indices[i] = e.remIndex(linear, extents[i]);
    linear = e.divIndex(linear, extents[i]);
  }
  return indices;
}

Value LaunchFrame::minIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return e.index(std::min(*cx, *cy));
  return arith::MinSIOp::create(b, x, y);
}
