#include "KernelKey.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

/// Identifies this build of the compiler: the content of its executable.
static const std::string &buildIdentity() {
  static const std::string identity = [] {
    static int anchor;
    std::string path = sys::fs::getMainExecutable("tcc", &anchor);
    auto file = MemoryBuffer::getFile(path, false, false);
    return file ? utohexstr(xxh3_64bits((*file)->getBuffer())) : std::string();
  }();
  return identity;
}

std::string tcc::kernelKey(ArrayRef<std::string> parts) {
  SHA256 hash;
  hash.update(buildIdentity());
  for (const std::string &part : parts) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}
