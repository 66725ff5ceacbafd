//===- Tensors.cpp - Where a constant's bytes are -------------------------===//
//
// ONNX stores a tensor in one of nine ways: raw bytes, six typed lists (packed
// or not, several element types sharing a list), text, or another file. Raw
// bytes, packed lists of floats and external data are already what a Weight is,
// so the Weight points at them; the integer lists are varints and are converted.
// All of it works on the wire form, so that large tensors never become
// protobuf objects.
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"
#include "Types.h"
#include "Wire.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace tcc;
using namespace tcc::onnximport;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using onnx::TensorProto;

namespace {

constexpr uint64_t kMaxDenseBytes = uint64_t(1) << 30;
constexpr uint64_t kMaxInferenceElements = 1024;

enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternal = 13,
  kLocation = 14,
};

/// The message's fields, without their contents.
struct Layout {
  int32_t dataType = 0;
  llvm::SmallVector<int64_t, 4> shape;
  std::optional<ArrayRef<char>> raw;
  std::vector<WireField> typed; ///< the pieces of float_data ... uint64_data
  bool isExternal = false;
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// Which list holds the elements of a type that is not raw, and how many list
/// entries `count` elements take.
struct ListForm {
  uint32_t field;
  unsigned entryBytes; ///< in the Weight
  uint64_t entries;
};

ListForm listForm(int32_t dataType, uint64_t count) {
  switch (dataType) {
  case TensorProto::FLOAT:
    return {kFloatData, 4, count};
  case TensorProto::COMPLEX64:
    return {kFloatData, 4, 2 * count};
  case TensorProto::DOUBLE:
    return {kDoubleData, 8, count};
  case TensorProto::COMPLEX128:
    return {kDoubleData, 8, 2 * count};
  case TensorProto::INT64:
    return {kInt64Data, 8, count};
  case TensorProto::UINT64:
    return {kUint64Data, 8, count};
  case TensorProto::UINT32:
    return {kUint64Data, 4, count};
  default:
    break;
  }
  // Sub-byte types share entries of one byte.
  uint64_t bytes = storageBytes(*dtypeOf(dataType), count);
  unsigned width = std::max(1u, bitWidth(*dtypeOf(dataType)) / 8);
  return {kInt32Data, width, bytes / width};
}

llvm::Error parseExternal(ArrayRef<char> entry, Layout &layout) {
  std::string key, value;
  WireCursor cursor(entry);
  WireField field;
  while (!cursor.atEnd()) {
    if (!cursor.next(field))
      return userError("has damaged external_data");
    (field.number == 1 ? key : value).assign(field.bytes.begin(), field.bytes.end());
  }
  uint64_t number = 0;
  if (key == "location") {
    layout.location = value;
  } else if (key == "offset" || key == "length") {
    if (StringRef(value).getAsInteger(10, number))
      return userError("has external_data with " + key + " '" + printable(value) + "'");
    if (key == "offset")
      layout.offset = number;
    else
      layout.length = number;
  }
  return llvm::Error::success();
}

llvm::Error addDims(const WireField &field, Layout &layout) {
  const char *at = field.bytes.begin(), *end = field.bytes.end();
  while (at != end) {
    uint64_t value;
    if (layout.shape.size() > kMaxRank || !readVarint(at, end, value))
      break;
    layout.shape.push_back(static_cast<int64_t>(value));
  }
  if (at != end || layout.shape.size() > kMaxRank)
    return userError("has more than " + Twine(kMaxRank) + " axes");
  return llvm::Error::success();
}

Expected<Layout> parseLayout(ArrayRef<char> bytes) {
  Layout layout;
  WireCursor cursor(bytes);
  WireField field;
  while (!cursor.atEnd()) {
    if (!cursor.next(field))
      return userError("is damaged");
    llvm::Error error = llvm::Error::success();
    switch (field.number) {
    case kDims:
      error = addDims(field, layout);
      break;
    case kDataType:
      layout.dataType = static_cast<int32_t>(field.value);
      break;
    case kRawData:
      layout.raw = field.bytes;
      break;
    case kExternal:
      error = parseExternal(field.bytes, layout);
      break;
    case kLocation:
      layout.isExternal = field.value == TensorProto::EXTERNAL;
      break;
    case kFloatData:
    case kInt32Data:
    case kStringData:
    case kInt64Data:
    case kDoubleData:
    case kUint64Data:
      layout.typed.push_back(field);
      break;
    }
    if (error)
      return error;
  }
  return layout;
}

/// The element count; fails on what no tensor can have.
Expected<uint64_t> checkedElements(const Layout &layout) {
  uint64_t count = 1;
  for (int64_t dim : layout.shape) {
    if (dim < 0)
      return userError("has a dim of " + Twine(dim));
    count *= static_cast<uint64_t>(dim);
  }
  if (!sizeFits(layout.shape))
    return userError("has a shape whose size overflows");
  if (layout.dataType != TensorProto::STRING && !dtypeOf(layout.dataType))
    return userError("has an element type that is not supported (" + Twine(layout.dataType) + ")");
  return count;
}

/// Reads the entries of `list` from its pieces, packed or single.
llvm::Error readEntries(const Layout &layout, const ListForm &form, std::vector<char> &out) {
  auto push = [&](uint64_t value) {
    size_t at = out.size();
    out.resize(at + form.entryBytes);
    std::memcpy(out.data() + at, &value, form.entryBytes); // little-endian
  };
  bool fixed = form.field == kFloatData || form.field == kDoubleData;
  for (const WireField &piece : layout.typed) {
    if (piece.number != form.field)
      continue;
    if (fixed) {
      out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
      continue;
    }
    const char *at = piece.bytes.begin(), *end = piece.bytes.end();
    while (at != end) {
      uint64_t value;
      if (!readVarint(at, end, value))
        return userError("has damaged data");
      if (out.size() / form.entryBytes >= form.entries)
        return userError("has more data than its shape says");
      push(value);
    }
  }
  return llvm::Error::success();
}

/// ONNX has one byte a bool and says nothing of other values than 0 and 1.
void normalizeBools(Weight &weight) {
  if (llvm::all_of(weight.bytes, [](char c) { return c == 0 || c == 1; }))
    return;
  auto bytes = std::make_shared<std::vector<char>>(weight.bytes.begin(), weight.bytes.end());
  for (char &c : *bytes)
    c = c != 0;
  weight.bytes = *bytes;
  weight.owner = bytes;
}

llvm::Error readText(const Layout &layout, uint64_t count, Tensor &tensor) {
  if (layout.raw || layout.isExternal)
    return userError("holds text as raw or external data, which ONNX forbids");
  for (const WireField &piece : layout.typed)
    if (piece.number == kStringData)
      tensor.strings.emplace_back(piece.bytes.begin(), piece.bytes.end());
  if (tensor.strings.size() != count)
    return userError("has " + Twine(tensor.strings.size()) + " texts but its shape says " +
                     Twine(count));
  return llvm::Error::success();
}

} // namespace

