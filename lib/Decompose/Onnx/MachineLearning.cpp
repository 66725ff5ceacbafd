//===- MachineLearning.cpp - Preprocessing of ai.onnx.ml --------------------===//
//
// The operators on numbers; those on text have no rule.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/MachineLearning.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Classes.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

/// A list attribute as a vector of `element`, or null when it is absent.
Value listAttr(NodeContext &c, StringRef name, Type element) {
  PrimBuilder &b = c.b;
  if (auto floats = c.floatsAttr(name)) {
    SmallVector<float> narrow(floats->begin(), floats->end());
    auto t = RankedTensorType::get({static_cast<int64_t>(narrow.size())}, b.builder().getF32Type());
    return narrow.empty()
               ? Value()
               : b.cast(b.constant(DenseElementsAttr::get(t, ArrayRef(narrow))), element);
  }
  if (auto ints = c.intsAttr(name); ints && !ints->empty())
    return b.cast(b.ints(*ints), element);
  return {};
}

Type floatType(NodeContext &c) {
  Type e = c.b.elem(c.in(0));
  return e.isF64() ? e : c.b.builder().getF32Type();
}

LogicalResult arrayFeatureExtractor(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), places = b.reshape(c.in(1), {b.productOf(b.dims(c.in(1)))});
  if (b.rank(x) == 0)
    return c.fail("needs features");
  requireInRange(b, places, b.dim(x, b.rank(x) - 1), IndexRange::positions);
  Value y = b.take(x, places, b.rank(x) - 1);
  return c.give(b.rank(x) == 1 ? b.unsqueeze(y, {0}) : y);
}

LogicalResult binarizer(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  return c.give(b.cast(b.compare(P::gt, x, c.floatAttr("threshold", 0)), b.elem(x)));
}

LogicalResult scaler(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = b.cast(c.in(0), b.builder().getF32Type());
  if (Value offset = listAttr(c, "offset", b.elem(x)))
    x = b.sub(x, offset);
  if (Value scale = listAttr(c, "scale", b.elem(x)))
    x = b.mul(x, scale);
  return c.give(x);
}

LogicalResult normalizer(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = b.cast(c.in(0), b.builder().getF32Type());
  int64_t last = b.rank(x) - 1;
  std::string norm = c.stringAttr("norm", "MAX");
  if (last < 0)
    return c.fail("needs features");
  Value size = norm == "L2"   ? b.sqrt(b.reduce(K::sum, b.mul(x, x), {last}, true))
               : norm == "L1" ? b.reduce(K::sum, b.abs(x), {last}, true)
                              : b.reduce(K::max, x, {last}, true);
  Value none = b.compare(P::eq, size, 0.0);
  return c.give(b.div(x, b.select(none, b.scalar(1, b.elem(x)), size)));
}

LogicalResult imputer(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  bool isFloat = isa<FloatType>(b.elem(x));
  Value fill = listAttr(c, isFloat ? "imputed_value_floats" : "imputed_value_int64s", b.elem(x));
  if (!fill)
    return c.fail("has no values of the operand's type");
  double missing = isFloat ? c.floatAttr("replaced_value_float", 0)
                           : static_cast<double>(c.intAttr("replaced_value_int64", 0));
  Value gone = missing != missing ? b.predicate<prim::IsNanOp>(x) : b.compare(P::eq, x, missing);
  return c.give(b.select(gone, fill, x));
}

/// The value of the key that x equals, or the default.
LogicalResult labelEncoder(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), keys, values, otherwise;
  for (StringRef kind : {"floats", "int64s"}) {
    bool real = kind == "floats";
    Type own = real ? Type(b.builder().getF32Type()) : Type(b.builder().getI64Type());
    if (Value list = listAttr(c, ("keys_" + kind).str(), b.elem(x)))
      keys = list;
    if (Value list = listAttr(c, ("values_" + kind).str(), own)) {
      values = list;
      otherwise = real ? b.scalar(c.floatAttr("default_float", -0.0), own)
                       : b.scalar(static_cast<double>(c.intAttr("default_int64", -1)), own);
    }
  }
  if (Value list = c.tensorAttr("keys_tensor"))
    keys = b.cast(list, b.elem(x));
  if (Value list = c.tensorAttr("values_tensor")) {
    values = list;
    otherwise = c.tensorAttr("default_tensor");
  }
  if (!keys || !values || !otherwise || b.rank(keys) != 1 || b.rank(values) != 1 ||
      b.known(b.dim(keys, 0)) != b.known(b.dim(values, 0)))
    return c.fail("needs as many numeric keys as values, and a default");
  otherwise = b.cast(b.reshape(otherwise, ArrayRef<int64_t>{}), b.elem(values));
  Type i64 = b.builder().getI64Type();
  int64_t rank = b.rank(x);
  Value met = b.compare(P::eq, b.unsqueeze(x, {rank}), keys);
  Value at = b.select(met, b.iota({b.dim(keys, 0)}, 0, i64), b.scalar(-1, i64));
  at = b.reduce(K::max, at, {rank}, false);
  Value known = b.compare(P::ge, at, 0.0);
  return c.give(b.select(known, b.take(values, b.maximum(at, 0.0), 0), otherwise));
}

