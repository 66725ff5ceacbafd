// Products of few results, whose sums blocks share.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Schedule;

TEST_CASE("few rows and few columns: blocks share a long sum") {
  using codegen::device::Form;
  for (const char *type : {"f32", "f64", "bf16", "i32"})
    for (auto [m, n, k] : {std::array{33, 1, 4001}, {5, 3, 12800}, {2, 30, 3203}}) {
      auto matrix = [&](int rows, int columns) {
        return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
      };
      std::string l = matrix(m, k), r = matrix(n, k), y = matrix(m, n);
      std::string text = function("%a: " + l + ", %b: " + r, y,
                                  "%y = prim.dot %a, %b batch [] x [] contract [1] x [1] : (" + l +
                                      ", " + r + ") -> " + y);
      INFO(text);
      Schedule schedule = scheduleOf(text);
      CHECK(schedule.getForm() == Form::Skinny);
      CHECK(schedule.getSplit() > 1);
      DType d = *parseDType(type);
      check(text, {random(d, {m, k}, -4, 4), random(d, {n, k}, -4, 4)});
    }
}

TEST_CASE(
    "open rows by warps over columns: a few of them a block, the last one again past their end") {
  for (const char *type : {"f32", "f64"})
    for (unsigned depth : {1u, 3u})
      for (int64_t rows : {0, 1, 5, 6}) {
        std::string l = std::string("tensor<?x260x") + type + ">",
                    r = std::string("tensor<19x260x") + type + ">",
                    y = std::string("tensor<?x19x") + type + ">";
        CAPTURE(type, depth, rows);
        DType d = *parseDType(type);
        checkAs(function("%a: " + l + ", %b: " + r, y,
                         "%y = prim.dot %a, %b batch [] x [] contract [1] x [1] : (" + l + ", " +
                             r + ") -> " + y),
                {random(d, {rows, 260}), random(d, {19, 260})}, codegen::device::Form::Product,
                [&](MLIRContext *context, Schedule) {
                  return Schedule::get(context, codegen::device::Form::Skinny, 64, 1, 1, 0, 0, 0, 2,
                                       depth, 0, 0, 1, 0, 64, 0);
                });
      }
}
