//===- Window.cpp - ATen's unfolding, folding and sampling ----------------===//
//
// im2col, col2im, unfold and grid sampling, and views by size and stride. Those that torch defines
// on storage are by index from dense storage here, because a value has no strides.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Idioms/GridSample.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

Value padded(PrimBuilder &b, Value x, ArrayRef<int64_t> padding) {
  Dims low(b.rank(x), b.dim(0));
  for (auto [i, p] : llvm::enumerate(padding))
    low[b.rank(x) - padding.size() + i] = b.dim(p);
  return b.pad(x, b.scalar(0, b.elem(x)), low, low);
}

struct Blocks {
  SmallVector<int64_t> kernel, dilation, padding, stride;
};

FailureOr<Blocks> readBlocks(AtenNode &a) {
  auto kernel = a.window("kernel_size", 2, 1), dilation = a.window("dilation", 2, 1),
       padding = a.window("padding", 2, 0), stride = a.window("stride", 2, 1);
  if (failed(kernel) || failed(dilation) || failed(padding) || failed(stride))
    return failure();
  if (llvm::any_of(*stride, [](int64_t s) { return s < 1; }))
    return a.fail("has a stride below 1");
  return Blocks{*kernel, *dilation, *padding, *stride};
}

/// [N, C, H, W] as columns [N, C * block, positions].
LogicalResult unfoldImage(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto blocks = readBlocks(a);
  if (failed(blocks))
    return failure();
  bool batch = b.rank(x) == 4;
  if (!batch && b.rank(x) != 3)
    return a.fail("needs images");
  if (!batch)
    x = b.unsqueeze(x, {0});
  x = padded(b, x, blocks->padding);
  Type i64 = b.builder().getI64Type();
  // Each spatial axis becomes (offset in the block, position).
  for (int64_t i : {1, 0}) {
    int64_t k = blocks->kernel[i], d = blocks->dilation[i], s = blocks->stride[i];
    Dim reach = b.subDims(b.dim(x, 2 + i), b.dim(d * (k - 1) + 1));
    Dim count = b.maxDims(b.addDims(b.floorDivDims(reach, b.dim(s)), b.dim(1)), b.dim(0));
    Value offset = b.mul(b.iota({b.dim(k)}, 0, i64), static_cast<double>(d));
    Value start = b.mul(b.iota({count}, 0, i64), static_cast<double>(s));
    x = b.take(x, b.add(b.unsqueeze(offset, {1}), b.unsqueeze(start, {0})), 2 + i);
  }
  x = b.transpose(x, {0, 1, 2, 4, 3, 5}); // [N, C, kh, oh, kw, ow]
  Dims d = b.dims(x);
  x = b.reshape(x, {d[0], b.mulDims(d[1], b.mulDims(d[2], d[3])), b.mulDims(d[4], d[5])});
  return a.give(batch ? x : b.squeeze(x, {0}));
}

LogicalResult foldImage(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto blocks = readBlocks(a);
  auto size = a.extents("output_size");
  if (failed(blocks) || !size || size->size() != 2)
    return a.fail("needs an output size");
  bool batch = b.rank(x) == 3;
  if (!batch && b.rank(x) != 2)
    return a.fail("needs columns");
  Value columns = batch ? x : b.unsqueeze(x, {0});
  ArrayRef<int64_t> p = blocks->padding;
  ColumnBlocks c{*size, {}, blocks->stride, blocks->dilation, {p[0], p[1], p[0], p[1]}};
  for (int64_t extent : blocks->kernel)
    c.block.push_back(b.dim(extent));
  Value image = columnsToImage(b, columns, c);
  if (!image)
    return failure();
  return a.give(batch ? image : b.squeeze(image, {0}));
}

