// A remembered digest spares reading gigabytes again, and is worth nothing if a file can change
// behind it.
#include "tcc/Support/FileHash.h"
#include "tcc/Support/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>
#include <fstream>

using namespace llvm;

/// A folder of its own for each test, with the file and the cache.
struct Place {
  SmallString<128> folder;
  Place() { REQUIRE(!sys::fs::createUniqueDirectory("tcc-file-hash", folder)); }
  ~Place() { sys::fs::remove_directories(folder); }
  std::string operator/(StringRef name) const { return (folder + "/" + name).str(); }
  std::string remembered() const {
    std::error_code error;
    sys::fs::directory_iterator it(*this / "cache", error);
    return error || it == sys::fs::directory_iterator() ? "" : it->path();
  }
  void write(StringRef name, StringRef text) const {
    std::ofstream(*this / name, std::ios::binary) << text.str();
  }
};

TEST_CASE("what just changed is hashed and not remembered") {
  Place place;
  tcc::DiskCache cache(place / "cache");
  place.write("model", "one");
  CHECK(tcc::hashOfFile(place / "model", cache) == tcc::sha256("one"));
  CHECK(place.remembered().empty());
  place.write("model", "two");
  CHECK(tcc::hashOfFile(place / "model", cache) == tcc::sha256("two"));
}

TEST_CASE("an old file's digest is remembered, and only a digest is believed") {
  Place place;
  tcc::DiskCache cache(place / "cache");
  std::string old = "/usr/bin/env"; // installed before this test ran
  std::optional<std::string> digest = tcc::sha256OfFile(old);
  REQUIRE(digest);
  CHECK(tcc::hashOfFile(old, cache) == digest);
  cache.flush();
  std::string path = place.remembered(), key = sys::path::filename(path).str();
  REQUIRE(!path.empty());
  auto remember = [&](const std::string &text) {
    cache.store(key, {text.data(), text.size()});
    cache.flush();
  };
  remember(std::string(64, 'a'));
  CHECK(tcc::hashOfFile(old, cache) == std::string(64, 'a'));
  remember("no digest");
  CHECK(tcc::hashOfFile(old, cache) == digest);
}

TEST_CASE("no cache, no file, no regular file") {
  Place place;
  tcc::DiskCache none("");
  CHECK(tcc::hashOfFile("/usr/bin/env", none) == tcc::sha256OfFile("/usr/bin/env"));
  CHECK(!tcc::hashOfFile(place / "absent", none));
  CHECK(!tcc::hashOfFile(place.folder.c_str(), none));
}

TEST_CASE("a check that passed is remembered under its name, one that failed is not") {
  Place place;
  tcc::DiskCache cache(place / "cache");
  int checks = 0;
  auto check = [&](StringRef subject, bool result) {
    return tcc::checkFile("/usr/bin/env", subject, cache, [&] { return ++checks, result; });
  };
  CHECK(!check("first", false));
  CHECK(!check("first", false));
  CHECK(checks == 2);
  CHECK(check("first", true));
  cache.flush();
  CHECK(check("first", false));
  CHECK(checks == 3);
  CHECK(!check("second", false));
  CHECK(checks == 4);
}
