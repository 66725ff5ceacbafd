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
// Column sums of an operand that comes in a run are as many additions as it has elements. Where the
// target widens rows before it multiplies them (WidenBytes.cpp), rows are widened here, less their
// zero point, and no column sums are taken.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Dequantized.h"
#include "Simplify/Products.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;
using reference::Tensor;

namespace {

class ProductRewriter {
public:
  ProductRewriter(const WeightTable &weights, const ByteProducts &target)
      : dequantizer(weights), target(target) {}
  void rewrite(prim::ConvOp op);
  void rewrite(prim::DotOp op);
  /// What surrounds the bytes of an integer convolution as its zero point.
  void absorbBorder(prim::ConvOp op);

private:
  void recentre(OpBuilder &b, Dequantized &weights);
  bool fitCentred(const Dequantized &weights);

  Dequantizer dequantizer;
  const ByteProducts &target;
};

} // namespace

/// Whether the weights less their one zero point are i8.
bool ProductRewriter::fitCentred(const Dequantized &w) {
  if (w.zeros[0] == 128 && elementOf(w.integers).isUnsignedInteger())
    return true;
  std::optional<Tensor> known = dequantizer.evaluate(w.integers);
  return known && llvm::all_of(known->reals(), [&](double v) {
           return v - w.zeros[0] >= -128 && v - w.zeros[0] <= 127;
         });
}

/// Constant weights whose zero point leaves i8 as those.
void ProductRewriter::recentre(OpBuilder &b, Dequantized &w) {
  RankedTensorType type = tensorType(w.integers);
  if (w.zeros.size() != 1 || w.zeros[0] == 0 || !type.hasStaticShape() ||
      !prim::has<prim::ModelConstant>(w.integers.getDefiningOp()) || !fitCentred(w))
    return;
  Location loc = w.integers.getLoc();
  auto wide = RankedTensorType::get(type.getShape(), b.getI32Type());
  auto all = DenseElementsAttr::get(wide, b.getI32IntegerAttr(static_cast<int32_t>(w.zeros[0])));
  Value centred = prim::SubOp::create(b, loc, wide, prim::CastOp::create(b, loc, wide, w.integers),
                                      prim::ConstantOp::create(b, loc, wide, all));
  w.integers =
      prim::CastOp::create(b, loc, RankedTensorType::get(type.getShape(), b.getI8Type()), centred);
  w.zeros = {0};
}

/// Whether sums of so many products of bytes fit 32 bits. What a zero point takes off them may wrap
/// around, and comes back.
static bool fits(int64_t terms) {
  constexpr int64_t kLargest = int64_t(255) * 255;
  return terms > 0 && terms <= std::numeric_limits<int32_t>::max() / kLargest;
}

static Value summed(OpBuilder &b, Value x, ArrayRef<int64_t> axes) {
  RankedTensorType type = tensorType(x);
  SmallVector<int64_t> shape;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (!llvm::is_contained(axes, axis))
      shape.push_back(type.getDimSize(axis));
  auto sums = RankedTensorType::get(shape, type.getElementType());
  return prim::ReduceOp::create(b, x.getLoc(), sums, prim::ReduceKind::sum, x, axes);
}

static Value asI32(OpBuilder &b, Value x) {
  return prim::CastOp::create(b, x.getLoc(), tensorType(x).clone(b.getI32Type()), x);
}

namespace {

/// A product on its way from sums of integers to the floats that it stands for.
class ScaledSums {
public:
  ScaledSums(OpBuilder &b, Location loc, Value sums)
      : b(b), loc(loc), value(sums), dims(prim::dimsOf(b, loc, sums)) {}

  /// `x`, a number for each index of the result's `axes`, in its shape.
  Value spread(Value x, ArrayRef<int64_t> axes) {
    RankedTensorType type = tensorType(value).clone(elementOf(x));
    return prim::BroadcastOp::create(b, loc, type, x, axes, openSizes(b, loc, type, dims));
  }
  template <typename Op> void apply(Value x, ArrayRef<int64_t> axes) {
    value = Op::create(b, loc, value.getType(), value, spread(x, axes));
  }
  template <typename Op> void applyFull(Value x) {
    value = Op::create(b, loc, value.getType(), value, x);
  }
  void toFloats() {
    value = prim::CastOp::create(b, loc, tensorType(value).clone(b.getF32Type()), value);
  }
  Value result() const { return value; }
  OpBuilder &builder() { return b; }
  Location location() const { return loc; }

private:
  OpBuilder &b;
  Location loc;
  Value value;
  SmallVector<OpFoldResult> dims;
};

} // namespace

