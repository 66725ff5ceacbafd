//===- IntegerWeights.cpp - Products read weights of 8 bits as they are ---===//
//
// Weights of 8 bits with a scale a column are widened before the product in the graph:
//
//   %f = prim.cast %w                    // i8 -> f32
//   %s = prim.mul %f, %scale             // one number for each column
//   %y = prim.dot %x, %s
// becomes
//   %p = prim.dot %x, %w                 // f32 by i8
//   %y = prim.mul %p, %scale'
//
// Folding them would store four times the bytes, and a product of few rows takes as long as its
// weights take to come from memory. The numbers are the same before they are multiplied, and
// their scale is rounded into the sum instead of into each weight.
//
// Floats narrower than f32 would round the sum before it is scaled: there only products that
// have no scale before them read integers. Of rows that are known to be many each weight that has
// come is multiplied often, and widened as often: they are left to constant folding, as is what has
// zero points other than 0, or to what keeps integers with a scale a group
// (LayoutAssign/Cpu/GroupedWeights.cpp).
// Runs before constant folding, for targets whose products read such weights.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Iterators.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/WeightTable.h"

namespace tcc {
#define GEN_PASS_DEF_INTEGERWEIGHTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// integers * scales, a product's right side.
struct ScaledIntegers {
  Value integers;
  SmallVector<Value> scales; ///< of one element, or one for each column
};

} // namespace

/// What `factor` repeats along all axes but that of the columns: an element, or one for each.
static Value perColumn(OpBuilder &b, Value factor, int64_t columns) {
  auto broadcast = factor.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return {};
  auto from = tensorType(broadcast.getX());
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::zip_equal(broadcast.getAxes(), from.getShape())) {
    if (extent == 1)
      continue;
    if (axis != columns || ShapedType::isDynamic(extent))
      return {};
    shape.push_back(extent);
  }
  auto type = RankedTensorType::get(shape, from.getElementType());
  if (type == from)
    return broadcast.getX();
  return prim::ReshapeOp::create(b, factor.getLoc(), type, broadcast.getX(), ValueRange());
}

/// Whether all that `value` repeats is 0, as zero points often are.
static bool isZero(Value value, const WeightTable &weights) {
  Operation *op = value.getDefiningOp();
  while (isa_and_present<prim::BroadcastOp, prim::ReshapeOp, prim::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return dense && llvm::all_of(dense.getRawData(), [](char byte) { return byte == 0; });
  }
  auto weight = dyn_cast_or_null<prim::WeightOp>(op);
  const Weight *known = weight ? weights.lookup(weight.getName()) : nullptr;
  return known && !known->maker && llvm::all_of(known->bytes, [](char byte) { return byte == 0; });
}

/// Takes `value`, which nobody else reads, apart.
static std::optional<ScaledIntegers> scaledIntegers(OpBuilder &b, Value value, int64_t columns,
                                                    const WeightTable &weights) {
  ScaledIntegers found;
  while (value.hasOneUse()) {
    if (auto cast = value.getDefiningOp<prim::CastOp>()) {
      auto weight = cast.getX().getDefiningOp<prim::WeightOp>();
      if (!weight || !tensorType(cast.getX()).getElementType().isInteger(8))
        return std::nullopt;
      found.integers = cast.getX();
      return found;
    }
    if (auto sub = value.getDefiningOp<prim::SubOp>(); sub && isZero(sub.getRhs(), weights)) {
      value = sub.getLhs();
      continue;
    }
    auto mul = value.getDefiningOp<prim::MulOp>();
    if (!mul)
      return std::nullopt;
    value = mul.getLhs();
    Value scale = perColumn(b, mul.getRhs(), columns);
    if (!scale) {
      value = mul.getRhs();
      scale = perColumn(b, mul.getLhs(), columns);
    }
    if (!scale)
      return std::nullopt;
    found.scales.push_back(scale);
  }
  return std::nullopt;
}

/// Whether runs have few rows of `lhs`, or may have. Floats that are `narrow` have instructions of
/// their own where both sides are, for the many rows that there may be instead.
static bool mayHaveFewRows(prim::DotOp op, bool narrow) {
  constexpr int64_t fewRows = 16;
  int64_t rows = 1;
  for (auto [axis, extent] : llvm::enumerate(tensorType(op.getLhs()).getShape())) {
    if (llvm::is_contained(op.getLhsContract(), int64_t(axis)))
      continue;
    if (ShapedType::isDynamic(extent) && narrow)
      return false;
    rows *= ShapedType::isDynamic(extent) ? 1 : extent;
  }
  return rows <= fewRows;
}

static void takeIntegers(prim::DotOp op, const WeightTable &weights) {
  auto element = [](Value v) { return tensorType(v).getElementType(); };
  Type sum = element(op.getResult());
  bool isNarrow = sum.isF16() || sum.isBF16();
  if (!(sum.isF32() || isNarrow) || element(op.getLhs()) != sum || element(op.getRhs()) != sum ||
      tensorType(op.getRhs()).getRank() != 2 || !op.getRhsBatch().empty() ||
      op.getRhsContract().size() != 1 || !mayHaveFewRows(op, isNarrow))
    return;
  OpBuilder b(op);
  auto found = scaledIntegers(b, op.getRhs(), 1 - op.getRhsContract()[0], weights);
  if (!found || (isNarrow && !found->scales.empty()))
    return;
  op.getRhsMutable().assign(found->integers);
  b.setInsertionPointAfter(op);
  Location loc = op.getLoc();
  RankedTensorType type = tensorType(op.getResult());
  SmallVector<Value> sizes;
  for (auto [axis, d] : llvm::enumerate(prim::dimsOf(b, loc, op.getResult())))
    if (type.isDynamicDim(axis))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, d));
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op.getResult().getUses())
    if (!isa<prim::DimOp>(use.getOwner()))
      uses.push_back(&use);
  Value scaled = op.getResult();
  for (Value scale : found->scales) {
    SmallVector<int64_t> axes(tensorType(scale).getRank(), type.getRank() - 1);
    Value all = prim::BroadcastOp::create(b, loc, type, scale, axes, sizes);
    scaled = prim::MulOp::create(b, loc, type, scaled, all);
  }
  for (OpOperand *use : uses)
    use->set(scaled);
}

namespace {

class IntegerWeightsPass : public tcc::impl::IntegerWeightsPassBase<IntegerWeightsPass> {
public:
  explicit IntegerWeightsPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    // Transposes that products have absorbed read nothing for anybody.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isa<prim::PrimDialect>(op->getDialect()) && isOpTriviallyDead(op))
        op->erase();
    });
    getOperation().walk([&](prim::DotOp op) { takeIntegers(op, *weights); });
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createIntegerWeightsPass(WeightTable *weights) {
  return std::make_unique<IntegerWeightsPass>(weights);
}
