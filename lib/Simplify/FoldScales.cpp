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
// Left alone: a product that others read as well, weights that others use (they would
// be stored twice), constants that differ within a channel, integers, and scales that
// are not finite or that carry a weight out of range.
// Runs after constant folding, which makes what the model computes from constants one
// constant, and before layout, which packs the weights.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Splat.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/WeightTable.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;
using reference::Tensor;

namespace {

/// y = scale * x + shift in each channel.
struct Line {
  std::vector<double> scale, shift;
  SmallVector<Operation *> ops; ///< in program order
  bool scales = false;
  unsigned additions = 0;
};

class ScaleFolder {
public:
  ScaleFolder(WeightTable &weights) : weights(weights) {}
  /// `axis`: of the channels in the result, `weightAxis`: of the filters in `weight`.
  void fold(Operation *product, OpOperand &weight, int64_t axis, int64_t weightAxis);

private:
  std::optional<Tensor> constant(Value value);
  std::optional<std::vector<double>> channels(Value value, int64_t axis, int64_t count);
  Value extend(Value value, int64_t axis, Line &line);
  std::optional<Tensor> scaled(const Tensor &weight, int64_t axis, ArrayRef<double> scale);
  Value asOp(OpBuilder &b, Location loc, const Tensor &value, StringRef name);

  WeightTable &weights;
};

} // namespace

std::optional<Tensor> ScaleFolder::constant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<prim::ConstantOp, prim::WeightOp>(op))
    return std::nullopt;
  auto results = reference::evaluateOp(op, {}, weights);
  if (results)
    return (*results)[0];
  llvm::consumeError(results.takeError());
  return std::nullopt;
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

/// Takes the one reader of `value` into the line; null if it does not belong to it.
Value ScaleFolder::extend(Value value, int64_t axis, Line &line) {
  if (!value.hasOneUse())
    return {};
  OpOperand &use = *value.use_begin();
  Operation *op = use.getOwner();
  bool isFirst = use.getOperandNumber() == 0;
  if (!isa<prim::AddOp, prim::SubOp, prim::MulOp, prim::DivOp>(op) ||
      (isa<prim::DivOp>(op) && !isFirst) || op->getResult(0).getType() != value.getType())
    return {};
  auto numbers = channels(op->getOperand(isFirst ? 1 : 0), axis, line.scale.size());
  if (!numbers)
    return {};
  for (auto [c, s, t] : llvm::zip_equal(*numbers, line.scale, line.shift)) {
    if (isa<prim::MulOp, prim::DivOp>(op)) {
      s = isa<prim::MulOp>(op) ? s * c : s / c;
      t = isa<prim::MulOp>(op) ? t * c : t / c;
    } else if (isa<prim::AddOp>(op)) {
      t += c;
    } else {
      s = isFirst ? s : -s;
      t = isFirst ? t - c : c - t;
    }
  }
  bool adds = isa<prim::AddOp>(op) || (isa<prim::SubOp>(op) && isFirst);
  line.additions += !isa<prim::MulOp, prim::DivOp>(op);
  line.scales |= !adds;
  line.ops.push_back(op);
  return op->getResult(0);
}

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
  size_t channel = 0;
  for (int64_t begin = 0, end = weight.elements(); begin < end; begin += inner) {
    double factor = scale[channel];
    channel = channel + 1 == scale.size() ? 0 : channel + 1;
    bool leaves = false;
    for (int64_t i = begin; i < begin + inner; ++i) {
      to[i] = static_cast<float>(from[i] * factor);
      leaves |= std::isfinite(from[i]) && !std::isfinite(to[i]);
    }
    if (leaves)
      return std::nullopt;
  }
  return std::move(*result);
}

