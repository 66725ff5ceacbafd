#include "CompiledModel.h"
#include <dlfcn.h>

using namespace tcc;
using namespace tcc::conformance;
using reference::Tensor;

static DLDataType dlpackType(DType type) {
  uint8_t code = kDLFloat;
  switch (type) {
  case DType::BF16:
    code = kDLBfloat;
    break;
  case DType::F8E4M3FN:
    code = kDLFloat8_e4m3fn;
    break;
  case DType::F8E4M3FNUZ:
    code = kDLFloat8_e4m3fnuz;
    break;
  case DType::F8E5M2:
    code = kDLFloat8_e5m2;
    break;
  case DType::F8E5M2FNUZ:
    code = kDLFloat8_e5m2fnuz;
    break;
  case DType::F8E8M0FNU:
    code = kDLFloat8_e8m0fnu;
    break;
  case DType::F4E2M1FN:
    code = kDLFloat4_e2m1fn;
    break;
  case DType::Bool:
    code = kDLBool;
    break;
  default:
    if (isSignedInt(type))
      code = kDLInt;
    else if (isUnsignedInt(type))
      code = kDLUInt;
    else if (isComplex(type))
      code = kDLComplex;
  }
  return {code, static_cast<uint8_t>(bitWidth(type)), 1};
}

static std::optional<DType> typeOf(DLDataType type) {
  for (int i = 0; i <= static_cast<int>(DType::C128); ++i) {
    DLDataType known = dlpackType(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits)
      return static_cast<DType>(i);
  }
  return std::nullopt;
}

static llvm::Error failed(const char *what, const tcc_error &error) {
  return llvm::createStringError(llvm::Twine(what) + ": " + error.message);
}

llvm::Expected<std::unique_ptr<CompiledModel>> CompiledModel::open(const std::string &path) {
  std::unique_ptr<CompiledModel> self(new CompiledModel);
  self->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!self->handle)
    return llvm::createStringError(llvm::Twine("cannot load: ") + dlerror());
  auto getApi = reinterpret_cast<decltype(&tcc_get_api)>(dlsym(self->handle, "tcc_get_api"));
  self->api = getApi ? getApi(TCC_ABI_VERSION) : nullptr;
  if (!self->api)
    return llvm::createStringError("the library has no interface of this version");
  tcc_error error = {};
  if (self->api->model_open(nullptr, &self->model, &error))
    return failed("open", error);
  tcc_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  if (self->api->context_create(self->model, &options, &self->context, &error))
    return failed("context", error);
  (void)self->api->context_set_seed(self->context, 0); // nothing runs yet
  return self;
}

CompiledModel::~CompiledModel() {
  if (api) {
    api->context_destroy(context);
    api->model_close(model);
  }
  if (handle)
    dlclose(handle);
}

llvm::Expected<std::vector<Tensor>> CompiledModel::run(llvm::ArrayRef<Tensor> inputs) {
  std::vector<std::vector<char>> bytes;
  std::vector<DLTensor> tensors(inputs.size());
  std::vector<const DLTensor *> pointers;
  for (auto [input, tensor] : llvm::zip(inputs, tensors)) {
    bytes.push_back(input.packed());
    tensor = {};
    tensor.data = bytes.back().data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(input.rank());
    tensor.dtype = dlpackType(input.dtype());
    tensor.shape = const_cast<int64_t *>(input.shape().data());
    pointers.push_back(&tensor);
  }
  std::vector<DLManagedTensor *> results(api->model_num_outputs(model));
  tcc_error error = {};
  if (api->run(context, pointers.data(), static_cast<uint32_t>(pointers.size()), results.data(),
               static_cast<uint32_t>(results.size()), &error))
    return failed("run", error);
  std::vector<Tensor> outputs;
  llvm::Error failure = llvm::Error::success();
  for (DLManagedTensor *result : results) {
    const DLTensor &t = result->dl_tensor;
    auto type = typeOf(t.dtype);
    llvm::ArrayRef<int64_t> shape(t.shape, t.ndim);
    auto count = reference::elementCount(shape);
    if (!failure && type && count) {
      auto tensor = Tensor::fromPacked(*type, shape,
                                       {static_cast<const char *>(t.data) + t.byte_offset,
                                        static_cast<size_t>(storageBytes(*type, *count))});
      if (tensor)
        outputs.push_back(*tensor);
      else
        failure = tensor.takeError();
    }
    result->deleter(result);
  }
  if (failure)
    return std::move(failure);
  return outputs;
}
