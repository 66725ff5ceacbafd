// How far roundings alone move a result, and what they leave alone.
#include "Verify/Rounding.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Pipeline/Pipeline.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace tcc;
using reference::Tensor;

static Tensor reals(llvm::ArrayRef<double> values) {
  return Tensor::ofReals(DType::F32, {static_cast<int64_t>(values.size())}, values);
}

/// `body` on one input `%x` of four f32, with every rounding moved.
static std::vector<double> rounded(const std::string &body, llvm::ArrayRef<double> input,
                                   uint64_t seed) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + body + "\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  Model model;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  ReferenceRun run{{reals(input)}, {}, {}};
  return llvm::cantFail(roundedResults(function, *model.weights, run, seed))[0].reals();
}

static constexpr const char *kScale = R"(
  %c = prim.constant dense<3.0> : tensor<4xf32>
  %y = prim.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>)";

TEST_CASE("a rounded result moves by units in the last place, by seed") {
  std::vector<double> one = rounded(kScale, {0.1, 0.2, 0.3, 0.7}, 1);
  CHECK(one == rounded(kScale, {0.1, 0.2, 0.3, 0.7}, 1));
  CHECK(one != rounded(kScale, {0.1, 0.2, 0.3, 0.7}, 2));
  CHECK(std::abs(one[3] / 2.1 - 1) < 4e-7);
}

TEST_CASE("what is exact stays: whole numbers, and values that are only moved") {
  CHECK(rounded(kScale, {0, 1, -2, 1000}, 1) == std::vector<double>{0, 3, -6, 3000});
  std::vector<double> odd = reals({0.1, -0.2, 0.3, 0.7}).reals();
  CHECK(rounded(R"(
  %a = prim.reverse %x [0] : (tensor<4xf32>) -> tensor<4xf32>
  %b = prim.maximum %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = prim.reverse %b [0] : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>)",
                odd, 1) == odd);
}

TEST_CASE("distances") {
  double nan = std::numeric_limits<double>::quiet_NaN(), inf = INFINITY;
  Distance d = Distance::between(reals({1, 2, 3, 4}), reals({1, 2, 3, 6}));
  CHECK(d.largest == 2);
  CHECK(d.rootMeanSquare == 1);
  CHECK(d.finite);
  CHECK(Distance::between(reals({nan, inf}), reals({nan, inf})).largest == 0);
  CHECK_FALSE(Distance::between(reals({nan}), reals({1})).finite);
  CHECK_FALSE(Distance::between(reals({inf}), reals({-inf})).finite);
  CHECK(std::isinf(Distance::between(reals({1}), reals({1, 2})).largest));
  auto integer = [](int64_t v) { return Tensor::ofIntegers(DType::I64, {1}, {v}); };
  CHECK(Distance::between(integer(INT64_MAX), integer(INT64_MAX - 3)).largest == 3);
  CHECK(d.within(d, 1));
  CHECK_FALSE(d.within(Distance{1, 1, true}, 1.5));
  CHECK_FALSE(Distance{0, 0, false}.within(d, 4));
}