/// Elements at the flat positions of a pool's windows, zeros elsewhere.
template <int64_t spatial> LogicalResult unpool(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), indices = a.tensor("indices");
  auto size = a.extents("output_size");
  int64_t lead = b.rank(x) - spatial;
  if (!size || static_cast<int64_t>(size->size()) != spatial || lead < 1 || lead > 2)
    return a.fail("needs an output size for each spatial axis");
  Dims shape = b.dims(x), places(shape.begin() + lead, shape.end());
  shape.truncate(lead);
  Dim planes = b.productOf(shape), from = b.productOf(places), to = b.productOf(*size);
  requireInRange(b, indices, to, IndexRange::positions);
  Value zeros = b.full({planes, to}, 0, b.elem(x));
  Value written = prim::ScatterAlongOp::create(
      b.builder(), b.location(), zeros.getType(), prim::ScatterKind::assign, zeros,
      b.reshape(indices, {planes, from}), b.reshape(x, {planes, from}), 1);
  shape.append(*size);
  return a.give(b.reshape(written, shape));
}

FailureOr<GridOptions> gridOptions(AtenNode &a) {
  static constexpr GridOptions::Mode kModes[] = {GridOptions::Linear, GridOptions::Nearest,
                                                 GridOptions::Cubic};
  static constexpr GridOptions::Padding kPaddings[] = {GridOptions::Zeros, GridOptions::Border,
                                                       GridOptions::Reflection};
  int64_t mode = a.integer("interpolation_mode", 0), padding = a.integer("padding_mode", 0);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    return a.fail("has an unknown mode");
  return GridOptions{kModes[mode], kPaddings[padding], a.flag("align_corners", false),
                     /*mirrorsFirst=*/true};
}

LogicalResult gridSampleRule(AtenNode &a) {
  auto o = gridOptions(a);
  if (failed(o))
    return failure();
  Value result = gridSample(a.b, a.tensor("input"), a.tensor("grid"), *o);
  return result ? a.give(result) : failure();
}

LogicalResult gridSampleBackward(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto o = gridOptions(a);
  if (failed(o))
    return failure();
  auto wide = [&](StringRef name) { return a.cast(a.tensor(name), a.wide()); };
  Value grid = wide("grid");
  GridGradients g = gridSampleGradients(b, wide("grad_output"), wide("input"), grid, *o);
  if (!g.x)
    return failure();
  (void)a.give(0, g.x);
  return a.give(1, g.grid ? g.grid : b.full(b.dims(grid), 0, b.elem(grid)));
}

/// Positions of `n` pixels in [-1, 1].
Value basePositions(AtenNode &a, Dim n, bool corners, Type t) {
  PrimBuilder &b = a.b;
  Value count = a.extentTensor(n, t), i = b.iota({n}, 0, t);
  Value centred = b.sub(b.mul(i, 2.0), b.sub(count, 1.0)); // 2 i - (n - 1)
  return b.div(centred, corners ? b.maximum(b.sub(count, 1.0), 1.0) : count);
}

/// [N, places..., axes], the product of theta with (x, y, (z,) 1) at each pixel.
LogicalResult affineGrid(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value theta = a.cast(a.tensor("theta"), a.wide());
  auto size = a.extents("size");
  if (!size || b.rank(theta) != 3 || (size->size() != 4 && size->size() != 5))
    return a.fail("needs the size of a batch of images");
  int64_t spatial = size->size() - 2;
  Dims places(size->begin() + 2, size->end()), shape = places;
  shape.push_back(b.dim(1));
  SmallVector<Value> columns;
  for (int64_t i = spatial; i-- > 0;) {
    Value p = basePositions(a, places[i], a.flag("align_corners", false), b.elem(theta));
    columns.push_back(b.broadcastTo(alongAxis(b, p, i, spatial + 1), shape));
  }
  columns.push_back(b.full(shape, 1, b.elem(theta)));
  Value homogeneous = b.concat(columns, spatial);
  Value grid = b.dot(theta, homogeneous, {}, {}, {2}, {spatial}); // [N, axes, places...]
  SmallVector<int64_t> order = {0};
  for (int64_t i = 0; i < spatial; ++i)
    order.push_back(2 + i);
  order.push_back(1);
  return a.give(b.transpose(grid, order));
}