uint64_t Tensor::elements() const {
  uint64_t count = 1;
  for (int64_t dim : shape)
    count *= static_cast<uint64_t>(dim);
  return count;
}

Tensor onnximport::makeTensor(int32_t dataType, ArrayRef<int64_t> shape, std::vector<char> bytes) {
  auto owner = std::make_shared<std::vector<char>>(std::move(bytes));
  llvm::SmallVector<int64_t, 4> dims(shape);
  return {dataType, dims, Weight{*dtypeOf(dataType), dims, *owner, owner}, {}};
}

static Expected<Tensor> readNumbers(const Layout &layout, uint64_t count, ArrayRef<char> message,
                                    const ModelFile &file, ExternalData &external) {
  Tensor tensor{layout.dataType, layout.shape, {}, {}};
  Weight &weight = tensor.weight;
  weight.dtype = *dtypeOf(layout.dataType);
  weight.shape = layout.shape;
  uint64_t size = storageBytes(weight.dtype, count);
  ListForm form = listForm(layout.dataType, count);
  llvm::SmallVector<ArrayRef<char>, 1> pieces;
  for (const WireField &piece : layout.typed)
    if (piece.number == form.field && !piece.bytes.empty())
      pieces.push_back(piece.bytes);
  bool fixed = form.field == kFloatData || form.field == kDoubleData;
  if (layout.isExternal) {
    auto slice = external.map(layout.location, layout.offset, layout.length);
    if (!slice)
      return slice.takeError();
    weight.bytes = slice->bytes;
    weight.owner = slice->owner;
    if (!layout.length && weight.bytes.size() > size)
      weight.bytes = weight.bytes.take_front(size);
  } else if (layout.raw && (!layout.raw->empty() || pieces.empty())) {
    weight.bytes = *layout.raw;
  } else if (fixed && pieces.size() == 1) {
    weight.bytes = pieces[0];
  } else {
    std::vector<char> bytes;
    bytes.reserve(std::min<uint64_t>(size, message.size() * 8));
    if (llvm::Error error = readEntries(layout, form, bytes))
      return error;
    auto owner = std::make_shared<std::vector<char>>(std::move(bytes));
    weight.bytes = *owner;
    weight.owner = owner;
  }
  if (weight.bytes.size() != size)
    return userError("has " + Twine(weight.bytes.size()) + " bytes of data, but " +
                     dataTypeName(layout.dataType) + " of its shape needs " + Twine(size));
  if (!weight.owner) {
    // In the mapping, or in the scratch copy of a small message.
    const llvm::MemoryBuffer &mapped = *file.mapping();
    if (weight.bytes.begin() >= mapped.getBufferStart() &&
        weight.bytes.end() <= mapped.getBufferEnd()) {
      weight.owner = file.mapping();
    } else {
      auto owner = std::make_shared<std::vector<char>>(weight.bytes.begin(), weight.bytes.end());
      weight.bytes = *owner;
      weight.owner = owner;
    }
  }
  if (weight.dtype == DType::Bool)
    normalizeBools(weight);
  return tensor;
}

