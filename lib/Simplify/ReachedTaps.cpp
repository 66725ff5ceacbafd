//===- ReachedTaps.cpp - Filters without taps that meet padding alone -----===//
//
// Where an image is not much larger than what is put around it, the first and the last taps of a
// filter meet zeros at every place: of a kernel of 9 with a padding of 4 over a line of 4 pixels,
// read with stride 3, only taps 1 to 7 do anything, and over a single pixel only the one in the
// middle. A filter without them, and as much less padding, has the same sums.
//
//   %y = prim.conv %x, %w {low = [4], high = [4], strides = [3]} : (1x8x4, 16x8x9) -> 1x16x2
// becomes
//   %t = prim.slice %w starts [0, 0, 1] : 16x8x9 -> 16x8x7
//   %y = prim.conv %x, %t {low = [3], high = [3], strides = [3]} : (1x8x4, 16x8x7) -> 1x16x2
//
// Taps between others stay, since a window has no holes.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/PresentTaps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_REACHEDTAPSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// Taps [begin, end) of one axis.
struct Taps {
  int64_t begin, end;
};

} // namespace

/// Those between the first and the last one that meet the image somewhere; all of them where that
/// is not known, or none does.
static Taps reachedTaps(prim::ConvOp op, int64_t axis) {
  int64_t input = tensorType(op.getX()).getDimSize(axis + 2),
          output = tensorType(op.getResult()).getDimSize(axis + 2),
          kernel = tensorType(op.getW()).getDimSize(axis + 2);
  Taps all{0, kernel}, reached{kernel, 0};
  if (ShapedType::isDynamic(input) || ShapedType::isDynamic(output))
    return all;
  int64_t stride = op.getStrides()[axis];
  for (int64_t tap = 0; tap < kernel; ++tap) {
    // The first place of which the tap does not lie before the image.
    int64_t shift = tap * op.getDilations()[axis] - op.getLow()[axis];
    int64_t place = shift < 0 ? llvm::divideCeil(-shift, stride) : 0;
    if (place < output && place * stride + shift < input)
      reached = {std::min(reached.begin, tap), tap + 1};
  }
  return reached.begin < reached.end ? reached : all;
}

/// The bits of `mask` that stand for taps which are kept; the last axis comes first.
static int64_t keptBits(int64_t mask, ArrayRef<Taps> taps, ArrayRef<int64_t> window) {
  int64_t kept = 0, count = 1;
  for (const Taps &axis : taps)
    count *= axis.end - axis.begin;
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at, from = 0, stride = 1;
    for (size_t axis = taps.size(); axis-- > 0;) {
      int64_t extent = taps[axis].end - taps[axis].begin;
      from += (rest % extent + taps[axis].begin) * stride;
      rest /= extent;
      stride *= window[axis];
    }
    kept |= (mask >> from & 1) << at;
  }
  return kept;
}

static void leaveOut(prim::ConvOp op) {
  auto w = tensorType(op.getW());
  bool isPlain = !op.getChannelsLast() && w.hasStaticShape() && w.getNumElements() > 0 &&
                 llvm::all_of(op.getInputDilation(), [](int64_t d) { return d == 1; });
  if (!isPlain || prim::layoutOf(op.getW()))
    return;
  SmallVector<Taps> taps;
  SmallVector<int64_t> starts(2, 0), shape(w.getShape()), low(op.getLow()), high(op.getHigh());
  for (size_t axis = 0; axis < op.getStrides().size(); ++axis) {
    Taps some = reachedTaps(op, axis);
    int64_t dilation = op.getDilations()[axis];
    low[axis] -= some.begin * dilation;
    high[axis] -= (shape[axis + 2] - some.end) * dilation;
    starts.push_back(some.begin);
    shape[axis + 2] = some.end - some.begin;
    taps.push_back(some);
  }
  if (ArrayRef<int64_t>(shape) == w.getShape())
    return;
  OpBuilder b(op);
  Value filter = prim::SliceOp::create(b, op.getLoc(), w.clone(shape), op.getW(), ValueRange{},
                                       ValueRange{}, starts, SmallVector<int64_t>(shape.size(), 1));
  if (ArrayRef<int64_t> masks = prim::presentTaps(op); !masks.empty()) {
    SmallVector<int64_t> kept;
    for (int64_t mask : masks)
      kept.push_back(keptBits(mask, taps, w.getShape().drop_front(2)));
    prim::setPresentTaps(op, kept);
  }
  op.getWMutable().assign(filter);
  op.setLow(low);
  op.setHigh(high);
}

namespace {

class ReachedTapsPass : public tcc::impl::ReachedTapsPassBase<ReachedTapsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](prim::ConvOp op) { leaveOut(op); });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createReachedTapsPass() { return std::make_unique<ReachedTapsPass>(); }
