//===- IntegerProducts.cpp - Products of dequantised bytes are integers' --===//
//
// Quantised models (ONNX QDQ, torch's pt2e) say that products are of floats, and that each of
// their operands was a byte before:
//
//   %x = prim.mul (prim.sub (prim.cast %bytes), %p), %s
//   %w = prim.mul (prim.cast %weights), %t               // %t: one number, or one a filter
//   %y = prim.conv %x, %w
// becomes
//   %c = prim.conv %bytes, %weights                      // i32, exact
//   %d = prim.sub %c, (%p times the sum of each filter's weights)
//   %y = prim.mul (prim.cast %d), (%s * %t)
//
// A target's byte instructions multiply four times as many numbers as its float ones, and operands
// take a quarter of the memory. The sum is exact, where that of floats is rounded at each term.
// A convolution itself takes off the zero point of its input: what surrounds the image is nothing
// then, whatever byte that is. Integer convolutions that a model writes out (QLinearConv) have been
// given a border of their zero point; it becomes theirs in the same way.
//
// Weights of ui8 around 128 are i8 without a zero point. Other zero points of weights would take
// sums of what each filter sees; such products, and those whose scales or zero points only a run
// knows, stay products of floats. Runs before constant folding, which would make floats of the
// weights.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Splat.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/WeightTable.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;
using reference::Tensor;

namespace {

/// (integers - zeros) * scales; each one number, or one for each index of an axis.
struct Dequantized {
  Value integers;
  std::vector<double> zeros, scales;
};

class ProductRewriter {
public:
  ProductRewriter(const WeightTable &weights, const FloatsPreferred &prefersFloats)
      : weights(weights), prefersFloats(prefersFloats) {}
  void rewrite(prim::ConvOp op);
  void rewrite(prim::DotOp op);
  /// What surrounds the bytes of an integer convolution as its zero point.
  void absorbBorder(prim::ConvOp op);

private:
  std::optional<Tensor> evaluate(Value value, unsigned depth = 0);
  std::optional<std::vector<double>> numbers(Value value, std::optional<int64_t> axis);
  /// Takes `value` apart, whose scales may differ along `axis`.
  std::optional<Dequantized> dequantized(Value value, std::optional<int64_t> axis);
  std::optional<Dequantized> lhs(Value value);
  std::optional<Dequantized> rhs(OpBuilder &b, Value value, std::optional<int64_t> axis);

  const WeightTable &weights;
  const FloatsPreferred &prefersFloats;
};

} // namespace

/// What a few operators make of constants.
std::optional<Tensor> ProductRewriter::evaluate(Value value, unsigned depth) {
  constexpr unsigned kDeepest = 8;
  constexpr int64_t kMost = 1 << 20;
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || !type.hasStaticShape() || type.getNumElements() > kMost || depth > kDeepest ||
      prim::layoutOf(value))
    return std::nullopt;
  SmallVector<Tensor> operands;
  if (!prim::has<prim::ModelConstant>(op)) {
    if (!prim::isElementwise(op) && !isa<prim::ReshapeOp>(op))
      return std::nullopt;
    for (Value operand : op->getOperands()) {
      std::optional<Tensor> known = evaluate(operand, depth + 1);
      if (!known)
        return std::nullopt;
      operands.push_back(*known);
    }
  }
  auto results = reference::evaluateOp(op, operands, weights);
  if (results)
    return (*results)[0];
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

/// The finite numbers of a constant that is the same everywhere but along `axis`.
std::optional<std::vector<double>> ProductRewriter::numbers(Value value,
                                                            std::optional<int64_t> axis) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
  Value source = value;
  if (auto broadcast = value.getDefiningOp<prim::BroadcastOp>()) {
    source = broadcast.getX();
    axes.assign(broadcast.getAxes().begin(), broadcast.getAxes().end());
  }
  if (auto splat = floatSplat(source)) {
    bool lost;
    splat->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    double number = splat->convertToDouble();
    return std::isfinite(number) ? std::optional(std::vector<double>{number}) : std::nullopt;
  }
  for (auto [at, extent] : llvm::zip_equal(axes, tensorType(source).getShape()))
    if (extent != 1 && at != axis)
      return std::nullopt;
  std::optional<Tensor> tensor = evaluate(source);
  if (!tensor || tensor->elements() == 0)
    return std::nullopt;
  std::vector<double> all = tensor->reals();
  if (!llvm::all_of(all, [](double v) { return std::isfinite(v); }))
    return std::nullopt;
  if (llvm::all_equal(all))
    all.resize(1);
  return all;
}

