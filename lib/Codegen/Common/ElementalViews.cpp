//===- ElementalViews.cpp - Views and indexing as changes of the index ----===//
//
// Padding and concatenation decide by the index which operand a point comes
// from. A point outside an operand must not be loaded: a uniform index is
// replaced by 0, a vector of them by a mask on the loads. Where a load of a part of
// a vector is one of each lane, a vector first asks whether all of them lie inside.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value Elemental::evalView(Operation *op, ArrayRef<Coord> at) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](prim::ConstantOp o) { return evalConstant(o, at); })
      .Case([&](prim::IotaOp o) {
        Value v = coordValue(at[o.getAxis()]);
        Type i64 = b.getI64Type();
        Value i = arith::IndexCastOp::create(b, likeType(i64, v), v);
        return emitCast(b, i, i64, tensorType(o.getResult()).getElementType(), /*saturate=*/false);
      })
      .Case([&](prim::FromElementsOp o) -> Value {
        auto type = tensorType(o.getResult());
        Type c = computeType(type.getElementType());
        return chosenByPosition(type, at, [&](int64_t i) -> Value {
          Value v = scalar(o.getElements()[i]);
          return v.getType() == c ? v : Value(arith::IndexCastOp::create(b, c, v));
        });
      })
      .Case([&](prim::TransposeOp o) {
        Coords source(at.size());
        for (auto [i, axis] : llvm::enumerate(o.getPermutation()))
          source[axis] = at[i];
        return eval(o.getX(), source);
      })
      .Case([&](prim::ReverseOp o) {
        Coords source(at);
        for (int64_t axis : o.getAxes())
          source[axis] =
              addCoord(scaleCoord(at[axis], -1), subIndex(extent(o.getX(), axis), index(1)));
        return eval(o.getX(), source);
      })
      .Case([&](prim::SliceOp o) {
        Coords source;
        for (auto [c, start, step] : llvm::zip(at, o.getMixedStarts(), o.getSteps())) {
          Value offset =
              isa<Value>(start) ? scalar(cast<Value>(start)) : index(*getConstantIntValue(start));
          source.push_back(addCoord(scaleCoord(c, step), offset));
        }
        return eval(o.getX(), source);
      })
      .Case([&](prim::ReshapeOp o) { return evalReshape(o, at); })
      .Case([&](prim::BroadcastOp o) { return evalBroadcast(o, at); })
      .Case([&](prim::PadOp o) { return evalPad(o, at); })
      .Case([&](prim::ConcatOp o) { return evalConcat(o, at); })
      .Case<prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp>(
          [&](auto o) { return evalIndexing(o, at); })
      .Case([&](prim::ReduceOp o) { return evalReduce(o, at); })
      .Case([&](prim::PoolOp o) { return evalPool(o, at, o.getWindow().size()); })
      .Case([&](prim::DotOp o) { return evalDot(o, at); })
      .Case([&](prim::ConvOp o) { return evalConv(o, at); })
      .Case([&](prim::RandomBitsOp o) { return evalRandom(o, at); })
      .Default([](Operation *o) {
        o->emitError("code generation has no elemental form of '") << o->getName() << "'";
        return Value();
      });
}

/// Of few elements: the one at `at`, by comparing the position with each.
Value Elemental::chosenByPosition(RankedTensorType type, ArrayRef<Coord> at,
                                  llvm::function_ref<Value(int64_t)> element) {
  if (type.getNumElements() == 0) // nobody gets to look at what it gives
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(computeType(type.getElementType()))));
  SmallVector<Value> extents;
  for (int64_t d : type.getShape())
    extents.push_back(index(d));
  Value position = coordValue(linearIndex(extents, at)), result;
  bool vector = isa<VectorType>(position.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value v = widen(element(i), vector);
    if (!result) {
      result = v;
      continue;
    }
    Value here =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, position, widen(index(i), vector));
    result = arith::SelectOp::create(b, here, v, result);
  }
  return result;
}