/// The place in dense storage of each element that sizes and strides describe.
FailureOr<Value> stridedPlaces(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto size = a.extents("size"), stride = a.extents("stride");
  if (!size || !stride || size->size() != stride->size())
    return a.fail("sizes and strides differ in number");
  Type i64 = b.builder().getI64Type();
  // The last element that is described lies in the storage, if any is described at all.
  Dim last = a.extent("storage_offset", 0), count = b.productOf(*size);
  for (auto [extent, step] : llvm::zip(*size, *stride))
    last = b.addDims(last, b.mulDims(b.subDims(extent, b.dim(1)), step));
  if (b.known(count) != 0)
    requireAtMost(b, b.addDims(last, b.dim(1)), b.productOf(b.dims(a.tensor("self"))), "storage");
  Value at = b.broadcastTo(a.extentTensor(a.extent("storage_offset", 0), i64), *size);
  for (auto [i, step] : llvm::enumerate(*stride))
    at = b.add(at, b.mul(b.iota(*size, i, i64), a.extentTensor(step, i64)));
  return at;
}

/// The windows of `unfold` are views; this one is by index, from dense storage.
LogicalResult asStrided(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto at = stridedPlaces(a);
  return failed(at) ? failure() : a.give(b.take(b.reshape(x, {b.productOf(b.dims(x))}), *at, 0));
}

LogicalResult asStridedScatter(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), source = a.tensor("src");
  auto at = stridedPlaces(a);
  if (failed(at))
    return failure();
  Dim count = b.productOf(b.dims(*at));
  Value flat = b.reshape(x, {b.productOf(b.dims(x))});
  Value written = prim::ScatterAlongOp::create(
      b.builder(), b.location(), flat.getType(), prim::ScatterKind::assign, flat,
      b.reshape(*at, {count}), b.reshape(a.cast(source, b.elem(x)), {count}), 0);
  return a.give(b.reshape(written, b.dims(x)));
}

/// Where all positions are equal; `wrap` begins anew below a tall matrix' square, and
/// leaves one row out.
LogicalResult fillDiagonal(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x);
  if (rank < 2)
    return a.fail("needs at least two axes");
  Type i64 = b.builder().getI64Type();
  Dims shape = b.dims(x);
  Value row = b.iota(shape, 0, i64), on;
  if (rank == 2 && a.flag("wrap", false)) {
    Value period = a.extentTensor(b.addDims(shape[1], b.dim(1)), i64);
    row = b.binary<prim::ModOp>(row, period);
  }
  for (int64_t axis = 1; axis < rank; ++axis) {
    Value equal = b.compare(prim::ComparePredicate::eq, row, b.iota(shape, axis, i64));
    on = on ? b.binary<prim::AndOp>(on, equal) : equal;
  }
  return a.give(b.select(on, a.number("fill_value", b.elem(x)), x));
}

} // namespace

void tcc::populateAtenWindowRules(RuleSet &rules) {
  addRules(rules,
           {{"im2col", "default", "self", unfoldImage},
            {"col2im", "default", "self", foldImage},
            {"max_unpool2d", "default", "self indices", unpool<2>},
            {"max_unpool3d", "default", "self indices", unpool<3>},
            {"grid_sampler", "default", "input grid", gridSampleRule},
            {"grid_sampler_2d", "default", "input grid", gridSampleRule},
            {"grid_sampler_3d", "default", "input grid", gridSampleRule},
            {"grid_sampler_2d_backward", "default", "grad_output input grid", gridSampleBackward},
            {"grid_sampler_3d_backward", "default", "grad_output input grid", gridSampleBackward},
            {"affine_grid_generator", "default", "theta", affineGrid},
            {"as_strided", "default", "self", asStrided},
            {"as_strided_copy", "default", "self", asStrided},
            {"as_strided_scatter", "default", "self src", asStridedScatter},
            {"fill_diagonal", "default", "self", fillDiagonal}});
}
