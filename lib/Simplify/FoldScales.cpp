//===- FoldScales.cpp - Batch norms and scales into weights ---------------===//
//
// What is multiplied by a constant a channel right after a convolution or matrix
// product can be multiplied into its weights:
//
//   %c = prim.conv %x, %w
//   %m = prim.mul %c, %scale            // scale and shift broadcast along channels
//   %y = prim.add %m, %shift
// becomes
//   %c = prim.conv %x, %w.scaled
//   %y = prim.add %c, %shift'
//
// The whole chain of additions, subtractions, multiplications and divisions by
// constants is one line a channel, y = S * conv + T: a convolution with bias and a
// batch norm leave one addition. S, T and the weights are computed in f64 and rounded
// once; in reals the result is the same, in floats a rounding a point falls away.
//
// The i32 sums of an integer product are scaled once they are floats (IntegerProducts.cpp), and
// then biased and divided by the scale of the bytes that they become: one multiplication and one
// addition are left.
//
// Left alone: a product that others read as well, weights that others use (they would
// be stored twice), constants that differ within a channel, integers, scales that are not
// finite, that carry a weight out of range or all weights of a filter below the numbers that
// have all digits, and from the first of two addends on that cancel in every channel: a model
// rounds by them (Cancellation.h). In some channels a bias and a batch norm cancel by chance. Runs
// after constant folding, which makes what the model computes from constants one constant, and
// before layout, which packs the weights.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Cancellation.h"
#include "Simplify/Products.h"
#include "Simplify/Splat.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/WeightTable.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_FOLDSCALESPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;
using reference::Tensor;

namespace {

/// What the operators up to and with `op` do to a product x: scale * x + shift in each
/// channel.
struct Step {
  std::vector<double> scale, shift;
  Operation *op = nullptr; ///< none: the product itself
  bool scales = false;
  unsigned additions = 0;
};
using Line = SmallVector<Step>; ///< in program order

class ScaleFolder {
public:
  ScaleFolder(WeightTable &weights) : weights(weights) {}
  /// `axis`: of the channels in the result, `weightAxis`: of the filters in `weight`.
  void fold(Operation *product, OpOperand &weight, int64_t axis, int64_t weightAxis);
  /// The same for floats that were the sums of an integer product.
  void foldSums(prim::CastOp sums);

private:
  std::optional<Tensor> constant(Value value);
  std::optional<std::vector<double>> channels(Value value, int64_t axis, int64_t count);
  bool extend(Line &line, Value value, int64_t axis);
  /// What follows `value`, a line of one factor and one addend a channel; empty if it is not known.
  Line lineOf(Value value, int64_t axis, int64_t count);
  /// `value` and the vector of `numbers`, as `Op` has them.
  template <typename Op>
  Value with(OpBuilder &b, Value value, ArrayRef<double> numbers, int64_t axis, StringRef name,
             StringRef suffix);
  void replace(const Line &line, Value replacement);
  std::optional<Tensor> scaled(const Tensor &weight, const llvm::fltSemantics &type, int64_t axis,
                               ArrayRef<double> scale);
  /// `value`, made of the weight called `from`, if it is one.
  Value asOp(OpBuilder &b, Location loc, const Tensor &value, StringRef from, StringRef suffix);

  WeightTable &weights;
};

} // namespace

std::optional<Tensor> ScaleFolder::constant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!prim::has<prim::ModelConstant>(op) || prim::layoutOf(value)) // narrower than its elements
    return std::nullopt;
  auto results = reference::evaluateOp(op, {}, weights);
  if (results)
    return (*results)[0];
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

/// Whether a weight is there to be multiplied. Any size can be stated of an input, and of a
/// constant that is one number everywhere.
static bool isAtHand(Value weight) {
  constexpr int64_t kMost = 1 << 20;
  Operation *op = weight.getDefiningOp();
  auto constant = dyn_cast_if_present<prim::ConstantOp>(op);
  bool isSplat = constant && constant.getElements().isSplat();
  return prim::has<prim::ModelConstant>(op) &&
         (!isSplat || tensorType(weight).getNumElements() <= kMost);
}

