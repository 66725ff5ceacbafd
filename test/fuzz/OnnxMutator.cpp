//===- OnnxMutator.cpp - Changes to ONNX models that keep them protobufs -===//
//
// Bytes at random would stop at the parser. Fields are changed one at a time to values that have
// broken readers before: extents, counts, types and names that do not fit together.
//
//===----------------------------------------------------------------------===//
#include "OnnxMutator.h"
#include <vector>

using namespace onnx;

namespace {

class Mutator {
public:
  Mutator(ModelProto &model, std::minstd_rand &random) : model(model), random(random) {}
  void run();

private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  template <typename List> auto *pick(List *list) {
    return list->empty() ? nullptr : list->Mutable(static_cast<int>(below(list->size())));
  }
  int64_t number();
  std::string name();
  void collect(GraphProto &graph);
  void mutateNode(NodeProto &node);
  void mutateAttribute(AttributeProto &attribute);
  void mutateTensor(TensorProto &tensor);
  void mutateType(TypeProto &type);
  void mutateGraph(GraphProto &graph);

  ModelProto &model;
  std::minstd_rand &random;
  std::vector<GraphProto *> graphs;
  std::vector<NodeProto *> nodes;
  std::vector<std::string> names;
};

} // namespace

int64_t Mutator::number() {
  static constexpr int64_t kNumbers[] = {
      0,  1,   -1,  2,   3,    4,     7,         8,         16,        -2,        -3,       5,
      64, 100, 255, 256, 1000, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 40};
  return kNumbers[below(std::size(kNumbers))];
}

std::string Mutator::name() {
  static const char *const kNames[] = {"",         "a b", "%s%n", "\"quoted\"", "\xff\xfe",
                                       "\xc3\xa4", "a/b", "..",   "x\ny"};
  if (!names.empty() && below(4) != 0)
    return names[below(names.size())];
  return kNames[below(std::size(kNames))];
}

void Mutator::collect(GraphProto &graph) {
  graphs.push_back(&graph);
  for (const auto &input : graph.input())
    names.push_back(input.name());
  for (NodeProto &node : *graph.mutable_node()) {
    nodes.push_back(&node);
    for (const auto &output : node.output())
      names.push_back(output);
    for (AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        collect(*attribute.mutable_g());
  }
}

void Mutator::mutateTensor(TensorProto &tensor) {
  switch (below(6)) {
  case 0:
    tensor.set_data_type(static_cast<int32_t>(below(30)));
    break;
  case 1:
    tensor.add_dims(number());
    break;
  case 2:
    if (tensor.dims_size())
      tensor.set_dims(static_cast<int>(below(tensor.dims_size())), number());
    break;
  case 3:
    tensor.mutable_raw_data()->resize(below(80));
    break;
  case 4: {
    std::string &raw = *tensor.mutable_raw_data();
    if (raw.size() >= 8) {
      int64_t value = number();
      raw.replace(below(raw.size() / 8) * 8, 8, reinterpret_cast<char *>(&value), 8);
    }
    break;
  }
  case 5:
    tensor.clear_dims();
    break;
  }
}

void Mutator::mutateAttribute(AttributeProto &attribute) {
  switch (below(8)) {
  case 0:
    attribute.set_i(number());
    break;
  case 1:
    if (attribute.ints_size())
      attribute.set_ints(static_cast<int>(below(attribute.ints_size())), number());
    break;
  case 2:
    attribute.add_ints(number());
    break;
  case 3:
    if (attribute.ints_size())
      attribute.mutable_ints()->RemoveLast();
    break;
  case 4:
    attribute.set_f(static_cast<float>(number()));
    break;
  case 5:
    attribute.set_type(static_cast<AttributeProto::AttributeType>(below(15)));
    break;
  case 6:
    attribute.set_s(name());
    break;
  case 7:
    if (attribute.has_t())
      mutateTensor(*attribute.mutable_t());
    break;
  }
}

void Mutator::mutateNode(NodeProto &node) {
  switch (below(8)) {
  case 0:
  case 1:
  case 2:
    if (auto *attribute = pick(node.mutable_attribute()))
      mutateAttribute(*attribute);
    break;
  case 3:
    if (auto *input = pick(node.mutable_input()))
      *input = name();
    break;
  case 4:
    node.add_input(name());
    break;
  case 5:
    if (node.input_size())
      node.mutable_input()->RemoveLast();
    break;
  case 6:
    node.set_op_type(nodes[below(nodes.size())]->op_type());
    break;
  case 7:
    if (auto *output = pick(node.mutable_output()))
      *output = name();
    break;
  }
}

void Mutator::mutateType(TypeProto &type) {
  auto &tensor = *type.mutable_tensor_type();
  switch (below(5)) {
  case 0:
    tensor.set_elem_type(static_cast<int32_t>(below(30)));
    break;
  case 1:
    tensor.mutable_shape()->add_dim()->set_dim_value(number());
    break;
  case 2:
    if (auto *dim = pick(tensor.mutable_shape()->mutable_dim()))
      dim->set_dim_value(number());
    break;
  case 3:
    if (auto *dim = pick(tensor.mutable_shape()->mutable_dim()))
      dim->set_dim_param(name());
    break;
  case 4:
    tensor.clear_shape();
    break;
  }
}

void Mutator::mutateGraph(GraphProto &graph) {
  switch (below(7)) {
  case 0:
    if (auto *input = pick(graph.mutable_input()))
      mutateType(*input->mutable_type());
    break;
  case 1:
    if (auto *info = pick(graph.mutable_value_info()))
      mutateType(*info->mutable_type());
    break;
  case 2:
  case 3:
    if (auto *tensor = pick(graph.mutable_initializer()))
      mutateTensor(*tensor);
    break;
  case 4:
    if (graph.node_size() > 1)
      graph.mutable_node()->SwapElements(static_cast<int>(below(graph.node_size())),
                                         static_cast<int>(below(graph.node_size())));
    break;
  case 5:
    if (graph.node_size())
      graph.mutable_node()->DeleteSubrange(static_cast<int>(below(graph.node_size())), 1);
    break;
  case 6:
    if (auto *node = pick(graph.mutable_node())) {
      NodeProto copy = *node;
      for (auto &output : *copy.mutable_output())
        output += "_2";
      *graph.add_node() = copy;
    }
    break;
  }
}

void Mutator::run() {
  for (size_t count = 1 + below(4); count > 0; --count) {
    graphs.clear();
    nodes.clear();
    names.clear();
    collect(*model.mutable_graph());
    if (below(20) == 0) {
      if (auto *opset = pick(model.mutable_opset_import()))
        opset->set_version(static_cast<int64_t>(below(30)));
    } else if (nodes.empty() || below(3) == 0) {
      mutateGraph(*graphs[below(graphs.size())]);
    } else {
      mutateNode(*nodes[below(nodes.size())]);
    }
  }
}

void tcc::test::mutate(ModelProto &model, std::minstd_rand &random) {
  Mutator(model, random).run();
}
