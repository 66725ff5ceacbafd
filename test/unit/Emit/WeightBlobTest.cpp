#include "tcc/Emit/WeightBlob.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/JSON.h"
#include <catch2/catch.hpp>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

static WeightBlob blob() {
  WeightBlob blob;
  blob.layout.add("a", DType::F32, {3}, 12);
  blob.layout.add("tcc.padding.0", DType::I4, {3, 3}, 5);
  blob.layout.add("__metadata__", DType::BF16, {0, 4}, 0);
  blob.layout.add("b \"q\" \xc3\xa9", DType::F16, {2, 2}, 64); // packed with padding
  blob.write = [](const WeightEntry &entry, raw_ostream &os) {
    os << std::string(entry.size, entry.name[0]);
    return Error::success();
  };
  return blob;
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
  std::string file;
  raw_string_ostream os(file);
  REQUIRE(!writeSafetensors(b, os));
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

TEST_CASE("a weight object is ELF with the blob in it") {
  for (const char *triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    WeightBlob b = blob();
    std::string bytes;
    raw_string_ostream os(bytes);
    REQUIRE(!writeWeightObject(b, Triple(triple), os));
    auto file =
        cantFail(object::ELFObjectFile<object::ELF64LE>::create(MemoryBufferRef(bytes, "weights")));
    CHECK(file.getArch() == Triple(triple).getArch());
    bool found = false;
    for (const object::SectionRef &section : file.sections())
      if (cantFail(section.getName()) == ".tcc.weights") {
        found = true;
        CHECK(section.getSize() == 192);
        CHECK(section.getAlignment() == Align(64));
        CHECK(cantFail(section.getContents()).substr(128, 2) == "bb");
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
  std::string bytes;
  raw_string_ostream os(bytes);
  CHECK(toString(writeWeightObject(blob(), Triple("riscv64-linux"), os)) != "");
}

TEST_CASE("a writer that gives the wrong number of bytes is found out") {
  WeightBlob b = blob();
  b.write = [](const WeightEntry &, raw_ostream &os) {
    os << "x";
    return Error::success();
  };
  std::string bytes;
  raw_string_ostream os(bytes);
  CHECK(toString(writeSafetensors(b, os)) == "weight 'a' wrote 1 bytes instead of 12");
}