std::optional<Dequantized> ProductRewriter::dequantized(Value value, std::optional<int64_t> axis) {
  auto mul = value.getDefiningOp<prim::MulOp>();
  if (!mul || !elementOf(value).isF32())
    return std::nullopt;
  Dequantized found;
  Value inner = mul.getLhs();
  auto scales = numbers(mul.getRhs(), axis);
  if (!scales) {
    inner = mul.getRhs();
    scales = numbers(mul.getLhs(), axis);
  }
  if (!scales)
    return std::nullopt;
  found.scales = std::move(*scales);
  found.zeros = {0};
  if (auto sub = inner.getDefiningOp<prim::SubOp>()) {
    auto zeros = numbers(sub.getRhs(), axis);
    if (!zeros)
      return std::nullopt;
    found.zeros = std::move(*zeros);
    inner = sub.getLhs();
  }
  auto cast = inner.getDefiningOp<prim::CastOp>();
  if (!cast || !isInteger(cast.getX()) || elementOf(cast.getX()).getIntOrFloatBitWidth() != 8)
    return std::nullopt;
  found.integers = cast.getX();
  double least = elementOf(found.integers).isUnsignedInteger() ? 0 : -128;
  for (double zero : found.zeros) // as a byte has it
    if (zero != std::rint(zero) || zero < least || zero > least + 255)
      return std::nullopt;
  return found;
}

/// With one scale and one zero point.
std::optional<Dequantized> ProductRewriter::lhs(Value value) {
  auto found = dequantized(value, std::nullopt);
  return found && found->scales.size() == 1 && found->zeros.size() == 1 ? found : std::nullopt;
}

/// Without zero points.
std::optional<Dequantized> ProductRewriter::rhs(OpBuilder &b, Value value,
                                                std::optional<int64_t> axis) {
  auto found = dequantized(value, axis);
  if (!found || found->zeros.size() != 1)
    return std::nullopt;
  double zero = found->zeros[0];
  if (zero == 0)
    return found;
  RankedTensorType type = tensorType(found->integers);
  if (zero != 128 || !type.hasStaticShape() ||
      !prim::has<prim::ModelConstant>(found->integers.getDefiningOp()))
    return std::nullopt;
  Location loc = value.getLoc();
  auto wide = RankedTensorType::get(type.getShape(), b.getI32Type());
  auto all = DenseElementsAttr::get(wide, b.getI32IntegerAttr(128));
  Value centred =
      prim::SubOp::create(b, loc, wide, prim::CastOp::create(b, loc, wide, found->integers),
                          prim::ConstantOp::create(b, loc, wide, all));
  found->integers =
      prim::CastOp::create(b, loc, RankedTensorType::get(type.getShape(), b.getI8Type()), centred);
  return found;
}

/// Whether sums of so many products of bytes fit 32 bits. What a zero point takes off them may wrap
/// around, and comes back.
static bool fits(int64_t terms) {
  constexpr int64_t kLargest = int64_t(255) * 255;
  return terms > 0 && terms <= std::numeric_limits<int32_t>::max() / kLargest;
}

static SmallVector<Value> openSizes(OpBuilder &b, Location loc, RankedTensorType type,
                                    ArrayRef<OpFoldResult> dims) {
  SmallVector<Value> sizes;
  for (auto [axis, d] : llvm::enumerate(dims))
    if (type.isDynamicDim(axis))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, d));
  return sizes;
}

