//===- WriteBlob.cpp - All weights into a file, on several threads --------===//
//
// Weights are hundreds of megabytes, so what is done to each byte is what counts:
// threads take parts of about a megabyte in turn; a part that lies in the mapped
// model file goes from there to the file, one that has to be made (packed) is made
// in a buffer that stays in the cache. There is neither a copy of all weights nor a
// page of it that the kernel would have to clear first. A mapping of the output
// would save the buffer and cost a page fault every 4 kB, which is more; and a
// full disk would be a signal.
//
//===----------------------------------------------------------------------===//
#include "WriteBlob.h"
#include "tcc/Support/Error.h"
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace tcc::emit {

namespace {

struct Part {
  const WeightEntry *entry;
  uint64_t begin, end; ///< bytes of the entry
};

} // namespace

static constexpr uint64_t kPartBytes = 1 << 20;

Error writeAt(int file, StringRef bytes, uint64_t offset) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errorCodeToError(std::error_code(errno, std::generic_category()));
    bytes = bytes.drop_front(written);
    offset += written;
  }
  return Error::success();
}

static std::vector<Part> partsOf(const WeightLayout &layout) {
  std::vector<Part> parts;
  for (const WeightEntry &entry : layout.entries()) {
    uint64_t step = std::max<uint64_t>(1, kPartBytes / entry.grain) * entry.grain;
    for (uint64_t begin = 0; begin < entry.size; begin += step)
      parts.push_back({&entry, begin, std::min(entry.size, begin + step)});
  }
  return parts;
}

static Error writePart(const WeightBlob &blob, const Part &part, int file, uint64_t begin,
                       std::vector<char> &room) {
  room.resize(std::max<size_t>(room.size(), part.end - part.begin));
  StringRef bytes = blob.read(*part.entry, part.begin, part.end, room.data());
  if (bytes.size() != part.end - part.begin)
    return createStringError("weight '" + printable(part.entry->name) + "' gave " +
                             Twine(bytes.size()) + " bytes instead of " +
                             Twine(part.end - part.begin));
  return writeAt(file, bytes, begin + part.entry->offset + part.begin);
}

/// Room for all of it at once: a file system that allocates blocks late (ext4, xfs) then only
/// copies. One that cannot do so, or not for this file, allocates as it goes.
static Error reserve(int file, uint64_t bytes) {
  if (bytes == 0 || fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0 || errno != ENOSPC)
    return Error::success();
  return errorCodeToError(std::error_code(errno, std::generic_category()));
}

Error writeBlob(const WeightBlob &blob, int file, uint64_t begin, unsigned threads) {
  if (Error error = reserve(file, begin + blob.layout.size()))
    return error;
  std::vector<Part> parts = partsOf(blob.layout);
  std::atomic<size_t> next{0};
  std::mutex lock;
  Error result = Error::success();
  auto work = [&] {
    std::vector<char> room;
    for (size_t i; (i = next++) < parts.size();)
      if (Error error = writePart(blob, parts[i], file, begin, room)) {
        std::lock_guard guard(lock);
        next = parts.size();
        if (result)
          return consumeError(std::move(error)); // one is enough
        result = std::move(error);
        return;
      }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, parts.size()); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
  if (result || ftruncate(file, static_cast<off_t>(begin + blob.layout.size())) == 0)
    return result;
  return errorCodeToError(std::error_code(errno, std::generic_category()));
}

} // namespace tcc::emit
