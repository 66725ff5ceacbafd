// Operators that read or write by index, on tensors small enough to check by hand.
#include "Fixture.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

TEST_CASE("take") {
  Tensor x = counting(DType::F32, {3, 4});
  checkIntegers(result("take", {x, i64({2}, {2, 0})}, "axis = 0 : i64", "tensor<2x4xf32>"),
                {8, 9, 10, 11, 0, 1, 2, 3});
  checkIntegers(result("take", {x, i64({2, 1}, {1, 3})}, "axis = 1 : i64", "tensor<3x2x1xf32>"),
                {1, 3, 5, 7, 9, 11});
  checkIntegers(result("take", {x, ints(DType::I32, {}, {1})}, "axis = 1 : i64", "tensor<3xf32>"),
                {1, 5, 9});
  // Out of range is clamped.
  checkIntegers(result("take", {i64({3}, {5, 6, 7}), i64({3}, {9, -4, 1})}, "axis = 0 : i64",
                       "tensor<3xi64>"),
                {7, 5, 6});
  CHECK(failure("take", {i64({0}, {}), i64({1}, {0})}, "axis = 0 : i64", "tensor<1xi64>")
            .find("without elements") != std::string::npos);
}

TEST_CASE("take_along") {
  Tensor x = counting(DType::I64, {2, 3});
  checkIntegers(
      result("take_along", {x, i64({2, 2}, {2, 0, 1, 9})}, "axis = 1 : i64", "tensor<2x2xi64>"),
      {2, 0, 4, 5});
  checkIntegers(
      result("take_along", {x, i64({1, 3}, {1, 0, 1})}, "axis = 0 : i64", "tensor<1x3xi64>"),
      {3, 1, 5});
}

TEST_CASE("gather_nd") {
  Tensor x = counting(DType::F32, {2, 3, 2});
  checkIntegers(result("gather_nd", {x, i64({2, 2}, {0, 1, 1, 2})}, "batch_dims = 0 : i64",
                       "tensor<2x2xf32>"),
                {2, 3, 10, 11});
  checkIntegers(
      result("gather_nd", {x, i64({2, 1}, {1, 0})}, "batch_dims = 1 : i64", "tensor<2x2xf32>"),
      {2, 3, 6, 7});
  checkIntegers(
      result("gather_nd", {x, i64({1, 3}, {1, 9, -1})}, "batch_dims = 0 : i64", "tensor<1xf32>"),
      {10});
}

TEST_CASE("scatter_along") {
  Tensor x = i64({2, 3}, {1, 2, 3, 4, 5, 6});
  auto scatter = [&](const std::string &kind, const Tensor &indices, const Tensor &updates,
                     int axis) {
    return result("scatter_along", {x, indices, updates},
                  "kind = #prim<scatter_kind " + kind + ">, axis = " + std::to_string(axis) +
                      " : i64");
  };
  checkIntegers(scatter("assign", i64({2, 2}, {0, 2, 1, 1}), i64({2, 2}, {10, 20, 30, 40}), 1),
                {10, 2, 20, 4, 40, 6});
  checkIntegers(scatter("add", i64({2, 2}, {0, 2, 1, 1}), i64({2, 2}, {10, 20, 30, 40}), 1),
                {11, 2, 23, 4, 75, 6});
  checkIntegers(scatter("mul", i64({1, 3}, {1, 1, 0}), i64({1, 3}, {10, 20, 30}), 0),
                {1, 2, 90, 40, 100, 6});
  checkIntegers(scatter("max", i64({1, 2}, {0, 0}), i64({1, 2}, {10, 20}), 1), {20, 2, 3, 4, 5, 6});
  checkIntegers(scatter("min", i64({1, 2}, {0, 9}), i64({1, 2}, {-1, 20}), 1),
                {-1, 2, 3, 4, 5, 6}); // writes past the end are dropped
  CHECK(failure("scatter_along", {x, i64({3, 1}, {0, 0, 0}), i64({3, 1}, {1, 1, 1})},
                "kind = #prim<scatter_kind add>, axis = 1 : i64", "tensor<2x3xi64>")
            .find("do not fit a tensor of shape [2, 3]") != std::string::npos);
}

TEST_CASE("scatter_nd") {
  Tensor x = f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto scatter = [&](const std::string &kind, const Tensor &indices, const Tensor &updates) {
    return result("scatter_nd", {x, indices, updates}, "kind = #prim<scatter_kind " + kind + ">");
  };
  checkReals(scatter("assign", i64({2, 1}, {3, 1}), f32({2, 2}, {10, 20, 30, 40})),
             {1, 2, 30, 40, 5, 6, 10, 20});
  checkReals(scatter("add", i64({3, 2}, {0, 1, 0, 1, 9, 0}), f32({3}, {10, 20, 30})),
             {1, 32, 3, 4, 5, 6, 7, 8});
  checkReals(scatter("max", i64({1, 2}, {0, 0}), f32({1}, {kNaN})), {kNaN, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("insert_slice") {
  Tensor x = counting(DType::I64, {3, 3});
  checkIntegers(result("insert_slice", {x, i64({2, 2}, {10, 11, 12, 13})},
                       "static_starts = array<i64: 0, 2>, steps = array<i64: 2, -1>"),
                {0, 11, 10, 3, 4, 5, 6, 13, 12});
  CHECK(failure("insert_slice", {x, i64({2, 2}, {10, 11, 12, 13})},
                "static_starts = array<i64: 2, 0>, steps = array<i64: 1, 1>", "tensor<3x3xi64>")
            .find("leaves a tensor of shape [3, 3]") != std::string::npos);
}

TEST_CASE("scatter_runs") {
  Tensor x = i64({3, 2}, {1, 2, 3, 4, 5, 6}),
         updates = i64({4, 2}, {10, 20, 30, 40, 50, 60, 70, 80});
  auto scatter = [&](const std::string &kind, const Tensor &begins) {
    return result("scatter_runs", {x, begins, updates}, "kind = #prim<scatter_kind " + kind + ">");
  };
  checkIntegers(scatter("add", i64({3}, {0, 2, 2})), {41, 62, 3, 4, 125, 146});
  checkIntegers(scatter("assign", i64({3}, {1, 4, 9})),
                {70, 80, 3, 4, 5, 6}); // what is before is nobody's
  checkIntegers(scatter("max", i64({3}, {-5, 1, 0})), {10, 20, 3, 4, 70, 80});
}

TEST_CASE("nonzero") {
  checkIntegers(result("nonzero", f32({2, 3}, {0, 1, kNaN, -0.0, 0, 2}), "", "tensor<2x?xi64>"),
                {0, 0, 1, 1, 2, 2});
  checkIntegers(result("nonzero", ints(DType::Bool, {}, {1}), "", "tensor<0x?xi64>"), {});
  checkShape(result("nonzero", i64({2, 0}, {}), "", "tensor<2x?xi64>"), {2, 0});
}
