//===- PrimBuilderContract.cpp - Reductions, products, windows ------------===//
//
// Reductions, products and windows with their result types. Extents of windows are computed here
// for all formats, because ceil modes and asymmetric pads are where formats disagree by one.
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/TransposedConv.h"
#include "HostScalars.h"

using namespace mlir;
using namespace tcc;

static Value hostReduce(PrimBuilder &pb, prim::ReduceKind kind, Value x, bool keepDims) {
  using K = prim::ReduceKind;
  static const std::map<K, StringRef> ops = {{K::sum, "prim.add"},     {K::prod, "prim.mul"},
                                             {K::max, "prim.maximum"}, {K::min, "prim.minimum"},
                                             {K::any, "prim.or"},      {K::all, "prim.and"}};
  auto elements = pb.hostElements(x);
  if (!elements || elements->empty() || pb.rank(x) != 1 || x.getDefiningOp<prim::ConstantOp>())
    return {}; // a constant is folded as it is
  Dim total = elements->front();
  for (Dim d : llvm::drop_begin(*elements))
    if (!(total = hostBinary(pb, ops.at(kind), pb.elem(x), total, d)))
      return {};
  return pb.fromHost({total}, keepDims ? SmallVector<int64_t>{1} : SmallVector<int64_t>{},
                     pb.elem(x));
}

Value PrimBuilder::reduce(prim::ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  SmallVector<int64_t> sorted;
  for (int64_t axis : axes)
    sorted.push_back(axisOf(axis, rank(x)));
  llvm::sort(sorted);
  if (sorted.empty())
    return x;
  if (sorted.front() < 0 || sorted.back() >= rank(x)) {
    fault("an operand of rank " + llvm::Twine(rank(x)) + " lacks an axis to reduce");
    return x;
  }
  if (Value folded = hostReduce(*this, kind, x, keepDims))
    return folded;
  Dims kept, list;
  for (auto [i, d] : llvm::enumerate(dims(x))) {
    bool gone = llvm::is_contained(sorted, static_cast<int64_t>(i));
    if (!gone)
      list.push_back(d);
    kept.push_back(gone ? dim(1) : d);
  }
  Value result = folded(prim::ReduceOp::create(b, loc, typeOf(list, elem(x)), kind, x, sorted));
  return keepDims ? reshape(result, kept) : result;
}

Value PrimBuilder::argReduce(prim::ReduceKind kind, Value x, int64_t axis, bool keepDims,
                             bool last) {
  Dims kept = dims(x), list = kept;
  list.erase(list.begin() + axis);
  requireElements(*this, kept[axis], list, "the position of the largest or smallest");
  kept[axis] = dim(1);
  Value at = prim::ArgReduceOp::create(b, loc, typeOf(list, b.getI64Type()), kind, x, axis, last)
                 .getResult();
  return keepDims ? reshape(at, kept) : at;
}

Value PrimBuilder::mean(Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return x;
  Dims counted;
  for (int64_t axis : axes)
    counted.push_back(dim(x, axisOf(axis, rank(x))));
  Value sum = reduce(prim::ReduceKind::sum, x, axes, keepDims);
  Dim count = productOf(counted);
  if (auto constant = known(count))
    return div(sum, scalar(static_cast<double>(*constant), elem(x)));
  return div(sum, cast(fromHost({count}, {}, b.getI64Type()), elem(x)));
}

Value PrimBuilder::softmax(Value x, int64_t axis) {
  Type own = elem(x);
  if (own.getIntOrFloatBitWidth() < 32)
    x = cast(x, b.getF32Type());
  Value shifted = sub(x, reduce(prim::ReduceKind::max, x, axis, true));
  Value e = exp(shifted);
  return cast(div(e, reduce(prim::ReduceKind::sum, e, axis, true)), own);
}

/// Whether `axes` of x, more than one and of known extents, lie side by side in order.
static bool isRun(PrimBuilder &b, Value x, ArrayRef<int64_t> axes) {
  bool run = axes.size() > 1;
  for (auto [i, axis] : llvm::enumerate(axes))
    run &= axis == axes[0] + static_cast<int64_t>(i) && b.known(b.dim(x, axis)).has_value();
  return run;
}

/// `x` with the axes of a run as one.
static Value joined(PrimBuilder &b, Value x, ArrayRef<int64_t> run) {
  Dims extents = b.dims(x), one = extents;
  one[run[0]] = b.productOf(ArrayRef(extents).slice(run[0], run.size()));
  one.erase(one.begin() + run[0] + 1, one.begin() + run[0] + run.size());
  return b.reshape(x, one);
}

