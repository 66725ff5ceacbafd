//===- PrimBuilderShape.cpp - Views ---------------------------------------===//
//
// Views of tensors, folded as they are built where a tensor is made of host scalars: the shape
// arithmetic of exported models is a chain of such views, and would otherwise become kernels on
// vectors of two elements.
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "HostScalars.h"

using namespace mlir;
using namespace tcc;

/// The elements of `x` at `source` positions as a new host tensor, or null; null too
/// where a model that has been found at fault asks for what `x` does not have.
static Value pickElements(PrimBuilder &pb, Value x, ArrayRef<int64_t> shape,
                          function_ref<int64_t(int64_t)> source) {
  if (ShapedType::isDynamicShape(shape) || ShapedType::getNumElements(shape) > 64)
    return {};
  auto elements = pb.hostElements(x);
  if (!elements)
    return {};
  Dims picked;
  for (int64_t i = 0, n = ShapedType::getNumElements(shape); i < n; ++i) {
    int64_t at = source(i);
    if (at < 0 || at >= static_cast<int64_t>(elements->size()))
      return {};
    picked.push_back((*elements)[at]);
  }
  return pb.fromHost(picked, shape, pb.elem(x));
}

/// As above for a view of `shape`: its element at `place` is that of `x` at
/// start[i] + place[axis] * step[i] on each axis i of `x`.
static Value pickView(PrimBuilder &pb, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
                      ArrayRef<int64_t> starts, ArrayRef<int64_t> steps) {
  auto from = cast<RankedTensorType>(x.getType());
  if (!from.hasStaticShape())
    return {};
  return pickElements(pb, x, shape, [&](int64_t linear) {
    SmallVector<int64_t> place(shape.size());
    for (int64_t axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0; --axis) {
      place[axis] = linear % shape[axis];
      linear /= shape[axis];
    }
    int64_t at = 0;
    for (auto [i, extent] : llvm::enumerate(from.getShape())) {
      int64_t on = starts[i] + place[axes[i]] * steps[i];
      if (on < 0 || on >= extent)
        return int64_t(-1);
      at = at * extent + on;
    }
    return at;
  });
}

Value PrimBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  Dims list;
  for (int64_t extent : shape)
    list.push_back(dim(extent));
  return reshape(x, list);
}

Value PrimBuilder::reshape(Value x, ArrayRef<Dim> list) {
  Dims have = dims(x);
  if (have.size() == list.size() && llvm::all_of(llvm::zip(have, list), [](auto p) {
        return same(std::get<0>(p), std::get<1>(p));
      }))
    return x;
  RankedTensorType t = typeOf(list, elem(x));
  requireSameCount(*this, have, list);
  if (Value picked = pickElements(*this, x, t.getShape(), [](int64_t i) { return i; }))
    return picked;
  if (auto constantOp = x.getDefiningOp<prim::ConstantOp>(); constantOp && t.hasStaticShape())
    if (auto dense = dyn_cast<DenseElementsAttr>(constantOp.getElements());
        dense && dense.getNumElements() == t.getNumElements())
      return constant(dense.isSplat() ? dense.resizeSplat(t) : dense.reshape(t));
  if (auto before = x.getDefiningOp<prim::ReshapeOp>())
    x = before.getX();
  return prim::ReshapeOp::create(b, loc, t, x, dynamicSizes(list)).getResult();
}

Value PrimBuilder::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  Dims list = dims(x);
  int64_t total = list.size() + axes.size();
  SmallVector<int64_t> sorted;
  for (int64_t axis : axes)
    sorted.push_back(axisOf(axis, total));
  llvm::sort(sorted);
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= total)) {
    fault("an operand of rank " + llvm::Twine(rank(x)) + " becomes none of rank " +
          llvm::Twine(total));
    return x;
  }
  for (int64_t axis : sorted)
    list.insert(list.begin() + axis, dim(1));
  return reshape(x, list);
}

Value PrimBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  Dims list;
  for (auto [i, d] : llvm::enumerate(dims(x)))
    if (llvm::none_of(axes, [&, at = static_cast<int64_t>(i)](int64_t a) {
          return axisOf(a, rank(x)) == at;
        }))
      list.push_back(d);
  return reshape(x, list);
}

