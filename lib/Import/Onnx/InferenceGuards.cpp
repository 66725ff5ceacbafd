//===- InferenceGuards.cpp - What ONNX's inference takes on trust ---------===//
//
// Each guard here stands for a fault in ONNX 1.23.2's inference functions that
// fuzzing found, and goes when ONNX has fixed it.
//
//===----------------------------------------------------------------------===//
#include "InferenceGuards.h"
#include "Types.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace tcc;
using namespace tcc::onnximport;

/// Any other character on the left side makes the parser loop for ever.
static std::string guardEinsum(const NodeView &node) {
  const onnx::AttributeProto *equation = node.attribute("equation");
  llvm::StringRef text = equation ? llvm::StringRef(equation->s()) : "";
  auto [left, right] = text.split("->");
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  terms.push_back(right);
  for (llvm::StringRef term : terms) {
    auto [head, tail] = term.split("...");
    for (char c : (head + tail).str())
      if (!llvm::isAlpha(c) && c != ' ')
        return "the equation '" + printable(text) + "' is not one that Einsum knows";
  }
  return {};
}

/// It makes a list of as many sizes as the attribute says.
static std::string guardSplit(const NodeView &node) {
  const onnx::AttributeProto *count = node.attribute("num_outputs");
  if (count && count->i() > node.proto.output_size())
    return "'num_outputs' is " + std::to_string(count->i()) + ", and the node has " +
           std::to_string(node.proto.output_size()) + " outputs";
  return {};
}

/// Up to opset 12 it makes as many axes as the type of the vector 'shape' says.
static std::string guardExpand(const NodeView &node) {
  if (!node.hasInput(1))
    return {};
  const auto &shape = node.inputs[1]->type.tensor_type().shape();
  if (shape.dim_size() != 1 || shape.dim(0).dim_value() <= kMaxRank)
    return {};
  return "'shape' states " + std::to_string(shape.dim(0).dim_value()) + " axes; at most " +
         std::to_string(kMaxRank) + " are supported";
}

std::string onnximport::guardInference(const NodeView &node) {
  if (node.domain != "onnx")
    return {};
  if (node.proto.op_type() == "Einsum")
    return guardEinsum(node);
  if (node.proto.op_type() == "Split")
    return guardSplit(node);
  if (node.proto.op_type() == "Expand")
    return guardExpand(node);
  return {};
}
