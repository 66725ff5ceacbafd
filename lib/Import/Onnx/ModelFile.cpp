//===- ModelFile.cpp - Reads a model without its weights ------------------===//
//
// Protobuf would copy every weight out of the mapped file, recurse as deep as
// the file says and stop at 2 GB. So the file is first rewritten at the level of
// the wire format, in one pass over a grammar of the messages that the importer
// reads: tensors above a few hundred bytes become stubs that say where they lie
// in the file, what nobody reads (documentation, metadata, training) is dropped,
// and depth and number of messages are bounded. Protobuf then parses the small
// rest. A stub is a TensorProto without data whose `segment` - a field that no
// ONNX runtime supports, and that is therefore refused in files - holds the
// begin and end of the original message.
//
//===----------------------------------------------------------------------===//
#include "ModelFile.h"
#include "Wire.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "tcc/Support/Error.h"
#include <limits>

using namespace tcc;
using namespace tcc::onnximport;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace {

constexpr size_t kInlineTensorBytes = 512;
constexpr unsigned kMaxMessageDepth = 3 * kMaxGraphDepth + 40;
/// Memory that the structure may take once parsed, estimated from above: what a
/// message and a field cost, and integers of one byte that become eight.
constexpr uint64_t kMaxStructureBytes = uint64_t(1) << 30;
constexpr uint64_t kMessageBytes = 200;
constexpr uint64_t kFieldBytes = 48;

enum class Message : uint8_t {
  Model,
  Graph,
  Node,
  Attribute,
  Tensor,
  SparseTensor,
  Function,
  ValueInfo,
  Type,
  TensorType,
  SequenceType,
  MapType,
  Shape,
  Leaf,
};

constexpr StringRef kMessageNames[] = {
    "model",      "graph", "node",        "attribute",     "tensor",   "sparse tensor", "function",
    "value_info", "type",  "tensor type", "sequence type", "map type", "shape",         "entry",
};

/// What becomes of a field: copied as it is, rewritten as a message, or dropped.
struct FieldRule {
  uint32_t number;
  std::optional<Message> message; ///< none: copied
};

ArrayRef<FieldRule> fieldRules(Message message) {
  using M = Message;
  static constexpr FieldRule model[] = {{1, {}}, {7, M::Graph}, {8, M::Leaf}, {25, M::Function}};
  static constexpr FieldRule graph[] = {{1, M::Node},       {2, {}},
                                        {5, M::Tensor},     {15, M::SparseTensor},
                                        {11, M::ValueInfo}, {12, M::ValueInfo},
                                        {13, M::ValueInfo}};
  static constexpr FieldRule node[] = {{1, {}}, {2, {}}, {3, {}},          {4, {}},
                                       {7, {}}, {8, {}}, {5, M::Attribute}};
  static constexpr FieldRule attribute[] = {
      {1, {}},       {21, {}},        {20, {}},       {2, {}},
      {3, {}},       {4, {}},         {7, {}},        {8, {}},
      {9, {}},       {5, M::Tensor},  {6, M::Graph},  {22, M::SparseTensor},
      {14, M::Type}, {10, M::Tensor}, {11, M::Graph}, {23, M::SparseTensor},
      {15, M::Type}};
  static constexpr FieldRule sparse[] = {{1, M::Tensor}, {2, M::Tensor}, {3, {}}};
  static constexpr FieldRule function[] = {{1, {}},
                                           {4, {}},
                                           {5, {}},
                                           {6, {}},
                                           {10, {}},
                                           {13, {}},
                                           {11, M::Attribute},
                                           {7, M::Node},
                                           {9, M::Leaf},
                                           {12, M::ValueInfo}};
  static constexpr FieldRule valueInfo[] = {{1, {}}, {2, M::Type}};
  static constexpr FieldRule type[] = {{1, M::TensorType},   {8, M::TensorType},
                                       {4, M::SequenceType}, {9, M::SequenceType},
                                       {5, M::MapType},      {7, M::Leaf}};
  static constexpr FieldRule tensorType[] = {{1, {}}, {2, M::Shape}};
  static constexpr FieldRule sequenceType[] = {{1, M::Type}};
  static constexpr FieldRule mapType[] = {{1, {}}, {2, M::Type}};
  static constexpr FieldRule shape[] = {{1, M::Leaf}};
  static constexpr FieldRule leaf[] = {{1, {}}, {2, {}}};
  switch (message) {
  case M::Model:
    return model;
  case M::Graph:
    return graph;
  case M::Node:
    return node;
  case M::Attribute:
    return attribute;
  case M::SparseTensor:
    return sparse;
  case M::Function:
    return function;
  case M::ValueInfo:
    return valueInfo;
  case M::Type:
    return type;
  case M::TensorType:
    return tensorType;
  case M::SequenceType:
    return sequenceType;
  case M::MapType:
    return mapType;
  case M::Shape:
    return shape;
  case M::Leaf:
    return leaf;
  case M::Tensor:
    return {};
  }
  return {};
}

/// Appends the tag of a length-delimited field and room for a length of five
/// bytes, which is filled in when the payload is known.
size_t openMessage(std::string &out, uint32_t number) {
  appendVarint(out, uint64_t(number) << 3 | 2);
  out.append(5, '\0');
  return out.size();
}

void closeMessage(std::string &out, size_t begin) {
  size_t size = out.size() - begin;
  for (unsigned i = 0; i < 5; ++i, size >>= 7)
    out[begin - 5 + i] = static_cast<char>((size & 0x7f) | (i < 4 ? 0x80 : 0));
}

class Rewriter {
public:
  Rewriter(ArrayRef<char> file) : file(file) {}

  /// False on failure, with the reason in `reason`.
  bool rewrite(Message message, ArrayRef<char> bytes);

  std::string out;
  std::string reason;

private:
  bool rewriteTensor(ArrayRef<char> bytes);
  bool rewriteField(Message message, const WireField &field);
  bool spend(uint64_t bytes) {
    spent += bytes;
    return spent <= kMaxStructureBytes ||
           fail("nodes, names and attributes need more than 1 GB of memory");
  }
  bool fail(const Twine &what) {
    reason = what.str();
    return false;
  }
  bool damaged(Message message, const char *at) {
    return fail("the " + kMessageNames[static_cast<size_t>(message)] + " at byte " +
                Twine(at - file.begin()) + " is damaged or cut short");
  }

  ArrayRef<char> file;
  unsigned depth = 0;
  unsigned graphDepth = 0;
  uint64_t spent = 0;
};

} // namespace

