//===- ModelInputs.cpp - The model's signature under the options ----------===//
//
// `--shape` and `--dim` say the same thing in two ways: a static extent for a
// named dim binds the name, and a bound name is that number in every input and
// annotation. So names are bound first, over all inputs, and types made then.
//
//===----------------------------------------------------------------------===//
#include "ModelInputs.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {

class Resolver {
public:
  Resolver(const ModelFile &file, const ImportOptions &options) : file(file), options(options) {}

  llvm::Expected<ModelInputs> run();

private:
  Error collect();
  Error applyShape(ModelInput &input, llvm::ArrayRef<ShapeDim> shape);
  Error bind(StringRef name, int64_t value);
  Error applyDimOptions();
  Error checkOptionNames();
  Error finish(ModelInput &input);

  const ModelFile &file;
  const ImportOptions &options;
  ModelInputs result;
  llvm::StringSet<> dimNames;
};

std::string listNames(const llvm::StringSet<> &names) {
  std::vector<std::string> sorted;
  for (const auto &name : names)
    sorted.push_back(printable(name.getKey(), 60));
  llvm::sort(sorted);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(sorted.size(), 20); ++i)
    text += (i ? ", '" : "'") + sorted[i] + "'";
  return sorted.empty() ? "none" : text + (sorted.size() > 20 ? ", ..." : "");
}

} // namespace

/// Whether a tensor of this type and shape is a value of the type that an input states.
static bool mayBe(const onnx::TypeProto &stated, int32_t element,
                  const google::protobuf::RepeatedField<int64_t> &shape) {
  const auto &tensor = stated.tensor_type();
  bool sameType = !tensor.elem_type() || tensor.elem_type() == element;
  if (!sameType || !tensor.has_shape())
    return sameType;
  auto fits = [](const auto &pair) {
    auto [dim, size] = pair;
    return !dim.has_dim_value() || dim.dim_value() == size;
  };
  return tensor.shape().dim_size() == shape.size() &&
         llvm::all_of(llvm::zip(tensor.shape().dim(), shape), fits);
}

Error Resolver::collect() {
  const onnx::GraphProto &graph = file.model().graph();
  llvm::StringSet<> seen;
  llvm::StringMap<std::pair<int32_t, const google::protobuf::RepeatedField<int64_t> *>> constants;
  for (const auto &tensor : graph.initializer())
    constants[tensor.name()] = {tensor.data_type(), &tensor.dims()};
  for (const auto &tensor : graph.sparse_initializer())
    constants[tensor.values().name()] = {tensor.values().data_type(), &tensor.dims()};
  for (const onnx::ValueInfoProto &info : graph.input()) {
    if (!seen.insert(info.name()).second)
      return file.error("there are two inputs called '" + printable(info.name()) + "'");
    auto constant = constants.find(info.name());
    if (constant != constants.end() && isTensor(info.type()) &&
        !mayBe(info.type(), constant->second.first, *constant->second.second))
      return file.error("input '" + printable(info.name()) +
                        "' and the initializer of this name differ in type or shape");
    if (constant != constants.end() && !options.shapes.contains(info.name()))
      continue;
    result.inputs.push_back({&info, info.type()});
  }
  return Error::success();
}

Error Resolver::bind(StringRef name, int64_t value) {
  auto range = options.dims.find(name);
  if (range != options.dims.end() && (value < range->second.min || value > range->second.max))
    return file.error("dim '" + printable(name) + "' is " + Twine(value) +
                      " by --shape, outside of its --dim");
  auto [it, isNew] = result.dims.bindings.try_emplace(name, value);
  if (!isNew && it->second != value)
    return file.error("dim '" + printable(name) + "' would be both " + Twine(it->second) + " and " +
                      Twine(value));
  return Error::success();
}

