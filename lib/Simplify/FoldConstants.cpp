//===- FoldConstants.cpp - Computes what does not depend on inputs -------===//
//
// One walk in program order. An operator whose operands are known is evaluated
// and replaced, or deferred where its result would be too large to keep (see
// KnownValues). Operands that the replacement leaves without a use go at once,
// their weights with them, so that a chain of transposes of a large weight holds
// two copies at a time and not the whole chain.
//
//===----------------------------------------------------------------------===//
#include "tcc/Simplify/FoldConstants.h"
#include "Simplify/KnownValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringSet.h"
#include <cstring>

namespace tcc {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;

namespace tcc {

namespace {

using reference::Tensor;

class Folder {
public:
  Folder(ModuleOp module, WeightTable &weights, const FoldOptions &options)
      : module(module), weights(weights), options(options), known(weights, options) {}
  FoldStatistics run();

private:
  void visit(Operation *op);
  bool isCandidate(Operation *op) const;
  bool widensForUnknown(Operation *op) const;
  void visitWeight(prim::WeightOp op);
  bool replaceBySplat(Operation *op);
  bool replaceEmpty(Operation *op);
  /// Whether the results, of which `bytes` are kept, are worth keeping.
  bool mayKeep(Operation *op, int64_t bytes) const;
  void replace(Operation *op, ArrayRef<Tensor> values);
  std::string addWeight(Operation *op, const Tensor &value);
  Value constantFor(OpBuilder &builder, Operation *op, Type type, const Tensor &value);
  void replaceUses(OpBuilder &builder, Value old, Value constant);
  void eraseIfUnused(Operation *op);
  void eraseDead();
  void dropWeight(StringRef name);
  void dropWeights();
  SmallVector<StringRef> stateWeights();

  ModuleOp module;
  WeightTable &weights;
  const FoldOptions &options;
  KnownValues known;
  llvm::StringMap<unsigned> references;  ///< prim.weight ops by name
  llvm::StringMap<std::string> madeFrom; ///< folded weight → the model's own
  bool ownsWeights = true;               ///< else ops that are not prim may refer to weights
  FoldStatistics statistics;
};

/// Multiply-adds of a contraction whose shapes are static; 0 for other operators.
double workOf(Operation *op) {
  auto count = [](Value value) {
    double product = 1;
    for (int64_t dim : cast<RankedTensorType>(value.getType()).getShape())
      product *= ShapedType::isDynamic(dim) ? 1 : static_cast<double>(dim);
    return product;
  };
  if (auto dot = dyn_cast<prim::DotOp>(op)) {
    double work = count(dot.getResult());
    for (int64_t axis : dot.getLhsContract())
      work *= static_cast<double>(cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(axis));
    return work;
  }
  if (auto conv = dyn_cast<prim::ConvOp>(op)) {
    auto w = cast<RankedTensorType>(conv.getW().getType());
    return count(conv.getResult()) * count(conv.getW()) /
           std::max(1.0, static_cast<double>(w.getDimSize(0)));
  }
  return 0;
}

/// Bytes of the results by their types; nullopt where only computing tells.
std::optional<int64_t> staticBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    std::optional<DType> dtype = prim::dtypeOf(tensor.getElementType());
    std::optional<int64_t> count =
        tensor.hasStaticShape() ? reference::elementCount(tensor.getShape()) : std::nullopt;
    if (!dtype || !count)
      return std::nullopt;
    bytes += static_cast<int64_t>(storageBytes(*dtype, *count));
  }
  return bytes;
}

/// Whether a constant of `type` can be written.
bool isWritable(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return prim::dtypeOf(tensor.getElementType()).has_value() && !prim::layoutOf(tensor);
  return type.isSignlessIntOrIndexOrFloat();
}

/// Whether a block's argument is among what `value` is made of.
static bool dependsOnInputs(Value value) {
  SmallVector<Value> open{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op)
      return true;
    if (seen.insert(op).second && !KnownValues::isConstant(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Whether `op` makes floats of a weight's bytes that meet only numbers which are not known: those
/// are cheaper to widen than to read.
bool Folder::widensForUnknown(Operation *op) const {
  if (!isa<prim::CastOp>(op))
    return false;
  auto weight = op->getOperand(0).getDefiningOp<prim::WeightOp>();
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  if (!weight || from.getElementTypeBitWidth() != 8 || !isa<IntegerType>(from.getElementType()))
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isa<prim::MulOp>(user) && llvm::any_of(user->getOperands(), dependsOnInputs);
  });
}

/// Whether `v` only tells which elements are taken along an axis, with several axes of its own:
/// those of windows.
static bool onlyPlacesWindows(Value v, unsigned depth = 8) {
  return depth > 0 && llvm::all_of(v.getUses(), [&](OpOperand &use) {
           if (auto take = dyn_cast<prim::TakeOp>(use.getOwner()))
             return use.get() != take.getX() &&
                    llvm::count_if(tensorType(v).getShape(), [](int64_t d) { return d != 1; }) > 1;
           return isa<prim::ReshapeOp, prim::BroadcastOp, prim::AddOp, prim::MulOp>(
                      use.getOwner()) &&
                  onlyPlacesWindows(use.getOwner()->getResult(0), depth - 1);
         });
}

/// Whether `op` gives places of windows, made of positions: code that computes them knows which lie
/// side by side.
static bool placesWindows(Operation *op) {
  bool computes = isa<prim::ReshapeOp, prim::BroadcastOp, prim::AddOp, prim::MulOp>(op) &&
                  llvm::any_of(op->getOperands(), [](Value v) {
                    Operation *from = v.getDefiningOp();
                    return from && !KnownValues::isConstant(from);
                  });
  return (computes || isa<prim::IotaOp>(op)) && onlyPlacesWindows(op->getResult(0));
}

bool Folder::isCandidate(Operation *op) const {
  return !widensForUnknown(op) && op->getNumResults() > 0 && op->getNumRegions() == 0 &&
         reference::isEvaluable(op->getName()) && isMemoryEffectFree(op) &&
         !KnownValues::isConstant(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return known.isKnown(operand); }) &&
         llvm::all_of(op->getResultTypes(), isWritable);
}

bool Folder::mayKeep(Operation *op, int64_t bytes) const {
  return bytes <= options.freeBytes || bytes / options.growth <= known.sourceBytes(op) ||
         (bytes <= options.tableBytes && known.steps(op) >= options.tableSteps);
}

/// Small weights and splats are better known to other passes as constants.
void Folder::visitWeight(prim::WeightOp op) {
  const Weight *weight = weights.describe(op.getName());
  if (!weight || weight->maker) // made of a weight that was neither
    return;
  size_t width = bitWidth(weight->dtype) / 8, size = weight->bytes.size();
  bool splat = width > 0 && size > width &&
               std::memcmp(weight->bytes.data(), weight->bytes.data() + width, size - width) == 0;
  if (!splat && static_cast<int64_t>(weight->elements()) > options.smallElements)
    return;
  auto results = known.evaluate(op);
  if (!results)
    return llvm::consumeError(results.takeError());
  replace(op, *results);
}

bool Folder::replaceBySplat(Operation *op) {
  std::optional<Tensor> splat = known.splatResult(op);
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!splat || !type.hasStaticShape())
    return false;
  OpBuilder builder(op);
  auto element = RankedTensorType::get({}, type.getElementType());
  auto value = reference::attributeOf(*splat, element).resizeSplat(type);
  op->getResult(0).replaceAllUsesWith(
      prim::ConstantOp::create(builder, op->getLoc(), type, value).getResult());
  ++statistics.folded;
  eraseIfUnused(op);
  return true;
}