/// Multiplies by the scales of both operands, of which known ones are one number. `axis`: of the
/// result's columns; `ofX`, `ofW`: where axes of the operands are in the result.
static void applyScales(ScaledSums &sums, const Dequantized &x, const Dequantized &w, int64_t axis,
                        ArrayRef<int64_t> ofX, ArrayRef<int64_t> ofW) {
  std::vector<double> known = w.scale ? std::vector<double>{1} : w.scales;
  if (!x.scale)
    for (double &t : known)
      t *= x.scales[0];
  SmallVector<float> scales(known.begin(), known.end());
  sums.toFloats();
  auto run = [&](const std::optional<Parameter> &scale, ArrayRef<int64_t> to) {
    if (!scale)
      return;
    SmallVector<int64_t> axes;
    for (int64_t from : scale->axes)
      axes.push_back(to[from]);
    sums.apply<prim::MulOp>(scale->value, axes);
  };
  run(x.scale, ofX);
  run(w.scale, ofW);
  if (x.scale && w.scale)
    return;
  SmallVector<int64_t> columns(scales.size() > 1, axis);
  sums.apply<prim::MulOp>(constantOf(sums.builder(), sums.location(), scales), columns);
}

/// `product` and `zero` times the sums of the weights over `axes`, a number for each index of the
/// result's `axis`, as `Op` has them.
template <typename Op>
static void withColumnSums(ScaledSums &sums, Value weights, ArrayRef<int64_t> axes, int64_t axis,
                           int64_t zero) {
  OpBuilder &b = sums.builder();
  Value columns = summed(b, asI32(b, weights), axes);
  auto vector = tensorType(columns);
  auto times = DenseElementsAttr::get(vector, b.getI32IntegerAttr(static_cast<int32_t>(zero)));
  Location loc = sums.location();
  Value offset =
      prim::MulOp::create(b, loc, vector, columns, prim::ConstantOp::create(b, loc, vector, times));
  sums.apply<Op>(offset, axis);
}

static SmallVector<int32_t> asIntegers(ArrayRef<double> numbers) {
  return llvm::map_to_vector(numbers, [](double v) { return static_cast<int32_t>(v); });
}

/// What each window of `op` sees of its bytes less their zero point, one number for each group: its
/// result's shape with one channel. Several groups are images beside each other.
static Value windowSums(OpBuilder &b, prim::ConvOp op, Value bytes, int64_t zero) {
  Location loc = op.getLoc();
  Value wide = asI32(b, bytes);
  RankedTensorType type = tensorType(wide), to = tensorType(op.getResult());
  if (zero != 0) {
    Value number = constantOf(b, loc, ArrayRef<int32_t>{static_cast<int32_t>(zero)});
    SmallVector<Value> sizes = openSizes(b, loc, type, prim::dimsOf(b, loc, wide));
    Value all = prim::BroadcastOp::create(b, loc, type, number, ArrayRef<int64_t>{}, sizes);
    wide = prim::SubOp::create(b, loc, type, wide, all);
  }
  Value planes = summed(b, wide, 1);
  SmallVector<OpFoldResult> dims = prim::dimsOf(b, loc, planes);
  dims.insert(dims.begin() + 1, b.getIndexAttr(1));
  SmallVector<int64_t> shape(tensorType(planes).getShape());
  shape.insert(shape.begin() + 1, 1);
  auto single = RankedTensorType::get(shape, b.getI32Type());
  planes = prim::ReshapeOp::create(b, loc, single, planes, openSizes(b, loc, single, dims));
  SmallVector<int64_t> result(to.getShape());
  result[1] = 1;
  auto sums = RankedTensorType::get(result, b.getI32Type());
  SmallVector<int64_t> window(tensorType(op.getW()).getShape().drop_front(2));
  return prim::PoolOp::create(b, loc, sums, prim::ReduceKind::sum, planes, op.getSizes(), window,
                              op.getStrides(), op.getDilations(), op.getLow(), op.getHigh(),
                              /*channels_last=*/false);
}