Value Elemental::evalConstant(prim::ConstantOp op, ArrayRef<Coord> at) {
  auto type = tensorType(op.getResult());
  Type e = type.getElementType(), c = computeType(e);
  auto dense = cast<DenseElementsAttr>(op.getElements());
  auto element = [&](int64_t i) -> TypedAttr {
    if (auto f = dyn_cast<FloatType>(e)) {
      APFloat v = *(dense.value_begin<APFloat>() + i);
      bool lost;
      v.convert(cast<FloatType>(c).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      return b.getFloatAttr(c, v);
    }
    APInt v = *(dense.value_begin<APInt>() + i);
    unsigned width = c.getIntOrFloatBitWidth();
    return b.getIntegerAttr(c, prim::isUnsigned(e) ? v.zextOrTrunc(width) : v.sextOrTrunc(width));
  };
  if (type.getNumElements() == 1 || (dense.isSplat() && type.getNumElements() > 0))
    return arith::ConstantOp::create(b, element(0));
  return chosenByPosition(
      type, at, [&](int64_t i) -> Value { return arith::ConstantOp::create(b, element(i)); });
}

Value Elemental::evalBroadcast(prim::BroadcastOp op, ArrayRef<Coord> at) {
  auto xt = tensorType(op.getX()), rt = tensorType(op.getResult());
  Coords source;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    const Coord &c = at[axis];
    bool surelySame = !xt.isDynamicDim(i) && xt.getDimSize(i) != 1;
    if (xt.getDimSize(i) == 1) {
      source.push_back(Coord::uniform(index(0)));
    } else if (surelySame || !xt.isDynamicDim(i)) {
      source.push_back(c);
    } else {
      Value have = extent(op.getX(), i);
      if (rt.isDynamicDim(axis) && have == extent(op.getResult(), axis)) {
        source.push_back(c);
        continue;
      }
      Value one = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, have, index(1));
      if (c.isUniform()) {
        source.push_back(Coord::uniform(arith::SelectOp::create(b, one, index(0), c.base)));
      } else {
        Value v = coordValue(c);
        Value zero = splat(index(0), numLanes);
        source.push_back(Coord::any(arith::SelectOp::create(b, splat(one, numLanes), zero, v)));
      }
    }
  }
  return eval(op.getX(), source);
}

/// 0 <= c < extent; afterwards c is safe wherever the answer is no, or the mask, a vector, must be
/// applied (affine coords stay as they are). One answer for all lanes where they lie together on
/// one side of each end.
Value Elemental::inRange(Coord &c, Value extentValue) {
  auto range = rangeOf(c);
  auto known = getConstantIntValue(extentValue);
  if (range && known && range->first >= 0 && range->second <= *known)
    return {};
  bool vector = !c.isUniform() && numLanes > 1;
  if (vector && c.step == 1 && known && *known % numLanes == 0 && alignedToLanes(c.base)) {
    Value ok = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, c.base, extentValue);
    c.base = arith::SelectOp::create(b, ok, c.base, index(0));
    bindAligned(c.base);
    return ok;
  }
  Value v = coordValue(c);
  // Unsigned comparison: negative indices are huge.
  Value ok = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, v, widen(extentValue, vector));
  if (!vector)
    c = Coord::uniform(arith::SelectOp::create(b, ok, v, index(0)));
  else if (c.vector)
    c = Coord::any(arith::SelectOp::create(b, ok, v, splat(index(0), numLanes)));
  return ok;
}

