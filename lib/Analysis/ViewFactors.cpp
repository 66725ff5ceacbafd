//===- ViewFactors.cpp - Views as factors of axes ------------------------===//
//
// Reshapes merge and split axes, transposes order them, slices move their start. Written as
// factors with a stride each, any chain of them over static shapes is one map from axes to memory,
// which tells whether a product can read its operand in place.
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/ViewFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;

ViewFactors::ViewFactors(Value source, ArrayRef<OpFoldResult> extents)
    : base(source), baseExtents(extents), baseStarts(extents.size(), 0) {
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    viewAxes.emplace_back();
    if (getConstantIntValue(extent) == 1)
      continue;
    viewAxes.back().push_back(factors.size());
    sourceOrder.push_back(factors.size());
    factors.push_back({extent, static_cast<unsigned>(axis), 1});
  }
}

ViewFactors ViewFactors::of(Value view, ExtentsFn extents,
                            function_ref<bool(Operation *)> through) {
  constexpr unsigned kMaxLength = 32;
  SmallVector<Operation *> chain;
  Value source = view;
  while (Operation *op = source.getDefiningOp()) {
    if (!op->hasTrait<prim::StridedView>() || !through(op) || chain.size() == kMaxLength)
      break;
    chain.push_back(op);
    source = op->getOperand(0);
  }
  ViewFactors result(source, extents(source));
  for (Operation *op : llvm::reverse(chain)) {
    SmallVector<OpFoldResult> shape = extents(op->getResult(0));
    if (!result.apply(op, shape))
      result = ViewFactors(op->getResult(0), shape);
    else
      ++result.steps;
  }
  return result;
}

unsigned ViewFactors::split(unsigned id, int64_t inner) {
  Factor &outer = factors[id];
  MLIRContext *context = base.getContext();
  auto index = [&](int64_t v) { return IntegerAttr::get(IndexType::get(context), v); };
  Factor rest{index(inner), outer.axis, outer.scale};
  outer.extent = index(*getConstantIntValue(outer.extent) / inner);
  outer.scale *= inner;
  unsigned added = factors.size();
  factors.push_back(rest);
  sourceOrder.insert(llvm::find(sourceOrder, id) + 1, added);
  return added;
}

namespace {

/// An extent as a product: batch * 12 is what heads and batch are merged to.
struct Product {
  int64_t constant = 1;
  SmallVector<Value, 2> symbols;

  bool isOne() const { return constant == 1 && symbols.empty(); }
  void multiply(OpFoldResult extent) {
    constexpr size_t kMaxSymbols = 8;
    if (std::optional<int64_t> known = getConstantIntValue(extent)) {
      int64_t product;
      if (!llvm::MulOverflow(constant, *known, product)) {
        constant = product;
        return;
      }
    }
    auto value = dyn_cast<Value>(extent);
    auto factors = value ? value.getDefiningOp<arith::MulIOp>() : arith::MulIOp();
    if (!factors || symbols.size() == kMaxSymbols) {
      symbols.push_back(value);
      return;
    }
    multiply(factors.getLhs());
    multiply(factors.getRhs());
  }
  bool dropSymbol(OpFoldResult extent) {
    auto *at = llvm::find(symbols, dyn_cast<Value>(extent));
    if (at == symbols.end())
      return false;
    symbols.erase(at);
    return true;
  }
};

} // namespace

/// Takes the innermost factors of `flat` that make up `extent`, the last one cut if need be.
bool ViewFactors::takeFactors(OpFoldResult extent, SmallVectorImpl<unsigned> &flat, Axis &axis) {
  if (!flat.empty() && isEqualConstantIntOrValue(factors[flat.back()].extent, extent)) {
    axis.push_back(flat.pop_back_val());
    return true;
  }
  Product left;
  left.multiply(extent);
  while (!left.isOne()) {
    if (left.constant == 0 || flat.empty())
      return false;
    unsigned id = flat.back();
    std::optional<int64_t> have = getConstantIntValue(factors[id].extent);
    if (!have && !left.dropSymbol(factors[id].extent))
      return false;
    if (!have || (*have != 0 && left.constant % *have == 0)) {
      axis.push_back(id);
      flat.pop_back();
      left.constant /= have.value_or(1);
    } else if (*have != 0 && left.constant != 1 && *have % left.constant == 0) {
      axis.push_back(split(id, left.constant));
      left.constant = 1;
    } else {
      return false;
    }
  }
  return true;
}

