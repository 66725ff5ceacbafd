//===- PrimBuilderControl.cpp - Conditions and branches -------------------===//
#include "HostScalars.h"

using namespace mlir;
using namespace tcc;

Dim PrimBuilder::andDims(Dim x, Dim y) {
  if (auto cx = known(x))
    return *cx ? y : x;
  if (auto cy = known(y))
    return *cy ? x : y;
  return same(x, y)
             ? x
             : Dim(arith::AndIOp::create(b, loc, cast<Value>(x), cast<Value>(y)).getResult());
}

Dim PrimBuilder::orDims(Dim x, Dim y) {
  if (auto cx = known(x))
    return *cx ? x : y;
  if (auto cy = known(y))
    return *cy ? y : x;
  return same(x, y) ? x
                    : Dim(arith::OrIOp::create(b, loc, cast<Value>(x), cast<Value>(y)).getResult());
}

Dim PrimBuilder::notDim(Dim x) {
  if (auto constant = known(x))
    return b.getBoolAttr(!*constant);
  Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return arith::XOrIOp::create(b, loc, cast<Value>(x), one).getResult();
}

bool PrimBuilder::nonNegative(Dim d) {
  if (auto constant = known(d))
    return *constant >= 0;
  Operation *op = cast<Value>(d).getDefiningOp();
  auto of = [](Value v) { return nonNegative(getAsOpFoldResult(v)); };
  if (!op)
    return false;
  if (isa<prim::DimOp>(op))
    return true;
  if (isa<arith::AddIOp, arith::MulIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
          arith::MinSIOp, arith::RemSIOp>(op))
    return of(op->getOperand(0)) && of(op->getOperand(1));
  if (isa<arith::MaxSIOp>(op))
    return of(op->getOperand(0)) || of(op->getOperand(1));
  if (isa<arith::SelectOp>(op))
    return of(op->getOperand(1)) && of(op->getOperand(2));
  return false;
}

/// The type that values of both types have, or null.
static Type merged(Type x, Type y) {
  if (x == y)
    return x;
  auto tx = dyn_cast<RankedTensorType>(x), ty = dyn_cast<RankedTensorType>(y);
  if (!tx || !ty || tx.getRank() != ty.getRank() || tx.getElementType() != ty.getElementType())
    return {};
  SmallVector<int64_t> shape(tx.getShape());
  for (auto [mine, other] : llvm::zip(shape, ty.getShape()))
    if (mine != other)
      mine = ShapedType::kDynamic;
  return RankedTensorType::get(shape, tx.getElementType());
}

std::optional<SmallVector<Value>> PrimBuilder::branch(Dim condition, Body onTrue, Body onFalse) {
  if (auto constant = known(condition))
    return *constant ? onTrue() : onFalse();
  // The result types are known once the bodies are built, so those are built in
  // an operator without results and then moved.
  auto draft = prim::IfOp::create(b, loc, TypeRange(), cast<Value>(condition));
  SmallVector<Value> results[2];
  const Body bodies[] = {onTrue, onFalse};
  for (unsigned i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&draft->getRegion(i));
    results[i] = bodies[i]();
    prim::YieldOp::create(b, loc, results[i]);
  }
  SmallVector<Type> types;
  bool agree = results[0].size() == results[1].size();
  for (auto [x, y] : llvm::zip(results[0], results[1]))
    types.push_back(merged(x.getType(), y.getType()));
  if (!agree || llvm::is_contained(types, Type())) {
    draft.erase();
    return std::nullopt;
  }
  auto op = prim::IfOp::create(b, loc, types, cast<Value>(condition));
  op.getThenRegion().takeBody(draft.getThenRegion());
  op.getElseRegion().takeBody(draft.getElseRegion());
  draft.erase();
  return SmallVector<Value>(op.getResults());
}

std::optional<SmallVector<Value>>
PrimBuilder::loop(ValueRange inits, function_ref<Dim(ValueRange)> condition,
                  function_ref<std::optional<SmallVector<Value>>(ValueRange)> body) {
  SmallVector<Type> types(inits.getTypes());
  // Each round makes at least one more extent `?`; most loops need one or two.
  while (true) {
    auto op = prim::WhileOp::create(b, loc, types, inits);
    SmallVector<Location> locations(types.size(), loc);
    OpBuilder::InsertionGuard guard(b);
    Block *test = b.createBlock(&op.getCondition(), {}, types, locations);
    Dim holds = condition(test->getArguments());
    prim::YieldOp::create(b, loc, hostValue(*this, holds));
    Block *turn = b.createBlock(&op.getBody(), {}, types, locations);
    auto next = body(turn->getArguments());
    if (!next || next->size() != types.size()) {
      op.erase();
      return std::nullopt;
    }
    SmallVector<Type> wider;
    for (auto [have, value] : llvm::zip(types, *next))
      wider.push_back(merged(have, value.getType()));
    if (llvm::is_contained(wider, Type())) {
      op.erase();
      return std::nullopt;
    }
    if (wider == types) {
      prim::YieldOp::create(b, loc, *next);
      return SmallVector<Value>(op.getResults());
    }
    op.erase();
    types = wider;
  }
}
