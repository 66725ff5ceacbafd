// Weights are made when somebody asks for their bytes, at most once, and told apart by what makes
// them.
#include "tcc/Support/WeightTable.h"
#include <catch2/catch.hpp>

using namespace tcc;

static Weight made(std::shared_ptr<int> calls) {
  auto make = [calls](uint64_t begin, uint64_t end, char *to) {
    ++*calls;
    for (uint64_t i = begin; i < end; ++i)
      *to++ = static_cast<char>(i);
  };
  return {DType::U8, {2, 3}, {}, nullptr, std::make_shared<WeightMaker>(WeightMaker{3, make})};
}

TEST_CASE("a weight is made when its bytes are asked for, once") {
  WeightTable table;
  auto calls = std::make_shared<int>(0);
  std::string name = table.add("w", made(calls));
  const Weight *described = table.describe(name);
  REQUIRE(described);
  CHECK(described->size() == 6);
  CHECK(described->bytes.empty());
  CHECK(*calls == 0);
  const Weight *weight = table.lookup(name);
  CHECK(table.lookup(name) == weight);
  CHECK(*calls == 1);
  CHECK(weight->bytes.equals({0, 1, 2, 3, 4, 5}));
  CHECK(!weight->maker);
}

TEST_CASE("weights that are made differently are different") {
  WeightTable table;
  auto calls = std::make_shared<int>(0);
  Weight first = made(calls);
  CHECK(table.add("w", first) == "w");
  CHECK(table.add("w", first) == "w");
  CHECK(table.add("w", made(calls)) == "w.1");
  CHECK(*calls == 0);
}