Value Elemental::allInRange(const Coord &c, Value extentValue) {
  if (!asksForWhole || recorder || mask || numLanes == 1 || c.vector || c.step == 0)
    return {};
  auto known = getConstantIntValue(extentValue);
  if (auto range = rangeOf(c); range && known)
    if (getConstantIntValue(c.base) || range->second <= 0 || range->first >= *known ||
        (range->first >= 0 && range->second <= *known))
      return {};
  if (known && (*known < numLanes || (*known % numLanes == 0 && alignedToLanes(c.base))))
    return {};
  auto inside = [&](Value v) -> Value { // negative indices are huge
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, v, extentValue);
  };
  Value last = addIndex(c.base, index(c.step * (int64_t(numLanes) - 1)));
  return arith::AndIOp::create(b, inside(c.base), inside(last));
}

Value Elemental::eitherVector(Value condition, Value like, llvm::function_ref<Value()> then,
                              llvm::function_ref<Value()> otherwise) {
  Type type = VectorType::get({numLanes}, computeType(tensorType(like).getElementType()));
  auto branch = scf::IfOp::create(b, type, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, value] :
       {std::pair(branch.thenBlock(), then), std::pair(branch.elseBlock(), otherwise)}) {
    b.setInsertionPointToStart(block);
    Value v = nested(value);
    if (!v)
      return {};
    scf::YieldOp::create(b, widen(v, true));
  }
  return branch.getResult(0);
}

Value Elemental::evalPad(prim::PadOp op, ArrayRef<Coord> at) {
  for (auto [i, low] : llvm::enumerate(op.getMixedLow())) {
    if (!asksForWhole || at[i].vector || at[i].step == 0 || op.getInterior()[i] != 0)
      continue;
    Value offset = isa<Value>(low) ? scalar(cast<Value>(low)) : index(*getConstantIntValue(low));
    Coord c = addCoord(at[i], subIndex(index(0), offset));
    bool same = getConstantIntValue(low) == 0 && !tensorType(op.getX()).isDynamicDim(i) &&
                tensorType(op.getX()).getDimSize(i) == tensorType(op.getResult()).getDimSize(i);
    if (Value whole = same ? Value() : allInRange(c, extent(op.getX(), i)))
      return eitherVector(
          whole, op.getX(), [&] { return evalPadAt(op, at, i); },
          [&] { return evalPadAt(op, at, {}); });
  }
  return evalPadAt(op, at, {});
}

Value Elemental::evalPadAt(prim::PadOp op, ArrayRef<Coord> at, std::optional<unsigned> whole) {
  auto xt = tensorType(op.getX());
  Coords source;
  Value inside, laneMask;
  for (auto [i, low] : llvm::enumerate(op.getMixedLow())) {
    bool dynamic = isa<Value>(low);
    Value offset = dynamic ? scalar(cast<Value>(low)) : index(*getConstantIntValue(low));
    int64_t gap = op.getInterior()[i] + 1;
    bool untouched = !dynamic && getConstantIntValue(low) == 0 && gap == 1 && !xt.isDynamicDim(i) &&
                     xt.getDimSize(i) == tensorType(op.getResult()).getDimSize(i);
    if (untouched) {
      source.push_back(at[i]);
      continue;
    }
    Coord c = addCoord(at[i], subIndex(index(0), offset));
    if (whole == i) {
      source.push_back(c);
      continue;
    }
    if (gap != 1) {
      Value v = coordValue(c);
      bool vector = isa<VectorType>(v.getType());
      Value g = widen(index(gap), vector), zero = widen(index(0), vector);
      Value rest = arith::RemSIOp::create(b, v, g);
      Value hit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, zero);
      Value q = arith::DivSIOp::create(b, v, g);
      // Between elements and before the first: an index no extent reaches.
      Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, v, zero);
      Value none = widen(index(-1), vector);
      q = arith::SelectOp::create(b, hit, arith::SelectOp::create(b, negative, none, q), none);
      c = vector ? Coord::any(q) : Coord::uniform(q);
    }
    if (auto range = rangeOf(c);
        range && !xt.isDynamicDim(i) && (range->second <= 0 || range->first >= xt.getDimSize(i)))
      return eval(op.getValue(), {});
    bool affine = !c.vector && c.step != 0 && numLanes > 1;
    Value ok = inRange(c, extent(op.getX(), i));
    if (affine && ok && isa<VectorType>(ok.getType()))
      laneMask = andMasks(laneMask, ok);
    inside = andMasks(inside, ok);
    source.push_back(c);
  }
  if (!inside)
    return eval(op.getX(), source);
  Value x = nested([&] {
    if (laneMask) {
      mask = andMasks(mask, laneMask);
      forget();
    }
    return eval(op.getX(), source);
  });
  Value border = eval(op.getValue(), {});
  if (!x || !border)
    return {};
  bool vector = isa<VectorType>(inside.getType()) || isa<VectorType>(x.getType());
  return arith::SelectOp::create(b, widen(inside, vector), widen(x, vector), widen(border, vector));
}

