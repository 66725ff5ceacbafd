//===- Views.cpp - Constants, views and other pure index maps ------------===//
//
// Every view is a strided copy here, computed from the operator's definition and not from the
// index maps that code generation uses: an oracle that shares the arithmetic under test proves
// nothing.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include "tcc/Reference/Interpreter.h"
#include <cstring>

namespace tcc::reference {

namespace {

llvm::Expected<Tensor> constant(prim::ConstantOp op, Operands) {
  return tensorOf(op.getElements());
}

llvm::Expected<Tensor> iota(prim::IotaOp op, Operands operands) {
  auto shape = resultShape(op, operands);
  if (!shape)
    return shape.takeError();
  DType type = resultDType(op);
  llvm::Expected<Tensor> result = Tensor::allocate(type, *shape);
  if (!result || result->elements() == 0)
    return result;
  AroundAxis around(*shape, op.getAxis());
  unsigned bytes = elementBytes(type);
  char *to = result->mutableData();
  for (int64_t i = 0; i < around.extent; ++i, to += around.inner * bytes) {
    char value[16];
    narrow(type, &i, 1, value);
    fill(to, around.inner, value, bytes);
  }
  int64_t period = around.extent * around.inner * bytes;
  for (int64_t outer = 1; outer < around.outer; ++outer)
    std::memcpy(result->mutableData() + outer * period, result->data(), period);
  return result;
}

llvm::Expected<Tensor> dim(prim::DimOp op, Operands operands) {
  return Tensor::ofIndex(operands[0].dim(op.getAxis()));
}

/// One element of `from` at `position`, converted to element `index` of `to`.
void convertElement(const Tensor &from, int64_t position, Tensor &to, int64_t index) {
  withWide(from.dtype(), [&]<typename W>() {
    W value;
    widen(from.dtype(), at(from, position), 1, &value);
    narrow(to.dtype(), &value, 1, at(to, index));
  });
}

llvm::Expected<Tensor> fromElements(prim::FromElementsOp op, Operands operands) {
  llvm::Expected<Tensor> result =
      Tensor::allocate(resultDType(op), tensorType(op.getResult()).getShape());
  if (result)
    for (auto [i, element] : llvm::enumerate(operands))
      convertElement(element, 0, *result, i);
  return result;
}

llvm::Expected<Tensor> extract(prim::ExtractOp op, Operands operands) {
  const Tensor &x = operands[0];
  auto position = static_cast<int64_t>(op.getPosition());
  if (position < 0 || position >= x.elements())
    return userError("takes element " + llvm::Twine(position) + " of a tensor of " +
                     llvm::Twine(x.elements()));
  mlir::Type type = op.getResult().getType();
  llvm::Expected<Tensor> result =
      Tensor::allocate(type.isIndex() ? DType::I64 : *prim::dtypeOf(type), {});
  if (result)
    convertElement(x, position, *result, 0);
  return result;
}

llvm::Expected<Tensor> reshape(prim::ReshapeOp op, Operands operands) {
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  if (elementCount(*shape) != operands[0].elements())
    return userError("cannot give shape " + shapeText(*shape) + " to a tensor of shape " +
                     shapeText(operands[0].shape()));
  mlir::RankedTensorType type = tensorType(op.getResult());
  if (prim::layoutOf(type)) // x is how its result lies
    return fromStorage(type, operands[0].reshaped(prim::storedType(type).getShape()));
  return operands[0].reshaped(*shape);
}

/// A new tensor whose every element is that of `x` at the strides `from`,
/// counted from element `offset`.
llvm::Expected<Tensor> viewed(const Tensor &x, llvm::ArrayRef<int64_t> shape, int64_t offset,
                              const Strides &from) {
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), shape);
  if (result)
    copyStrided(shape, elementBytes(x.dtype()), {at(x, offset), from},
                {result->mutableData(), stridesOf(shape)});
  return result;
}

llvm::Expected<Tensor> transpose(prim::TransposeOp op, Operands operands) {
  const Tensor &x = operands[0];
  Strides all = stridesOf(x.shape()), from;
  llvm::SmallVector<int64_t> shape;
  for (int64_t axis : op.getPermutation()) {
    shape.push_back(x.dim(axis));
    from.push_back(all[axis]);
  }
  return viewed(x, shape, 0, from);
}

llvm::Expected<Tensor> broadcast(prim::BroadcastOp op, Operands operands) {
  const Tensor &x = operands[0];
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  Strides all = stridesOf(x.shape()), from(shape->size(), 0);
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    if (x.dim(i) != 1 && x.dim(i) != (*shape)[axis])
      return userError("cannot broadcast shape " + shapeText(x.shape()) + " to " +
                       shapeText(*shape));
    from[axis] = x.dim(i) == 1 ? 0 : all[i];
  }
  return viewed(x, *shape, 0, from);
}