/// Results without elements are known whatever the operands hold.
bool Folder::replaceEmpty(Operation *op) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
  };
  if (op->getNumResults() == 0 || op->getNumRegions() > 0 || !isMemoryEffectFree(op) ||
      KnownValues::isConstant(op) || !llvm::all_of(op->getResultTypes(), [&](Type type) {
        return isEmpty(type) && isWritable(type);
      }))
    return false;
  OpBuilder builder(op);
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    Tensor none = Tensor::ofIntegers(*prim::dtypeOf(type.getElementType()), type.getShape(), {});
    result.replaceAllUsesWith(
        prim::ConstantOp::create(builder, op->getLoc(), type, reference::attributeOf(none, type)));
  }
  ++statistics.folded;
  eraseIfUnused(op);
  return true;
}

void Folder::visit(Operation *op) {
  if (op->getNumRegions() == 0 && isOpTriviallyDead(op)) // its value is of no interest
    return eraseIfUnused(op);
  if (replaceEmpty(op))
    return;
  if (auto weight = dyn_cast<prim::WeightOp>(op))
    return visitWeight(weight);
  if (!isCandidate(op) || replaceBySplat(op) || workOf(op) > static_cast<double>(options.work))
    return;
  std::optional<int64_t> bytes = staticBytes(op);
  if (bytes && (!mayKeep(op, *bytes) || placesWindows(op)))
    return known.defer(op);
  auto results = known.evaluate(op);
  if (!results) // An operator that fails does so when the model runs, if it is reached.
    return llvm::consumeError(results.takeError());
  int64_t kept = 0;
  for (const Tensor &result : *results)
    kept += result.isSplat() ? 0 : result.bytes();
  if (mayKeep(op, kept))
    replace(op, *results);
}

/// Adds a folded weight, called after the first weight that `op` reads and `op`.
std::string Folder::addWeight(Operation *op, const Tensor &value) {
  std::string base = "constant";
  Weight made = value.toWeight();
  for (Value operand : op->getOperands())
    if (auto weight = operand.getDefiningOp<prim::WeightOp>()) {
      if (const Weight *from = weights.describe(weight.getName()))
        made.role = from->role;
      auto folded = madeFrom.find(weight.getName());
      base = folded == madeFrom.end() ? weight.getName().str() : folded->second;
      break;
    }
  std::string name = weights.add(base + "." + op->getName().stripDialect().str(), std::move(made));
  madeFrom[name] = base;
  ++references[name];
  ++statistics.weights;
  return name;
}