Expected<Tensor> TensorReader::read(const TensorProto &proto, const Twine &subject) {
  std::string scratch;
  ArrayRef<char> message = file.tensorBytes(proto, scratch);
  auto result = [&]() -> Expected<Tensor> {
    auto layout = parseLayout(message);
    if (!layout)
      return layout.takeError();
    auto count = checkedElements(*layout);
    if (!count)
      return count.takeError();
    if (layout->dataType != TensorProto::STRING)
      return readNumbers(*layout, *count, message, file, external);
    Tensor tensor{layout->dataType, layout->shape, {}, {}};
    if (llvm::Error error = readText(*layout, *count, tensor))
      return error;
    return tensor;
  }();
  if (!result)
    return file.error(subject + " " + llvm::toString(result.takeError()));
  return result;
}

/// Copies the values to their places in `dense`; a message on failure.
static std::string scatter(const Tensor &values, const Tensor &indices, ArrayRef<int64_t> shape,
                           std::vector<char> &dense) {
  uint64_t elementBytes = bitWidth(values.weight.dtype) / 8;
  uint64_t count = values.elements(), total = dense.size() / elementBytes;
  bool linear = indices.shape.size() == 1;
  size_t width = linear ? 1 : shape.size();
  if (indices.weight.dtype != DType::I64 || indices.elements() != count * width)
    return "has indices that do not fit its values";
  const char *at = indices.weight.bytes.data();
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t position = 0;
    for (size_t axis = 0; axis < width; ++axis, at += 8) {
      int64_t index;
      std::memcpy(&index, at, 8);
      int64_t extent = linear ? static_cast<int64_t>(total) : shape[axis];
      if (index < 0 || index >= extent)
        return "has an index out of its shape";
      position = position * extent + index;
    }
    if (i && position <= before)
      return position == before ? "has an index twice" : "has indices that do not ascend";
    before = position;
    std::memcpy(dense.data() + position * elementBytes,
                values.weight.bytes.data() + i * elementBytes, elementBytes);
  }
  return {};
}

Expected<Tensor> TensorReader::read(const onnx::SparseTensorProto &proto, const Twine &subject) {
  auto values = read(proto.values(), subject);
  if (!values)
    return values.takeError();
  auto indices = read(proto.indices(), subject);
  if (!indices)
    return indices.takeError();
  auto fail = [&](const Twine &what) { return file.error(subject + " " + what); };
  if (values->isText() || bitWidth(values->weight.dtype) % 8 != 0)
    return fail("is sparse, which is not supported for " + dataTypeName(values->dataType));
  if (indices->isText() || proto.dims_size() > kMaxRank || values->shape.size() != 1)
    return fail("is no valid sparse tensor");
  llvm::SmallVector<int64_t, 4> shape(proto.dims().begin(), proto.dims().end());
  if (llvm::any_of(shape, [](int64_t d) { return d < 0; }) || !sizeFits(shape))
    return fail("has a negative dim or a shape whose size overflows");
  Weight dense{values->weight.dtype, shape, {}, {}};
  uint64_t size = storageBytes(dense.dtype, dense.elements());
  if (size > kMaxDenseBytes)
    return fail("is sparse with " + Twine(size) + " bytes when written out; 1 GB is the limit");
  std::vector<char> bytes(size);
  if (std::string why = scatter(*values, *indices, shape, bytes); !why.empty())
    return fail(why);
  return makeTensor(values->dataType, shape, std::move(bytes));
}

std::shared_ptr<const TensorProto> onnximport::inferenceData(const Tensor &tensor) {
  if (tensor.isText() || tensor.elements() > kMaxInferenceElements)
    return nullptr;
  auto proto = std::make_shared<TensorProto>();
  proto->set_data_type(tensor.dataType);
  for (int64_t dim : tensor.shape)
    proto->add_dims(dim);
  proto->set_raw_data(tensor.weight.bytes.data(), tensor.weight.bytes.size());
  return proto;
}
