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
