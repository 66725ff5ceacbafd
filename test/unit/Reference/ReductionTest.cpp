// Reductions, cumulative ones and windows, with the special values, empty axes and lengths at
// which they differ between implementations.
#include "Fixture.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

static Tensor reduce(const std::string &kind, const Tensor &x, const std::string &axes,
                     const Shape &shape) {
  return result("reduce", x,
                "kind = #prim<reduce_kind " + kind + ">, axes = array<i64" +
                    (axes.empty() ? "" : ": " + axes) + ">",
                typeText(x.dtype(), shape));
}

TEST_CASE("reductions over any axes") {
  Tensor x = counting(DType::F32, {2, 3, 4});
  checkReals(reduce("sum", x, "2", {2, 3}), {6, 22, 38, 54, 70, 86});
  checkReals(reduce("sum", x, "1", {2, 4}), {12, 15, 18, 21, 48, 51, 54, 57});
  checkReals(reduce("sum", x, "0", {3, 4}), {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  checkReals(reduce("sum", x, "0, 2", {3}), {60, 92, 124});
  checkReals(reduce("sum", x, "0, 1, 2", {}), {276});
  checkReals(reduce("sum", x, "", {2, 3, 4}), x.reals());
  checkReals(reduce("max", x, "1, 2", {2}), {11, 23});
  checkReals(reduce("min", x, "0, 1", {4}), {0, 1, 2, 3});
  checkReals(reduce("prod", f32({4}, {1, 2, 3, 4}), "0", {}), {24});
}

TEST_CASE("reductions: special values and types") {
  checkReals(reduce("max", f32({3}, {1, kNaN, 2}), "0", {}), {kNaN});
  checkReals(reduce("min", f32({3}, {1, 2, kNaN}), "0", {}), {kNaN});
  checkIntegers(reduce("sum", ints(DType::I8, {3}, {100, 100, 1}), "0", {}), {-55});
  checkIntegers(reduce("max", ints(DType::U8, {3}, {1, 255, 3}), "0", {}), {255});
  checkIntegers(reduce("max", ints(DType::I4, {3}, {-8, -2, -3}), "0", {}), {-2});
  checkIntegers(reduce("any", ints(DType::Bool, {2, 2}, {0, 0, 1, 0}), "1", {2}), {0, 1});
  checkIntegers(reduce("all", ints(DType::Bool, {2, 2}, {1, 1, 1, 0}), "1", {2}), {1, 0});
  // 16-bit sums do not stick at 256 or 2048.
  checkReals(reduce("sum", reals(DType::BF16, {4096}, Reals(4096, 1)), "0", {}), {4096});
  checkReals(reduce("sum", reals(DType::F16, {8192}, Reals(8192, 1)), "0", {}), {8192});
  Tensor c = Tensor::ofComplex(DType::C64, {2}, {{1, 2}, {3, -1}});
  CHECK(reduce("sum", c, "0", {}).complex(0) == std::complex<double>(4, 1));
}

TEST_CASE("reductions of nothing") {
  const std::vector<std::pair<const char *, double>> rows = {
      {"sum", 0}, {"prod", 1}, {"max", -kInf}, {"min", kInf}};
  for (const auto &[kind, want] : rows)
    checkReals(reduce(kind, f32({2, 0}, {}), "1", {2}), {want, want});
  checkReals(reduce("max", reals(DType::F8E4M3FN, {0}, {}), "0", {}), {-448});
  checkIntegers(reduce("max", ints(DType::I8, {0}, {}), "0", {}), {-128});
  checkIntegers(reduce("min", ints(DType::U16, {0}, {}), "0", {}), {65535});
  checkIntegers(reduce("max", ints(DType::I4, {0}, {}), "0", {}), {-8});
  checkIntegers(reduce("any", ints(DType::Bool, {0}, {}), "0", {}), {0});
  checkIntegers(reduce("all", ints(DType::Bool, {0}, {}), "0", {}), {1});
}

TEST_CASE("long reductions") {
  Tensor x = counting(DType::F32, {3, 2000});
  checkReals(reduce("sum", x, "1", {3}), {1999000, 5999000, 9999000});
  checkReals(reduce("max", x, "1", {3}), {1999, 3999, 5999});
}

TEST_CASE("arg_reduce") {
  auto arg = [](const std::string &kind, const Tensor &x, int axis, bool last, const Shape &shape) {
    return result("arg_reduce", x,
                  "kind = #prim<reduce_kind " + kind + ">, axis = " + std::to_string(axis) +
                      " : i64" + (last ? ", last = true" : ""),
                  typeText(DType::I64, shape));
  };
  Tensor x = f32({2, 3}, {1, 3, 3, 2, 0, 0});
  checkIntegers(arg("max", x, 1, false, {2}), {1, 0});
  checkIntegers(arg("max", x, 1, true, {2}), {2, 0});
  checkIntegers(arg("min", x, 1, false, {2}), {0, 1});
  checkIntegers(arg("min", x, 1, true, {2}), {0, 2});
  checkIntegers(arg("max", x, 0, false, {3}), {1, 0, 0});
  Tensor nans = f32({4}, {1, kNaN, 5, kNaN});
  checkIntegers(arg("max", nans, 0, false, {}), {1});
  checkIntegers(arg("min", nans, 0, true, {}), {3});
  checkIntegers(arg("max", i64({2}, {INT64_MAX - 1, INT64_MAX}), 0, false, {}), {1});
}

TEST_CASE("cumulative") {
  auto scan = [](const std::string &kind, const Tensor &x, int axis, const std::string &more = "") {
    return result("cumulative", x,
                  "kind = #prim<reduce_kind " + kind + ">, axis = " + std::to_string(axis) +
                      " : i64" + more);
  };
  Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  checkReals(scan("sum", x, 1), {1, 3, 6, 4, 9, 15});
  checkReals(scan("sum", x, 0), {1, 2, 3, 5, 7, 9});
  checkReals(scan("sum", x, 1, ", exclusive = true"), {0, 1, 3, 0, 4, 9});
  checkReals(scan("sum", x, 1, ", reverse = true"), {6, 5, 3, 15, 11, 6});
  checkReals(scan("sum", x, 1, ", exclusive = true, reverse = true"), {5, 3, 0, 11, 6, 0});
  checkReals(scan("prod", x, 1), {1, 2, 6, 4, 20, 120});
  checkReals(scan("max", f32({4}, {1, 3, 2, kNaN}), 0), {1, 3, 3, kNaN});
  checkReals(scan("min", f32({3}, {3, 1, 2}), 0, ", exclusive = true"), {kInf, 3, 1});
  checkIntegers(scan("sum", ints(DType::I8, {3}, {100, 100, 100}), 0), {100, -56, 44});
}

TEST_CASE("pool") {
  auto pool = [](const std::string &kind, const Tensor &x, const std::string &window,
                 const std::string &strides, const std::string &dilations, const std::string &low,
                 const std::string &high, const Shape &shape, bool last = false) {
    return result("pool", x,
                  "kind = #prim<reduce_kind " + kind + ">, window = array<i64: " + window +
                      ">, strides = array<i64: " + strides +
                      ">, dilations = array<i64: " + dilations + ">, low = array<i64: " + low +
                      ">, high = array<i64: " + high + ">" + (last ? ", channels_last = true" : ""),
                  typeText(x.dtype(), shape));
  };
  Tensor x = counting(DType::F32, {1, 1, 4, 4});
  checkReals(pool("max", x, "2, 2", "2, 2", "1, 1", "0, 0", "0, 0", {1, 1, 2, 2}), {5, 7, 13, 15});
  checkReals(pool("sum", x, "2, 2", "2, 2", "1, 1", "1, 1", "1, 1", {1, 1, 3, 3}),
             {0, 3, 3, 12, 30, 18, 12, 27, 15});
  checkReals(pool("max", x, "2, 2", "1, 1", "2, 2", "0, 0", "0, 0", {1, 1, 2, 2}),
             {10, 11, 14, 15});
  // A result wider than the padding gives, as with ceil_mode: what lies beyond does not count.
  checkReals(pool("max", x, "3, 3", "2, 2", "1, 1", "0, 0", "0, 0", {1, 1, 2, 2}),
             {10, 11, 14, 15});
  checkReals(pool("min", f32({1, 1, 1}, {5}), "2", "1", "1", "2", "2", {1, 1, 4}),
             {kInf, 5, 5, kInf});
  Tensor last = f32({1, 4, 2}, {0, 10, 1, 11, 2, 12, 3, 13});
  checkReals(pool("max", last, "2", "2", "1", "0", "0", {1, 2, 2}, true), {1, 11, 3, 13});
  checkIntegers(
      pool("max", ints(DType::U8, {1, 1, 4}, {1, 200, 3, 4}), "2", "2", "1", "0", "0", {1, 1, 2}),
      {200, 4});
}