Value Elemental::evalConcat(prim::ConcatOp op, ArrayRef<Coord> at) {
  unsigned axis = op.getAxis();
  if (piece && piece->concat == op) {
    Coords source(at);
    source[axis] = addCoord(at[axis], subIndex(index(0), piece->begin));
    return eval(op.getInputs()[piece->input], source);
  }
  if (auto range = rangeOf(at[axis])) {
    int64_t first = 0;
    for (Value input : op.getInputs()) {
      int64_t size = tensorType(input).getDimSize(axis);
      if (ShapedType::isDynamic(size))
        break;
      if (range->first >= first && range->second <= first + size) {
        Coords source(at);
        source[axis] = addCoord(at[axis], index(-first));
        return eval(input, source);
      }
      first += size;
    }
  }
  return evalConcatFrom(op, at, 0, index(0));
}

/// Of the operands from `first` on, which begins at `begin`, the first that has all lanes; else
/// each has a part.
Value Elemental::evalConcatFrom(prim::ConcatOp op, ArrayRef<Coord> at, unsigned first,
                                Value begin) {
  constexpr unsigned kMost = 8;
  unsigned axis = op.getAxis(), count = op.getInputs().size();
  for (unsigned i = first; i < count && count <= kMost; ++i) {
    Value input = op.getInputs()[i], size = extent(input, axis);
    Coords source(at);
    source[axis] = addCoord(at[axis], subIndex(index(0), begin));
    begin = addIndex(begin, size);
    if (Value whole = allInRange(source[axis], size))
      return eitherVector(
          whole, op.getResult(), [&] { return eval(input, source); },
          [&] { return evalConcatFrom(op, at, i + 1, begin); });
  }
  return evalConcatMasked(op, at);
}

Value Elemental::evalConcatMasked(prim::ConcatOp op, ArrayRef<Coord> at) {
  unsigned axis = op.getAxis();
  Value begin = index(0), result;
  for (Value input : op.getInputs()) {
    Coords source(at);
    Coord &c = source[axis] = addCoord(at[axis], subIndex(index(0), begin));
    Value size = extent(input, axis);
    bool affine = !c.vector && c.step != 0 && numLanes > 1;
    Value ok = inRange(c, size);
    if (!ok)
      ok = arith::ConstantOp::create(b, b.getBoolAttr(true));
    if (result && !isa<VectorType>(ok.getType())) {
      // One operand for all lanes: only that one is read.
      Value before = widen(result, numLanes > 1);
      auto branch = scf::IfOp::create(b, before.getType(), ok, /*withElse=*/true);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        Value here = nested([&] { return evalVector(input, source); });
        scf::YieldOp::create(b, here ? here : before);
        b.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(b, before);
      }
      result = branch.getResult(0);
      begin = addIndex(begin, size);
      continue;
    }
    Value v = nested([&] {
      if (affine && isa<VectorType>(ok.getType())) {
        mask = andMasks(mask, ok);
        forget();
      }
      return eval(input, source);
    });
    if (!v)
      return {};
    if (!result) {
      result = v;
    } else {
      bool vector = isa<VectorType>(ok.getType()) || isa<VectorType>(v.getType()) ||
                    isa<VectorType>(result.getType());
      result =
          arith::SelectOp::create(b, widen(ok, vector), widen(v, vector), widen(result, vector));
    }
    begin = addIndex(begin, size);
  }
  return result;
}

