//===- BackendCases.cpp - ONNX's backend tests from its wheel ------------===//
//
// Cases are read as ONNX stores them: models and numbered protobufs. Light models come without
// data; their inputs are made here as ONNX's own runner makes them.
//
//===----------------------------------------------------------------------===//
#include "BackendCases.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx-ml.pb.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace tcc;
using namespace tcc::conformance;
using reference::Tensor;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

llvm::Expected<std::string> readFile(const std::string &file) {
  auto buffer =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("cannot read " + file);
  return (*buffer)->getBuffer().str();
}

std::string below(llvm::StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> full(folder);
  path::append(full, name);
  return full.str().str();
}

/// TensorProto.DataType codes, less one.
std::optional<DType> dtypeOf(int32_t code) {
  using D = DType;
  static constexpr D kTypes[] = {
      D::F32,  D::U8,       D::I8,        D::U16,        D::I16,    D::I32,        D::I64,
      D::Bool, D::Bool,     D::F16,       D::F64,        D::U32,    D::U64,        D::C64,
      D::C128, D::BF16,     D::F8E4M3FN,  D::F8E4M3FNUZ, D::F8E5M2, D::F8E5M2FNUZ, D::U4,
      D::I4,   D::F4E2M1FN, D::F8E8M0FNU, D::U2,         D::I2};
  if (code < 1 || code > static_cast<int32_t>(std::size(kTypes)) ||
      code == onnx::TensorProto_DataType_STRING)
    return std::nullopt;
  return kTypes[code - 1];
}

template <typename List> void appendBytes(std::vector<char> &bytes, const List &list, size_t each) {
  for (auto value : list) {
    char raw[8];
    std::memcpy(raw, &value, sizeof(value));
    bytes.insert(bytes.end(), raw, raw + each);
  }
}

llvm::Expected<Tensor> tensorOf(const onnx::TensorProto &proto) {
  auto dtype = dtypeOf(proto.data_type());
  if (!dtype)
    return userError("a tensor of text or of an unknown type");
  llvm::SmallVector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  if (proto.has_raw_data())
    return Tensor::fromPacked(*dtype, shape, proto.raw_data());
  std::vector<char> bytes;
  size_t each = std::max<size_t>(1, bitWidth(*dtype) / 8);
  appendBytes(bytes, proto.float_data(), sizeof(float));
  appendBytes(bytes, proto.double_data(), sizeof(double));
  appendBytes(bytes, proto.int64_data(), sizeof(int64_t));
  appendBytes(bytes, proto.int32_data(), std::min<size_t>(each, 4));
  appendBytes(bytes, proto.uint64_data(), each);
  return Tensor::fromPacked(*dtype, shape, bytes);
}

llvm::Expected<Tensor> loadTensor(const std::string &file) {
  auto text = readFile(file);
  if (!text)
    return text.takeError();
  onnx::TensorProto proto;
  if (!proto.ParseFromString(*text))
    return userError("no tensor in " + file);
  return tensorOf(proto);
}

/// A value of any kind as tensors; an optional one that is absent is refused.
llvm::Error addValue(const std::string &file, const onnx::TypeProto &type,
                     std::vector<Tensor> &tensors) {
  auto add = [&](const onnx::TensorProto &proto) -> llvm::Error {
    auto tensor = tensorOf(proto);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(*tensor);
    return llvm::Error::success();
  };
  auto text = readFile(file);
  if (!text)
    return text.takeError();
  if (type.has_sequence_type())
    return userError("a sequence");
  if (type.has_optional_type()) {
    onnx::OptionalProto proto;
    if (!proto.ParseFromString(*text) || !proto.has_tensor_value())
      return userError("an optional without a tensor");
    return add(proto.tensor_value());
  }
  onnx::TensorProto proto;
  if (!proto.ParseFromString(*text))
    return userError("no tensor in " + file);
  return add(proto);
}

/// input_0.pb, input_1.pb, ... of one data set.
template <typename Values>
llvm::Error loadNumbered(const std::string &folder, llvm::StringRef what, const Values &values,
                         std::vector<Tensor> &tensors) {
  for (int i = 0;; ++i) {
    std::string file = below(folder, what + "_" + llvm::Twine(i) + ".pb");
    if (!fs::exists(file))
      return llvm::Error::success();
    onnx::TypeProto type = i < values.size() ? values.Get(i).type() : onnx::TypeProto();
    if (llvm::Error error = addValue(file, type, tensors))
      return error;
  }
}

llvm::Expected<onnx::ModelProto> readModel(const Case &testCase) {
  auto text = readFile(testCase.model);
  if (!text)
    return text.takeError();
  onnx::ModelProto model;
  if (!model.ParseFromString(*text))
    return userError("no model in " + testCase.model);
  return model;
}

/// The inputs of a model's graph that are no initializers.
std::vector<const onnx::ValueInfoProto *> realInputs(const onnx::GraphProto &graph) {
  std::set<std::string> weights;
  for (const auto &weight : graph.initializer())
    weights.insert(weight.name());
  std::vector<const onnx::ValueInfoProto *> inputs;
  for (const auto &input : graph.input())
    if (!weights.count(input.name()))
      inputs.push_back(&input);
  return inputs;
}

