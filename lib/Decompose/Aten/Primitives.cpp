//===- Primitives.cpp - torch's own primitive operators -------------------===//
//
// Decompositions of torch (those of forward-mode derivatives above all) go down to its `prims`.
// Those of single elements are ATen's operators of the same arguments and have their rules.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

LogicalResult choose(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value condition = a.cast(a.tensor("pred"), b.builder().getI1Type());
  return a.give(b.select(condition, a.number("a", a.own()), a.number("b", a.own())));
}

LogicalResult power(AtenNode &a) {
  return a.give(a.b.pow(a.number("self", a.own()), a.number("other", a.own())));
}

LogicalResult same(AtenNode &a) { return a.give(a.tensor("a")); }

struct Alias {
  StringRef primitive, aten;
};

constexpr StringLiteral kOfOne =
    "abs acos acosh asin asinh atan atanh bitwise_not ceil clone conj_physical cos cosh digamma "
    "erf "
    "erfc exp exp2 expm1 floor frexp imag isfinite lgamma log log10 log1p log2 neg real reciprocal "
    "round rsqrt sign signbit sin sinh sqrt tan tanh trunc";
constexpr StringLiteral kOfTwo =
    "atan2 fmax fmin gcd hypot igamma igammac maximum minimum nextafter";
constexpr StringLiteral kOfTensors =
    "add bitwise_and bitwise_or bitwise_xor div eq fmod ge gt le lt mul ne remainder sub";
constexpr Alias kOthers[] = {{"shift_left", "bitwise_left_shift.Tensor"},
                             {"shift_right_arithmetic", "bitwise_right_shift.Tensor"},
                             {"erf_inv", "erfinv.default"},
                             {"frexp", "frexp.Tensor"},
                             {"erfcx", "special_erfcx.default"},
                             {"ndtri", "special_ndtri.default"},
                             {"zeta", "special_zeta.default"},
                             {"bessel_i0", "i0.default"},
                             {"bessel_i0e", "special_i0e.default"},
                             {"bessel_i1", "special_i1.default"},
                             {"bessel_i1e", "special_i1e.default"},
                             {"bessel_j0", "special_bessel_j0.default"},
                             {"bessel_j1", "special_bessel_j1.default"},
                             {"spherical_bessel_j0", "special_spherical_bessel_j0.default"}};

} // namespace

void tcc::populatePrimitiveRules(RuleSet &rules) {
  auto alias = [&](StringRef primitive, const Twine &aten) {
    if (const Rule *rule = rules.lookup("aten", aten.str(), 0))
      rules.add("prims", (primitive + ".default").str(), *rule);
  };
  auto aliases = [&](StringRef names, StringRef overload) {
    SmallVector<StringRef> list;
    names.split(list, ' ');
    for (StringRef name : list)
      alias(name, name + "." + overload);
  };
  aliases(kOfOne, "default");
  aliases(kOfTwo, "default");
  aliases(kOfTensors, "Tensor");
  for (const Alias &other : kOthers)
    alias(other.primitive, other.aten);
  addRules(rules,
           {{"where", "default", "pred", choose},
            {"pow", "default", "", power},
            {"view_of", "default", "a", same}},
           "prims");
}