bool Rewriter::rewrite(Message message, ArrayRef<char> bytes) {
  if (message == Message::Tensor)
    return rewriteTensor(bytes);
  if (!spend(kMessageBytes))
    return false;
  bool isGraph = message == Message::Graph;
  if (isGraph && ++graphDepth > kMaxGraphDepth + 1)
    return fail("subgraphs are nested more than " + Twine(kMaxGraphDepth) + " deep (at byte " +
                Twine(bytes.begin() - file.begin()) + ")");
  if (++depth > kMaxMessageDepth)
    return fail("messages are nested more than " + Twine(kMaxMessageDepth) + " deep (at byte " +
                Twine(bytes.begin() - file.begin()) + ")");
  WireCursor cursor(bytes);
  WireField field;
  while (!cursor.atEnd()) {
    const char *at = cursor.position();
    if (!cursor.next(field))
      return damaged(message, at);
    if (!rewriteField(message, field))
      return false;
  }
  --depth;
  graphDepth -= isGraph;
  return true;
}

bool Rewriter::rewriteField(Message message, const WireField &field) {
  for (const FieldRule &rule : fieldRules(message)) {
    if (rule.number != field.number)
      continue;
    if (!rule.message) {
      bool integers = message == Message::Attribute && field.number == 8;
      if (!spend(kFieldBytes + field.whole.size() * (integers ? 8 : 1)))
        return false;
      out.append(field.whole.data(), field.whole.size());
      return true;
    }
    if (field.type != WireType::Bytes)
      return damaged(message, field.whole.begin());
    size_t begin = openMessage(out, field.number);
    if (!rewrite(*rule.message, field.bytes))
      return false;
    closeMessage(out, begin);
    return true;
  }
  return true; // dropped
}