/// The numbers of a constant that is the same at all points of a channel.
std::optional<std::vector<double>> ScaleFolder::channels(Value value, int64_t axis, int64_t count) {
  if (auto splat = floatSplat(value)) {
    bool lost;
    splat->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return std::vector<double>(count, splat->convertToDouble());
  }
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
  Value source = value;
  if (auto broadcast = value.getDefiningOp<prim::BroadcastOp>()) {
    source = broadcast.getX();
    axes.assign(broadcast.getAxes().begin(), broadcast.getAxes().end());
  }
  RankedTensorType type = tensorType(source);
  for (auto [i, at] : llvm::enumerate(axes))
    if (at != axis && type.getDimSize(i) != 1)
      return std::nullopt;
  std::optional<Tensor> tensor = constant(source);
  if (!tensor || (tensor->elements() != count && tensor->elements() != 1))
    return std::nullopt;
  std::vector<double> numbers = tensor->reals();
  numbers.resize(count, numbers[0]);
  return numbers;
}

/// Whether `addends` cancel the shift of `now` in every channel. What rounds together with
/// them, from where the shift came near to what it is now, is then taken off the line.
static bool cutBeforeRounding(Line &line, const Step &now, ArrayRef<double> addends) {
  auto inAllChannels = [&](auto holds) { return llvm::all_of(llvm::seq(addends.size()), holds); };
  if (!inAllChannels([&](size_t i) { return cancel(now.shift[i], addends[i]); }))
    return false;
  auto isNear = [&](size_t i) {
    const Step &step = line.back();
    return std::fabs(step.shift[i] * now.scale[i]) >= std::fabs(now.shift[i] * step.scale[i]) / 2;
  };
  while (line.size() > 1 && inAllChannels(isNear))
    line.pop_back();
  return true;
}

/// The smallest number with all digits.
static double leastOf(const llvm::fltSemantics &type) {
  return APFloat::getSmallestNormalized(type).convertToDouble();
}

/// Takes the one reader of the line's last value into it; false if it does not belong there.
bool ScaleFolder::extend(Line &line, Value value, int64_t axis) {
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  Operation *op = use.getOwner();
  bool isFirst = use.getOperandNumber() == 0;
  if (!isa<prim::AddOp, prim::SubOp, prim::MulOp, prim::DivOp>(op) ||
      (isa<prim::DivOp>(op) && !isFirst) || op->getResult(0).getType() != value.getType())
    return false;
  Step next = line.back();
  auto numbers = channels(op->getOperand(isFirst ? 1 : 0), axis, next.scale.size());
  if (!numbers)
    return false;
  // What is multiplied by such a number keeps few digits: another way to round.
  double least = leastOf(cast<FloatType>(elementOf(value)).getFloatSemantics());
  if (isa<prim::MulOp, prim::DivOp>(op) &&
      llvm::any_of(*numbers, [&](double c) { return c != 0 && std::fabs(c) < least; }))
    return false;
  next.op = op;
  bool negates = isa<prim::SubOp>(op) && !isFirst;
  for (auto [c, s, t] : llvm::zip_equal(*numbers, next.scale, next.shift)) {
    if (isa<prim::DivOp>(op)) {
      s /= c;
      t /= c;
    } else if (isa<prim::MulOp>(op) || negates) {
      s *= negates ? -1 : c;
      t *= negates ? -1 : c;
    } else if (isa<prim::SubOp>(op)) {
      c = -c;
    }
  }
  next.scales |= negates || isa<prim::MulOp, prim::DivOp>(op);
  if (isa<prim::AddOp, prim::SubOp>(op)) {
    if (cutBeforeRounding(line, next, *numbers))
      return false;
    for (auto [c, t] : llvm::zip_equal(*numbers, next.shift))
      t += c;
    ++next.additions;
  }
  line.push_back(std::move(next));
  return true;
}

namespace {

/// What becomes of each filter's weights.
class FilterRange {
public:
  FilterRange(ArrayRef<double> scale, const llvm::fltSemantics &type)
      : scale(scale), least(leastOf(type)), largest(scale.size()), isZero(scale.size(), true) {}

  /// `from` and `to` are the largest of some weights of filter `channel`, before and after.
  void include(size_t channel, double from, double to) {
    isZero[channel] = isZero[channel] && from == 0;
    largest[channel] = std::max(largest[channel], to);
  }
  /// Whether there is a filter of which no weight has all digits any more. Of smaller ones beside
  /// it nothing is lost that its products show.
  bool isLeft() const {
    for (size_t i = 0; i < scale.size(); ++i)
      if (scale[i] != 0 && !isZero[i] && largest[i] < least)
        return true;
    return false;
  }

private:
  ArrayRef<double> scale;
  double least;
  std::vector<double> largest;
  std::vector<bool> isZero;
};

} // namespace

