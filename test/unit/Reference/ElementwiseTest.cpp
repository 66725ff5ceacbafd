//===- ElementwiseTest.cpp - Operators of one value a point --------------===//
//
// The tables hold what NumPy and SciPy give, never what the interpreter once gave. Edge values
// have tests of their own: zeros with signs, infinities, NaN, the ends of integer ranges.
//
//===----------------------------------------------------------------------===//
#include "Fixture.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

namespace {

struct UnaryRow {
  const char *op;
  Reals x, want; // by NumPy and SciPy
};

const std::vector<UnaryRow> kUnary = {
    {"exp",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {0.0820849986238988, 0.6065306597126334, 1.0, 1.6487212707001282, 2.718281828459045,
      20.085536923187668}},
    {"exp2",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {0.1767766952966369, 0.7071067811865476, 1.0, 1.4142135623730951, 2.0, 8.0}},
    {"expm1",
     {-1e-09, 1e-09, -0.5, 0.5, 2.0},
     {-9.999999995e-10, 1.0000000005000001e-09, -0.3934693402873666, 0.6487212707001282,
      6.38905609893065}},
    {"log",
     {0.0, 0.001, 0.5, 1.0, 10.0, -1.0},
     {-kInf, -6.907755278982137, -0.6931471805599453, 0.0, 2.302585092994046, kNaN}},
    {"log2",
     {0.0, 0.001, 0.5, 1.0, 10.0, -1.0},
     {-kInf, -9.965784284662087, -1.0, 0.0, 3.321928094887362, kNaN}},
    {"log10",
     {0.0, 0.001, 0.5, 1.0, 10.0, -1.0},
     {-kInf, -3.0, -0.3010299956639812, 0.0, 1.0, kNaN}},
    {"log1p",
     {-1e-09, 1e-09, -0.5, 0.5, 2.0},
     {-1.0000000005000001e-09, 9.999999995e-10, -0.6931471805599453, 0.4054651081081644,
      1.0986122886681098}},
    {"sqrt",
     {0.0, 0.001, 0.5, 1.0, 10.0, -1.0},
     {0.0, 0.03162277660168379, 0.7071067811865476, 1.0, 3.1622776601683795, kNaN}},
    {"rsqrt",
     {0.0, 0.001, 0.5, 1.0, 10.0, -1.0},
     {kInf, 31.622776601683796, 1.414213562373095, 1.0, 0.31622776601683794, kNaN}},
    {"sin",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-0.5984721441039565, -0.479425538604203, -0.0, 0.479425538604203, 0.8414709848078965,
      0.1411200080598672}},
    {"cos",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-0.8011436155469337, 0.8775825618903728, 1.0, 0.8775825618903728, 0.5403023058681398,
      -0.9899924966004454}},
    {"tan",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {0.7470222972386603, -0.5463024898437905, -0.0, 0.5463024898437905, 1.5574077246549023,
      -0.1425465430742778}},
    {"asin",
     {-1.0, -0.75, 0.0, 0.25, 0.9, 1.5},
     {-1.5707963267948966, -0.848062078981481, 0.0, 0.25268025514207865, 1.1197695149986342, kNaN}},
    {"acos",
     {-1.0, -0.75, 0.0, 0.25, 0.9, 1.5},
     {3.141592653589793, 2.4188584057763776, 1.5707963267948966, 1.318116071652818,
      0.45102681179626236, kNaN}},
    {"atan",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-1.1902899496825317, -0.4636476090008061, -0.0, 0.4636476090008061, 0.7853981633974483,
      1.2490457723982544}},
    {"sinh",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-6.0502044810397875, -0.5210953054937474, -0.0, 0.5210953054937474, 1.1752011936438014,
      10.017874927409903}},
    {"cosh",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {6.132289479663686, 1.1276259652063807, 1.0, 1.1276259652063807, 1.5430806348152437,
      10.067661995777765}},
    {"tanh",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-0.9866142981514303, -0.46211715726000974, -0.0, 0.46211715726000974, 0.7615941559557649,
      0.9950547536867305}},
    {"asinh",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-1.6472311463710958, -0.48121182505960347, -0.0, 0.48121182505960347, 0.881373587019543,
      1.8184464592320668}},
    {"acosh", {1.0, 1.5, 20.0, 0.5}, {0.0, 0.9624236501192069, 3.6882538673612966, kNaN}},
    {"atanh",
     {-1.0, -0.75, 0.0, 0.25, 0.9, 1.5},
     {-kInf, -0.9729550745276566, 0.0, 0.25541281188299536, 1.4722194895832204, kNaN}},
    {"logistic",
     {-800.0, -2.5, 0.0, 0.5, 40.0, 800.0},
     {0.0, 0.07585818002124355, 0.5, 0.6224593312018546, 1.0, 1.0}},
    {"erf",
     {-2.5, -0.5, -0.0, 0.5, 1.0, 3.0},
     {-0.999593047982555, -0.5204998778130465, -0.0, 0.5204998778130465, 0.8427007929497148,
      0.9999779095030014}},
    {"erfc",
     {-2.5, 0.0, 0.5, 3.0, 10.0, 26.0},
     {1.999593047982555, 1.0, 0.4795001221869535, 2.2090496998585445e-05, 2.0884875837625446e-45,
      5.663192408856145e-296}},
    {"erfinv",
     {-1.0, -0.999999, -0.5, 0.0, 1e-10, 0.25, 0.9, 0.9999999999, 1.0, 1.5},
     {-kInf, -3.458910737275499, -0.4769362762044699, 0.0, 8.862269254527581e-11,
      0.2253120550121781, 1.1630871536766743, 4.572824958544925, kInf, kNaN}},
    {"lgamma",
     {0.5, 1.0, 2.0, 3.5, 10.0, -0.5, -1.5, 100.5, 0.0},
     {0.5723649429246986, -0.0, 0.0, 1.200973602347073, 12.80182748008147, 1.265512123484647,
      0.8600470153764823, 361.43554046777757, kInf}},
    {"digamma",
     {0.25, 1.0, 2.0, 3.5, 10.0, -0.5, -1.25, 100.5, -2.0, 0.001},
     {-4.2274535333762655, -0.5772156649015329, 0.42278433509846713, 1.103156640645243,
      2.251752589066721, 0.03648997397857651, 3.7141391202135283, 4.605174352581845, kNaN,
      -1000.5755719318103}},
    {"bessel_i0",
     {0.0, 0.5, -1.0, 3.75, 10.0, 39.0, 41.0, -200.0, 700.0},
     {1.0, 1.0634833707413234, 1.2660658777520082, 9.118945860844567, 2815.716628466254,
      5549742955314183.0, 3.998826282831435e+16, 2.039687173409724e+85, 1.5295933476718735e+302}},
    {"bessel_i1",
     {0.0, 0.5, -1.0, 3.75, 10.0, 39.0, 41.0, -200.0, 700.0},
     {0.0, 0.25789430539089636, -0.5651591039924851, 7.780015229824416, 2670.988303701255,
      5478124121309490.0, 3.949755210006231e+16, -2.0345815493320625e+85, 1.5285003902339006e+302}},
    {"floor", {-2.5, -0.5, 0.5, 2.0, kInf, kNaN}, {-3.0, -1.0, 0.0, 2.0, kInf, kNaN}},
    {"ceil", {-2.5, -0.5, 0.5, 2.0, -kInf, kNaN}, {-2.0, -0.0, 1.0, 2.0, -kInf, kNaN}},
    {"round",
     {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994},
     {-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 0.0}},
    {"trunc", {-2.7, -0.5, 0.5, 2.7}, {-2.0, -0.0, 0.0, 2.0}},
    {"neg", {-2.5, 0.0, 3.0, kInf}, {2.5, -0.0, -3.0, -kInf}},
    {"abs", {-2.5, -0.0, 3.0, -kInf, kNaN}, {2.5, 0.0, 3.0, kInf, kNaN}},
    {"sign", {-2.5, 0.0, 3.0, kInf, kNaN}, {-1.0, 0.0, 1.0, 1.0, kNaN}},
};

