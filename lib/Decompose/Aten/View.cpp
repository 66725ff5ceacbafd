//===- View.cpp - The same elements under another shape -------------------===//
//
// Strides do not exist here: a view is a reshape, whatever torch would have said
// of the operand's strides.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Extents.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;

namespace {

/// x under the shape `want`, in which one extent may be -1.
LogicalResult giveReshaped(AtenNode &a, Value x, Dims want) {
  PrimBuilder &b = a.b;
  Dims have = b.dims(x);
  int64_t open = -1;
  for (auto [i, d] : llvm::enumerate(want)) {
    auto constant = b.known(d);
    if (!constant || *constant >= 0)
      continue;
    if (*constant != -1 || open >= 0)
      return a.fail("the shape has more than one unknown extent");
    open = i;
  }
  bool exact = false;
  if (open >= 0) {
    Dims others = want;
    others.erase(others.begin() + open);
    if (b.known(b.productOf(others)) == 0)
      return a.fail("-1 beside an extent of 0");
    Ratio rest(have, others);
    want[open] = rest.quotient(b);
    exact = rest.exact();
  }
  auto count = b.known(b.productOf(have)), wanted = b.known(b.productOf(want));
  if (count && wanted && *count != *wanted)
    return a.fail("the shape has " + llvm::Twine(*wanted) + " elements, the operand " +
                  llvm::Twine(*count));
  if (!exact && !(count && wanted) && !Ratio(have, want).isOne())
    b.check(b.compareDims(Cmp::eq, b.productOf(have), b.productOf(want)),
            "a view changes the number of elements");
  return a.give(b.reshape(x, want));
}

LogicalResult view(AtenNode &a, StringRef argument) {
  auto want = a.extents(argument);
  return want ? giveReshaped(a, a.tensor("self"), *want)
              : a.fail("'" + argument + "' must be a list of integers");
}
LogicalResult viewSize(AtenNode &a) { return view(a, "size"); }
LogicalResult viewShape(AtenNode &a) { return view(a, "shape"); }

LogicalResult viewAs(AtenNode &a) {
  return giveReshaped(a, a.tensor("self"), a.b.dims(a.tensor("other")));
}

/// The elements in their order under another shape; where that has more, zeros (torch leaves them
/// undefined).
LogicalResult giveResized(AtenNode &a, const Dims &want) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Dim have = b.productOf(b.dims(x)), count = b.productOf(want);
  Dim kept = b.minDims(have, count);
  x = b.sliceAxis(b.reshape(x, {have}), 0, b.dim(0), kept);
  x = b.pad(x, b.scalar(0, b.elem(x)), {b.dim(0)}, {b.subDims(count, kept)});
  return a.give(b.reshape(x, want));
}
LogicalResult resize(AtenNode &a) {
  auto want = a.extents("size");
  return want ? giveResized(a, *want) : a.fail("'size' must be a list of integers");
}
LogicalResult resizeAs(AtenNode &a) { return giveResized(a, a.b.dims(a.tensor("the_template"))); }

/// The same bits as another element type. Of another width they join or part along the last axis,
/// the lowest bits first; complex numbers are their parts, real and imaginary.
Value sameBits(PrimBuilder &b, Value x, Type t) {
  auto bitcast = [&](Value v, Type to) -> Value {
    return b.elem(v) == to
               ? v
               : prim::BitcastOp::create(b.builder(), b.location(), b.type(v).clone(to), v);
  };
  auto bitsOf = [](Type type) { return type.isInteger(1) ? 8u : type.getIntOrFloatBitWidth(); };
  unsigned from = bitsOf(b.elem(x)), to = bitsOf(t);
  if (from == to)
    return bitcast(x, t);
  Builder &types = b.builder();
  int64_t last = b.rank(x) - 1, times = std::max(from, to) / std::min(from, to);
  Dims dims = b.dims(x);
  Type wide = types.getIntegerType(std::max(from, to));
  if (from > to) {
    Value bits = bitcast(x, wide);
    SmallVector<Value> parts;
    for (int64_t k = 0; k < times; ++k) {
      Value low = b.binary<prim::ShiftRightOp>(bits, b.scalar(static_cast<double>(k * to), wide));
      parts.push_back(b.unsqueeze(b.cast(low, types.getIntegerType(to)), {last + 1}));
    }
    dims[last] = b.mulDims(dims[last], b.dim(times));
    return bitcast(b.reshape(b.concat(parts, last + 1), dims), t);
  }
  dims[last] = b.floorDivDims(dims[last], b.dim(times));
  dims.push_back(b.dim(times));
  Value bits = b.reshape(bitcast(x, types.getIntegerType(from, false)), dims), joined;
  for (int64_t k = 0; k < times; ++k) {
    Value part = b.squeeze(b.sliceAxis(bits, last + 1, b.dim(k), b.dim(1)), {last + 1});
    Value place = b.scalar(static_cast<double>(k * from), wide);
    part = b.binary<prim::ShiftLeftOp>(b.cast(part, wide), place);
    joined = joined ? b.binary<prim::OrOp>(joined, part) : part;
  }
  return bitcast(joined, t);
}

