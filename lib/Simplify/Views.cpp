//===- Views.cpp - Views of views -----------------------------------------===//
//
// Transposes, reshapes, broadcasts, slices, reverses and concatenations that undo
// each other vanish; others are composed, so that a kernel computes one index and
// not several.
//
//   transpose(transpose(x))           transpose(x), or x
//   reshape(reshape(x))               reshape(x), or x
//   broadcast(broadcast(x))           broadcast(x)
//   slice(slice(x))                   slice(x)               starts of the inner known
//   slice(concat(x, y))               slice(y)               lies in one operand
//   concat(slice(x), slice(x))        slice(x)               neighbours: a split undone
//   concat(concat(x, y), z)           concat(x, y, z)
//   reverse(reverse(x))               reverse(x), or x
//
// A view of dynamic shape is an identity only if its type says so.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_VIEWSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

static bool isIdentity(ArrayRef<int64_t> axes) {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != static_cast<int64_t>(i))
      return false;
  return true;
}

static bool allAre(ArrayRef<int64_t> values, int64_t wanted) {
  return llvm::all_of(values, [&](int64_t v) { return v == wanted; });
}

/// Whether the view gives every element back in its place.
static bool isIdentityView(Operation *op) {
  RankedTensorType from = tensorType(op->getOperand(0)), to = tensorType(op->getResult(0));
  if (from != to)
    return false;
  if (auto o = dyn_cast<prim::TransposeOp>(op))
    return isIdentity(o.getPermutation());
  if (auto o = dyn_cast<prim::ReverseOp>(op))
    return llvm::all_of(o.getAxes(), [&](int64_t axis) { return to.getDimSize(axis) == 1; });
  if (auto o = dyn_cast<prim::ConcatOp>(op))
    return o.getInputs().size() == 1;
  if (isa<prim::ReshapeOp>(op)) // as many elements: one unknown extent is the same
    return to.getNumDynamicDims() <= 1 && !llvm::is_contained(to.getShape(), 0);
  if (!to.hasStaticShape())
    return false;
  if (auto o = dyn_cast<prim::SliceOp>(op))
    return o.getStarts().empty() && allAre(o.getStaticStarts(), 0) && allAre(o.getSteps(), 1);
  if (auto o = dyn_cast<prim::PadOp>(op))
    return o.getLows().empty() && allAre(o.getStaticLow(), 0) && allAre(o.getInterior(), 0);
  return isa<prim::BroadcastOp>(op);
}

namespace {

struct IdentityView : RewritePattern {
  IdentityView(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 2, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!op->hasTrait<prim::Rearrangement>() || op->getNumOperands() == 0 || !isIdentityView(op))
      return failure();
    b.replaceOp(op, op->getOperand(0));
    return success();
  }
};

struct TransposeOfTranspose : OpRewritePattern<prim::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::TransposeOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> axes;
    for (int64_t axis : op.getPermutation())
      axes.push_back(inner.getPermutation()[axis]);
    b.replaceOpWithNewOp<prim::TransposeOp>(op, op.getType(), inner.getX(), axes);
    return success();
  }
};

struct ReshapeOfReshape : OpRewritePattern<prim::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ReshapeOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::ReshapeOp>();
    if (!inner)
      return failure();
    b.replaceOpWithNewOp<prim::ReshapeOp>(op, op.getType(), inner.getX(), op.getSizes());
    return success();
  }
};

struct BroadcastOfBroadcast : OpRewritePattern<prim::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::BroadcastOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::BroadcastOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> axes;
    for (int64_t axis : inner.getAxes())
      axes.push_back(op.getAxes()[axis]);
    b.replaceOpWithNewOp<prim::BroadcastOp>(op, op.getType(), inner.getX(), axes, op.getSizes());
    return success();
  }
};

struct ReverseOfReverse : OpRewritePattern<prim::ReverseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ReverseOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::ReverseOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> axes; // those reversed once
    for (int64_t axis = 0, e = tensorType(op.getX()).getRank(); axis < e; ++axis)
      if (llvm::is_contained(op.getAxes(), axis) != llvm::is_contained(inner.getAxes(), axis))
        axes.push_back(axis);
    if (axes.empty() && inner.getX().getType() == op.getType())
      b.replaceOp(op, inner.getX());
    else
      b.replaceOpWithNewOp<prim::ReverseOp>(op, op.getType(), inner.getX(), axes);
    return success();
  }
};

struct SliceOfSlice : OpRewritePattern<prim::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::SliceOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::SliceOp>();
    if (!inner || !inner.getStarts().empty() || !op.getStarts().empty())
      return b.notifyMatchFailure(op, "not a slice of a slice with known starts");
    SmallVector<int64_t> starts, steps;
    for (auto [s, t, is, it] : llvm::zip_equal(op.getStaticStarts(), op.getSteps(),
                                               inner.getStaticStarts(), inner.getSteps())) {
      int64_t start, step;
      if (llvm::MulOverflow(s, it, start) || llvm::AddOverflow(start, is, start) ||
          llvm::MulOverflow(t, it, step))
        return b.notifyMatchFailure(op, "overflow");
      starts.push_back(start);
      steps.push_back(step);
    }
    b.replaceOpWithNewOp<prim::SliceOp>(op, op.getType(), inner.getX(), ValueRange(), op.getSizes(),
                                        starts, steps);
    return success();
  }
};

