#include "tcc/Support/Json.h"
#include <catch2/catch.hpp>

using namespace tcc;
using Catch::Matchers::Contains;

static std::string faultOf(const std::string &text) {
  auto value = parseJson(text);
  return value ? "" : llvm::toString(value.takeError());
}

TEST_CASE("what is JSON is read") {
  CHECK(faultOf(R"({"a": [1, "]}\"[", {"a": null}], "b": {}})").empty());
  CHECK(faultOf(std::string(200, '[') + std::string(200, ']')).empty());
}

TEST_CASE("what would exhaust the stack or the memory is not") {
  CHECK_THAT(faultOf(std::string(3'000'000, '[')), Contains("nested more than 256 deep"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i)
    objects += "{\"a\":";
  CHECK_THAT(faultOf(objects), Contains("nested more than 256 deep"));
}

TEST_CASE("what is damaged is not") {
  for (const char *text : {"", "{", "[1,", "\"a", "{\"a\" 1}", "\"\xff\""})
    CHECK_THAT(faultOf(text), Contains("not valid JSON"));
  CHECK_THAT(faultOf(R"([{"a": 1, "b": 2, "a": 3}])"), Contains("has the key \"a\" twice"));
}
