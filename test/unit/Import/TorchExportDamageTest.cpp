//===- TorchExportDamageTest.cpp - Files that are not what they seem ------===//
//
// Whatever the file: a module or one error, never a crash, and nothing but
// clean text in the error.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>
#include <random>

using namespace mlir;
using namespace tcc;

namespace {

std::string fixture(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile((TCC_PT2_INPUTS + name).str(), false, false);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

class Sandbox {
public:
  Sandbox() { REQUIRE(!llvm::sys::fs::createTemporaryFile("tcc-damage", "pt2", path)); }
  ~Sandbox() { llvm::sys::fs::remove(path); }

  /// Imports `bytes`; gives the error, or "" for a module that verifies.
  std::string import(llvm::StringRef bytes) {
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << bytes;
    MLIRContext context(MLIRContext::Threading::DISABLED);
    WeightTable weights;
    auto module = importTorchExport(path, {}, weights, context);
    if (module) {
      CHECK(succeeded(verify(**module)));
      return "";
    }
    llvm::Error error = module.takeError();
    CHECK(error.isA<UserError>());
    std::string text = toString(std::move(error));
    CHECK(!text.empty());
    CHECK(text.size() < 4000);
    CHECK(llvm::StringRef(text).count('\n') == 0);
    return text;
  }

private:
  llvm::SmallString<128> path;
};

/// `bytes` with model.json edited in place (same length) and its checksum mended.
std::string edited(std::string bytes, llvm::StringRef from, llvm::StringRef to) {
  REQUIRE(from.size() == to.size());
  size_t at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  bytes.replace(at, to.size(), to);
  size_t begin = bytes.find("{\"graph_module\""), directory = bytes.find("PK\x01\x02");
  while (!llvm::StringRef(bytes).substr(directory + 46, 200).contains("models/model.json") ||
         !llvm::StringRef(bytes)
              .substr(directory + 46, llvm::support::endian::read16le(&bytes[directory + 28]))
              .ends_with("models/model.json"))
    directory = bytes.find("PK\x01\x02", directory + 1);
  uint32_t size = llvm::support::endian::read32le(&bytes[directory + 24]);
  llvm::support::endian::write32le(
      &bytes[directory + 16],
      llvm::crc32(llvm::arrayRefFromStringRef(llvm::StringRef(bytes).substr(begin, size))));
  return bytes;
}

} // namespace

TEST_CASE("truncated files") {
  Sandbox sandbox;
  std::string whole = fixture("kvcache.pt2");
  CHECK(sandbox.import(whole) == "");
  for (size_t size = 0; size < whole.size(); size += 1 + size / 7)
    CHECK(sandbox.import(llvm::StringRef(whole).take_front(size)) != "");
  CHECK(sandbox.import(llvm::StringRef(whole).drop_front(100)) != "");
}

TEST_CASE("flipped bits") {
  Sandbox sandbox;
  std::mt19937 random(7);
  for (const char *name : {"inplace.pt2", "cond.pt2", "dynamic.pt2", "tied.pt2"}) {
    std::string whole = fixture(name);
    for (int i = 0; i < 150; ++i) {
      std::string bytes = whole;
      bytes[random() % bytes.size()] ^= 1 << random() % 8;
      sandbox.import(bytes);
    }
  }
}

TEST_CASE("damage that the checksum does not show") {
  Sandbox sandbox;
  std::mt19937 random(11);
  for (const char *name : {"inplace.pt2", "loop.pt2", "nograd.pt2", "convbn_train.pt2"}) {
    std::string whole = fixture(name);
    size_t begin = whole.find("{\"graph_module\""), end = whole.find("PK\x03\x04", begin);
    for (int i = 0; i < 250; ++i) {
      size_t at = begin + random() % (end - begin - 1);
      std::string to(1, "0123456789\"{}[],:abeflnrstu_-."[random() % 30]);
      sandbox.import(edited(whole, llvm::StringRef(whole).substr(at, 1), whole.substr(at, 1)));
      std::string bytes = whole;
      bytes[at] = to[0];
      sandbox.import(edited(bytes, llvm::StringRef(bytes).substr(at, 1), bytes.substr(at, 1)));
    }
  }
}

TEST_CASE("errors name the node and the field") {
  Sandbox sandbox;
  std::string sincos = fixture("sincos.pt2");
  CHECK_THAT(sandbox.import("hello"), Catch::Contains("not a zip archive"));
  CHECK_THAT(
      sandbox.import(edited(sincos, R"("name": "cos"}}, "kind")", R"("name": "cox"}}, "kind")")),
      Catch::Contains("node 'sin' (aten.sin.default, ") && Catch::Contains("export.py:") &&
          Catch::Contains("uses 'cox', which nothing before it defines"));
  CHECK_THAT(sandbox.import(edited(sincos, R"("target": "torch)", R"("tarxet": "torch)")),
             Catch::Contains("missing value at") && Catch::Contains("nodes[0].target"));
  CHECK_THAT(sandbox.import(edited(sincos, R"("major": 8)", R"("major": 9)")),
             Catch::Contains("schema version"));
  CHECK_THAT(sandbox.import(edited(sincos, R"({"as_int": 4})", R"({"as_int":-4})")),
             Catch::Contains("size -4"));
  std::string deep = sincos;
  size_t begin = deep.find("{\"graph_module\"");
  CHECK_THAT(sandbox.import(edited(deep, deep.substr(begin, 1000), std::string(1000, '['))),
             Catch::Contains("nested"));
  std::string weights = fixture("linear.pt2");
  CHECK_THAT(sandbox.import(edited(weights, R"("as_int": 10}], "req)", R"("as_int": 99}], "req)")),
             Catch::Contains("weight"));
}
