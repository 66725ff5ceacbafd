//===- DiskCache.cpp - Entries with a checksum, written aside -------------===//
//
// Bringing a file to the disk takes milliseconds in which the processor has nothing to do, and a
// model has a hundred kernels: one thread writes what the others compile.
//
//===----------------------------------------------------------------------===//
#include "tcc/Support/DiskCache.h"
#include "CacheFolder.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace tcc;

namespace {

struct Head {
  char magic[8];
  uint64_t size;     ///< of what follows
  uint64_t checksum; ///< of the key and what follows: what has another's name is none
};
constexpr char kMagic[sizeof Head::magic] = {'t', 'c', 'c', '-', 'k', 'e', 'p', '2'};

} // namespace

static Head headOf(StringRef key, ArrayRef<char> bytes) {
  uint64_t sums[] = {xxh3_64bits(key), xxh3_64bits(StringRef(bytes.data(), bytes.size()))};
  Head head = {
      {}, bytes.size(), xxh3_64bits(StringRef(reinterpret_cast<char *>(sums), sizeof sums))};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  return head;
}

static bool readAll(int file, char *to, size_t size) {
  while (size) {
    ssize_t got = read(file, to, size);
    if (got <= 0)
      return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

static bool writeAll(int file, const char *from, size_t size) {
  while (size) {
    ssize_t put = write(file, from, size);
    if (put <= 0)
      return false;
    from += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The writing thread
//===----------------------------------------------------------------------===//

class tcc::CacheWriter {
public:
  explicit CacheWriter(std::shared_ptr<CacheFolder> folder) : folder(std::move(folder)) {}
  ~CacheWriter();
  void add(StringRef key, ArrayRef<char> bytes);
  void flush();

private:
  using Item = std::pair<std::string, std::vector<char>>;
  void work();
  bool write(const Item &item);

  std::shared_ptr<CacheFolder> folder;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> waiting; ///< the first is being written
  bool ends = false;
  uint64_t written = 0;
  std::thread thread; ///< started by the first item
};

CacheWriter::~CacheWriter() {
  {
    std::lock_guard guard(mutex);
    ends = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
  if (written)
    folder->account(written);
}

void CacheWriter::add(StringRef key, ArrayRef<char> bytes) {
  {
    std::lock_guard guard(mutex);
    waiting.emplace_back(key.str(), std::vector<char>(bytes.begin(), bytes.end()));
    if (!thread.joinable())
      thread = std::thread([this] { work(); });
  }
  changed.notify_all();
}

void CacheWriter::flush() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.empty(); });
}

void CacheWriter::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (waiting.empty())
      return;
    const Item &item = waiting.front(); // a deque's items stay in place
    lock.unlock();
    bool good = write(item);
    lock.lock();
    if (good)
      written += item.second.size() + sizeof(Head);
    waiting.pop_front();
    changed.notify_all();
  }
}

bool CacheWriter::write(const Item &item) {
  auto &[key, bytes] = item;
  int at = folder->open(/*create=*/true);
  if (at < 0)
    return false;
  std::string temporary =
      key + "." + std::to_string(getpid()) + "-" + std::to_string(sys::Process::GetRandomNumber());
  Descriptor file(openat(at, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file)
    return false;
  Head head = headOf(key, bytes);
  bool good = writeAll(file.get(), reinterpret_cast<const char *>(&head), sizeof head) &&
              writeAll(file.get(), bytes.data(), bytes.size()) && !fdatasync(file.get()) &&
              !renameat(at, temporary.c_str(), at, key.c_str());
  if (!good)
    (void)unlinkat(at, temporary.c_str(), 0);
  return good;
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

DiskCache::DiskCache(std::string path) {
  if (path.empty())
    return;
  folder = std::make_shared<CacheFolder>(std::move(path));
  writer = std::make_shared<CacheWriter>(folder);
}

bool DiskCache::load(StringRef key, SmallVectorImpl<char> &bytes) const {
  Descriptor file = folder ? folder->openEntry(key) : Descriptor();
  Head head;
  struct stat status;
  if (!file || fstat(file.get(), &status) ||
      !readAll(file.get(), reinterpret_cast<char *>(&head), sizeof head) ||
      head.size != static_cast<uint64_t>(status.st_size) - sizeof head)
    return false;
  bytes.resize_for_overwrite(head.size);
  bool good = head.size && readAll(file.get(), bytes.data(), bytes.size());
  Head expected = headOf(key, bytes);
  if (good && std::memcmp(&head, &expected, sizeof head) == 0)
    return true;
  bytes.clear();
  return false;
}

void DiskCache::store(StringRef key, ArrayRef<char> bytes) const {
  if (folder)
    writer->add(key, bytes);
}

void DiskCache::flush() const {
  if (folder)
    writer->flush();
}

std::string DiskCache::refusal() const { return folder ? folder->refusal() : ""; }
