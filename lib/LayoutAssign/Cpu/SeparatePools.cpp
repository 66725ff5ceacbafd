//===- SeparatePools.cpp - Large windows, one axis after the other --------===//
//
// Each result of a pool reads its whole window, and neighbours read nearly the same. Reduced along
// one axis first, what the windows of a line have in common is reduced once: a window of 5x5 reads
// 5 + 5 elements instead of 25. What is between the two goes through memory, so small windows stay.
//
// The last axis comes last: if the windows lie some elements apart, then it is read with that
// stride, which costs most, for what is left of the other axes alone.
//
// Windows that lie end to end are parts of a line: a reduction of the line's parts, which reads
// them in vectors. With the results as lanes each element is a lane's own access, but for steps of
// few.
//
// Of planes, channels first, neither that nor what follows is needed: their kernel reduces the rows
// that a line's windows see first, and keeps what it makes of them in the first cache
// (Codegen/Cpu/Rows/WindowLines.cpp). Lines of few points fill no vector; there as well channels
// are better lanes.
//
// Where results lie some elements apart and their lines are short, lanes along a line would each
// have an access of their own, or there would be none. Turned so that channels come last, channels
// are the lanes, and each tap of a window is a vector.
//
//===----------------------------------------------------------------------===//
#include "PartialResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Cpu/PoolLines.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_SEPARATEPOOLSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

/// Whether the windows are the parts of x, those of a line too long for lanes a step apart.
static bool isOfParts(prim::PoolOp op) {
  constexpr int64_t kLeast = 7;
  auto x = tensorType(op.getX()), result = tensorType(op.getResult());
  if (op.getChannelsLast() || !x.hasStaticShape() || !result.hasStaticShape() ||
      !keepsPartsExact(op.getKind(), op.getX()) || op.getWindow().back() < kLeast)
    return false;
  for (auto [axis, window] : llvm::enumerate(op.getWindow()))
    if (op.getStrides()[axis] != window || (window > 1 && op.getDilations()[axis] != 1) ||
        op.getLow()[axis] != 0 || op.getHigh()[axis] != 0 ||
        x.getDimSize(axis + 2) != result.getDimSize(axis + 2) * window)
      return false;
  return true;
}

/// Of windows of planes nothing is left to gain where kernels take them from lines.
static bool isOfPlanes(prim::PoolOp op) {
  auto isLong = [](int64_t window) { return window > 1; };
  return cpu::takesLines(op) && llvm::count_if(op.getWindow(), isLong) == 2;
}

/// Whether fewer elements are read, for each result, where the axes come one after the other.
static bool separates(prim::PoolOp op) {
  if (!keepsPartsExact(op.getKind(), op.getX()))
    return false;
  constexpr int64_t kPass = 8; // reads that writing a result and reading it again is worth
  int64_t together = 1, apart = 0, later = 1, axes = 0;
  for (int64_t axis = op.getWindow().size(); axis-- > 0;) {
    int64_t window = op.getWindow()[axis];
    together *= window;
    if (window == 1 && op.getStrides()[axis] == 1)
      continue;
    apart += later * (window + (axes ? kPass : 0));
    later *= op.getStrides()[axis];
    ++axes;
  }
  return axes > 1 && apart < together;
}

static bool fillsLanesWithChannels(prim::PoolOp op) {
  constexpr int64_t kLanes = 16;
  auto x = tensorType(op.getX()), result = tensorType(op.getResult());
  return !op.getChannelsLast() && x.hasStaticShape() && result.hasStaticShape() &&
         x.getElementType().isF32() && x.getNumElements() > 0 && result.getNumElements() > 0 &&
         x.getDimSize(1) % kLanes == 0;
}

/// Whether a line that windows are taken from is a part of the smallest vector, and they have so
/// few taps that two transposes cost less than what is empty.
static bool isOfShortLines(prim::PoolOp op) {
  constexpr int64_t kVector = 8, kMostTaps = 9;
  return cpu::takesLines(op) && fillsLanesWithChannels(op) &&
         tensorType(op.getResult()).getShape().back() < kVector &&
         llvm::product_of(op.getWindow(), int64_t(1)) <= kMostTaps &&
         llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; });
}