Value PrimBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (static_cast<int64_t>(permutation.size()) != rank(x)) {
    fault("an operand has rank " + llvm::Twine(rank(x)) + ", not " +
          llvm::Twine(permutation.size()));
    return x;
  }
  if (llvm::is_sorted(permutation))
    return x;
  Dims have = dims(x), list;
  for (int64_t axis : permutation)
    list.push_back(have[axis]);
  if (auto before = x.getDefiningOp<prim::TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t axis : permutation)
      composed.push_back(before.getPermutation()[axis]);
    return transpose(before.getX(), composed);
  }
  SmallVector<int64_t> goesTo(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    goesTo[from] = static_cast<int64_t>(to);
  SmallVector<int64_t> zeros(permutation.size(), 0), ones(permutation.size(), 1);
  if (Value picked = pickView(*this, x, typeOf(list, elem(x)).getShape(), goesTo, zeros, ones))
    return picked;
  return prim::TransposeOp::create(b, loc, typeOf(list, elem(x)), x, permutation).getResult();
}

Value PrimBuilder::broadcastTo(Value x, ArrayRef<Dim> list) {
  SmallVector<int64_t> axes;
  for (int64_t i = 0, lead = list.size() - rank(x); i < rank(x); ++i)
    axes.push_back(lead + i);
  return broadcastInDim(x, list, axes);
}

Value PrimBuilder::broadcastInDim(Value x, ArrayRef<Dim> list, ArrayRef<int64_t> axes) {
  if (static_cast<int64_t>(axes.size()) != rank(x) || (!axes.empty() && axes.front() < 0)) {
    fault("an operand of rank " + llvm::Twine(rank(x)) + " does not broadcast to rank " +
          llvm::Twine(list.size()));
    return full(list, 0, elem(x));
  }
  Dims have = dims(x);
  if (have.size() == list.size() && llvm::all_of(llvm::zip(have, list), [](auto p) {
        return same(std::get<0>(p), std::get<1>(p));
      }))
    return x;
  for (auto [d, axis] : llvm::zip(have, axes))
    requireBroadcast(*this, d, list[axis]);
  RankedTensorType t = typeOf(list, elem(x));
  auto constantOp = x.getDefiningOp<prim::ConstantOp>();
  if (constantOp && t.hasStaticShape())
    if (auto dense = dyn_cast<DenseElementsAttr>(constantOp.getElements());
        dense && dense.isSplat())
      return constant(dense.resizeSplat(t));
  SmallVector<int64_t> from(type(x).getShape());
  auto source = [&](int64_t linear) {
    SmallVector<int64_t> at(t.getRank());
    for (int64_t i = t.getRank() - 1; i >= 0; --i) {
      at[i] = linear % t.getDimSize(i);
      linear /= t.getDimSize(i);
    }
    int64_t index = 0;
    for (auto [i, axis] : llvm::enumerate(axes))
      index = index * from[i] + (from[i] == 1 ? 0 : at[axis]);
    return index;
  };
  if (t.hasStaticShape() && type(x).hasStaticShape())
    if (Value picked = pickElements(*this, x, t.getShape(), source))
      return picked;
  return prim::BroadcastOp::create(b, loc, t, x, axes, dynamicSizes(list)).getResult();
}

static void splitMixed(ArrayRef<Dim> list, SmallVectorImpl<int64_t> &statics,
                       SmallVectorImpl<Value> &dynamics) {
  for (Dim d : list) {
    if (auto constant = PrimBuilder::known(d)) {
      statics.push_back(*constant);
    } else {
      statics.push_back(prim::kDynamicStart);
      dynamics.push_back(cast<Value>(d));
    }
  }
}

Value PrimBuilder::slice(Value x, ArrayRef<Dim> starts, ArrayRef<Dim> sizes,
                         ArrayRef<int64_t> steps) {
  Dims have = dims(x);
  for (auto [extent, start, size, step] : llvm::zip(have, starts, sizes, steps)) {
    auto e = known(extent), from = known(start), count = known(size);
    if (!e && from && count && *count > 0) { // read wherever the end of the axis lies
      Dim last = addDims(start, mulDims(dim(*count - 1), dim(std::max<int64_t>(step, 0))));
      requireAtMost(*this, addDims(last, dim(1)), extent, "the end of a part of an axis");
    }
    if ((count && *count < 0) || (from && *from < 0) ||
        (e && from && count && *count > 0 && *from >= *e))
      fault("a slice reaches outside of its operand");
  }
  bool whole = true;
  for (auto [extent, start, size, step] : llvm::zip(have, starts, sizes, steps))
    whole &= known(start) == 0 && step == 1 && same(extent, size);
  if (whole)
    return x;
  RankedTensorType t = typeOf(sizes, elem(x));
  SmallVector<int64_t> statics;
  SmallVector<Value> dynamics;
  splitMixed(starts, statics, dynamics);
  if (dynamics.empty())
    if (Value picked =
            pickView(*this, x, t.getShape(), llvm::to_vector(llvm::seq(rank(x))), statics, steps))
      return picked;
  return prim::SliceOp::create(b, loc, t, x, dynamics, dynamicSizes(sizes), statics, steps)
      .getResult();
}

