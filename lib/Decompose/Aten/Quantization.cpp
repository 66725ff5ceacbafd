//===- Quantization.cpp - torch's affine quantization ---------------------===//
//
// A quantized value q stands for (q - zero) * scale. torch keeps it in an ordinary
// integer tensor; `quantized_decomposed` goes there and back, with one scale and
// zero point for a tensor, for each channel, each token (all but the last axis) or
// each group of a row. `fake_quantize` does both at once.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/Quantization.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;

namespace {

enum class Per { Tensor, Channel, Token, Group };

struct Affine {
  Value x;       ///< groups are rows of it
  Value inverse; ///< of the scale
  Value scale, zero;
  Type type; ///< that it is computed in
};

/// Under the names that these operators give it.
Value operand(AtenNode &a) {
  for (StringRef name : {"input", "self", "w_int8"})
    if (Value v = a.tensor(name))
      return v;
  return {};
}
Value scaleOf(AtenNode &a) { return a.tensor("scales") ? a.tensor("scales") : a.tensor("scale"); }
Value zeroOf(AtenNode &a) {
  return a.tensor("zero_points") ? a.tensor("zero_points") : a.tensor("zero_point");
}

/// One of each for the tensor. The scale is a number in double, as in Python.
FailureOr<Affine> perTensor(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f32 = b.builder().getF32Type(), f64 = b.builder().getF64Type();
  Value scale = a.number("scale", f64), zero = a.number("zero_point", f32);
  if (!scale || !zero)
    return a.fail("needs a scale and a zero point");
  auto single = [&](Value v) { return b.rank(v) == 0 ? v : b.reshape(v, ArrayRef<int64_t>{}); };
  scale = single(scale);
  return Affine{a.cast(operand(a), f32), b.cast(b.div(b.scalar(1, f64), scale), f32),
                b.cast(scale, f32), single(zero), f32};
}

FailureOr<Affine> perChannel(AtenNode &a, Per per) {
  PrimBuilder &b = a.b;
  Value x = operand(a), scale = scaleOf(a), zero = zeroOf(a);
  if (!scale)
    return a.fail("needs scales");
  Type type = b.elem(scale).isF64() ? b.elem(scale) : Type(b.builder().getF32Type());
  scale = b.cast(scale, type);
  zero = zero ? b.cast(zero, type) : b.scalar(0, type);
  if (per == Per::Channel) {
    auto axis = a.axis("axis", 0, b.rank(x));
    if (failed(axis) || b.rank(scale) != 1 || b.rank(x) == 0)
      return a.fail("needs an axis and a vector of scales");
    scale = alongAxis(b, scale, *axis, b.rank(x));
    zero = b.rank(zero) == 1 ? alongAxis(b, zero, *axis, b.rank(x)) : zero;
  } else if (per == Per::Group) {
    int64_t size = a.integer("group_size", 128);
    if (b.rank(x) != 2 || size < 1)
      return a.fail("needs a matrix and a group size");
    Dim count = b.productOf(b.dims(scale));
    x = b.reshape(x, {count, b.floorDivDims(b.productOf(b.dims(x)), count)});
    scale = b.reshape(scale, {count, b.dim(1)});
    zero = b.rank(zero) == 0 ? zero : b.reshape(zero, {count, b.dim(1)});
  }
  return Affine{b.cast(x, type), b.div(b.scalar(1, type), scale), scale, zero, type};
}

FailureOr<Affine> read(AtenNode &a, Per per) {
  return per == Per::Tensor ? perTensor(a) : perChannel(a, per);
}

/// The quantized values as floats. Tokens and groups are rounded after the zero point
/// was added, which moves halves.
Value quantized(AtenNode &a, const Affine &q, bool roundsLast) {
  PrimBuilder &b = a.b;
  Value scaled = b.mul(q.x, q.inverse);
  scaled = roundsLast ? b.unary<prim::RoundOp>(b.add(scaled, q.zero))
                      : b.add(b.unary<prim::RoundOp>(scaled), q.zero);
  auto bound = [&](StringRef name) {
    Value v = a.number(name, q.type);
    return v && b.rank(v) ? b.reshape(v, ArrayRef<int64_t>{}) : v;
  };
  Value least = bound("quant_min"), most = bound("quant_max");
  scaled = least ? b.maximum(scaled, least) : scaled;
  return most ? b.minimum(scaled, most) : scaled;
}

template <Per per> LogicalResult quantize(AtenNode &a) {
  auto q = read(a, per);
  if (failed(q))
    return failure();
  Value result = quantized(a, *q, per == Per::Token || per == Per::Group);
  return a.give(per == Per::Group ? a.b.reshape(result, a.b.dims(operand(a))) : result);
}

template <Per per> LogicalResult dequantize(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto q = read(a, per);
  if (failed(q))
    return failure();
  Value result = b.mul(b.sub(q->x, q->zero), q->scale);
  return a.give(per == Per::Group ? b.reshape(result, b.dims(operand(a))) : result);
}

/// The second result tells which elements were not cut off.
template <Per per> LogicalResult fakeQuantize(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto q = read(a, per);
  if (failed(q))
    return failure();
  Value there = quantized(a, *q, false);
  if (a.c.numResults() > 1 && a.c.wants(1)) {
    Value free = b.add(b.unary<prim::RoundOp>(b.mul(q->x, q->inverse)), q->zero);
    (void)a.give(1, b.compare(prim::ComparePredicate::eq, free, there));
  }
  return a.give(b.mul(b.sub(there, q->zero), q->scale));
}

/// Scale and zero point that cover the operand and 0.
template <bool symmetric> LogicalResult chooseParameters(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f32 = b.builder().getF32Type();
  Value x = a.cast(operand(a), f32);
  double least = a.real("quant_min", -128), most = a.real("quant_max", 127);
  SmallVector<int64_t> all = allAxes(b.rank(x));
  Value low = b.minimum(b.reduce(K::min, x, all, false), 0.0);
  Value high = b.maximum(b.reduce(K::max, x, all, false), 0.0);
  Value eps = b.scalar(a.real("eps", 0), f32), scale, zero;
  if (symmetric) {
    scale = b.maximum(b.div(b.maximum(b.neg(low), high), (most - least) / 2), eps);
    zero = b.scalar(a.text("dtype") == "ui8" ? 128 : 0, f32);
  } else {
    scale = b.maximum(b.div(b.sub(high, low), most - least), eps);
    zero = b.sub(b.scalar(least, f32), b.unary<prim::RoundOp>(b.div(low, scale)));
    zero = b.minimum(b.maximum(zero, least), most);
  }
  (void)a.give(0, b.reshape(scale, {1}));
  return a.give(1, b.reshape(zero, {1}));
}

LogicalResult chooseParametersPerToken(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = operand(a);
  if (b.rank(x) == 0)
    return a.fail("needs an axis");
  Value largest =
      b.reduce(K::max, b.abs(a.cast(x, AtenNode::wide(b.elem(x)))), {b.rank(x) - 1}, true);
  Value scale = b.div(b.maximum(largest, 1e-5), 127.0);
  (void)a.give(0, scale);
  return a.give(1, b.mul(scale, 0.0));
}

/// Rows of their own lowest and highest values, 0 among them; the zero point is that of the end
/// which it fits better.
LogicalResult chooseParametersPerTokenAsymmetric(AtenNode &a) {
  constexpr double low = -128, high = 127, epsilon = 0x1p-23;
  PrimBuilder &b = a.b;
  Value x = operand(a);
  if (b.rank(x) == 0)
    return a.fail("needs an axis");
  x = a.cast(x, AtenNode::wide(b.elem(x)));
  auto end = [&](K kind) { return b.reduce(kind, x, {b.rank(x) - 1}, true); };
  Value least = b.minimum(end(K::min), 0.0), most = b.maximum(end(K::max), 0.0);
  Value scale = b.maximum(b.div(b.sub(most, least), high - low), epsilon);
  Value below = b.div(least, scale), above = b.div(most, scale);
  Value fromLow = b.sub(b.scalar(low, b.elem(x)), below);
  Value fromHigh = b.sub(b.scalar(high, b.elem(x)), above);
  Value errors = b.add(b.add(below, low), b.add(above, high));
  Value zero = b.select(b.compare(prim::ComparePredicate::gt, errors, 0.0), fromLow, fromHigh);
  zero = b.minimum(b.maximum(zero, low), high);
  (void)a.give(0, scale);
  return a.give(1, b.unary<prim::RoundOp>(zero));
}

LogicalResult convert(AtenNode &a) { return a.give(a.tensor("input")); }

/// Products of 8-bit integers, summed in i32.
LogicalResult integerProduct(AtenNode &a) {
  return a.give(a.b.matmul(a.tensor("self"), a.tensor("mat2"), a.b.builder().getI32Type()));
}

/// x W^T, each row of W times its scale.
LogicalResult weightOnlyProduct(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide()), w = a.cast(a.tensor("mat2"), a.wide());
  if (b.rank(x) != 2 || b.rank(w) != 2)
    return a.fail("needs matrices");
  return a.give(b.mul(b.dot(x, w, {}, {}, {1}, {1}), a.cast(a.tensor("scales"), a.wide())));
}

