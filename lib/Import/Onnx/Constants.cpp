//===- Constants.cpp - Initializers and constants ------------------------===//
//
// Tensors go to the weight table without a copy where their bytes lie as a weight wants them.
// Small ones are given to ONNX's inference as well, because shapes are computed from them. Text
// has no weight and stays an attribute of a node.
//
//===----------------------------------------------------------------------===//
#include "Constants.h"
#include "NodeCheck.h"
#include "Types.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"
#include <array>
#include <cstring>

using namespace mlir;
using namespace tcc;
using namespace tcc::onnximport;
using llvm::Expected;
using onnx::AttributeProto;
using onnx::TensorProto;

/// Elements that an attribute of the IR may have.
static constexpr uint64_t kMaxAttributeElements = 64;

static bool isUtf8(StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  return llvm::isLegalUTF8String(&begin, end);
}

bool onnximport::isInterfaceName(StringRef text) { return isUtf8(text) && !text.contains('\0'); }

bool onnximport::isCleanText(StringRef text) {
  if (!isUtf8(text))
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // U+0080..U+009F are control characters too.
    if (byte < 0x20 || byte == 0x7f ||
        (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0))
      return false;
  }
  return true;
}

std::string onnximport::cleanName(StringRef text) {
  constexpr size_t kMaxName = 4096;
  return isCleanText(text) && text.size() <= kMaxName ? text.str() : printable(text, kMaxName);
}

static RankedTensorType irType(MLIRContext *context, const Tensor &tensor) {
  return RankedTensorType::get(tensor.shape, elementTypeOf(context, tensor.dataType));
}

/// Element `i` as an unsigned integer of the type's width (at most 64 bits).
static uint64_t rawElement(const Weight &weight, uint64_t i) {
  unsigned width = bitWidth(weight.dtype);
  if (width < 8) {
    unsigned perByte = 8 / width;
    auto byte = static_cast<unsigned char>(weight.bytes[i / perByte]);
    return (byte >> (i % perByte * width)) & ((1u << width) - 1);
  }
  uint64_t value = 0;
  std::memcpy(&value, weight.bytes.data() + i * (width / 8), width / 8);
  return value;
}

DenseElementsAttr ConstantBuilder::elements(const Tensor &tensor) {
  RankedTensorType type = irType(builder.getContext(), tensor);
  if (tensor.isText()) {
    SmallVector<StringRef> texts(tensor.strings.begin(), tensor.strings.end());
    return DenseStringElementsAttr::get(type, texts);
  }
  const Weight &weight = tensor.weight;
  uint64_t count = tensor.elements();
  Type element = type.getElementType();
  if (isComplex(weight.dtype)) {
    const auto &semantics =
        cast<FloatType>(cast<ComplexType>(element).getElementType()).getFloatSemantics();
    unsigned half = bitWidth(weight.dtype) / 2;
    SmallVector<std::complex<APFloat>> values;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t parts[2] = {};
      for (unsigned p = 0; p < 2; ++p)
        std::memcpy(&parts[p], weight.bytes.data() + (2 * i + p) * (half / 8), half / 8);
      values.emplace_back(APFloat(semantics, APInt(half, parts[0])),
                          APFloat(semantics, APInt(half, parts[1])));
    }
    return DenseElementsAttr::get(type, values);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (auto floatType = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (uint64_t i = 0; i < count; ++i)
      values.emplace_back(floatType.getFloatSemantics(), APInt(width, rawElement(weight, i)));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (uint64_t i = 0; i < count; ++i)
    values.emplace_back(width, rawElement(weight, i), /*isSigned=*/false, /*implicitTrunc=*/true);
  return DenseElementsAttr::get(type, values);
}

std::string ConstantBuilder::addWeight(StringRef hint, Weight weight) {
  unsigned use = uses[hint]++;
  return weights.add(use ? (hint + "." + llvm::Twine(use)).str() : hint.str(), std::move(weight));
}

Expected<GraphValue> ConstantBuilder::value(Tensor tensor, StringRef name, Location loc) {
  GraphValue result;
  result.type = tensorType(tensor.dataType, tensor.shape);
  result.constant = inferenceData(tensor);
  RankedTensorType type = irType(builder.getContext(), tensor);
  if (tensor.isText()) {
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("value", elements(tensor)));
    auto node = graph::NodeOp::create(
        builder, loc, TypeRange(type), builder.getStringAttr("onnx"),
        builder.getStringAttr("Constant"), ValueRange(), builder.getI64IntegerAttr(13), attrs,
        builder.getStrArrayAttr({StringRef(cleanName(name))}), ArrayAttr(), 0);
    result.value = node.getResult(0);
    return result;
  }
  std::string key = addWeight(cleanName(name), std::move(tensor.weight));
  result.value = graph::WeightOp::create(builder, loc, type, builder.getStringAttr(key));
  return result;
}