void ProductRewriter::rewrite(prim::ConvOp op) {
  RankedTensorType type = tensorType(op.getW());
  if (op.getChannelsLast() || !type.hasStaticShape() || target.prefersFloats(op) ||
      !fits(type.getNumElements() / std::max<int64_t>(1, type.getDimSize(0))))
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto everywhere = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(op.getX()).getRank()));
  auto x = dequantizer.dequantizedInRun(b, op.getX(), std::nullopt, everywhere);
  if (!x || x->zero || x->zeros.size() != 1)
    return;
  auto w = dequantizer.dequantized(op.getW(), 0);
  if (!w)
    return;
  recentre(b, *w);
  bool dilates = llvm::any_of(op.getInputDilation(), [](int64_t v) { return v != 1; });
  if (w->hasZeros() && (op.getGroups() != 1 || dilates))
    return;
  int64_t zero = static_cast<int64_t>(x->zeros[0]);
  RankedTensorType sums = tensorType(op.getResult()).clone(b.getI32Type());
  Value product =
      prim::ConvOp::create(b, loc, sums, x->integers, w->integers, op.getSizes(), op.getStrides(),
                           op.getDilations(), op.getInputDilation(), op.getLow(), op.getHigh(),
                           op.getGroups(), /*channels_last=*/false, zero);
  ScaledSums scaled(b, loc, product);
  if (w->hasZeros()) {
    Value seen = windowSums(b, op, x->integers, zero);
    SmallVector<int32_t> zeros = asIntegers(w->zeros);
    Value all = scaled.spread(seen, everywhere);
    Value filters =
        scaled.spread(constantOf(b, loc, zeros), SmallVector<int64_t>(zeros.size() > 1, 1));
    scaled.applyFull<prim::SubOp>(prim::MulOp::create(b, loc, all.getType(), all, filters));
  }
  applyScales(scaled, *x, *w, 1, everywhere, {});
  op->replaceAllUsesWith(ValueRange{scaled.result()});
  op->erase();
}

void ProductRewriter::absorbBorder(prim::ConvOp op) {
  auto pad = op.getX().getDefiningOp<prim::PadOp>();
  RankedTensorType weights = tensorType(op.getW()), sums = tensorType(op.getResult());
  if (!pad || op.getChannelsLast() || !weights.hasStaticShape() || !pad.getLows().empty() ||
      !elementOf(pad.getX()).isInteger(8) || !elementOf(op.getW()).isInteger(8) ||
      !sums.getElementType().isInteger(32) || op.getZero() != 0)
    return;
  std::optional<Tensor> value = dequantizer.evaluate(pad.getValue());
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
  ScaledSums whole(b, loc, product);
  if (zero != 0) {
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, weights.getRank()));
    withColumnSums<prim::AddOp>(whole, op.getW(), axes, 1, zero);
  }
  op->replaceAllUsesWith(ValueRange{whole.result()});
  op->erase();
}

namespace {

/// Where the axes of a product's operand are in its result; -1 of those that it sums.
struct ResultAxes {
  SmallVector<int64_t> lhs, rhs;
  explicit ResultAxes(prim::DotOp op)
      : lhs(tensorType(op.getLhs()).getRank(), -1), rhs(tensorType(op.getRhs()).getRank(), -1) {
    int64_t next = 0;
    for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
      lhs[l] = rhs[r] = next++;
    for (auto [axes, contract] :
         {std::pair(&lhs, op.getLhsContract()), {&rhs, op.getRhsContract()}})
      for (auto [axis, to] : llvm::enumerate(*axes))
        if (to < 0 && !llvm::is_contained(contract, static_cast<int64_t>(axis)))
          to = next++;
  }
  static SmallVector<int64_t> kept(ArrayRef<int64_t> axes) {
    return llvm::filter_to_vector(axes, [](int64_t to) { return to >= 0; });
  }
};

} // namespace

/// The zero points of an operand in the shape of a product, whose axes are `to`.
static Value spreadZeros(ScaledSums &sums, const Dequantized &d, ArrayRef<int64_t> to,
                         int64_t axis) {
  if (!d.zero) {
    SmallVector<int64_t> at(d.zeros.size() > 1, axis);
    return sums.spread(constantOf(sums.builder(), sums.location(), asIntegers(d.zeros)), at);
  }
  SmallVector<int64_t> axes;
  for (int64_t from : d.zero->axes)
    axes.push_back(to[from]);
  return sums.spread(d.zero->value, axes);
}

/// The i32 `y` less its zero points, in its own shape; `axis`: of known ones.
static Value lessZeros(OpBuilder &b, Value y, const Dequantized &d, int64_t axis) {
  if (!d.hasZeros())
    return y;
  ScaledSums own(b, y.getLoc(), y);
  auto same = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(y).getRank()));
  own.applyFull<prim::SubOp>(spreadZeros(own, d, same, axis));
  return own.result();
}

