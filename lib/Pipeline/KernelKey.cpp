//===- KernelKey.cpp - What compiled code depends on ----------------------===//
//
// Beside the kernel's own text: the compiler. That is the executable and, where LLVM and MLIR are
// shared libraries, those too: the package manager upgrades them under the same name. Each has a
// build id, which its linker made of its content and which lies in memory already, so that no
// start reads a hundred megabytes. An executable without one is hashed, a library without one is
// told by its file's size and times.
//
//===----------------------------------------------------------------------===//
#include "KernelKey.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"
#include <link.h>
#include <sys/stat.h>

using namespace llvm;

/// The build id among the notes of a loaded object; empty without one.
static StringRef buildId(const dl_phdr_info &object) {
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    StringRef notes(reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr),
                    segment.p_memsz);
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) head;
      memcpy(&head, notes.data(), sizeof head);
      uint64_t name = sizeof head, text = alignTo(name + head.n_namesz, alignment),
               end = alignTo(text + head.n_descsz, alignment);
      if (text + head.n_descsz > notes.size())
        break;
      if (head.n_type == NT_GNU_BUILD_ID &&
          notes.substr(name, head.n_namesz) == StringRef("GNU", 4))
        return notes.substr(text, head.n_descsz);
      notes = notes.drop_front(std::min<uint64_t>(end, notes.size()));
    }
  }
  return "";
}

static std::string contentOfExecutable() {
  static int anchor;
  auto file = MemoryBuffer::getFile(sys::fs::getMainExecutable("tcc", &anchor), false, false);
  return file ? utohexstr(xxh3_64bits((*file)->getBuffer())) : std::string();
}

/// Adds the executable, whose path is empty, or a shared library; the kernel's own object, which
/// has a name without a folder, has no part in code.
static int addObject(dl_phdr_info *object, size_t, void *to) {
  StringRef path = object->dlpi_name;
  if (!path.empty() && !path.contains('/'))
    return 0;
  auto &text = *static_cast<std::string *>(to);
  StringRef id = buildId(*object);
  struct stat s;
  if (!id.empty())
    text += toHex(id);
  else if (path.empty())
    text += contentOfExecutable();
  else if (stat(object->dlpi_name, &s) == 0)
    for (uint64_t number : {uint64_t(s.st_dev), uint64_t(s.st_ino), uint64_t(s.st_size),
                            uint64_t(s.st_mtim.tv_sec), uint64_t(s.st_mtim.tv_nsec)})
      text += utostr(number) + " ";
  text += '\n';
  return 0;
}

/// Identifies this build of the compiler.
static const std::string &buildIdentity() {
  static const std::string identity = [] {
    std::string text;
    dl_iterate_phdr(addObject, &text);
    return text;
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
