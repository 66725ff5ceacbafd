// The safetensors format: 8 bytes of length, a JSON object that gives each
// tensor's dtype, shape and place, padded with spaces, then the data without
// holes. Ours keeps every tensor at a multiple of 64 bytes, so the gaps are
// tensors of their own; any safetensors reader can open the file.
#include "Runtime/WeightFile.h"
#include "WriteBlob.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace tcc::emit {

/// What is no tensor.
constexpr StringLiteral kMetadata = "__metadata__";

uint64_t WeightLayout::add(StringRef name, DType dtype, ArrayRef<int64_t> shape, uint64_t size,
                           uint64_t grain, WeightRole role) {
  uint64_t offset = alignTo(end, alignment);
  all.push_back({name.str(), dtype, {shape.begin(), shape.end()}, offset, size, grain, role});
  end = offset + size;
  return offset;
}

/// The format's name for a type that it knows.
static std::optional<StringRef> formatName(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return "F16";
  case DType::BF16:
    return "BF16";
  case DType::F32:
    return "F32";
  case DType::F64:
    return "F64";
  case DType::F8E4M3FN:
    return "F8_E4M3";
  case DType::F8E5M2:
    return "F8_E5M2";
  case DType::F8E8M0FNU:
    return "F8_E8M0";
  case DType::I8:
    return "I8";
  case DType::I16:
    return "I16";
  case DType::I32:
    return "I32";
  case DType::I64:
    return "I64";
  case DType::U8:
    return "U8";
  case DType::U16:
    return "U16";
  case DType::U32:
    return "U32";
  case DType::U64:
    return "U64";
  case DType::Bool:
    return "BOOL";
  case DType::C64:
    return "C64";
  default:
    return std::nullopt;
  }
}

/// What the format cannot express, and packed data, is a row of bytes.
static void writeEntry(json::OStream &json, StringRef name, const WeightEntry &entry) {
  std::optional<StringRef> format = formatName(entry.dtype);
  uint64_t elements = 1;
  for (int64_t dim : entry.shape)
    elements *= static_cast<uint64_t>(dim);
  if (format && storageBytes(entry.dtype, elements) != entry.size)
    format = std::nullopt;
  json.attributeObject(name, [&] {
    json.attribute("dtype", format.value_or("U8"));
    json.attributeArray("shape", [&] {
      if (!format)
        json.value(entry.size);
      for (int64_t dim : format ? ArrayRef<int64_t>(entry.shape) : ArrayRef<int64_t>())
        json.value(dim);
    });
    json.attributeArray("data_offsets", [&] {
      json.value(entry.offset);
      json.value(entry.offset + entry.size);
    });
  });
}

/// A prefix that no weight's name begins with.
static std::string paddingPrefix(const WeightLayout &layout) {
  std::string prefix = "tcc.padding.";
  while (any_of(layout.entries(),
                [&](const WeightEntry &e) { return StringRef(e.name).starts_with(prefix); }))
    prefix.insert(prefix.begin(), '_');
  return prefix;
}

/// The format reserves one name.
static std::string fileName(const WeightLayout &layout, StringRef name) {
  if (name != kMetadata)
    return name.str();
  std::string other = "__metadata___";
  while (any_of(layout.entries(), [&](const WeightEntry &e) { return e.name == other; }))
    other += '_';
  return other;
}

/// What begins a head of ours (lib/Driver/OwnFiles.cpp knows a file by it); the hash of all else
/// in a sealed head follows.
constexpr StringLiteral kBegin = R"({"__metadata__":{"format":"tcc")", kSeal = R"(,"seal":")";

static std::string hashOf(StringRef text) {
  return utohexstr(tcc_hash(TCC_HASH_BEGIN, text.data(), text.size()), /*LowerCase=*/false, 16);
}

std::string safetensorsHead(const WeightLayout &layout, bool sealed) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os);
  std::string prefix = paddingPrefix(layout);
  uint64_t end = 0, gaps = 0;
  json.object([&] {
    json.attributeObject(kMetadata, [&] {
      json.attribute("format", "tcc");
      for (const WeightEntry &entry : layout.entries())
        if (entry.role != WeightRole::Constant)
          json.attribute("role of " + entry.name, roleName(entry.role));
    });
    for (const WeightEntry &entry : layout.entries()) {
      if (entry.offset != end)
        writeEntry(json, prefix + std::to_string(gaps++),
                   {"", DType::U8, {int64_t(entry.offset - end)}, end, entry.offset - end});
      writeEntry(json, fileName(layout, entry.name), entry);
      end = entry.offset + entry.size;
    }
  });
  if (sealed)
    text.insert(kBegin.size(), (kSeal + hashOf(text) + "\"").str());
  text.resize(alignTo(text.size() + 8, WeightLayout::alignment) - 8, ' ');
  char length[8];
  support::endian::write64le(length, text.size());
  return std::string(length, 8) + text;
}

bool safetensorsSealHolds(StringRef text) {
  StringRef rest = text.rtrim(' ');
  if (!rest.consume_front(kBegin) || !rest.consume_front(kSeal))
    return true;
  auto [stated, others] = rest.split('"');
  return stated == hashOf((kBegin + others).str());
}

uint64_t safetensorsLayoutHash(StringRef head) {
  return tcc_hash(TCC_HASH_BEGIN, head.data(), head.size());
}

Expected<uint64_t> safetensorsSampleHash(StringRef path, const WeightLayout &layout) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return errorCodeToError(file.getError());
  uint64_t size = layout.size(), hash = TCC_HASH_BEGIN;
  const char *weights = (*file)->getBufferEnd() - size;
  for (uint32_t i = 0; i < tcc_sample_count(size); ++i)
    hash = tcc_hash(hash, weights + tcc_sample_offset(size, i), tcc_sample_size(size, i));
  return hash;
}

Error writeSafetensors(const WeightBlob &blob, int file, unsigned threads, bool sealed) {
  std::string head = safetensorsHead(blob.layout, sealed);
  if (Error error = writeAt(file, head, 0))
    return error;
  return writeBlob(blob, file, head.size(), threads);
}

} // namespace tcc::emit
