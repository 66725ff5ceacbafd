#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

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
  Dim channels = b.floorDivDims(b.dim(x, 1), b.maxDims(b.productOf(o.block), b.dim(1)));
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
