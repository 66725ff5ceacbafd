//===- Quantization.cpp - Quantised operators of ai.onnx -------------------===//
//
// Integer products subtract zero points from 8-bit operands. Done as written that needs 16 bits
// and loses the CPU's byte instructions; so products run on the operands as they are, and sums of
// rows and columns correct them afterwards. The result is exact in i32 either way.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/Quantization.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;

Value tcc::quantize(PrimBuilder &b, Value x, Value scale, Value zero, Type to, bool saturate) {
  Value scaled = widen(b, x);
  if (scale)
    scaled = b.div(scaled, b.cast(scale, b.elem(scaled)));
  if (isa<FloatType>(to))
    return b.cast(scaled, to, saturate);
  Value rounded = b.unary<prim::RoundOp>(scaled);
  if (zero)
    rounded = b.add(rounded, b.cast(zero, b.elem(rounded)));
  return b.cast(rounded, to); // clamps to the range of `to`
}

Value tcc::dequantize(PrimBuilder &b, Value x, Value scale, Value zero) {
  Type f32 = b.builder().getF32Type();
  bool exact = !b.elem(x).isInteger(32); // narrower values are exact in f32
  Value wide = exact ? b.cast(x, f32) : x;
  if (zero && isa<IntegerType>(b.elem(x)))
    wide = b.sub(wide, b.cast(zero, b.elem(wide)));
  return b.mul(b.cast(wide, f32), b.cast(scale, f32));
}

FailureOr<Value> tcc::spreadParameter(NodeContext &c, Value parameter, Value x, int64_t axis,
                                      int64_t block) {
  PrimBuilder &b = c.b;
  int64_t rank = b.rank(x), own = b.rank(parameter);
  if (block < 0)
    return c.fail("a block has " + llvm::Twine(block) + " elements");
  if (own == 0)
    return parameter;
  if (own == 1 && b.known(b.dim(parameter, 0)) == 1)
    return b.reshape(parameter, ArrayRef<Dim>());
  auto at = axisWithin(c, axis, rank);
  if (failed(at))
    return failure();
  if (block > 0) {
    if (own != rank)
      return c.fail("a blocked scale must have the rank of its operand");
    Dims blocked = b.dims(x);
    blocked[*at] = b.ceilDivDims(blocked[*at], b.dim(block));
    for (int64_t i = 0; i < rank; ++i)
      requireSame(b, b.dim(parameter, i), blocked[i], "a blocked scale");
    Type index = b.builder().getI64Type();
    Value position = b.iota({b.dim(x, *at)}, 0, index);
    Value blocks =
        b.binary<prim::FloorDivOp>(position, b.scalar(static_cast<double>(block), index));
    return b.take(parameter, blocks, *at);
  }
  if (own != 1)
    return c.fail("the scale must be a scalar or a vector");
  return alongAxis(b, parameter, *at, rank);
}

FailureOr<Value> tcc::dequantized(NodeContext &c, Value x, size_t i, int64_t axis) {
  auto scale = spreadParameter(c, c.in(i), x, axis);
  if (failed(scale))
    return failure();
  if (!c.has(i + 1))
    return dequantize(c.b, x, *scale, {});
  auto zero = spreadParameter(c, c.in(i + 1), x, axis);
  return failed(zero) ? FailureOr<Value>(failure()) : dequantize(c.b, x, *scale, *zero);
}

FailureOr<Value> tcc::quantized(NodeContext &c, Value x, size_t i, Type otherwise) {
  auto scale = scalarOperand(c, i);
  if (failed(scale))
    return failure();
  if (!c.has(i + 1))
    return quantize(c.b, x, *scale, {}, otherwise);
  auto zero = scalarOperand(c, i + 1);
  return failed(zero) ? FailureOr<Value>(failure())
                      : quantize(c.b, x, *scale, *zero, c.b.elem(*zero));
}

/// Whether a zero point is absent or a constant 0.
static bool isZero(PrimBuilder &b, Value zero) {
  auto constants = zero ? b.constantInts(zero) : std::nullopt;
  return !zero || (constants && llvm::all_of(*constants, [](int64_t v) { return v == 0; }));
}

/// Weights of ui8 whose zero point is 128 throughout, as i8 without one.
static void recentre(PrimBuilder &b, Value &w, Value &zero) {
  auto zeros = zero && b.elem(w).isUnsignedInteger(8) ? b.constantInts(zero) : std::nullopt;
  if (!zeros || llvm::any_of(*zeros, [](int64_t v) { return v != 128; }))
    return;
  Type i32 = b.builder().getI32Type();
  w = b.cast(b.sub(b.cast(w, i32), b.scalar(128, i32)), b.builder().getI8Type());
  zero = {};
}

