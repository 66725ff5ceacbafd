#include "tcc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <catch2/catch.hpp>

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