bool Rewriter::rewriteTensor(ArrayRef<char> bytes) {
  if (!spend(kMessageBytes))
    return false;
  bool whole = bytes.size() <= kInlineTensorBytes;
  WireCursor cursor(bytes);
  WireField field;
  while (!cursor.atEnd()) {
    const char *at = cursor.position();
    if (!cursor.next(field))
      return damaged(Message::Tensor, at);
    bool isData = field.number == 4 || field.number == 5 || field.number == 6 ||
                  field.number == 7 || field.number == 9 || field.number == 10 ||
                  field.number == 11;
    bool isHeader = field.number == 1 || field.number == 2 || field.number == 8 ||
                    field.number == 13 || field.number == 14;
    if (field.number == 3)
      return fail("the tensor at byte " + Twine(at - file.begin()) +
                  " is stored in segments, which is not supported");
    if (!isHeader && !(isData && whole))
      continue;
    if (!spend(kFieldBytes + 8 * field.whole.size()))
      return false;
    out.append(field.whole.data(), field.whole.size());
  }
  if (!whole) {
    size_t begin = openMessage(out, 3);
    appendVarint(out, 1 << 3);
    appendVarint(out, bytes.begin() - file.begin());
    appendVarint(out, 2 << 3);
    appendVarint(out, bytes.end() - file.begin());
    closeMessage(out, begin);
  }
  return true;
}

llvm::Expected<std::unique_ptr<ModelFile>>
ModelFile::parse(std::unique_ptr<llvm::MemoryBuffer> buffer, StringRef path) {
  auto result = std::make_unique<ModelFile>();
  result->filePath = path.str();
  result->buffer = std::move(buffer);
  const llvm::MemoryBuffer &file = *result->buffer;
  ArrayRef<char> bytes(file.getBufferStart(), file.getBufferSize());
  if (bytes.empty())
    return result->error("the file is empty");

  Rewriter rewriter(bytes);
  if (!rewriter.rewrite(Message::Model, bytes))
    return result->error("not a valid ONNX model: " + rewriter.reason);

  google::protobuf::io::ArrayInputStream stream(rewriter.out.data(),
                                                static_cast<int>(rewriter.out.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(2 * kMaxMessageDepth);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!result->proto.ParsePartialFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return result->error("not a valid ONNX model: a field has the wrong wire type or length");
  if (!result->proto.has_graph() || !result->proto.has_ir_version())
    return result->error("not an ONNX model: there is no " +
                         Twine(result->proto.has_graph() ? "ir_version" : "graph") + " in it");
  return result;
}

ArrayRef<char> ModelFile::tensorBytes(const onnx::TensorProto &tensor, std::string &scratch) const {
  if (tensor.has_segment())
    return {buffer->getBufferStart() + tensor.segment().begin(),
            buffer->getBufferStart() + tensor.segment().end()};
  tensor.SerializePartialToString(&scratch);
  return scratch;
}

llvm::Error ModelFile::error(const Twine &message) const {
  return userError(printable(filePath) + ": " + message);
}

llvm::Error ModelFile::error(const onnx::NodeProto &node, const Twine &message) const {
  return error(describe(node) + ": " + message);
}

std::string onnximport::describe(const onnx::NodeProto &node) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i)
    name = node.output(i);
  return "node '" + printable(name) + "' (" + printable(node.op_type(), 80) + ")";
}