/// An operand less its zero point, as i32; a vector runs along `axis`.
static Value centred(PrimBuilder &b, Value x, Value zero, int64_t axis) {
  Type i32 = b.builder().getI32Type();
  Value wide = b.cast(x, i32);
  if (isZero(b, zero))
    return wide;
  zero = b.cast(zero, i32);
  if (b.rank(zero) == 1)
    zero = b.known(b.dim(zero, 0)) == 1 ? b.reshape(zero, ArrayRef<Dim>())
                                        : alongAxis(b, zero, b.axisOf(axis, b.rank(x)), b.rank(x));
  return b.sub(wide, zero);
}

/// With n the common extent,
///   (x - p)(y - q) = xy - p (column sums of y) - (row sums of x) q + npq,
/// whose first term runs on the 8-bit operands as they are.
Value tcc::integerProduct(PrimBuilder &b, Value x, Value y, Value p, Value q) {
  Type i32 = b.builder().getI32Type();
  recentre(b, y, q);
  bool bytes = b.elem(x).getIntOrFloatBitWidth() == 8 && b.elem(y).getIntOrFloatBitWidth() == 8;
  auto scalarLike = [&](Value zero) {
    return b.rank(zero) == 0 || (b.rank(zero) == 1 && b.known(b.dim(zero, 0)) == 1);
  };
  bool noP = isZero(b, p), noQ = isZero(b, q);
  bool columnsOfQ = !noQ && b.rank(q) == 1;
  if (!bytes || b.rank(x) < 2 || b.rank(y) < 2 || (!noP && !scalarLike(p)) ||
      (!noQ && !scalarLike(q) && !columnsOfQ))
    return b.matmul(centred(b, x, p, -2), centred(b, y, q, -1), i32);
  // A vector of zero points of y runs along the columns, as the result's last axis.
  auto parameter = [&](Value zero) {
    zero = b.cast(zero, i32);
    return scalarLike(zero) ? b.reshape(zero, ArrayRef<Dim>()) : zero;
  };
  Value product = b.matmul(x, y, i32);
  if (!noQ) {
    Value rows = b.reduce(prim::ReduceKind::sum, b.cast(x, i32), {-1}, true);
    product = b.sub(product, b.mul(rows, parameter(q)));
  }
  if (!noP) {
    Value columns = b.reduce(prim::ReduceKind::sum, b.cast(y, i32), {-2}, true);
    if (!noQ) {
      Value count = scalarOf(b, b.dim(x, b.rank(x) - 1), i32);
      columns = b.sub(columns, b.mul(parameter(q), count));
    }
    product = b.sub(product, b.mul(columns, parameter(p)));
  }
  return product;
}

Quantized tcc::quantizeDynamically(PrimBuilder &b, Value x) {
  SmallVector<int64_t> axes = allAxes(b.rank(x));
  Type f32 = b.builder().getF32Type(), ui8 = b.builder().getIntegerType(8, false);
  Value low = b.minimum(b.reduce(prim::ReduceKind::min, x, axes, false), 0.0);
  Value high = b.maximum(b.reduce(prim::ReduceKind::max, x, axes, false), 0.0);
  Value span = b.cast(b.sub(high, low), f32);
  Value flat = b.compare(prim::ComparePredicate::eq, span, 0.0);
  Quantized q;
  q.scale = b.select(flat, b.scalar(1, f32), b.div(span, 255.0)); // as ONNX Runtime has it
  Value zero = b.neg(b.div(b.cast(low, f32), q.scale));
  zero = b.unary<prim::RoundOp>(b.minimum(b.maximum(zero, 0.0), 255.0));
  q.zero = b.cast(zero, ui8);
  q.value = quantize(b, x, q.scale, zero, ui8);
  return q;
}

