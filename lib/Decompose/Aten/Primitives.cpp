//===- Primitives.cpp - torch's own primitive operators -------------------===//
//
// Decompositions of torch (those of forward-mode derivatives, and whoever runs its whole table) go
// down to its `prims`. Most are ATen's operators under another name, or with other names for their
// arguments, and have their rules; the others are below.
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

/// Axis i of `a` becomes axis `broadcast_dimensions[i]`; an extent of 1 is repeated.
LogicalResult broadcastInDim(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("a");
  auto shape = a.extents("shape");
  auto axes = a.integers("broadcast_dimensions");
  if (!shape || !axes || static_cast<int64_t>(axes->size()) != b.rank(x))
    return a.fail("needs a shape and a place in it for each axis");
  int64_t last = -1;
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    if (axis <= last || axis >= static_cast<int64_t>(shape->size()))
      return a.fail("the places of the axes do not rise within the shape");
    if (!b.broadcastable(b.dim(x, i), (*shape)[axis]))
      return a.fail("an extent does not fit the shape");
    last = axis;
  }
  // The axes that lie between are of extent 1, so that all others line up.
  SmallVector<int64_t> between;
  for (int64_t axis = 0, end = shape->size(); axis < end; ++axis)
    if (!llvm::is_contained(*axes, axis))
      between.push_back(axis);
  return a.give(b.broadcastTo(b.unsqueeze(x, between), *shape));
}

/// Axis `dim` as two, of which the outer one has `outer_length`.
LogicalResult splitDim(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("a");
  auto axis = a.axis("dim", 0, b.rank(x));
  auto outer = a.extent("outer_length");
  if (failed(axis) || !outer || b.rank(x) == 0)
    return a.fail("needs an axis and an extent");
  auto whole = b.known(b.dim(x, *axis)), parts = b.known(*outer);
  if (parts && (*parts <= 0 || (whole && *whole % *parts != 0)))
    return a.fail("the extent is no multiple of outer_length");
  Dim inner = b.floorDivDims(b.dim(x, *axis), *outer);
  b.check(b.compareDims(arith::CmpIPredicate::eq, b.mulDims(inner, *outer), b.dim(x, *axis)),
          "split_dim: the extent is no multiple of outer_length");
  Dims want = b.dims(x);
  want[*axis] = *outer;
  want.insert(want.begin() + *axis + 1, inner);
  return a.give(b.reshape(x, want));
}

/// start, start + step, ..: `length` integers.
LogicalResult iota(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto length = a.extent("length"), start = a.extent("start"), step = a.extent("step");
  if (!length || !start || !step)
    return a.fail("needs a length, a start and a step");
  if (b.known(*length).value_or(0) < 0)
    return a.fail("the length is negative");
  Value places = b.mul(b.iota({*length}, 0, a.own()), a.extentTensor(*step, a.own()));
  return a.give(b.add(places, a.extentTensor(*start, a.own())));
}

struct Alias {
  StringRef primitive, aten, names = {};
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
constexpr Alias kOthers[] = {
    {"shift_left", "bitwise_left_shift.Tensor"},
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
    {"spherical_bessel_j0", "special_spherical_bessel_j0.default"},
    {"cat", "cat.default"},
    {"fill", "fill.Scalar"},
    {"scalar_tensor", "scalar_tensor.default"},
    {"as_strided_scatter", "as_strided_scatter.default"},
    {"svd", "linalg_svd.default"},
    {"fft_c2c", "_fft_c2c.default"},
    {"fft_r2c", "_fft_r2c.default"},
    {"fft_c2r", "_fft_c2r.default"},
    {"as_strided", "as_strided.default", "a=self"},
    {"conj", "conj.default", "a=self"},
    {"copy_strided", "clone.default", "a=self"},
    {"device_put", "clone.default", "a=self"},
    {"view_of", "alias.default", "a=self"},
    {"view_of_dtype", "view.dtype", "a=self"},
    {"reshape", "reshape.default", "a=self"},
    {"rev", "flip.default", "a=self"},
    {"squeeze", "squeeze.dims", "a=self dimensions=dim"},
    {"transpose", "permute.default", "a=self permutation=dims"},
    {"collapse", "flatten.using_ints", "a=self start=start_dim end=end_dim"},
    {"collapse_view", "flatten.using_ints", "a=self start=start_dim end=end_dim"},
    {"empty", "empty.memory_format", "shape=size"},
    {"empty_strided", "empty_strided.default", "shape=size"},
    {"empty_permuted", "empty_permuted.default", "shape=size"},
    {"full", "full.default", "shape=size"},
    {"full_like", "full_like.default", "a=self"},
    {"item", "item.default", "a=self"},
    {"normal", "normal.float_float", "shape=size"},
    {"uniform", "rand.default", "shape=size low=from high=to"},
    {"sum", "sum.dim_IntList", "inp=self dims=dim"},
    {"prod", "prod.dim_int", "inp=self dims=dim"},
    {"amax", "amax.default", "inp=self dims=dim"},
    {"amin", "amin.default", "inp=self dims=dim"},
    {"var", "var.correction", "inp=self dims=dim"}};

/// The rule of an operator whose arguments have other names: `names` lists those that differ, as
/// "its=theirs", separated by blanks.
Rule renamed(const Rule &rule, StringRef names) {
  SmallVector<StringRef> pairs;
  names.split(pairs, ' ');
  return [rule, pairs](NodeContext &c) {
    DictionaryAttr before = c.node.getAttrsAttr();
    if (!before)
      return rule(c);
    NamedAttrList attributes(before);
    for (StringRef pair : pairs) {
      auto [its, theirs] = pair.split('=');
      if (Attribute value = attributes.erase(its))
        attributes.set(theirs, value);
    }
    c.node.setAttrsAttr(attributes.getDictionary(before.getContext()));
    LogicalResult result = rule(c);
    c.node.setAttrsAttr(before);
    return result;
  };
}

} // namespace

void tcc::populatePrimitiveRules(RuleSet &rules) {
  auto alias = [&](StringRef primitive, const Twine &aten, StringRef names = {}) {
    if (const Rule *rule = rules.lookup("aten", aten.str(), 0))
      rules.add("prims", (primitive + ".default").str(),
                names.empty() ? *rule : renamed(*rule, names));
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
    alias(other.primitive, other.aten, other.names);
  addRules(rules,
           {{"where", "default", "pred", choose},
            {"pow", "default", "", power},
            {"broadcast_in_dim", "default", "a", broadcastInDim},
            {"split_dim", "default", "a", splitDim},
            {"iota", "default", "", iota}},
           "prims");
}
