//===- Decompose.cpp - Walks a model and applies rules --------------------===//
//
// One pass over each block in order, since rules need the final types of their
// operands: a value's extents are only known once its producer is decomposed.
// Source values map to what they became (`Lowered`): a tensor, a sequence of
// known length, or nothing. The old ops are dropped at the end.
//
// A node whose subgraphs disagree takes what follows it into them
// (TailDuplication.h); when nothing follows in its own block, the node around it
// does (`openEnd`).
//
//===----------------------------------------------------------------------===//
#include "tcc/Decompose/Decompose.h"
#include "Decompose/Onnx/AttributeEnums.h"
#include "Decompose/Onnx/ContribSchemas.h"
#include "Decompose/Onnx/OperandForms.h"
#include "Decompose/SplitComplex.h"
#include "TailDuplication.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Dialect/Prim/DimTraces.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tcc;

namespace {

class Decomposer : SubgraphBuilder {
public:
  Decomposer(ModuleOp module, WeightTable &weights)
      : weights(weights), opBuilder(module.getContext()), b(opBuilder, module.getLoc(), &weights) {}

  llvm::Error run(func::FuncOp function);

private:
  enum class Outcome { Done, Failed, NeedsTail };

  LogicalResult lowerBlock(Block &block, Operation *until);
  Outcome lowerNode(graph::NodeOp node, Operation *until);
  bool operandsOf(graph::NodeOp node, SmallVectorImpl<Lowered> &operands);
  Outcome disagreement(graph::NodeOp node, Operation *until, StringRef why);
  Value lowerWeight(graph::WeightOp op);
  FailureOr<std::vector<Lowered>> inlineBody(Region &body, ArrayRef<Lowered> arguments) override;
  FailureOr<std::vector<Lowered>> attemptBody(Region &body, std::string &why) override;
  void report(graph::NodeOp node, StringRef why);