namespace {

LogicalResult quantizeLinear(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t axis = c.intAttr("axis", 1), block = c.intAttr("block_size", 0);
  Type to = b.builder().getIntegerType(8, false);
  if (int64_t code = c.intAttr("output_dtype", 0))
    to = onnxElementType(b.context(), code);
  if (c.has(2))
    to = b.elem(c.in(2));
  auto scale = spreadParameter(c, c.in(1), x, axis, block);
  if (failed(scale) || !to)
    return to ? failure() : c.fail("has an unknown output type");
  Value zero;
  if (c.has(2) && isa<IntegerType>(to)) {
    auto spread = spreadParameter(c, c.in(2), x, axis, block);
    if (failed(spread))
      return failure();
    zero = *spread;
  }
  Type precision = onnxElementType(b.context(), c.intAttr("precision", 0));
  if (isa<IntegerType>(b.elem(x))) // an accumulator
    x = b.cast(x, b.builder().getF32Type());
  if (isa_and_nonnull<FloatType>(precision)) {
    Value scaled = b.div(b.cast(x, precision), b.cast(*scale, precision));
    return c.give(quantize(b, scaled, {}, zero, to, c.intAttr("saturate", 1)));
  }
  return c.give(quantize(b, x, *scale, zero, to, c.intAttr("saturate", 1)));
}

/// In whole blocks along an axis, which get an axis of their own: each has one scale. Null where
/// the last block is a part of one, or extents are open.
Value dequantizedBlocks(NodeContext &c, int64_t axis, int64_t block) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank || b.rank(c.in(1)) != rank)
    return {};
  auto extent = b.known(b.dim(x, at)), blocks = b.known(b.dim(c.in(1), at));
  if (!extent || !blocks || *blocks * block != *extent)
    return {};
  auto split = [&](Value v, int64_t inner) {
    Dims dims = b.dims(v);
    dims[at] = b.dim(*blocks);
    dims.insert(dims.begin() + at + 1, b.dim(inner));
    return b.reshape(v, dims);
  };
  bool hasZero = c.has(2) && isa<IntegerType>(b.elem(x));
  if (hasZero && (b.rank(c.in(2)) != rank || b.known(b.dim(c.in(2), at)) != blocks))
    return {};
  Value zero = hasZero ? split(c.in(2), 1) : Value();
  return b.reshape(dequantize(b, split(x, block), split(c.in(1), 1), zero), b.dims(x));
}

LogicalResult dequantizeLinear(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t axis = c.intAttr("axis", 1), block = c.intAttr("block_size", 0);
  Type to = onnxElementType(b.context(), c.intAttr("output_dtype", 0));
  if (Value all = block > 0 ? dequantizedBlocks(c, axis, block) : Value())
    return c.give(b.cast(all, to ? to : b.elem(c.in(1))));
  auto scale = spreadParameter(c, c.in(1), x, axis, block);
  if (failed(scale))
    return failure();
  Value zero;
  if (c.has(2) && isa<IntegerType>(b.elem(x))) {
    auto spread = spreadParameter(c, c.in(2), x, axis, block);
    if (failed(spread))
      return failure();
    zero = *spread;
  }
  return c.give(b.cast(dequantize(b, x, *scale, zero), to ? to : b.elem(c.in(1))));
}

LogicalResult dynamicQuantizeLinear(NodeContext &c) {
  Quantized q = quantizeDynamically(c.b, c.in(0));
  Value results[] = {q.value, q.scale, q.zero};
  for (size_t i = 0; i < std::min<size_t>(3, c.numResults()); ++i)
    (void)c.give(i, results[i]);
  return success();
}

LogicalResult matmulInteger(NodeContext &c) {
  return c.give(integerProduct(c.b, c.in(0), c.in(1), c.inOr(2, {}), c.inOr(3, {})));
}

/// a, its scale and zero point, the same of b, and of the result.
LogicalResult qlinearMatmul(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  Value x = c.in(0), y = c.in(3);
  Value product = b.cast(integerProduct(b, x, y, c.inOr(2, {}), c.inOr(5, {})), f32);
  // A vector of scales of a runs along the rows, of b along the columns.
  auto left = spreadParameter(c, c.in(1), x, -2), right = spreadParameter(c, c.in(4), y, -1);
  auto result = scalarOperand(c, 6);
  if (failed(left) || failed(right) || failed(result))
    return failure();
  Value scale = b.div(b.mul(b.cast(*left, f32), b.cast(*right, f32)), b.cast(*result, f32));
  Value zero = c.inOr(7, {});
  if (zero && b.rank(zero) == 1)
    zero = b.reshape(zero, ArrayRef<Dim>());
  return c.give(quantize(b, b.mul(product, scale), {}, zero, zero ? b.elem(zero) : b.elem(x)));
}

/// The sum of all that each filter sees of x, [N, 1, ...] in i32; `zero` as in convolve.
Value windowSums(PrimBuilder &b, Value x, OnnxWindow w, Value zero) {
  Type i32 = b.builder().getI32Type();
  if (zero) {
    w.explicitPad = true;
    w.window.low.assign(w.axes(), 0);
    w.window.high.assign(w.axes(), 0);
  }
  x = padForWindow(b, x, w, zero ? zero : b.scalar(0, b.elem(x)));
  Value channels = b.reduce(prim::ReduceKind::sum, b.cast(x, i32), {1}, true);
  return b.pool(prim::ReduceKind::sum, channels, w.window, false);
}

