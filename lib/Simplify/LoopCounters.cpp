//===- LoopCounters.cpp - Loops count on the host -------------------------===//
//
// A loop's counter comes as a tensor of one element, as ONNX and ATen have it. Its condition then
// waits for a kernel in every turn, on a device for everything that was launched before. But the
// host knows it: it begins with a number and grows by one. So it is carried as a host scalar, and
// kernels get it as one.
//
//   prim.while(%x, %zero) {                          prim.while(%x, %c0) {
//   ^bb0(%a, %k: tensor<i64>):                       ^bb0(%a, %k: index):
//     %i = prim.extract %k[0] -> index                 %more = arith.cmpi slt, %k, %n
//     %more = arith.cmpi slt, %i, %n                   prim.yield %more
//     prim.yield %more                               } do {
//   } do {                                           ^bb0(%a, %k: index):
//   ^bb0(%a, %k: tensor<i64>):                         %t = prim.from_elements %k -> tensor<i64>
//     %b = ... %k ...                                  %b = ... %t ...
//     %next = prim.add %k, %one                        %next = arith.addi %k, %c1
//     prim.yield %b, %next                             prim.yield %b, %next
//   }                                                }
//
// Only what the condition reads moves: a counter that only kernels read stays with them. What is
// added to a counter and taken from it in the loop is known to the host as well.
//
//===----------------------------------------------------------------------===//
#include "Splat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_LOOPCOUNTERSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

/// A value of the host that the one element of `tensor` is, as an index; null where a kernel makes
/// it.
static Value hostIndex(OpBuilder &b, Value tensor) {
  if (std::optional<APInt> known = intSplat(tensor))
    return arith::ConstantIndexOp::create(b, tensor.getLoc(), known->getSExtValue());
  auto from = tensor.getDefiningOp<prim::FromElementsOp>();
  Value element = from ? from.getElements()[0] : Value();
  return element && element.getType().isIndex() ? element : Value();
}

/// Where the one element of `tensor` is taken to the host as an index.
static SmallVector<prim::ExtractOp> readsOf(Value tensor) {
  SmallVector<prim::ExtractOp> reads;
  for (Operation *user : tensor.getUsers())
    if (auto read = dyn_cast<prim::ExtractOp>(user); read && read.getType().isIndex())
      reads.push_back(read);
  return reads;
}

namespace {

/// Carried value `number` of a loop, which begins at an index and grows by one.
struct Counter {
  prim::WhileOp loop;
  unsigned number;
  Value start;
  APInt step;

  static std::optional<Counter> of(prim::WhileOp loop, unsigned number);
  void moveToHost();
};

/// Sums and differences of host scalars in the body of a loop that counts.
void computeOnHost(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                                        : RankedTensorType();
    if (!isa<prim::AddOp, prim::SubOp>(op) || !type.getElementType().isInteger(64) ||
        !type.hasStaticShape() || type.getNumElements() != 1 ||
        llvm::none_of(op.getOperands(),
                      [](Value v) { return v.getDefiningOp<prim::FromElementsOp>(); }))
      continue;
    OpBuilder b(&op);
    Value x = hostIndex(b, op.getOperand(0)), y = x ? hostIndex(b, op.getOperand(1)) : Value();
    if (!y)
      continue;
    Value result = isa<prim::AddOp>(op) ? arith::AddIOp::create(b, op.getLoc(), x, y).getResult()
                                        : arith::SubIOp::create(b, op.getLoc(), x, y).getResult();
    op.getResult(0).replaceAllUsesWith(
        prim::FromElementsOp::create(b, op.getLoc(), type, ValueRange(result)));
    op.erase();
  }
}

class LoopCountersPass : public tcc::impl::LoopCountersPassBase<LoopCountersPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](prim::WhileOp loop) {
      bool moved = false;
      for (unsigned i = 0; i < loop.getNumResults(); ++i)
        if (std::optional<Counter> counter = Counter::of(loop, i)) {
          counter->moveToHost();
          moved = true;
        }
      if (moved)
        computeOnHost(loop.getBody().front());
    });
  }
};

} // namespace

std::optional<Counter> Counter::of(prim::WhileOp loop, unsigned number) {
  auto type = dyn_cast<RankedTensorType>(loop.getInits()[number].getType());
  if (!type || !type.getElementType().isInteger(64) || !type.hasStaticShape() ||
      type.getNumElements() != 1 || readsOf(loop.getCondition().getArgument(number)).empty())
    return std::nullopt;
  BlockArgument carried = loop.getBody().getArgument(number);
  Operation *end = loop.getBody().front().getTerminator();
  auto next = end->getOperand(number).getDefiningOp<prim::AddOp>();
  if (!next || next.getType() != type || (next.getLhs() != carried && next.getRhs() != carried))
    return std::nullopt;
  std::optional<APInt> step = intSplat(next.getLhs() == carried ? next.getRhs() : next.getLhs());
  OpBuilder b(loop);
  Value start = step ? hostIndex(b, loop.getInits()[number]) : Value();
  return start ? std::optional(Counter{loop, number, start, *step}) : std::nullopt;
}

/// Gives all users of `v`, which is an index now, the tensor of `type` that it was, and those that
/// take its element `v` itself.
static void keepTensor(OpBuilder &b, Value v, RankedTensorType type) {
  SmallVector<prim::ExtractOp> reads = readsOf(v);
  v.setType(b.getIndexType());
  auto tensor = prim::FromElementsOp::create(b, v.getLoc(), type, ValueRange(v));
  v.replaceAllUsesExcept(tensor, tensor);
  for (prim::ExtractOp read : reads) {
    read.replaceAllUsesWith(v);
    read.erase();
  }
  if (tensor->use_empty())
    tensor.erase();
}

void Counter::moveToHost() {
  auto type = cast<RankedTensorType>(loop.getInits()[number].getType());
  OpBuilder b(loop);
  Value step = arith::ConstantIndexOp::create(b, loop.getLoc(), this->step.getSExtValue());
  loop->setOperand(number, start);
  b.setInsertionPointToStart(&loop.getCondition().front());
  keepTensor(b, loop.getCondition().getArgument(number), type);
  Block &body = loop.getBody().front();
  b.setInsertionPointToStart(&body);
  keepTensor(b, body.getArgument(number), type);
  Operation *end = body.getTerminator(), *next = end->getOperand(number).getDefiningOp();
  b.setInsertionPoint(end);
  end->setOperand(number, arith::AddIOp::create(b, next->getLoc(), body.getArgument(number), step));
  if (next->use_empty())
    next->erase();
  b.setInsertionPointAfter(loop);
  keepTensor(b, loop.getResult(number), type);
}

std::unique_ptr<Pass> tcc::createLoopCountersPass() { return std::make_unique<LoopCountersPass>(); }
