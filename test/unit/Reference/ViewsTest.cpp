// Operators that move elements and compute none: wrong strides show as wrong order.
#include "Fixture.h"
#include "Reference/StridedCopy.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

TEST_CASE("constants of every kind of element") {
  auto constant = [](const std::string &value, const std::string &type) {
    return run("func.func @main() -> " + type + " {\n  %0 = prim.constant dense<" + value +
                   "> : " + type + "\n  return %0 : " + type + "\n}",
               {})
        .front();
  };
  checkReals(constant("[1.5, -2.0]", "tensor<2xf32>"), {1.5, -2});
  checkReals(constant("0.5", "tensor<2x2xbf16>"), {0.5, 0.5, 0.5, 0.5});
  checkReals(constant("[1.5, -448.0]", "tensor<2xf8E4M3FN>"), {1.5, -448});
  checkReals(constant("[1.5, -6.0]", "tensor<2xf4E2M1FN>"), {1.5, -6});
  checkIntegers(constant("[1, -8, 7]", "tensor<3xi4>"), {1, -8, 7});
  checkIntegers(constant("[1, 15]", "tensor<2xui4>"), {1, 15});
  checkIntegers(constant("[true, false, true]", "tensor<3xi1>"), {1, 0, 1});
  checkIntegers(constant("true", "tensor<10xi1>"), Integers(10, 1));
  checkIntegers(constant("-3", "tensor<4xi64>"), {-3, -3, -3, -3});
  checkIntegers(constant("5", "tensor<i16>"), {5});
  CHECK(constant("[(1.0, 2.0)]", "tensor<1xcomplex<f32>>").complex(0) ==
        std::complex<double>(1, 2));
  CHECK(constant("(1.0, 2.0)", "tensor<3xcomplex<f64>>").complex(2) == std::complex<double>(1, 2));
  CHECK(constant("", "tensor<0xf32>").elements() == 0);
}

TEST_CASE("iota, dim, from_elements, extract") {
  checkIntegers(result("iota", {}, "axis = 1 : i64", "tensor<2x3xi32>"), {0, 1, 2, 0, 1, 2});
  checkIntegers(result("iota", {}, "axis = 0 : i64", "tensor<2x3xui8>"), {0, 0, 0, 1, 1, 1});
  checkReals(result("iota", {}, "axis = 0 : i64", "tensor<3xf16>"), {0, 1, 2});
  auto outputs =
      run(R"(func.func @main(%n: index) -> (tensor<?x2xi64>, index, tensor<3xf32>, index) {
    %0 = prim.iota 0 sizes(%n) : tensor<?x2xi64>
    %d = prim.dim %0, 0 : tensor<?x2xi64>
    %f = arith.constant 2.5 : f32
    %t = arith.constant true
    %e = prim.from_elements %d, %f, %t : (index, f32, i1) -> tensor<3xf32>
    %x = prim.extract %e[1] : (tensor<3xf32>) -> index
    return %0, %d, %e, %x : tensor<?x2xi64>, index, tensor<3xf32>, index
  })",
          {Tensor::ofIndex(3)});
  checkIntegers(outputs[0], {0, 0, 1, 1, 2, 2});
  checkIntegers(outputs[1], {3});
  checkReals(outputs[2], {3, 2.5, 1});
  checkIntegers(outputs[3], {2});
}

