//===- Types.cpp - ONNX types as MLIR types ------------------------------===//
//
// Sequences, optionals and text have no tensor type; they get types of the graph dialect, so that
// the importer can state every value and decompose alone decides what can be compiled.
//
//===----------------------------------------------------------------------===//
#include "Types.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::onnximport;
using onnx::TensorProto;
using onnx::TypeProto;

namespace {
struct DataTypeInfo {
  int32_t type;
  const char *name;
  std::optional<DType> dtype;
};
} // namespace

static const DataTypeInfo *lookUp(int32_t type) {
  static constexpr DataTypeInfo kInfo[] = {
      {TensorProto::FLOAT, "float", DType::F32},
      {TensorProto::UINT8, "uint8", DType::U8},
      {TensorProto::INT8, "int8", DType::I8},
      {TensorProto::UINT16, "uint16", DType::U16},
      {TensorProto::INT16, "int16", DType::I16},
      {TensorProto::INT32, "int32", DType::I32},
      {TensorProto::INT64, "int64", DType::I64},
      {TensorProto::STRING, "string", std::nullopt},
      {TensorProto::BOOL, "bool", DType::Bool},
      {TensorProto::FLOAT16, "float16", DType::F16},
      {TensorProto::DOUBLE, "double", DType::F64},
      {TensorProto::UINT32, "uint32", DType::U32},
      {TensorProto::UINT64, "uint64", DType::U64},
      {TensorProto::COMPLEX64, "complex64", DType::C64},
      {TensorProto::COMPLEX128, "complex128", DType::C128},
      {TensorProto::BFLOAT16, "bfloat16", DType::BF16},
      {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", DType::F8E4M3FN},
      {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", DType::F8E4M3FNUZ},
      {TensorProto::FLOAT8E5M2, "float8e5m2", DType::F8E5M2},
      {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", DType::F8E5M2FNUZ},
      {TensorProto::UINT4, "uint4", DType::U4},
      {TensorProto::INT4, "int4", DType::I4},
      {TensorProto::FLOAT4E2M1, "float4e2m1", DType::F4E2M1FN},
      {TensorProto::FLOAT8E8M0, "float8e8m0", DType::F8E8M0FNU},
      {TensorProto::UINT2, "uint2", DType::U2},
      {TensorProto::INT2, "int2", DType::I2},
  };
  for (const DataTypeInfo &info : kInfo)
    if (info.type == type)
      return &info;
  return nullptr;
}

std::optional<DType> onnximport::dtypeOf(int32_t type) {
  const DataTypeInfo *info = lookUp(type);
  return info ? info->dtype : std::nullopt;
}

std::string onnximport::dataTypeName(int32_t type) {
  const DataTypeInfo *info = lookUp(type);
  return info ? info->name : "element type " + std::to_string(type);
}

Type onnximport::elementTypeOf(MLIRContext *context, int32_t type) {
  if (type == TensorProto::STRING)
    return graph::StringType::get(context);
  auto dtype = dtypeOf(type);
  return dtype ? prim::elementType(context, *dtype) : Type();
}

bool onnximport::isSet(const TypeProto &type) {
  return type.value_case() != TypeProto::VALUE_NOT_SET;
}

bool onnximport::isTensor(const TypeProto &type) {
  return type.value_case() == TypeProto::kTensorType;
}

bool onnximport::sizeFits(ArrayRef<int64_t> shape) {
  uint64_t size = 16;
  for (int64_t dim : shape) {
    uint64_t extent = ShapedType::isDynamic(dim) ? 1 : std::max<int64_t>(dim, 1);
    if (__builtin_mul_overflow(size, extent, &size) || size > uint64_t(INT64_MAX))
      return false;
  }
  return true;
}

static llvm::Expected<Type> convertTensor(MLIRContext *context, const TypeProto::Tensor &tensor) {
  Type element = elementTypeOf(context, tensor.elem_type());
  if (!element)
    return graph::UnknownType::get(context);
  if (!tensor.has_shape())
    return UnrankedTensorType::get(element);
  if (tensor.shape().dim_size() > kMaxRank)
    return userError("has " + llvm::Twine(tensor.shape().dim_size()) + " axes; at most " +
                     llvm::Twine(kMaxRank) + " are supported");
  SmallVector<int64_t> shape;
  for (const auto &dim : tensor.shape().dim())
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value()
                                                                : ShapedType::kDynamic);
  if (!sizeFits(shape))
    return userError("has a shape whose size overflows");
  return RankedTensorType::get(shape, element);
}

llvm::Expected<Type> onnximport::convertType(MLIRContext *context, const TypeProto &type) {
  auto unknown = graph::UnknownType::get(context);
  if (type.has_tensor_type())
    return convertTensor(context, type.tensor_type());
  if (!type.has_sequence_type() && !type.has_optional_type())
    return unknown;
  auto element = convertType(context, type.has_sequence_type() ? type.sequence_type().elem_type()
                                                               : type.optional_type().elem_type());
  if (!element)
    return element.takeError();
  if (type.has_sequence_type())
    return graph::SequenceType::get(context, *element);
  return graph::OptionalType::get(context, *element);
}

static void normalizeTensor(TypeProto::Tensor &tensor, const llvm::StringMap<int64_t> &bindings,
                            bool dropDims) {
  if (!tensor.has_shape())
    return;
  for (auto &dim : *tensor.mutable_shape()->mutable_dim()) {
    if (dim.has_dim_param()) {
      auto bound = bindings.find(dim.dim_param());
      if (bound != bindings.end())
        dim.set_dim_value(bound->second);
    }
    if ((dim.has_dim_param() && dim.dim_param().empty()) ||
        (dim.has_dim_value() && (dim.dim_value() < 0 || dropDims)))
      dim.Clear();
  }
}

TypeProto onnximport::normalized(const TypeProto &declared,
                                 const llvm::StringMap<int64_t> &bindings, bool dropDims) {
  TypeProto type = declared;
  TypeProto *inner = &type;
  while (inner->has_sequence_type() || inner->has_optional_type())
    inner = inner->has_sequence_type() ? inner->mutable_sequence_type()->mutable_elem_type()
                                       : inner->mutable_optional_type()->mutable_elem_type();
  if (inner->has_tensor_type())
    normalizeTensor(*inner->mutable_tensor_type(), bindings, dropDims);
  return type;
}

static bool mergeTensor(TypeProto::Tensor &type, const TypeProto::Tensor &declared) {
  if (type.elem_type() == TensorProto::UNDEFINED)
    type.set_elem_type(declared.elem_type());
  if (!declared.has_shape())
    return false;
  if (!type.has_shape()) {
    *type.mutable_shape() = declared.shape();
    return true;
  }
  if (type.shape().dim_size() != declared.shape().dim_size())
    return false;
  bool changed = false;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    auto &dim = *type.mutable_shape()->mutable_dim(i);
    const auto &other = declared.shape().dim(i);
    // A number says more than a name, and the file's name more than none.
    if (!dim.has_dim_value() && (other.has_dim_value() || !dim.has_dim_param())) {
      changed |= other.has_dim_value();
      dim = other;
    }
  }
  return changed;
}

bool onnximport::mergeDeclared(TypeProto &type, const TypeProto &declared) {
  if (!isSet(type)) {
    type = declared;
    return isSet(declared);
  }
  if (type.has_tensor_type() && declared.has_tensor_type())
    return mergeTensor(*type.mutable_tensor_type(), declared.tensor_type());
  if (type.has_sequence_type() && declared.has_sequence_type())
    return mergeDeclared(*type.mutable_sequence_type()->mutable_elem_type(),
                         declared.sequence_type().elem_type());
  if (type.has_optional_type() && declared.has_optional_type())
    return mergeDeclared(*type.mutable_optional_type()->mutable_elem_type(),
                         declared.optional_type().elem_type());
  return false;
}

TypeProto onnximport::tensorType(int32_t elementType, ArrayRef<int64_t> shape) {
  TypeProto type;
  type.mutable_tensor_type()->set_elem_type(elementType);
  auto *dims = type.mutable_tensor_type()->mutable_shape();
  for (int64_t dim : shape)
    dims->add_dim()->set_dim_value(dim);
  return type;
}
