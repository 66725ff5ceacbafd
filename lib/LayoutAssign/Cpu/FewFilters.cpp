//===- FewFilters.cpp - Convolutions of few filters -----------------------===//
//
// A few filters fill a part of a vector of filters, and each pixel multiplies all of it for each
// tap and channel. Where pixels are lanes instead, each tap sums over the channels by itself, as a
// filter of one point does, which is weights by pixels (OrientProducts.cpp): as many planes as
// there are taps and filters. The result is their sum, each shifted by its tap.
//
//===----------------------------------------------------------------------===//
#include "FewFilters.h"
#include "../ZeroPadding.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Dialect/Cpu/PlaneTiles.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;

static int64_t tapsOf(prim::ConvOp op) {
  int64_t taps = 1;
  for (int64_t extent : tensorType(op.getW()).getShape().drop_front(2))
    taps *= extent;
  return taps;
}

/// The result of a convolution of images as large as open ones are taken for, one where their
/// number is open.
static RankedTensorType supposedResult(prim::ConvOp op) {
  auto result = tensorType(op.getResult());
  SmallVector<int64_t> shape(result.getShape());
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(extent))
      extent = axis == 0 ? 1 : kTypicalExtent;
  return result.clone(shape);
}

/// Whether planes are summed sooner than vectors of filters, in multiply-adds of a tap and pixel:
/// planes are written, shifted and added up, the others are channels last, of which tiles save some
/// (Winograd.h).
static bool prefersPlanes(prim::ConvOp op, const CpuTarget &cpu) {
  constexpr int64_t kAlways = 4; // filters
  constexpr double kShiftedSum = 24, kTransposes = 8, kTiles = 0.6, kMargin = 0.95;
  auto w = tensorType(op.getW()), result = supposedResult(op);
  int64_t filters = w.getDimSize(0), channels = w.getDimSize(1);
  if (filters <= kAlways)
    return true;
  if (channels * result.getDimSize(0) * filters > result.getNumElements())
    return false; // of few pixels products are no faster
  double vectors = llvm::alignTo(filters, cpu.lanes(32)) * (channels + kTransposes);
  bool isSquare = w.getRank() == 4 && w.getDimSize(2) == 3 && w.getDimSize(3) == 3 &&
                  llvm::all_of(op.getDilations(), [](int64_t v) { return v == 1; });
  int64_t planeBytes =
      isSquare ? result.getDimSize(2) * result.getDimSize(3) * int64_t(sizeof(float)) : 0;
  if (isSquare && prefersWinograd(cpu, {result.getDimSize(0), result.getDimSize(2),
                                        result.getDimSize(3), channels, filters, planeBytes}))
    vectors *= kTiles;
  return filters * (channels + kShiftedSum) < kMargin * vectors;
}

/// Cycles of a core: planes that the caches do not hold come from memory to be added up.
static double shiftedCycles(prim::ConvOp op, const CpuTarget &cpu) {
  constexpr double kShiftedSum = 24, kFarBytes = 6;
  auto w = tensorType(op.getW());
  double points = double(supposedResult(op).getNumElements()) * tapsOf(op);
  double cycles = points * (w.getDimSize(1) + kShiftedSum) / (2 * cpu.lanes(32));
  double bytes = points * sizeof(float);
  return bytes > 2 * double(cpu.l2Bytes) ? cycles + bytes / kFarBytes : cycles;
}

/// Whether filters by pixels in register tiles are faster.
static bool prefersRegisterTiles(prim::ConvOp op, const CpuTarget &cpu) {
  constexpr double kMargin = 0.9;
  return prefersPlaneTiles(cpu, op) && *planeTileCycles(cpu, op) < kMargin * shiftedCycles(op, cpu);
}

bool tcc::hasFewFilters(prim::ConvOp op, const CpuTarget &cpu) {
  constexpr int64_t kMostFilters = 24, kMostTaps = 128, kLeastChannels = 8, kLeastLine = 16;
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), result = supposedResult(op);
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [=](int64_t v) { return v == value; });
  };
  // Of known images the other forms have all that they have for a known number of them.
  bool isBatch = !x.hasStaticShape() && !ShapedType::isDynamicShape(x.getShape().drop_front());
  auto isPositive = [](int64_t v) { return v >= 0; };
  int64_t taps = w.hasStaticShape() ? tapsOf(op) : 0;
  return !op.getChannelsLast() && op.getGroups() == 1 && x.getRank() >= 3 && !x.isDynamicDim(1) &&
         !isBatch && x.getElementType().isF32() && w.getElementType().isF32() &&
         result.getElementType().isF32() && w.getDimSize(0) >= 1 &&
         w.getDimSize(0) <= kMostFilters && w.getDimSize(1) >= kLeastChannels && taps > 1 &&
         taps <= kMostTaps && result.getShape().back() >= kLeastLine && all(op.getStrides(), 1) &&
         all(op.getInputDilation(), 1) && llvm::all_of(op.getLow(), isPositive) &&
         llvm::all_of(op.getHigh(), isPositive) && prefersPlanes(op, cpu) &&
         !prefersRegisterTiles(op, cpu);
}

void tcc::sumShiftedPlanes(prim::ConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = tensorType(op.getX()), result = tensorType(op.getResult()),
       filter = tensorType(op.getW());
  int64_t rank = type.getRank(), axes = rank - 2, taps = tapsOf(op), filters = filter.getDimSize(0);
  SmallVector<int64_t> low(2, 0), high(2, 0), ones(rank, 1);
  llvm::append_range(low, op.getLow());
  llvm::append_range(high, op.getHigh());
  // Zeros around x are zeros around its planes: those are padded of which there are fewer.
  bool padsPlanes = taps * filters < type.getDimSize(1);
  Value x = padsPlanes ? op.getX() : zeroPadded(b, op.getX(), low, high);

  // [M, C, k...] -> [k... M, C, 1...]
  SmallVector<int64_t> order, turned, points;
  for (int64_t axis = 2; axis < rank; ++axis)
    order.push_back(axis);
  order.append({0, 1});
  for (int64_t axis : order)
    turned.push_back(filter.getDimSize(axis));
  points = {taps * filters, filter.getDimSize(1)};
  points.append(axes, 1);
  Value w = prim::TransposeOp::create(b, loc, filter.clone(turned), op.getW(), order);
  w = prim::ReshapeOp::create(b, loc, filter.clone(points), w, ValueRange{});

  SmallVector<int64_t> planes(tensorType(x).getShape()), spatialOnes(axes, 1),
      spatialZeros(axes, 0);
  planes[1] = taps * filters;
  auto conv =
      prim::ConvOp::create(b, loc, result.clone(planes), x, w, openExtents(b, x), spatialOnes,
                           spatialOnes, spatialOnes, spatialZeros, spatialZeros,
                           /*groups=*/1);
  Value shifted = padsPlanes ? zeroPadded(b, conv, low, high) : conv.getResult();
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    SmallVector<int64_t> start(rank, 0);
    start[1] = tap * filters;
    for (int64_t axis = rank, rest = tap; axis-- > 2; rest /= filter.getDimSize(axis))
      start[axis] = rest % filter.getDimSize(axis) * op.getDilations()[axis - 2];
    Value plane =
        prim::SliceOp::create(b, loc, result, shifted, ValueRange{}, op.getSizes(), start, ones);
    sum = sum ? prim::AddOp::create(b, loc, result, sum, plane).getResult() : plane;
  }
  op.replaceAllUsesWith(sum);
  op.erase();
}
