//===- Dequantized.cpp - Floats that were integers of few bits ------------===//
#include "Simplify/Dequantized.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;
using reference::Tensor;

std::optional<Tensor> Dequantizer::evaluate(Value value, unsigned depth) {
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

std::optional<std::vector<double>> Dequantizer::numbers(Value value, std::optional<int64_t> axis) {
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

/// What `value` repeats along all axes that are `summed`, and others.
static std::optional<Parameter> parameterOf(OpBuilder &b, Value value, ArrayRef<int64_t> summed) {
  auto broadcast = value.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return std::nullopt;
  Value source = broadcast.getX();
  auto from = tensorType(source), to = tensorType(value);
  Parameter found;
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::zip_equal(broadcast.getAxes(), from.getShape())) {
    if (extent == 1)
      continue;
    if (llvm::is_contained(summed, axis) || extent != to.getDimSize(axis))
      return std::nullopt;
    found.axes.push_back(axis);
    shape.push_back(extent);
  }
  found.value = source;
  if (static_cast<int64_t>(shape.size()) == from.getRank())
    return found;
  SmallVector<OpFoldResult> dims;
  for (auto [extent, d] : llvm::zip_equal(from.getShape(), prim::dimsOf(b, value.getLoc(), source)))
    if (extent != 1)
      dims.push_back(d);
  auto type = RankedTensorType::get(shape, from.getElementType());
  found.value = prim::ReshapeOp::create(b, value.getLoc(), type, source,
                                        openSizes(b, value.getLoc(), type, dims));
  return found;
}

/// Whether `value` repeats numbers that were integers.
static bool wereIntegers(Value value) {
  while (auto op = value.getDefiningOp()) {
    if (auto cast = dyn_cast<prim::CastOp>(op))
      return isInteger(cast.getX());
    if (!isa<prim::BroadcastOp, prim::ReshapeOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

std::optional<Dequantized> Dequantizer::takeApart(OpBuilder *b, Value value,
                                                  std::optional<int64_t> axis,
                                                  ArrayRef<int64_t> summed) {
  auto mul = value.getDefiningOp<prim::MulOp>();
  if (!mul || !elementOf(value).isF32())
    return std::nullopt;
  auto isBytes = [](Value v) {
    auto cast = v.getDefiningOp<prim::CastOp>();
    return cast && isInteger(cast.getX()) && elementOf(cast.getX()).getIntOrFloatBitWidth() == 8;
  };
  auto wereBytes = [&](Value v) {
    auto sub = v.getDefiningOp<prim::SubOp>();
    return isBytes(sub ? sub.getLhs() : v);
  };
  Value inner = mul.getLhs(), factor = mul.getRhs();
  if (!wereBytes(inner))
    std::swap(inner, factor);
  if (!wereBytes(inner))
    return std::nullopt;
  Dequantized found;
  if (auto scales = numbers(factor, axis))
    found.scales = std::move(*scales);
  else if (b)
    found.scale = parameterOf(*b, factor, summed);
  if (found.scales.empty() && !found.scale)
    return std::nullopt;
  auto sub = inner.getDefiningOp<prim::SubOp>();
  found.integers = (sub ? sub.getLhs() : inner).getDefiningOp<prim::CastOp>().getX();
  if (!sub) {
    found.zeros = {0};
    return found;
  }
  double least = elementOf(found.integers).isUnsignedInteger() ? 0 : -128;
  if (auto zeros = numbers(sub.getRhs(), axis)) {
    for (double zero : *zeros) // as a byte has it
      if (zero != std::rint(zero) || zero < least || zero > least + 255)
        return std::nullopt;
    found.zeros = std::move(*zeros);
    return found;
  }
  if (!b || !wereIntegers(sub.getRhs()))
    return std::nullopt;
  found.zero = parameterOf(*b, sub.getRhs(), summed);
  if (!found.zero)
    return std::nullopt;
  Value zero = found.zero->value;
  found.zero->value =
      prim::CastOp::create(*b, zero.getLoc(), tensorType(zero).clone(b->getI32Type()), zero);
  return found;
}

std::optional<Dequantized> Dequantizer::dequantized(Value value, std::optional<int64_t> axis) {
  return takeApart(nullptr, value, axis, {});
}

std::optional<Dequantized> Dequantizer::dequantizedInRun(OpBuilder &b, Value value,
                                                         std::optional<int64_t> axis,
                                                         ArrayRef<int64_t> summed) {
  if (auto found = takeApart(&b, value, axis, summed))
    return found;
  SmallVector<Operation *> views;
  while (isView(value)) {
    views.push_back(value.getDefiningOp());
    value = views.back()->getOperand(0);
  }
  if (views.empty())
    return std::nullopt;
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
  auto found = takeApart(&b, value, std::nullopt, all);
  if (!found)
    return std::nullopt;
  for (Operation *view : llvm::reverse(views))
    found->integers = viewOf(b, view, found->integers);
  return found;
}

bool simplify::isView(Value value) {
  return isa_and_present<prim::TransposeOp, prim::ReshapeOp, prim::SliceOp, prim::ReverseOp,
                         prim::BroadcastOp>(value.getDefiningOp());
}

Value simplify::viewOf(OpBuilder &b, Operation *view, Value x) {
  Operation *clone = b.clone(*view);
  clone->setOperand(0, x);
  Value result = clone->getResult(0);
  result.setType(tensorType(result).clone(elementOf(x)));
  return result;
}

template <typename T>
static Value constantOfType(OpBuilder &b, Location loc, Type element, ArrayRef<T> numbers) {
  SmallVector<int64_t> shape(numbers.size() > 1, static_cast<int64_t>(numbers.size()));
  auto type = RankedTensorType::get(shape, element);
  return prim::ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, numbers));
}

Value simplify::constantOf(OpBuilder &b, Location loc, ArrayRef<float> numbers) {
  return constantOfType(b, loc, b.getF32Type(), numbers);
}

Value simplify::constantOf(OpBuilder &b, Location loc, ArrayRef<int32_t> numbers) {
  return constantOfType(b, loc, b.getI32Type(), numbers);
}

SmallVector<Value> simplify::openSizes(OpBuilder &b, Location loc, RankedTensorType type,
                                       ArrayRef<OpFoldResult> dims) {
  SmallVector<Value> sizes;
  for (auto [axis, d] : llvm::enumerate(dims))
    if (type.isDynamicDim(axis))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, d));
  return sizes;
}
