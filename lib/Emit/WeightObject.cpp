// What the linker sees of the weights: an object with one section and one symbol,
// of their size and without bytes. The bytes come into the linked library (see
// WeightSegment.cpp), so that no linker copies hundreds of megabytes.
//
//   ELF header | symbol and string tables | section headers
//
// On x86-64 the section is marked large: the linker then puts it where it does
// not push code and data out of each other's 2 GB reach.
#include "tcc/Emit/WeightBlob.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::ELF;

namespace tcc::emit {

namespace {

constexpr unsigned headerSize = 64, sectionSize = 64, symbolSize = 24;
enum Section { Null, Weights, Symbols, Strings, SectionNames, StackNote, numSections };

struct SectionHeader {
  uint32_t name = 0, type = SHT_NULL;
  uint64_t flags = 0, offset = 0, size = 0;
  uint32_t link = 0, info = 0;
  uint64_t align = 0, entrySize = 0;
};

/// A string table under construction; `add` gives the string's place.
struct StringTable {
  std::string bytes = std::string(1, '\0');

  uint32_t add(StringRef text) {
    uint32_t at = bytes.size();
    bytes += text;
    bytes += '\0';
    return at;
  }
};

} // namespace

static void writeHeader(support::endian::Writer &w, uint16_t machine, uint64_t sections) {
  w.OS << ElfMagic << char(ELFCLASS64) << char(ELFDATA2LSB) << char(EV_CURRENT);
  w.OS.write_zeros(EI_NIDENT - EI_OSABI);
  w.write<uint16_t>(ET_REL);
  w.write(machine);
  w.write<uint32_t>(EV_CURRENT);
  w.write<uint64_t>(0); // entry
  w.write<uint64_t>(0); // program headers
  w.write(sections);
  w.write<uint32_t>(0); // flags
  w.write<uint16_t>(headerSize);
  w.write<uint16_t>(0);
  w.write<uint16_t>(0);
  w.write<uint16_t>(sectionSize);
  w.write<uint16_t>(numSections);
  w.write<uint16_t>(SectionNames);
}

static void writeSymbol(support::endian::Writer &w, uint32_t name, uint64_t size) {
  w.OS.write_zeros(symbolSize); // the null symbol
  w.write(name);
  w.write<uint8_t>(STB_GLOBAL << 4 | STT_OBJECT);
  w.write<uint8_t>(STV_HIDDEN);
  w.write<uint16_t>(Weights);
  w.write<uint64_t>(0);
  w.write(size);
}

static void writeSection(support::endian::Writer &w, const SectionHeader &section) {
  w.write(section.name);
  w.write(section.type);
  w.write(section.flags);
  w.write<uint64_t>(0); // address
  w.write(section.offset);
  w.write(section.size);
  w.write(section.link);
  w.write(section.info);
  w.write(section.align);
  w.write(section.entrySize);
}

Expected<std::string> weightObject(const WeightLayout &layout, const Triple &triple) {
  bool x86 = triple.getArch() == Triple::x86_64;
  if (!x86 && triple.getArch() != Triple::aarch64)
    return createStringError("no weight object for " + triple.str());
  StringTable strings, names;
  uint32_t symbol = strings.add(weightSymbol);
  uint64_t symbols = headerSize;
  SectionHeader table[numSections];
  table[Weights] = {names.add(weightSection),
                    SHT_NOBITS,
                    SHF_ALLOC | (x86 ? uint64_t(SHF_X86_64_LARGE) : 0),
                    headerSize,
                    layout.size(),
                    0,
                    0,
                    WeightLayout::alignment,
                    0};
  table[Symbols] = {names.add(".symtab"), SHT_SYMTAB, 0,         symbols, 2 * symbolSize, Strings,
                    /*first global=*/1,   8,          symbolSize};
  table[Strings] = {names.add(".strtab"),
                    SHT_STRTAB,
                    0,
                    symbols + 2 * symbolSize,
                    strings.bytes.size(),
                    0,
                    0,
                    1,
                    0};
  table[SectionNames] = {names.add(".shstrtab"),
                         SHT_STRTAB,
                         0,
                         table[Strings].offset + table[Strings].size,
                         0,
                         0,
                         0,
                         1,
                         0};
  uint32_t note = names.add(".note.GNU-stack");
  table[SectionNames].size = names.bytes.size();
  uint64_t after = table[SectionNames].offset + names.bytes.size();
  table[StackNote] = {note, SHT_PROGBITS, 0, after, 0, 0, 0, 1, 0};
  uint64_t sections = alignTo(after, 8);

  std::string object;
  raw_string_ostream stream(object);
  support::endian::Writer w(stream, endianness::little);
  writeHeader(w, x86 ? EM_X86_64 : EM_AARCH64, sections);
  writeSymbol(w, symbol, layout.size());
  stream << strings.bytes << names.bytes;
  stream.write_zeros(sections - after);
  for (const SectionHeader &section : table)
    writeSection(w, section);
  return object;
}

} // namespace tcc::emit
