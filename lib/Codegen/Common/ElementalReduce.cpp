//===- ElementalReduce.cpp - Reductions at a point ------------------------===//
//
// A reduction is a loop inside the point's code; the lanes are neighbouring
// results, so this is the form for kept innermost axes (channels last), windows
// and small sums. Rows reduced along their innermost axis have a kernel template
// of their own, and large contractions too.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Analysis/PlanarConv.h"
#include "tcc/Codegen/Common/Elemental.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// A nest of loops over `extents` carrying one value.
static Value carryLoop(Elemental &e, ArrayRef<Value> extents, Value init,
                       function_ref<Value(ArrayRef<Value>, Value)> body,
                       SmallVector<Value> indices = {}) {
  if (indices.size() == extents.size())
    return e.nested([&] { return body(indices, init); });
  ImplicitLocOpBuilder &b = e.builder();
  Value extent = extents[indices.size()];
  if (getConstantIntValue(extent) == 1) {
    indices.push_back(e.index(0));
    return carryLoop(e, extents, init, body, indices);
  }
  auto loop = scf::ForOp::create(b, e.index(0), extent, e.index(1), ValueRange{init});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  indices.push_back(loop.getInductionVar());
  Value next = carryLoop(e, extents, loop.getRegionIterArg(0), body, indices);
  if (!next)
    next = loop.getRegionIterArg(0); // the error is reported; keep the IR whole
  scf::YieldOp::create(b, next);
  return loop.getResult(0);
}

/// The same with the last axes written out, as many as have few points, so that the place of each
/// point along them is known.
static Value carryPoints(Elemental &e, ArrayRef<int64_t> extents, Value init,
                         function_ref<Value(ArrayRef<Value>, Value)> body) {
  constexpr int64_t few = 27;
  size_t looped = extents.size();
  int64_t points = 1;
  while (looped > 0 && points * extents[looped - 1] <= few)
    points *= extents[--looped];
  SmallVector<Value> sizes;
  for (int64_t extent : extents.take_front(looped))
    sizes.push_back(e.index(extent));
  ArrayRef<int64_t> written = extents.drop_front(looped);
  return carryLoop(e, sizes, init, [&](ArrayRef<Value> before, Value carried) {
    for (int64_t point = 0; carried && point < points; ++point) {
      SmallVector<Value> at(extents.size());
      llvm::copy(before, at.begin());
      for (int64_t axis = written.size(), rest = point; axis-- > 0; rest /= written[axis])
        at[looped + axis] = e.index(rest % written[axis]);
      carried = e.nested([&] { return body(at, carried); });
    }
    return carried;
  });
}

static Value neutralVector(Elemental &e, TypedAttr neutral) {
  Value v = arith::ConstantOp::create(e.builder(), neutral);
  return e.lanes() > 1 ? e.splat(v, e.lanes()) : v;
}

Value Elemental::evalReduce(Operation *op, ArrayRef<Coord> at) {
  auto o = cast<prim::ReduceOp>(op);
  auto xt = tensorType(o.getX());
  SmallVector<Value> extents;
  for (int64_t axis : o.getAxes())
    extents.push_back(extent(o.getX(), axis));
  TypedAttr neutral = neutralElement(o.getKind(), xt.getElementType());
  auto point = [&](ArrayRef<Value> inner) -> Value {
    Coords source;
    unsigned kept = 0;
    for (int64_t axis = 0; axis < xt.getRank(); ++axis) {
      auto *it = llvm::find(o.getAxes(), axis);
      source.push_back(it == o.getAxes().end() ? at[kept++]
                                               : Coord::uniform(inner[it - o.getAxes().begin()]));
    }
    return evalVector(o.getX(), source);
  };
  // Each axis has a sum of its own: one running sum over all points would lose
  // bits in proportion to their number.
  std::function<Value(SmallVector<Value>)> level = [&](SmallVector<Value> indices) -> Value {
    if (indices.size() == extents.size())
      return point(indices);
    return carryLoop(*this, extents[indices.size()], neutralVector(*this, neutral),
                     [&](ArrayRef<Value> i, Value carried) -> Value {
                       SmallVector<Value> deeper(indices);
                       deeper.push_back(i[0]);
                       Value v = level(deeper);
                       return v ? emitCombine(b, o.getKind(), xt.getElementType(), carried, v)
                                : Value();
                     });
  };
  return level({});
}

Value Elemental::evalPoolOfLine(prim::PoolOp o, ArrayRef<Coord> at) {
  return evalPool(o, at, o.getWindow().size() - 1);
}

