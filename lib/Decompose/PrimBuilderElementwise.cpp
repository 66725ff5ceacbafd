//===- PrimBuilderElementwise.cpp - Broadcasting, casts, indices ----------===//
//
// Nothing broadcasts implicitly in prim, so the builder makes operands equal in shape and type
// before it makes the operator. Elements that the host knows fold on the way.
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "HostScalars.h"
#include "IndexBounds.h"

using namespace mlir;
using namespace tcc;

Type PrimBuilder::refined(Value x, Value y) {
  SmallVector<int64_t> shape(type(x).getShape());
  for (auto [mine, other] : llvm::zip(shape, type(y).getShape()))
    if (ShapedType::isDynamic(mine))
      mine = other;
  return RankedTensorType::get(shape, elem(x));
}

Dims PrimBuilder::broadcastShapes(ArrayRef<Dim> x, ArrayRef<Dim> y) {
  size_t rank = std::max(x.size(), y.size());
  Dims result(rank);
  for (size_t i = 0; i < rank; ++i) {
    Dim dx = i < x.size() ? x[x.size() - 1 - i] : dim(1);
    Dim dy = i < y.size() ? y[y.size() - 1 - i] : dim(1);
    result[rank - 1 - i] = broadcastDims(dx, dy);
  }
  return result;
}

void PrimBuilder::broadcastTogether(Value &x, Value &y) {
  if (x.getType() == y.getType() && type(x).hasStaticShape())
    return;
  Dims shape = broadcastShapes(dims(x), dims(y));
  x = broadcastTo(x, shape);
  y = broadcastTo(y, shape);
}

/// Elements of `x` and `y` paired as broadcasting pairs them, or false.
static bool pairElements(PrimBuilder &pb, Value x, Value y, SmallVector<int64_t> &shape, Dims &ex,
                         Dims &ey) {
  auto hx = pb.hostElements(x), hy = pb.hostElements(y);
  if (!hx || !hy)
    return false;
  auto common = broadcastStatic(pb.type(x).getShape(), pb.type(y).getShape());
  if (!common)
    return false;
  shape = *common;
  for (int64_t i = 0, n = ShapedType::getNumElements(shape); i < n; ++i) {
    ex.push_back((*hx)[broadcastIndex(i, shape, pb.type(x).getShape())]);
    ey.push_back((*hy)[broadcastIndex(i, shape, pb.type(y).getShape())]);
  }
  return true;
}

static bool isConstant(Value v) { return v.getDefiningOp<prim::ConstantOp>() != nullptr; }

Value PrimBuilder::compare(prim::ComparePredicate predicate, Value x, Value y) {
  SmallVector<int64_t> shape;
  Dims ex, ey, result;
  bool onHost = elem(x) == elem(y) && !(isConstant(x) && isConstant(y));
  if (onHost && pairElements(*this, x, y, shape, ex, ey)) {
    for (auto [l, r] : llvm::zip(ex, ey))
      if (Dim d = hostCompare(*this, predicate, elem(x), l, r))
        result.push_back(d);
    if (result.size() == ex.size())
      return fromHost(result, shape, b.getI1Type());
  }
  if (elem(x) != elem(y))
    fault("operands differ in element type");
  broadcastTogether(x, y);
  auto t = cast<RankedTensorType>(refined(x, y)).clone(b.getI1Type());
  return folded(prim::CompareOp::create(b, loc, t, predicate, x, y));
}

Value PrimBuilder::select(Value condition, Value x, Value y) {
  SmallVector<int64_t> shape;
  Dims ex, ey, result;
  auto conditions = hostElements(condition);
  bool constant = isConstant(condition) && isConstant(x) && isConstant(y);
  if (conditions && !constant && pairElements(*this, x, y, shape, ex, ey)) {
    auto common = broadcastStatic(shape, type(condition).getShape());
    for (int64_t i = 0, n = common ? ShapedType::getNumElements(*common) : 0; i < n; ++i) {
      int64_t at = broadcastIndex(i, *common, shape);
      Dim c = (*conditions)[broadcastIndex(i, *common, type(condition).getShape())];
      if (Dim d = hostSelect(*this, elem(x), c, ex[at], ey[at]))
        result.push_back(d);
    }
    if (common && static_cast<int64_t>(result.size()) == ShapedType::getNumElements(*common))
      return fromHost(result, *common, elem(x));
  }
  if (elem(x) != elem(y) || !elem(condition).isInteger(1))
    fault("operands differ in element type");
  Dims all = broadcastShapes(broadcastShapes(dims(x), dims(y)), dims(condition));
  x = broadcastTo(x, all);
  y = broadcastTo(y, all);
  condition = broadcastTo(condition, all);
  return folded(prim::SelectOp::create(b, loc, typeOf(all, elem(x)), condition, x, y));
}