LogicalResult viewDType(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Type t = a.dtype("dtype");
  if (!t || b.elem(x) == t)
    return t ? a.give(x) : a.fail("needs an element type");
  auto from = dyn_cast<ComplexType>(b.elem(x)), to = dyn_cast<ComplexType>(t);
  int64_t rank = b.rank(x), last = rank - 1;
  Type part = to ? to.getElementType() : t;
  if (rank == 0 && (from || to || b.elem(x).isInteger(1) != t.isInteger(1) ||
                    part.getIntOrFloatBitWidth() != b.elem(x).getIntOrFloatBitWidth()))
    return a.fail("a number without axes has element types of its own width only");
  if (from) {
    auto real = b.type(x).clone(from.getElementType());
    Value re = prim::RealOp::create(b.builder(), b.location(), real, x);
    Value im = prim::ImagOp::create(b.builder(), b.location(), real, x);
    Dims dims = b.dims(x);
    dims[last] = b.mulDims(dims[last], b.dim(2));
    x = b.reshape(b.concat({b.unsqueeze(re, {rank}), b.unsqueeze(im, {rank})}, rank), dims);
  }
  x = sameBits(b, x, part);
  if (!to)
    return a.give(x);
  Dims dims = b.dims(x);
  dims[last] = b.floorDivDims(dims[last], b.dim(2));
  dims.push_back(b.dim(2));
  x = b.reshape(x, dims);
  auto half = [&](int64_t k) {
    return b.squeeze(b.sliceAxis(x, rank, b.dim(k), b.dim(1)), {rank});
  };
  Value re = half(0), im = half(1);
  return a.give(
      prim::ComplexOp::create(b.builder(), b.location(), b.type(re).clone(t), re, im).getResult());
}

LogicalResult flatten(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto first = a.axis("start_dim", 0, b.rank(x)), last = a.axis("end_dim", -1, b.rank(x));
  if (failed(first) || failed(last))
    return failure();
  if (b.rank(x) == 0)
    return a.give(b.reshape(x, ArrayRef<int64_t>{1}));
  if (*first > *last)
    return a.fail("start_dim comes after end_dim");
  Dims have = b.dims(x), want(have.begin(), have.begin() + *first);
  want.push_back(b.productOf(ArrayRef(have).slice(*first, *last - *first + 1)));
  want.append(have.begin() + *last + 1, have.end());
  return a.give(b.reshape(x, want));
}

LogicalResult ravel(AtenNode &a) {
  Value x = a.tensor("self");
  return a.give(a.b.reshape(x, {a.b.productOf(a.b.dims(x))}));
}

LogicalResult unflatten(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", 0, b.rank(x));
  auto sizes = a.extents("sizes");
  if (failed(axis) || !sizes || b.rank(x) == 0)
    return a.fail("needs an axis and its sizes");
  Dims want = b.dims(x);
  want.erase(want.begin() + *axis);
  want.insert(want.begin() + *axis, sizes->begin(), sizes->end());
  return giveReshaped(a, x, want);
}

LogicalResult unsqueeze(AtenNode &a) {
  auto axis = a.axis("dim", 0, a.b.rank(a.tensor("self")) + 1);
  return failed(axis) ? failure() : a.give(a.b.unsqueeze(a.tensor("self"), {*axis}));
}

