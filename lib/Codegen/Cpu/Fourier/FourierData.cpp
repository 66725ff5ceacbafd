//===- FourierData.cpp - What a Fourier transform reads -------------------===//
#include "FourierData.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

FourierData::FourierData(KernelFrame &f, prim::FourierOp op, unsigned lanes)
    : joined(f.yield().getOperand(0).getDefiningOp() != op), f(f), k(f.b, f.launch.getLoc()),
      lanes(lanes), axis(op.getAxis()), extents(extentsOf(f, op.getRe())) {
  extents.erase(extents.begin() + axis);
  f.e.setLanes(lanes);
}

Value FourierData::memoryOf(Value operand) {
  return isa<BlockArgument>(operand) ? f.e.memoryOf(operand)->pointer : Value();
}

/// The argument of which `v` is part `part` of each pair, in order; else null.
static Value pairsOf(Value v, int64_t part) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  auto slice = v.getDefiningOp<prim::SliceOp>();
  if (!slice || !isa<BlockArgument>(slice.getX()))
    return {};
  RankedTensorType whole = tensorType(slice.getX()), own = tensorType(slice.getResult());
  if (!whole.hasStaticShape() || whole.getRank() == 0 || whole.getShape().back() != 2 ||
      own.getNumElements() * 2 != whole.getNumElements() || own.getShape().back() != 1)
    return {};
  auto starts = slice.getMixedStarts();
  return getConstantIntValue(starts.back()) == part ? slice.getX() : Value();
}

Value FourierData::pairsBehind(Value re, Value im) {
  Value pairs = pairsOf(re, 0);
  return pairs && pairsOf(im, 1) == pairs ? f.e.memoryOf(pairs)->pointer : Value();
}

Coords FourierData::line(Index number) {
  Coords at;
  for (Value c : f.delinearize(k.value(number), extents))
    at.push_back(Coord::uniform(c));
  at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
  return at;
}

Coords FourierData::neighbours(Index outer, Index inner) {
  Coords at;
  for (Value c : f.delinearize(k.value(outer), ArrayRef(extents).drop_back()))
    at.push_back(Coord::uniform(c));
  at.push_back(Coord::uniform(f.e.index(0)));
  at.push_back(Coord::affine(k.value(inner), 1));
  return at;
}

Value FourierData::vectorAt(Value operand, Coords at, Index place, Index valid) {
  bool alongAxis = axis + 1 == at.size();
  at[axis] = Coord::affine(k.value(place), alongAxis ? 1 : 0);
  auto known = KernelBuilder::known(valid);
  bool isPart = !known || *known < lanes;
  Value mask = isPart ? k.firstLanes(lanes, valid) : Value();
  f.e.setMask(mask);
  Value v = f.e.evalVector(operand, at);
  f.e.setMask({});
  f.failed |= !v;
  auto type = VectorType::get({int64_t(lanes)}, tensorType(operand).getElementType());
  if (!v)
    return k.zero(type);
  return isPart ? Value(arith::SelectOp::create(f.b, mask, v, k.zero(type))) : v;
}

Value FourierData::elementAt(Value operand, Coords at, Index place) {
  at[axis] = Coord::uniform(k.value(place));
  f.e.setLanes(1);
  Value v = f.e.eval(operand, at);
  f.e.setLanes(lanes);
  f.failed |= !v;
  return v ? v : k.zero(tensorType(operand).getElementType());
}