Value PrimBuilder::cast(Value x, Type elementType, bool saturate) {
  if (elem(x) == elementType)
    return x;
  bool onHost = isHostType(elementType) && !isConstant(x);
  if (auto elements = onHost ? hostElements(x) : std::nullopt) {
    Dims result;
    for (Dim d : *elements)
      if (Dim folded = hostCast(*this, elem(x), elementType, d))
        result.push_back(folded);
    if (result.size() == elements->size())
      return fromHost(result, type(x).getShape(), elementType);
  }
  auto t = type(x).clone(elementType);
  return folded(prim::CastOp::create(b, loc, t, x, b.getBoolAttr(saturate)));
}

Value PrimBuilder::full(ArrayRef<Dim> list, double value, Type elementType) {
  return full(list, scalar(value, elementType));
}

Value PrimBuilder::full(ArrayRef<Dim> list, Value scalarValue) {
  RankedTensorType t = typeOf(list, elem(scalarValue));
  auto constantOp = scalarValue.getDefiningOp<prim::ConstantOp>();
  if (constantOp && t.hasStaticShape())
    if (auto dense = dyn_cast<DenseElementsAttr>(constantOp.getElements()))
      return constant(dense.resizeSplat(t));
  return broadcastInDim(scalarValue, list, {});
}

Value PrimBuilder::iota(ArrayRef<Dim> list, int64_t axis, Type elementType) {
  RankedTensorType t = typeOf(list, elementType);
  if (t.hasStaticShape() && t.getRank() == 1 && t.getNumElements() <= 64 &&
      (elementType.isInteger(64) || elementType.isInteger(32))) {
    Dims values;
    for (int64_t i = 0; i < t.getNumElements(); ++i)
      values.push_back(dim(i));
    return fromHost(values, t.getShape(), elementType);
  }
  return prim::IotaOp::create(b, loc, t, axis, dynamicSizes(list)).getResult();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

Value PrimBuilder::wrapIndices(Value indices, Dim extent) {
  requireInRange(*this, indices, extent);
  return countedFromStart(*this, indices, extent);
}

Value PrimBuilder::take(Value x, Value indices, int64_t axis) {
  auto elements = hostElements(x);
  auto positions = constantInts(indices);
  if (elements && !elements->empty() && positions && rank(x) == 1) {
    Dims result;
    int64_t extent = type(x).getDimSize(0);
    for (int64_t p : *positions)
      result.push_back((*elements)[std::clamp<int64_t>(p < 0 ? p + extent : p, 0, extent - 1)]);
    return fromHost(result, type(indices).getShape(), elem(x));
  }
  Dims result = dims(x), inner = dims(indices);
  bool hasAxis = axis >= 0 && axis < rank(x), areIntegers = isa<IntegerType>(elem(indices));
  if (!hasAxis)
    fault("an operand of rank " + llvm::Twine(rank(x)) + " has no axis " + llvm::Twine(axis));
  if (!areIntegers)
    fault("indices are no integers");
  if (!hasAxis || !areIntegers)
    return full(inner, 0, elem(x));
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, inner.begin(), inner.end());
  return prim::TakeOp::create(b, loc, typeOf(result, elem(x)), x, indices, axis).getResult();
}

Value PrimBuilder::takeAlong(Value x, Value indices, int64_t axis) {
  if (rank(x) != rank(indices))
    fault("data and indices differ in rank");
  else
    for (int64_t i = 0; i < rank(x); ++i)
      if (i != axis)
        requireAtMost(*this, dim(indices, i), dim(x, i), "indices");
  return prim::TakeAlongOp::create(b, loc, type(indices).clone(elem(x)), x, indices, axis)
      .getResult();
}

Value PrimBuilder::gatherNd(Value x, Value indices, int64_t batchDims) {
  Dims result = dims(indices), tail = dims(x);
  int64_t depth = type(indices).getShape().back();
  for (int64_t i = 0; i < batchDims; ++i)
    requireSame(*this, result[i], tail[i], "batch axes");
  result.pop_back();
  result.append(tail.begin() + batchDims + depth, tail.end());
  return prim::GatherNdOp::create(b, loc, typeOf(result, elem(x)), x, indices, batchDims)
      .getResult();
}

Value PrimBuilder::nonzero(Value x) {
  Value hit = cast(compare(prim::ComparePredicate::ne, x, 0.0), b.getI64Type());
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rank(x); ++i)
    axes.push_back(i);
  Value total = reduce(prim::ReduceKind::sum, hit, axes, false);
  Value count = indexValue(readElements(total)[0]);
  auto t = RankedTensorType::get({rank(x), ShapedType::kDynamic}, b.getI64Type());
  return prim::NonzeroOp::create(b, loc, t, x, count).getResult();
}
