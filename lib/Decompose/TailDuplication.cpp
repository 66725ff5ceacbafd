#include "TailDuplication.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;

static constexpr llvm::StringLiteral kTailAttr = "tail";

bool tcc::isLastInBlock(graph::NodeOp node, Operation *end) { return node->getNextNode() == end; }

bool tcc::hasTail(graph::NodeOp node) { return node->hasAttr(kTailAttr); }

static SmallVector<Operation *> tailOf(graph::NodeOp node, Operation *end) {
  SmallVector<Operation *> tail;
  for (Operation *op = node->getNextNode(); op != end; op = op->getNextNode())
    tail.push_back(op);
  return tail;
}

unsigned tcc::costOfTail(graph::NodeOp node, Operation *end, unsigned enough) {
  unsigned copies = std::max<size_t>(node.getBodies().size(), 1) - 1, count = 0;
  for (Operation *op = node->getNextNode(); op != end && count * copies < enough && copies;
       op = op->getNextNode())
    op->walk([&](Operation *) {
      return ++count < enough ? WalkResult::advance() : WalkResult::interrupt();
    });
  return count * copies;
}

/// What the end of the block takes from `node` and its tail.
static llvm::SetVector<Value> outputsOf(graph::NodeOp node, ArrayRef<Operation *> tail) {
  llvm::SetVector<Value> outputs;
  for (Value v : node->getBlock()->getTerminator()->getOperands()) {
    Operation *producer = v.getDefiningOp();
    if (producer == node || llvm::is_contained(tail, producer))
      outputs.insert(v);
  }
  return outputs;
}

/// Copies the tail to the end of `body` and yields the outputs.
static void appendTail(graph::NodeOp node, Region &body, ArrayRef<Operation *> tail,
                       ArrayRef<Value> outputs) {
  Operation *yield = body.front().getTerminator();
  OpBuilder builder(yield);
  IRMapping mapping;
  for (auto [result, value] : llvm::zip(node.getResults(), yield->getOperands()))
    mapping.map(result, value);
  for (Operation *op : tail)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value v : outputs)
    yielded.push_back(mapping.lookup(v));
  graph::YieldOp::create(builder, yield->getLoc(), yielded);
  yield->erase();
}

graph::NodeOp tcc::duplicateTail(graph::NodeOp node, Operation *end) {
  for (Region &body : node.getBodies())
    if (body.empty() || body.front().getTerminator()->getNumOperands() < node.getNumResults())
      return {};
  Block *block = node->getBlock();
  SmallVector<Operation *> tail = tailOf(node, end);
  llvm::SetVector<Value> outputs = outputsOf(node, tail);
  OperationState state(node.getLoc(), graph::NodeOp::getOperationName());
  state.addOperands(node.getInputs());
  state.addTypes(SmallVector<Type>(ValueRange(outputs.getArrayRef()).getTypes()));
  state.addAttributes(llvm::to_vector(node->getAttrs()));
  state.attributes.erase(node.getOutsAttrName());
  state.attributes.set(kTailAttr, UnitAttr::get(node.getContext()));
  for (Region &body : node.getBodies()) {
    appendTail(node, body, tail, outputs.getArrayRef());
    state.addRegion()->takeBody(body);
  }
  OpBuilder builder(node);
  auto last = cast<graph::NodeOp>(builder.create(state));
  for (auto [old, result] : llvm::zip(outputs, last.getResults()))
    for (OpOperand &use : block->getTerminator()->getOpOperands())
      if (use.get() == old)
        use.set(result);
  for (Operation *op : llvm::reverse(tail))
    op->erase();
  node->erase();
  return last;
}