/// The numbers that `axes`, others than those of the run, have beside it.
static SmallVector<int64_t> besideRun(ArrayRef<int64_t> axes, ArrayRef<int64_t> run) {
  SmallVector<int64_t> moved;
  for (int64_t axis : axes)
    moved.push_back(axis > run[0] ? axis - static_cast<int64_t>(run.size()) + 1 : axis);
  return moved;
}

Value PrimBuilder::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                       ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract,
                       Type elementType) {
  Dims dl = dims(lhs), dr = dims(rhs), list;
  for (auto [l, r] : llvm::zip(lhsBatch, rhsBatch)) {
    requireSame(*this, dl[l], dr[r], "matrix product");
    list.push_back(known(dl[l]) ? dl[l] : dr[r]);
  }
  for (auto [l, r] : llvm::zip(lhsContract, rhsContract))
    requireSame(*this, dl[l], dr[r], "matrix product");
  for (int64_t i = 0; i < rank(lhs); ++i)
    if (!llvm::is_contained(lhsBatch, i) && !llvm::is_contained(lhsContract, i))
      list.push_back(dl[i]);
  for (int64_t i = 0; i < rank(rhs); ++i)
    if (!llvm::is_contained(rhsBatch, i) && !llvm::is_contained(rhsContract, i))
      list.push_back(dr[i]);
  // Kernels have one axis of columns and one of terms.
  SmallVector<int64_t> columns;
  for (int64_t i = 0; i < rank(rhs); ++i)
    if (!llvm::is_contained(rhsBatch, i) && !llvm::is_contained(rhsContract, i))
      columns.push_back(i);
  if (isRun(*this, rhs, columns)) {
    Value product = dot(lhs, joined(*this, rhs, columns), lhsBatch, besideRun(rhsBatch, columns),
                        lhsContract, besideRun(rhsContract, columns), elementType);
    return reshape(product, list);
  }
  if (isRun(*this, lhs, lhsContract) && isRun(*this, rhs, rhsContract))
    return dot(joined(*this, lhs, lhsContract), joined(*this, rhs, rhsContract),
               besideRun(lhsBatch, lhsContract), besideRun(rhsBatch, rhsContract), lhsContract[0],
               rhsContract[0], elementType);
  RankedTensorType t = typeOf(list, elementType ? elementType : elem(lhs));
  return prim::DotOp::create(b, loc, t, lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract)
      .getResult();
}

Value PrimBuilder::matmul(Value lhs, Value rhs, Type elementType) {
  if (rank(lhs) == 0 || rank(rhs) == 0) {
    fault("a scalar is no matrix");
    return lhs;
  }
  bool rowVector = rank(lhs) == 1, columnVector = rank(rhs) == 1;
  if (rowVector)
    lhs = unsqueeze(lhs, {0});
  if (columnVector)
    rhs = unsqueeze(rhs, {1});
  Value result;
  if (rank(rhs) == 2) {
    // A matrix on the right needs no batch axes: the left ones are all free.
    result = dot(lhs, rhs, {}, {}, {rank(lhs) - 1}, {0}, elementType);
  } else {
    Dims dl = dims(lhs), dr = dims(rhs);
    Dims batch = broadcastShapes(ArrayRef(dl).drop_back(2), ArrayRef(dr).drop_back(2));
    Dims fullL = batch, fullR = batch;
    fullL.append(dl.end() - 2, dl.end());
    fullR.append(dr.end() - 2, dr.end());
    lhs = broadcastTo(lhs, fullL);
    rhs = broadcastTo(rhs, fullR);
    SmallVector<int64_t> axes;
    for (int64_t i = 0, e = batch.size(); i < e; ++i)
      axes.push_back(i);
    int64_t r = batch.size() + 2;
    result = dot(lhs, rhs, axes, axes, {r - 1}, {r - 2}, elementType);
  }
  if (columnVector)
    result = squeeze(result, {-1});
  if (rowVector)
    result = squeeze(result, {columnVector ? -1 : -2});
  return result;
}

/// The number of window positions, rounding down.
static Dim windowCount(PrimBuilder &pb, Dim padded, int64_t window, int64_t dilation,
                       int64_t stride) {
  Dim span = pb.subDims(padded, pb.dim((window - 1) * dilation + 1));
  return pb.addDims(pb.floorDivDims(span, pb.dim(stride)), pb.dim(1));
}

