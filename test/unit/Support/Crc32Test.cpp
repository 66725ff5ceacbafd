// The checksum of a .pt2's entries, against its published check value and LLVM's table-driven one.
#include "tcc/Support/Crc32.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include <catch2/catch.hpp>
#include <random>

TEST_CASE("CRC-32 is that of zip") {
  CHECK(tcc::crc32(0, "") == 0);
  CHECK(tcc::crc32(0, "123456789") == 0xcbf43926); // the check value of every catalogue of CRCs
  std::mt19937 random(3);
  std::string bytes(5000, '\0');
  for (char &c : bytes)
    c = static_cast<char>(random());
  for (size_t begin = 0; begin < 20; ++begin)
    for (size_t size : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 1024, 4096, 4979}) {
      llvm::StringRef part = llvm::StringRef(bytes).substr(begin, size);
      uint32_t expected = llvm::crc32(llvm::arrayRefFromStringRef(part));
      CHECK(tcc::crc32(0, part) == expected);
      size_t cut = size / 3;
      CHECK(tcc::crc32(tcc::crc32(0, part.take_front(cut)), part.drop_front(cut)) == expected);
    }
}
