// Scatters whose sums are those of integers, on the simulated device against the reference
// interpreter.
#include "KernelTexts.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

/// Elements of a line go to places of %x.
static std::string elementsOf(int64_t places, int64_t updates, const char *type = "f32") {
  std::string x = tensor(std::to_string(places), type), u = tensor(std::to_string(updates), type),
              i = tensor(std::to_string(updates), "i64");
  return function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                  "%y = prim.scatter_along add %x, %i, %u axis 0 : (" + x + ", " + i + ", " + u +
                      ") -> " + x);
}

/// Launches of all blocks that write scratch memory of more bits at once than a sort's numbers.
static bool isInFixedPoint(const std::string &text) {
  return ptxOf(text, *GpuArch::find("sm_90a")).find(".add.u64") != std::string::npos;
}

TEST_CASE("sums in fixed point: of elements, whatever their size", "[long]") {
  // Several sums of each place, one of each; numbers that are all subnormal, near the largest, or
  // tell each other's digits apart.
  for (auto [places, updates] : {std::pair<int64_t, int64_t>{5, 5000}, {900, 7000}})
    for (double size : {1e-44, 3e-39, 1e-20, 1.0, 1e30, 1e34}) {
      std::string text = elementsOf(places, updates);
      CHECK(isInFixedPoint(text));
      check(text, {random(DType::F32, {places}, -size, size), indices({updates}, -3, places + 2),
                   random(DType::F32, {updates}, -size, size)});
    }
  // All go to one place; a warp adds them up.
  check(elementsOf(5000, 6000),
        {random(DType::F32, {5000}), indices({6000}, 77, 77), random(DType::F32, {6000})});
  // What cancels out in one place leaves the digits of the others alone: both sums of each hold all
  // digits, and where these are too many each place has its own unit.
  for (float large : {0x1p60f, 3e37f}) {
    Tensor x = random(DType::F32, {40}, 0, 0), i = indices({4000}, 0, 0),
           u = random(DType::F32, {4000});
    auto *at = reinterpret_cast<int64_t *>(i.mutableData());
    auto *v = reinterpret_cast<float *>(u.mutableData());
    for (int64_t n = 0; n < 4000; ++n) {
      at[n] = n % 4 < 2 ? 7 : 10 + n % 30;
      if (n % 4 < 2)
        v[n] = n % 4 == 0 ? large : -large;
    }
    check(elementsOf(40, 4000), {x, i, u});
  }
  // Nothing but zeros.
  check(elementsOf(40, 4000),
        {random(DType::F32, {40}), indices({4000}, 0, 39), random(DType::F32, {4000}, 0, 0)});
}

TEST_CASE("sums in fixed point: of 16 bits") {
  for (auto [type, d] : {std::pair("bf16", DType::BF16), {"f16", DType::F16}}) {
    bool narrow = d == DType::F16;
    for (auto [places, updates] : {std::pair<int64_t, int64_t>{5, 3000}, {900, 7000}})
      for (double unit : {narrow ? 0x1p-24 : 0x1p-133, 1.0, narrow ? 64.0 : 0x1p100}) {
        std::string text = elementsOf(places, updates, type);
        CHECK(isInFixedPoint(text));
        check(text, {wholes(d, {places}, unit), indices({updates}, -3, places + 2),
                     wholes(d, {updates}, unit)});
      }
    // Numbers further apart than an element's sum has bits, each of which cancels out; infinities
    // and what is no number.
    for (double large : {narrow ? 0x1p15 : 0x1p90, double(INFINITY), double(NAN)}) {
      Tensor i = indices({4000}, 0, 0);
      auto *at = reinterpret_cast<int64_t *>(i.mutableData());
      Tensor some = wholes(d, {4000});
      std::vector<double> v(4000);
      for (int64_t n = 0; n < 4000; ++n) {
        at[n] = n % 4 < 2 ? 7 : 10 + n % 30;
        v[n] = n % 4 >= 2 ? some.real(n) : n % 4 == 0 ? large : -large;
      }
      check(elementsOf(40, 4000, type), {wholes(d, {40}, 0), i, Tensor::ofReals(d, {4000}, v)});
    }
  }
  // Short rows.
  std::string rows = scatterRows("add", "bf16", "700", "9000", "3", "3");
  CHECK(isInFixedPoint(rows));
  check(rows, {wholes(DType::BF16, {700, 3}), indices({9000, 1}, -9, 720),
               wholes(DType::BF16, {9000, 3})});
}

