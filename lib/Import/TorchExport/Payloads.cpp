#include "Import/TorchExport/Payloads.h"
#include "Import/TorchExport/Shapes.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Json.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;

namespace tcc::torchexport {

Error Payloads::readConfigFile(StringRef model, StringRef folder) {
  std::string name = ("data/" + folder + "/" + model + "_" + folder + "_config.json").str();
  const ZipEntry *entry = archive.find(root + name);
  if (!entry)
    return Error::success();
  auto document = parseJson(entry->data);
  if (!document)
    return userError(printable(name) + ": " + toString(document.takeError()));
  documents.push_back(std::move(*document));
  const json::Object *top = documents.back().getAsObject();
  const json::Object *config = top ? top->getObject("config") : nullptr;
  if (!config)
    return userError(printable(name) + ": expected an object 'config'");
  for (const auto &[key, value] : *config) {
    auto payload = readAs<Payload>(value, name);
    if (!payload)
      return payload.takeError();
    const ZipEntry *data = archive.find((root + "data/" + folder + "/" + payload->path).str());
    sources.try_emplace(key, Source{data, *payload});
  }
  return Error::success();
}

Error Payloads::readConfig(StringRef model) {
  documents.reserve(2); // payloads point into the documents
  if (Error error = readConfigFile(model, "weights"))
    return error;
  return readConfigFile(model, "constants");
}

/// Copies a tensor that is not dense and row-major; every element was checked to
/// lie inside `storage`.
static std::vector<char> gather(StringRef storage, uint64_t width, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> strides, int64_t offset, uint64_t bytes) {
  std::vector<char> dense(bytes);
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t at = offset;
  for (uint64_t out = 0; out < bytes; out += width) {
    std::memcpy(dense.data() + out, storage.data() + at * width, width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return dense;
}

Expected<Weight> Payloads::load(const Source &source, ArrayRef<int64_t> shape) {
  const TensorMeta &meta = *source.payload.meta;
  uint64_t width = storageBytes(meta.dtype, 1);
  auto bytes = tensorBytes(meta.dtype, shape);
  StringRef storage = source.entry->data;
  if (!bytes || !meta.offset.value || *meta.offset.value < 0)
    return userError("its size overflows");
  SmallVector<int64_t> strides;
  int64_t last = *meta.offset.value, expected = 1;
  bool dense = true;
  for (const SymInt &stride : meta.strides) {
    if (!stride.value || *stride.value < 0)
      return userError("its strides are not numbers");
    strides.push_back(*stride.value);
  }
  for (size_t i = shape.size(); i-- > 0 && *bytes;) {
    int64_t reach;
    if (MulOverflow<int64_t>(shape[i] - 1, strides[i], reach) || AddOverflow(last, reach, last))
      return userError("its strides overflow");
    dense &= shape[i] == 1 || strides[i] == expected;
    expected *= shape[i];
  }
  if (*bytes && static_cast<uint64_t>(last) >= storage.size() / width)
    return userError(storage.empty() ? "the file holds no data for it (exported with fake tensors?)"
                                     : "it goes past the end of its data");
  Weight weight{meta.dtype, SmallVector<int64_t, 4>(shape), {}, buffer};
  if (*bytes == 0)
    return weight;
  if (dense) {
    weight.bytes = ArrayRef(storage.data() + *meta.offset.value * width, *bytes);
    return weight;
  }
  // A broadcast view may be far larger than what is stored; a real one is not.
  constexpr uint64_t kMaxCopy = uint64_t(1) << 31;
  if (*bytes > std::max<uint64_t>(storage.size(), 1 << 24) || *bytes > kMaxCopy)
    return userError("it is a strided view larger than its data; export it contiguous");
  auto copy = std::make_shared<std::vector<char>>(
      gather(storage, width, shape, strides, *meta.offset.value, *bytes));
  weight.bytes = *copy;
  weight.owner = copy;
  return weight;
}

Expected<std::string> Payloads::weight(StringRef name, const TensorMeta &meta, WeightRole role) {
  auto fail = [&](Error cause) -> Error {
    return userError("weight '" + printable(name) + "': " + toString(std::move(cause)));
  };
  auto it = sources.find(name);
  if (it == sources.end())
    return fail(userError("the file does not hold it"));
  const Source &source = it->second;
  if (source.payload.pickled || !source.payload.meta)
    return fail(userError("it is a pickled Python object, which is never loaded; save "
                          "program.run_decompositions(), which takes wrapped (quantized) "
                          "weights apart, or export a model of plain tensors"));
  if (!source.entry)
    return fail(userError("entry '" + printable(source.payload.path) + "' is missing"));
  SmallVector<int64_t> shape;
  const TensorMeta &stored = *source.payload.meta;
  bool same = stored.dtype == meta.dtype && stored.sizes.size() == meta.sizes.size();
  for (size_t i = 0; same && i < stored.sizes.size(); ++i) {
    same = stored.sizes[i].value && stored.sizes[i].value == meta.sizes[i].value &&
           *stored.sizes[i].value >= 0;
    if (same)
      shape.push_back(*stored.sizes[i].value);
  }
  if (!same)
    return fail(userError("its stored type is not the one that the graph states"));
  auto loaded = load(source, shape);
  if (!loaded)
    return fail(loaded.takeError());
  auto key = std::tuple(loaded->bytes.data(), loaded->dtype,
                        std::vector<int64_t>(shape.begin(), shape.end()));
  if (loaded->owner == buffer && !loaded->bytes.empty())
    if (auto before = known.find(key); before != known.end())
      return before->second;
  loaded->role = role;
  std::string given = weights.add(name, std::move(*loaded));
  known[key] = given;
  return given;
}

} // namespace tcc::torchexport
