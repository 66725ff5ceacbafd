//===- Narrow.cpp - Products and what lies between kernels in 16 bits -----===//
//
// --precision bf16 or f16 computes an f32 model as one that was exported in that type,
// but rounds less: operands of products, and values that may lie in memory between two
// kernels, are rounded to the type; sums are kept in f32, and so is all arithmetic
// between two roundings.
//
//   %p = prim.dot %x, %w             %w' = prim.cast %w : to bf16   // folded: half the size
//   %s = prim.add %p, %bias          %p = prim.dot %x', %w' : to f32
//   %y = prim.maximum %s, %zero      %s = prim.add %p, %bias
//   %q = prim.dot %y, %v             %y = prim.maximum %s, %zero
//                                    %y' = prim.cast %y : to bf16
//                                    %q = prim.dot %y', %v' : to f32
//
// Where a value is rounded is decided here, before fusion, and is in the IR: %y is
// rounded for all of its readers, also for those that end up in its kernel, so results do
// not depend on how kernels are formed.
//
// A value is rounded that a product reads, through views as well. One that comes from a
// product or a table is rounded where kernels may be cut: where an operator reads it that
// is not elementwise, or elementwise ones do that do not meet again. What comes from a
// product is rounded before it meets, in an elementwise operator, a value from elsewhere
// (the two branches of a residual block).
//
// What depends on a reduction stays in f32 up to the next product: the inside of a norm or
// softmax. So do products of which a maximum is taken, the scores of an attention: half a
// unit of bf16 in a score of 16 is 6 % of its probability. Products that sum nothing
// (positions times frequencies) are multiplications. Inputs, outputs, state and what loops
// carry have types that others know; a product of an input reads a narrow copy. Weights
// with values beyond the type's range stay, and so does what they are multiplied with.
//
// Views and gathers of narrow values are taken in the narrow type, as is a maximum over
// windows. Fusion copies a cast back to f32 into every reader (Fusion/Clusters.cpp), so
// that it is never stored. Runs first in its phase: scales are in the weights already, and
// layout sees casts as elementwise. Constants are folded after it.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include <cmath>
#include <set>

namespace tcc {
#define GEN_PASS_DECL_NARROWPASS
#define GEN_PASS_DEF_NARROWPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

static constexpr std::pair<StringRef, Precision> kPrecisions[] = {{"f32", Precision::F32},
                                                                  {"tf32", Precision::TF32},
                                                                  {"bf16", Precision::BF16},
                                                                  {"f16", Precision::F16}};

StringRef tcc::nameOf(Precision precision) {
  return llvm::find_if(kPrecisions, [&](auto &p) { return p.second == precision; })->first;
}

std::optional<Precision> tcc::precisionOf(StringRef name) {
  for (auto &[text, precision] : kPrecisions)
    if (text == name)
      return precision;
  return std::nullopt;
}

static bool isF32(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getElementType().isF32();
}

static bool isProduct(Operation *op) { return isa<prim::DotOp, prim::ConvOp>(op); }

/// Operators whose result has values of operand 0 (all operands: of a concatenation) and no
/// others, so that rounding commutes with them.
static bool movesValues(Operation *op) {
  if (auto pool = dyn_cast<prim::PoolOp>(op))
    return pool.getKind() == prim::ReduceKind::max || pool.getKind() == prim::ReduceKind::min;
  return isa<prim::TransposeOp, prim::ReshapeOp, prim::BroadcastOp, prim::SliceOp, prim::ReverseOp,
             prim::ConcatOp, prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp>(op);
}

static bool isConstant(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<prim::BroadcastOp, prim::ReshapeOp, prim::TransposeOp>(op))
    return isConstant(op->getOperand(0));
  return isa_and_nonnull<prim::ConstantOp, prim::WeightOp>(op);
}

namespace {

class Narrow {
public:
  Narrow(WeightTable &weights, FloatType type) : weights(weights), type(type) {}
  void run(Block &block);

private:
  void visit(Operation *op);
  void visitProduct(Operation *op);
  bool rebuild(Operation *op);
  void follow(Operation *op);
  void roundIfCut(Value v);
  bool isCut(Value v);
  bool meetsAgain(Value v);
  bool comesFrom(Value x, Operation *origin, unsigned depth);
  bool meetsOther(Value v);
  bool fits(Value constant);
  Value known(Value v);
  Value narrowed(Value v);
  Value castOf(OpBuilder &b, Value v, Type to);
  void replace(Value old, Value narrow);

  WeightTable &weights;
  FloatType type;
  DenseMap<Value, Value> narrowOf; ///< f32 values that a narrow one holds exactly, or stands for
  DenseMap<Value, Operation *> product; ///< of sums not rounded yet: where they come from
  DenseSet<Value> derived;              ///< from products or tables
  DenseSet<Value> reduced;              ///< from a reduction, with no product since
};

} // namespace

//===----------------------------------------------------------------------===//
// Narrow forms
//===----------------------------------------------------------------------===//