/// Products of 8-bit floats, summed in f32. A scale is one number, or one for each row of the first
/// operand and each column of the second.
LogicalResult scaledProduct(AtenNode &a, Value scaleOfRows, Value scaleOfColumns) {
  PrimBuilder &b = a.b;
  Type f32 = b.builder().getF32Type();
  Value x = a.cast(a.tensor("self"), f32), y = a.cast(a.tensor("mat2"), f32);
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return a.fail("needs matrices");
  Value product = b.matmul(x, y);
  auto scale = [&](StringRef name, Value given, int64_t axis) -> FailureOr<Value> {
    given = a.cast(given, f32);
    Dims have = b.dims(given);
    if (b.known(b.productOf(have)) == 1)
      return b.reshape(given, ArrayRef<int64_t>());
    Dim count = b.dim(product, axis);
    if (have.size() != 2 || b.known(have[1 - axis]) != 1 || !b.same(have[axis], count))
      return a.fail("'" + name +
                    "' is neither one number nor one for each row or column; scales "
                    "of blocks are not supported");
    return given;
  };
  auto rows = scale("scale_a", scaleOfRows, 0), columns = scale("scale_b", scaleOfColumns, 1);
  if (failed(rows) || failed(columns))
    return failure();
  Value result = b.mul(b.mul(product, *rows), *columns);
  if (a.has("bias"))
    result = b.add(result, a.cast(a.tensor("bias"), f32));
  if (a.has("scale_result"))
    result = b.mul(result, a.cast(a.tensor("scale_result"), f32));
  return a.give(result);
}