/// Along the first axes of the window; the others' coordinates are those of x.
Value Elemental::evalPool(prim::PoolOp o, ArrayRef<Coord> at, unsigned axes) {
  Type e = tensorType(o.getX()).getElementType();
  unsigned first = o.getChannelsLast() ? 1 : 2;
  TypedAttr neutral = neutralElement(o.getKind(), e);
  Value init = neutralVector(*this, neutral);
  auto point = [&](ArrayRef<Value> window, Value carried) -> Value {
    Coords source(at);
    Value inside, laneMask;
    for (auto [i, w] : llvm::enumerate(window)) {
      Value offset = subIndex(mulIndex(w, index(o.getDilations()[i])), index(o.getLow()[i]));
      Coord &c = source[first + i] = addCoord(scaleCoord(at[first + i], o.getStrides()[i]), offset);
      bool affine = !c.vector && c.step != 0 && numLanes > 1;
      Value ok = inRange(c, extent(o.getX(), first + i));
      if (affine && ok && isa<VectorType>(ok.getType()))
        laneMask = andMasks(laneMask, ok);
      inside = andMasks(inside, ok);
    }
    if (laneMask)
      mask = andMasks(mask, laneMask);
    Value v = evalVector(o.getX(), source);
    if (!v)
      return {};
    if (inside)
      v = arith::SelectOp::create(b, isa<VectorType>(v.getType()) ? widen(inside, true) : inside, v,
                                  neutralVector(*this, neutral));
    return emitCombine(b, o.getKind(), e, carried, v);
  };
  return carryPoints(*this, o.getWindow().take_front(axes), init, point);
}

/// x * y + sum, each widened to the type that the sum is kept in.
static Value multiplyAdd(Elemental &e, Value x, Value y, Value sum, Type xe, Type ye, Type re) {
  ImplicitLocOpBuilder &b = e.builder();
  x = emitCast(b, x, xe, re, true);
  y = emitCast(b, y, ye, re, true);
  return emitCombine(b, prim::ReduceKind::sum, re, emitCombine(b, prim::ReduceKind::prod, re, x, y),
                     sum);
}

Type tcc::codegen::sumType(Type result) {
  Builder b(result.getContext());
  return isa<FloatType>(result) && result.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : result;
}

Value Elemental::evalDot(prim::DotOp o, ArrayRef<Coord> at) {
  auto lt = tensorType(o.getLhs()), rt = tensorType(o.getRhs());
  Type re = sumType(tensorType(o.getResult()).getElementType());
  SmallVector<Value> extents;
  for (int64_t axis : o.getLhsContract())
    extents.push_back(extent(o.getLhs(), axis));
  unsigned batch = o.getLhsBatch().size();
  Value init = neutralVector(*this, neutralElement(prim::ReduceKind::sum, re));
  return carryLoop(*this, extents, init, [&](ArrayRef<Value> k, Value carried) -> Value {
    unsigned next = batch;
    auto side = [&](RankedTensorType type, ArrayRef<int64_t> batchAxes,
                    ArrayRef<int64_t> contract) {
      Coords c(type.getRank());
      for (auto [i, axis] : llvm::enumerate(batchAxes))
        c[axis] = at[i];
      for (auto [i, axis] : llvm::enumerate(contract))
        c[axis] = Coord::uniform(k[i]);
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (!llvm::is_contained(batchAxes, axis) && !llvm::is_contained(contract, axis))
          c[axis] = at[next++];
      return c;
    };
    Coords lc = side(lt, o.getLhsBatch(), o.getLhsContract());
    Coords rc = side(rt, o.getRhsBatch(), o.getRhsContract());
    Value l = evalVector(o.getLhs(), lc), r = evalVector(o.getRhs(), rc);
    return l && r ? multiplyAdd(*this, l, r, carried, lt.getElementType(), rt.getElementType(), re)
                  : Value();
  });
}

/// The first input channel of the group that `outChannel` belongs to.
Coord Elemental::groupChannel(prim::ConvOp o, const Coord &outChannel) {
  if (o.getGroups() == 1)
    return Coord::uniform(index(0));
  Value perGroup = divIndex(extent(o.getW(), 0), index(o.getGroups()));
  Value channels = extent(o.getW(), 1);
  if (getConstantIntValue(perGroup) == 1) {
    auto known = getConstantIntValue(channels);
    return known ? scaleCoord(outChannel, *known)
                 : Coord::any(arith::MulIOp::create(b, widen(coordValue(outChannel), true),
                                                    splat(channels, numLanes)));
  }
  if (outChannel.isUniform())
    return Coord::uniform(mulIndex(divIndex(outChannel.base, perGroup), channels));
  Value group = arith::DivUIOp::create(b, coordValue(outChannel), widen(perGroup, numLanes > 1));
  Value start = arith::MulIOp::create(b, group, widen(channels, numLanes > 1));
  return numLanes > 1 ? Coord::any(start) : Coord::uniform(start);
}

Value Elemental::evalConvWeight(prim::ConvOp o, ArrayRef<Coord> at, ArrayRef<Value> k) {
  Coords wc = {at[o.getChannelsLast() ? o.getStrides().size() + 1 : 1]};
  for (Value i : k)
    wc.push_back(Coord::uniform(i));
  return evalVector(o.getW(), wc);
}