/// The weights times their filter's scale; nullopt if one leaves the type's range.
std::optional<Tensor> ScaleFolder::scaled(const Tensor &weight, int64_t axis,
                                          ArrayRef<double> scale) {
  int64_t inner = 1;
  for (int64_t d : weight.shape().drop_front(axis + 1))
    inner *= d;
  if (weight.dtype() == DType::F32)
    return scaledF32(weight, inner, scale);
  std::vector<double> values = weight.reals();
  for (auto [i, v] : llvm::enumerate(values)) {
    double before = v;
    v *= scale[i / inner % scale.size()];
    if (std::isfinite(before) && !std::isfinite(v))
      return std::nullopt;
  }
  Tensor result = Tensor::ofReals(weight.dtype(), weight.shape(), values);
  for (int64_t i = 0, e = result.elements(); i < e; ++i)
    if (std::isfinite(values[i]) && !std::isfinite(result.real(i)))
      return std::nullopt;
  return result;
}

Value ScaleFolder::asOp(OpBuilder &b, Location loc, const Tensor &value, StringRef name) {
  auto type =
      RankedTensorType::get(value.shape(), prim::elementType(b.getContext(), value.dtype()));
  constexpr int64_t kSmall = 64; // as constant folding has it
  if (value.elements() <= kSmall || value.isSplat())
    return prim::ConstantOp::create(b, loc, type, reference::attributeOf(value, type));
  return prim::WeightOp::create(b, loc, type, weights.add(name, value.toWeight()));
}

void ScaleFolder::fold(Operation *product, OpOperand &weight, int64_t axis, int64_t weightAxis) {
  Value result = product->getResult(0);
  int64_t count = tensorType(weight.get()).getDimSize(weightAxis);
  if (!isFloat(result) || elementOf(result).getIntOrFloatBitWidth() < 16 || count <= 0 ||
      elementOf(weight.get()) != elementOf(result) || !weight.get().hasOneUse())
    return;
  Line line{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0), {}};
  Value end = result;
  while (Value next = extend(end, axis, line))
    end = next;
  auto finite = [](double v) { return std::isfinite(v); };
  if ((!line.scales && line.additions < 2) || !llvm::all_of(line.scale, finite) ||
      !llvm::all_of(line.shift, finite))
    return;
  std::optional<Tensor> old = constant(weight.get());
  std::optional<Tensor> folded = old ? scaled(*old, weightAxis, line.scale) : std::nullopt;
  if (!folded)
    return;

  OpBuilder b(product);
  StringRef name = "constant";
  if (auto op = weight.get().getDefiningOp<prim::WeightOp>())
    name = op.getName();
  weight.set(asOp(b, weight.get().getLoc(), *folded, (name + ".scaled").str()));
  Operation *last = line.ops.back();
  b.setInsertionPoint(last);
  Value replacement = result;
  if (line.additions > 0) {
    Tensor shift = Tensor::ofReals(folded->dtype(), {count}, line.shift);
    Value vector = asOp(b, last->getLoc(), shift, (name + ".shift").str());
    SmallVector<Value> sizes;
    for (auto [i, d] : llvm::enumerate(prim::dimsOf(b, last->getLoc(), result)))
      if (tensorType(result).isDynamicDim(i))
        sizes.push_back(getValueOrCreateConstantIndexOp(b, last->getLoc(), d));
    Value shifts = prim::BroadcastOp::create(b, last->getLoc(), result.getType(), vector,
                                             ArrayRef<int64_t>{axis}, sizes);
    replacement = prim::AddOp::create(b, last->getLoc(), result.getType(), result, shifts);
  }
  end.replaceAllUsesWith(replacement);
  for (Operation *op : llvm::reverse(line.ops))
    op->erase();
}

namespace {

class FoldScalesPass : public PassWrapper<FoldScalesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)
  FoldScalesPass(WeightTable *weights) : weights(weights) {}
  StringRef getArgument() const override { return "tcc-simplify-fold-scales"; }
  StringRef getDescription() const override {
    return "Multiply batch norms and scales into the weights before them";
  }
  void runOnOperation() override {
    ScaleFolder folder(*weights);
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<prim::ConvOp, prim::DotOp>(op))
        products.push_back(op);
    });
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
