// Weights are written straight into a linked library, by several threads: the bytes are the same
// for any number of them, and no failed write goes unseen.
#include "tcc/Emit/WeightBlob.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

static WeightBlob blob() {
  WeightBlob blob;
  blob.layout.add("a", DType::F32, {3}, 12);
  blob.layout.add("tcc.padding.0", DType::I4, {3, 3}, 5);
  blob.layout.add("__metadata__", DType::BF16, {0, 4}, 0);
  blob.layout.add("b \"q\" \xc3\xa9", DType::F16, {2, 2}, 64); // packed with padding
  blob.read = [](const WeightEntry &entry, uint64_t begin, uint64_t end, char *room) {
    std::fill(room, room + (end - begin), entry.name[0]);
    return StringRef(room, end - begin);
  };
  return blob;
}

/// What `write` makes of an empty file.
static std::string contentOf(function_ref<Error(int)> write) {
  SmallString<128> path;
  int file;
  REQUIRE(!sys::fs::createTemporaryFile("tcc-blob", "bin", file, path));
  Error error = write(file);
  sys::fs::closeFile(file);
  auto buffer = MemoryBuffer::getFile(path);
  sys::fs::remove(path);
  REQUIRE(toString(std::move(error)) == "");
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

TEST_CASE("tensors begin at multiples of 64") {
  WeightBlob b = blob();
  CHECK(b.layout.entries()[1].offset == 64);
  CHECK(b.layout.entries()[2].offset == 128);
  CHECK(b.layout.entries()[3].offset == 128);
  CHECK(b.layout.size() == 192);
}

TEST_CASE("a safetensors file has no holes and any name") {
  WeightBlob b = blob();
  std::string file = contentOf([&](int out) { return writeSafetensors(b, out); });
  std::string head = safetensorsHead(b.layout);
  CHECK(head.size() % 64 == 0);
  REQUIRE(file.size() == head.size() + 192);
  uint64_t length;
  memcpy(&length, file.data(), 8);
  CHECK(length + 8 == head.size());
  auto json = json::parse(file.substr(8, length));
  REQUIRE(bool(json));
  const json::Object &object = *json->getAsObject();
  CHECK(object.getObject("__metadata__")->getString("format") == StringRef("tcc"));
  CHECK(object.getObject("__metadata___")->getString("dtype") == StringRef("BF16"));
  CHECK(object.getObject("tcc.padding.0")->getString("dtype") == StringRef("U8"));
  CHECK(object.getObject("_tcc.padding.0")->getString("dtype") == StringRef("U8"));
  CHECK(object.getObject("a")->getString("dtype") == StringRef("F32"));
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto &[name, value] : object)
    if (const json::Array *offsets = value.getAsObject()->getArray("data_offsets"))
      ranges.emplace_back(*(*offsets)[0].getAsInteger(), *(*offsets)[1].getAsInteger());
  llvm::sort(ranges);
  int64_t end = 0;
  for (auto [begin, next] : ranges) {
    CHECK(begin == end);
    end = next;
  }
  CHECK(end == 192);
  CHECK(file.substr(head.size() + 64, 6) == std::string("ttttt\0", 6));
  CHECK(safetensorsLayoutHash(head) != safetensorsLayoutHash(safetensorsHead({})));
}

TEST_CASE("a weight object is ELF with room for the blob") {
  for (const char *triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    std::string bytes = cantFail(weightObject(blob().layout, Triple(triple)));
    auto file =
        cantFail(object::ELFObjectFile<object::ELF64LE>::create(MemoryBufferRef(bytes, "weights")));
    CHECK(file.getArch() == Triple(triple).getArch());
    bool found = false;
    for (const object::ELFSectionRef section : file.sections())
      if (cantFail(section.getName()) == weightSection) {
        found = true;
        CHECK(section.getType() == ELF::SHT_NOBITS);
        CHECK(section.getSize() == 192);
        CHECK(section.getAlignment() == Align(64));
      }
    CHECK(found);
    size_t symbols = 0;
    for (const object::ELFSymbolRef &symbol : file.symbols()) {
      ++symbols;
      CHECK(cantFail(symbol.getName()) == weightSymbol);
      CHECK(symbol.getSize() == 192);
      CHECK(symbol.getOther() == ELF::STV_HIDDEN);
    }
    CHECK(symbols == 1);
  }
  CHECK(toString(weightObject(blob().layout, Triple("riscv64-linux")).takeError()) != "");
}

