//===- VectorProducts.cpp - A matrix by a vector is rows summed up --------===//
//
// The templates of products keep tiles of rows and columns in registers, and lanes are columns.
// A product with one column, whose matrix lies along what is summed, has neither: its columns
// would be copied into panels that are empty but for one. It is the sum of each row's products,
// read once, in the order in which it lies. GPUs have a template for few columns; a few long sums
// of it leave most multiprocessors idle, where a reduction is shared by blocks.
//
// Packed weights are read in panels where they come from memory, or are narrower than what is
// summed. Where they stay in L2, 512-bit code sums rows without the tile's steps: a recurrent
// layer's take 3.29 ms of 512 runs so, and 3.71 in panels. With 16 registers panels beside each
// other are faster, since the lanes of each row's sum need not be added up
// (docs/Rationale/recurrent-layers.md). Rows are summed, on CPUs, for a matrix and a vector each of
// a batch too, but for those that attention is recognised by; how many rows there are and how long
// they are may be open.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DECL_VECTORPRODUCTSPASS
#define GEN_PASS_DEF_VECTORPRODUCTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class VectorProductsPass : public tcc::impl::VectorProductsPassBase<VectorProductsPass> {
public:
  explicit VectorProductsPass(VectorProducts which) : cpu(which.cpu) {
    mostRows = which.mostRows;
    shortest = which.shortest;
  }
  void runOnOperation() override {
    SmallVector<prim::DotOp> products;
    getOperation().walk([&](prim::DotOp op) {
      products.push_back(op);
      if (std::optional<AttentionForm> form = matchAttention(op))
        attention.insert_range(ArrayRef<Operation *>{form->scores, form->values});
    });
    for (prim::DotOp op : products)
      rewrite(op);
  }

private:
  void rewrite(prim::DotOp op);
  bool mayHaveBatch(prim::DotOp op) const;
  bool staysPacked(Value matrix) const;

  const CpuTarget *cpu;
  DenseSet<Operation *> attention; ///< its products
};

} // namespace

/// `x` in elements of type `e`.
static Value castTo(OpBuilder &b, Location loc, Value x, Type e) {
  auto type = RankedTensorType::get(tensorType(x).getShape(), e);
  return x.getType() == type ? x : Value(prim::CastOp::create(b, loc, type, x));
}

bool VectorProductsPass::staysPacked(Value matrix) const {
  RankedTensorType type = tensorType(matrix);
  if (!prim::layoutOf(matrix))
    return false;
  constexpr unsigned manyRegisters = 32;
  bool isNear =
      cpu && cpu->vectorRegisters >= manyRegisters && type.getNumElements() * 4 <= cpu->l2Bytes;
  return !isNear || !type.getElementType().isF32() || cpu::groupedOf(matrix);
}

/// Whether a product's batch, if it has one, is the first axes of both sides.
bool VectorProductsPass::mayHaveBatch(prim::DotOp op) const {
  auto first = llvm::seq<int64_t>(0, op.getLhsBatch().size());
  return first.empty() || (cpu && !attention.contains(op) && llvm::equal(op.getLhsBatch(), first) &&
                           llvm::equal(op.getRhsBatch(), first));
}

void VectorProductsPass::rewrite(prim::DotOp op) {
  auto result = tensorType(op.getResult());
  auto isStatic = [](Value v) { return tensorType(v).hasStaticShape(); };
  if (!mayHaveBatch(op) || op.getLhsContract().size() != 1 ||
      !isa<FloatType>(result.getElementType()) ||
      (mostRows > 0 && !llvm::all_of(op->getOperands(), isStatic)))
    return;
  size_t batchRank = op.getLhsBatch().size();
  int64_t length = tensorType(op.getLhs()).getDimSize(op.getLhsContract()[0]);
  bool isOpen = ShapedType::isDynamic(length);
  if (!isOpen && (length < shortest || length == 0)) // without terms there is nothing to read
    return;
  auto isVector = [&](Value v, ArrayRef<int64_t> batch, int64_t summed) {
    for (auto [axis, extent] : llvm::enumerate(tensorType(v).getShape()))
      if (extent != 1 && int64_t(axis) != summed && !llvm::is_contained(batch, axis))
        return false;
    return true;
  };
  auto liesAlong = [&](Value v, int64_t axis) {
    return axis + 1 == tensorType(v).getRank() && !staysPacked(v);
  };
  Value matrix = op.getLhs(), vector = op.getRhs();
  int64_t ofMatrix = op.getLhsContract()[0], ofVector = op.getRhsContract()[0];
  ArrayRef<int64_t> batchOfVector = op.getRhsBatch();
  if (!isVector(vector, batchOfVector, ofVector) || !liesAlong(matrix, ofMatrix)) {
    std::swap(matrix, vector);
    std::swap(ofMatrix, ofVector);
    batchOfVector = op.getLhsBatch();
    if (!isVector(vector, batchOfVector, ofVector) || !liesAlong(matrix, ofMatrix))
      return;
  }
  if (mostRows > 0 && tensorType(matrix).getNumElements() > mostRows * length)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type e = result.getElementType(), wide = e.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : e;
  auto type = RankedTensorType::get(tensorType(matrix).getShape(), wide);
  SmallVector<int64_t> vectors; // one each
  SmallVector<Value> sizes;
  auto take = [&](int64_t axis) {
    vectors.push_back(tensorType(vector).getDimSize(axis));
    if (ShapedType::isDynamic(vectors.back()))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, prim::dimOf(b, loc, vector, axis)));
  };
  llvm::for_each(batchOfVector, take);
  take(ofVector);
  SmallVector<Value> open = openExtents(b, matrix), ofResult = openExtents(b, op.getResult());
  vector = castTo(b, loc, vector, wide);
  vector = prim::ReshapeOp::create(b, loc, RankedTensorType::get(vectors, wide), vector, sizes);
  int64_t last = type.getRank() - 1;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, batchRank));
  axes.push_back(last);
  Value spread = prim::BroadcastOp::create(b, loc, type, vector, axes, open);
  Value products = prim::MulOp::create(b, loc, type, castTo(b, loc, matrix, wide), spread);
  auto rows = RankedTensorType::get(type.getShape().drop_back(), wide);
  Value sums = prim::ReduceOp::create(b, loc, rows, prim::ReduceKind::sum, products,
                                      ArrayRef<int64_t>{last});
  sums = castTo(b, loc, sums, e);
  op.replaceAllUsesWith(prim::ReshapeOp::create(b, loc, result, sums, ofResult).getResult());
  op.erase();
}

std::unique_ptr<Pass> tcc::createVectorProductsPass(VectorProducts which) {
  return std::make_unique<VectorProductsPass>(which);
}
