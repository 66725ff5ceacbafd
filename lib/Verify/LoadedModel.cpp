//===- LoadedModel.cpp - A library under test ----------------------------===//
//
// The library is opened as a user would open it, through the C interface and DLPack. What it gives
// is copied, since a run's outputs live no longer than its context.
//
//===----------------------------------------------------------------------===//
#include "tcc/Verify/LoadedModel.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"
#include <chrono>
#include <dlfcn.h>

using namespace llvm;
using namespace tcc;
using reference::Tensor;

static Error modelError(tcc_status status, const tcc_error &error) {
  std::string text = printable(error.message, 1000);
  return status == TCC_INCOMPATIBLE || status == TCC_INVALID_ARGUMENT ? userError(text)
                                                                      : createStringError(text);
}

Expected<std::unique_ptr<LoadedModel>> LoadedModel::open(const std::string &path,
                                                         const std::string &weights, bool profile) {
  std::unique_ptr<LoadedModel> loaded(new LoadedModel);
  if (Error error = loaded->openAt(path, weights, profile))
    return std::move(error);
  return std::move(loaded);
}

Error LoadedModel::openAt(const std::string &path, const std::string &weights, bool profile) {
  // dlopen takes a name without a slash from the system's folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return userError("this machine cannot load the model: " + printable(dlerror(), 500));
  auto getApi = reinterpret_cast<decltype(&tcc_get_api)>(dlsym(handle, "tcc_get_api"));
  api = getApi ? getApi(TCC_ABI_VERSION) : nullptr;
  if (!api)
    return createStringError("the model does not speak interface version " +
                             Twine(TCC_ABI_VERSION));
  tcc_error error = {};
  tcc_model_options options = {};
  options.struct_size = sizeof options;
  options.weights_path = weights.empty() ? nullptr : weights.c_str();
  if (tcc_status status = api->model_open(&options, &model, &error))
    return modelError(status, error);
  tcc_context_options how = {};
  how.struct_size = sizeof how;
  how.profile = profile;
  if (tcc_status status = api->context_create(model, &how, &context, &error))
    return modelError(status, error);
  (void)api->context_set_seed(context, reference::RandomState().seed); // nothing runs yet
  return Error::success();
}

LoadedModel::~LoadedModel() {
  if (api) {
    api->context_destroy(context);
    api->model_close(model);
  }
  if (handle)
    dlclose(handle);
}

StringMap<double> LoadedModel::kernelSeconds() const {
  StringMap<double> seconds;
  tcc_kernel_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; api->context_kernel(context, i, &info) == TCC_OK; ++i)
    seconds[info.name] = static_cast<double>(info.nanoseconds) * 1e-9;
  return seconds;
}

namespace {

/// The inputs of one run as DLPack; holds what it points to.
class Views {
public:
  Views(const tcc_api &api, const tcc_model *model, ArrayRef<Tensor> inputs) {
    storage.reserve(inputs.size());
    for (auto [i, input] : enumerate(inputs)) {
      tcc_tensor_info info = {};
      info.struct_size = sizeof info;
      (void)api.model_input(model, i, &info);
      auto &[bytes, shape] = storage.emplace_back(
          input.packed(), std::vector<int64_t>(input.shape().begin(), input.shape().end()));
      bytes.resize(std::max<size_t>(bytes.size(), 1)); // an empty tensor still has an address
      DLTensor view = {};
      view.data = bytes.data();
      view.device = {kDLCPU, 0};
      bool pairs = info.dtype.code == kDLComplex && !isComplex(input.dtype());
      view.ndim = static_cast<int32_t>(shape.size()) - pairs;
      view.dtype = info.dtype;
      view.shape = shape.data();
      views.push_back(view);
    }
    for (const DLTensor &view : views)
      pointers.push_back(&view);
  }
  const DLTensor *const *data() const { return pointers.data(); }
  ArrayRef<char> bytes(size_t i) const { return storage[i].first; }

private:
  std::vector<std::pair<std::vector<char>, std::vector<int64_t>>> storage;
  std::vector<DLTensor> views;
  std::vector<const DLTensor *> pointers;
};

struct Outputs {
  explicit Outputs(size_t count) : tensors(count) {}
  ~Outputs() {
    for (DLManagedTensor *tensor : tensors)
      if (tensor)
        tensor->deleter(tensor);
  }
  std::vector<DLManagedTensor *> tensors;
};

} // namespace

/// What `managed` holds, with complex numbers as pairs where `type` is not complex.
static Expected<Tensor> tensorOf(const DLTensor &view, DType type) {
  SmallVector<int64_t> shape(ArrayRef<int64_t>(view.shape, view.ndim));
  if (view.dtype.code == kDLComplex && !isComplex(type))
    shape.push_back(2);
  std::optional<int64_t> count = reference::elementCount(shape);
  if (!count)
    return createStringError("an output has an impossible shape");
  ArrayRef<char> bytes(static_cast<const char *>(view.data) + view.byte_offset,
                       storageBytes(type, *count));
  return Tensor::fromPacked(type, shape, bytes);
}

Expected<LoadedModel::Results> LoadedModel::run(ArrayRef<Tensor> inputs, ArrayRef<DType> types) {
  Views views(*api, model, inputs);
  Outputs outputs(types.size());
  tcc_error error = {};
  auto begin = std::chrono::steady_clock::now();
  if (tcc_status status = api->run(context, views.data(), inputs.size(), outputs.tensors.data(),
                                   types.size(), &error))
    return modelError(status, error);
  Results results;
  results.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (auto [managed, type] : zip_equal(outputs.tensors, types)) {
    Expected<Tensor> tensor = tensorOf(managed->dl_tensor, type);
    if (!tensor)
      return tensor.takeError();
    results.outputs.push_back(std::move(*tensor));
  }
  for (auto [i, input] : enumerate(inputs)) {
    ArrayRef<char> bytes = views.bytes(i).take_front(storageBytes(input.dtype(), input.elements()));
    Expected<Tensor> tensor = Tensor::fromPacked(input.dtype(), input.shape(), bytes);
    if (!tensor)
      return tensor.takeError();
    results.inputs.push_back(std::move(*tensor));
  }
  return results;
}
