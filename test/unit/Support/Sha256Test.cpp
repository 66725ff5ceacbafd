// tcc's own SHA-256 uses the processor's instructions; LLVM's portable one is the yardstick.
#include "tcc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"
#include <catch2/catch.hpp>
#include <fstream>

using namespace llvm;

TEST_CASE("known digests") {
  CHECK(tcc::sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(tcc::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("every length around the blocks as LLVM's") {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    bytes.push_back(static_cast<char>(length * 37));
    CHECK(tcc::sha256(bytes) ==
          toHex(SHA256::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true));
  }
}

TEST_CASE("a file's digest is that of its bytes") {
  SmallString<128> path;
  REQUIRE(!sys::fs::createTemporaryFile("tcc-sha256", "bin", path));
  constexpr size_t window = 16 << 20;
  for (size_t size : {size_t(0), size_t(1), size_t(64), window - 1, window, window + 65}) {
    std::string bytes(size, 'x');
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 31 >> 3);
    std::ofstream(path.c_str(), std::ios::binary) << bytes;
    CHECK(tcc::sha256OfFile(path.c_str()) == tcc::sha256(bytes));
  }
  sys::fs::remove(path);
  CHECK(!tcc::sha256OfFile(path.c_str()));
}