llvm::Expected<Tensor> slice(prim::SliceOp op, Operands operands) {
  const Tensor &x = operands[0];
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  auto starts = mixedValues(op.getStaticStarts(), valuesOf(op.getStarts(), operands));
  Strides from = stridesOf(x.shape());
  int64_t offset = 0;
  bool empty = elementCount(*shape) == 0;
  for (auto [i, step] : llvm::enumerate(op.getSteps())) {
    int64_t first = starts[i], last = 0;
    bool wraps = __builtin_mul_overflow((*shape)[i] - 1, step, &last) ||
                 __builtin_add_overflow(last, first, &last);
    bool outside = wraps || std::min(first, last) < 0 || std::max(first, last) >= x.dim(i);
    if (!empty && outside)
      return userError("takes " + llvm::Twine((*shape)[i]) + " elements from " +
                       llvm::Twine(first) + " by " + llvm::Twine(step) + " on axis " +
                       llvm::Twine(i) + " of a tensor of shape " + shapeText(x.shape()));
    offset += empty ? 0 : first * from[i];
    from[i] *= step;
  }
  return viewed(x, *shape, offset, from);
}

/// The part of x that lands inside the result along one axis.
struct PadAxis {
  int64_t first, count; ///< elements of x
  int64_t start, step;  ///< where the first lands, and how far apart
};

PadAxis padAxis(int64_t extent, int64_t low, int64_t interior, int64_t result) {
  int64_t step = interior + 1;
  int64_t first = low < 0 ? std::min(extent, (-low + step - 1) / step) : 0;
  int64_t start = low + first * step;
  int64_t room = start < result ? (result - start + step - 1) / step : 0;
  return {first, std::max<int64_t>(0, std::min(extent - first, room)), start, step};
}

llvm::Expected<Tensor> pad(prim::PadOp op, Operands operands) {
  const Tensor &x = operands[0];
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  auto lows = mixedValues(op.getStaticLow(), valuesOf(op.getLows(), operands));
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), *shape);
  if (!result)
    return result;
  unsigned bytes = elementBytes(x.dtype());
  fill(result->mutableData(), result->elements(), operands[1].data(), bytes);
  Strides from = stridesOf(x.shape()), to = stridesOf(*shape);
  int64_t fromOffset = 0, toOffset = 0;
  llvm::SmallVector<int64_t> copied;
  for (size_t i = 0; i < shape->size(); ++i) {
    PadAxis axis = padAxis(x.dim(i), lows[i], op.getInterior()[i], (*shape)[i]);
    copied.push_back(axis.count);
    fromOffset += axis.first * from[i];
    toOffset += axis.start * to[i];
    to[i] *= axis.step;
  }
  if (!llvm::is_contained(copied, 0))
    copyStrided(copied, bytes, {at(x, fromOffset), from}, {at(*result, toOffset), to});
  return result;
}

llvm::Expected<Tensor> concat(prim::ConcatOp op, Operands operands) {
  int64_t axis = op.getAxis();
  llvm::SmallVector<int64_t> shape(operands[0].shape());
  for (const Tensor &operand : operands.drop_front()) {
    for (int64_t i = 0; i < operand.rank(); ++i)
      if (i != axis && operand.dim(i) != shape[i])
        return userError("operands have shapes " + shapeText(operands[0].shape()) + " and " +
                         shapeText(operand.shape()));
    shape[axis] += operand.dim(axis);
  }
  llvm::Expected<Tensor> result = Tensor::allocate(operands[0].dtype(), shape);
  if (!result)
    return result;
  Strides to = stridesOf(shape);
  int64_t start = 0;
  for (const Tensor &operand : operands) {
    copyStrided(operand.shape(), elementBytes(operand.dtype()),
                {operand.data(), stridesOf(operand.shape())}, {at(*result, start * to[axis]), to});
    start += operand.dim(axis);
  }
  return result;
}

llvm::Expected<Tensor> reverse(prim::ReverseOp op, Operands operands) {
  const Tensor &x = operands[0];
  Strides from = stridesOf(x.shape());
  int64_t offset = 0;
  for (int64_t axis : op.getAxes()) {
    offset += std::max<int64_t>(0, x.dim(axis) - 1) * from[axis];
    from[axis] = -from[axis];
  }
  return viewed(x, x.shape(), x.elements() ? offset : 0, from);
}

} // namespace

void addViews(Evaluators &all) {
  using namespace prim;
  all.add<ConstantOp, constant>();
  all.add<IotaOp, iota>();
  all.add<DimOp, dim>();
  all.add<FromElementsOp, fromElements>();
  all.add<ExtractOp, extract>();
  all.add<ReshapeOp, reshape>();
  all.add<TransposeOp, transpose>();
  all.add<BroadcastOp, broadcast>();
  all.add<SliceOp, slice>();
  all.add<PadOp, pad>();
  all.add<ConcatOp, concat>();
  all.add<ReverseOp, reverse>();
}

} // namespace tcc::reference