struct BinaryRow {
  const char *op;
  Reals lhs, rhs, want;
};

const std::vector<BinaryRow> kBinary = {
    {"add", {1.5, -2, kInf}, {2, 2, -kInf}, {3.5, 0, kNaN}},
    {"sub", {1.5, -2, kInf}, {2, 2, kInf}, {-0.5, -4, kNaN}},
    {"mul", {1.5, -2, 0}, {2, 2, kInf}, {3, -4, kNaN}},
    {"div", {1.5, -2, 0, 1}, {2, 0, 0, -4}, {0.75, -kInf, kNaN, -0.25}},
    {"floor_div",
     {7, -7, 7, -7, 1, -5, 5, 1},
     {2, 2, -2, -2, 0, kInf, kInf, kNaN},
     {3, -4, -4, 3, kInf, 0, 0, kNaN}},
    {"rem", {7, -7, 7, -7, 5.5, 1}, {3, 3, -3, -3, kInf, 0}, {1, -1, 1, -1, 5.5, kNaN}},
    {"mod", {7, -7, 7, -7, -5, 1}, {3, 3, -3, -3, kInf, 0}, {1, 2, -2, -1, kInf, kNaN}},
    {"pow", {2, 2, -8, 0, 0, -2}, {10, -1, 0.5, 0, -1, 3}, {1024, 0.5, kNaN, 1, kInf, -8}},
    {"atan2", {1, -1, 0}, {1, -1, -1}, {0.7853981633974483, -2.356194490192345, 3.141592653589793}},
    {"maximum", {1, kNaN, 2, -kInf}, {2, 1, kNaN, 0}, {2, kNaN, kNaN, 0}},
    {"minimum", {1, kNaN, 2, -kInf}, {2, 1, kNaN, 0}, {1, kNaN, kNaN, -kInf}},
    {"fmax", {1, kNaN, 2, kNaN}, {2, 1, kNaN, kNaN}, {2, 1, 2, kNaN}},
    {"fmin", {1, kNaN, 2, kNaN}, {2, 1, kNaN, kNaN}, {1, 1, 2, kNaN}},
    {"copysign", {1, -2, 0}, {-3, 0.0, -0.0}, {-1, 2, -0.0}},
};