/// Drops the extents that are 1 among `axes`; an unknown one is taken to be what
/// the file says it is.
LogicalResult squeezeAxes(AtenNode &a, ArrayRef<int64_t> axes) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto stated = dyn_cast<RankedTensorType>(a.c.node.getResult(0).getType());
  SmallVector<int64_t> gone, open;
  for (int64_t axis : axes)
    if (axis < b.rank(x))
      (b.known(b.dim(x, axis)) ? (b.known(b.dim(x, axis)) == 1 ? gone : open) : open)
          .push_back(axis);
  llvm::erase_if(open, [&](int64_t axis) { return b.known(b.dim(x, axis)).has_value(); });
  int64_t surplus = stated ? b.rank(x) - int64_t(gone.size()) - stated.getRank() : 0;
  if (surplus != 0 && surplus != int64_t(open.size()))
    return a.fail("it is not known which extents are 1");
  if (surplus != 0)
    gone.append(open);
  return a.give(b.squeeze(x, gone));
}

LogicalResult squeeze(AtenNode &a) {
  int64_t rank = a.b.rank(a.tensor("self"));
  if (!a.has("dim"))
    return squeezeAxes(a, allAxes(rank));
  if (auto given = a.integers("dim"); given && given->empty())
    return a.give(a.tensor("self"));
  auto axes = a.axes("dim", rank);
  return failed(axes) ? failure() : squeezeAxes(a, *axes);
}

LogicalResult permute(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto dims = a.integers("dims");
  if (!dims || static_cast<int64_t>(dims->size()) != b.rank(x))
    return a.fail("'dims' must name every axis");
  SmallVector<bool> seen(dims->size(), false);
  for (int64_t &d : *dims) {
    auto inside = a.within(d, b.rank(x));
    if (failed(inside))
      return failure();
    d = *inside;
    if (std::exchange(seen[d], true))
      return a.fail("'dims' names an axis twice");
  }
  return a.give(b.transpose(x, *dims));
}

LogicalResult swapAxes(AtenNode &a, int64_t i, int64_t j) {
  Value x = a.tensor("self");
  SmallVector<int64_t> order = allAxes(a.b.rank(x));
  if (!order.empty())
    std::swap(order[i], order[j]);
  return a.give(a.b.transpose(x, order));
}

LogicalResult transpose(AtenNode &a) {
  int64_t rank = a.b.rank(a.tensor("self"));
  bool named = a.has("axis0");
  auto i = a.axis(named ? "axis0" : "dim0", 0, rank), j = a.axis(named ? "axis1" : "dim1", 0, rank);
  return failed(i) || failed(j) ? failure() : swapAxes(a, *i, *j);
}

/// t, mT: the last two axes.
template <bool conjugate = false> LogicalResult matrixTranspose(AtenNode &a) {
  Value x = conjugate ? a.conjugate(a.tensor("self")) : a.tensor("self");
  SmallVector<int64_t> order = allAxes(a.b.rank(x));
  if (order.size() >= 2)
    std::swap(order[order.size() - 2], order.back());
  return a.give(a.b.transpose(x, order));
}

LogicalResult reverseAxes(AtenNode &a) {
  SmallVector<int64_t> order = allAxes(a.b.rank(a.tensor("self")));
  std::reverse(order.begin(), order.end());
  return a.give(a.b.transpose(a.tensor("self"), order));
}

LogicalResult moveAxes(AtenNode &a) {
  Value x = a.tensor("self");
  int64_t rank = a.b.rank(x);
  auto from = a.integers("source"), to = a.integers("destination");
  if (!from || !to || from->size() != to->size())
    return a.fail("needs as many sources as destinations");
  SmallVector<int64_t> order(rank, -1);
  SmallVector<bool> moved(rank, false);
  for (auto [f, t] : llvm::zip(*from, *to)) {
    auto i = a.within(f, rank), j = a.within(t, rank);
    if (failed(i) || failed(j))
      return failure();
    if (rank == 0)
      continue;
    if (moved[*i] || order[*j] != -1)
      return a.fail("an axis is named twice");
    order[*j] = *i;
    moved[*i] = true;
  }
  int64_t next = 0;
  for (int64_t &axis : order) {
    if (axis != -1)
      continue;
    while (moved[next])
      ++next;
    axis = next++;
  }
  return a.give(a.b.transpose(x, order));
}

