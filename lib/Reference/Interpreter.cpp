//===- Interpreter.cpp - Runs functions of prim operators ----------------===//
//
// Values live until their last use, because an interpreter that keeps all activations of a large
// model does not fit into memory. A failure is the user's where an input can cause it, and names
// the operator; anything else is a fault of the compiler.
//
//===----------------------------------------------------------------------===//
#include "Reference/Interpreter.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tcc::reference {

static const Evaluators &allEvaluators() {
  static const Evaluators evaluators = [] {
    Evaluators all;
    addElementwise(all);
    addConversions(all);
    addViews(all);
    addIndexing(all);
    addScatter(all);
    addReductions(all);
    addWindows(all);
    addContractions(all);
    addFft(all);
    addSort(all);
    addMatrices(all);
    addRandom(all);
    addHostScalars(all);
    return all;
  }();
  return evaluators;
}

//===----------------------------------------------------------------------===//
// Shapes and errors
//===----------------------------------------------------------------------===//

llvm::Expected<SmallVector<int64_t>> resultShape(Value result, Operands sizes) {
  SmallVector<int64_t> shape;
  for (int64_t dim : tensorType(result).getShape()) {
    if (ShapedType::isDynamic(dim)) {
      dim = sizes.front().integer(0);
      sizes = sizes.drop_front();
    }
    shape.push_back(dim);
  }
  if (!elementCount(shape))
    return userError("a tensor cannot have shape " + shapeText(shape));
  return shape;
}

SmallVector<int64_t> mixedValues(ArrayRef<int64_t> statics, Operands dynamics) {
  SmallVector<int64_t> values(statics);
  for (int64_t &value : values)
    if (value == prim::kDynamicStart) {
      value = dynamics.front().integer(0);
      dynamics = dynamics.drop_front();
    }
  return values;
}

llvm::Error checkSameShapes(Operands operands) {
  for (const Tensor &operand : operands)
    if (operand.shape() != operands[0].shape())
      return userError("operands have shapes " + shapeText(operands[0].shape()) + " and " +
                       shapeText(operand.shape()));
  return llvm::Error::success();
}

llvm::Error undefinedOn(DType type) {
  return llvm::createStringError(llvm::Twine("is not defined on ") + dtypeName(type));
}

llvm::Error atOp(Operation *op, llvm::Error error) {
  std::string where = op->getName().getStringRef().str();
  llvm::raw_string_ostream os(where);
  if (!isa<UnknownLoc>(op->getLoc()))
    os << " at " << op->getLoc();
  return llvm::handleErrors(std::move(error), [&](const llvm::ErrorInfoBase &fault) {
    std::string text = where + ": " + fault.message();
    return fault.isA<UserError>() ? userError(text) : llvm::createStringError(text);
  });
}

llvm::Error checkType(const Tensor &value, Type type) {
  std::string have = (dtypeName(value.dtype()) + shapeText(value.shape())).str();
  auto mismatch = [&]() -> llvm::Error {
    std::string text;
    llvm::raw_string_ostream(text) << have << " where " << type << " is expected";
    return userError(text);
  };
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    bool fits = value.rank() == 0 && (type.isIndex() ? value.dtype() == DType::I64
                                                     : prim::dtypeOf(type) == value.dtype());
    return fits ? llvm::Error::success() : mismatch();
  }
  if (prim::dtypeOf(tensor.getElementType()) != value.dtype() || tensor.getRank() != value.rank())
    return mismatch();
  for (auto [have, want] : llvm::zip_equal(value.shape(), tensor.getShape()))
    if (!ShapedType::isDynamic(want) && have != want)
      return mismatch();
  return llvm::Error::success();
}

