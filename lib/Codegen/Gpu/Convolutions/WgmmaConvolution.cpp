//===- WgmmaConvolution.cpp - Convolutions for wgmma ----------------------===//
//
// A copy in im2col mode walks over the places of a window as the result's pixels are numbered:
// along a row, then to the next row, then to the next image, wherever it starts. It knows where
// rows of places begin and end from the tensor map, and what lies outside of the image reads as
// zeros. The tap is an offset that it adds. So the fetching thread computes one place a tile and
// one tap a step, and the loop over the tiles of a product stays what it is.
//
// Filters are a tensor [filters, taps, channels]: a slice that ends past the channels is filled
// with zeros in both operands.
//
// A tile of several groups would multiply by zeros. So a tile is of one group, whose channels it
// reads.
//
//===----------------------------------------------------------------------===//
#include "WgmmaConvolution.h"
#include "../Products/MatrixTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Bits of a window's corner and of a tap's offset along one of `spatial` axes.
static unsigned placeBits(size_t spatial) { return spatial == 1 ? 16 : spatial == 2 ? 8 : 5; }

/// Where the last window stands, counted from the extent.
static int64_t highOf(prim::ConvOp op, ArrayRef<int64_t> taps, size_t axis) {
  return op.getHigh()[axis] - (taps[axis] - 1) * op.getDilations()[axis];
}

/// Whether a tensor map has room for what is along each axis.
static bool fitsTensorMap(const ConvolutionWindow &window) {
  constexpr int64_t kMostStep = 8;
  prim::ConvOp op = window.op;
  size_t spatial = window.taps.size();
  if (spatial < 1 || spatial > 3)
    return false;
  int64_t corners = int64_t(1) << (placeBits(spatial) - 1);
  return llvm::all_of(llvm::seq(spatial), [&](size_t axis) {
    int64_t low = -op.getLow()[axis], high = highOf(op, window.taps, axis);
    int64_t furthest = (window.taps[axis] - 1) * op.getDilations()[axis];
    return op.getStrides()[axis] <= kMostStep && op.getInputDilation()[axis] == 1 &&
           low >= -corners && low < corners && high >= -corners && high < corners &&
           furthest < 2 * corners;
  });
}

/// An extent in units of 16 bits.
static int64_t unitsOf(RankedTensorType type, unsigned axis) {
  return type.getDimSize(axis) * type.getElementTypeBitWidth() / 16;
}

std::optional<ConvolutionWindow> ConvolutionWindow::of(prim::ConvOp op) {
  auto x = dyn_cast<BlockArgument>(op.getX()), w = dyn_cast<BlockArgument>(op.getW());
  if (!x || !w || prim::layoutOf(x) || !op.getChannelsLast() || !tensorType(w).hasStaticShape())
    return std::nullopt;
  auto filters = tensorType(w);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, filters.getRank()));
  order.insert(order.begin(), 0);
  order.push_back(1);
  auto lie = dyn_cast_if_present<prim::AxisOrderAttr>(prim::layoutOf(filters));
  if (!lie || lie.getOrder() != ArrayRef<int64_t>(order))
    return std::nullopt;
  auto groups = int64_t(op.getGroups());
  ConvolutionWindow window{op, SmallVector<int64_t, 3>(filters.getShape().drop_front(2)),
                           unitsOf(filters, 1), filters.getDimSize(0),
                           filters.getDimSize(0) / groups};
  bool whole =
      groups == 1 || (window.channels % MatrixTile::depth == 0 && window.filtersOfGroup % 64 == 0);
  if (!whole || !fitsTensorMap(window))
    return std::nullopt;
  return window;
}

int64_t ConvolutionWindow::slices() const {
  return int64_t(llvm::divideCeil(channels, MatrixTile::depth));
}

int64_t ConvolutionWindow::steps() const {
  int64_t steps = slices();
  for (int64_t extent : taps)
    steps *= extent;
  return steps;
}