/// Whether two transposes cost less than the taps of short lines, read one by one.
static bool isWorthTurning(prim::PoolOp op) {
  constexpr int64_t kLanes = 16, kGathers = 8, kFewest = 2;
  constexpr double kTransposed = 6, kGathered = 0.5; // instructions: of a vector, of a lane's tap
  if (!fillsLanesWithChannels(op))
    return false;
  auto x = tensorType(op.getX()), result = tensorType(op.getResult());
  int64_t axes = llvm::count_if(op.getWindow(), [](int64_t window) { return window > 1; });
  int64_t width = result.getShape().back();
  if (axes < kFewest || width >= kLanes || op.getStrides().back() < (width < kGathers ? 2 : 3))
    return false;
  double taps = 1, read = double(x.getNumElements()) / double(result.getNumElements());
  for (int64_t window : op.getWindow())
    taps *= window;
  double turned = (kTransposed * (read + 1) + taps) / kLanes;
  return taps * (width < kGathers ? 1 : kGathered) > 2 * turned;
}

/// The pool with its channels last, between two transposes.
static void turnPlanes(prim::PoolOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto turned = [](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    return type.clone(shape);
  };
  auto result = tensorType(op.getResult());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(result.getRank())), back(order);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::rotate(back.begin() + 1, back.end() - 1, back.end());
  Value x = prim::TransposeOp::create(b, loc, turned(tensorType(op.getX())), op.getX(), order);
  auto pool = prim::PoolOp::create(b, loc, turned(result), op.getKind(), x, ValueRange{},
                                   op.getWindow(), op.getStrides(), op.getDilations(), op.getLow(),
                                   op.getHigh(), /*channels_last=*/true);
  Value planes = prim::TransposeOp::create(b, loc, result, pool.getResult(), back);
  op.replaceAllUsesWith(planes);
  op.erase();
}

namespace {

class SeparatePoolsPass : public tcc::impl::SeparatePoolsPassBase<SeparatePoolsPass> {
public:
  void runOnOperation() override {
    SmallVector<prim::PoolOp> pools;
    getOperation().walk([&](prim::PoolOp op) { pools.push_back(op); });
    for (prim::PoolOp op : pools)
      if (isOfParts(op))
        reduceParts(op);
      else if (isOfShortLines(op))
        turnPlanes(op);
      else if (isOfPlanes(op))
        continue;
      else if (separates(op))
        separate(op);
      else if (isWorthTurning(op))
        turnPlanes(op);
  }

private:
  void reduceParts(prim::PoolOp op);
  void separate(prim::PoolOp op);
};

} // namespace

void SeparatePoolsPass::reduceParts(prim::PoolOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto result = tensorType(op.getResult());
  SmallVector<int64_t> shape(result.getShape().take_front(2)), axes;
  for (auto [axis, window] : llvm::enumerate(op.getWindow())) {
    shape.push_back(result.getDimSize(axis + 2));
    if (window == 1)
      continue;
    axes.push_back(shape.size());
    shape.push_back(window);
  }
  Value parts = prim::ReshapeOp::create(b, loc, result.clone(shape), op.getX(), ValueRange{});
  Value reduced = prim::ReduceOp::create(b, loc, result, op.getKind(), parts, axes);
  op.replaceAllUsesWith(reduced);
  op.erase();
}

void SeparatePoolsPass::separate(prim::PoolOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto result = tensorType(op.getResult());
  int64_t spatial = op.getWindow().size(), first = op.getChannelsLast() ? 1 : 2;
  SmallVector<OpFoldResult> extents = prim::dimsOf(b, loc, op.getX()),
                            wanted = prim::dimsOf(b, loc, op.getResult());
  Value x = op.getX();
  for (int64_t axis = 0; axis < spatial; ++axis) {
    if (op.getWindow()[axis] == 1 && op.getStrides()[axis] == 1)
      continue;
    SmallVector<int64_t> ones(spatial, 1), window(ones), strides(ones), dilations(ones),
        low(spatial, 0), high(spatial, 0);
    window[axis] = op.getWindow()[axis];
    strides[axis] = op.getStrides()[axis];
    dilations[axis] = op.getDilations()[axis];
    low[axis] = op.getLow()[axis];
    high[axis] = op.getHigh()[axis];
    SmallVector<int64_t> shape(tensorType(x).getShape());
    shape[first + axis] = result.getDimSize(first + axis);
    extents[first + axis] = wanted[first + axis];
    SmallVector<Value> sizes;
    for (auto [extent, size] : llvm::zip(shape, extents))
      if (ShapedType::isDynamic(extent))
        sizes.push_back(cast<Value>(size));
    x = prim::PoolOp::create(b, loc, result.clone(shape), op.getKind(), x, sizes, window, strides,
                             dilations, low, high, op.getChannelsLast());
  }
  op.replaceAllUsesWith(x);
  op.erase();
}

std::unique_ptr<Pass> tcc::createSeparatePoolsPass() {
  return std::make_unique<SeparatePoolsPass>();
}
