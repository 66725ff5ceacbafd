// A compile that fails must leave what was there before, also where it fails between two of its
// files.
#include "tcc/Emit/OutputFiles.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tcc::emit;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tcc-output-test-" + std::to_string(getpid()));
  Folder() { fs::create_directory(path); }
  ~Folder() { fs::remove_all(path); }
  size_t count() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string read(const fs::path &path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("files appear together, at the end") {
  Folder folder;
  std::ofstream(folder.path / "b") << "old";
  OutputFiles files;
  REQUIRE(!files.write((folder.path / "a").string(), "new a"));
  REQUIRE(!files.write((folder.path / "b").string(), "new b"));
  CHECK(!fs::exists(folder.path / "a"));
  CHECK(read(folder.path / "b") == "old");
  REQUIRE(!files.commit());
  CHECK(read(folder.path / "a") == "new a");
  CHECK(read(folder.path / "b") == "new b");
  CHECK(folder.count() == 2);
}

TEST_CASE("without commit nothing happened") {
  Folder folder;
  std::ofstream(folder.path / "b") << "old";
  {
    OutputFiles files;
    REQUIRE(!files.write((folder.path / "b").string(), "new b"));
  }
  CHECK(read(folder.path / "b") == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("all or nothing: what has its name gives it back when another cannot get its own") {
  Folder folder;
  std::ofstream(folder.path / "old") << "old";
  OutputFiles files;
  auto library = files.create((folder.path / "library").string(), OutputFiles::Turn::Last);
  REQUIRE(bool(library));
  REQUIRE(!files.write((folder.path / "new").string(), "new"));
  REQUIRE(!files.write((folder.path / "old").string(), "new"));
  fs::create_directory(folder.path / "library"); // somebody was quicker
  std::ofstream(folder.path / "library" / "x");
  CHECK(toString(files.commit()).find("cannot write") != std::string::npos);
  CHECK(!fs::exists(folder.path / "new"));
  CHECK(read(folder.path / "old") == "old");
  CHECK(fs::is_directory(folder.path / "library"));
}

TEST_CASE("a device that takes nothing is known before any file has its name") {
  Folder folder;
  OutputFiles files;
  REQUIRE(!files.write((folder.path / "new").string(), "new"));
  REQUIRE(!files.write("/dev/full", "text"));
  CHECK(toString(files.commit()).find("/dev/full") != std::string::npos);
  CHECK(!fs::exists(folder.path / "new"));
}

TEST_CASE("links are followed, devices are written to, folders refused") {
  Folder folder;
  std::ofstream(folder.path / "target") << "old";
  fs::create_symlink("target", folder.path / "link");
  OutputFiles files;
  REQUIRE(!files.write((folder.path / "link").string(), "new"));
  REQUIRE(!files.write("/dev/null", "gone"));
  REQUIRE(!files.commit());
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(read(folder.path / "target") == "new");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(toString(files.write(folder.path.string(), "x")).find("it is a directory") !=
        std::string::npos);
  CHECK(toString(files.write((folder.path / "no" / "x").string(), "x")).find("cannot write") !=
        std::string::npos);
}