/// i / n at position i, for each input that is no initializer.
llvm::Expected<DataSet> lightDataSet(const Case &testCase) {
  auto model = readModel(testCase);
  if (!model)
    return model.takeError();
  DataSet set;
  for (const onnx::ValueInfoProto *input : realInputs(model->graph())) {
    llvm::SmallVector<int64_t> shape;
    for (const auto &dim : input->type().tensor_type().shape().dim())
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
    auto count = reference::elementCount(shape);
    if (!count)
      return userError("an input has an impossible shape");
    std::vector<double> values(*count);
    for (int64_t i = 0; i < *count; ++i)
      values[i] = static_cast<double>(i) / static_cast<double>(*count);
    set.inputs.push_back(Tensor::ofReals(DType::F32, shape, values));
  }
  std::string stem = testCase.model.substr(0, testCase.model.size() - strlen(".onnx"));
  auto output = loadTensor(stem + "_output_0.pb");
  if (!output)
    return output.takeError();
  set.outputs.push_back(*output);
  return set;
}

/// The operator of a model that has one (but for constants), or "".
std::string soleOperator(const std::string &file) {
  auto text = readFile(file);
  if (!text) {
    llvm::consumeError(text.takeError());
    return "";
  }
  onnx::ModelProto model;
  std::string op;
  if (!model.ParseFromString(*text))
    return "";
  for (const auto &node : model.graph().node()) {
    if (node.op_type() == "Constant")
      continue;
    if (!op.empty() && node.op_type() != op)
      return "";
    op = node.op_type();
  }
  return op.empty() && model.graph().node_size() ? model.graph().node(0).op_type() : op;
}

void readSettings(Case &c, const std::string &file, llvm::StringRef data) {
  auto text = readFile(file);
  if (!text) {
    llvm::consumeError(text.takeError());
    return;
  }
  auto json = llvm::json::parse(*text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return;
  }
  if (const auto *object = json->getAsObject()) {
    c.rtol = object->getNumber("rtol").value_or(c.rtol);
    c.atol = object->getNumber("atol").value_or(c.atol);
    if (auto url = object->getString("url"); url && c.model.empty())
      c.model = below(below(data, "light"), path::filename(*url));
  }
}

/// The cases right below one folder.
llvm::Error addFolder(const std::string &folder, llvm::StringRef kind, llvm::StringRef data,
                      std::vector<Case> &cases) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    if (!fs::is_directory(it->path()))
      continue;
    Case c;
    c.name = path::filename(it->path()).str();
    c.kind = kind.str();
    std::string model = below(it->path(), "model.onnx");
    if (fs::exists(model)) {
      c.model = model;
      c.folder = it->path();
    }
    readSettings(c, below(it->path(), "data.json"), data);
    c.op = kind == "node" ? soleOperator(model) : "";
    cases.push_back(c);
  }
  return error ? userError("no " + kind + " cases in " + folder) : llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<Case>> conformance::enumerateModels(llvm::StringRef folder) {
  std::vector<Case> cases;
  if (llvm::Error error = addFolder(folder.str(), "model", folder, cases))
    return std::move(error);
  llvm::sort(cases, [](const Case &x, const Case &y) { return x.name < y.name; });
  for (Case &c : cases)
    c.op = "model";
  return cases;
}

llvm::Expected<std::vector<Case>> conformance::enumerateCases(llvm::StringRef data) {
  std::vector<Case> cases;
  for (llvm::StringRef kind : {"node", "simple", "pytorch-converted", "pytorch-operator", "real"})
    if (llvm::Error error = addFolder(below(data, kind), kind, data, cases))
      return std::move(error);
  llvm::sort(cases, [](const Case &x, const Case &y) { return x.name < y.name; });
  // A function body spelled out belongs to the operator of the case before it.
  std::map<std::string, std::string> ops;
  for (const Case &c : cases)
    ops[c.name] = c.op;
  for (Case &c : cases) {
    size_t expanded = c.name.find("_expanded");
    if (expanded != std::string::npos && ops.count(c.name.substr(0, expanded)))
      c.op = ops[c.name.substr(0, expanded)];
    if (c.op.empty())
      c.op = c.kind;
  }
  return cases;
}

llvm::Expected<std::vector<std::string>> conformance::dynamicShapes(const Case &testCase) {
  auto model = readModel(testCase);
  if (!model)
    return model.takeError();
  std::vector<std::string> shapes;
  int next = 0;
  for (const onnx::ValueInfoProto *input : realInputs(model->graph())) {
    int rank = input->type().tensor_type().shape().dim_size();
    // How many axes or sizes there are belongs to the graph.
    bool isList = rank == 1 && input->type().tensor_type().elem_type() == onnx::TensorProto::INT64;
    if (!input->type().has_tensor_type() || rank == 0 || isList)
      continue;
    std::string shape = input->name() + "=";
    for (int i = 0; i < rank; ++i)
      shape += (i ? ",d" : "d") + std::to_string(next++);
    shapes.push_back(shape);
  }
  return shapes;
}

llvm::Expected<std::vector<DataSet>> conformance::loadDataSets(const Case &testCase) {
  std::vector<DataSet> sets;
  if (testCase.folder.empty()) {
    auto set = lightDataSet(testCase);
    if (!set)
      return set.takeError();
    sets.push_back(std::move(*set));
    return sets;
  }
  auto text = readFile(testCase.model);
  if (!text)
    return text.takeError();
  onnx::ModelProto model;
  if (!model.ParseFromString(*text))
    return userError("no model in " + testCase.model);
  for (int i = 0;; ++i) {
    std::string folder = below(testCase.folder, "test_data_set_" + llvm::Twine(i));
    if (!fs::is_directory(folder))
      return sets;
    DataSet set;
    if (llvm::Error error = loadNumbered(folder, "input", model.graph().input(), set.inputs))
      return error;
    if (llvm::Error error = loadNumbered(folder, "output", model.graph().output(), set.outputs))
      return error;
    sets.push_back(std::move(set));
  }
}