Coords Elemental::convInputAt(prim::ConvOp o, ArrayRef<Coord> at, ArrayRef<Coord> k,
                              Value &inside) {
  Value laneMask;
  Coords xc = convInputAt(o, at, k, inside, laneMask);
  assert(!laneMask && "the window varies along the lanes");
  return xc;
}

Coords Elemental::convInputAt(prim::ConvOp o, ArrayRef<Coord> at, ArrayRef<Coord> k, Value &inside,
                              Value &laneMask) {
  unsigned spatial = o.getStrides().size();
  unsigned first = o.getChannelsLast() ? 1 : 2, channelAxis = o.getChannelsLast() ? spatial + 1 : 1;
  Coords xc(at);
  if (k[0].isUniform()) {
    xc[channelAxis] = addCoord(groupChannel(o, at[channelAxis]), k[0].base);
  } else {
    Coord group = groupChannel(o, at[channelAxis]);
    xc[channelAxis] = Coord::affine(addIndex(group.base, k[0].base), k[0].step);
  }
  for (unsigned i = 0; i < spatial; ++i) {
    Value offset =
        subIndex(mulIndex(k[i + 1].base, index(o.getDilations()[i])), index(o.getLow()[i]));
    Coord c = addCoord(scaleCoord(at[first + i], o.getStrides()[i]), offset);
    if (int64_t gap = o.getInputDilation()[i]; gap != 1) {
      Value v = coordValue(c);
      bool vector = isa<VectorType>(v.getType());
      Value g = widen(index(gap), vector), zero = widen(index(0), vector),
            none = widen(index(-1), vector);
      Value hit =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::RemSIOp::create(b, v, g), zero);
      Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, v, zero);
      Value q = arith::SelectOp::create(b, negative, none, arith::DivSIOp::create(b, v, g));
      q = arith::SelectOp::create(b, hit, q, none);
      c = vector ? Coord::any(q) : Coord::uniform(q);
    }
    bool affine = !c.vector && c.step != 0 && numLanes > 1;
    Value ok = inRange(c, extent(o.getX(), first + i));
    if (affine && ok && isa<VectorType>(ok.getType()))
      laneMask = andMasks(laneMask, ok);
    inside = andMasks(inside, ok);
    xc[first + i] = c;
  }
  return xc;
}

Value Elemental::evalConvInput(prim::ConvOp o, ArrayRef<Coord> at, ArrayRef<Value> k) {
  Coords window;
  for (Value i : k)
    window.push_back(Coord::uniform(i));
  Value inside, laneMask;
  Coords xc = convInputAt(o, at, window, inside, laneMask);
  if (laneMask)
    mask = andMasks(mask, laneMask);
  Value x = laneMask ? nested([&] {
    forget();
    return evalVector(o.getX(), xc);
  })
                     : evalVector(o.getX(), xc);
  if (!x || !inside)
    return x;
  Value zero = o.getZero() != 0
                   ? number(b, static_cast<double>(o.getZero()), x)
                   : arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(x.getType())));
  return arith::SelectOp::create(b, isa<VectorType>(x.getType()) ? widen(inside, true) : inside, x,
                                 zero);
}

/// No kernel writes what it reads as weights: a loop over pixels keeps them.
static void markUnchanging(Value weight) {
  if (auto splat = weight.getDefiningOp<vector::BroadcastOp>())
    weight = splat.getSource();
  if (auto load = weight.getDefiningOp<LLVM::LoadOp>())
    load.setInvariant(true);
}

Value Elemental::evalConv(prim::ConvOp o, ArrayRef<Coord> at) {
  auto xt = tensorType(o.getX()), wt = tensorType(o.getW());
  Type re = sumType(tensorType(o.getResult()).getElementType());
  SmallVector<Value> extents;
  for (unsigned i = 1; i < wt.getRank(); ++i)
    extents.push_back(extent(o.getW(), i));
  Value init = neutralVector(*this, neutralElement(prim::ReduceKind::sum, re));
  bool planar = isPlanar(o);
  auto point = [&](ArrayRef<Value> k, Value carried) -> Value {
    Value w = evalConvWeight(o, at, k), x = evalConvInput(o, at, k);
    if (planar && w)
      markUnchanging(w);
    if (!x || !w)
      return {};
    Type from = xt.getElementType();
    if (o.getZero() != 0) {
      Value zero = number(b, static_cast<double>(o.getZero()), x);
      x = arith::SubIOp::create(b, emitCast(b, x, from, re, true),
                                emitCast(b, zero, from, re, true));
      from = re;
    }
    return multiplyAdd(*this, x, w, carried, from, wt.getElementType(), re);
  };
  if (planar)
    return carryPoints(*this, wt.getShape().drop_front(), init, point);
  return carryLoop(*this, extents, init, point);
}
