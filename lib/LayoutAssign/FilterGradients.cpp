//===- FilterGradients.cpp - Filters' gradients as products of rows --------===//
//
// The gradient of a convolution's filters is a product for each tap of the window (Decompose/Aten/
// BackwardWindow.cpp), which sums over batch and positions: of the result's gradient g [N, O,
// places] and of what the tap sees of x [N, I, places]. As models store them, what is summed lies
// in N pieces, and each tap's product has no more results than O I, so that a GPU copies x for
// every tap and multiplies it in a template of few tiles. With channels last both operands are
// matrices whose rows are places, and all taps are one product of as many columns:
//
//   %g' = [N places, O], %x' = [N places, taps I]
//   %r = prim.dot %g', %x' batch [] x [] contract [0] x [0] : [O, taps I]
//
// %x' is written once by one kernel, which reads the padded x by vectors of channels; where it
// would be too large, some taps are a product. Convolutions read both operands with channels last
// already.
//
// Groups are a product of all channels by all, of which each keeps its own block on the diagonal,
// where matrix units do that in little time. Where each channel is a group of its own, a tap is a
// sum over the rows of a matrix, column by column.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_FILTERGRADIENTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// The products of all taps, whose results lie beside each other in `root`.
struct Gradient {
  SmallVector<prim::DotOp> taps;
  Operation *root;
};

class FilterGradients {
public:
  explicit FilterGradients(OpBuilder &b) : b(b) {}
  void rewrite(const Gradient &gradient);

private:
  void multiply(const Gradient &gradient);
  /// Of the products [groups, filters, taps, groups, channels] of all by all, each group's own.
  Value ofGroups(Value all);
  void sum(prim::DotOp tap);
  /// [N, groups, channels, places...] as [N, places..., all channels].
  Value last(Value operand);
  Value channelsLast(Value x);
  Value reshaped(Value x, ArrayRef<int64_t> shape);
  Value joined(ArrayRef<Value> parts, int64_t axis);

  OpBuilder &b;
  DenseMap<Value, Value> lastOf;
};

} // namespace

/// [0, 2, 3, ..., 1] of so many axes.
static SmallVector<int64_t> toLast(int64_t rank) {
  SmallVector<int64_t> order{0};
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.push_back(1);
  return order;
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> list, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t axis) { return list[axis]; });
}

/// Whether `op` sums over batch and places, for each group.
static bool isTap(prim::DotOp op) {
  auto l = tensorType(op.getLhs()), r = tensorType(op.getRhs());
  if (!l.hasStaticShape() || !r.hasStaticShape() || l.getRank() < 4 ||
      l.getElementType() != r.getElementType() || !isa<FloatType>(l.getElementType()) ||
      l.getNumElements() == 0 || r.getNumElements() == 0)
    return false;
  SmallVector<int64_t> summed{0};
  llvm::append_range(summed, llvm::seq<int64_t>(3, l.getRank()));
  auto isGroup = [](ArrayRef<int64_t> axes) { return axes.size() == 1 && axes[0] == 1; };
  bool sums = isGroup(op.getLhsBatch()) && isGroup(op.getRhsBatch()) &&
              op.getLhsContract() == ArrayRef(summed) && op.getRhsContract() == ArrayRef(summed);
  return sums;
}

static int64_t groupsOf(prim::DotOp tap) { return tensorType(tap.getLhs()).getDimSize(1); }
static bool isDepthwise(prim::DotOp tap) {
  return tensorType(tap.getLhs()).getDimSize(2) == 1 && tensorType(tap.getRhs()).getDimSize(2) == 1;
}

/// Whether matrix units multiply all channels by all in a few microseconds. Of one channel each
/// that takes longer than sums: 128 of 3x3 over 8 x 28^2 55.0 us with the input's gradient,
/// and 46.6 (H200, bf16).
static bool multipliesAll(prim::DotOp tap, int64_t taps) {
  constexpr int64_t kMostProducts = int64_t(1) << 31;
  auto l = tensorType(tap.getLhs()), r = tensorType(tap.getRhs());
  int64_t groups = groupsOf(tap);
  return groups == 1 || (!isDepthwise(tap) && l.getElementTypeBitWidth() == 16 &&
                         l.getNumElements() * r.getDimSize(2) * groups * taps <= kMostProducts);
}

static prim::DotOp tapOf(Value v) {
  auto reshape = v.hasOneUse() ? v.getDefiningOp<prim::ReshapeOp>() : prim::ReshapeOp();
  auto dot = reshape && reshape.getX().hasOneUse() ? reshape.getX().getDefiningOp<prim::DotOp>()
                                                   : prim::DotOp();
  return dot && isTap(dot) ? dot : prim::DotOp();
}

