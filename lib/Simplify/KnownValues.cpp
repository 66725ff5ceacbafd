//===- KnownValues.cpp - What is known at compile time --------------------===//
//
// A deferred operator is computed each time that somebody needs its value; values are kept as long
// as they take no more than `transientBytes`. What it would cost a kernel to compute it instead is
// counted along the chain of operators that were deferred before it.
//
//===----------------------------------------------------------------------===//
#include "Simplify/KnownValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

using namespace mlir;

namespace tcc {

using reference::Tensor;

/// Beyond this, computing a deferred value would recurse too deep.
static constexpr unsigned kMaxDepth = 256;

bool KnownValues::isConstant(Operation *op) {
  return op->hasTrait<prim::ModelConstant>() || isa<arith::ConstantOp>(op);
}

bool KnownValues::isKnown(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && (isConstant(op) || deferred.contains(op));
}

/// Bytes that a constant takes in the artefact: a splat is one element.
static int64_t constantBytes(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  std::optional<DType> dtype = type ? prim::dtypeOf(type.getElementType()) : std::nullopt;
  if (!dtype)
    return 8;
  auto constant = dyn_cast<prim::ConstantOp>(op);
  bool splat = constant && constant.getElements().isSplat();
  return static_cast<int64_t>(storageBytes(*dtype, splat ? 1 : type.getNumElements()));
}

int64_t KnownValues::sourceBytes(Operation *op) const {
  int64_t bytes = 0;
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!seen.insert(source).second)
      continue;
    auto known = deferred.find(source);
    bytes += known == deferred.end() ? constantBytes(source) : known->second.sourceBytes;
  }
  return bytes;
}

unsigned KnownValues::steps(Operation *op) const {
  unsigned before = 0, own = 0;
  for (Value operand : op->getOperands())
    if (auto known = deferred.find(operand.getDefiningOp()); known != deferred.end())
      before = std::max(before, known->second.steps);
  if (prim::isElementwise(op))
    own = op->hasTrait<prim::Costly>() ? options.tableSteps : 1;
  return before + own;
}

void KnownValues::defer(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::optional<DType> dtype = tensor ? prim::dtypeOf(tensor.getElementType()) : std::nullopt;
    if (!dtype)
      continue;
    if (!tensor.hasStaticShape())
      return;
    std::optional<int64_t> count = reference::elementCount(tensor.getShape());
    if (!count)
      return;
    bytes += *count * reference::elementBytes(*dtype);
  }
  unsigned depth = 0;
  for (Value operand : op->getOperands())
    if (auto known = deferred.find(operand.getDefiningOp()); known != deferred.end())
      depth = std::max(depth, known->second.depth + 1);
  if (bytes <= options.transientBytes && depth < kMaxDepth)
    deferred[op] = {sourceBytes(op), depth, steps(op)};
}

llvm::Expected<Tensor> KnownValues::valueOf(Value value) {
  if (auto cached = cache.find(value); cached != cache.end())
    return cached->second;
  Operation *op = value.getDefiningOp();
  auto results = evaluate(op);
  if (!results)
    return results.takeError();
  if (deferred.contains(op)) {
    if (cachedBytes > options.transientBytes) {
      cache.clear();
      cachedBytes = 0;
    }
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results)) {
      cache[result] = tensor;
      cachedBytes += tensor.bytes();
    }
  }
  return (*results)[cast<OpResult>(value).getResultNumber()];
}

llvm::Expected<SmallVector<Tensor, 1>> KnownValues::evaluate(Operation *op) {
  SmallVector<Tensor> operands;
  for (Value operand : op->getOperands()) {
    llvm::Expected<Tensor> value = valueOf(operand);
    if (!value)
      return value.takeError();
    operands.push_back(std::move(*value));
  }
  return reference::evaluateOp(op, operands, weights);
}

std::optional<Tensor> KnownValues::splatOf(Value value) {
  auto constant = value.getDefiningOp<prim::ConstantOp>();
  if (!constant || !constant.getElements().isSplat())
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getElements());
  if (!elements)
    return std::nullopt;
  auto type = RankedTensorType::get({}, elements.getElementType());
  llvm::Expected<Tensor> tensor = reference::tensorOf(elements.resizeSplat(type));
  if (tensor)
    return std::move(*tensor);
  llvm::consumeError(tensor.takeError());
  return std::nullopt;
}

std::optional<Tensor> KnownValues::splatResult(Operation *op) {
  bool view = op->hasTrait<prim::Rearrangement>();
  if ((!view && !prim::isElementwise(op)) || op->getNumResults() != 1)
    return std::nullopt;
  SmallVector<Tensor> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue; // extents and starts
    std::optional<Tensor> splat = splatOf(operand);
    if (!splat)
      return std::nullopt;
    operands.push_back(std::move(*splat));
  }
  if (view) {
    for (const Tensor &operand : operands)
      if (operand.packed() != operands[0].packed())
        return std::nullopt;
    return operands[0];
  }
  // The operator on single elements: it looks at its attributes and result type only.
  Operation *probe = op->cloneWithoutRegions();
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  probe->getResult(0).setType(RankedTensorType::get({}, element));
  auto results = reference::evaluateOp(probe, operands, weights);
  probe->destroy();
  if (results)
    return (*results)[0];
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

} // namespace tcc
