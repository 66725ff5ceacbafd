// ONNX's TensorProto from protobuf's wire format. A message is a row of fields,
// each a key (number << 3 | wire type) and a value: varint (0), 8 bytes (1), a
// length and bytes (2), or 4 bytes (5). Numbers of a repeated field come one by
// one or packed into bytes; readers accept both.
#include "Files.h"
#include <cstring>
#include <optional>

namespace tcc::run {

namespace {

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}
  bool done() const { return text.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint8_t byte = uint8_t(take(1)[0]);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    throw DataError("malformed TensorProto: a number is too long");
  }

  template <typename T> T fixed() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string_view take(uint64_t count) {
    if (count > text.size())
      throw DataError("malformed TensorProto: the file is cut short");
    std::string_view part = text.substr(0, count);
    text.remove_prefix(count);
    return part;
  }

  void skip(unsigned wireType) {
    if (wireType == Varint)
      varint();
    else if (wireType == Bytes)
      take(varint());
    else if (wireType == Fixed64 || wireType == Fixed32)
      take(wireType == Fixed64 ? 8 : 4);
    else
      throw DataError("malformed TensorProto: this is not protobuf");
  }

private:
  std::string_view text;
};

/// The fields of the message, numbers still as they were stored.
struct Fields {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::vector<uint64_t> integers; ///< int32_data, int64_data and uint64_data
  std::vector<char> floats;       ///< float_data and double_data
  std::string_view raw;
  bool hasRaw = false, external = false;
  std::string name;
};

template <typename T> void addIntegers(Reader &reader, unsigned wireType, std::vector<T> &values) {
  if (wireType == Varint) {
    values.push_back(T(reader.varint()));
    return;
  }
  if (wireType != Bytes)
    throw DataError("malformed TensorProto: a number has the wrong wire type");
  Reader packed(reader.take(reader.varint()));
  while (!packed.done())
    values.push_back(T(packed.varint()));
}

void addFloats(Reader &reader, unsigned wireType, std::vector<char> &values) {
  std::string_view bytes = reader.take(wireType == Bytes     ? reader.varint()
                                       : wireType == Fixed64 ? 8
                                                             : 4);
  values.insert(values.end(), bytes.begin(), bytes.end());
}

void readField(Reader &reader, uint64_t number, unsigned wireType, Fields &fields) {
  auto bytes = [&] {
    if (wireType != Bytes)
      throw DataError("malformed TensorProto: a field has the wrong wire type");
    return reader.take(reader.varint());
  };
  switch (number) {
  case 1:
    return addIntegers(reader, wireType, fields.dims);
  case 2:
    if (wireType != Varint)
      throw DataError("malformed TensorProto: a field has the wrong wire type");
    fields.dataType = reader.varint();
    return;
  case 4:  // float_data
  case 10: // double_data
    return addFloats(reader, wireType, fields.floats);
  case 5:  // int32_data
  case 7:  // int64_data
  case 11: // uint64_data
    return addIntegers(reader, wireType, fields.integers);
  case 8:
    fields.name = bytes();
    return;
  case 9:
    fields.raw = bytes();
    fields.hasRaw = true;
    return;
  case 13:
    fields.external = true;
    return reader.skip(wireType);
  default:
    return reader.skip(wireType);
  }
}

DLDataType dtypeOf(uint64_t dataType) {
  static const DLDataType dtypes[] = {
      {},
      {kDLFloat, 32, 1},
      {kDLUInt, 8, 1},
      {kDLInt, 8, 1},
      {kDLUInt, 16, 1},
      {kDLInt, 16, 1},
      {kDLInt, 32, 1},
      {kDLInt, 64, 1},
      {}, // string
      {kDLBool, 8, 1},
      {kDLFloat, 16, 1},
      {kDLFloat, 64, 1},
      {kDLUInt, 32, 1},
      {kDLUInt, 64, 1},
      {kDLComplex, 64, 1},
      {kDLComplex, 128, 1},
      {kDLBfloat, 16, 1},
      {kDLFloat8_e4m3fn, 8, 1},
      {kDLFloat8_e4m3fnuz, 8, 1},
      {kDLFloat8_e5m2, 8, 1},
      {kDLFloat8_e5m2fnuz, 8, 1},
      {kDLUInt, 4, 1},
      {kDLInt, 4, 1},
      {kDLFloat4_e2m1fn, 4, 1},
      {kDLFloat8_e8m0fnu, 8, 1},
      {kDLUInt, 2, 1},
      {kDLInt, 2, 1},
  };
  if (dataType == 8)
    throw DataError("tensors of strings are not supported");
  if (dataType == 0)
    throw DataError("no tensor: neither an optional without a value nor a sequence is supported");
  if (dataType >= std::size(dtypes))
    throw DataError("unknown element type " + std::to_string(dataType));
  return dtypes[dataType];
}

/// Typed fields hold one element a number; below 8 bits one byte of packed
/// elements a number; complex and float types the parts in order.
std::vector<char> typedBytes(const Fields &fields, DLDataType dtype) {
  bool real = dtype.code == kDLFloat && dtype.bits >= 32;
  if (real || dtype.code == kDLComplex)
    return fields.floats;
  size_t width = (dtype.bits + 7u) / 8;
  std::vector<char> bytes(fields.integers.size() * width);
  for (size_t i = 0; i < fields.integers.size(); ++i)
    std::memcpy(&bytes[i * width], &fields.integers[i], width);
  return bytes;
}

/// What an OptionalProto holds, if `content` is one that holds a tensor: ONNX stores inputs that
/// may be absent so. Its third field is the tensor, where a TensorProto has what nobody writes.
std::optional<std::pair<std::string_view, std::string_view>>
optionalTensor(std::string_view content) {
  std::string_view name, tensor;
  bool holds = false;
  for (Reader reader(content); !reader.done();) {
    uint64_t key = reader.varint();
    if ((key & 7) != Bytes) {
      reader.skip(key & 7);
      continue;
    }
    std::string_view bytes = reader.take(reader.varint());
    if (key >> 3 == 1)
      name = bytes;
    if (key >> 3 == 3) {
      tensor = bytes;
      holds = true;
    }
  }
  return holds ? std::optional(std::pair(name, tensor)) : std::nullopt;
}

} // namespace

Array parseTensorProto(const std::string &content) {
  if (auto optional = optionalTensor(content)) {
    Array array = parseTensorProto(std::string(optional->second));
    array.name = optional->first;
    return array;
  }
  Fields fields;
  Reader reader(content);
  while (!reader.done()) {
    uint64_t key = reader.varint();
    readField(reader, key >> 3, key & 7, fields);
  }
  if (fields.external)
    throw DataError("external data is not supported here");
  Array array;
  array.name = fields.name;
  array.shape = fields.dims;
  array.dtype = dtypeOf(fields.dataType);
  if (fields.hasRaw)
    array.bytes.assign(fields.raw.begin(), fields.raw.end());
  else
    array.bytes = typedBytes(fields, array.dtype);
  size_t expected = packedBytes(array.dtype, array.size());
  if (array.bytes.size() != expected)
    throw DataError(dtypeName(array.dtype) + shapeText(array.shape) + " takes " +
                    std::to_string(expected) + " bytes, the tensor has " +
                    std::to_string(array.bytes.size()));
  return array;
}

} // namespace tcc::run