/// Bytes as 16 bits less their zero point, where that is known.
static void widenLessZero(OpBuilder &b, Dequantized &x) {
  if (x.zero || x.zeros.size() != 1 || x.zeros[0] == 0)
    return;
  Location loc = x.integers.getLoc();
  RankedTensorType type = tensorType(x.integers).clone(b.getI16Type());
  Value wide = prim::CastOp::create(b, loc, type, x.integers);
  Value zero = prim::ConstantOp::create(
      b, loc, RankedTensorType::get({}, b.getI16Type()),
      DenseElementsAttr::get(RankedTensorType::get({}, b.getI16Type()),
                             b.getI16IntegerAttr(static_cast<int16_t>(x.zeros[0]))));
  Value all = prim::BroadcastOp::create(b, loc, type, zero, ArrayRef<int64_t>{},
                                        openSizes(b, loc, type, prim::dimsOf(b, loc, wide)));
  x.integers = prim::SubOp::create(b, loc, type, wide, all);
  x.zeros = {0};
}

/// With p and q the zero points,
///   (x - p)(y - q) = xy - (row sums of x) q - p (column sums of y - q).
void ProductRewriter::rewrite(prim::DotOp op) {
  RankedTensorType right = tensorType(op.getRhs());
  if (op.getRhsContract().size() != 1 || target.prefersFloats(op) ||
      !fits(right.getDimSize(op.getRhsContract()[0])))
    return;
  ResultAxes axes(op);
  OpBuilder b(op);
  Location loc = op.getLoc();
  std::optional<int64_t> columns;
  for (auto [axis, to] : llvm::enumerate(axes.rhs))
    if (to >= 0 && !llvm::is_contained(op.getRhsBatch(), static_cast<int64_t>(axis)))
      columns = axis;
  auto x = dequantizer.dequantizedInRun(b, op.getLhs(), std::nullopt, op.getLhsContract());
  auto y =
      x ? dequantizer.dequantizedInRun(b, op.getRhs(), columns, op.getRhsContract()) : std::nullopt;
  if (!y)
    return;
  recentre(b, *y);
  if (target.widensRows(op))
    widenLessZero(b, *x);
  int64_t axis = columns ? axes.rhs[*columns] : 0;
  RankedTensorType type = tensorType(op.getResult()).clone(b.getI32Type());
  Value product = prim::DotOp::create(b, loc, type, x->integers, y->integers, op.getLhsBatch(),
                                      op.getRhsBatch(), op.getLhsContract(), op.getRhsContract());
  ScaledSums sums(b, loc, product);
  auto times = [&](Value side, ArrayRef<int64_t> at, Value zeros) {
    Value all = sums.spread(side, at);
    sums.applyFull<prim::SubOp>(prim::MulOp::create(b, loc, all.getType(), all, zeros));
  };
  if (y->hasZeros())
    times(summed(b, asI32(b, x->integers), op.getLhsContract()), ResultAxes::kept(axes.lhs),
          spreadZeros(sums, *y, axes.rhs, axis));
  if (x->hasZeros() && !x->zero && !y->hasZeros() && right.getRank() == 2 &&
      op.getRhsBatch().empty())
    withColumnSums<prim::SubOp>(sums, y->integers, op.getRhsContract(), axis,
                                static_cast<int64_t>(x->zeros[0]));
  else if (x->hasZeros())
    times(summed(b, lessZeros(b, asI32(b, y->integers), *y, columns.value_or(0)),
                 op.getRhsContract()),
          ResultAxes::kept(axes.rhs), spreadZeros(sums, *x, axes.lhs, 0));
  applyScales(sums, *x, *y, axis, axes.lhs, axes.rhs);
  op->replaceAllUsesWith(ValueRange{sums.result()});
  op->erase();
}

namespace {

class IntegerProductsPass : public tcc::impl::IntegerProductsPassBase<IntegerProductsPass> {
public:
  IntegerProductsPass(WeightTable *weights, ByteProducts target)
      : weights(weights), target(std::move(target)) {}
  void runOnOperation() override {
    ProductRewriter rewriter(*weights, target);
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (simplify::isProduct(op))
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
  ByteProducts target;
};

} // namespace

std::unique_ptr<Pass> tcc::createIntegerProductsPass(WeightTable *weights, ByteProducts target) {
  return std::make_unique<IntegerProductsPass>(weights, std::move(target));
}