/// The elements in row-major order, cut at the extents of another shape.
bool ViewFactors::regroup(ArrayRef<OpFoldResult> extents) {
  SmallVector<unsigned> flat; // what is left
  for (const Axis &axis : viewAxes)
    flat.append(axis);
  SmallVector<Axis> regrouped;
  // From the last axis on: there extents are known more often than at the front.
  for (OpFoldResult extent : llvm::reverse(extents))
    if (!takeFactors(extent, flat, regrouped.emplace_back()))
      return false;
  if (!flat.empty())
    return false;
  std::reverse(regrouped.begin(), regrouped.end());
  for (Axis &axis : regrouped)
    std::reverse(axis.begin(), axis.end());
  viewAxes = std::move(regrouped);
  return true;
}

bool ViewFactors::slice(prim::SliceOp op, ArrayRef<OpFoldResult> extents) {
  if (!op.getStarts().empty())
    return false;
  auto type = cast<RankedTensorType>(op.getX().getType());
  for (auto [i, start, step] : llvm::enumerate(op.getStaticStarts(), op.getSteps())) {
    bool whole = start == 0 && step == 1 && !type.isDynamicDim(i) &&
                 getConstantIntValue(extents[i]) == type.getDimSize(i);
    if (whole || viewAxes[i].empty())
      continue;
    if (viewAxes[i].size() != 1 || step < 1 || getConstantIntValue(extents[i]) == 0)
      return false;
  }
  for (auto [i, start, step] : llvm::enumerate(op.getStaticStarts(), op.getSteps())) {
    if (viewAxes[i].size() != 1)
      continue;
    Factor &part = factors[viewAxes[i][0]];
    baseStarts[part.axis] += start * part.scale;
    part.scale *= step;
    part.extent = extents[i];
    if (getConstantIntValue(extents[i]) == 1) {
      llvm::erase(sourceOrder, viewAxes[i][0]);
      viewAxes[i].clear();
    }
  }
  return true;
}

bool ViewFactors::apply(Operation *view, ArrayRef<OpFoldResult> extents) {
  if (auto transpose = dyn_cast<prim::TransposeOp>(view)) {
    SmallVector<Axis> permuted;
    for (int64_t axis : transpose.getPermutation())
      permuted.push_back(viewAxes[axis]);
    viewAxes = std::move(permuted);
    return true;
  }
  if (auto op = dyn_cast<prim::SliceOp>(view))
    return slice(op, extents);
  return regroup(extents);
}

bool ViewFactors::nested(unsigned outer, unsigned inner) const {
  const Factor &o = factors[outer], &i = factors[inner];
  std::optional<int64_t> extent = getConstantIntValue(i.extent);
  if (o.axis == i.axis)
    return extent && o.scale == i.scale * *extent;
  if (o.axis > i.axis || o.scale != 1)
    return false;
  for (unsigned axis = o.axis + 1; axis < i.axis; ++axis)
    if (getConstantIntValue(baseExtents[axis]) != 1)
      return false;
  if (std::optional<int64_t> whole = getConstantIntValue(baseExtents[i.axis]))
    return extent && i.scale * *extent == *whole;
  return i.scale == 1 && isEqualConstantIntOrValue(i.extent, baseExtents[i.axis]);
}

bool ViewFactors::isStrided() const {
  for (const Axis &axis : viewAxes)
    for (size_t i = 0; i + 1 < axis.size(); ++i)
      if (!nested(axis[i], axis[i + 1]))
        return false;
  return true;
}
