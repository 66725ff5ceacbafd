//===- ZipArchive.cpp - Reading a stored zip in place ---------------------===//
//
// The end-of-central-directory record is searched from the end of the file; its
// 16- and 32-bit fields at their maximum mean that the zip64 record in front of
// it holds the real values (APPNOTE.TXT 4.3.14-4.3.16). The central directory
// gives name, size and the place of each entry's local header; the local header
// is read only for the length of its own name and extra fields, which stand
// between it and the data. All arithmetic is on 64-bit values that were checked
// against the file's size first, so nothing can wrap.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/ZipArchive.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using support::endian::read16le;
using support::endian::read32le;
using support::endian::read64le;

namespace tcc::torchexport {

namespace {

constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50,
                   kLocator64Signature = 0x07064b50, kCentralSignature = 0x02014b50,
                   kLocalSignature = 0x04034b50;
constexpr uint64_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20, kCentralSize = 46,
                   kLocalSize = 30;
constexpr uint64_t kMaxEntries = 1 << 20;

struct Directory {
  uint64_t offset, size, count;
};

/// `length` bytes at `offset`, or nothing when they are not all there.
std::optional<StringRef> bytesAt(StringRef buffer, uint64_t offset, uint64_t length) {
  if (offset > buffer.size() || length > buffer.size() - offset)
    return std::nullopt;
  return buffer.substr(offset, length);
}

bool signatureAt(StringRef buffer, uint64_t offset, uint64_t size, uint32_t signature) {
  auto bytes = bytesAt(buffer, offset, size);
  return bytes && read32le(bytes->data()) == signature;
}

/// Offset of the end record, which a comment of up to 64 KiB may follow.
std::optional<uint64_t> findEnd(StringRef buffer) {
  if (buffer.size() < kEndSize)
    return std::nullopt;
  uint64_t last = buffer.size() - kEndSize;
  uint64_t first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;)
    if (signatureAt(buffer, at, kEndSize, kEndSignature) &&
        read16le(buffer.data() + at + 20) == buffer.size() - at - kEndSize)
      return at;
  return std::nullopt;
}

Expected<Directory> findDirectory(StringRef buffer) {
  auto end = findEnd(buffer);
  if (!end)
    return userError("it is not a zip archive, or its end is missing");
  const char *record = buffer.data() + *end;
  Directory dir{read32le(record + 16), read32le(record + 12), read16le(record + 10)};
  if (*end >= kLocator64Size &&
      signatureAt(buffer, *end - kLocator64Size, kLocator64Size, kLocator64Signature)) {
    uint64_t at = read64le(buffer.data() + *end - kLocator64Size + 8);
    if (!signatureAt(buffer, at, kEnd64Size, kEnd64Signature))
      return userError("the zip64 end record lies outside the archive");
    record = buffer.data() + at;
    dir = {read64le(record + 48), read64le(record + 40), read64le(record + 32)};
  }
  if (!bytesAt(buffer, dir.offset, dir.size) || dir.count > kMaxEntries)
    return userError("the zip directory lies outside the archive");
  return dir;
}

/// Replaces the fields that are at their 32-bit maximum by those of the zip64
/// extra field (id 1), which holds just these, in this order.
bool readZip64Extra(StringRef extra, uint64_t &size, uint64_t &stored, uint64_t &offset) {
  while (extra.size() >= 4) {
    uint16_t id = read16le(extra.data()), length = read16le(extra.data() + 2);
    extra = extra.drop_front(4);
    if (length > extra.size())
      return false;
    StringRef field = extra.take_front(length);
    extra = extra.drop_front(length);
    if (id != 1)
      continue;
    for (uint64_t *value : {&size, &stored, &offset}) {
      if (*value != UINT32_MAX)
        continue;
      if (field.size() < 8)
        return false;
      *value = read64le(field.data());
      field = field.drop_front(8);
    }
    return true;
  }
  return size != UINT32_MAX && stored != UINT32_MAX && offset != UINT32_MAX;
}

/// Reads the central record at `at` and moves `at` past it.
Expected<ZipEntry> readEntry(StringRef buffer, uint64_t &at, uint64_t end) {
  if (end - at < kCentralSize || !signatureAt(buffer, at, kCentralSize, kCentralSignature))
    return userError("the zip directory is damaged");
  const char *record = buffer.data() + at;
  uint64_t nameSize = read16le(record + 28), extraSize = read16le(record + 30),
           commentSize = read16le(record + 32);
  if (nameSize + extraSize + commentSize > end - at - kCentralSize)
    return userError("the zip directory is damaged");
  ZipEntry entry{buffer.substr(at + kCentralSize, nameSize).str(), {}, read32le(record + 16)};
  std::string shown = printable(entry.name);
  if (read16le(record + 8) & 1)
    return userError("entry '" + shown + "' is encrypted");
  if (read16le(record + 10) != 0)
    return userError("entry '" + shown +
                     "' is compressed; torch.export.save stores entries uncompressed, so pack "
                     "the archive again without compression (zip -0)");
  uint64_t stored = read32le(record + 20), size = read32le(record + 24),
           offset = read32le(record + 42);
  if (!readZip64Extra(buffer.substr(at + kCentralSize + nameSize, extraSize), size, stored, offset))
    return userError("entry '" + shown + "' has a damaged zip64 field");
  if (stored != size || !signatureAt(buffer, offset, kLocalSize, kLocalSignature))
    return userError("entry '" + shown + "' has a damaged header");
  const char *local = buffer.data() + offset;
  uint64_t begin = offset + kLocalSize + read16le(local + 26) + read16le(local + 28);
  auto data = bytesAt(buffer, begin, size);
  if (!data)
    return userError("entry '" + shown + "' goes past the end of the file (truncated?)");
  entry.data = *data;
  at += kCentralSize + nameSize + extraSize + commentSize;
  return entry;
}

} // namespace

Expected<ZipArchive> ZipArchive::open(StringRef buffer) {
  auto dir = findDirectory(buffer);
  if (!dir)
    return dir.takeError();
  ZipArchive archive;
  uint64_t at = dir->offset, end = dir->offset + dir->size, total = 0;
  for (uint64_t i = 0; i < dir->count; ++i) {
    auto entry = readEntry(buffer, at, end);
    if (!entry)
      return entry.takeError();
    if (!archive.byName.try_emplace(entry->name, archive.list.size()).second)
      return userError("entry '" + printable(entry->name) + "' is there twice");
    total += entry->data.size();
    if (total > buffer.size())
      return userError("its entries lie over one another");
    archive.list.push_back(std::move(*entry));
  }
  return archive;
}

const ZipEntry *ZipArchive::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &list[it->second];
}

} // namespace tcc::torchexport
