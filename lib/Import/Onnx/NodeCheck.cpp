//===- NodeCheck.cpp - A node against its schema --------------------------===//
//
// ONNX's own checker refuses models that every runtime takes, stops at the first
// text it cannot parse, and prints what the file says unescaped. The rules of
// its schemas are data, so they are applied here: what they allow, and no more,
// reaches the decomposition rules.
//
//===----------------------------------------------------------------------===//
#include "NodeCheck.h"
#include "InferenceGuards.h"
#include "Types.h"
#include "onnx/defs/data_type_utils.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSet.h"

using namespace tcc;
using namespace tcc::onnximport;
using onnx::AttributeProto;
using onnx::OpSchema;

static const char *attributeTypeName(AttributeProto::AttributeType type) {
  switch (type) {
  case AttributeProto::FLOAT:
    return "a float";
  case AttributeProto::INT:
    return "an integer";
  case AttributeProto::STRING:
    return "text";
  case AttributeProto::TENSOR:
    return "a tensor";
  case AttributeProto::GRAPH:
    return "a graph";
  case AttributeProto::FLOATS:
    return "a list of floats";
  case AttributeProto::INTS:
    return "a list of integers";
  case AttributeProto::STRINGS:
    return "a list of texts";
  case AttributeProto::TENSORS:
    return "a list of tensors";
  case AttributeProto::GRAPHS:
    return "a list of graphs";
  case AttributeProto::SPARSE_TENSOR:
    return "a sparse tensor";
  case AttributeProto::SPARSE_TENSORS:
    return "a list of sparse tensors";
  case AttributeProto::TYPE_PROTO:
    return "a type";
  case AttributeProto::TYPE_PROTOS:
    return "a list of types";
  default:
    return "nothing";
  }
}

AttributeProto::AttributeType onnximport::attributeType(const AttributeProto &a) {
  if (a.type() != AttributeProto::UNDEFINED)
    return a.type();
  if (a.has_f())
    return AttributeProto::FLOAT;
  if (a.has_i())
    return AttributeProto::INT;
  if (a.has_s())
    return AttributeProto::STRING;
  if (a.has_t())
    return AttributeProto::TENSOR;
  if (a.has_g())
    return AttributeProto::GRAPH;
  if (a.has_tp())
    return AttributeProto::TYPE_PROTO;
  if (a.has_sparse_tensor())
    return AttributeProto::SPARSE_TENSOR;
  if (a.floats_size())
    return AttributeProto::FLOATS;
  if (a.ints_size())
    return AttributeProto::INTS;
  if (a.strings_size())
    return AttributeProto::STRINGS;
  if (a.tensors_size())
    return AttributeProto::TENSORS;
  if (a.graphs_size())
    return AttributeProto::GRAPHS;
  return AttributeProto::UNDEFINED;
}

/// Integers that are 0 or 1, in whatever operator of ONNX they stand: the schemas say so in prose
/// alone, and runtimes read other numbers as they like (`keepdims` of 2 is none in one of them).
static bool isFlag(llvm::StringRef attribute) {
  static const llvm::StringSet<> flags = {"align_corners",
                                          "allowzero",
                                          "antialias",
                                          "broadcast",
                                          "ceil_mode",
                                          "center_point_box",
                                          "count_include_pad",
                                          "detect_negative",
                                          "detect_positive",
                                          "exclude_outside",
                                          "exclusive",
                                          "fmod",
                                          "input_forget",
                                          "interleaved",
                                          "inverse",
                                          "is_case_sensitive",
                                          "is_causal",
                                          "is_test",
                                          "keepdims",
                                          "largest",
                                          "layout",
                                          "linear_before_reset",
                                          "multi_class",
                                          "new_axis",
                                          "noop_with_empty_axes",
                                          "one_class",
                                          "onesided",
                                          "output_sequence",
                                          "periodic",
                                          "reverse",
                                          "saturate",
                                          "select_last_index",
                                          "sorted",
                                          "spatial",
                                          "storage_order",
                                          "training_mode",
                                          "transA",
                                          "transB",
                                          "upper",
                                          "zeros"};
  return flags.contains(attribute);
}