/// Integer convolution of x by w less their zero points, in i32. As in integerProduct the
/// sum of the products of both as they are is corrected, so that x stays in 8 bits; its
/// padding is its zero point. A group of channels has window sums of its own, which the
/// correction by w's zero point would need: then both are widened first.
FailureOr<Value> integerConv(NodeContext &c, Value x, Value w, Value p, Value q) {
  PrimBuilder &b = c.b;
  Type i32 = b.builder().getI32Type();
  int64_t groups = c.intAttr("group", 1);
  auto window = convolutionWindow(c, x, w, groups);
  if (failed(window))
    return failure();
  bool noP = isZero(b, p);
  if (p)
    p = b.reshape(p, ArrayRef<Dim>());
  recentre(b, w, q);
  bool noQ = isZero(b, q);
  if (!noQ && groups > 1)
    return convolve(b, centred(b, x, p, 0), centred(b, w, q, 0), *window, groups, i32);
  Value zero = noP ? Value() : p;
  Value result = convolve(b, x, w, *window, groups, i32, zero);
  auto channels = [&](Value v) { // of the result
    v = b.cast(v, i32);
    return b.rank(v) == 1 && b.known(b.dim(v, 0)) != 1 ? alongAxis(b, v, 1, b.rank(x))
                                                       : b.reshape(v, ArrayRef<Dim>());
  };
  if (!noQ)
    result = b.sub(result, b.mul(windowSums(b, x, *window, zero), channels(q)));
  if (noP)
    return result;
  Value sums = b.reduce(prim::ReduceKind::sum, b.cast(w, i32), axesFrom(1, b.rank(w)), false);
  Value offset = b.mul(alongAxis(b, sums, 1, b.rank(x)), b.cast(p, i32));
  if (!noQ) {
    Dim terms = b.dim(1);
    for (int64_t axis = 1; axis < b.rank(w); ++axis)
      terms = b.mulDims(terms, b.dim(w, axis));
    offset = b.sub(offset, b.mul(b.mul(channels(q), scalarOf(b, terms, i32)), b.cast(p, i32)));
  }
  return b.sub(result, offset);
}

LogicalResult convInteger(NodeContext &c) {
  auto result = integerConv(c, c.in(0), c.in(1), c.inOr(2, {}), c.inOr(3, {}));
  return failed(result) ? failure() : c.give(*result);
}

LogicalResult qlinearConv(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  Value x = c.in(0), w = c.in(3);
  bool last = c.intAttr("channels_last", 0) != 0; // com.microsoft's
  if (b.rank(x) < 3)
    return c.fail("needs spatial axes");
  if (last)
    x = channelsFirst(b, x);
  auto result = integerConv(c, x, w, c.inOr(2, {}), c.inOr(5, {}));
  if (failed(result))
    return failure();
  Value sum = *result;
  if (c.has(8))
    sum = b.add(sum, alongAxis(b, b.cast(c.in(8), b.elem(sum)), 1, b.rank(x)));
  auto xScale = scalarOperand(c, 1), yScale = scalarOperand(c, 6);
  auto wScale = spreadParameter(c, c.in(4), x, 1);
  if (failed(xScale) || failed(yScale) || failed(wScale))
    return failure();
  Value scale = b.div(b.mul(b.cast(*xScale, f32), b.cast(*wScale, f32)), b.cast(*yScale, f32));
  Value zero = c.inOr(7, {});
  if (zero)
    zero = b.reshape(zero, ArrayRef<Dim>());
  Value y = quantize(b, b.mul(b.cast(sum, f32), scale), {}, zero, zero ? b.elem(zero) : b.elem(x));
  return c.give(last ? channelsLast(b, y) : y);
}

} // namespace

Value tcc::unpackedBits(PrimBuilder &b, Value packed, int64_t bits) {
  Type ui8 = b.builder().getIntegerType(8, false);
  Dims split = b.dims(packed), joined = split;
  int64_t perByte = 8 / bits;
  split.push_back(b.dim(1));
  joined.back() = b.mulDims(joined.back(), b.dim(perByte));
  Value at = b.mul(b.iota({b.dim(perByte)}, 0, ui8), static_cast<double>(bits));
  Value shifted = b.binary<prim::ShiftRightOp>(b.reshape(packed, split), at);
  return b.reshape(b.binary<prim::AndOp>(shifted, b.scalar((1 << bits) - 1, ui8)), joined);
}

void tcc::populateOnnxQuantizationRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"QuantizeLinear", quantizeLinear},
      {"DequantizeLinear", dequantizeLinear},
      {"DynamicQuantizeLinear", dynamicQuantizeLinear},
      {"MatMulInteger", matmulInteger},
      {"QLinearMatMul", qlinearMatmul},
      {"ConvInteger", convInteger},
      {"QLinearConv", qlinearConv}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
  rules.add("com.microsoft", "QLinearConv", qlinearConv);
  rules.add("com.microsoft", "QuantizeLinear", quantizeLinear);
  rules.add("com.microsoft", "DequantizeLinear", dequantizeLinear);
}
