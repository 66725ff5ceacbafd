//===- ColumnsToImage.cpp - Blocks added up in an image -------------------===//
//
// Each column of x holds a block, whose elements are added to those of the image that it covers.
// Where all extents are known the offsets in the block are images of their own, moved to their
// places and added: those of a step of the blocks are one, since they lie beside each other, so
// that there are as many images as a block has steps. Else each element is added where it belongs
// (prim.scatter_along), at an index past the end if that is outside of the image.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// How the offsets of one axis of a block are added up.
struct OffsetAxis {
  int64_t beside; ///< offsets that fill a step beside each other, of which the last may be missing
  int64_t images; ///< each made of so many
  int64_t apart;  ///< points from an image's first to that of the next one
  int64_t low;    ///< where the first image begins
  int64_t gaps;   ///< between the points of an image
  int64_t points; ///< of the sum, for each offset beside
  int64_t cut;    ///< points of the sum before the image's first

  OffsetAxis(int64_t block, int64_t stride, int64_t dilation, int64_t pad, int64_t image) {
    bool fills = dilation == 1 || stride == 1;
    beside = fills ? stride : 1;
    images = llvm::divideCeil(block, beside);
    apart = stride == 1 ? dilation : fills ? 1 : dilation;
    low = fills ? -(pad / stride) : -pad;
    gaps = fills ? 0 : stride - 1;
    cut = fills ? pad % stride : 0;
    points = llvm::divideCeil(cut + image, beside);
  }
};

} // namespace

/// Extents, if all are known and none is 0.
static std::optional<SmallVector<int64_t>> knownExtents(PrimBuilder &b, ArrayRef<Dim> dims) {
  SmallVector<int64_t> extents;
  for (Dim d : dims)
    extents.push_back(b.known(d).value_or(0));
  return llvm::is_contained(extents, 0) ? std::nullopt : std::optional(extents);
}

/// The offsets in the block that fill a step beside each other are one image, the next step's
/// another one: moved to their places they are added up, each offset for itself, and then put
/// beside each other. What is missing of the last step is zeros. Null if there are many images, or
/// some extent is open.
static Value sumOfOffsets(PrimBuilder &b, Value x, const ColumnBlocks &o, const Dims &spread) {
  constexpr int64_t kMost = 64;
  int64_t spatial = o.image.size(), images = 1;
  auto image = knownExtents(b, o.image), extents = knownExtents(b, spread);
  if (!image || !extents)
    return {};
  auto blocks = ArrayRef(*extents).take_front(spatial);
  SmallVector<OffsetAxis> axes;
  for (int64_t i = 0; i < spatial; ++i) {
    axes.emplace_back(blocks[i], o.strides[i], o.dilations[i], o.pads[i], (*image)[i]);
    images *= axes.back().images;
  }
  if (images > kMost)
    return {};
  // [N, C, offsets.., positions..], then [N, C, (which image, which offset beside).., positions..]
  Dims offsets = {b.dim(x, 0),
                  b.floorDivDims(b.dim(x, 1), b.dim(llvm::product_of(blocks, int64_t(1))))};
  Dims apart = offsets, high(2 + 2 * spatial, b.dim(0)), none = high;
  offsets.append(spread);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    high[2 + i] = b.dim(axis.images * axis.beside - blocks[i]);
    llvm::append_range(apart, Dims{b.dim(axis.images), b.dim(axis.beside)});
  }
  apart.append(spread.begin() + spatial, spread.end());
  Value zero = b.scalar(0, b.elem(x)), sum;
  Value columns = b.reshape(b.pad(b.reshape(x, offsets), zero, none, high), apart);
  SmallVector<int64_t> chosen, order = {0, 1};
  Dims joined = {b.dim(columns, 0), b.dim(columns, 1)};
  for (int64_t i = 0; i < spatial; ++i) {
    chosen.push_back(2 + 2 * i);
    order.append({2 + spatial + i, 2 + i});
    joined.push_back(b.dim(axes[i].points * axes[i].beside));
  }
  for (int64_t n = 0; n < images; ++n) {
    Value part = columns;
    Dims before(2 + 2 * spatial, b.dim(0)), after = before;
    SmallVector<int64_t> gaps(2 + 2 * spatial, 0);
    for (int64_t i = spatial, rest = n; i-- > 0; rest /= axes[i].images) {
      const OffsetAxis &axis = axes[i];
      int64_t which = rest % axis.images, first = axis.low + which * axis.apart;
      int64_t reach = ((*extents)[spatial + i] - 1) * (axis.gaps + 1) + 1;
      part = b.sliceAxis(part, chosen[i], b.dim(which), b.dim(1));
      before[2 + spatial + i] = b.dim(first);
      after[2 + spatial + i] = b.dim(axis.points - first - reach);
      gaps[2 + spatial + i] = axis.gaps;
    }
    part = b.pad(b.squeeze(part, chosen), zero, before, after, gaps);
    sum = sum ? b.add(sum, part) : part;
  }
  sum = b.reshape(b.transpose(sum, order), joined);
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis.cut != 0 || axis.points * axis.beside != (*image)[i])
      sum = b.sliceAxis(sum, 2 + i, b.dim(axis.cut), b.dim((*image)[i]));
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