Error Resolver::applyShape(ModelInput &input, llvm::ArrayRef<ShapeDim> shape) {
  auto fail = [&](const Twine &what) {
    return file.error("--shape for input '" + printable(input.info->name()) + "': " + what);
  };
  if (!isTensor(input.type))
    return fail("the input is no tensor");
  auto &tensor = *input.type.mutable_tensor_type();
  if (!tensor.has_shape())
    for (size_t i = 0; i < shape.size(); ++i)
      tensor.mutable_shape()->add_dim();
  tensor.mutable_shape(); // a scalar's shape is empty but present
  if (tensor.shape().dim_size() != static_cast<int>(shape.size()))
    return fail("it has " + Twine(shape.size()) + " dims but the model says " +
                Twine(tensor.shape().dim_size()));
  for (auto [i, dim] : llvm::enumerate(shape)) {
    auto &declared = *tensor.mutable_shape()->mutable_dim(static_cast<int>(i));
    if (!dim.value && dim.symbol.empty())
      continue;
    if (dim.value && declared.has_dim_param() && !declared.dim_param().empty())
      if (Error error = bind(declared.dim_param(), *dim.value))
        return error;
    if (declared.has_dim_value() && declared.dim_value() >= 0 &&
        (!dim.value || declared.dim_value() != *dim.value))
      result.dims.shapesChanged = true;
    if (dim.value)
      declared.set_dim_value(*dim.value);
    else
      declared.set_dim_param(dim.symbol);
  }
  return Error::success();
}

Error Resolver::applyDimOptions() {
  for (const ModelInput &input : result.inputs)
    if (isTensor(input.type))
      for (const auto &dim : input.type.tensor_type().shape().dim())
        if (dim.has_dim_param() && !dim.dim_param().empty())
          dimNames.insert(dim.dim_param());
  for (const auto &entry : options.dims) {
    bool known = dimNames.contains(entry.getKey()) || result.dims.bindings.contains(entry.getKey());
    if (!known)
      return file.error("--dim names '" + printable(entry.getKey()) +
                        "', but the dims of the inputs are called: " + listNames(dimNames));
    if (entry.getValue().isOne()) {
      if (Error error = bind(entry.getKey(), entry.getValue().min))
        return error;
    } else if (!result.dims.bindings.contains(entry.getKey())) {
      result.ranges[entry.getKey().str()] = entry.getValue();
    }
  }
  return Error::success();
}

Error Resolver::checkOptionNames() {
  llvm::StringSet<> names;
  for (const ModelInput &input : result.inputs)
    names.insert(input.info->name());
  for (const auto &entry : options.shapes)
    if (!names.contains(entry.getKey()))
      return file.error("--shape names '" + printable(entry.getKey()) +
                        "', but the inputs are called: " + listNames(names));
  return Error::success();
}

Error Resolver::finish(ModelInput &input) {
  auto fail = [&](const Twine &what) {
    return file.error("input '" + printable(input.info->name()) + "' " + what);
  };
  if (input.info->name().empty())
    return file.error("an input has no name");
  if (!isInterfaceName(input.info->name()))
    return fail("has a name that is not UTF-8");
  if (!isSet(input.type))
    return fail("has no type");
  if (isTensor(input.type)) {
    const auto &tensor = input.type.tensor_type();
    if (!dtypeOf(tensor.elem_type()) && tensor.elem_type() != onnx::TensorProto::STRING)
      return fail("has an element type that is not supported (" + Twine(tensor.elem_type()) + ")");
    for (const auto &dim : tensor.shape().dim())
      if (dim.has_dim_value() && dim.dim_value() < -1)
        return fail("has a dim of " + Twine(dim.dim_value()));
  }
  input.type = normalized(input.type, result.dims.bindings);
  return Error::success();
}

llvm::Expected<ModelInputs> Resolver::run() {
  if (Error error = collect())
    return error;
  if (Error error = checkOptionNames())
    return error;
  for (ModelInput &input : result.inputs)
    if (auto shape = options.shapes.find(input.info->name()); shape != options.shapes.end())
      if (Error error = applyShape(input, shape->second))
        return error;
  if (Error error = applyDimOptions())
    return error;
  for (ModelInput &input : result.inputs)
    if (Error error = finish(input))
      return error;
  return std::move(result);
}

llvm::Expected<ModelInputs> onnximport::resolveInputs(const ModelFile &file,
                                                      const ImportOptions &options) {
  return Resolver(file, options).run();
}