/// A slice of a concatenation that lies in one operand: what split makes of concat.
struct SliceOfConcat : OpRewritePattern<prim::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::SliceOp op, PatternRewriter &b) const override {
    auto concat = op.getX().getDefiningOp<prim::ConcatOp>();
    if (!concat)
      return failure();
    int64_t axis = concat.getAxis(), count = op.getType().getDimSize(axis);
    int64_t first = op.getStaticStarts()[axis], step = op.getSteps()[axis];
    if (first == prim::kDynamicStart || ShapedType::isDynamic(count) || count == 0)
      return b.notifyMatchFailure(op, "which operand is not known");
    int64_t last = first + (count - 1) * step, low = std::min(first, last),
            high = std::max(first, last), begin = 0;
    for (Value input : concat.getInputs()) {
      int64_t extent = tensorType(input).getDimSize(axis);
      if (ShapedType::isDynamic(extent))
        break;
      if (low >= begin && high < begin + extent) {
        SmallVector<int64_t> starts(op.getStaticStarts());
        starts[axis] = first - begin;
        b.replaceOpWithNewOp<prim::SliceOp>(op, op.getType(), input, op.getStarts(), op.getSizes(),
                                            starts, op.getSteps());
        return success();
      }
      begin += extent;
    }
    return b.notifyMatchFailure(op, "does not lie in one operand");
  }
};

} // namespace

/// One slice for two that are neighbours along `axis`; null if they are not.
static Value joinSlices(PatternRewriter &b, prim::SliceOp x, prim::SliceOp y, int64_t axis) {
  if (!x || !y || x.getX() != y.getX() || !x.getStarts().empty() || !y.getStarts().empty() ||
      !x.getType().hasStaticShape() || !y.getType().hasStaticShape() ||
      x.getSteps() != y.getSteps())
    return {};
  SmallVector<int64_t> shape(x.getType().getShape());
  for (auto [i, start] : llvm::enumerate(x.getStaticStarts())) {
    int64_t expected =
        static_cast<int64_t>(i) == axis ? start + shape[axis] * x.getSteps()[axis] : start;
    if (y.getStaticStarts()[i] != expected)
      return {};
  }
  shape[axis] += y.getType().getDimSize(axis);
  auto type = RankedTensorType::get(shape, x.getType().getElementType());
  return prim::SliceOp::create(b, x.getLoc(), type, x.getX(), ValueRange(), ValueRange(),
                               x.getStaticStarts(), x.getSteps());
}

namespace {

struct ConcatOfSlices : OpRewritePattern<prim::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ConcatOp op, PatternRewriter &b) const override {
    int64_t axis = op.getAxis();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto slice = input.getDefiningOp<prim::SliceOp>();
      auto before = inputs.empty() ? nullptr : inputs.back().getDefiningOp<prim::SliceOp>();
      if (Value joined = joinSlices(b, before, slice, axis))
        inputs.back() = joined;
      else
        inputs.push_back(input);
    }
    if (inputs.size() == op.getInputs().size())
      return b.notifyMatchFailure(op, "no neighbours");
    if (inputs.size() == 1 && inputs[0].getType() == op.getType())
      b.replaceOp(op, inputs[0]);
    else
      b.replaceOpWithNewOp<prim::ConcatOp>(op, op.getType(), inputs, axis);
    return success();
  }
};

/// A kernel asks for each operand in turn whether a point lies in it: above this many, a tree.
constexpr size_t kMostJoined = 32;

struct WideConcat : OpRewritePattern<prim::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ConcatOp op, PatternRewriter &b) const override {
    int64_t axis = op.getAxis();
    size_t count = op.getInputs().size();
    if (count <= kMostJoined)
      return b.notifyMatchFailure(op, "few operands");
    size_t each = std::max(kMostJoined, (count + kMostJoined - 1) / kMostJoined);
    SmallVector<Value> joined;
    for (size_t begin = 0; begin < count; begin += each) {
      ValueRange some = op.getInputs().slice(begin, std::min(each, count - begin));
      SmallVector<int64_t> shape(op.getType().getShape());
      shape[axis] = 0;
      for (Value input : some) {
        int64_t extent = tensorType(input).getDimSize(axis);
        bool open = ShapedType::isDynamic(extent) || ShapedType::isDynamic(shape[axis]);
        shape[axis] = open ? ShapedType::kDynamic : shape[axis] + extent;
      }
      auto type = RankedTensorType::get(shape, op.getType().getElementType());
      joined.push_back(prim::ConcatOp::create(b, op.getLoc(), type, some, axis));
    }
    b.replaceOpWithNewOp<prim::ConcatOp>(op, op.getType(), joined, axis);
    return success();
  }
};

/// Concatenations join if nobody else reads the inner one; empty operands go.
struct FlattenConcat : OpRewritePattern<prim::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::ConcatOp op, PatternRewriter &b) const override {
    int64_t axis = op.getAxis();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<prim::ConcatOp>();
      if (inner && static_cast<int64_t>(inner.getAxis()) == axis && inner->hasOneUse())
        llvm::append_range(inputs, inner.getInputs());
      else if (tensorType(input).getDimSize(axis) != 0)
        inputs.push_back(input);
    }
    if (inputs.empty() || llvm::equal(inputs, op.getInputs()) ||
        (inputs.size() > kMostJoined && inputs.size() > op.getInputs().size()))
      return b.notifyMatchFailure(op, "nothing to join");
    b.replaceOpWithNewOp<prim::ConcatOp>(op, op.getType(), inputs, axis);
    return success();
  }
};

class ViewsPass : public tcc::impl::ViewsPassBase<ViewsPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateViewPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateViewPatterns(RewritePatternSet &patterns) {
  patterns.add<IdentityView, TransposeOfTranspose, ReshapeOfReshape, BroadcastOfBroadcast,
               ReverseOfReverse, SliceOfSlice, SliceOfConcat, ConcatOfSlices, FlattenConcat,
               WideConcat>(patterns.getContext());
}

std::unique_ptr<Pass> tcc::createSimplifyViewsPass() { return std::make_unique<ViewsPass>(); }
