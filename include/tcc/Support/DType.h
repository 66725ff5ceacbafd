//===- DType.h - Element types -----------------------------------*- C++ -*-===//
//
// The element types that a tensor may hold, independent of MLIR, ONNX and
// DLPack: weights, the manifest, the reference interpreter and the importers
// speak in these.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace tcc {

enum class DType : uint8_t {
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  F4E2M1FN,
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  Bool,
  C64,
  C128,
};

/// Bits of one element as stored densely (4 for i4 and u4, 8 for bool).
unsigned bitWidth(DType type);

/// Bytes of `count` elements; sub-byte types are packed, low bits first.
uint64_t storageBytes(DType type, uint64_t count);

/// The field's short name: "f32", "bf16", "i4", "u8", "bool", "c64", "f8e4m3fn".
llvm::StringRef dtypeName(DType type);
std::optional<DType> parseDType(llvm::StringRef name);

inline bool isFloat(DType t) { return t <= DType::F4E2M1FN; }
inline bool isSignedInt(DType t) { return t >= DType::I2 && t <= DType::I64; }
inline bool isUnsignedInt(DType t) { return t >= DType::U2 && t <= DType::U64; }
inline bool isComplex(DType t) { return t == DType::C64 || t == DType::C128; }

} // namespace tcc
