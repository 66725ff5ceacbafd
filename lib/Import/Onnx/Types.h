//===- Types.h - ONNX types ↔ MLIR types ------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"
#include "tcc/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace tcc::onnximport {

/// Axes of a tensor, as many as PyTorch's have: a file may state any number.
inline constexpr int kMaxRank = 64;

/// The element type of TensorProto::DataType `type`; none for text and for
/// numbers outside the enum.
std::optional<DType> dtypeOf(int32_t type);
/// "float16", or "element type 99".
std::string dataTypeName(int32_t type);
/// Null for numbers outside the enum.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t type);

bool isSet(const onnx::TypeProto &type);
bool isTensor(const onnx::TypeProto &type);

/// The MLIR type, `!graph.unknown` for what has none. Fails on more axes than
/// kMaxRank and on a size that overflows; the message needs a subject before it.
llvm::Expected<mlir::Type> convertType(mlir::MLIRContext *context, const onnx::TypeProto &type);

/// Whether the product of `shape` (unknown dims: 1), times 16 bytes, fits int64.
bool sizeFits(llvm::ArrayRef<int64_t> shape);

/// `declared` as far as it can be trusted: dims of -1 and empty names are
/// unknown, names in `bindings` are numbers. With `dropDims`, ranks only.
onnx::TypeProto normalized(const onnx::TypeProto &declared,
                           const llvm::StringMap<int64_t> &bindings, bool dropDims = false);

/// Adds to `type` what only `declared` knows; where they differ `type` stays.
/// Whether that changed its rank or an extent.
bool mergeDeclared(onnx::TypeProto &type, const onnx::TypeProto &declared);

onnx::TypeProto tensorType(int32_t elementType, llvm::ArrayRef<int64_t> shape);

} // namespace tcc::onnximport