/// The gradient that `concat` puts together of its taps' products; null where it is none.
static std::optional<Gradient> gradientOf(prim::ConcatOp concat) {
  auto type = tensorType(concat.getResult());
  Gradient gradient{{}, concat};
  for (Value input : concat.getInputs()) {
    prim::DotOp tap = tapOf(input);
    if (!tap || tensorType(input).getShape().back() != 1 ||
        (!gradient.taps.empty() && (tap.getLhs() != gradient.taps[0].getLhs() ||
                                    tap.getRhs().getType() != gradient.taps[0].getRhs().getType())))
      return std::nullopt;
    gradient.taps.push_back(tap);
  }
  if (gradient.taps.empty() || int64_t(concat.getAxis()) != type.getRank() - 1)
    return std::nullopt;
  return gradient;
}

Value FilterGradients::reshaped(Value x, ArrayRef<int64_t> shape) {
  auto type = tensorType(x).clone(shape);
  return x.getType() == type ? x
                             : Value(prim::ReshapeOp::create(b, x.getLoc(), type, x, ValueRange()));
}

Value FilterGradients::joined(ArrayRef<Value> parts, int64_t axis) {
  if (parts.size() == 1)
    return parts[0];
  SmallVector<int64_t> shape(tensorType(parts[0]).getShape());
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += tensorType(part).getDimSize(axis);
  return prim::ConcatOp::create(b, parts[0].getLoc(), tensorType(parts[0]).clone(shape), parts,
                                axis);
}

/// A part of x, or x in a border, are such of x with channels last, which others read as well.
Value FilterGradients::channelsLast(Value x) {
  if (Value known = lastOf.lookup(x))
    return known;
  auto type = tensorType(x);
  SmallVector<int64_t> order = toLast(type.getRank());
  auto to = type.clone(permuted(type.getShape(), order));
  Value result;
  auto slice = x.getDefiningOp<prim::SliceOp>();
  auto pad = x.getDefiningOp<prim::PadOp>();
  if (slice && slice.getStarts().empty() && tensorType(slice.getX()).hasStaticShape())
    result = prim::SliceOp::create(b, x.getLoc(), to, channelsLast(slice.getX()), ValueRange(),
                                   ValueRange(), permuted(slice.getStaticStarts(), order),
                                   permuted(slice.getSteps(), order));
  else if (pad && pad.getLows().empty() && tensorType(pad.getX()).hasStaticShape())
    result = prim::PadOp::create(b, x.getLoc(), to, channelsLast(pad.getX()), pad.getValue(),
                                 ValueRange(), ValueRange(), permuted(pad.getStaticLow(), order),
                                 permuted(pad.getInterior(), order));
  else
    result = prim::TransposeOp::create(b, x.getLoc(), to, x, order);
  return lastOf[x] = result;
}

Value FilterGradients::last(Value operand) {
  SmallVector<int64_t> shape(tensorType(operand).getShape());
  shape[1] *= shape[2];
  shape.erase(shape.begin() + 2);
  auto reshape = operand.getDefiningOp<prim::ReshapeOp>();
  bool splits = reshape && tensorType(reshape.getX()).getShape() == ArrayRef(shape);
  return channelsLast(splits ? reshape.getX() : reshaped(operand, shape));
}

void FilterGradients::multiply(const Gradient &gradient) {
  // Of one product's right operand. Parts that a cache keeps are slower: 64 channels of 3x3 over 32
  // x 56^2 took 237.9 us with 2^25 and 157.7 so (H200, bf16).
  constexpr int64_t kMostBytes = int64_t(1) << 27;
  prim::DotOp first = gradient.taps[0];
  Location loc = first.getLoc();
  Value left = last(first.getLhs());
  SmallVector<int64_t> places(tensorType(left).getShape().drop_back());
  int64_t rows = ShapedType::getNumElements(places), filters = tensorType(left).getShape().back();
  int64_t groups = groupsOf(first), channels = tensorType(first.getRhs()).getDimSize(2) * groups;
  int64_t bytes = rows * channels * elementBytes(tensorType(left).getElementType());
  int64_t together = std::max<int64_t>(1, kMostBytes / bytes), axis = int64_t(places.size());
  left = reshaped(left, {rows, filters});
  SmallVector<Value> products;
  for (ArrayRef<prim::DotOp> rest = gradient.taps; !rest.empty();) {
    auto taps = rest.take_front(together);
    rest = rest.drop_front(taps.size());
    SmallVector<Value> seen;
    SmallVector<int64_t> shape(places);
    shape.append({1, channels});
    for (prim::DotOp tap : taps)
      seen.push_back(reshaped(last(tap.getRhs()), shape));
    auto count = int64_t(taps.size());
    Value right = reshaped(joined(seen, axis), {rows, count * channels});
    auto type = tensorType(first.getResult()).clone({filters, count * channels});
    Value product =
        prim::DotOp::create(b, loc, type, left, right, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                            ArrayRef<int64_t>{0}, ArrayRef<int64_t>{0});
    products.push_back(reshaped(product, {filters, count, channels}));
  }
  Value all = joined(products, 1);
  auto count = int64_t(gradient.taps.size());
  if (groups > 1) {
    all = reshaped(all, {groups, filters / groups, count, groups, channels / groups});
    channels /= groups;
    all = reshaped(ofGroups(all), {filters, count, channels});
  }
  if (count > 1)
    all = prim::TransposeOp::create(b, loc, tensorType(all).clone({filters, channels, count}), all,
                                    ArrayRef<int64_t>{0, 2, 1});
  Value root = gradient.root->getResult(0);
  root.replaceAllUsesWith(reshaped(all, tensorType(root).getShape()));
  gradient.root->erase();
}

