//===- Wire.h - Protobuf's wire format -------------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace tcc::onnximport {

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message. `bytes` is the payload of every wire type, `whole`
/// includes the tag and length.
struct WireField {
  uint32_t number;
  WireType type;
  uint64_t value; ///< Varint
  llvm::ArrayRef<char> bytes;
  llvm::ArrayRef<char> whole;
};

/// Reads a base-128 integer at `at`; false if it runs past `end` or 64 bits.
inline bool readVarint(const char *&at, const char *end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == end)
      return false;
    auto byte = static_cast<unsigned char>(*at++);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

/// Walks the fields of one message.
class WireCursor {
public:
  explicit WireCursor(llvm::ArrayRef<char> message) : at(message.begin()), end(message.end()) {}
  bool atEnd() const { return at == end; }
  const char *position() const { return at; }

  /// False if what follows is no field.
  bool next(WireField &field) {
    const char *begin = at;
    uint64_t tag;
    if (!readVarint(at, end, tag) || tag >> 3 == 0 || tag >> 32 != 0)
      return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    const char *payload = at;
    uint64_t size = 0;
    switch (field.type) {
    case WireType::Varint:
      if (!readVarint(at, end, field.value))
        return false;
      size = at - payload;
      break;
    case WireType::Fixed64:
      size = 8;
      break;
    case WireType::Fixed32:
      size = 4;
      break;
    case WireType::Bytes:
      if (!readVarint(at, end, size))
        return false;
      payload = at;
      break;
    default: // groups, which ONNX never uses
      return false;
    }
    if (size > static_cast<uint64_t>(end - payload))
      return false;
    at = payload + size;
    field.bytes = {payload, at};
    field.whole = {begin, at};
    return true;
  }

private:
  const char *at;
  const char *end;
};

inline void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

} // namespace tcc::onnximport