Coord Elemental::clampedIndex(Value element, Value extentValue) {
  bool isVector = isa<VectorType>(element.getType());
  Type indexType = likeType(b.getIndexType(), element);
  Value last = subIndex(extentValue, index(1)), zero = index(0);
  // An index of 64 bits is clamped before it becomes `index`, which may have 32.
  bool wide = getElementTypeOrSelf(element.getType()).isInteger(64);
  if (wide) {
    last = arith::IndexCastOp::create(b, b.getI64Type(), last);
    zero = arith::IndexCastOp::create(b, b.getI64Type(), zero);
  } else {
    element = arith::IndexCastOp::create(b, indexType, element);
  }
  last = widen(last, isVector);
  zero = widen(zero, isVector);
  Value i = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, element, last), zero);
  if (wide)
    i = arith::IndexCastOp::create(b, indexType, i);
  return isVector ? Coord::any(i) : Coord::uniform(i);
}

/// Whether the indices are the same for many rows, as those of a resized image are: then they
/// mostly ascend.
static bool isTableOfRows(prim::TakeOp op) {
  constexpr int64_t kMany = 8;
  auto indices = tensorType(op.getIndices()), x = tensorType(op.getX());
  if (indices.getRank() != 1)
    return false;
  int64_t rows = 1;
  for (auto [axis, extent] : llvm::enumerate(x.getShape()))
    if (axis != op.getAxis())
      rows *= ShapedType::isDynamic(extent) ? kMany : extent;
  return rows >= kMany;
}

Value Elemental::evalIndexing(Operation *op, ArrayRef<Coord> at) {
  if (auto o = dyn_cast<prim::TakeOp>(op)) {
    unsigned axis = o.getAxis(), inner = tensorType(o.getIndices()).getRank();
    Coords source(at.take_front(axis));
    auto place = positionOf(o.getIndices(), at.slice(axis, inner));
    if (place && place->least >= 0 && place->most < tensorType(o.getX()).getDimSize(axis)) {
      source.push_back(place->at);
      source.append(at.begin() + axis + inner, at.end());
      return eval(o.getX(), source);
    }
    Value i = eval(o.getIndices(), at.slice(axis, inner));
    if (!i)
      return {};
    const Coord &taken = source.emplace_back(clampedIndex(i, extent(o.getX(), axis)));
    if (isTableOfRows(o))
      supposeWindow(taken, tensorType(o.getX()).getDimSize(axis),
                    tensorType(o.getIndices()).getDimSize(0));
    source.append(at.begin() + axis + inner, at.end());
    return eval(o.getX(), source);
  }
  if (auto o = dyn_cast<prim::TakeAlongOp>(op)) {
    Value i = eval(o.getIndices(), at);
    if (!i)
      return {};
    Coords source(at);
    source[o.getAxis()] = clampedIndex(i, extent(o.getX(), o.getAxis()));
    return eval(o.getX(), source);
  }
  auto o = cast<prim::GatherNdOp>(op);
  auto indices = tensorType(o.getIndices());
  unsigned outer = indices.getRank() - 1, batch = o.getBatchDims();
  Coords source(at.take_front(batch));
  for (int64_t k = 0; k < indices.getShape().back(); ++k) {
    Coords where(at.take_front(outer));
    where.push_back(Coord::uniform(index(k)));
    Value i = eval(o.getIndices(), where);
    if (!i)
      return {};
    source.push_back(clampedIndex(i, extent(o.getX(), batch + k)));
  }
  source.append(at.begin() + outer, at.end());
  return eval(o.getX(), source);
}
