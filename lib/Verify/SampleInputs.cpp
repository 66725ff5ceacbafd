//===- SampleInputs.cpp - Inputs to verify a model with ------------------===//
//
// Seeded, so that a failure can be seen again. Extents are tried from a list of those that models
// commonly take, and integers that the model compares with are tried as inputs, because they
// choose its branches.
//
//===----------------------------------------------------------------------===//
#include "tcc/Verify/SampleInputs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringMap.h"
#include <random>

using namespace llvm;
using namespace tcc;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;
using reference::Tensor;

ArrayRef<SampleSizes> tcc::sampleSizes() {
  static constexpr SampleSizes sizes[] = {
      {2, 64},       {2, 16},       {1, 64},       {1, 16},        {2, 8},
      {1, 1},        {1, 128},      {1, 224},      {2, 3},         {1, 4},
      {2, 2},        {1, 32},       {1, 256},      {1, 640},       {64, 64},
      {2, 64, true}, {1, 64, true}, {1, 16, true}, {1, 256, true}, {1, 512, true}};
  return sizes;
}

ArrayRef<SampleSizes> tcc::moreSampleSizes() {
  static constexpr SampleSizes sizes[] = {{3, 37}, {1, 1}, {5, 48}, {1, 96}, {4, 10}, {1, 160}};
  return sizes;
}

namespace {

class ShapeChooser {
public:
  ShapeChooser(mlir::func::FuncOp function, SampleSizes sizes)
      : signature(function), sizes(sizes) {}

  SmallVector<int64_t> shape(unsigned argument, mlir::RankedTensorType type) {
    Port port = signature.argument(argument);
    SmallVector<int64_t> shape(type.getShape());
    bool only = sizes.anyAxis && type.getNumDynamicDims() == 1;
    for (auto [axis, dim] : enumerate(shape))
      if (mlir::ShapedType::isDynamic(dim)) {
        StringRef symbol = port.symbol(axis);
        int64_t size = (axis == 0 || only) && shape.size() > 1 ? sizes.leading : sizes.other;
        dim = symbol.empty() ? size : extentOf(symbol, size);
      }
    return shape;
  }

private:
  int64_t extentOf(StringRef name, int64_t size) {
    Symbol symbol = signature.symbol(name);
    size = std::max(symbol.min, std::min(symbol.max, size));
    return symbols.try_emplace(name, size).first->second;
  }

  Signature signature;
  SampleSizes sizes;
  StringMap<int64_t> symbols;
};

} // namespace

static Expected<Tensor> sample(DType type, ArrayRef<int64_t> shape, unsigned stream) {
  std::optional<int64_t> count = reference::elementCount(shape);
  constexpr int64_t most = int64_t(1) << 28;
  if (!count || *count > most)
    return userError("an input of shape " + reference::shapeText(shape) +
                     " is too large to verify with");
  std::mt19937_64 random(stream + 1); // the standard says what it gives; distributions differ
  std::vector<double> values(*count);
  bool real = isFloat(type) || isComplex(type);
  for (double &value : values)
    value = real ? static_cast<double>(random() >> 40) * 0x1p-23 - 1
                 : static_cast<double>(random() >> 63);
  return Tensor::ofReals(type, shape, values);
}

/// Adds the constants among the operands of a comparison.
static void addCompared(mlir::Operation *op, SmallVectorImpl<int64_t> &integers) {
  constexpr size_t most = 4;
  for (mlir::Value operand : op->getOperands()) {
    APInt value;
    bool known = matchPattern(operand, mlir::m_ConstantInt(&value));
    auto constant = operand.getDefiningOp<prim::ConstantOp>();
    auto dense = constant ? dyn_cast<mlir::DenseIntElementsAttr>(constant.getElements())
                          : mlir::DenseIntElementsAttr();
    if (!known && dense && dense.isSplat()) {
      value = dense.getSplatValue<APInt>();
      known = true;
    }
    if (!known || value.getBitWidth() == 1 || value.getSignificantBits() > 64)
      continue;
    int64_t integer = value.getSExtValue();
    if (integers.size() < most && !is_contained(integers, integer))
      integers.push_back(integer);
  }
}

static bool isOneInteger(mlir::RankedTensorType type) {
  return type.hasStaticShape() && type.getNumElements() == 1 && type.getElementType().isInteger() &&
         !type.getElementType().isInteger(1);
}

SmallVector<int64_t> tcc::comparedIntegers(mlir::func::FuncOp function) {
  SmallVector<int64_t> integers;
  DenseSet<mlir::Operation *> seen;
  SmallVector<mlir::Value> reached;
  auto follow = [&](mlir::Operation *user) {
    if (!seen.insert(user).second)
      return;
    if (isa<prim::CompareOp, mlir::arith::CmpIOp>(user))
      return addCompared(user, integers);
    for (mlir::Value result : user->getResults()) {
      auto type = dyn_cast<mlir::RankedTensorType>(result.getType());
      if (type ? isOneInteger(type) : result.getType().isIntOrIndex())
        reached.push_back(result);
    }
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!Signature(function).isState(i) &&
        isOneInteger(cast<mlir::RankedTensorType>(function.getArgumentTypes()[i])))
      reached.push_back(function.getArgument(i));
  while (!reached.empty())
    for (mlir::Operation *user : reached.pop_back_val().getUsers())
      follow(user);
  return integers;
}

Expected<std::vector<Tensor>> tcc::sampleInputs(mlir::func::FuncOp function,
                                                const SampleChoice &choice) {
  ShapeChooser chooser(function, choice.sizes);
  std::vector<Tensor> inputs(function.getNumArguments());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (Signature(function).isState(i))
      continue;
    auto type = cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    DType element = *prim::dtypeOf(type.getElementType());
    SmallVector<int64_t> shape = chooser.shape(i, type);
    constexpr unsigned apart = 1000; // more than a model has inputs
    Expected<Tensor> input = choice.integer && isOneInteger(type)
                                 ? Tensor::ofIntegers(element, shape, *choice.integer)
                                 : sample(element, shape, i + choice.run * apart);
    if (!input)
      return input.takeError();
    inputs[i] = std::move(*input);
  }
  return inputs;
}