Value FilterGradients::ofGroups(Value all) {
  Location loc = all.getLoc();
  auto type = tensorType(all);
  auto numbers = RankedTensorType::get({type.getDimSize(0)}, b.getI32Type());
  auto spread = RankedTensorType::get(type.getShape(), b.getI32Type());
  auto along = [&](int64_t axis) -> Value {
    Value line = prim::IotaOp::create(b, loc, numbers, 0, ValueRange());
    return prim::BroadcastOp::create(b, loc, spread, line, ArrayRef<int64_t>{axis}, ValueRange());
  };
  auto truths = RankedTensorType::get(type.getShape(), b.getI1Type());
  Value own =
      prim::CompareOp::create(b, loc, truths, prim::ComparePredicate::eq, along(0), along(3));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = prim::ConstantOp::create(b, loc, scalar, cast<ElementsAttr>(b.getZeroAttr(scalar)));
  zero = prim::BroadcastOp::create(b, loc, type, zero, ArrayRef<int64_t>{}, ValueRange());
  Value kept = prim::SelectOp::create(b, loc, type, own, all, zero);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + 3);
  return prim::ReduceOp::create(b, loc, type.clone(shape), prim::ReduceKind::sum, kept,
                                ArrayRef<int64_t>{3});
}

void FilterGradients::sum(prim::DotOp tap) {
  Location loc = tap.getLoc();
  auto result = tensorType(tap.getResult());
  Type e = result.getElementType(), wide = e.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : e;
  auto widened = [&](Value x, Type to) {
    auto type = RankedTensorType::get(tensorType(x).getShape(), to);
    return x.getType() == type ? x : Value(prim::CastOp::create(b, loc, type, x));
  };
  Value left = widened(last(tap.getLhs()), wide), right = widened(last(tap.getRhs()), wide);
  Value products = prim::MulOp::create(b, loc, left.getType(), left, right);
  auto type = tensorType(products);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value sums = prim::ReduceOp::create(b, loc, type.clone({type.getShape().back()}),
                                      prim::ReduceKind::sum, products, axes);
  tap.getResult().replaceAllUsesWith(reshaped(widened(sums, e), result.getShape()));
  tap.erase();
}

void FilterGradients::rewrite(const Gradient &gradient) {
  lastOf.clear();
  prim::DotOp first = gradient.taps[0];
  if (multipliesAll(first, int64_t(gradient.taps.size()))) {
    b.setInsertionPoint(gradient.root);
    multiply(gradient);
    return;
  }
  if (!isDepthwise(first))
    return;
  for (prim::DotOp tap : gradient.taps) {
    lastOf.clear(); // what the next tap reads may stand behind this one
    b.setInsertionPoint(tap);
    sum(tap);
  }
}

namespace {

class FilterGradientsPass : public tcc::impl::FilterGradientsPassBase<FilterGradientsPass> {
  void runOnOperation() override {
    SmallVector<Gradient> gradients;
    DenseSet<Operation *> known;
    getOperation().walk([&](prim::ConcatOp op) {
      if (std::optional<Gradient> gradient = gradientOf(op)) {
        known.insert_range(gradient->taps);
        gradients.push_back(*gradient);
      }
    });
    getOperation().walk([&](prim::DotOp op) {
      if (isTap(op) && !known.contains(op))
        gradients.push_back({{op}, op});
    });
    OpBuilder b(&getContext());
    for (const Gradient &gradient : gradients)
      FilterGradients(b).rewrite(gradient);
    SmallVector<Operation *> all;
    getOperation().walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : llvm::reverse(all))
      if (isa<prim::PrimDialect>(op->getDialect()) && isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createFilterGradientsPass() {
  return std::make_unique<FilterGradientsPass>();
}
