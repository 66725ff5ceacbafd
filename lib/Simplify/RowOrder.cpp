//===- RowOrder.cpp - Products take rows in the order in which they lie ---===//
//
// Modules that want the sequence first transpose what lies batch first, multiply it, and transpose
// what comes of it. Rows of a product are in any order, so it may as well take those that lie there
// and leave the transpose to what reads its result: attention, which finds its heads wherever they
// are, or a transpose back, which vanishes.
//
//   %t = prim.transpose %x [1, 0, 2]                   %p = prim.dot %x, %w -> [32, 197, 2304]
//   %p = prim.dot %t, %w -> [197, 32, 2304]            %q = prim.add %p, broadcast %bias
//   %q = prim.add %p, broadcast %bias                  %t = prim.transpose %q [1, 0, 2]
//
// Otherwise the transpose would be in the way of what makes %x: a norm of rows cannot be stored in
// another order of rows, and was computed in two kernels.
//
// All results have to go, through views alone, to products that have an axis of batches (the heads
// of attention, which keep their order), or to a transpose that gives them the order of %x. Heads
// that were joined to columns may be between the transpose and the product.
//
//===----------------------------------------------------------------------===//
#include "RowRegion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_ROWORDERPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// A value of rows that a transpose has put in another order.
struct Reordered {
  prim::TransposeOp transpose;
  SmallVector<int64_t> order; ///< which of the value's axes is the first, second... in the source

  static std::optional<Reordered> of(Value v);
};

/// What is computed in reordered rows of one product.
class ReorderedRows : public RowRegion {
public:
  bool collect(prim::DotOp dot) override;

private:
  bool isEnd(Operation *user) override;
  bool undoes(Operation *end) {
    auto transpose = dyn_cast<prim::TransposeOp>(end);
    return transpose && transpose.getPermutation() == ArrayRef<int64_t>(order);
  }
  RankedTensorType typeOf(Value v) override {
    SmallVector<int64_t> shape;
    for (int64_t axis : order)
      shape.push_back(tensorType(v).getDimSize(axis));
    return tensorType(v).clone(shape);
  }
  bool isThere(Value operand) override {
    auto reordered = Reordered::of(operand);
    return reordered && reordered->order == order;
  }
  Value there(OpBuilder &b, Value operand) override;
  void restore(Operation *end, Value made) override;

  SmallVector<int64_t> order; ///< as of Reordered
};

} // namespace

/// Through a reshape that joins axes to columns.
std::optional<Reordered> Reordered::of(Value v) {
  auto type = tensorType(v);
  int64_t rows = type.getRank() - 1;
  if (auto joined = v.getDefiningOp<prim::ReshapeOp>()) {
    auto from = tensorType(joined.getX());
    if (!from.hasStaticShape() || !type.hasStaticShape() || from.getRank() <= rows ||
        from.getShape().take_front(rows) != type.getShape().take_front(rows))
      return std::nullopt;
    v = joined.getX();
  }
  auto transpose = v.getDefiningOp<prim::TransposeOp>();
  if (!transpose || rows < 2)
    return std::nullopt;
  ArrayRef<int64_t> axes = transpose.getPermutation().take_front(rows);
  if (llvm::is_sorted(axes))
    return std::nullopt;
  Reordered found{transpose, llvm::to_vector(llvm::seq<int64_t>(0, rows + 1))};
  llvm::sort(found.order.begin(), found.order.end() - 1,
             [&](int64_t a, int64_t c) { return axes[a] < axes[c]; });
  return found;
}

Value ReorderedRows::there(OpBuilder &b, Value operand) {
  prim::TransposeOp transpose = Reordered::of(operand)->transpose;
  SmallVector<int64_t> permutation(transpose.getPermutation());
  llvm::sort(permutation.begin(), permutation.begin() + (order.size() - 1));
  Value x = transpose.getX();
  if (!llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size()))) {
    SmallVector<int64_t> shape;
    for (int64_t axis : permutation)
      shape.push_back(tensorType(x).getDimSize(axis));
    x = prim::TransposeOp::create(b, transpose.getLoc(), tensorType(x).clone(shape), x,
                                  permutation);
  }
  RankedTensorType type = typeOf(operand);
  return x.getType() == type ? x
                             : prim::ReshapeOp::create(b, operand.getLoc(), type, x, ValueRange());
}

/// Whether all that reads `v`, through views alone, is a product over batches.
static bool meetsAttention(Value v) {
  return !v.use_empty() && llvm::all_of(v.getUsers(), [](Operation *user) {
    if (auto dot = dyn_cast<prim::DotOp>(user))
      return !dot.getLhsBatch().empty();
    return isa<prim::ReshapeOp, prim::TransposeOp, prim::SliceOp>(user) &&
           meetsAttention(user->getResult(0));
  });
}

bool ReorderedRows::isEnd(Operation *user) {
  return isa<prim::ReshapeOp, prim::TransposeOp, prim::SliceOp>(user) &&
         (undoes(user) || meetsAttention(user->getResult(0)));
}

bool ReorderedRows::collect(prim::DotOp dot) {
  auto reordered = Reordered::of(dot.getLhs());
  if (!reordered || !isProductOfRows(dot) || !tensorType(dot.getResult()).hasStaticShape())
    return false;
  order = reordered->order;
  return follow(dot) && !ends.empty();
}

void ReorderedRows::restore(Operation *end, Value made) {
  if (undoes(end)) {
    end->getResult(0).replaceAllUsesWith(made);
    end->erase();
    return;
  }
  OpBuilder b(end);
  SmallVector<int64_t> back(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    back[axis] = i;
  Value old = end->getOperand(0);
  end->setOperand(0, prim::TransposeOp::create(b, end->getLoc(), old.getType(), made, back));
}

namespace {

class RowOrderPass : public tcc::impl::RowOrderPassBase<RowOrderPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      for (auto it = block->begin(); it != block->end();) {
        auto dot = dyn_cast<prim::DotOp>(*it);
        ReorderedRows reordered;
        if (dot && reordered.collect(dot))
          it = std::next(reordered.rebuild()->getIterator());
        else
          ++it;
      }
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createRowOrderPass() { return std::make_unique<RowOrderPass>(); }