  WeightTable &weights;
  OpBuilder opBuilder;
  prim::DimTraces traces{opBuilder};
  PrimBuilder b;
  DenseMap<Value, Lowered> map;
  unsigned depth = 0, bodies = 0, copied = 0;
  unsigned failures = 0;
  std::string openEnd; ///< why the node that ends a block needs what follows that block
  std::string text;
};

std::string describe(Type type) {
  std::string s;
  llvm::raw_string_ostream os(s);
  if (auto t = dyn_cast<RankedTensorType>(type)) {
    if (isa<graph::StringType>(t.getElementType()))
      os << "string[";
    else
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

/// " (model.py:12)" where the node comes from a line of Python.
std::string sourceLine(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto line = dyn_cast<FileLineColLoc>(part);
    if (!line || !line.getFilename().getValue().ends_with(".py"))
      return WalkResult::advance();
    text = " (" + printable(line.getFilename()) + ":" + std::to_string(line.getLine()) + ")";
    return WalkResult::interrupt();
  });
  return text;
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
  text += ")" + sourceLine(node.getLoc()) + ": " + printable(why, 300);
}

/// What the operands became; false when the producer of one was reported already.
bool Decomposer::operandsOf(graph::NodeOp node, SmallVectorImpl<Lowered> &operands) {
  for (Value v : node.getInputs()) {
    auto it = map.find(v);
    if (it == map.end() && !isa<NoneType>(v.getType()))
      return false;
    operands.push_back(it == map.end() ? Lowered() : it->second);
  }
  for (const Lowered &operand : operands)
    if (operand.value && isa<graph::StringType>(PrimBuilder::elem(operand.value))) {
      report(node, "tensors of text are not supported: turn them into numbers before the model");
      return false;
    }
  return true;
}

/// Whether a tensor of one shape can be one of the other.
static bool canAgree(RankedTensorType x, RankedTensorType y) {
  if (x.getRank() != y.getRank())
    return false;
  return llvm::all_of(llvm::zip(x.getShape(), y.getShape()), [](auto extents) {
    auto [a, b] = extents;
    return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
  });
}

/// The type of a tensor that a value became; null of other kinds.
static RankedTensorType typeOf(const Lowered &lowered) {
  return lowered.kind == Lowered::Kind::Tensor && lowered.value
             ? dyn_cast<RankedTensorType>(lowered.value.getType())
             : RankedTensorType();
}

/// Whether the file's word on a shape is known to be wrong: torch 2.11 states the last states of an
/// LSTM on a CPU, [L, B, H] where it runs, as [L, 1, B, H].
static bool isMisstated(graph::NodeOp node, unsigned result, RankedTensorType stated,
                        RankedTensorType given) {
  if (node.getTarget() != "lstm.input" || result == 0 || stated.getRank() != given.getRank() + 1 ||
      stated.getDimSize(1) != 1)
    return false;
  SmallVector<int64_t> shape(stated.getShape());
  shape.erase(shape.begin() + 1);
  return canAgree(RankedTensorType::get(shape, stated.getElementType()), given);
}

/// Where a rule of ATen gives another shape than the file states, which is what the nodes that
/// follow were exported for; empty when it does not. Of operands that are not as stated the file
/// says nothing.
static std::string otherShape(const NodeContext &context, ArrayRef<Lowered> operands) {
  graph::NodeOp node = context.node;
  if (node.getDomain() != "aten")
    return {};
  auto differ = [](RankedTensorType stated, RankedTensorType given) {
    return stated && given && !canAgree(stated, given);
  };
  for (auto [value, operand] : llvm::zip(node.getInputs(), operands))
    if (differ(dyn_cast<RankedTensorType>(value.getType()), typeOf(operand)))
      return {};
  for (auto [i, value, result] : llvm::enumerate(node.getResults(), context.results)) {
    auto stated = dyn_cast<RankedTensorType>(value.getType());
    RankedTensorType given = typeOf(result);
    if (differ(stated, given) && !isMisstated(node, i, stated, given))
      return "gives " + describe(given) + ", but the file states " + describe(stated);
  }
  return {};
}

/// Operators on the layout of one kind of processor, which the file does not name, have none.
static StringRef whyNoRule(graph::NodeOp node) {
  if (node.getDomain() == "com.microsoft.nchwc" || node.getDomain() == "com.ms.internal.nhwc")
    return "its data lie as suits the processor on which ONNX Runtime optimised the model; save it "
           "with ORT_ENABLE_EXTENDED";
  return "no rule for this operator";
}

/// No model of use comes near this many operators in copies.
static constexpr unsigned kMaxCopied = 10000;

Decomposer::Outcome Decomposer::lowerNode(graph::NodeOp node, Operation *until) {
  b.setLocation(node.getLoc());
  for (Value result : node.getResults())
    map.erase(result); // of an earlier attempt
  const Rule *rule = allRules().lookup(node.getDomain(), node.getTarget(), node.getVersion());
  if (!rule) {
    report(node, whyNoRule(node));
    return Outcome::Failed;
  }
  SmallVector<Lowered> operands;
  if (!operandsOf(node, operands))
    return Outcome::Failed;
  NodeContext context(node, b, operands, weights, *this);
  context.tailFits = copied + costOfTail(node, until, kMaxCopied + 1) <= kMaxCopied;
  unsigned before = failures;
  bool ok = succeeded(checkEnums(context)) && succeeded(checkOperandForms(context)) &&
            succeeded(checkContrib(context)) && succeeded((*rule)(context));
  if (std::string why = ok ? otherShape(context, operands) : ""; !why.empty())
    ok = succeeded(context.fail(why));
  if (std::string fault = b.takeFault(); !fault.empty() && failures == before) {
    context.why = fault;
    context.disagrees = ok = false;
  }
  if (!ok || !openEnd.empty()) {
    if (failures != before)
      return Outcome::Failed;
    std::string open = std::exchange(openEnd, {});
    if (context.tailFits && !node.getBodies().empty() && (context.disagrees || !open.empty()))
      return disagreement(node, until, open.empty() ? context.why : open);
    if (!open.empty())
      context.why = open;
    report(node, context.why.empty() ? "not supported in this form" : context.why);
    return Outcome::Failed;
  }
  for (auto [value, result] : llvm::zip(node.getResults(), context.results))
    if (result)
      map[value] = result;
  return Outcome::Done;
}

Decomposer::Outcome Decomposer::disagreement(graph::NodeOp node, Operation *until, StringRef why) {
  if (node.getTarget() == "If") {
    if (!isLastInBlock(node, until))
      return Outcome::NeedsTail;
    if (depth > 0) {
      openEnd = why.str();
      return Outcome::Failed;
    }
  }
  report(node, why);
  return Outcome::Failed;
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
  for (Operation *op = &block.front(); op != until;) {
    b.setLocation(op->getLoc());
    if (auto weight = dyn_cast<graph::WeightOp>(op))
      map[weight] = Lowered::tensor(lowerWeight(weight));
    if (auto node = dyn_cast<graph::NodeOp>(op)) {
      Outcome outcome = lowerNode(node, until);
      if (!openEnd.empty())
        return failure();
      if (outcome == Outcome::NeedsTail) {
        copied += costOfTail(node, until, kMaxCopied + 1);
        if (graph::NodeOp last = duplicateTail(node, until)) {
          op = last;
          continue;
        }
        report(node, "a subgraph lacks outputs");
      }
      ok &= outcome == Outcome::Done;
    }
    op = op->getNextNode();
  }
  return success(ok);
}

FailureOr<std::vector<Lowered>> Decomposer::inlineBody(Region &body, ArrayRef<Lowered> arguments) {
  if (!openEnd.empty()) // what is built now will be built again
    return failure();
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

/// Why an operator in `block` is not valid, or nothing.
static std::string faultIn(Block &block) {
  std::string text;
  ScopedDiagnosticHandler handler(block.getParentOp()->getContext(), [&](Diagnostic &diagnostic) {
    if (text.empty())
      text = printable(diagnostic.str(), 300);
    return success();
  });
  for (Operation &op : block)
    if (failed(verify(&op)))
      return text.empty() ? "operands do not fit together" : text;
  return {};
}

FailureOr<std::vector<Lowered>> Decomposer::attemptBody(Region &body, std::string &why) {
  size_t length = text.size();
  unsigned before = failures;
  Block &block = *opBuilder.getInsertionBlock();
  auto results = inlineBody(body, {});
  if (failed(results))
    why = (StringRef(text).drop_front(length).trim() + " ").str();
  text.resize(length);
  failures = before;
  if (!openEnd.empty())
    return failure();
  if (succeeded(results) && (why = faultIn(block)).empty())
    return results;
  block.clear();
  return failure();
}

llvm::Error Decomposer::run(func::FuncOp function) {
  Signature signature(function);
  Block &block = function.getBody().front();
  Operation *end = block.getTerminator();
  for (BlockArgument argument : block.getArguments()) {
    // A compiled model gets all its inputs: an optional one is there.
    if (auto optional = dyn_cast<graph::OptionalType>(argument.getType()))
      argument.setType(optional.getElement());
    if (!isa<RankedTensorType>(argument.getType())) {
      return userError("input '" + printable(signature.argument(argument.getArgNumber()).name) +
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
    std::string shown = "output '" + printable(signature.result(i).name) + "' ";
    if (lowered.kind != Lowered::Kind::Tensor)
      return userError(shown + "is no tensor");
    if (isa<graph::StringType>(cast<RankedTensorType>(lowered.value.getType()).getElementType()))
      return userError(shown + "holds strings, which compiled code has no form for: make it no "
                               "output of the model");
    results.push_back(lowered.value);
  }
  end->setOperands(results);
  firstNew->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<graph::GraphDialect>(op.getDialect()))
      op.erase();
  SmallVector<Type> types = llvm::to_vector(ValueRange(results).getTypes());
  function.setType(FunctionType::get(function.getContext(), block.getArgumentTypes(), types));
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
  if (llvm::Error error = checkFit(module))
    return error;
  return splitComplex(module, weights);
}