struct IntegerRow {
  const char *op;
  DType type;
  Integers lhs, rhs, want;
};

const std::vector<IntegerRow> kInteger = {
    {"add", DType::I8, {127, -128, 5}, {1, -1, 6}, {-128, 127, 11}},
    {"add", DType::I4, {7, -8}, {1, -1}, {-8, 7}},
    {"add", DType::U4, {15, 8}, {1, 7}, {0, 15}},
    {"add", DType::I2, {1, -2}, {1, -1}, {-2, 1}},
    {"add", DType::U64, {-1}, {2}, {1}},
    {"add", DType::I64, {INT64_MAX}, {1}, {INT64_MIN}},
    {"add", DType::Bool, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1}},
    {"sub", DType::U8, {0, 200}, {1, 100}, {255, 100}},
    {"mul", DType::I32, {65536, -3}, {65536, 7}, {0, -21}},
    {"mul", DType::Bool, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}},
    {"div", DType::I32, {7, -7, 7, 5, INT32_MIN}, {2, 2, -2, 0, -1}, {3, -3, -3, 0, INT32_MIN}},
    {"div", DType::I64, {INT64_MIN}, {-1}, {INT64_MIN}},
    {"div", DType::U64, {-1, 9}, {2, 0}, {INT64_MAX, 0}},
    {"floor_div", DType::I32, {7, -7, 7, -7, 5, 6}, {2, 2, -2, -2, 0, -3}, {3, -4, -4, 3, 0, -2}},
    {"gcd", DType::I8, {12, -12, 0, 0, -128, -128}, {18, 18, -7, 0, 0, 12}, {6, 6, 7, 0, -128, 4}},
    {"gcd", DType::U8, {200, 255}, {80, 0}, {40, 255}},
    {"rem", DType::I32, {7, -7, 7, 5, INT32_MIN}, {3, 3, -3, 0, -1}, {1, -1, 1, 0, 0}},
    {"mod", DType::I32, {7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}, {1, 2, -2, -1, 0}},
    {"mod", DType::U8, {250, 5}, {7, 0}, {5, 0}},
    {"pow",
     DType::I32,
     {2, 3, 1, -1, 0, 2, -1},
     {10, 0, -5, -3, -1, -1, -4},
     {1024, 1, 1, -1, 0, 0, 1}},
    {"pow", DType::U8, {3, 2}, {6, 8}, {217, 0}},
    {"maximum", DType::I8, {-1, 5}, {1, 4}, {1, 5}},
    {"maximum", DType::U8, {255, 5}, {1, 6}, {255, 6}},
    {"minimum", DType::U64, {-1, 5}, {1, 6}, {1, 5}},
    {"minimum", DType::Bool, {1, 1}, {0, 1}, {0, 1}},
    {"and", DType::I16, {12, -1}, {10, 255}, {8, 255}},
    {"or", DType::U8, {12, 240}, {10, 15}, {14, 255}},
    {"xor", DType::Bool, {0, 1, 1}, {1, 1, 0}, {1, 0, 1}},
    {"shift_left", DType::I8, {1, 1, 1, 3}, {7, 8, 64, 6}, {-128, 0, 0, -64}},
    {"shift_left", DType::U32, {1, 1}, {31, 32}, {2147483648, 0}},
    {"shift_right", DType::I8, {-128, -1, 127, -5}, {3, 100, 8, 1}, {-16, -1, 0, -3}},
    {"shift_right", DType::U8, {128, 255, 255}, {3, 7, 8}, {16, 1, 0}},
    {"shift_right", DType::U64, {-1}, {63}, {1}},
};

} // namespace

