// Weights in a file beside the library, from the compiler that writes them to the runtime that maps
// them.
#include "tcc/Driver/Driver.h"
#include "tcc/Verify/LoadedModel.h"
#include "llvm/Support/FileSystem.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace tcc;
using Catch::Matchers::Contains;

TEST_CASE("a model knows the weights that were written with it") {
  llvm::SmallString<128> folder;
  REQUIRE(!llvm::sys::fs::createUniqueDirectory("weight-file-test", folder));
  DriverOptions options;
  options.input = TCC_TEST_SAMPLES "/conv-bn-silu/conv-bn-silu.onnx";
  options.output = (folder + "/model.so").str();
  options.embedLimit = 0;
  auto summary = compile(options);
  INFO((summary ? "" : toString(summary.takeError())));
  REQUIRE(static_cast<bool>(summary));
  std::string weights = options.output + ".safetensors";
  auto open = [&](const std::string &named = "") {
    auto model = LoadedModel::open(options.output, named);
    return model ? std::string() : toString(model.takeError());
  };
  CHECK(open() == "");
  uint64_t size = std::filesystem::file_size(weights);
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(size - 1) << '\x7f';
  CHECK_THAT(open(), Contains("its content differs"));
  CHECK(open(weights) == ""); // named, it is somebody's decision
  std::filesystem::resize_file(weights, size - 1);
  CHECK_THAT(open(), Contains("cut short"));
  CHECK_THAT(open(weights), Contains("cut short"));
  llvm::sys::fs::remove_directories(folder);
}
