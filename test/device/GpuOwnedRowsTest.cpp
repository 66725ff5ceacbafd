// Scatters of rows, of which each block finds its own, on the simulated device against the
// reference interpreter.
#include "KernelTexts.h"
#include <array>
#include <catch2/catch.hpp>
#include <tuple>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;

static bool findsOwn(const std::string &text) {
  codegen::device::Schedule s = scheduleOf(text);
  return s.getForm() == codegen::device::Form::Scatter && s.getRowThreads() && s.getRows();
}

TEST_CASE("scatters of rows, of which each block finds the updates") {
  for (const char *kind : {"add", "mul", "min"})
    for (auto [type, d] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}}) {
      // Of all rows; most of few, a part of a warp's look; all of one, which a sum is long for.
      for (auto [rows, updates, first, last] :
           {std::array{700, 2500, -9, 720}, {900, 1001, 880, 899}, {700, 990, 5, 5}}) {
        int64_t most = rows, count = updates;
        std::string text =
            scatterRows(kind, type, std::to_string(rows), std::to_string(updates), "24", "24");
        INFO(text);
        CHECK(findsOwn(text));
        check(text,
              {random(d, {most, 24}), indices({count, 1}, first, last), random(d, {count, 24})});
      }
    }
  // Rows that the updates are narrower than, that are longer than a warp's accesses, and of one
  // element; integers, whose order does not show.
  for (auto [type, d, rows, updates, columns, updated] :
       {std::tuple("f32", DType::F32, 400, 900, 50, 33),
        {"bf16", DType::BF16, 96, 300, 520, 520},
        {"f64", DType::F64, 20000, 16384 + 3620, 1, 1},
        {"i64", DType::I64, 300, 700, 65, 65}}) {
    std::string text = scatterRows("add", type, std::to_string(rows), std::to_string(updates),
                                   std::to_string(columns), std::to_string(updated));
    INFO(text);
    CHECK(findsOwn(text) == (updates <= 16384));
    check(text, {random(d, {rows, columns}, -9, 9), indices({updates, 1}, -3, rows + 3),
                 random(d, {updates, updated}, -9, 9)});
  }
  // Tuples.
  std::string y = tensor("20x40x32", "bf16"), v = tensor("1300x32", "bf16"),
              at = "tensor<1300x2xi64>";
  std::string tuples =
      function("%x: " + y + ", %i: " + at + ", %u: " + v, y,
               "%y = prim.scatter_nd add %x, %i, %u : (" + y + ", " + at + ", " + v + ") -> " + y);
  CHECK(findsOwn(tuples));
  check(tuples, {random(DType::BF16, {20, 40, 32}), indices({1300, 2}, -1, 20),
                 random(DType::BF16, {1300, 32})});
  // Of which only the last counts, and many of each row, are another's.
  CHECK(!findsOwn(scatterRows("assign", "f32", "700", "2500", "24", "24")));
  CHECK(!findsOwn(scatterRows("add", "f32", "900", "14500", "24", "24")));
}