TEST_CASE("what updates are added to is made where it is one number") {
  for (auto [places, updates, width] : {std::array<int64_t, 3>{300, 5000, 24},
                                        {3000, 70, 24},
                                        {700, 9000, 3},
                                        {900, 12000, 40},
                                        {60, 40, 5}})
    for (const char *kind : {"assign", "add", "max"}) {
      std::string n = std::to_string(width), x = tensor(std::to_string(places) + "x" + n, "f32"),
                  u = tensor(std::to_string(updates) + "x" + n, "f32"),
                  i = tensor(std::to_string(updates) + "x1", "i64"),
                  all = tensor(std::to_string(updates) + "x" + n, "i64");
      std::string text =
          function("%i: " + i + ", %u: " + u, x,
                   "%x = prim.constant dense<0.5> : " + x +
                       "\n%0 = prim.broadcast %i axes [0, 1] sizes() : (" + i + ") -> " + all +
                       "\n%y = prim.scatter_along " + kind + " %x, %0, %u axis 0 : (" + x + ", " +
                       all + ", " + u + ") -> " + x);
      INFO(text);
      auto module = fused(text);
      int64_t launches = 0;
      module->walk([&](kernel::LaunchOp) { ++launches; });
      CHECK(launches == 1);
      check(text, {indices({updates, 1}, -3, places + 2), random(DType::F32, {updates, width})});
    }
  // Elements of lines, and tuples.
  std::string lines = tensor("40x500", "f32"), at = tensor("40x300", "i64"),
              u = tensor("40x300", "f32");
  for (const char *kind : {"assign", "add"})
    check(function("%i: " + at + ", %u: " + u, lines,
                   "%x = prim.constant dense<-1.0> : " + lines + "\n%y = prim.scatter_along " +
                       kind + " %x, %i, %u axis 1 : (" + lines + ", " + at + ", " + u + ") -> " +
                       lines),
          {indices({40, 300}, 0, 499), random(DType::F32, {40, 300})});
  std::string y = tensor("20x40x32", "bf16"), v = tensor("300x32", "bf16"),
              tuples = "tensor<300x2xi64>";
  check(function("%i: " + tuples + ", %u: " + v, y,
                 "%x = prim.constant dense<0.0> : " + y +
                     "\n%y = prim.scatter_nd assign %x, %i, %u : (" + y + ", " + tuples + ", " + v +
                     ") -> " + y),
        {indices({300, 2}, 0, 20), random(DType::BF16, {300, 32})});
}

TEST_CASE("few updates that crowd their places are not gone over one by one") {
  std::string text = elementsOf(100, 1000);
  CHECK(isInFixedPoint(text));
  check(text, {random(DType::F32, {100}), indices({1000}, -3, 102), random(DType::F32, {1000})});
  // Of a product the order shows: they are sorted.
  std::string products = scatterRows("mul", "f32", "10", "400", "20", "20");
  CHECK(scheduleOf(products).getScratchBytes() > 0);
  check(products, {random(DType::F32, {10, 20}), indices({400, 1}, -1, 11),
                   random(DType::F32, {400, 20}, 0.9, 1.1)});
  // Of as many places as updates a warp has few.
  CHECK(!isInFixedPoint(elementsOf(1000, 1000)));
}

