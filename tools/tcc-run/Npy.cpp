// NumPy's format: a magic, a version, the length of a header, and the header,
// which is a Python dictionary: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }.
#include "Files.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tcc::run {

void requireFile(const std::filesystem::path &path) {
  std::error_code code;
  std::filesystem::file_type type = std::filesystem::status(path, code).type();
  if (type == std::filesystem::file_type::regular)
    return;
  std::string why = type == std::filesystem::file_type::not_found ? "there is no such file"
                    : code                                        ? code.message()
                                                                  : "it is no regular file";
  throw DataError("cannot read '" + printable(path.string()) + "': " + why);
}

std::string readFile(const std::filesystem::path &path) {
  requireFile(path);
  std::error_code code;
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  if (!in.is_open() || (std::filesystem::file_size(path, code) && !(content << in.rdbuf())))
    throw DataError("cannot read '" + printable(path.string()) + "': " + std::strerror(errno));
  return content.str();
}

Array readArray(const std::filesystem::path &path) {
  std::string content = readFile(path);
  try {
    if (path.extension() == ".npy")
      return parseNpy(content);
    if (path.extension() == ".pb")
      return parseTensorProto(content);
  } catch (const DataError &error) {
    throw DataError("'" + printable(path.string()) + "': " + error.what());
  }
  throw DataError("'" + printable(path.string()) + "': expected .npy or .pb");
}

namespace {

/// The text after `'key':` in the header.
std::string field(const std::string &header, const std::string &key) {
  size_t at = header.find("'" + key + "'");
  at = at == std::string::npos ? at : header.find(':', at);
  if (at == std::string::npos)
    throw DataError("the .npy header has no '" + key + "'");
  size_t value = header.find_first_not_of(' ', at + 1);
  return value == std::string::npos ? std::string() : header.substr(value);
}

DLDataType parseDescr(const std::string &descr) {
  struct Row {
    const char *descr;
    DLDataType dtype;
  };
  static const Row rows[] = {{"f2", {kDLFloat, 16, 1}},       {"f4", {kDLFloat, 32, 1}},
                             {"f8", {kDLFloat, 64, 1}},       {"i1", {kDLInt, 8, 1}},
                             {"i2", {kDLInt, 16, 1}},         {"i4", {kDLInt, 32, 1}},
                             {"i8", {kDLInt, 64, 1}},         {"u1", {kDLUInt, 8, 1}},
                             {"u2", {kDLUInt, 16, 1}},        {"u4", {kDLUInt, 32, 1}},
                             {"u8", {kDLUInt, 64, 1}},        {"b1", {kDLBool, 8, 1}},
                             {"c8", {kDLComplex, 64, 1}},     {"c16", {kDLComplex, 128, 1}},
                             {"V1", {kDLOpaqueHandle, 8, 1}}, {"V2", {kDLOpaqueHandle, 16, 1}}};
  for (const Row &row : rows)
    if (descr.size() > 1 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=') &&
        descr.substr(1) == row.descr)
      return row.dtype;
  throw DataError("element type '" + printable(descr) + "' is not supported");
}

std::vector<int64_t> parseShape(const std::string &text) {
  std::vector<int64_t> shape;
  size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string::npos)
    throw DataError("the .npy header's shape is malformed");
  const char *at = text.c_str() + 1, *stop = text.c_str() + end;
  while (at < stop) {
    char *next;
    errno = 0;
    long long dim = strtoll(at, &next, 10);
    if (next == at || errno)
      break;
    shape.push_back(dim);
    at = next + strspn(next, "L, ");
  }
  if (at + strspn(at, ", ") < stop || shape.size() > 64)
    throw DataError("the .npy header's shape is malformed");
  return shape;
}

/// Whether columns lie together.
bool parseOrder(const std::string &text) {
  std::string word = text.substr(0, text.find_first_of(" ,}"));
  if (word != "True" && word != "False")
    throw DataError("the .npy header's fortran_order is neither True nor False");
  return word == "True";
}

std::string descrOf(DLDataType dtype) {
  std::string size = std::to_string((dtype.bits + 7) / 8), order = dtype.bits > 8 ? "<" : "|";
  switch (dtype.code) {
  case kDLFloat:
    return order + "f" + size;
  case kDLInt:
    return order + "i" + size;
  case kDLUInt:
    return order + "u" + size;
  case kDLBool:
    return "|b1";
  case kDLComplex:
    return order + "c" + size;
  default:
    return order + "V" + size;
  }
}

} // namespace

Array parseNpy(const std::string &content) {
  bool known = content.size() >= 12 && !content.compare(0, 6, "\x93NUMPY");
  size_t prefix = known && content[6] >= 2 ? 12 : 10;
  if (!known || content[6] < 1 || content[6] > 3)
    throw DataError("this is not an .npy file");
  uint32_t length = 0;
  std::memcpy(&length, content.data() + 8, prefix - 8);
  if (content.size() - prefix < length)
    throw DataError("the file is cut short");
  std::string header = content.substr(prefix, length), descr = field(header, "descr");
  Array array;
  if (descr.empty() || descr[0] != '\'')
    throw DataError("structured element types are not supported");
  array.dtype = parseDescr(descr.substr(1, descr.find('\'', 1) - 1));
  array.shape = parseShape(field(header, "shape"));
  size_t bytes = packedBytes(array.dtype, array.size());
  if (content.size() - prefix - length < bytes)
    throw DataError("the file is cut short");
  const char *data = content.data() + prefix + length;
  array.bytes.assign(data, data + bytes);
  if (parseOrder(field(header, "fortran_order"))) {
    int64_t stride = 1;
    for (int64_t dim : array.shape) {
      array.strides.push_back(stride);
      stride *= dim;
    }
  }
  return array;
}

void writeNpy(const std::filesystem::path &path, const DLTensor &tensor) {
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  const char *data = static_cast<const char *>(tensor.data) + tensor.byte_offset;
  size_t count = elementCount(shape);
  std::string text =
      "{'descr': '" + descrOf(tensor.dtype) + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : shape)
    text += std::to_string(dim) + ",";
  text += "), }";
  text.append(63 - (text.size() + 10) % 64, ' ');
  text += '\n';
  uint16_t length = uint16_t(text.size());
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8).write(reinterpret_cast<char *>(&length), 2) << text;
  if (tensor.dtype.bits >= 8)
    out.write(data, std::streamsize(packedBytes(tensor.dtype, count)));
  for (size_t i = 0; tensor.dtype.bits < 8 && i < count; ++i)
    out.put(char(int(realAt(tensor.dtype, data, i))));
  out.close();
  if (out)
    return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) // a part of it, on a full disk
    std::filesystem::remove(path, ignored);
  throw DataError("cannot write '" + printable(path.string()) + "'");
}

} // namespace tcc::run
