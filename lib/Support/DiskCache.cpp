#include "tcc/Support/DiskCache.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tcc;

bool DiskCache::load(StringRef key, SmallVectorImpl<char> &bytes) const {
  if (folder.empty())
    return false;
  SmallString<128> path(folder);
  sys::path::append(path, key);
  auto file = MemoryBuffer::getFile(path, false, false);
  if (!file || (*file)->getBufferSize() == 0)
    return false;
  bytes.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  return true;
}

void DiskCache::store(StringRef key, ArrayRef<char> bytes) const {
  if (folder.empty() || sys::fs::create_directories(folder))
    return;
  SmallString<128> path(folder), temporary;
  sys::path::append(path, key);
  int descriptor;
  if (sys::fs::createUniqueFile(path + ".%%%%%%%%", descriptor, temporary))
    return;
  {
    raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os.write(bytes.data(), bytes.size());
    os.close(); // shows a full disk now, not in the destructor, which would end the process
    if (os.has_error()) {
      os.clear_error();
      (void)sys::fs::remove(temporary);
      return;
    }
  }
  if (sys::fs::rename(temporary, path))
    (void)sys::fs::remove(temporary);
}
