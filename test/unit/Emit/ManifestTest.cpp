// The JSON is compared with manifest.json here, which test/integration/test_manifest.py validates
// against the schema. TCC_UPDATE_EXPECTED=1 rewrites it.
#include "tcc/Emit/Manifest.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <catch2/catch.hpp>
#include <fstream>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

static Manifest example() {
  Manifest m;
  m.toolVersion = "0.1.0";
  m.flags = {"--mode", "default"};
  m.inputFormat = "onnx";
  m.inputSha256 = std::string(64, 'a');
  m.triple = "x86_64-unknown-linux-gnu";
  m.cpu = "x86-64-v3";
  m.features = {"avx2", "fma"};
  m.symbols = {{"N", 1, 64}, {"", 0, std::nullopt}, {"S", 0, std::nullopt}};
  m.inputs = {{"x", DType::F32, {{"N", 3}}},
              {"y \"q\"", DType::I64, {{"N", "", "S"}}, true},
              {"scalar", DType::Bool, {}}};
  m.outputs = {{"out", DType::BF16, {{"N"}}}};
  m.kernels = {{"k0_conv", {"conv1", "relu\x01"}, "2*N*27", 1024, 1, "cpu", {}},
               {"k1", {}, 0, "4*N", 3, "cpu", {}}};
  m.memory.arenaBytes = 4096;
  m.memory.stateBytes = 64;
  m.memory.peakBytes = "4096 + 4*N";
  m.memory.dynamic = true;
  m.weightsFile = "m.safetensors";
  m.weights.add("w", DType::F32, {3, 3}, 36, 1, WeightRole::Parameter);
  m.weights.add("packed", DType::F16, {2}, 64);
  return m;
}

TEST_CASE("a manifest is written field by field") {
  std::string text = manifestJson(example());
  if (getenv("TCC_UPDATE_EXPECTED"))
    std::ofstream(TCC_TEST_SOURCE "/manifest.json") << text;
  auto golden = MemoryBuffer::getFile(TCC_TEST_SOURCE "/manifest.json");
  REQUIRE(golden);
  CHECK(text == (*golden)->getBuffer().str());
  CHECK(bool(json::parse(text)));
  CHECK(text == manifestJson(example()));
}

TEST_CASE("names that are not UTF-8 give valid JSON") {
  Manifest m = example();
  m.inputs[0].name = "bad\xff\xfe";
  CHECK(json::isUTF8(manifestJson(m)));
  CHECK(bool(json::parse(manifestJson(m))));
}

TEST_CASE("an empty manifest is a manifest") {
  auto json = json::parse(manifestJson({}));
  REQUIRE(bool(json));
  CHECK(json->getAsObject()->getArray("kernels")->empty());
  CHECK(json->getAsObject()->getObject("weights")->getString("placement") == StringRef("none"));
}
