//===- Checksums.cpp - Whether an archive is as it was written ------------===//
//
// A flipped bit in a weight is a model as good as any other to the compiler, and
// another one to whoever runs it. Nothing but the archive's own sums tells. The
// entries are read through a small buffer, not through the mapping that the
// weights are used from: pages of that would count as the compiler's memory.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/ZipArchive.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Support/Crc32.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/FileHash.h"
#include "tcc/Support/InputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace tcc {
namespace torchexport {

static Expected<uint32_t> sumOf(fs::file_t file, uint64_t offset, uint64_t size,
                                MutableArrayRef<char> room) {
  uint32_t sum = 0;
  while (size) {
    auto count =
        fs::readNativeFileSlice(file, room.take_front(std::min(size, room.size())), offset);
    if (!count)
      return userError("cannot be read: " + toString(count.takeError()));
    if (*count == 0)
      return userError("it became shorter while it was read");
    sum = crc32(sum, StringRef(room.data(), *count));
    offset += *count;
    size -= *count;
  }
  return sum;
}

static Error checkEntries(const ZipArchive &archive, const char *begin, fs::file_t file) {
  std::vector<char> room(1 << 20);
  for (const ZipEntry &entry : archive.entries()) {
    if (entry.crc32 == 0) // as torch.serialization.set_crc32_options(False) leaves it
      continue;
    auto sum = sumOf(file, entry.data.data() - begin, entry.data.size(), room);
    if (!sum)
      return sum.takeError();
    if (*sum != entry.crc32)
      return userError("entry '" + printable(entry.name) + "' is damaged: its CRC-32 is " +
                       utohexstr(*sum, /*LowerCase=*/true, 8) + " and the archive says " +
                       utohexstr(entry.crc32, /*LowerCase=*/true, 8) +
                       "; fetch or export the file again");
  }
  return Error::success();
}

static Error checkArchive(StringRef path) {
  auto buffer = openInputFile(path);
  if (!buffer) {
    consumeError(buffer.takeError());
    return Error::success();
  }
  auto file = fs::openNativeFileForRead(path);
  if (!file) {
    consumeError(file.takeError());
    return Error::success();
  }
  auto close = scope_exit([&] { fs::closeFile(*file); });
  auto archive = ZipArchive::open((*buffer)->getBuffer());
  if (!archive) {
    consumeError(archive.takeError());
    return Error::success();
  }
  return checkEntries(*archive, (*buffer)->getBufferStart(), *file);
}

} // namespace torchexport

Error checkTorchExportSums(StringRef path, const DiskCache &cache) {
  Error error = Error::success();
  checkFile(path.str(), "CRC-32 of entries", cache, [&] {
    error = joinErrors(std::move(error), torchexport::checkArchive(path));
    return !error;
  });
  if (error)
    return userError(printable(path, 1000) + ": " + toString(std::move(error)));
  return Error::success();
}

} // namespace tcc
