//===- CommonSubexpressions.cpp - Equal operators once, in linear time ----===//
//
// MLIR's elimination of common subexpressions finds candidates by a hash of an
// operator's name, properties and operands. Its regions are compared only, one by one
// with every other operator of that hash: a thousand kernels that read one tensor, or a
// thousand `if` on one condition, are half a million comparisons of regions.
//
// So each operator with regions carries a digest of them while the elimination runs: an
// attribute, which the hash takes in. Equal regions have equal digests: values from
// inside count by their place, values from outside by identity, operands in any order,
// as commutative operators are compared. Merging operators outside of a region can make
// its operands equal, and its digest obsolete; with regions that read what is outside,
// the elimination runs twice.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_COMMONSUBEXPRESSIONSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

static constexpr llvm::StringLiteral kDigest = "tcc.digest";

namespace {

/// The digests of one operator's regions.
class Digest {
public:
  llvm::hash_code of(Operation &op) {
    size_t operands = 0;
    for (Value v : op.getOperands())
      operands += of(v);
    llvm::hash_code code =
        llvm::hash_combine(op.getName(), op.getDiscardableAttrDictionary(), op.hashProperties(),
                           operands, hashTypes(op.getResultTypes()), ofRegions(op));
    for (Value v : op.getResults())
      number(v);
    return code;
  }
  llvm::hash_code ofRegions(Operation &op) {
    llvm::hash_code code(op.getNumRegions());
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        code = llvm::hash_combine(code, hashTypes(block.getArgumentTypes()));
        for (Value v : block.getArguments())
          number(v);
        for (Operation &inner : block)
          code = llvm::hash_combine(code, of(inner));
      }
    return code;
  }
  bool readsOutside = false;

private:
  static llvm::hash_code hashTypes(TypeRange types) {
    return llvm::hash_combine_range(types.begin(), types.end());
  }
  void number(Value v) { numbers.try_emplace(v, numbers.size() + 1); }
  size_t of(Value v) {
    if (unsigned inside = numbers.lookup(v))
      return llvm::hash_value(inside);
    readsOutside = true;
    return llvm::hash_value(v.getAsOpaquePointer());
  }
  DenseMap<Value, unsigned> numbers;
};

class CommonSubexpressionsPass
    : public tcc::impl::CommonSubexpressionsPassBase<CommonSubexpressionsPass> {
public:
  void runOnOperation() override {
    if (eliminate())
      eliminate();
  }

private:
  /// Whether a region reads what is outside of it.
  bool eliminate() {
    bool readsOutside = false;
    Builder b(&getContext());
    auto eachWithRegions = [&](llvm::function_ref<void(Operation *)> f) {
      getOperation().walk([&](Operation *op) {
        if (op->getNumRegions() && !op->hasTrait<OpTrait::SymbolTable>() &&
            !isa<SymbolOpInterface>(op))
          f(op);
      });
    };
    eachWithRegions([&](Operation *op) {
      Digest digest;
      size_t code = digest.ofRegions(*op);
      readsOutside |= digest.readsOutside;
      op->setAttr(kDigest, b.getI64IntegerAttr(static_cast<int64_t>(code)));
    });
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    eachWithRegions([](Operation *op) { op->removeAttr(kDigest); });
    return readsOutside;
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createCommonSubexpressionsPass() {
  return std::make_unique<CommonSubexpressionsPass>();
}