TEST_CASE("unary functions of f64 and narrower floats") {
  for (const UnaryRow &row : kUnary) {
    INFO(row.op);
    auto count = static_cast<int64_t>(row.x.size());
    checkReals(result(row.op, reals(DType::F64, {count}, row.x)), row.want, 1e-14);
    // Where the argument is exact in the narrow type, the result is the double one, rounded once.
    for (DType type : {DType::F32, DType::F16, DType::BF16}) {
      Tensor x = reals(type, {count}, row.x);
      Tensor wide = result(row.op, reals(DType::F64, {count}, x.reals()));
      checkReals(result(row.op, x), reals(type, {count}, wide.reals()).reals());
    }
  }
}

TEST_CASE("binary functions of floats") {
  for (const BinaryRow &row : kBinary) {
    INFO(row.op);
    auto count = static_cast<int64_t>(row.lhs.size());
    for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
      double tolerance = type == DType::F64   ? 1e-15
                         : type == DType::F32 ? 1e-7
                         : type == DType::F16 ? 1e-3
                                              : 1e-2;
      Tensor have = result(row.op, {reals(type, {count}, row.lhs), reals(type, {count}, row.rhs)});
      checkReals(have, row.want, tolerance);
    }
  }
}

TEST_CASE("floor_div rounds the quotient first") {
  // 0.1f is a little more than a tenth, but 1 / 0.1f rounds to 10.
  checkReals(result("floor_div", {f32({1}, {1}), f32({1}, {0.1f})}), {10});
  checkReals(result("floor_div", {reals(DType::F64, {1}, {1}), reals(DType::F64, {1}, {0.1f})}),
             {9});
}

TEST_CASE("signed zeros survive") {
  CHECK(std::signbit(result("neg", f32({1}, {0})).real(0)));
  CHECK(std::signbit(result("ceil", f32({1}, {-0.5})).real(0)));
  CHECK(std::signbit(result("sign", f32({1}, {-0.0})).real(0)));
  CHECK(!std::signbit(result("abs", f32({1}, {-0.0})).real(0)));
}

TEST_CASE("integer arithmetic wraps at the width") {
  for (const IntegerRow &row : kInteger) {
    INFO(row.op << " " << dtypeName(row.type).str());
    auto count = static_cast<int64_t>(row.lhs.size());
    checkIntegers(
        result(row.op, {ints(row.type, {count}, row.lhs), ints(row.type, {count}, row.rhs)}),
        row.want);
  }
}

TEST_CASE("unary integer operators") {
  struct Row {
    const char *op;
    DType type;
    Integers x, want;
  };
  const std::vector<Row> rows = {
      {"neg", DType::I8, {-128, 5}, {-128, -5}},
      {"neg", DType::U8, {1, 0}, {255, 0}},
      {"abs", DType::I8, {-128, -5, 5}, {-128, 5, 5}},
      {"abs", DType::I64, {INT64_MIN, -5}, {INT64_MIN, 5}},
      {"abs", DType::U8, {200}, {200}},
      {"sign", DType::I32, {-7, 0, 9}, {-1, 0, 1}},
      {"sign", DType::U32, {0, 9}, {0, 1}},
      {"not", DType::I8, {0, -1, 5}, {-1, 0, -6}},
      {"not", DType::U4, {0, 5}, {15, 10}},
      {"not", DType::U64, {0}, {-1}},
      {"not", DType::Bool, {0, 1}, {1, 0}},
  };
  for (const Row &row : rows) {
    INFO(row.op << " " << dtypeName(row.type).str());
    auto count = static_cast<int64_t>(row.x.size());
    checkIntegers(result(row.op, ints(row.type, {count}, row.x)), row.want);
  }
}

TEST_CASE("predicates") {
  Tensor x = f32({5}, {1, kNaN, kInf, -kInf, 0});
  checkIntegers(result("is_nan", x, "", "tensor<5xi1>"), {0, 1, 0, 0, 0});
  checkIntegers(result("is_inf", x, "", "tensor<5xi1>"), {0, 0, 1, 1, 0});
  checkIntegers(result("is_finite", x, "", "tensor<5xi1>"), {1, 0, 0, 0, 1});
}