/// -1 keeps an extent.
LogicalResult expand(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide()); // sums of bools count
  auto size = a.extents("size");
  int64_t lead = size ? int64_t(size->size()) - b.rank(x) : -1;
  if (lead < 0)
    return a.fail("'size' must be a list of at least as many extents as the operand has");
  Dims have = b.dims(x);
  for (int64_t i = lead; i < static_cast<int64_t>(size->size()); ++i) {
    Dim &want = (*size)[i];
    auto from = b.known(have[i - lead]), to = b.known(want);
    if (to == -1)
      want = have[i - lead];
    else if (from && to && *from != 1 && *from != *to)
      return a.fail("an extent of " + llvm::Twine(*from) + " cannot become " + llvm::Twine(*to));
    else if (from && *from != 1)
      want = have[i - lead];
  }
  if (llvm::any_of(*size, [&](Dim d) { return b.known(d).value_or(0) < 0; }))
    return a.fail("a new extent is negative");
  return a.give(b.broadcastTo(x, *size));
}

LogicalResult expandAs(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Dims want = b.dims(a.tensor("other"));
  if (static_cast<int64_t>(want.size()) < b.rank(x) || !b.broadcastable(b.dims(x), want))
    return a.fail("the shapes do not fit");
  return a.give(b.broadcastTo(x, want));
}

LogicalResult broadcastTensors(AtenNode &a) {
  PrimBuilder &b = a.b;
  SmallVector<Value> list = a.tensors("tensors");
  Dims shape;
  for (Value v : list) {
    if (!v || !b.broadcastable(shape, b.dims(v)))
      return a.fail("the shapes do not fit");
    shape = b.broadcastShapes(shape, b.dims(v));
  }
  for (auto [i, v] : llvm::enumerate(list))
    (void)a.give(i, b.broadcastTo(v, shape));
  return success();
}

template <int64_t least> Value atLeastOf(PrimBuilder &b, Value x) {
  if (b.rank(x) >= least)
    return x;
  SmallVector<int64_t> axes;
  if (least == 3 && b.rank(x) == 2)
    axes = {2};
  else if (least == 3 && b.rank(x) == 1)
    axes = {0, 2};
  else
    axes = allAxes(least - b.rank(x));
  return b.unsqueeze(x, axes);
}

template <int64_t least> LogicalResult atLeast(AtenNode &a) {
  return a.give(atLeastOf<least>(a.b, a.tensor("self")));
}

template <int64_t least> LogicalResult eachAtLeast(AtenNode &a) {
  for (auto [i, v] : llvm::enumerate(a.tensors("tensors"))) {
    if (!v)
      return a.fail("needs tensors");
    (void)a.give(i, atLeastOf<least>(a.b, v));
  }
  return success();
}

/// The axes that were broadcast summed up again.
LogicalResult sumToSize(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide()); // sums of bools count
  auto size = a.extents("size");
  int64_t lead = size ? b.rank(x) - int64_t(size->size()) : -1;
  if (lead < 0)
    return a.fail("needs at most as many extents as the operand has axes");
  x = b.reduce(prim::ReduceKind::sum, x, allAxes(lead), false);
  SmallVector<int64_t> summed;
  for (auto [i, extent] : llvm::enumerate(*size))
    if (b.known(extent) == 1 && b.known(b.dim(x, i)) != 1)
      summed.push_back(i);
  return a.give(b.reduce(prim::ReduceKind::sum, x, summed, true));
}

/// pixel_shuffle: [.., C r r, H, W] to [.., C, H r, W r]; unshuffle undoes it.
template <bool shuffle> LogicalResult pixelShuffle(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t r = a.integer(shuffle ? "upscale_factor" : "downscale_factor", 0), rank = b.rank(x);
  if (rank < 3 || r < 1 || r > 4096)
    return a.fail("needs three axes and a positive factor");
  Dims have = b.dims(x);
  Dim c = have[rank - 3], h = have[rank - 2], w = have[rank - 1], f = b.dim(r);
  Dims split(have.begin(), have.end() - 3), merged = split;
  SmallVector<int64_t> order = allAxes(rank - 3);
  int64_t at = rank - 3;
  if (shuffle) {
    Dim channels = b.floorDivDims(c, b.dim(r * r));
    split.append({channels, f, f, h, w});
    merged.append({channels, b.mulDims(h, f), b.mulDims(w, f)});
    order.append({at, at + 3, at + 1, at + 4, at + 2});
  } else {
    Dim rows = b.floorDivDims(h, f), columns = b.floorDivDims(w, f);
    split.append({c, rows, f, columns, f});
    merged.append({b.mulDims(c, b.dim(r * r)), rows, columns});
    order.append({at, at + 2, at + 4, at + 1, at + 3});
  }
  return a.give(b.reshape(b.transpose(b.reshape(x, split), order), merged));
}

