//===- Inputs.cpp - Where the inputs of a run come from ------------------===//
//
// Files, ONNX's test folders or seeded random numbers. A file that belongs to no input, and a dim
// that two inputs give differently, are errors: a run on other data than the user meant looks like
// a right one.
//
//===----------------------------------------------------------------------===//
#include "Inputs.h"
#include <algorithm>
#include <charconv>

namespace tcc::run {

std::vector<DLTensor> views(const std::vector<Array> &arrays) {
  std::vector<DLTensor> result;
  for (const Array &array : arrays)
    result.push_back(array.view());
  return result;
}

void adaptDtype(Array &array, DLDataType wanted) {
  bool raw = array.dtype.code == kDLOpaqueHandle && array.dtype.bits == wanted.bits;
  if (raw) {
    array.dtype = wanted;
    return;
  }
  bool unpacked = array.dtype.bits == 8 && wanted.bits < 8 && array.strides.empty();
  if (!unpacked)
    return;
  std::vector<char> packed(packedBytes(wanted, array.size()));
  unsigned perByte = 8u / wanted.bits, mask = (1u << wanted.bits) - 1;
  for (size_t i = 0; i < array.bytes.size(); ++i)
    packed[i / perByte] |= char((uint8_t(array.bytes[i]) & mask) << i % perByte * wanted.bits);
  array.bytes = std::move(packed);
  array.dtype = wanted;
}

// ---- options of the form name=value ----

/// The name may contain '=': the last one divides.
static std::pair<std::string, std::string> divide(const std::string &option, const char *form) {
  size_t at = option.rfind('=');
  if (at == std::string::npos || at == 0)
    throw DataError("'" + printable(option) + "': expected " + form);
  return {option.substr(0, at), option.substr(at + 1)};
}

static int64_t parseDim(const std::string &text, const std::string &option) {
  int64_t dim = -1;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), dim);
  if (code != std::errc() || end != text.data() + text.size() || dim < 0)
    throw DataError("'" + printable(option) + "': '" + printable(text) + "' is not a size");
  return dim;
}

static std::vector<int64_t> parseShape(const std::string &text, const std::string &option) {
  std::vector<int64_t> shape;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    size_t end = std::min(text.find_first_of("x,", at), text.size());
    shape.push_back(parseDim(text.substr(at, end - at), option));
    at = end + 1;
  }
  return shape;
}

static size_t inputIndex(const Model &model, const std::string &name) {
  for (size_t i = 0; i < model.inputs.size(); ++i)
    if (model.inputs[i].name == name)
      return i;
  std::string known;
  for (const TensorInfo &input : model.inputs)
    known += (known.empty() ? "" : ", ") + printable(input.name);
  throw DataError("the model has no input '" + printable(name) + "', it has: " + known);
}

// ---- random inputs ----

namespace {

/// SplitMix64: any seed is good, any two streams differ.
class Random {
public:
  Random(uint64_t seed, size_t stream)
      : state(seed * 0x9e3779b97f4a7c15u + (stream + 1) * 0xd1342543de82ef95u) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 24 bits, so that float32 holds it exactly.
  double uniform() { return double(next() >> 40) * 0x1p-24; }

private:
  uint64_t state;
};

} // namespace

static Array randomArray(const TensorInfo &info, std::vector<int64_t> shape, uint64_t seed,
                         size_t stream) {
  Array array;
  array.name = info.name;
  array.dtype = info.dtype;
  array.shape = std::move(shape);
  bool isComplex = info.dtype.code == kDLComplex;
  size_t count = array.size() * (isComplex ? 2 : 1);
  array.bytes.resize(packedBytes(info.dtype, array.size()));
  DLDataType part = info.dtype;
  if (isComplex)
    part = {kDLFloat, uint8_t(info.dtype.bits / 2), 1};
  bool whole = part.code == kDLInt || part.code == kDLUInt || part.code == kDLBool;
  Random random(seed, stream);
  for (size_t i = 0; i < count; ++i)
    storeReal(part, array.bytes.data(), i, whole ? double(random.next() >> 63) : random.uniform());
  return array;
}

static std::vector<int64_t> chooseShape(const TensorInfo &info, const std::vector<int64_t> *given,
                                        const std::map<std::string, int64_t> &dims) {
  if (given)
    return *given;
  std::string hint = ": pass --shape " + printable(info.name) + "=...";
  if (!info.shape)
    throw DataError("input '" + printable(info.name) + "' has any shape" + hint);
  std::vector<int64_t> shape = *info.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto known = dims.find(info.symbols[d]);
    if (shape[d] < 0 && known != dims.end())
      shape[d] = known->second;
    if (shape[d] < 0)
      throw DataError(
          "input '" + printable(info.name) + "' is " + info.text() + ", dimension " +
          std::to_string(d) + " is open" + hint +
          (info.symbols[d].empty() ? "" : " or --dim " + printable(info.symbols[d]) + "=..."));
  }
  return shape;
}

static bool hasDim(const Model &model, const std::string &name) {
  return std::any_of(model.inputs.begin(), model.inputs.end(), [&](const TensorInfo &info) {
    return std::find(info.symbols.begin(), info.symbols.end(), name) != info.symbols.end();
  });
}