TEST_CASE("nextafter counts in the type's own steps") {
  auto next = [](DType type, double from, double to) {
    return result("nextafter", {reals(type, {1}, {from}), reals(type, {1}, {to})}).real(0);
  };
  CHECK(next(DType::F64, 1, 2) == std::nextafter(1.0, 2.0));
  CHECK(next(DType::F32, 1, 2) == std::nextafterf(1, 2));
  CHECK(next(DType::F32, -1, 2) == std::nextafterf(-1, 2));
  CHECK(next(DType::F32, 0, -1) == -0x1p-149);
  CHECK(next(DType::F16, 1, 0) == 1 - 0x1p-11);
  CHECK(next(DType::F16, 65504, kInf) == kInf);
  CHECK(next(DType::BF16, 1, 2) == 1 + 0x1p-7);
  CHECK(next(DType::F8E4M3FN, 1, 2) == 1.125);
  CHECK(next(DType::F8E4M3FNUZ, -0x1p-10, 1) == 0);
  CHECK(next(DType::F8E8M0FNU, 1, 8) == 2);
  CHECK(std::isnan(next(DType::F32, kNaN, 1)));
  CHECK(next(DType::F32, 3, 3) == 3);
}

TEST_CASE("complex arithmetic and functions") {
  using C = std::complex<double>;
  Tensor a = Tensor::ofComplex(DType::C128, {2}, {C(1, 2), C(-0.5, 0.25)});
  Tensor b = Tensor::ofComplex(DType::C128, {2}, {C(3, -1), C(2, 1)});
  auto check = [](const Tensor &have, std::vector<C> want) {
    for (size_t i = 0; i < want.size(); ++i) {
      INFO(have.complex(i).real() << " " << have.complex(i).imag());
      CHECK(std::abs(have.complex(i) - want[i]) < 1e-14 * std::max(1.0, std::abs(want[i])));
    }
  };
  check(result("add", {a, b}), {C(4, 1), C(1.5, 1.25)});
  check(result("mul", {a, b}), {C(5, 5), C(-1.25, 0)});
  check(result("div", {a, b}), {C(0.1, 0.7), C(-0.15, 0.2)});
  check(result("neg", a), {C(-1, -2), C(0.5, -0.25)});
  check(result("exp", a), {std::exp(C(1, 2)), std::exp(C(-0.5, 0.25))});
  check(result("exp2", a), {std::pow(2.0, C(1, 2)), std::pow(2.0, C(-0.5, 0.25))});
  check(result("expm1", a), {std::exp(C(1, 2)) - 1.0, std::exp(C(-0.5, 0.25)) - 1.0});
  check(result("log1p", a), {std::log(C(2, 2)), std::log(C(0.5, 0.25))});
  check(result("log2", a),
        {std::log(C(1, 2)) / std::log(2.0), std::log(C(-0.5, 0.25)) / std::log(2.0)});
  check(result("sqrt", a), {std::sqrt(C(1, 2)), std::sqrt(C(-0.5, 0.25))});
  check(result("rsqrt", a), {1.0 / std::sqrt(C(1, 2)), 1.0 / std::sqrt(C(-0.5, 0.25))});
  check(result("pow", {a, b}), {std::pow(C(1, 2), C(3, -1)), std::pow(C(-0.5, 0.25), C(2, 1))});
  check(result("logistic", a),
        {1.0 / (1.0 + std::exp(C(-1, -2))), 1.0 / (1.0 + std::exp(C(0.5, -0.25)))});
  check(result("pow", {Tensor::ofComplex(DType::C64, {2}, {C(0), C(0)}),
                       Tensor::ofComplex(DType::C64, {2}, {C(0), C(2)})}),
        {C(1), C(0)});
}

TEST_CASE("elementwise over more than one run and over nothing") {
  Tensor x = counting(DType::F32, {3, 1000});
  Reals want = x.reals();
  for (double &value : want)
    value *= 2;
  checkReals(result("add", {x, x}), want);
  CHECK(result("add", {f32({0, 3}, {}), f32({0, 3}, {})}).elements() == 0);
  checkReals(result("exp", f32({}, {0})), {1});
}

TEST_CASE("shapes that differ at run time are named") {
  std::string error = errorOf(
      "func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = \"prim.add\"(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc(\"sum\")\n"
      "  return %0 : tensor<?xf32>\n}",
      {f32({2}, {1, 2}), f32({3}, {1, 2, 3})});
  CHECK(error == "prim.add at loc(\"sum\"): operands have shapes [2] and [3]");
}