/// [N, g k, ..] to [N, k g, ..].
LogicalResult channelShuffle(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t groups = a.integer("groups", 0), rank = b.rank(x);
  if (rank < 2 || groups < 1)
    return a.fail("needs channels and groups");
  Dims have = b.dims(x);
  Dims split = {have[0], b.dim(groups), b.floorDivDims(have[1], b.dim(groups))};
  split.append(have.begin() + 2, have.end());
  SmallVector<int64_t> order = allAxes(rank + 1);
  std::swap(order[1], order[2]);
  return a.give(b.reshape(b.transpose(b.reshape(x, split), order), have));
}

} // namespace

void tcc::populateAtenViewRules(RuleSet &rules) {
  addRules(rules, {{"view", "default", "self", viewSize},
                   {"view", "dtype", "self", viewDType},
                   {"view_copy", "dtype", "self", viewDType},
                   {"_unsafe_view", "default", "self", viewSize},
                   {"_reshape_alias", "default", "self", viewSize},
                   {"reshape", "default", "self", viewShape},
                   {"view_as", "default", "self other", viewAs},
                   {"reshape_as", "default", "self other", viewAs},
                   {"resize", "default", "self", resize},
                   {"resize_as", "default", "self the_template", resizeAs},
                   {"flatten", "using_ints", "self", flatten},
                   {"ravel", "default", "self", ravel},
                   {"unflatten", "int", "self", unflatten},
                   {"unsqueeze", "default", "self", unsqueeze},
                   {"unsqueeze_copy", "default", "self", unsqueeze},
                   {"squeeze", "default dim dims", "self", squeeze},
                   {"permute", "default", "self", permute},
                   {"permute_copy", "default", "self", permute},
                   {"view_copy", "default", "self", viewSize},
                   {"transpose", "int", "self", transpose},
                   {"swapaxes", "default", "self", transpose},
                   {"swapdims", "default", "self", transpose},
                   {"t", "default", "self", matrixTranspose<>},
                   {"mT", "default", "self", matrixTranspose<>},
                   {"adjoint", "default", "self", matrixTranspose<true>},
                   {"mH", "default", "self", matrixTranspose<true>},
                   {"matrix_H", "default", "self", matrixTranspose<true>},
                   {"t_copy", "default", "self", matrixTranspose<>},
                   {"transpose_copy", "int", "self", transpose},
                   {"expand_copy", "default", "self", expand},
                   {"squeeze_copy", "default dim dims", "self", squeeze},
                   {"sum_to_size", "default", "self", sumToSize},
                   {"atleast_1d", "Sequence", "", eachAtLeast<1>},
                   {"atleast_2d", "Sequence", "", eachAtLeast<2>},
                   {"atleast_3d", "Sequence", "", eachAtLeast<3>},
                   {"numpy_T", "default", "self", reverseAxes},
                   {"movedim", "int intlist", "self", moveAxes},
                   {"moveaxis", "int intlist", "self", moveAxes},
                   {"expand", "default", "self", expand},
                   {"broadcast_to", "default", "self", expand},
                   {"expand_as", "default", "self other", expandAs},
                   {"broadcast_tensors", "default", "", broadcastTensors},
                   {"atleast_1d", "default", "self", atLeast<1>},
                   {"atleast_2d", "default", "self", atLeast<2>},
                   {"atleast_3d", "default", "self", atLeast<3>},
                   {"pixel_shuffle", "default", "self", pixelShuffle<true>},
                   {"pixel_unshuffle", "default", "self", pixelShuffle<false>},
                   {"channel_shuffle", "default", "self", channelShuffle},
                   {"native_channel_shuffle", "default", "self", channelShuffle}});
}