LogicalResult linearRegressor(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f = floatType(c);
  Value x = b.cast(c.in(0), f), weights = listAttr(c, "coefficients", f);
  int64_t targets = c.intAttr("targets", 1);
  if (b.rank(x) == 1)
    x = b.unsqueeze(x, {0});
  if (!weights || b.rank(x) != 2 || targets < 1)
    return c.fail("needs a batch and coefficients");
  // ONNX Runtime leaves one target as it is, which the specification does not.
  if (targets == 1 && c.stringAttr("post_transform", "NONE") != "NONE" && !isProbit(c))
    return c.fail("has one target and a transform after it: put an operator there");
  int64_t count = *b.known(b.dim(weights, 0));
  if (count % targets || b.known(b.dim(x, 1)).value_or(count / targets) != count / targets)
    return c.fail("has the wrong number of coefficients");
  Value y = b.dot(x, b.reshape(weights, {targets, count / targets}), {}, {}, {1}, {1});
  if (Value shift = listAttr(c, "intercepts", f))
    y = b.add(y, shift);
  y = transformScores(c, y);
  return y ? c.give(b.cast(y, b.builder().getF32Type()))
           : c.fail("has no rule for its post_transform");
}

/// One column for each category, along a new last axis.
LogicalResult oneHotEncoder(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto categories = c.intsAttr("cats_int64s");
  if (!categories || categories->empty())
    return c.fail("needs integer categories");
  Type i64 = b.builder().getI64Type();
  Value places = b.unsqueeze(b.cast(x, i64), {b.rank(x)});
  Value hits = b.compare(P::eq, places, b.ints(*categories));
  return c.give(b.cast(hits, b.builder().getF32Type()));
}

/// The operands side by side, each cut or filled with zeros to its width.
LogicalResult featureVectorizer(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto widths = c.intsAttr("inputdimensions");
  SmallVector<Value> parts;
  if (c.numInputs() == 0 || !widths || widths->size() != c.numInputs())
    return c.fail("needs a width for each operand");
  for (auto [i, width] : llvm::enumerate(*widths)) {
    Value x = b.cast(c.in(i), b.builder().getF32Type());
    if (b.rank(x) == 1)
      x = b.unsqueeze(x, {0});
    auto have = b.rank(x) == 2 ? b.known(b.dim(x, 1)) : std::nullopt;
    if (!have || width < 0)
      return c.fail("needs samples of a known number of features");
    x = b.sliceAxis(x, 1, b.dim(int64_t(0)), b.dim(std::min(*have, width)));
    Dim none = b.dim(int64_t(0)), more = b.dim(std::max<int64_t>(0, width - *have));
    parts.push_back(b.pad(x, b.scalar(0, b.elem(x)), {none, none}, {none, more}));
  }
  return c.give(b.concat(parts, 1));
}

/// A map from labels to numbers for each sample. A compiled model has tensors alone: the numbers as
/// they are, a column for each label in the order of the attribute.
LogicalResult zipMap(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto ints = c.intsAttr("classlabels_int64s");
  auto strings = dyn_cast_or_null<ArrayAttr>(c.attr("classlabels_strings"));
  size_t labels = ints && !ints->empty() ? ints->size() : strings ? strings.size() : 0;
  auto columns = b.rank(x) > 0 ? b.known(b.dim(x, b.rank(x) - 1)) : std::nullopt;
  if (!labels || b.rank(x) > 2 || (columns && *columns != static_cast<int64_t>(labels)))
    return c.fail("needs a row or rows with a number for each of " + llvm::Twine(labels) +
                  " labels");
  return c.give(x);
}

} // namespace

void tcc::populateOnnxMachineLearningRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"ArrayFeatureExtractor", arrayFeatureExtractor},
      {"Binarizer", binarizer},
      {"FeatureVectorizer", featureVectorizer},
      {"Imputer", imputer},
      {"LabelEncoder", labelEncoder},
      {"LinearRegressor", linearRegressor},
      {"Normalizer", normalizer},
      {"OneHotEncoder", oneHotEncoder},
      {"Scaler", scaler},
      {"ZipMap", zipMap}};
  for (auto [op, rule] : kTable)
    rules.add("ai.onnx.ml", op, rule);
}
