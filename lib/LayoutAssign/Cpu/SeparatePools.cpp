//===- SeparatePools.cpp - Large windows, one axis after the other --------===//
//
// Each result of a pool reads its whole window, and neighbours read nearly the same. Reduced along
// one axis first, what the windows of a line have in common is reduced once: a window of 5x5 reads
// 5 + 5 elements instead of 25. What is between the two goes through memory, so small windows stay.
//
// The last axis comes last: if the windows lie some elements apart, then it is read with that
// stride, which costs most, for what is left of the other axes alone.
//
//===----------------------------------------------------------------------===//
#include "PartialResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_SEPARATEPOOLSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class SeparatePoolsPass : public tcc::impl::SeparatePoolsPassBase<SeparatePoolsPass> {
public:
  void runOnOperation() override {
    SmallVector<prim::PoolOp> pools;
    getOperation().walk([&](prim::PoolOp op) { pools.push_back(op); });
    for (prim::PoolOp op : pools)
      separate(op);
  }

private:
  void separate(prim::PoolOp op);
};

} // namespace

/// Whether fewer elements are read, for each result, where the axes come one after the other.
static bool isWorthIt(prim::PoolOp op) {
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

void SeparatePoolsPass::separate(prim::PoolOp op) {
  if (!keepsPartsExact(op.getKind(), op.getX()) || !isWorthIt(op))
    return;
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