TEST_CASE("weights go into nothing but a library that was linked for them") {
  auto refusal = [](StringRef content) {
    SmallString<128> path;
    int file;
    REQUIRE(!sys::fs::createTemporaryFile("tcc-blob", "so", file, path));
    REQUIRE(write(file, content.data(), content.size()) == ssize_t(content.size()));
    std::string text = toString(insertWeights(blob(), file).takeError());
    sys::fs::closeFile(file);
    auto left = MemoryBuffer::getFile(path);
    CHECK((left && (*left)->getBuffer() == content));
    sys::fs::remove(path);
    return text;
  };
  CHECK(refusal("") == "the linked library is no ELF file with sections");
  CHECK(refusal(std::string(1000, 'x')) == "the linked library is no ELF file with sections");
  WeightBlob other = blob();
  other.layout.add("more", DType::U8, {1}, 1);
  std::string object = cantFail(weightObject(other.layout, Triple("x86_64-linux-gnu")));
  CHECK(refusal(object) == "the linked library has no room for the weights");
  object = cantFail(weightObject(blob().layout, Triple("x86_64-linux-gnu")));
  CHECK(refusal(object) == "the linked library does not end a segment with the weights");
  CHECK(toString(insertWeights(blob(), -1).takeError()) == "Bad file descriptor");
}

TEST_CASE("parts of any number of threads make the same file") {
  WeightBlob b;
  b.layout.add("large", DType::U8, {5 << 20}, 5 << 20);
  b.layout.add("small", DType::U8, {100}, 100);
  b.layout.add("rows", DType::U8, {30000, 96}, 30000 * 96, /*grain=*/96);
  b.layout.add("coarse", DType::U8, {3 << 20}, 3 << 20, /*grain=*/3 << 19);
  b.read = [](const WeightEntry &entry, uint64_t begin, uint64_t end, char *room) {
    if (begin % entry.grain || end % entry.grain)
      return StringRef();
    for (uint64_t i = begin; i < end; ++i)
      room[i - begin] = static_cast<char>(i * 7 + entry.offset);
    return StringRef(room, end - begin);
  };
  std::string one = contentOf([&](int out) { return writeSafetensors(b, out, 1); });
  std::string four = contentOf([&](int out) { return writeSafetensors(b, out, 4); });
  CHECK((one == four));
  StringRef data = StringRef(one).drop_front(safetensorsHead(b.layout).size());
  REQUIRE(data.size() == b.layout.size());
  bool right = true;
  for (const WeightEntry &entry : b.layout.entries())
    for (uint64_t i = 0; i < entry.size; ++i)
      right &= data[entry.offset + i] == static_cast<char>(i * 7 + entry.offset);
  CHECK(right);
}

TEST_CASE("a reader that gives the wrong number of bytes is found out") {
  WeightBlob b = blob();
  b.read = [](const WeightEntry &, uint64_t, uint64_t, char *) { return StringRef("x"); };
  std::string problem;
  (void)contentOf([&](int out) {
    problem = toString(writeSafetensors(b, out));
    return Error::success();
  });
  CHECK(problem == "weight 'a' gave 1 bytes instead of 12");
}

TEST_CASE("a full disk is an error, on every thread") {
  WeightBlob b = blob();
  int file = open("/dev/full", O_WRONLY);
  REQUIRE(file >= 0);
  for (unsigned threads : {1, 4})
    CHECK(toString(writeSafetensors(b, file, threads)) == "No space left on device");
  close(file);
}