LogicalResult scaledProductOfTwo(AtenNode &a) {
  return scaledProduct(a, a.tensor("scale_a"), a.tensor("scale_b"));
}

/// torch.nn.functional.scaled_mm, which says for each operand what its scales are of.
LogicalResult scaledProductByRecipe(AtenNode &a) {
  SmallVector<Value> rows = a.tensors("scale_a"), columns = a.tensors("scale_b");
  auto isOfOneOrLine = [&](StringRef name) {
    auto recipe = a.integers(name);
    constexpr int64_t one = 0, line = 1; // TensorWise, RowWise
    return recipe && recipe->size() == 1 && ((*recipe)[0] == one || (*recipe)[0] == line);
  };
  auto contracted = a.integers("contraction_dim");
  if (rows.size() != 1 || columns.size() != 1 || !isOfOneOrLine("recipe_a") ||
      !isOfOneOrLine("recipe_b") || (contracted && !contracted->empty()))
    return a.fail("scales of blocks are not supported, nor axes other than the last and the first");
  return scaledProduct(a, rows[0], columns[0]);
}

} // namespace

void tcc::populateAtenQuantizationRules(RuleSet &rules) {
  addRules(
      rules,
      {{"quantize_per_tensor", "default tensor tensor2", "input", quantize<Per::Tensor>},
       {"dequantize_per_tensor", "default tensor tensor2", "input", dequantize<Per::Tensor>},
       {"quantize_per_channel", "default", "input scales zero_points", quantize<Per::Channel>},
       {"dequantize_per_channel", "default", "input scales", dequantize<Per::Channel>},
       {"quantize_per_token", "default", "input scales zero_points", quantize<Per::Token>},
       {"dequantize_per_token", "default", "input scales zero_points", dequantize<Per::Token>},
       {"quantize_per_channel_group", "default", "input scales zero_points", quantize<Per::Group>},
       {"dequantize_per_channel_group", "default", "w_int8 scales", dequantize<Per::Group>},
       {"choose_qparams", "tensor", "input", chooseParameters<false>},
       {"choose_qparams_symmetric", "tensor", "input", chooseParameters<true>},
       {"choose_qparams_per_token", "default", "input", chooseParametersPerToken},
       {"choose_qparams_per_token_asymmetric", "default", "input",
        chooseParametersPerTokenAsymmetric},
       {"_choose_qparams_per_token_asymmetric_impl", "default", "input",
        chooseParametersPerTokenAsymmetric},
       {"convert_element_type", "no_fuse", "input", convert}},
      "quantized_decomposed");
  addRules(rules, {{"fake_quantize_per_tensor_affine", "default tensor_qparams", "self",
                    fakeQuantize<Per::Tensor>},
                   {"fake_quantize_per_tensor_affine_cachemask", "default", "self",
                    fakeQuantize<Per::Tensor>},
                   {"fake_quantize_per_channel_affine", "default", "self scale zero_point",
                    fakeQuantize<Per::Channel>},
                   {"fake_quantize_per_channel_affine_cachemask", "default",
                    "self scale zero_point", fakeQuantize<Per::Channel>},
                   {"_scaled_mm", "default", "self mat2 scale_a scale_b", scaledProductOfTwo},
                   {"_scaled_mm_v2", "default", "self mat2", scaledProductByRecipe},
                   {"_int_mm", "default", "self mat2", integerProduct},
                   {"_weight_int8pack_mm", "default", "self mat2 scales", weightOnlyProduct}});
}