Value Narrow::castOf(OpBuilder &b, Value v, Type to) {
  auto shape = cast<RankedTensorType>(v.getType()).clone(to);
  return prim::CastOp::create(b, v.getLoc(), shape, v, /*saturate=*/true);
}

/// Whether all finite values of a constant stay finite in the narrow type.
bool Narrow::fits(Value constant) {
  while (!isa<prim::ConstantOp, prim::WeightOp>(constant.getDefiningOp()))
    constant = constant.getDefiningOp()->getOperand(0);
  auto results = reference::evaluateOp(constant.getDefiningOp(), {}, weights);
  if (!results) {
    llvm::consumeError(results.takeError());
    return false;
  }
  const reference::Tensor &tensor = (*results)[0];
  const auto *values = tensor.as<float>();
  // Half a unit above the largest value rounds to infinity.
  APFloat largest = APFloat::getLargest(type.getFloatSemantics());
  bool lost;
  largest.convert(APFloat::IEEEsingle(), APFloat::rmTowardZero, &lost);
  float limit = largest.convertToFloat();
  return std::all_of(values, values + tensor.elements(),
                     [&](float v) { return !std::isfinite(v) || std::fabs(v) <= limit; });
}

/// The narrow value that holds `v` exactly or stands for it, if there is one.
Value Narrow::known(Value v) {
  if (Value narrow = narrowOf.lookup(v))
    return narrow;
  if (auto cast = v.getDefiningOp<prim::CastOp>();
      cast && isF32(v) &&
      mlir::cast<RankedTensorType>(cast.getX().getType()).getElementType() == type)
    return cast.getX();
  return {};
}

/// The same, made right after `v` where there was none; null for constants out of range.
Value Narrow::narrowed(Value v) {
  if (Value narrow = known(v))
    return narrow;
  if (prim::layoutOf(v) || (isConstant(v) && !fits(v)))
    return {};
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(v);
  return narrowOf[v] = castOf(b, v, type);
}

/// Lets all readers of `old` read `narrow`.
void Narrow::replace(Value old, Value narrow) {
  OpBuilder b(old.getContext());
  b.setInsertionPointAfterValue(narrow);
  Value wide = castOf(b, narrow, b.getF32Type());
  Operation *rounding = narrow.getDefiningOp();
  old.replaceUsesWithIf(wide, [&](OpOperand &use) { return use.getOwner() != rounding; });
  narrowOf[wide] = narrow;
  derived.insert(wide);
}

//===----------------------------------------------------------------------===//
// Where values are rounded
//===----------------------------------------------------------------------===//

/// Whether a product reads `v`, if through views.
static bool isFactor(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    return isProduct(user) || (movesValues(user) && isFactor(user->getResult(0)));
  });
}

/// Whether a maximum is taken of `v` after elementwise operators.
static bool isMaximised(Value v, unsigned depth = 8) {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    if (auto reduce = dyn_cast<prim::ReduceOp>(user))
      return reduce.getKind() == prim::ReduceKind::max;
    bool follows = prim::isElementwise(user) || isa<prim::ReshapeOp, prim::TransposeOp>(user);
    return follows && depth > 0 && !isFactor(user->getResult(0)) &&
           isMaximised(user->getResult(0), depth - 1);
  });
}

/// Users that compute with `v`, in program order; nullopt where one is not elementwise or in
/// another block.
static std::optional<SmallVector<Operation *>> elementwiseUsers(Value v) {
  SmallVector<Operation *> users;
  for (Operation *user : v.getUsers()) {
    if (!prim::isElementwise(user) || user->getBlock() != v.getParentBlock())
      return std::nullopt;
    if (!llvm::is_contained(users, user))
      users.push_back(user);
  }
  return users;
}

/// Whether what is computed from `v` elementwise comes together in one value, which is then
/// all that others read.
bool Narrow::meetsAgain(Value v) {
  constexpr unsigned kMost = 32;
  auto before = [](Operation *a, Operation *b) { return a != b && a->isBeforeInBlock(b); };
  std::set<Operation *, decltype(before)> open(before);
  Value at = v;
  for (unsigned steps = 0; steps < kMost; ++steps) {
    auto users = elementwiseUsers(at);
    if (!users)
      return false;
    open.insert(users->begin(), users->end());
    if (open.empty())
      return false;
    Operation *next = *open.begin();
    open.erase(open.begin());
    if (open.empty())
      return true;
    at = next->getResult(0);
  }
  return false;
}

/// Whether `x` is computed elementwise from constants and from what `origin` sums.
bool Narrow::comesFrom(Value x, Operation *origin, unsigned depth) {
  if (isConstant(x) || x.getDefiningOp() == origin || product.lookup(x) == origin)
    return true;
  Operation *op = x.getDefiningOp();
  return op && depth > 0 && prim::isElementwise(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return comesFrom(operand, origin, depth - 1); });
}

