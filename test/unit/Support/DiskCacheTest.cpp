// What the cache believes, and how much it holds.
#include "tcc/Support/DiskCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <catch2/catch.hpp>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

using namespace llvm;
using namespace tcc;

namespace {

struct Place {
  SmallString<128> folder;
  Place() { REQUIRE(!sys::fs::createUniqueDirectory("tcc-disk-cache", folder)); }
  ~Place() { sys::fs::remove_directories(folder); }
  std::string cache() const { return (folder + "/cache").str(); }
  std::string entry(char name) const { return cache() + "/" + key(name); }
  static std::string key(char name) { return std::string(64, name); }
};

std::string loaded(const DiskCache &cache, char name) {
  SmallVector<char, 0> bytes;
  return cache.load(Place::key(name), bytes) ? std::string(bytes.begin(), bytes.end()) : "nothing";
}

void store(const DiskCache &cache, char name, StringRef text) {
  cache.store(Place::key(name), {text.data(), text.size()});
  cache.flush();
}

unsigned modeOf(const std::string &path) {
  struct stat s;
  REQUIRE(stat(path.c_str(), &s) == 0);
  return s.st_mode & 0777;
}

} // namespace

TEST_CASE("what is stored is loaded, and nobody else may read or write it") {
  Place place;
  mode_t before = umask(0);
  DiskCache cache(place.cache());
  CHECK(loaded(cache, 'a') == "nothing");
  store(cache, 'a', "kernel");
  umask(before);
  CHECK(loaded(cache, 'a') == "kernel");
  CHECK(modeOf(place.cache()) == 0700);
  CHECK(modeOf(place.entry('a')) == 0600);
  CHECK(loaded(DiskCache(place.cache()), 'a') == "kernel");
}

TEST_CASE("what is damaged or cut short is not loaded") {
  Place place;
  DiskCache cache(place.cache());
  store(cache, 'a', "kernel");
  auto file = std::fstream(place.entry('a'), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('x');
  file.close();
  CHECK(loaded(cache, 'a') == "nothing");
  store(cache, 'a', "kernel");
  CHECK(loaded(cache, 'a') == "kernel");
  for (long length : {29L, 24L, 10L, 0L}) {
    REQUIRE(truncate(place.entry('a').c_str(), length) == 0);
    CHECK(loaded(cache, 'a') == "nothing");
  }
  store(cache, 'a', "");
  CHECK(loaded(cache, 'a') == "nothing");
}

TEST_CASE("what others can write is not believed") {
  Place place;
  store(DiskCache(place.cache()), 'a', "kernel");
  for (mode_t mode : {0620, 0602}) {
    REQUIRE(chmod(place.entry('a').c_str(), mode) == 0);
    CHECK(loaded(DiskCache(place.cache()), 'a') == "nothing");
  }
  REQUIRE(chmod(place.entry('a').c_str(), 0600) == 0);
  for (mode_t mode : {0720, 0702}) {
    REQUIRE(chmod(place.cache().c_str(), mode) == 0);
    DiskCache cache(place.cache());
    CHECK(loaded(cache, 'a') == "nothing");
    CHECK(StringRef(cache.refusal()).contains("others may write it"));
    store(cache, 'b', "kernel");
    CHECK(!sys::fs::exists(place.entry('b')));
    CHECK(StringRef(toString(cacheStats(place.cache()).takeError())).contains("is not used"));
  }
  REQUIRE(chmod(place.cache().c_str(), 0755) == 0); // others may read
  CHECK(loaded(DiskCache(place.cache()), 'a') == "kernel");
  REQUIRE(rename(place.entry('a').c_str(), place.entry('c').c_str()) == 0);
  REQUIRE(symlink(place.entry('c').c_str(), place.entry('a').c_str()) == 0);
  CHECK(loaded(DiskCache(place.cache()), 'a') == "nothing");
}

TEST_CASE("another owner's folder and files are not believed") {
  if (geteuid() != 0)
    return; // only root can give files away
  Place place;
  store(DiskCache(place.cache()), 'a', "kernel");
  REQUIRE(chown(place.entry('a').c_str(), 12345, 12345) == 0);
  CHECK(loaded(DiskCache(place.cache()), 'a') == "nothing");
  REQUIRE(chown(place.entry('a').c_str(), 0, 0) == 0);
  CHECK(loaded(DiskCache(place.cache()), 'a') == "kernel");
  REQUIRE(chown(place.cache().c_str(), 12345, 12345) == 0);
  DiskCache cache(place.cache());
  CHECK(loaded(cache, 'a') == "nothing");
  CHECK(StringRef(cache.refusal()).contains("another user"));
}

/// Makes an entry look unused for `hours`.
static void age(const std::string &path, long hours) {
  time_t then = time(nullptr) - hours * 3600;
  utimbuf times = {then, then};
  REQUIRE(utime(path.c_str(), &times) == 0);
}

TEST_CASE("pruning removes what was not used for longest, and only what is the cache's") {
  Place place;
  std::string hundred(100, 'x'), other = place.cache() + "/notes.txt",
                                 left = place.entry('e') + ".123-4";
  {
    DiskCache cache(place.cache());
    for (char name : {'a', 'b', 'c', 'd'})
      store(cache, name, hundred);
  }
  std::ofstream(other) << "mine";
  std::ofstream(left) << "half of a kernel";
  for (auto [name, hours] : {std::pair('a', 2L), {'b', 50L}, {'c', 40L}, {'d', 30L}})
    age(place.entry(name), hours);
  age(left, 50);
  CHECK(loaded(DiskCache(place.cache()), 'b') == hundred); // a use
  CacheStats before = cantFail(cacheStats(place.cache()));
  CHECK(before.entries == 5);
  CacheStats removed = cantFail(pruneCache(place.cache(), 250));
  CHECK(removed.entries == 3);
  CHECK(sys::fs::exists(place.entry('a')));
  CHECK(sys::fs::exists(place.entry('b')));
  CHECK(!sys::fs::exists(place.entry('c')));
  CHECK(!sys::fs::exists(left));
  CHECK(sys::fs::exists(other));
  CHECK(cantFail(cacheStats(place.cache())).entries == 2);
}

TEST_CASE("the folder keeps its bound by itself") {
  Place place;
  REQUIRE(setenv("TCC_CACHE_LIMIT", "1", 1) == 0);
  std::string large(300 * 1000, 'x');
  for (char name : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    {
      DiskCache cache(place.cache());
      store(cache, name, large);
    }
    CHECK(cantFail(cacheStats(place.cache())).bytes <= 1000 * 1000);
    age(place.entry(name), 'z' - name);
  }
  REQUIRE(unsetenv("TCC_CACHE_LIMIT") == 0);
  CHECK(loaded(DiskCache(place.cache()), 'f') == large);
  CHECK(loaded(DiskCache(place.cache()), 'a') == "nothing");
}

TEST_CASE("no folder, no cache") {
  DiskCache none("");
  store(none, 'a', "kernel");
  CHECK(loaded(none, 'a') == "nothing");
  CHECK(none.refusal().empty());
  CHECK(cantFail(cacheStats("/nonexistent/cache")).entries == 0);
}