static llvm::Error checkResults(Operation *op, const Results &results) {
  if (results.size() != op->getNumResults())
    return llvm::createStringError("the evaluator gave another number of results");
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    if (llvm::Error error = checkType(value, result.getType()))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

bool isEvaluable(OperationName name) {
  return name.getTypeID() == TypeID::get<prim::WeightOp>() || allEvaluators().lookup(name);
}

llvm::Expected<Tensor> fromStorage(RankedTensorType type, Tensor stored) {
  prim::StorageLayout layout = prim::layoutOf(type);
  if (!layout)
    return stored;
  if (llvm::Error error = checkType(stored, prim::storedType(type)))
    return std::move(error);
  llvm::Expected<Tensor> value = Tensor::allocate(stored.dtype(), type.getShape());
  if (value)
    layout.unpack(type.getShape(), elementBytes(stored.dtype()), stored.data(),
                  value->mutableData());
  return value;
}

static llvm::Expected<Results> weightValue(prim::WeightOp op, const WeightTable &weights) {
  const Weight *weight = weights.lookup(op.getName());
  if (!weight)
    return userError("there is no weight '" + printable(op.getName()) + "'");
  llvm::Expected<Tensor> tensor = Tensor::fromWeight(*weight);
  if (tensor)
    tensor = fromStorage(tensorType(op.getResult()), std::move(*tensor));
  if (!tensor)
    return tensor.takeError();
  return Results{std::move(*tensor)};
}

static llvm::Expected<Results> valueOf(Operation *op, Operands operands,
                                       const WeightTable &weights) {
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (!prim::dtypeOf(tensor.getElementType()))
        return userError("gives elements of a type that tcc does not compute with");
  if (auto weight = dyn_cast<prim::WeightOp>(op))
    return weightValue(weight, weights);
  if (Evaluator evaluator = allEvaluators().lookup(op->getName()))
    return evaluator(op, operands);
  return llvm::createStringError("the reference interpreter does not know this operator");
}

llvm::Expected<Results> evaluateOp(Operation *op, Operands operands, const WeightTable &weights) {
  llvm::Expected<Results> results = valueOf(op, operands, weights);
  if (!results)
    return atOp(op, results.takeError());
  if (llvm::Error error = checkResults(op, *results))
    return atOp(op, std::move(error));
  return results;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

const Interpreter::LastUses &Interpreter::lastUses(Block &block) {
  auto [entry, isNew] = lastUsesOf.try_emplace(&block);
  if (!isNew)
    return entry->second;
  LastUses &uses = entry->second;
  auto note = [&](Value value) {
    Operation *last = value.getDefiningOp();
    for (Operation *user : value.getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(here))
        last = here;
    }
    if (last)
      uses[last].push_back(value);
  };
  llvm::for_each(block.getArguments(), note);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), note);
  return uses;
}

Results Interpreter::operandValues(Operation *op) const {
  Results operands;
  for (Value operand : op->getOperands())
    operands.push_back(values.lookup(operand));
  return operands;
}

llvm::Expected<Results> Interpreter::evaluate(Operation *op) {
  Results operands = operandValues(op);
  llvm::Expected<Results> results = Results();
  if (auto branch = dyn_cast<prim::IfOp>(op))
    results = evaluateIf(branch, operands);
  else if (auto loop = dyn_cast<prim::WhileOp>(op))
    results = evaluateWhile(loop, operands);
  else if (isa<prim::RandomSeedOp>(op))
    return Results{Tensor::ofIndex(static_cast<int64_t>(random.seed))};
  else if (auto draw = dyn_cast<prim::RandomDrawOp>(op))
    return Results{Tensor::ofIndex(static_cast<int64_t>(random.draws[draw.getGenerator()]++))};
  else if (auto launch = dyn_cast<kernel::LaunchOp>(op))
    results = run(launch.getBody(), valuesOf(launch.getInputs(), operands));
  else if (isa<kernel::MoveOp>(op))
    return operands;
  else
    return evaluateOp(op, operands, weights);
  if (!results)
    return results;
  if (llvm::Error error = checkResults(op, *results))
    return atOp(op, std::move(error));
  return results;
}

llvm::Expected<Results> Interpreter::run(Region &region, Operands arguments) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    llvm::Expected<Results> results = evaluate(&op);
    if (!results)
      return results.takeError();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), *results)) {
      if (options.observer)
        options.observer(result, value);
      values[result] = std::move(value);
    }
    const LastUses &uses = lastUses(block);
    if (auto dead = uses.find(&op); dead != uses.end())
      for (Value value : dead->second)
        values.erase(value);
  }
  return operandValues(block.getTerminator());
}

llvm::Expected<std::vector<Tensor>> evaluate(func::FuncOp function, Operands inputs,
                                             const WeightTable &weights,
                                             const EvaluateOptions &options) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return llvm::createStringError("the reference interpreter runs functions of one block");
  if (inputs.size() != function.getNumArguments())
    return userError("@" + function.getName() + " takes " +
                     llvm::Twine(function.getNumArguments()) + " inputs, not " +
                     llvm::Twine(inputs.size()));
  for (auto [i, input] : llvm::enumerate(inputs))
    if (llvm::Error error = checkType(input, function.getArgumentTypes()[i]))
      return userError("input " + llvm::Twine(i) + " is " + llvm::toString(std::move(error)));
  Interpreter interpreter(weights, options);
  llvm::Expected<Results> results = interpreter.run(function.getBody(), inputs);
  if (!results)
    return results.takeError();
  if (options.random)
    *options.random = std::move(interpreter.random);
  return std::vector<Tensor>(results->begin(), results->end());
}

} // namespace tcc::reference