/// The same for the type that nearly all weights have, in one pass: multiplied and rounded as
/// below, without doubles that take twice the room of the weights.
static std::optional<Tensor> scaledF32(const Tensor &weight, int64_t inner,
                                       ArrayRef<double> scale) {
  llvm::Expected<Tensor> result = Tensor::allocate(DType::F32, weight.shape());
  if (!result) {
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  const float *from = weight.as<float>();
  float *to = result->mutableAs<float>();
  FilterRange range(scale, APFloat::IEEEsingle());
  size_t channel = 0;
  for (int64_t begin = 0, end = weight.elements(); begin < end; begin += inner) {
    double factor = scale[channel];
    bool leaves = false;
    float largest = 0, before = 0;
    for (int64_t i = begin; i < begin + inner; ++i) {
      to[i] = static_cast<float>(from[i] * factor);
      leaves |= std::isfinite(from[i]) && !std::isfinite(to[i]);
      before = std::max(before, std::fabs(from[i]));
      largest = std::max(largest, std::fabs(to[i]));
    }
    if (leaves)
      return std::nullopt;
    range.include(channel, before, largest);
    channel = channel + 1 == scale.size() ? 0 : channel + 1;
  }
  if (range.isLeft())
    return std::nullopt;
  return std::move(*result);
}

/// The weights times their filter's scale; nullopt if one leaves the type's range.
std::optional<Tensor> ScaleFolder::scaled(const Tensor &weight, const llvm::fltSemantics &type,
                                          int64_t axis, ArrayRef<double> scale) {
  int64_t inner = 1;
  for (int64_t d : weight.shape().drop_front(axis + 1))
    inner *= d;
  if (weight.dtype() == DType::F32)
    return scaledF32(weight, inner, scale);
  std::vector<double> values = weight.reals();
  auto channelOf = [&](size_t i) { return i / inner % scale.size(); };
  for (auto [i, v] : llvm::enumerate(values))
    v *= scale[channelOf(i)];
  Tensor result = Tensor::ofReals(weight.dtype(), weight.shape(), values);
  FilterRange range(scale, type);
  for (int64_t i = 0, e = result.elements(); i < e; ++i) {
    double from = weight.real(i), to = result.real(i);
    if (std::isfinite(from) && !std::isfinite(to))
      return std::nullopt;
    range.include(channelOf(i), std::fabs(from), std::fabs(to));
  }
  if (range.isLeft())
    return std::nullopt;
  return result;
}

Value ScaleFolder::asOp(OpBuilder &b, Location loc, const Tensor &value, StringRef from,
                        StringRef suffix) {
  auto type =
      RankedTensorType::get(value.shape(), prim::elementType(b.getContext(), value.dtype()));
  constexpr int64_t kSmall = 64; // as constant folding has it
  if (value.elements() <= kSmall || value.isSplat())
    return prim::ConstantOp::create(b, loc, type, reference::attributeOf(value, type));
  Weight made = value.toWeight();
  if (const Weight *source = weights.describe(from))
    made.role = source->role;
  std::string name = weights.add((from + suffix).str(), std::move(made));
  return prim::WeightOp::create(b, loc, type, name);
}

Line ScaleFolder::lineOf(Value value, int64_t axis, int64_t count) {
  Line line = {Step{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)}};
  for (Value end = value; extend(line, end, axis);)
    end = line.back().op->getResult(0);
  auto finite = [](double v) { return std::isfinite(v); };
  if (!llvm::all_of(line.back().scale, finite) || !llvm::all_of(line.back().shift, finite))
    line.clear();
  return line;
}

template <typename Op>
Value ScaleFolder::with(OpBuilder &b, Value value, ArrayRef<double> numbers, int64_t axis,
                        StringRef name, StringRef suffix) {
  Location loc = b.getInsertionPoint()->getLoc();
  RankedTensorType type = tensorType(value);
  Tensor tensor = Tensor::ofReals(*prim::dtypeOf(type.getElementType()),
                                  {static_cast<int64_t>(numbers.size())}, numbers);
  Value vector = asOp(b, loc, tensor, name, suffix);
  SmallVector<Value> sizes;
  for (auto [i, d] : llvm::enumerate(prim::dimsOf(b, loc, value)))
    if (type.isDynamicDim(i))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, d));
  Value all = prim::BroadcastOp::create(b, loc, type, vector, ArrayRef<int64_t>{axis}, sizes);
  return Op::create(b, loc, type, value, all);
}

