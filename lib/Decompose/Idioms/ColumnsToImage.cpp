#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

/// Each offset in the block is an image of its own, which steps apart and moved to its place is
/// added to the others. Offsets that fill a step beside each other are one image without gaps. Null
/// if there are many of them, or some extent is open.
static Value sumOfOffsets(PrimBuilder &b, Value x, const ColumnBlocks &o, const Dims &spread) {
  constexpr int64_t kMost = 32;
  int64_t spatial = o.image.size(), images = 1;
  SmallVector<int64_t> image, extents;
  for (Dim d : o.image)
    image.push_back(b.known(d).value_or(ShapedType::kDynamic));
  for (Dim d : spread)
    extents.push_back(b.known(d).value_or(ShapedType::kDynamic));
  auto blocks = ArrayRef(extents).take_front(spatial),
       counts = ArrayRef(extents).drop_front(spatial);
  if (ShapedType::isDynamicShape(image) || ShapedType::isDynamicShape(extents) ||
      llvm::is_contained(extents, 0))
    return {};
  SmallVector<int64_t> beside; // offsets of an axis that are in one image
  for (int64_t i = 0; i < spatial; ++i) {
    bool fills = o.dilations[i] == 1 && blocks[i] % o.strides[i] == 0;
    beside.push_back(fills ? o.strides[i] : 1);
    images *= blocks[i] / beside[i];
  }
  if (images > kMost)
    return {};
  // [N, C, (which image, which offset beside).., positions..]
  Dims apart = {b.dim(x, 0),
                b.floorDivDims(b.dim(x, 1), b.dim(llvm::product_of(blocks, int64_t(1))))};
  for (int64_t i = 0; i < spatial; ++i)
    llvm::append_range(apart, Dims{b.dim(blocks[i] / beside[i]), b.dim(beside[i])});
  apart.append(spread.begin() + spatial, spread.end());
  Value columns = b.reshape(x, apart), zero = b.scalar(0, b.elem(x)), sum;
  SmallVector<int64_t> chosen, order = {0, 1};
  for (int64_t i = 0; i < spatial; ++i) {
    chosen.push_back(2 + 2 * i);
    llvm::append_range(order, std::initializer_list<int64_t>{2 + spatial + i, 2 + i});
  }
  for (int64_t n = 0; n < images; ++n) {
    Value part = columns;
    Dims low(2, b.dim(0)), high = low, extent = {b.dim(columns, 0), b.dim(columns, 1)};
    SmallVector<int64_t> interior(2, 0);
    for (int64_t i = spatial, rest = n; i-- > 0; rest /= blocks[i] / beside[i]) {
      int64_t which = rest % (blocks[i] / beside[i]), points = counts[i] * beside[i];
      int64_t step = beside[i] == o.strides[i] ? 1 : o.strides[i];
      int64_t first = which * beside[i] * o.dilations[i] - o.pads[i];
      part = b.sliceAxis(part, chosen[i], b.dim(which), b.dim(1));
      extent.insert(extent.begin() + 2, b.dim(points));
      low.insert(low.begin() + 2, b.dim(first));
      high.insert(high.begin() + 2, b.dim(image[i] - 1 - first - (points - 1) * step));
      interior.insert(interior.begin() + 2, step - 1);
    }
    part = b.reshape(b.transpose(b.squeeze(part, chosen), order), extent);
    part = b.pad(part, zero, low, high, interior);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

Value tcc::columnsToImage(PrimBuilder &b, Value x, const ColumnBlocks &o) {
  size_t spatial = o.image.size();
  if (b.rank(x) != 3 || spatial < 1 || o.block.size() != spatial || o.strides.size() != spatial ||
      o.dilations.size() != spatial || o.pads.size() != 2 * spatial) {
    b.fault("image_shape, block_shape, strides, dilations and pads differ in length");
    return {};
  }
  if (llvm::any_of(o.strides, [](int64_t s) { return s < 1; })) {
    b.fault("has a stride below 1");
    return {};
  }
  Type i64 = b.builder().getI64Type();
  // The flat pixel of each (offset in the block..., position...), past the end when outside.
  Dims spread = o.block;
  Value pixel, inside;
  for (size_t i = 0; i < spatial; ++i) {
    Dim padded = b.addDims(o.image[i], b.dim(o.pads[i] + o.pads[i + spatial]));
    Dim reach = b.mulDims(b.subDims(o.block[i], b.dim(1)), b.dim(o.dilations[i]));
    Dim count = b.addDims(
        b.floorDivDims(b.subDims(b.subDims(padded, reach), b.dim(1)), b.dim(o.strides[i])),
        b.dim(1));
    spread.push_back(b.maxDims(count, b.dim(0)));
  }
  Dim channels =
      wholeQuotient(b, b.dim(x, 1), b.productOf(o.block), "channels times elements of a block");
  requireSame(b, b.productOf(ArrayRef(spread).drop_front(spatial)), b.dim(x, 2),
              "positions of blocks in the image");
  if (Value sum = sumOfOffsets(b, x, o, spread))
    return sum;
  for (size_t i = 0; i < spatial; ++i) {
    Value offset = b.mul(b.iota({spread[i]}, 0, i64), static_cast<double>(o.dilations[i]));
    Value start =
        b.sub(b.mul(b.iota({spread[spatial + i]}, 0, i64), static_cast<double>(o.strides[i])),
              static_cast<double>(o.pads[i]));
    Value at =
        b.add(alongAxis(b, offset, i, 2 * spatial), alongAxis(b, start, spatial + i, 2 * spatial));
    Value extent = scalarOf(b, o.image[i], i64);
    Value within = b.binary<prim::AndOp>(b.compare(P::ge, at, 0.0), b.compare(P::lt, at, extent));
    pixel = pixel ? b.add(b.mul(pixel, extent), at) : at;
    inside = inside ? b.binary<prim::AndOp>(inside, within) : within;
  }
  Dim pixels = b.productOf(o.image), columns = b.productOf(spread);
  Value position = b.select(inside, pixel, scalarOf(b, pixels, i64));
  Dims planes = {b.dim(x, 0), channels};
  Dim rows = b.productOf(planes);
  Value updates = b.reshape(x, {rows, columns});
  Value indices = b.broadcastTo(b.reshape(b.broadcastTo(position, spread), {b.dim(1), columns}),
                                {rows, columns});
  Value zeros = b.full({rows, pixels}, 0, b.elem(x));
  Dims result = planes;
  result.append(o.image);
  Value sum = prim::ScatterAlongOp::create(b.builder(), b.location(), zeros.getType(),
                                           prim::ScatterKind::add, zeros, indices, updates, 1);
  return b.reshape(sum, result);
}