static std::string checkAttributes(const NodeView &node, const OpSchema &schema) {
  for (const auto &[name, attribute] : node.attributes) {
    auto expected = schema.attributes().find(name);
    if (expected == schema.attributes().end()) {
      if (llvm::StringRef(name).starts_with("__"))
        continue;
      return "there is no attribute '" + printable(name) + "' in opset " +
             std::to_string(node.version);
    }
    AttributeProto::AttributeType type = attributeType(*attribute.proto);
    AttributeProto::AttributeType wanted = expected->second.type;
    // An empty list of an unstated kind is an empty list of any kind.
    if (type == AttributeProto::UNDEFINED &&
        (wanted == AttributeProto::INTS || wanted == AttributeProto::FLOATS ||
         wanted == AttributeProto::STRINGS))
      continue;
    if (type != wanted)
      return "attribute '" + printable(name) + "' is " + attributeTypeName(type) + " but must be " +
             attributeTypeName(wanted);
    if (wanted == AttributeProto::INT && isFlag(name) && attribute.proto->i() != 0 &&
        attribute.proto->i() != 1)
      return "attribute '" + name + "' is " + std::to_string(attribute.proto->i()) +
             " but must be 0 or 1";
    if ((wanted == AttributeProto::TENSOR && !attribute.proto->has_t()) ||
        (wanted == AttributeProto::GRAPH && !attribute.proto->has_g()) ||
        (wanted == AttributeProto::SPARSE_TENSOR && !attribute.proto->has_sparse_tensor()) ||
        (wanted == AttributeProto::TYPE_PROTO && !attribute.proto->has_tp()))
      return "attribute '" + printable(name) + "' has no value";
  }
  for (const auto &[name, attribute] : schema.attributes())
    if (attribute.required && !node.attribute(name))
      return "attribute '" + name + "' is missing";
  return {};
}

static std::string countMessage(const char *what, int count, int low, int high) {
  std::string range = low == high ? std::to_string(low)
                      : high == std::numeric_limits<int>::max()
                          ? "at least " + std::to_string(low)
                          : std::to_string(low) + " to " + std::to_string(high);
  return "has " + std::to_string(count) + " " + what + " but takes " + range;
}

/// Trailing empty names are operands left out.
static int presentCount(const google::protobuf::RepeatedPtrField<std::string> &names) {
  int count = names.size();
  while (count > 0 && names[count - 1].empty())
    --count;
  return count;
}

static std::string checkCounts(const NodeView &node, const OpSchema &schema) {
  int inputs = presentCount(node.proto.input()), outputs = presentCount(node.proto.output());
  if (inputs < schema.min_input() || inputs > schema.max_input())
    return countMessage("inputs", inputs, schema.min_input(), schema.max_input());
  if (outputs > schema.max_output() || node.proto.output_size() < schema.min_output())
    return countMessage("outputs", outputs, schema.min_output(), schema.max_output());
  for (int i = 0; i < inputs && i < static_cast<int>(schema.inputs().size()); ++i)
    if (node.proto.input(i).empty() && schema.inputs()[i].GetOption() == OpSchema::Single)
      return "input '" + schema.inputs()[i].GetName() + "' is missing";
  return {};
}

/// ONNX's name for the type as constraints state it; null if it has none.
static onnx::DataType dataTypeOf(const onnx::TypeProto &type) {
  const onnx::TypeProto *inner = &type;
  while (inner->has_sequence_type() || inner->has_optional_type())
    inner = inner->has_sequence_type() ? &inner->sequence_type().elem_type()
                                       : &inner->optional_type().elem_type();
  if (!inner->has_tensor_type() || (!dtypeOf(inner->tensor_type().elem_type()) &&
                                    inner->tensor_type().elem_type() != onnx::TensorProto::STRING))
    return nullptr;
  try {
    return onnx::Utils::DataTypeUtils::ToType(type);
  } catch (const std::exception &) {
    return nullptr;
  }
}

static std::string checkTypes(const NodeView &node, const OpSchema &schema) {
  struct Bound {
    onnx::DataType type;
    size_t input;
  };
  std::map<std::string, Bound> bound;
  const auto &formals = schema.inputs();
  for (size_t i = 0; i < node.inputs.size() && !formals.empty(); ++i) {
    if (!node.hasInput(i))
      continue;
    const auto &formal = formals[std::min(i, formals.size() - 1)];
    onnx::DataType type = dataTypeOf(node.inputs[i]->type);
    if (!type)
      continue;
    auto subject = [&] {
      return "input '" + formal.GetName() + "' (" +
             printable(node.proto.input(static_cast<int>(i))) + ") is " + *type;
    };
    if (!formal.GetTypes().count(type))
      return subject() + ", which " + schema.Name() + " of opset " + std::to_string(node.version) +
             " does not take";
    if (formal.GetOption() == OpSchema::Variadic && !formal.GetIsHomogeneous())
      continue;
    auto [it, isNew] = bound.try_emplace(formal.GetTypeStr(), Bound{type, i});
    if (!isNew && it->second.type != type)
      return subject() + " but '" +
             printable(node.proto.input(static_cast<int>(it->second.input))) + "' is " +
             *it->second.type + "; they must be the same";
  }
  return {};
}

std::string onnximport::checkNode(const NodeView &node, const OpSchema &schema) {
  if (std::string why = checkCounts(node, schema); !why.empty())
    return why;
  if (std::string why = checkAttributes(node, schema); !why.empty())
    return why;
  if (std::string why = checkTypes(node, schema); !why.empty())
    return why;
  return guardInference(node);
}
