//===- PrimBuilderControl.cpp - Conditions and branches -------------------===//
#include "HostScalars.h"
#include "tcc/Dialect/Prim/DimTraces.h"

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

namespace {

/// Open extents that all turns of a loop are supposed to leave as it begins with them, until a
/// draft of its body shows that one does not. What is built from a carried value has the extent of
/// the first one then, which is known outside of the loop: operands agree without a check in each
/// turn.
struct KeptExtents {
  PrimBuilder &b;
  ValueRange inits;
  prim::DimTraces *traces;
  SmallVector<std::pair<unsigned, unsigned>> kept = {}; ///< number of the value, axis

  KeptExtents(PrimBuilder &builder, ValueRange inits)
      : b(builder), inits(inits), traces(prim::DimTraces::of(builder.builder())) {
    for (auto [i, init] : llvm::enumerate(inits)) {
      auto type = dyn_cast<RankedTensorType>(init.getType());
      for (unsigned axis = 0, e = type && traces ? type.getRank() : 0; axis < e; ++axis)
        if (isa<Value>(b.dim(init, axis)))
          kept.push_back({i, axis});
    }
  }

  void say(ValueRange values) {
    for (auto [i, axis] : kept)
      traces->remember(prim::DimTraces::Extent(values[i], axis), {inits[i], axis});
  }

  /// Whether `next`, what a turn gives, has them all; forgets those that it has not.
  bool hold(ValueRange next) {
    size_t before = kept.size();
    llvm::erase_if(kept,
                   [&](auto at) { return !b.same(b.dim(next[at.first], at.second), first(at)); });
    return kept.size() == before;
  }

private:
  Dim first(std::pair<unsigned, unsigned> at) { return b.dim(inits[at.first], at.second); }
};

} // namespace

std::optional<SmallVector<Value>>
PrimBuilder::loop(ValueRange inits, function_ref<Dim(ValueRange)> condition,
                  function_ref<std::optional<SmallVector<Value>>(ValueRange)> body) {
  SmallVector<Type> types(inits.getTypes());
  KeptExtents extents(*this, inits);
  // Each round makes one more extent `?` or one less kept; most loops need one or two.
  while (true) {
    auto op = prim::WhileOp::create(b, loc, types, inits);
    SmallVector<Location> locations(types.size(), loc);
    OpBuilder::InsertionGuard guard(b);
    Block *test = b.createBlock(&op.getCondition(), {}, types, locations);
    extents.say(test->getArguments());
    Dim holds = condition(test->getArguments());
    prim::YieldOp::create(b, loc, hostValue(*this, holds));
    Block *turn = b.createBlock(&op.getBody(), {}, types, locations);
    extents.say(turn->getArguments());
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
    if (bool hold = extents.hold(*next); hold && wider == types) {
      prim::YieldOp::create(b, loc, *next);
      extents.say(op.getResults());
      return SmallVector<Value>(op.getResults());
    }
    op.erase();
    types = wider;
  }
}
