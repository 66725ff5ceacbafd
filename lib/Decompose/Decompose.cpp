//===- Decompose.cpp - Walks a model and applies rules --------------------===//
//
// One pass over each block in order, since rules need the final types of their
// operands: a value's extents are only known once its producer is decomposed.
// Source values map to what they became (`Lowered`): a tensor, a sequence of
// known length, or nothing. The old ops are dropped at the end.
//
//===----------------------------------------------------------------------===//
#include "tcc/Decompose/Decompose.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tcc;

namespace {

class Decomposer {
public:
  Decomposer(ModuleOp module, WeightTable &weights)
      : weights(weights), opBuilder(module.getContext()), b(opBuilder, module.getLoc(), &weights) {}

  llvm::Error run(func::FuncOp function);

private:
  LogicalResult lowerBlock(Block &block, Operation *until);
  LogicalResult lowerNode(graph::NodeOp node);
  Value lowerWeight(graph::WeightOp op);
  FailureOr<std::vector<Lowered>> inlineBody(Region &body, ArrayRef<Lowered> arguments);
  void report(graph::NodeOp node, StringRef why);

  WeightTable &weights;
  OpBuilder opBuilder;
  PrimBuilder b;
  DenseMap<Value, Lowered> map;
  unsigned depth = 0, bodies = 0;
  unsigned failures = 0;
  std::string text;
};

std::string describe(Type type) {
  std::string s;
  llvm::raw_string_ostream os(s);
  if (auto t = dyn_cast<RankedTensorType>(type)) {
    os << t.getElementType() << '[';
    llvm::interleave(
        t.getShape(), os,
        [&](int64_t d) {
          if (ShapedType::isDynamic(d))
            os << '?';
          else
            os << d;
        },
        "x");
    os << ']';
  } else {
    os << type;
  }
  return s;
}

std::string nodeName(graph::NodeOp node) {
  if (auto name = dyn_cast<NameLoc>(node.getLoc()))
    return printable(name.getName());
  if (ArrayAttr outs = node.getOutsAttr(); outs && !outs.empty())
    return printable(cast<StringAttr>(outs[0]).getValue());
  return "(unnamed)";
}

} // namespace

void Decomposer::report(graph::NodeOp node, StringRef why) {
  constexpr unsigned kListed = 20;
  if (++failures > kListed)
    return;
  text += "\n  node '" + nodeName(node) + "': " + printable(node.getDomain()) + "." +
          printable(node.getTarget());
  if (node.getVersion())
    text += " (opset " + std::to_string(node.getVersion()) + ")";
  text += " on (";
  for (auto [i, v] : llvm::enumerate(node.getInputs())) {
    if (i == 6) {
      text += ", ...";
      break;
    }
    auto it = map.find(v);
    Type type = it != map.end() && it->second.value ? it->second.value.getType() : v.getType();
    text += (i ? ", " : "") + describe(type);
  }
  text += "): " + printable(why, 300);
}

LogicalResult Decomposer::lowerNode(graph::NodeOp node) {
  b.setLocation(node.getLoc());
  const Rule *rule = allRules().lookup(node.getDomain(), node.getTarget(), node.getVersion());
  if (!rule) {
    report(node, "no rule for this operator");
    return failure();
  }
  SmallVector<Lowered> operands;
  for (Value v : node.getInputs()) {
    auto it = map.find(v);
    if (it == map.end() && !isa<NoneType>(v.getType()))
      return failure(); // its producer was reported already
    operands.push_back(it == map.end() ? Lowered() : it->second);
  }
  for (const Lowered &operand : operands)
    if (operand.value && isa<graph::StringType>(PrimBuilder::elem(operand.value))) {
      report(node, "tensors of text are not supported");
      return failure();
    }
  NodeContext context(node, b, operands, weights,
                      [this](Region &r, ArrayRef<Lowered> args) { return inlineBody(r, args); });
  unsigned before = failures;
  bool ok = succeeded((*rule)(context));
  if (std::string fault = b.takeFault(); !fault.empty() && failures == before) {
    context.why = fault;
    ok = false;
  }
  if (!ok) {
    if (failures == before)
      report(node, context.why.empty() ? "not supported in this form" : context.why);
    return failure();
  }
  for (auto [value, result] : llvm::zip(node.getResults(), context.results))
    if (result)
      map[value] = result;
  return success();
}