void ScaleFolder::replace(const Line &line, Value replacement) {
  line.back().op->getResult(0).replaceAllUsesWith(replacement);
  for (const Step &step : llvm::reverse(ArrayRef(line).drop_front()))
    step.op->erase();
}

/// The product whose sums, corrected by the sums of others, `value` is.
static Operation *productOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (simplify::isProduct(op))
      return op;
    if (!isa<prim::AddOp, prim::SubOp>(op))
      break;
    value = op->getOperand(0);
  }
  return nullptr;
}

void ScaleFolder::foldSums(prim::CastOp sums) {
  Value value = sums.getResult();
  Operation *product = productOf(sums.getX());
  if (!product || !elementOf(sums.getX()).isInteger(32) || !elementOf(value).isF32())
    return;
  RankedTensorType type = tensorType(value);
  auto conv = dyn_cast<prim::ConvOp>(product);
  int64_t axis = conv && !conv.getChannelsLast() ? 1 : type.getRank() - 1;
  if (type.getRank() == 0 || type.isDynamicDim(axis) || type.getDimSize(axis) == 0)
    return;
  Line line = lineOf(value, axis, type.getDimSize(axis));
  if (line.size() < 2)
    return;
  const Step &whole = line.back();
  bool divides = llvm::any_of(ArrayRef(line).drop_front(),
                              [](const Step &step) { return isa<prim::DivOp>(step.op); });
  if (!divides && line.size() - 1 <= size_t(whole.scales) + (whole.additions > 0))
    return;
  OpBuilder b(whole.op);
  if (whole.scales)
    value = with<prim::MulOp>(b, value, whole.scale, axis, "sums", ".scale");
  if (whole.additions > 0)
    value = with<prim::AddOp>(b, value, whole.shift, axis, "sums", ".shift");
  replace(line, value);
}

void ScaleFolder::fold(Operation *product, OpOperand &weight, int64_t axis, int64_t weightAxis) {
  Value result = product->getResult(0);
  int64_t count = tensorType(weight.get()).getDimSize(weightAxis);
  if (!isFloat(result) || elementOf(result).getIntOrFloatBitWidth() < 16 || count <= 0 ||
      elementOf(weight.get()) != elementOf(result) || !weight.get().hasOneUse() ||
      !isAtHand(weight.get()))
    return;
  Line line = lineOf(result, axis, count);
  if (line.empty() || (!line.back().scales && line.back().additions < 2))
    return;
  const Step &whole = line.back();
  std::optional<Tensor> old = constant(weight.get());
  const llvm::fltSemantics &type = cast<FloatType>(elementOf(result)).getFloatSemantics();
  std::optional<Tensor> folded = old ? scaled(*old, type, weightAxis, whole.scale) : std::nullopt;
  if (!folded)
    return;

  OpBuilder b(product);
  StringRef name = "constant";
  if (auto op = weight.get().getDefiningOp<prim::WeightOp>())
    name = op.getName();
  weight.set(asOp(b, weight.get().getLoc(), *folded, name, ".scaled"));
  b.setInsertionPoint(whole.op);
  if (whole.additions > 0)
    result = with<prim::AddOp>(b, result, whole.shift, axis, name, ".shift");
  replace(line, result);
}

namespace {

class FoldScalesPass : public tcc::impl::FoldScalesPassBase<FoldScalesPass> {
public:
  FoldScalesPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    ScaleFolder folder(*weights);
    SmallVector<Operation *> products;
    SmallVector<prim::CastOp> casts;
    getOperation().walk([&](Operation *op) {
      if (simplify::isProduct(op))
        products.push_back(op);
      else if (auto cast = dyn_cast<prim::CastOp>(op))
        casts.push_back(cast);
    });
    for (prim::CastOp op : casts)
      folder.foldSums(op);
    for (Operation *op : products) {
      if (auto conv = dyn_cast<prim::ConvOp>(op)) {
        if (!conv.getChannelsLast())
          folder.fold(op, conv.getWMutable(), 1, 0);
        continue;
      }
      auto dot = cast<prim::DotOp>(op);
      if (tensorType(dot.getRhs()).getRank() == 2 && dot.getRhsContract().size() == 1 &&
          dot.getRhsBatch().empty())
        folder.fold(op, dot.getRhsMutable(), tensorType(dot.getResult()).getRank() - 1,
                    1 - dot.getRhsContract()[0]);
    }
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createFoldScalesPass(WeightTable *weights) {
  return std::make_unique<FoldScalesPass>(weights);
}