/// A constant from a list of attribute values, converted to `Stored`.
template <typename Stored, typename Range>
static Tensor listTensor(int32_t dataType, ArrayRef<int64_t> shape, const Range &values) {
  std::vector<char> bytes(values.size() * sizeof(Stored));
  size_t at = 0;
  for (auto value : values) {
    auto stored = static_cast<Stored>(value);
    std::memcpy(bytes.data() + at, &stored, sizeof(Stored));
    at += sizeof(Stored);
  }
  return makeTensor(dataType, shape, std::move(bytes));
}

Expected<Tensor> ConstantBuilder::constantNode(const NodeView &node) {
  auto subject = describe(node.proto) + " value";
  if (node.attributes.size() != 1)
    return file.error(node.proto, "must have exactly one attribute, its value");
  const auto &[name, attribute] = *node.attributes.begin();
  const AttributeProto &a = *attribute.proto;
  int64_t ints = a.ints_size(), floats = a.floats_size(), strings = a.strings_size();
  AttributeProto::AttributeType type = attributeType(a);
  if (name == "value" && type == AttributeProto::TENSOR)
    return reader.read(a.t(), subject);
  if (name == "sparse_value" && type == AttributeProto::SPARSE_TENSOR)
    return reader.read(a.sparse_tensor(), subject);
  if (name == "value_int" && type == AttributeProto::INT)
    return listTensor<int64_t>(TensorProto::INT64, {}, std::array{a.i()});
  if (name == "value_ints" && type == AttributeProto::INTS)
    return listTensor<int64_t>(TensorProto::INT64, ints, a.ints());
  if (name == "value_float" && type == AttributeProto::FLOAT)
    return listTensor<float>(TensorProto::FLOAT, {}, std::array{a.f()});
  if (name == "value_floats" && type == AttributeProto::FLOATS)
    return listTensor<float>(TensorProto::FLOAT, floats, a.floats());
  if (name == "value_string" && type == AttributeProto::STRING)
    return Tensor{TensorProto::STRING, {}, {}, {a.s()}};
  if (name == "value_strings" && type == AttributeProto::STRINGS)
    return Tensor{TensorProto::STRING, {strings}, {}, {a.strings().begin(), a.strings().end()}};
  return file.error(node.proto, "attribute '" + printable(name) + "' is no value for a constant");
}

Expected<Attribute> ConstantBuilder::tensorAttribute(Tensor tensor, StringRef name) {
  if (tensor.isText() || tensor.elements() <= kMaxAttributeElements)
    return elements(tensor);
  std::string key = addWeight(cleanName(name), std::move(tensor.weight));
  return graph::WeightAttr::get(builder.getContext(), key);
}

Expected<Attribute> ConstantBuilder::attribute(const NodeView &node, StringRef name,
                                               const AttributeProto &a) {
  auto subject = [&] { return describe(node.proto) + " attribute '" + printable(name) + "'"; };
  auto hint = [&] {
    return (node.proto.name().empty() ? node.proto.op_type() : node.proto.name()) + "." +
           name.str();
  };
  auto tensor = [&](const auto &proto) -> Expected<Attribute> {
    auto read = reader.read(proto, subject());
    if (!read)
      return read.takeError();
    return tensorAttribute(std::move(*read), hint());
  };
  auto typeAttr = [&](const onnx::TypeProto &proto) -> Expected<Attribute> {
    auto type = convertType(builder.getContext(), proto);
    if (!type)
      return file.error(subject() + " " + llvm::toString(type.takeError()));
    return TypeAttr::get(*type);
  };
  auto list = [&](const auto &items, auto convert) -> Expected<Attribute> {
    SmallVector<Attribute> converted;
    for (const auto &item : items) {
      Expected<Attribute> one = convert(item);
      if (!one)
        return one.takeError();
      converted.push_back(*one);
    }
    return builder.getArrayAttr(converted);
  };
  switch (attributeType(a)) {
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(a.f());
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(a.i());
  case AttributeProto::STRING:
    return builder.getStringAttr(a.s());
  case AttributeProto::TENSOR:
    return tensor(a.t());
  case AttributeProto::SPARSE_TENSOR:
    return tensor(a.sparse_tensor());
  case AttributeProto::TYPE_PROTO:
    return typeAttr(a.tp());
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(ArrayRef(a.floats().data(), a.floats_size()));
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(ArrayRef(a.ints().data(), a.ints_size()));
  case AttributeProto::STRINGS:
    return list(a.strings(), [&](const std::string &s) -> Expected<Attribute> {
      return builder.getStringAttr(s);
    });
  case AttributeProto::TENSORS:
    return list(a.tensors(), tensor);
  case AttributeProto::SPARSE_TENSORS:
    return list(a.sparse_tensors(), tensor);
  case AttributeProto::TYPE_PROTOS:
    return list(a.type_protos(), typeAttr);
  default:
    // An empty list of an unstated kind: what readers of integer lists expect.
    return builder.getDenseI64ArrayAttr({});
  }
}