/// Small weights become constants, whose elements rules can look at.
Value Decomposer::lowerWeight(graph::WeightOp op) {
  constexpr uint64_t kSmall = 64;
  const Weight *weight = weights.lookup(op.getName());
  if (weight && weight->elements() <= kSmall)
    return b.constant(*weight);
  return prim::WeightOp::create(opBuilder, op.getLoc(), op.getResult().getType(), op.getNameAttr());
}

LogicalResult Decomposer::lowerBlock(Block &block, Operation *until) {
  bool ok = true;
  // Stops at `until`: what follows it is what this pass appends.
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (&op == until)
      break;
    b.setLocation(op.getLoc());
    if (auto node = dyn_cast<graph::NodeOp>(op)) {
      ok &= succeeded(lowerNode(node));
    } else if (auto weight = dyn_cast<graph::WeightOp>(op)) {
      map[weight] = Lowered::tensor(lowerWeight(weight));
    }
  }
  return success(ok);
}

FailureOr<std::vector<Lowered>> Decomposer::inlineBody(Region &body, ArrayRef<Lowered> arguments) {
  // A subgraph is decomposed once for each time that a rule builds it, so that
  // nested loops multiply; no real model comes near this.
  constexpr unsigned kMaxDepth = 64, kMaxBodies = 20000;
  if (depth >= kMaxDepth || ++bodies > kMaxBodies) {
    b.fault("subgraphs are nested too deeply");
    return failure();
  }
  ++depth;
  Block &block = body.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    map[argument] = value;
  Location outer = b.location();
  bool ok = succeeded(lowerBlock(block, block.getTerminator()));
  b.setLocation(outer);
  --depth;
  if (!ok)
    return failure();
  std::vector<Lowered> results;
  for (Value v : block.getTerminator()->getOperands())
    results.push_back(map.lookup(v));
  return results;
}

llvm::Error Decomposer::run(func::FuncOp function) {
  Block &block = function.getBody().front();
  Operation *end = block.getTerminator();
  for (BlockArgument argument : block.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType())) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
      return userError("input '" + printable(name ? name.getValue() : "") +
                       "' has no known rank or is no tensor; give its shape with --shape");
    }
    map[argument] = Lowered::tensor(argument);
  }
  // New ops follow a marker before the return, so that old and new never mix.
  opBuilder.setInsertionPoint(end);
  Operation *lastOld = end->getPrevNode();
  Operation *firstNew =
      arith::ConstantOp::create(opBuilder, end->getLoc(), opBuilder.getBoolAttr(false));
  bool ok = lastOld ? succeeded(lowerBlock(block, firstNew)) : true;
  if (!ok)
    return userError(llvm::Twine(failures) + (failures == 1 ? " node" : " nodes") +
                     " cannot be compiled:" + text + (failures > 20 ? "\n  ..." : "") +
                     "\n  Replace the operator in the exporting code, or export another opset.");
  SmallVector<Value> results;
  for (auto [i, v] : llvm::enumerate(end->getOperands())) {
    Lowered lowered = map.lookup(v);
    if (lowered.kind != Lowered::Kind::Tensor) {
      auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      return userError("output '" + printable(name ? name.getValue() : "") + "' is no tensor");
    }
    results.push_back(lowered.value);
  }
  end->setOperands(results);
  firstNew->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<graph::GraphDialect>(op.getDialect()))
      op.erase();
  SmallVector<Type> types = llvm::to_vector(ValueRange(results).getTypes());
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), types));
  return llvm::Error::success();
}

/// What no rule noticed but the operators' verifiers do: operands whose shapes or
/// element types do not fit together.
static llvm::Error checkFit(ModuleOp module) {
  std::string text, node;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty()) {
      text = diagnostic.str();
      if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
        node = printable(name.getName());
    }
    return success();
  });
  if (succeeded(verify(module)))
    return llvm::Error::success();
  return userError("node '" + node +
                   "': its operands do not fit together: " + printable(text, 500));
}

llvm::Error tcc::decompose(ModuleOp module, WeightTable &weights) {
  for (auto function : module.getOps<func::FuncOp>())
    if (llvm::Error error = Decomposer(module, weights).run(function))
      return error;
  return checkFit(module);
}
