// When two tensors are the same decides what --verify acquits.
#include "tcc/Verify/Agreement.h"
#include <catch2/catch.hpp>
#include <limits>

using namespace tcc;
using reference::Tensor;

static Tensor reals(DType type, llvm::ArrayRef<double> values) {
  return Tensor::ofReals(type, {static_cast<int64_t>(values.size())}, values);
}

TEST_CASE("floats agree within their precision") {
  CHECK(compare(reals(DType::F32, {1, 2}), reals(DType::F32, {1.0005, 2})).agrees);
  CHECK_FALSE(compare(reals(DType::F32, {1, 2}), reals(DType::F32, {1.01, 2})).agrees);
  CHECK(compare(reals(DType::BF16, {1, 2}), reals(DType::BF16, {1.01, 2})).agrees);
  CHECK_FALSE(compare(reals(DType::F64, {1, 2}), reals(DType::F64, {1.0005, 2})).agrees);
}

TEST_CASE("values that were rounded on the way may be further apart") {
  std::vector<double> values(1000, 1), near = values, far = values;
  near[7] = 1.3; // one element far out
  for (double &v : far)
    v = 1.1; // all of them
  Tensor want = reals(DType::F32, values), got = reals(DType::F32, near);
  CHECK_FALSE(compare(got, want).agrees);
  CHECK_FALSE(compare(got, want, Allowance::ofTf32()).agrees);
  CHECK_FALSE(compare(got, want, Allowance::between(DType::F16)).agrees);
  CHECK(compare(got, want, Allowance::between(DType::BF16)).agrees);
  CHECK(
      compare(reals(DType::F32, {1, 1e-3}), reals(DType::F32, {1, 0}), Allowance::ofTf32()).agrees);
  Agreement together = compare(reals(DType::F32, far), want, Allowance::between(DType::BF16));
  CHECK_FALSE(together.agrees);
  CHECK(together.worst == "[0]: 1.1 instead of 1");
  // The type of the result may allow more.
  CHECK(compare(reals(DType::BF16, {1, 2}), reals(DType::BF16, {1.01, 2}), Allowance::ofTf32())
            .agrees);
}

TEST_CASE("what is not finite agrees with its like only") {
  double nan = std::numeric_limits<double>::quiet_NaN(),
         inf = std::numeric_limits<double>::infinity();
  CHECK(compare(reals(DType::F32, {nan, inf}), reals(DType::F32, {nan, inf})).agrees);
  CHECK_FALSE(compare(reals(DType::F32, {nan}), reals(DType::F32, {1})).agrees);
  CHECK_FALSE(compare(reals(DType::F32, {inf}), reals(DType::F32, {-inf})).agrees);
  CHECK_FALSE(compare(reals(DType::F32, {1}), reals(DType::F32, {inf})).agrees);
}

TEST_CASE("integers are equal, bytes at most one apart") {
  auto integers = [](DType type, int64_t v) { return Tensor::ofIntegers(type, {1}, {v}); };
  CHECK_FALSE(compare(integers(DType::I64, 4), integers(DType::I64, 5)).agrees);
  CHECK(compare(integers(DType::I8, 4), integers(DType::I8, 5)).agrees);
  CHECK_FALSE(compare(integers(DType::U8, 4), integers(DType::U8, 6)).agrees);
  CHECK_FALSE(compare(integers(DType::Bool, 0), integers(DType::Bool, 1)).agrees);
}

TEST_CASE("integers that are one number as floats are two") {
  auto integers = [](DType type, int64_t v) { return Tensor::ofIntegers(type, {1}, {v}); };
  Agreement agreement =
      compare(integers(DType::I64, INT64_MAX), integers(DType::I64, INT64_MAX - 1));
  CHECK_FALSE(agreement.agrees);
  CHECK(agreement.maxAbsolute == 1);
  CHECK(agreement.worst == "[0]: 9223372036854775807 instead of 9223372036854775806");
  agreement = compare(integers(DType::U64, -1), integers(DType::U64, 0));
  CHECK(agreement.worst == "[0]: 18446744073709551615 instead of 0");
}

TEST_CASE("the worst element is named") {
  Tensor want = Tensor::ofReals(DType::F32, {2, 2}, {1, 2, 3, 4});
  Tensor got = Tensor::ofReals(DType::F32, {2, 2}, {1, 2, 9, 5});
  Agreement agreement = compare(got, want);
  CHECK(agreement.worst == "[1, 0]: 9 instead of 3");
  CHECK(agreement.maxAbsolute == 6);
  CHECK_FALSE(compare(reals(DType::F32, {1}), want).agrees);
}
