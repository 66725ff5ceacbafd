//===- ProductRows.cpp - Products keep the axes of their rows -------------===//
//
// Exporters flatten the rows of a linear layer before its product and give them their axes back
// after its bias. A product names the axes that it sums, so its rows may have any number of axes;
// flattened ones only stand between the product and what follows it, which would go through
// memory.
//
//   %f = prim.reshape %x to [4096, 768]                %p = prim.dot %x, %w -> [8, 512, 3072]
//   %p = prim.dot %f, %w -> [4096, 3072]               %q = prim.add %p, broadcast %bias
//   %q = prim.add %p, broadcast %bias
//   %r = prim.reshape %q to [8, 512, 3072]
//
// All that is computed from the product in flattened rows has to be elementwise, a product of
// flattened rows again, or a reshape, and at least one reshape has to undo the first: else another
// reshape would take its place. What else elementwise operators read has to be the same for all
// rows, or of unflattened rows as well. Heads of attention that are joined to columns stay a
// reshape of what has the rows' axes already.
//
//===----------------------------------------------------------------------===//
#include "RowRegion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_PRODUCTROWSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// What is computed in the flattened rows of one product.
class FlattenedRows : public RowRegion {
public:
  bool collect(prim::DotOp dot) override;

private:
  bool isEnd(Operation *user) override {
    return isa<prim::ReshapeOp>(user) && tensorType(user->getResult(0)).hasStaticShape();
  }
  RankedTensorType typeOf(Value v) override {
    SmallVector<int64_t> shape(rows);
    shape.push_back(tensorType(v).getShape().back());
    return tensorType(v).clone(shape);
  }
  bool isThere(Value operand) override;
  Value there(OpBuilder &b, Value operand) override;
  void restore(Operation *end, Value made) override;

  SmallVector<int64_t> rows; ///< extents
};

} // namespace

/// The extents of the rows that `reshape` numbers otherwise, of columns of which it makes one axis
/// at most; none where it does more.
static std::optional<SmallVector<int64_t>> rowsBefore(prim::ReshapeOp reshape) {
  auto from = tensorType(reshape.getX()), to = tensorType(reshape.getResult());
  if (!from.hasStaticShape() || !to.hasStaticShape() || to.getRank() < 2 ||
      to.getShape().back() <= 0)
    return std::nullopt;
  int64_t columns = 1, rank = from.getRank();
  while (rank > 0 && columns < to.getShape().back())
    columns *= from.getDimSize(--rank);
  if (columns != to.getShape().back() || rank == 0)
    return std::nullopt;
  return SmallVector<int64_t>(from.getShape().take_front(rank));
}

bool FlattenedRows::isThere(Value operand) {
  auto reshape = operand.getDefiningOp<prim::ReshapeOp>();
  return reshape && rowsBefore(reshape) == rows;
}

Value FlattenedRows::there(OpBuilder &b, Value operand) {
  Value x = operand.getDefiningOp<prim::ReshapeOp>().getX();
  RankedTensorType type = typeOf(operand);
  return x.getType() == type ? x
                             : prim::ReshapeOp::create(b, operand.getLoc(), type, x, ValueRange());
}

bool FlattenedRows::collect(prim::DotOp dot) {
  auto flattening = dot.getLhs().getDefiningOp<prim::ReshapeOp>();
  auto before = flattening ? rowsBefore(flattening) : std::nullopt;
  if (!before || !isProductOfRows(dot) ||
      ArrayRef<int64_t>(*before) == tensorType(dot.getLhs()).getShape().drop_back())
    return false;
  rows = *before;
  return follow(dot) && llvm::any_of(ends, [&](Operation *end) {
           return end->getResult(0).getType() == typeOf(end->getOperand(0));
         });
}

void FlattenedRows::restore(Operation *end, Value made) {
  OpBuilder b(end);
  if (made.getType() != end->getResult(0).getType())
    made =
        prim::ReshapeOp::create(b, end->getLoc(), end->getResult(0).getType(), made, ValueRange());
  end->getResult(0).replaceAllUsesWith(made);
  end->erase();
}

namespace {

class ProductRowsPass : public tcc::impl::ProductRowsPassBase<ProductRowsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      for (auto it = block->begin(); it != block->end();) {
        auto dot = dyn_cast<prim::DotOp>(*it);
        FlattenedRows flattened;
        if (!dot || !flattened.collect(dot)) {
          ++it;
          continue;
        }
        Operation *flattening = dot.getLhs().getDefiningOp();
        it = std::next(flattened.rebuild()->getIterator());
        if (flattening->use_empty())
          flattening->erase();
      }
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createProductRowsPass() { return std::make_unique<ProductRowsPass>(); }
