//===- RunTimeFilters.cpp - Filters that a run puts in order ---------------===//
//
// Filters are arguments where a model is trained, and where another network makes them. As models
// store them, [filters, channels, window], neighbours are taps of one channel: a template reads
// each by itself, and takes three to four times as long. So a kernel puts them in order in every
// run:
//
//   %t = prim.transpose %w [0, 2, 3, 1] : tensor<64x32x3x3xbf16> -> tensor<64x3x3x32xbf16>
//   %r = prim.reshape %t : -> tensor<64x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
//
// A reshape keeps elements where they lie, so that of a type with a layout means what that layout
// says of them: %r has the elements of %w, and nothing is copied for it.
//
//===----------------------------------------------------------------------===//
#include "RunTimeFilters.h"
#include "ZeroPadding.h"

using namespace mlir;
using namespace tcc;

bool tcc::areOfRun(prim::ConvOp op) {
  // What takes no longer than a launch.
  constexpr int64_t kFewProducts = int64_t(1) << 23;
  // Of few channels each, groups leave most of a slice of k empty in any order: 32 of 8 channels,
  // 3x3, over 8 x 28^2 took 25.3 us as they are and 28.0 so (H200, bf16).
  constexpr int64_t kFewOfGroup = 64;
  auto w = tensorType(op.getW()), result = tensorType(op.getResult());
  Operation *from = op.getW().getDefiningOp();
  if (!w.hasStaticShape() || w.getRank() < 3 || prim::layoutOf(w) || w.getNumElements() == 0 ||
      (op.getGroups() > 1 && w.getDimSize(1) < kFewOfGroup) ||
      (from && prim::has<prim::ModelConstant>(from)))
    return false;
  if (!result.hasStaticShape())
    return true;
  int64_t products = result.getNumElements() / w.getDimSize(0) * w.getNumElements();
  return products >= kFewProducts;
}

static Value transposed(OpBuilder &b, Value x, ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  for (int64_t axis : order)
    shape.push_back(tensorType(x).getDimSize(axis));
  return prim::TransposeOp::create(b, x.getLoc(), tensorType(x).clone(shape), x, order);
}

static Value renamed(OpBuilder &b, Value x, RankedTensorType type) {
  return prim::ReshapeOp::create(b, x.getLoc(), type, x, ValueRange());
}

Value tcc::inOrder(OpBuilder &b, Value filters, RankedTensorType type) {
  auto order = cast<prim::AxisOrderAttr>(prim::layoutOf(type));
  Value filled = filledUp(b, filters, type.getShape());
  return renamed(b, transposed(b, filled, order.getOrder()), type);
}

Value tcc::joinedTaps(OpBuilder &b, Value filters, RankedTensorType type, int64_t pixels,
                      int64_t shift) {
  // [filters, channels, rows, taps, pixels] to [filters, rows, taps, pixels, channels].
  int64_t rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape()), low(rank, 0);
  shape[1] /= pixels;
  shape.back() *= pixels;
  low.back() = shift;
  Value whole = filledUp(b, filters, shape, low);
  shape.back() /= pixels;
  shape.push_back(pixels);
  Value split = prim::ReshapeOp::create(b, filters.getLoc(), tensorType(filters).clone(shape),
                                        whole, ValueRange());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, rank + 1));
  order.insert(order.begin(), 0);
  order.push_back(1);
  return renamed(b, transposed(b, split, order), type);
}
