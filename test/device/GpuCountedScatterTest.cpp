// Whole numbers that are added to few elements in shared memory, on the simulated device against
// the reference interpreter.
#include "KernelTexts.h"
#include <array>
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static bool counts(const std::string &text) {
  codegen::device::Schedule s = scheduleOf(text);
  return s.getForm() == codegen::device::Form::Scatter && s.getRowThreads() && s.getKept();
}

TEST_CASE("whole numbers are added up by each block") {
  for (auto [type, d] : {std::pair("i32", DType::I32), {"i64", DType::I64}})
    // One block has all updates; several share them.
    for (auto [rows, updates, width] :
         {std::array<int64_t, 3>{40, 60, 9}, {1, 700, 1}, {40, 2100, 9}, {300, 30000, 1}}) {
      std::string text = scatterRows("add", type, std::to_string(rows), std::to_string(updates),
                                     std::to_string(width), std::to_string(width));
      INFO(text);
      CHECK(counts(text));
      CHECK((scheduleOf(text).getScratchBytes() > 0) == (updates * width > 4096));
      check(text, {random(d, {rows, width}, -9, 9), indices({updates, 1}, -3, rows + 4),
                   random(d, {updates, width}, -9, 9)});
    }
  // Sums of 64 bits carry, and are negative.
  std::string large = scatterRows("add", "i64", "3", "900", "1", "1");
  check(large, {random(DType::I64, {3, 1}, -9, 9), indices({900, 1}, 0, 2),
                random(DType::I64, {900, 1}, -8e18, 8e18)});
  // Tuples, and lines that have indices of their own.
  std::string x = tensor("6x50x3", "i64"), u = tensor("2300x3", "i64"), i = "tensor<2300x2xi64>";
  std::string tuples =
      function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
               "%y = prim.scatter_nd add %x, %i, %u : (" + x + ", " + i + ", " + u + ") -> " + x);
  CHECK(counts(tuples));
  check(tuples, {random(DType::I64, {6, 50, 3}, -9, 9), indices({2300, 2}, 0, 6),
                 random(DType::I64, {2300, 3}, -9, 9)});
  std::string lines = tensor("5x90", "i32"), v = tensor("4x1300", "i32"), at = "tensor<4x1300xi64>";
  std::string along = function("%x: " + lines + ", %i: " + at + ", %u: " + v, lines,
                               "%y = prim.scatter_along add %x, %i, %u axis 1 : (" + lines + ", " +
                                   at + ", " + v + ") -> " + lines);
  CHECK(counts(along));
  check(along, {random(DType::I32, {5, 90}, -9, 9), indices({4, 1300}, -2, 91),
                random(DType::I32, {4, 1300}, -9, 9)});
  // Updates of a part of each row, of other kinds, and of many elements.
  CHECK(!counts(scatterRows("add", "i32", "40", "2100", "9", "7")));
  CHECK(!counts(scatterRows("max", "i32", "40", "2100", "9", "9")));
  CHECK(!counts(scatterRows("add", "i32", "9000", "20000", "1", "1")));
}

TEST_CASE("floats that count are added up as whole numbers") {
  for (const char *type : {"f32", "f64"})
    for (auto [bins, updates] : {std::pair<int64_t, int64_t>{100, 1000}, {10, 30000}}) {
      std::string n = std::to_string(updates), y = tensor(std::to_string(bins), type),
                  at = tensor(n, "i64"), is = tensor(n, "i1"), u = tensor(n, type);
      auto text = [&](const char *start) {
        return function("%i: " + at + ", %c: " + is, y,
                        std::string("%x = prim.constant dense<") + start + "> : " + y +
                            "\n%u = prim.cast %c : (" + is + ") -> " + u +
                            "\n%y = prim.scatter_along add %x, %i, %u axis 0 : (" + y + ", " + at +
                            ", " + u + ") -> " + y);
      };
      INFO(text("0.0"));
      CHECK(counts(text("0.0")));
      std::vector<int64_t> some;
      for (int64_t i = 0; i < updates; ++i)
        some.push_back(i % 7 > 2);
      check(text("0.0"),
            {indices({updates}, -2, bins + 1), Tensor::ofIntegers(DType::Bool, {updates}, some)});
      // What the sums begin with is rounded at every step.
      CHECK(!counts(text("0.1")));
    }
}