/// `product` and `zero` times the sums of the weights over `axes`, a number for each index of the
/// result's `axis`, as `Op` has them.
template <typename Op>
static Value withColumnSums(OpBuilder &b, Location loc, Value product, Value weights,
                            ArrayRef<int64_t> axes, int64_t axis, int64_t zero) {
  RankedTensorType type = tensorType(product), bytes = tensorType(weights);
  auto vector = RankedTensorType::get({type.getDimSize(axis)}, b.getI32Type());
  Value wide = prim::CastOp::create(b, loc, bytes.clone(b.getI32Type()), weights);
  Value sums = prim::ReduceOp::create(b, loc, vector, prim::ReduceKind::sum, wide, axes);
  auto times = DenseElementsAttr::get(vector, b.getI32IntegerAttr(static_cast<int32_t>(zero)));
  Value offset =
      prim::MulOp::create(b, loc, vector, sums, prim::ConstantOp::create(b, loc, vector, times));
  SmallVector<Value> sizes = openSizes(b, loc, type, prim::dimsOf(b, loc, product));
  Value all = prim::BroadcastOp::create(b, loc, type, offset, axis, sizes);
  return Op::create(b, loc, type, product, all);
}

/// The i32 `product` of x by weights, summed over `axes` of these, as what it is in floats.
/// `axis`: of the result's columns.
static void replaceBySums(Operation *op, Value product, const Dequantized &x, const Dequantized &w,
                          ArrayRef<int64_t> axes, int64_t axis) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  RankedTensorType type = tensorType(product), floats = tensorType(op->getResult(0));
  SmallVector<Value> sizes = openSizes(b, loc, type, prim::dimsOf(b, loc, product));
  auto spread = [&](Value vector, RankedTensorType to) -> Value {
    SmallVector<int64_t> at(tensorType(vector).getRank(), axis);
    return prim::BroadcastOp::create(b, loc, to, vector, at, sizes);
  };
  if (x.zeros[0] != 0)
    product = withColumnSums<prim::SubOp>(b, loc, product, w.integers, axes, axis,
                                          static_cast<int64_t>(x.zeros[0]));
  SmallVector<float> scales;
  for (double t : w.scales)
    scales.push_back(static_cast<float>(x.scales[0] * t));
  SmallVector<int64_t> shape(w.scales.size() > 1, static_cast<int64_t>(w.scales.size()));
  auto vector = RankedTensorType::get(shape, b.getF32Type());
  Value scale = prim::ConstantOp::create(b, loc, vector,
                                         DenseElementsAttr::get(vector, ArrayRef<float>(scales)));
  Value wide = prim::CastOp::create(b, loc, floats, product);
  Value result = prim::MulOp::create(b, loc, floats, wide, spread(scale, floats));
  op->replaceAllUsesWith(ValueRange{result});
  op->erase();
}

void ProductRewriter::rewrite(prim::ConvOp op) {
  RankedTensorType type = tensorType(op.getW());
  if (op.getChannelsLast() || !type.hasStaticShape() || (prefersFloats && prefersFloats(op)) ||
      !fits(type.getNumElements() / std::max<int64_t>(1, type.getDimSize(0))))
    return;
  OpBuilder b(op);
  auto x = lhs(op.getX());
  auto w = x ? rhs(b, op.getW(), 0) : std::nullopt;
  if (!w)
    return;
  RankedTensorType sums = tensorType(op.getResult()).clone(b.getI32Type());
  Value product = prim::ConvOp::create(
      b, op.getLoc(), sums, x->integers, w->integers, op.getSizes(), op.getStrides(),
      op.getDilations(), op.getInputDilation(), op.getLow(), op.getHigh(), op.getGroups(),
      /*channels_last=*/false, static_cast<int64_t>(x->zeros[0]));
  x->zeros = {0}; // which the convolution takes off
  SmallVector<int64_t> summed = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
  replaceBySums(op, product, *x, *w, summed, 1);
}