TEST_CASE("sums in fixed point: of f64", "[long]") {
  // As above, and numbers whose lowest digits lie below all that an f64 can be.
  for (auto [places, updates] : {std::pair<int64_t, int64_t>{5, 5000}, {900, 7000}, {7, 40000}})
    for (double size : {1e-322, 4e-308, 1e-290, 1.0, 1e300, 1e303}) {
      std::string text = elementsOf(places, updates, "f64");
      CHECK(isInFixedPoint(text));
      check(text, {random(DType::F64, {places}, -size, size), indices({updates}, -3, places + 2),
                   random(DType::F64, {updates}, -size, size)});
    }
  check(elementsOf(5000, 6000, "f64"),
        {random(DType::F64, {5000}), indices({6000}, 77, 77), random(DType::F64, {6000})});
  for (double large : {0x1p60, 3e37, 1e307}) {
    Tensor x = random(DType::F64, {40}, 0, 0), i = indices({4000}, 0, 0),
           u = random(DType::F64, {4000});
    auto *at = reinterpret_cast<int64_t *>(i.mutableData());
    auto *v = reinterpret_cast<double *>(u.mutableData());
    for (int64_t n = 0; n < 4000; ++n) {
      at[n] = n % 4 < 2 ? 7 : 10 + n % 30;
      if (n % 4 < 2)
        v[n] = n % 4 == 0 ? large : -large;
    }
    check(elementsOf(40, 4000, "f64"), {x, i, u});
  }
  check(elementsOf(40, 4000, "f64"),
        {random(DType::F64, {40}), indices({4000}, 0, 39), random(DType::F64, {4000}, 0, 0)});
}

TEST_CASE("sums in fixed point: infinities and what is no number of f64") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Tensor x = random(DType::F64, {60}), i = indices({5000}, 20, 59), u = random(DType::F64, {5000});
  auto *own = reinterpret_cast<double *>(x.mutableData());
  own[30] = kInf;
  own[31] = -kInf;
  own[32] = NAN;
  auto *at = reinterpret_cast<int64_t *>(i.mutableData());
  auto *v = reinterpret_cast<double *>(u.mutableData());
  double special[] = {kInf, -kInf, NAN, 1e308};
  for (int64_t n = 0; n < 512; ++n) {
    int64_t place = n % 16, bit = n / 16 % 4;
    if (!(place >> bit & 1))
      continue;
    at[n * 9] = place;
    v[n * 9] = special[bit];
  }
  check(elementsOf(60, 5000, "f64"), {x, i, u});
}

TEST_CASE("sums in fixed point: infinities and what is no number") {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = NAN;
  Tensor x = random(DType::F32, {60}), i = indices({5000}, 20, 59), u = random(DType::F32, {5000});
  auto *own = reinterpret_cast<float *>(x.mutableData());
  own[30] = kInf;
  own[31] = -kInf;
  own[32] = kNan;
  auto *at = reinterpret_cast<int64_t *>(i.mutableData());
  auto *v = reinterpret_cast<float *>(u.mutableData());
  float special[] = {kInf, -kInf, kNan, 3e38f};
  for (int64_t n = 0; n < 512; ++n) { // places 0 to 15: which of four numbers they get
    int64_t place = n % 16, bit = n / 16 % 4;
    if (!(place >> bit & 1))
      continue;
    at[n * 9] = place;
    v[n * 9] = special[bit];
  }
  check(elementsOf(60, 5000), {x, i, u});
}

TEST_CASE("sums in fixed point: short rows, and tuples of indices") {
  std::string rows = scatterRows("add", "f32", "700", "9000", "3", "3");
  CHECK(isInFixedPoint(rows));
  check(rows,
        {random(DType::F32, {700, 3}), indices({9000, 1}, -9, 720), random(DType::F32, {9000, 3})});
  // Rows that updates have a part of are sorted.
  std::string parts = scatterRows("add", "f32", "700", "9000", "3", "2");
  CHECK(!isInFixedPoint(parts));
  check(parts,
        {random(DType::F32, {700, 3}), indices({9000, 1}, -9, 720), random(DType::F32, {9000, 2})});
  std::string x = "tensor<9x50x2xf32>", i = "tensor<800x2xi64>", u = "tensor<800x2xf32>";
  std::string tuples =
      function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
               "%y = prim.scatter_nd add %x, %i, %u : (" + x + ", " + i + ", " + u + ") -> " + x);
  CHECK(isInFixedPoint(tuples));
  check(tuples,
        {random(DType::F32, {9, 50, 2}), indices({800, 2}, 0, 9), random(DType::F32, {800, 2})});
}

TEST_CASE("sums in fixed point are assembled for every architecture", "[long]") {
  for (const GpuArch &arch : GpuArch::all())
    if (!arch.simulated)
      for (const char *type : {"f32", "f64"})
        checkAssembles(ptxOf(elementsOf(900, 7000, type), arch), arch);
}