/// The convolution of images of one point, each of whose results meets one tap, as the product that
/// it is. Nullopt where images are larger, a result meets none, or the filter has one tap alone.
static std::optional<Value> convOfPoint(PrimBuilder &b, Value x, Value w,
                                        const PrimBuilder::Window &window, Type elementType) {
  Dims filter = b.dims(w), starts(2, b.dim(0)), sizes = {filter[0], filter[1]};
  SmallVector<int64_t> steps(2, 1), spatial;
  bool several = false;
  for (int64_t i = 0, e = window.strides.size(); i < e; ++i) {
    auto taps = PrimBuilder::known(filter[i + 2]);
    int64_t low = window.low[i], dilation = window.dilations[i], stride = window.strides[i];
    if (PrimBuilder::known(b.dim(x, i + 2)) != 1 || !taps || *taps < 1)
      return std::nullopt;
    int64_t reach = (*taps - 1) * dilation, count = low + window.high[i] - reach;
    if (count < 0 || low < 0 || low > reach || low % dilation)
      return std::nullopt;
    count = count / stride + 1;
    // Result q meets the tap that lies `low` less its own place behind the first.
    int64_t first = low - (count - 1) * stride;
    if (first < 0 || (count > 1 && stride % dilation))
      return std::nullopt;
    starts.push_back(b.dim(first / dilation));
    sizes.push_back(b.dim(count));
    steps.push_back(count > 1 ? stride / dilation : 1);
    spatial.push_back(i + 2);
    several |= *taps > 1;
  }
  if (!several)
    return std::nullopt;
  Value met = b.reverse(b.slice(w, starts, sizes, steps), spatial);
  // [M, C, q...] -> [C, M q...]
  SmallVector<int64_t> order = allAxes(b.rank(w));
  std::swap(order[0], order[1]);
  Dims result = {b.dim(x, 0), filter[0]}, rows = {b.dim(x, 0), filter[1]};
  result.append(sizes.begin() + 2, sizes.end());
  Dims columns = {filter[1], b.productOf(ArrayRef(result).drop_front())};
  Value product = b.dot(b.reshape(x, rows), b.reshape(b.transpose(met, order), columns), {}, {},
                        {1}, {0}, elementType);
  return b.reshape(product, result);
}

Value PrimBuilder::conv(Value x, Value w, const Window &window, int64_t groups, Type elementType) {
  if (rank(x) != static_cast<int64_t>(window.strides.size()) + 2 || rank(w) != rank(x)) {
    fault("a convolution of rank " + llvm::Twine(rank(x)) + " by rank " + llvm::Twine(rank(w)));
    return x;
  }
  if (llvm::any_of(window.inputDilation, [](int64_t d) { return d != 1; }))
    if (auto result = convByPhases(*this, x, w, window, groups, elementType))
      return *result;
  requireSame(*this, dim(x, 1), mulDims(dim(w, 1), dim(groups)), "convolution");
  if (groups == 1)
    if (auto product = convOfPoint(*this, x, w, window, elementType))
      return *product;
  if (groups > 1)
    (void)wholeQuotient(*this, dim(w, 0), dim(groups), "the filters of a group");
  Dims have = dims(x), list = {have[0], dim(w, 0)};
  for (int64_t i = 0, e = window.strides.size(); i < e; ++i) {
    Dim extent = have[i + 2];
    if (window.inputDilation[i] != 1)
      extent = addDims(mulDims(subDims(extent, dim(1)), dim(window.inputDilation[i])), dim(1));
    Dim padded = addDims(extent, dim(window.low[i] + window.high[i]));
    list.push_back(windowCount(*this, padded, type(w).getDimSize(i + 2), window.dilations[i],
                               window.strides[i]));
  }
  RankedTensorType t = typeOf(list, elementType ? elementType : elem(x));
  return prim::ConvOp::create(b, loc, t, x, w, dynamicSizes(list), window.strides, window.dilations,
                              window.inputDilation, window.low, window.high, groups)
      .getResult();
}

Value PrimBuilder::pool(prim::ReduceKind kind, Value x, const Window &window, bool ceilMode) {
  if (rank(x) != static_cast<int64_t>(window.window.size()) + 2) {
    fault("a pool of rank " + llvm::Twine(rank(x)));
    return x;
  }
  Dims have = dims(x), list = {have[0], have[1]};
  for (int64_t i = 0, e = window.window.size(); i < e; ++i) {
    Dim padded = addDims(have[i + 2], dim(window.low[i] + window.high[i]));
    int64_t stride = window.strides[i];
    Dim count = windowCount(*this, ceilMode ? addDims(padded, dim(stride - 1)) : padded,
                            window.window[i], window.dilations[i], stride);
    if (ceilMode) {
      // The last window must start inside x or its low padding.
      Dim start = mulDims(subDims(count, dim(1)), dim(stride));
      Dim limit = addDims(have[i + 2], dim(window.low[i]));
      Dim outside = compareDims(arith::CmpIPredicate::sge, start, limit);
      count = selectDims(outside, subDims(count, dim(1)), count);
    }
    list.push_back(count);
  }
  return prim::PoolOp::create(b, loc, typeOf(list, elem(x)), kind, x, dynamicSizes(list),
                              window.window, window.strides, window.dilations, window.low,
                              window.high)
      .getResult();
}