SmallVector<TensorMap> ConvolutionWindow::tensorMaps(OpBuilder &b, kernel::LaunchOp launch,
                                                     unsigned rows, unsigned columns) const {
  auto inputOf = [](Value v) { return cast<BlockArgument>(v).getArgNumber(); };
  prim::ConvOp conv = op;
  unsigned x = inputOf(conv.getX());
  TensorMap image{false, x, {}, SmallVector<unsigned, 2>(taps.size() + 2, 1)};
  llvm::append_range(image.extents, prim::dimsOf(b, launch.getLoc(), launch.getInputs()[x]));
  image.extents.back() = b.getIndexAttr(int64_t(conv.getGroups()) * channels);
  image.box.back() = MatrixTile::depth;
  image.window = TensorMap::Window{rows, {}, {}, {}};
  for (size_t axis = 0; axis < taps.size(); ++axis) {
    image.window->strides.push_back(conv.getStrides()[axis]);
    image.window->low.push_back(-conv.getLow()[axis]);
    image.window->high.push_back(highOf(op, taps, axis));
  }
  int64_t allTaps = steps() / slices();
  TensorMap weights{false,
                    inputOf(conv.getW()),
                    {b.getIndexAttr(filters), b.getIndexAttr(allTaps), b.getIndexAttr(channels)},
                    {columns, 1, MatrixTile::depth}};
  return {image, weights};
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

SmallVector<Value> ConvolutionWindow::windowAt(KernelFrame &f, Value row) const {
  prim::ConvOp conv = op;
  SmallVector<Value> window;
  for (size_t axis = taps.size(); axis-- > 0;) {
    Value extent =
        arith::IndexCastUIOp::create(f.b, f.b.getI32Type(), f.e.extent(conv.getResult(), axis + 1));
    Value place = arith::RemUIOp::create(f.b, row, extent);
    place = arith::MulIOp::create(f.b, place, f.i32(conv.getStrides()[axis]));
    window.push_back(arith::SubIOp::create(f.b, place, f.i32(conv.getLow()[axis])));
    row = arith::DivUIOp::create(f.b, row, extent);
  }
  window.push_back(row);
  return window;
}

/// x / y and x % y of 32 bits.
static Value divided(KernelFrame &f, Value x, int64_t y) {
  return y == 1 ? x : Value(arith::DivUIOp::create(f.b, x, f.i32(y)));
}
static Value remainder(KernelFrame &f, Value x, int64_t y) {
  return y == 1 ? f.i32(0) : Value(arith::RemUIOp::create(f.b, x, f.i32(y)));
}

/// The tap of a step, and its first channel in the group.
static std::pair<Value, Value> tapAt(KernelFrame &f, Value step, int64_t slices) {
  Value slice = remainder(f, step, slices);
  return {divided(f, step, slices), arith::MulIOp::create(f.b, slice, f.i32(MatrixTile::depth))};
}

SmallVector<Value> ConvolutionWindow::filtersAt(KernelFrame &f, Value firstColumn,
                                                Value step) const {
  auto [tap, channel] = tapAt(f, step, slices());
  return {channel, tap, firstColumn};
}

ConvolutionWindow::Copies ConvolutionWindow::copiesAt(KernelFrame &f, ValueRange window,
                                                      Value firstColumn, Value step) const {
  prim::ConvOp conv = op;
  auto mul = [&](Value x, int64_t y) -> Value { return arith::MulIOp::create(f.b, x, f.i32(y)); };
  auto [tap, firstChannel] = tapAt(f, step, slices());
  if (conv.getGroups() > 1)
    firstChannel = arith::AddIOp::create(f.b, firstChannel,
                                         mul(divided(f, firstColumn, filtersOfGroup), channels));
  Copies copies;
  copies.image = {firstChannel};
  llvm::append_range(copies.image, window);
  for (size_t axis = taps.size(); axis-- > 0; tap = divided(f, tap, taps[axis])) {
    Value offset = mul(axis ? remainder(f, tap, taps[axis]) : tap, conv.getDilations()[axis]);
    copies.taps.push_back(arith::TruncIOp::create(f.b, f.b.getI16Type(), offset));
  }
  return copies;
}