/// Sizes of named dims, from --dim and from the shapes and arrays that are given.
static std::map<std::string, int64_t>
knownDims(const Model &model, const InputOptions &options,
          const std::map<size_t, std::vector<int64_t>> &shapes) {
  std::map<std::string, int64_t> dims;
  auto add = [&](const std::string &name, int64_t size) {
    auto [known, isNew] = dims.emplace(name, size);
    if (!isNew && known->second != size)
      throw DataError("dimension '" + printable(name) + "' is given as " +
                      std::to_string(known->second) + " and as " + std::to_string(size));
  };
  for (const auto &[index, shape] : shapes) {
    const TensorInfo &info = model.inputs[index];
    for (size_t d = 0; info.shape && d < shape.size() && d < info.symbols.size(); ++d)
      if (!info.symbols[d].empty())
        add(info.symbols[d], shape[d]);
  }
  for (const std::string &option : options.dims) {
    auto [name, size] = divide(option, "NAME=SIZE");
    if (!hasDim(model, name))
      throw DataError("no input of the model has an open dimension '" + printable(name) + "'");
    add(name, parseDim(size, option));
  }
  return dims;
}

std::vector<Array> makeInputs(const Model &model, const InputOptions &options) {
  std::map<size_t, Array> given;
  std::map<size_t, std::vector<int64_t>> shapes;
  for (const std::string &option : options.files) {
    auto [name, file] = divide(option, "INPUT=FILE");
    size_t index = inputIndex(model, name);
    if (given.count(index))
      throw DataError("--input gives '" + printable(name) + "' twice");
    given[index] = readArray(file);
    adaptDtype(given[index], model.inputs[index].dtype);
    shapes[index] = given[index].shape;
  }
  for (const std::string &option : options.shapes) {
    auto [name, shape] = divide(option, "INPUT=SIZExSIZE...");
    if (!shapes.emplace(inputIndex(model, name), parseShape(shape, option)).second)
      throw DataError("the shape of '" + printable(name) + "' is given twice");
  }
  std::map<std::string, int64_t> dims = knownDims(model, options, shapes);
  std::vector<Array> inputs;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (given.count(i)) {
      inputs.push_back(std::move(given[i]));
      continue;
    }
    auto shape = shapes.find(i);
    inputs.push_back(randomArray(
        model.inputs[i],
        chooseShape(model.inputs[i], shape == shapes.end() ? nullptr : &shape->second, dims),
        options.seed, i));
  }
  return inputs;
}

// ---- ONNX's test folders ----

/// The N of `kind`_N.pb, or -1.
static int64_t fileNumber(const std::string &name, const std::string &kind) {
  std::string prefix = kind + "_";
  int64_t number = -1;
  if (name.size() <= prefix.size() + 3 || name.compare(0, prefix.size(), prefix) ||
      name.compare(name.size() - 3, 3, ".pb"))
    return -1;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size() - 3;
  auto [stop, code] = std::from_chars(begin, end, number);
  return code == std::errc() && stop == end ? number : -1;
}

static std::map<int64_t, Array> readNumbered(const std::filesystem::path &folder,
                                             const std::string &kind) {
  std::map<int64_t, Array> arrays;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (int64_t n = fileNumber(entry.path().filename().string(), kind); n >= 0)
      arrays[n] = readArray(entry.path());
  return arrays;
}

/// Assigns each array to the value with its name, else with its number.
static std::map<size_t, Array> assign(std::map<int64_t, Array> arrays,
                                      const std::vector<TensorInfo> &infos,
                                      const std::filesystem::path &folder) {
  auto named = [&](const Array &array) {
    return std::find_if(infos.begin(), infos.end(), [&](const TensorInfo &info) {
      return !array.name.empty() && info.name == array.name;
    });
  };
  bool byName = std::all_of(arrays.begin(), arrays.end(),
                            [&](const auto &entry) { return named(entry.second) != infos.end(); });
  std::map<size_t, Array> result;
  for (auto &[number, array] : arrays) {
    size_t index = byName ? size_t(named(array) - infos.begin()) : size_t(number);
    std::string name = array.name;
    if (!result.emplace(index, std::move(array)).second)
      throw DataError("'" + printable(folder.string()) + "' has two files for '" + printable(name) +
                      "'");
  }
  return result;
}

/// A file without a value to belong to is a mistake, which would otherwise go unseen.
static void checkAll(const std::map<size_t, Array> &arrays, const std::vector<TensorInfo> &infos,
                     const std::string &kind, const std::filesystem::path &folder) {
  if (!arrays.empty() && arrays.rbegin()->first >= infos.size())
    throw DataError("'" + printable((folder / kind).string()) + "_" +
                    std::to_string(arrays.rbegin()->first) + ".pb': the model has " +
                    std::to_string(infos.size()) + " " + kind + (infos.size() == 1 ? "" : "s"));
}

static TestData readSet(const Model &model, const std::filesystem::path &folder) {
  TestData data{folder, {}, {}, {}};
  std::map<size_t, Array> inputs = assign(readNumbered(folder, "input"), model.inputs, folder);
  std::map<size_t, Array> outputs = assign(readNumbered(folder, "output"), model.outputs, folder);
  checkAll(inputs, model.inputs, "input", folder);
  checkAll(outputs, model.outputs, "output", folder);
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (!inputs.count(i))
      throw DataError("'" + printable(folder.string()) + "' has no file for input " +
                      std::to_string(i) + ", '" + printable(model.inputs[i].name) + "'");
    data.inputs.push_back(std::move(inputs[i]));
  }
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    data.hasOutput.push_back(outputs.count(i));
    data.outputs.push_back(std::move(outputs[i]));
  }
  return data;
}

std::vector<TestData> readTestData(const Model &model, const std::filesystem::path &folder) {
  if (!std::filesystem::is_directory(folder))
    throw DataError("'" + printable(folder.string()) + "' is not a folder");
  std::vector<std::filesystem::path> sets;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.is_directory() && !entry.path().filename().string().compare(0, 14, "test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  if (sets.empty())
    sets.push_back(folder);
  std::vector<TestData> result;
  for (const std::filesystem::path &set : sets)
    result.push_back(readSet(model, set));
  return result;
}

} // namespace tcc::run
