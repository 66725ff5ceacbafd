#include "tcc/Support/InputFile.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace tcc {

Expected<std::unique_ptr<MemoryBuffer>> openInputFile(StringRef path) {
  std::string name = path.str();
  auto reason = [](int code) { return std::error_code(code, std::generic_category()).message(); };
  // Without O_NONBLOCK the opening of a FIFO waits for somebody who writes into it.
  int file = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return userError("cannot be opened: " + reason(errno));
  auto close = scope_exit([&] { ::close(file); });
  struct stat status;
  if (fstat(file, &status))
    return userError("cannot be opened: " + reason(errno));
  if (!S_ISREG(status.st_mode))
    return userError("is no regular file");
  uint64_t size = status.st_size;
  if (size > kMaxInputBytes)
    return userError("has " + Twine(size >> 30) + " GB; " + Twine(kMaxInputBytes >> 30) +
                     " GB is the limit of a file that is read");
  auto buffer = MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(file), path, size,
                                          /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("cannot be read: " + buffer.getError().message());
  return std::move(*buffer);
}

} // namespace tcc
