//===- Model.cpp - A library through its C interface ---------------------===//
//
// tcc-run uses nothing but tcc.h, so that it is an example of the interface and a test of it: what
// it needs and cannot get, no user can get either.
//
//===----------------------------------------------------------------------===//
#include "Model.h"
#include "Files.h"
#include "tcc/Runtime/model_file.h"
#include <chrono>
#include <dlfcn.h>
#include <filesystem>

namespace tcc::run {

Outputs::~Outputs() {
  for (DLManagedTensor *tensor : tensors)
    if (tensor)
      tensor->deleter(tensor);
}

std::string TensorInfo::text() const {
  std::string text = dtypeName(dtype);
  if (!shape)
    return text + " of any shape";
  text += "[";
  for (size_t d = 0; d < shape->size(); ++d) {
    std::string open = symbols[d].empty() ? "?" : printable(symbols[d]);
    text += (d ? ", " : "") + ((*shape)[d] < 0 ? open : std::to_string((*shape)[d]));
  }
  return text + "]";
}

static TensorInfo publicInfo(const tcc_tensor_info &info) {
  TensorInfo result{
      info.name, info.dtype, std::nullopt, {}, (info.flags & TCC_TENSOR_MUTATED) != 0};
  if (info.ndim < 0)
    return result;
  result.shape.emplace(info.shape, info.shape + info.ndim);
  result.symbols.assign(info.symbols, info.symbols + info.ndim);
  return result;
}

/// dlopen takes a name without a slash from the system's folders.
static std::string withFolder(const std::string &path) {
  return path.find('/') == std::string::npos ? "./" + path : path;
}

Model::Model(const std::string &path, const Options &options) {
  auto begin = std::chrono::steady_clock::now();
  try {
    open(path, options);
  } catch (...) {
    close();
    throw;
  }
  openMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  auto describe = [&](auto count, auto get, std::vector<TensorInfo> &infos) {
    for (uint32_t i = 0; i < count(model); ++i) {
      tcc_tensor_info info = {};
      info.struct_size = sizeof info;
      get(model, i, &info);
      infos.push_back(publicInfo(info));
    }
  };
  describe(api->model_num_inputs, api->model_input, inputs);
  describe(api->model_num_outputs, api->model_output, outputs);
}

/// "cuda:1" as DLPack has it.
static DLDevice parseDevice(const std::string &text) {
  static const std::pair<const char *, DLDeviceType> kinds[] = {
      {"cpu", kDLCPU}, {"cuda", kDLCUDA}, {"sim", kDLExtDev}};
  size_t colon = text.find(':');
  std::string number = colon == std::string::npos ? "0" : text.substr(colon + 1);
  bool good = !number.empty() && number.size() < 5 &&
              number.find_first_not_of("0123456789") == std::string::npos;
  for (auto [name, type] : kinds)
    if (good && text.substr(0, colon) == name)
      return {type, std::stoi(number)};
  throw DataError("--device '" + printable(text) + "' is not cpu, cuda, cuda:N or sim");
}

void Model::open(const std::string &path, const Options &options) {
  requireFile(path);
  if (const char *wrong = tcc_check_model_file(path.c_str()))
    throw DataError("'" + printable(path) + "' " + wrong);
  handle = dlopen(withFolder(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw DataError("cannot load '" + printable(path) + "': " + printable(dlerror()));
  auto getApi = reinterpret_cast<decltype(&tcc_get_api)>(dlsym(handle, "tcc_get_api"));
  if (!getApi)
    throw DataError("'" + printable(path) + "' is not a model made by tcc");
  api = getApi(TCC_ABI_VERSION);
  if (!api)
    throw DataError("'" + printable(path) + "' has another interface version than " +
                    std::to_string(TCC_ABI_VERSION));
  tcc_error error = {};
  tcc_model_options modelOptions = {};
  modelOptions.struct_size = sizeof modelOptions;
  modelOptions.weights_path = options.weights.empty() ? nullptr : options.weights.c_str();
  if (tcc_status status = api->model_open(&modelOptions, &model, &error))
    throw ModelError(status, printable(path) + ": " + error.message);
  tcc_context_options contextOptions = {};
  contextOptions.struct_size = sizeof contextOptions;
  contextOptions.threads = options.threads;
  contextOptions.profile = (options.profile ? TCC_PROFILE_KERNELS : 0) |
                           (options.timeDevice ? TCC_PROFILE_DEVICE : 0) |
                           (options.ranges ? TCC_PROFILE_RANGES : 0);
  if (!options.device.empty())
    contextOptions.device = parseDevice(options.device);
  if (tcc_status status = api->context_create(model, &contextOptions, &context, &error))
    throw ModelError(status, printable(path) + ": " + error.message);
  // Models of an older compiler draw the same numbers in every run.
  bool takesSeed = api->struct_size >= offsetof(tcc_api, context_set_seed) + sizeof(void *);
  if (options.seed && takesSeed)
    if (tcc_status status = api->context_set_seed(context, *options.seed))
      throw ModelError(status, printable(path) + ": the seed was refused");
}

void Model::close() {
  if (api) {
    api->context_destroy(context);
    api->model_close(model);
  }
  if (handle)
    dlclose(handle);
}

Model::~Model() { close(); }

std::vector<DLTensor> Model::place(const std::vector<DLTensor> &tensors, Outputs &owners) {
  std::vector<DLTensor> placed = tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype.bits < 8)
      continue; // they have no form there
    tcc_error error = {};
    if (tcc_status status = api->context_place(context, &tensors[i], owners.data() + i, &error))
      throw ModelError(status, error.message);
    placed[i] = owners[i];
  }
  return placed;
}

Outputs Model::run(const std::vector<DLTensor> &tensors, bool there) {
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  Outputs result(outputs.size());
  tcc_error error = {};
  tcc_run_options options = {sizeof options, TCC_RUN_OUTPUTS_ON_DEVICE, nullptr};
  auto count = uint32_t(pointers.size()), results = uint32_t(result.size());
  tcc_status status =
      there ? api->run_on(context, &options, pointers.data(), count, result.data(), results, &error)
            : api->run(context, pointers.data(), count, result.data(), results, &error);
  if (status)
    throw ModelError(status, error.message);
  return result;
}

std::string Model::manifest() const { return api->model_manifest(model, nullptr); }

tcc_context_stats Model::stats() const {
  tcc_context_stats stats = {};
  stats.struct_size = sizeof stats;
  api->context_get_stats(context, &stats);
  return stats;
}

std::vector<tcc_kernel_info> Model::kernels() const {
  std::vector<tcc_kernel_info> kernels;
  tcc_kernel_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; api->context_kernel(context, i, &info) == TCC_OK; ++i)
    kernels.push_back(info);
  return kernels;
}

} // namespace tcc::run
