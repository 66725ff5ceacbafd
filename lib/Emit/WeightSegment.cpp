// The weights' bytes come into the linked library here. The linker has given their
// section an address and no room in the file (SHT_NOBITS), at the end of a segment:
//
//   before   headers .dynsym ...         | .text .data ... section headers
//   after    headers .dynsym ... weights | .text .data ... section headers
//
// What follows in the file moves by a multiple of the page size, so that addresses
// stay as they are; only places in the file change: those of segments, sections and
// of the table of sections. The weights are written once, where they will stay.
#include "WriteBlob.h"
#include "llvm/Object/ELFTypes.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::ELF;

namespace tcc::emit {

namespace {

using File = object::ELF64LE;

/// The whole library without weights: a few hundred kilobytes.
struct Library {
  std::string bytes;

  template <typename T> MutableArrayRef<T> table(uint64_t offset, uint64_t count) {
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T))
      return {};
    return {reinterpret_cast<T *>(bytes.data() + offset), size_t(count)};
  }
  File::Ehdr &header() { return *reinterpret_cast<File::Ehdr *>(bytes.data()); }
  MutableArrayRef<File::Phdr> segments() {
    return table<File::Phdr>(header().e_phoff, header().e_phnum);
  }
  MutableArrayRef<File::Shdr> sections() {
    return table<File::Shdr>(header().e_shoff, header().e_shnum);
  }
  StringRef nameOf(const File::Shdr &section) {
    MutableArrayRef<File::Shdr> all = sections();
    uint64_t at = all[header().e_shstrndx].sh_offset + section.sh_name;
    return at < bytes.size() ? StringRef(bytes.c_str() + at) : StringRef();
  }
};

/// Where the blob goes and what makes room for it.
struct Placement {
  File::Shdr *section = nullptr;
  File::Phdr *segment = nullptr;
  uint64_t place = 0; ///< of the blob in the file
  uint64_t end = 0;   ///< of what stays where it is; the rest moves
  uint64_t shift = 0;
};

} // namespace

static Error lastSystemError() {
  return errorCodeToError(std::error_code(errno, std::generic_category()));
}

static Expected<Library> readLibrary(int file) {
  struct stat status;
  if (fstat(file, &status) != 0)
    return lastSystemError();
  Library library{std::string(size_t(status.st_size), '\0')};
  for (size_t have = 0; have < library.bytes.size();) {
    ssize_t got = pread(file, library.bytes.data() + have, library.bytes.size() - have, have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return lastSystemError();
    if (got == 0)
      return createStringError("the file became shorter while it was read");
    have += got;
  }
  return library;
}

static Expected<Placement> findPlace(Library &library, uint64_t size) {
  auto unexpected = [](const char *what) {
    return createStringError(Twine("the linked library ") + what);
  };
  if (library.bytes.size() < sizeof(File::Ehdr) || !library.header().checkMagic() ||
      library.sections().size() <= library.header().e_shstrndx)
    return unexpected("is no ELF file with sections");
  Placement result;
  for (File::Shdr &section : library.sections())
    if (library.nameOf(section) == weightSection)
      result.section = &section;
  if (!result.section || result.section->sh_type != SHT_NOBITS || result.section->sh_size != size)
    return unexpected("has no room for the weights");
  uint64_t address = result.section->sh_addr;
  for (File::Phdr &segment : library.segments())
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address + size == segment.p_vaddr + segment.p_memsz)
      result.segment = &segment;
  if (!result.segment)
    return unexpected("does not end a segment with the weights");
  uint64_t page = 1;
  for (File::Phdr &segment : library.segments())
    page = std::max<uint64_t>(page, segment.p_align);
  result.place = result.segment->p_offset + (address - result.segment->p_vaddr);
  result.end = result.segment->p_offset + result.segment->p_filesz;
  if (result.place < result.end || result.end > library.bytes.size())
    return unexpected("has bytes where the weights belong");
  result.shift = alignTo(result.place + size - result.end, page);
  return result;
}

static void moveRest(Library &library, const Placement &to) {
  for (File::Phdr &segment : library.segments())
    if (&segment != to.segment && segment.p_offset >= to.end)
      segment.p_offset = segment.p_offset + to.shift;
  to.segment->p_filesz = to.segment->p_memsz;
  for (File::Shdr &section : library.sections())
    if (section.sh_offset >= to.end)
      section.sh_offset = section.sh_offset + to.shift;
  to.section->sh_type = SHT_PROGBITS;
  to.section->sh_offset = to.place;
  library.header().e_shoff = library.header().e_shoff + to.shift;
}

Expected<uint64_t> insertWeights(const WeightBlob &blob, int file, unsigned threads) {
  Expected<Library> library = readLibrary(file);
  if (!library)
    return library.takeError();
  Expected<Placement> to = findPlace(*library, blob.layout.size());
  if (!to)
    return to.takeError();
  moveRest(*library, *to);
  StringRef bytes = library->bytes;
  if (ftruncate(file, static_cast<off_t>(to->end)) != 0)
    return lastSystemError();
  if (Error error = writeBlob(blob, file, to->place, threads))
    return error;
  if (Error error = writeAt(file, bytes.take_front(to->end), 0))
    return error;
  if (Error error = writeAt(file, bytes.drop_front(to->end), to->end + to->shift))
    return error;
  return to->place;
}

} // namespace tcc::emit