/// Whether an elementwise reader of a sum takes a value that comes neither from the same product
/// nor from constants.
bool Narrow::meetsOther(Value v) {
  constexpr unsigned kDepth = 8;
  Operation *origin = product.lookup(v);
  return origin && llvm::any_of(v.getUsers(), [&](Operation *user) {
           return llvm::any_of(user->getOperands(),
                               [&](Value other) { return !comesFrom(other, origin, kDepth); });
         });
}

static bool isOnlyYielded(Value v) {
  return llvm::all_of(v.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() || isa<prim::DimOp>(user);
  });
}

bool Narrow::isCut(Value v) {
  if (!isF32(v) || !derived.contains(v) || known(v) || isOnlyYielded(v))
    return false;
  if (isFactor(v))
    return true;
  return !reduced.contains(v) && !isMaximised(v) && (!meetsAgain(v) || meetsOther(v));
}

void Narrow::roundIfCut(Value v) {
  if (!isCut(v))
    return;
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(v);
  replace(v, castOf(b, v, type));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Whether an axis of more than one element, or a whole window, is summed.
static bool sums(Operation *op) {
  auto dot = dyn_cast<prim::DotOp>(op);
  return !dot || llvm::any_of(dot.getLhsContract(), [&](int64_t axis) {
    return cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(axis) != 1;
  });
}

void Narrow::visitProduct(Operation *op) {
  if (!isF32(op->getOperand(0)) || !isF32(op->getOperand(1)) || !isF32(op->getResult(0)))
    return;
  if (!sums(op))
    return follow(op);
  Value factors[] = {narrowed(op->getOperand(0)), narrowed(op->getOperand(1))};
  if (!factors[0] || !factors[1])
    return follow(op);
  op->setOperand(0, factors[0]);
  op->setOperand(1, factors[1]);
  Value result = op->getResult(0);
  derived.insert(result);
  product[result] = op;
  roundIfCut(result);
}

/// Whether rows of a weight are taken, as of an embedding; single numbers (thresholds of trees)
/// are no embedding.
static bool isRowOfTable(Operation *op) {
  auto take = dyn_cast<prim::TakeOp>(op);
  return take && take.getX().getDefiningOp<prim::WeightOp>() && take.getAxis() == 0 &&
         cast<RankedTensorType>(take.getX().getType()).getRank() >= 2;
}

/// Moves narrow values instead of wide ones; a table of which rows are taken is made narrow.
bool Narrow::rebuild(Operation *op) {
  if (!movesValues(op) || !isF32(op->getResult(0)))
    return false;
  SmallVector<Value> operands(op->getOperands());
  unsigned sources = isa<prim::ConcatOp>(op) ? operands.size() : 1;
  bool isTable = isRowOfTable(op);
  for (unsigned i = 0; i < sources; ++i) {
    operands[i] = isTable ? narrowed(operands[i]) : known(operands[i]);
    if (!operands[i])
      return false;
  }
  OpBuilder b(op);
  auto result = cast<RankedTensorType>(op->getResult(0).getType()).clone(type);
  OperationState state(op->getLoc(), op->getName(), operands, result, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *moved = b.create(state);
  replace(op->getResult(0), moved->getResult(0));
  op->erase();
  return true;
}

/// What is known of the operands holds for the results.
void Narrow::follow(Operation *op) {
  bool isElementwise = prim::isElementwise(op);
  for (Value result : op->getResults()) {
    if (!isF32(result))
      continue;
    for (Value operand : op->getOperands()) {
      if (derived.contains(operand))
        derived.insert(result);
      if (reduced.contains(operand) || isa<prim::ReduceOp>(op))
        reduced.insert(result);
      if (Operation *origin = isElementwise ? product.lookup(operand) : nullptr)
        product[result] = origin;
    }
    if (isElementwise || isa<prim::ConcatOp>(op) || isFactor(result))
      roundIfCut(result);
  }
}

void Narrow::visit(Operation *op) {
  if (isProduct(op))
    return visitProduct(op);
  if (!rebuild(op))
    follow(op);
}

void Narrow::run(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      for (Block &nested : region)
        run(nested);
    if (op->getNumRegions() == 0)
      visit(op);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {

class NarrowPass : public tcc::impl::NarrowPassBase<NarrowPass> {
public:
  NarrowPass(WeightTable *weights, Precision precision) : weights(weights) {
    this->precision = precision;
  }
  NarrowPass(const NarrowPass &other) : NarrowPassBase(other), weights(other.weights) {}
  void runOnOperation() override {
    if (precision != Precision::BF16 && precision != Precision::F16)
      return;
    Builder b(&getContext());
    FloatType type = precision == Precision::F16 ? FloatType(b.getF16Type()) : b.getBF16Type();
    Narrow narrow(*weights, type);
    for (auto function : getOperation().getOps<func::FuncOp>())
      narrow.run(function.getBody().front());
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createNarrowPass(WeightTable *weights, Precision precision) {
  return std::make_unique<NarrowPass>(weights, precision);
}