void ProductRewriter::absorbBorder(prim::ConvOp op) {
  auto pad = op.getX().getDefiningOp<prim::PadOp>();
  RankedTensorType weights = tensorType(op.getW()), sums = tensorType(op.getResult());
  if (!pad || op.getChannelsLast() || !weights.hasStaticShape() || !pad.getLows().empty() ||
      !elementOf(pad.getX()).isInteger(8) || !elementOf(op.getW()).isInteger(8) ||
      !sums.getElementType().isInteger(32) || op.getZero() != 0)
    return;
  std::optional<Tensor> value = evaluate(pad.getValue());
  RankedTensorType from = tensorType(pad.getX()), to = tensorType(pad.getResult());
  SmallVector<int64_t> low, high;
  auto isNot = [](int64_t usual) { return [=](int64_t v) { return v != usual; }; };
  if (!value || llvm::any_of(pad.getInterior(), isNot(0)) ||
      llvm::any_of(op.getInputDilation(), isNot(1)))
    return;
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    int64_t before = pad.getStaticLow()[axis];
    if (axis < 2 && before == 0 && from.getDimSize(axis) == to.getDimSize(axis))
      continue; // no spatial one, and as it is
    if (axis < 2 || from.isDynamicDim(axis) || to.isDynamicDim(axis))
      return;
    low.push_back(before + op.getLow()[axis - 2]);
    high.push_back(to.getDimSize(axis) - from.getDimSize(axis) - before + op.getHigh()[axis - 2]);
  }
  // Points around the padded image are 0, not its border.
  if (llvm::any_of(op.getLow(), isNot(0)) || llvm::any_of(op.getHigh(), isNot(0)))
    return;
  int64_t zero = value->integer(0);
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value product = prim::ConvOp::create(b, loc, sums, pad.getX(), op.getW(), op.getSizes(),
                                       op.getStrides(), op.getDilations(), op.getInputDilation(),
                                       low, high, op.getGroups(), /*channels_last=*/false, zero);
  if (zero != 0) {
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, weights.getRank()));
    product = withColumnSums<prim::AddOp>(b, loc, product, op.getW(), axes, 1, zero);
  }
  op->replaceAllUsesWith(ValueRange{product});
  op->erase();
}

void ProductRewriter::rewrite(prim::DotOp op) {
  RankedTensorType type = tensorType(op.getRhs());
  if (type.getRank() != 2 || !type.hasStaticShape() || !op.getRhsBatch().empty() ||
      op.getRhsContract().size() != 1 || !fits(type.getDimSize(op.getRhsContract()[0])))
    return;
  int64_t contract = op.getRhsContract()[0];
  OpBuilder b(op);
  auto x = lhs(op.getLhs());
  auto w = x ? rhs(b, op.getRhs(), 1 - contract) : std::nullopt;
  if (!w)
    return;
  RankedTensorType sums = tensorType(op.getResult()).clone(b.getI32Type());
  Value product =
      prim::DotOp::create(b, op.getLoc(), sums, x->integers, w->integers, op.getLhsBatch(),
                          op.getRhsBatch(), op.getLhsContract(), op.getRhsContract());
  replaceBySums(op, product, *x, *w, contract, sums.getRank() - 1);
}

namespace {

class IntegerProductsPass : public tcc::impl::IntegerProductsPassBase<IntegerProductsPass> {
public:
  IntegerProductsPass(WeightTable *weights, FloatsPreferred prefersFloats)
      : weights(weights), prefersFloats(std::move(prefersFloats)) {}
  void runOnOperation() override {
    ProductRewriter rewriter(*weights, prefersFloats);
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<prim::ConvOp, prim::DotOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products) {
      bool floats = elementOf(op->getResult(0)).isF32();
      if (auto conv = dyn_cast<prim::ConvOp>(op))
        floats ? rewriter.rewrite(conv) : rewriter.absorbBorder(conv);
      else if (floats)
        rewriter.rewrite(cast<prim::DotOp>(op));
    }
  }

private:
  WeightTable *weights;
  FloatsPreferred prefersFloats;
};

} // namespace

std::unique_ptr<Pass> tcc::createIntegerProductsPass(WeightTable *weights,
                                                     FloatsPreferred prefersFloats) {
  return std::make_unique<IntegerProductsPass>(weights, std::move(prefersFloats));
}
