// Order is a promise: stable, NaN last, along any axis.
#include "Fixture.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

static std::vector<Tensor> sort(const Tensor &x, int axis, bool descending) {
  return results("sort", x,
                 "axis = " + std::to_string(axis) +
                     " : i64, descending = " + (descending ? "true" : "false"),
                 typeText(x.dtype(), x.shape()) + ", " + typeText(DType::I64, x.shape()));
}

TEST_CASE("sort is stable, NaN is the largest") {
  auto up = sort(f32({6}, {3, kNaN, 1, 3, -kInf, 1}), 0, false);
  checkReals(up[0], {-kInf, 1, 1, 3, 3, kNaN});
  checkIntegers(up[1], {4, 2, 5, 0, 3, 1});
  auto down = sort(f32({6}, {3, kNaN, 1, 3, -kInf, 1}), 0, true);
  checkReals(down[0], {kNaN, 3, 3, 1, 1, -kInf});
  checkIntegers(down[1], {1, 0, 3, 2, 5, 4});
}

TEST_CASE("sort along any axis") {
  Tensor x = i64({2, 3}, {3, 1, 2, 0, 5, 4});
  checkIntegers(sort(x, 1, false)[0], {1, 2, 3, 0, 4, 5});
  checkIntegers(sort(x, 0, false)[0], {0, 1, 2, 3, 5, 4});
  checkIntegers(sort(x, 0, false)[1], {1, 0, 0, 0, 1, 1});
  checkIntegers(sort(ints(DType::U8, {3}, {200, 3, 100}), 0, false)[0], {3, 100, 200});
  checkIntegers(sort(ints(DType::I8, {3}, {-56, 3, 100}), 0, true)[0], {100, 3, -56});
  checkIntegers(sort(ints(DType::Bool, {3}, {1, 0, 1}), 0, false)[1], {1, 0, 2});
}

TEST_CASE("kth") {
  const char *text =
      R"(func.func @main(%x: tensor<2x4xf32>, %k: index) -> (tensor<2x1xf32>, tensor<2x1xi64>) {
    %v, %i = prim.kth %x k %k {descending = false} : (tensor<2x4xf32>, index) -> (tensor<2x1xf32>, tensor<2x1xi64>)
    return %v, %i : tensor<2x1xf32>, tensor<2x1xi64>
  })";
  Tensor x = f32({2, 4}, {1, 5, 5, 2, 4, 3, kNaN, 0});
  auto third = run(text, {x, Tensor::ofIndex(3)});
  checkReals(third[0], {5, kNaN});
  checkIntegers(third[1], {2, 2});
  checkIntegers(run(text, {x, Tensor::ofIndex(2)})[1], {1, 0});
  CHECK(errorOf(text, {x, Tensor::ofIndex(4)})
            .find("takes element 4 of the order of axis 1 of a tensor of shape [2, 4]") !=
        std::string::npos);
}

TEST_CASE("top_k") {
  auto topK = [](const Tensor &x, int axis, bool largest, const Shape &shape) {
    return results("top_k", x,
                   "axis = " + std::to_string(axis) +
                       " : i64, largest = " + (largest ? "true" : "false"),
                   typeText(x.dtype(), shape) + ", " + typeText(DType::I64, shape));
  };
  Tensor x = f32({2, 4}, {1, 5, 5, 2, 4, 3, kNaN, 0});
  auto top = topK(x, 1, true, {2, 2});
  checkReals(top[0], {5, 5, kNaN, 4});
  checkIntegers(top[1], {1, 2, 2, 0});
  auto bottom = topK(x, 1, false, {2, 3});
  checkReals(bottom[0], {1, 2, 5, 0, 3, 4});
  checkIntegers(bottom[1], {0, 3, 1, 3, 1, 0});
  checkIntegers(topK(i64({2, 2}, {1, 4, 3, 2}), 0, true, {1, 2})[0], {3, 4});
  const char *text =
      R"(func.func @main(%x: tensor<4xf32>, %k: index) -> (tensor<?xf32>, tensor<?xi64>) {
    %v, %i = prim.top_k %x k %k axis 0 {largest = true} : (tensor<4xf32>, index) -> (tensor<?xf32>, tensor<?xi64>)
    return %v, %i : tensor<?xf32>, tensor<?xi64>
  })";
  checkReals(run(text, {f32({4}, {1, 3, 2, 4}), Tensor::ofIndex(2)})[0], {4, 3});
  CHECK(errorOf(text, {f32({4}, {1, 3, 2, 4}), Tensor::ofIndex(5)})
            .find("takes 5 elements of axis 0 of a tensor of shape [4]") != std::string::npos);
}