TypedAttr scalarAttribute(Type type, const Tensor &value) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, value.real(0));
  return IntegerAttr::get(type, value.integer(0));
}

Value Folder::constantFor(OpBuilder &builder, Operation *op, Type type, const Tensor &value) {
  Location loc = op->getLoc();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return arith::ConstantOp::create(builder, loc, scalarAttribute(type, value));
  auto exact = RankedTensorType::get(value.shape(), tensor.getElementType());
  if (value.elements() <= options.smallElements || value.isSplat())
    return prim::ConstantOp::create(builder, loc, exact, reference::attributeOf(value, exact));
  return prim::WeightOp::create(builder, loc, exact, addWeight(op, value));
}

/// Operators of prim take a tensor of a more exact type; others get the type
/// that they had.
void Folder::replaceUses(OpBuilder &builder, Value old, Value constant) {
  if (old.getType() == constant.getType())
    return old.replaceAllUsesWith(constant);
  auto isPrim = [](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<prim::PrimDialect>(user->getDialect()) && user->getNumRegions() == 0 &&
           !user->hasTrait<OpTrait::IsTerminator>();
  };
  old.replaceUsesWithIf(constant, isPrim);
  if (old.use_empty())
    return;
  auto type = cast<RankedTensorType>(old.getType());
  SmallVector<Value> sizes;
  for (auto [dim, extent] :
       llvm::zip_equal(type.getShape(), cast<RankedTensorType>(constant.getType()).getShape()))
    if (ShapedType::isDynamic(dim))
      sizes.push_back(arith::ConstantIndexOp::create(builder, constant.getLoc(), extent));
  old.replaceAllUsesWith(
      prim::ReshapeOp::create(builder, constant.getLoc(), type, constant, sizes).getResult());
}

void Folder::replace(Operation *op, ArrayRef<Tensor> values) {
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (!result.use_empty())
      replaceUses(builder, result, constantFor(builder, op, result.getType(), value));
  ++statistics.folded;
  eraseIfUnused(op);
}

/// Erases `op` and the constants that only it used.
void Folder::eraseIfUnused(Operation *op) {
  if (!op->use_empty())
    return;
  SmallVector<Operation *, 4> operands;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && KnownValues::isConstant(source) && !llvm::is_contained(operands, source))
      operands.push_back(source);
  if (auto weight = dyn_cast<prim::WeightOp>(op))
    if (--references[weight.getName()] == 0)
      dropWeight(weight.getName());
  op->erase();
  for (Operation *source : operands)
    eraseIfUnused(source);
}

void Folder::eraseDead() {
  SmallVector<Operation *> all;
  // Backwards: users before what they use, a loop's body before the loop.
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { all.push_back(op); });
  for (Operation *op : llvm::reverse(all))
    if (isOpTriviallyDead(op))
      op->erase();
}

void Folder::dropWeight(StringRef name) {
  if (!ownsWeights)
    return;
  weights.erase(name);
  ++statistics.droppedWeights;
}

/// The first values of what the model keeps between runs.
SmallVector<StringRef> Folder::stateWeights() {
  SmallVector<StringRef> names;
  module.walk([&](FunctionOpInterface function) {
    Signature signature(function);
    for (unsigned i : signature.states())
      names.push_back(signature.firstValue(i));
  });
  return names;
}

void Folder::dropWeights() {
  llvm::StringSet<> named;
  module.walk([&](prim::WeightOp op) { named.insert(op.getName()); });
  for (StringRef name : stateWeights())
    named.insert(name);
  for (const std::string &name : weights.names())
    if (!named.contains(name))
      dropWeight(name);
}

FoldStatistics Folder::run() {
  SmallVector<Operation *> all;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    all.push_back(op);
    if (auto weight = dyn_cast<prim::WeightOp>(op))
      ++references[weight.getName()];
    ownsWeights &= op->getName().getDialectNamespace() != "graph";
  });
  for (StringRef name : stateWeights())
    ++references[name];
  for (Operation *op : all)
    visit(op);
  eraseDead();
  dropWeights();
  return statistics;
}

class FoldConstantsPass : public tcc::impl::FoldConstantsPassBase<FoldConstantsPass> {
public:
  FoldConstantsPass(WeightTable *weights, const FoldOptions &options)
      : weights(weights), options(options) {}
  void runOnOperation() override { foldConstants(getOperation(), *weights, options); }

private:
  WeightTable *weights;
  FoldOptions options;
};

} // namespace

FoldStatistics foldConstants(ModuleOp module, WeightTable &weights, const FoldOptions &options) {
  return Folder(module, weights, options).run();
}

std::unique_ptr<Pass> createFoldConstantsPass(WeightTable *weights, const FoldOptions &options) {
  return std::make_unique<FoldConstantsPass>(weights, options);
}

} // namespace tcc