TEST_CASE("reshape and transpose") {
  Tensor x = counting(DType::F32, {2, 3});
  Tensor y = result("reshape", x, "", "tensor<3x2xf32>");
  checkIntegers(y, {0, 1, 2, 3, 4, 5});
  CHECK(y.data() == x.data());
  checkIntegers(result("transpose", x, "permutation = array<i64: 1, 0>", "tensor<3x2xf32>"),
                {0, 3, 1, 4, 2, 5});
  checkIntegers(result("transpose", counting(DType::I8, {2, 3, 2}),
                       "permutation = array<i64: 2, 0, 1>", "tensor<2x2x3xi8>"),
                {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
  CHECK(errorOf(R"(func.func @main(%x: tensor<?xf32>, %n: index) -> tensor<?x2xf32> {
    %0 = prim.reshape %x sizes(%n) : (tensor<?xf32>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  })",
                {f32({5}, {1, 2, 3, 4, 5}), Tensor::ofIndex(2)})
            .find("cannot give shape [2, 2] to a tensor of shape [5]") != std::string::npos);
}

// Every permutation of a rank-4 tensor against index arithmetic, for each element width.
TEST_CASE("transposes of any order and width") {
  Shape shape = {3, 5, 37, 41};
  for (DType type : {DType::I8, DType::I16, DType::I32, DType::I64, DType::C128}) {
    Tensor x = counting(type, shape);
    std::vector<int64_t> order = {0, 1, 2, 3};
    do {
      Shape to;
      std::string text;
      for (int64_t axis : order) {
        to.push_back(shape[axis]);
        text += (text.empty() ? "" : ", ") + std::to_string(axis);
      }
      Tensor y =
          result("transpose", x, "permutation = array<i64: " + text + ">", typeText(type, to));
      Strides strides = stridesOf(shape);
      Integers have = y.integers(), all = x.integers();
      unsigned wrong = 0;
      int64_t position = 0;
      for (int64_t a = 0; a < to[0]; ++a)
        for (int64_t b = 0; b < to[1]; ++b)
          for (int64_t c = 0; c < to[2]; ++c)
            for (int64_t d = 0; d < to[3]; ++d)
              wrong += have[position++] != all[a * strides[order[0]] + b * strides[order[1]] +
                                               c * strides[order[2]] + d * strides[order[3]]];
      INFO(text);
      CHECK(wrong == 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("broadcast") {
  checkIntegers(
      result("broadcast", i64({2, 1}, {1, 2}), "axes = array<i64: 0, 2>", "tensor<2x2x3xi64>"),
      {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2});
  checkIntegers(result("broadcast", i64({}, {7}), "axes = array<i64>", "tensor<2x2xi64>"),
                {7, 7, 7, 7});
  std::string error = errorOf(R"(func.func @main(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
    %0 = prim.broadcast %x axes [0] sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })",
                              {f32({2}, {1, 2}), Tensor::ofIndex(3)});
  CHECK(error.find("cannot broadcast shape [2] to [3]") != std::string::npos);
}

TEST_CASE("slice") {
  Tensor x = counting(DType::I32, {4, 5});
  auto slice = [&](const std::string &starts, const std::string &steps, const Shape &shape) {
    return result("slice", x,
                  "static_starts = array<i64: " + starts + ">, steps = array<i64: " + steps +
                      ">, operandSegmentSizes = array<i32: 1, 0, 0>",
                  typeText(DType::I32, shape));
  };
  checkIntegers(slice("1, 2", "1, 1", {2, 3}), {7, 8, 9, 12, 13, 14});
  checkIntegers(slice("0, 0", "2, 3", {2, 2}), {0, 3, 10, 13});
  checkIntegers(slice("3, 4", "-1, -2", {2, 3}), {19, 17, 15, 14, 12, 10});
  CHECK(slice("9, 0", "1, 1", {0, 5}).elements() == 0);
  auto outputs = run(R"(func.func @main(%x: tensor<?xi64>, %s: index, %n: index) -> tensor<?xi64> {
    %0 = prim.slice %x starts [-9223372036854775808](%s) steps [1] sizes(%n) : (tensor<?xi64>) -> tensor<?xi64>
    return %0 : tensor<?xi64>
  })",
                     {i64({5}, {0, 1, 2, 3, 4}), Tensor::ofIndex(2), Tensor::ofIndex(3)});
  checkIntegers(outputs[0], {2, 3, 4});
}

TEST_CASE("a slice that leaves its tensor is an error") {
  const char *text = R"(func.func @main(%x: tensor<?xi64>, %s: index, %n: index) -> tensor<?xi64> {
    %0 = prim.slice %x starts [-9223372036854775808](%s) steps [2] sizes(%n) : (tensor<?xi64>) -> tensor<?xi64>
    return %0 : tensor<?xi64>
  })";
  Tensor x = i64({5}, {0, 1, 2, 3, 4});
  CHECK(errorOf(text, {x, Tensor::ofIndex(3), Tensor::ofIndex(2)})
            .find("takes 2 elements from 3 by 2 on axis 0 of a tensor of shape [5]") !=
        std::string::npos);
  CHECK(errorOf(text, {x, Tensor::ofIndex(-1), Tensor::ofIndex(2)}).find("takes 2 elements") !=
        std::string::npos);
  CHECK(errorOf(text, {x, Tensor::ofIndex(INT64_MAX), Tensor::ofIndex(2)}).find("takes") !=
        std::string::npos);
  CHECK(errorOf(text, {x, Tensor::ofIndex(0), Tensor::ofIndex(-2)})
            .find("a tensor cannot have shape [-2]") != std::string::npos);
}

TEST_CASE("pad") {
  Tensor x = i64({3}, {1, 2, 3}), value = i64({}, {9});
  auto pad = [&](int64_t low, int64_t interior, int64_t extent) {
    return result("pad", {x, value},
                  "static_low = array<i64: " + std::to_string(low) + ">, interior = array<i64: " +
                      std::to_string(interior) + ">, operandSegmentSizes = array<i32: 1, 1, 0, 0>",
                  typeText(DType::I64, {extent}));
  };
  checkIntegers(pad(2, 0, 6), {9, 9, 1, 2, 3, 9});
  checkIntegers(pad(0, 1, 5), {1, 9, 2, 9, 3});
  checkIntegers(pad(-1, 0, 2), {2, 3});
  checkIntegers(pad(-1, 1, 5), {9, 2, 9, 3, 9});
  checkIntegers(pad(-2, 1, 2), {2, 9});
  checkIntegers(pad(1, 0, 3), {9, 1, 2});
  checkIntegers(pad(-7, 0, 2), {9, 9});
  checkIntegers(pad(7, 0, 2), {9, 9});
  checkIntegers(result("pad", {counting(DType::I64, {2, 2}), value},
                       "static_low = array<i64: 1, 0>, interior = array<i64: 0, 0>, "
                       "operandSegmentSizes = array<i32: 1, 1, 0, 0>",
                       "tensor<3x3xi64>"),
                {9, 9, 9, 0, 1, 9, 2, 3, 9});
}

TEST_CASE("concat and reverse") {
  Tensor a = i64({2, 1}, {1, 2}), b = i64({2, 2}, {3, 4, 5, 6});
  checkIntegers(result("concat", {a, b}, "axis = 1 : i64", "tensor<2x3xi64>"), {1, 3, 4, 2, 5, 6});
  checkIntegers(result("concat", {b, b}, "axis = 0 : i64", "tensor<4x2xi64>"),
                {3, 4, 5, 6, 3, 4, 5, 6});
  checkIntegers(
      result("concat", {i64({0}, {}), i64({2}, {1, 2})}, "axis = 0 : i64", "tensor<2xi64>"),
      {1, 2});
  checkIntegers(result("reverse", b, "axes = array<i64: 0, 1>"), {6, 5, 4, 3});
  checkIntegers(result("reverse", b, "axes = array<i64: 1>"), {4, 3, 6, 5});
}