Value PrimBuilder::sliceAxis(Value x, int64_t axis, Dim start, Dim size, int64_t step) {
  if (axis < 0 || axis >= rank(x)) {
    fault("an operand of rank " + llvm::Twine(rank(x)) + " has no axis " + llvm::Twine(axis));
    return x;
  }
  Dims starts(rank(x), dim(0)), sizes = dims(x);
  SmallVector<int64_t> steps(rank(x), 1);
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return slice(x, starts, sizes, steps);
}

Value PrimBuilder::pad(Value x, Value value, ArrayRef<Dim> low, ArrayRef<Dim> high,
                       ArrayRef<int64_t> interior) {
  if (elem(value) != elem(x))
    fault("the padding has another element type");
  SmallVector<int64_t> gaps(interior);
  gaps.resize(rank(x), 0);
  Dims have = dims(x), list;
  bool nothing = true;
  for (auto [extent, lo, hi, gap] : llvm::zip(have, low, high, gaps)) {
    nothing &= known(lo) == 0 && known(hi) == 0 && gap == 0;
    Dim spread = gap == 0
                     ? extent
                     : addDims(mulDims(maxDims(subDims(extent, dim(1)), dim(0)), dim(gap)), extent);
    list.push_back(addDims(addDims(spread, lo), hi));
  }
  if (nothing)
    return x;
  SmallVector<int64_t> statics;
  SmallVector<Value> dynamics;
  splitMixed(low, statics, dynamics);
  return prim::PadOp::create(b, loc, typeOf(list, elem(x)), x, value, dynamics, dynamicSizes(list),
                             statics, gaps)
      .getResult();
}

Value PrimBuilder::insertSlice(Value x, Value update, ArrayRef<Dim> starts) {
  SmallVector<int64_t> statics, steps(rank(x), 1);
  SmallVector<Value> dynamics;
  splitMixed(starts, statics, dynamics);
  return prim::InsertSliceOp::create(b, loc, x.getType(), x, update, dynamics, statics, steps)
      .getResult();
}

Value PrimBuilder::concat(ValueRange inputs, int64_t axis) {
  if (inputs.size() == 1)
    return inputs[0];
  for (Value v : inputs)
    if (rank(v) != rank(inputs[0]) || elem(v) != elem(inputs[0]) || axis >= rank(v)) {
      fault("tensors to concatenate differ in rank or element type");
      return *llvm::max_element(inputs, [&](Value x, Value y) { return rank(x) < rank(y); });
    }
  if (rank(inputs[0]) == 1) {
    Dims all;
    bool host = llvm::all_of(inputs, [&](Value v) {
      auto elements = hostElements(v);
      if (elements)
        all.append(*elements);
      return elements.has_value();
    });
    if (host && all.size() <= 64)
      return fromHost(all, {static_cast<int64_t>(all.size())}, elem(inputs[0]));
  }
  Dims list = dims(inputs[0]);
  for (Value v : inputs.drop_front())
    for (auto [i, d] : llvm::enumerate(dims(v))) {
      if (static_cast<int64_t>(i) == axis)
        list[i] = addDims(list[i], d);
      else if (requireSame(*this, list[i], d, "concatenation"); !known(list[i]))
        list[i] = d;
    }
  return prim::ConcatOp::create(b, loc, typeOf(list, elem(inputs[0])), inputs, axis).getResult();
}

Value PrimBuilder::reverse(Value x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> starts(rank(x), 0), steps(rank(x), 1);
  for (int64_t axis : axes)
    if (int64_t extent = type(x).getDimSize(axis); !ShapedType::isDynamic(extent)) {
      starts[axis] = extent - 1;
      steps[axis] = -1;
    }
  if (Value picked = pickView(*this, x, type(x).getShape(), llvm::to_vector(llvm::seq(rank(x))),
                              starts, steps))
    return picked;
  return prim::ReverseOp::create(b, loc, type(x), x, axes).getResult();
}
