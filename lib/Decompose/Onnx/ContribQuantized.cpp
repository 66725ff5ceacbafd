//===- ContribQuantized.cpp - Quantised operators of com.microsoft ------------===//
//
// Pointwise ones dequantise, compute in f32 and quantise, which fuses into one
// loop; products keep their integer sums.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// Gives x quantised by operands i and i + 1, as ui8 when there is no zero point.
LogicalResult giveQuantized(NodeContext &c, Value x, size_t i, Type otherwise) {
  auto result = quantized(c, x, i, otherwise);
  return failed(result) ? failure() : c.give(*result);
}

/// A, its scale and zero point, the same of B and of the result.
template <typename Op> LogicalResult binary(NodeContext &c) {
  auto x = dequantized(c, c.in(0), 1), y = dequantized(c, c.in(3), 4);
  if (failed(x) || failed(y))
    return failure();
  return giveQuantized(c, c.b.binary<Op>(*x, *y), 6, c.b.elem(c.in(0)));
}

/// X, its scale and zero point, those of the result.
LogicalResult unary(NodeContext &c, llvm::function_ref<Value(Value)> body) {
  auto x = dequantized(c, c.in(0), 1);
  return failed(x) ? failure() : giveQuantized(c, body(*x), 3, c.b.elem(c.in(0)));
}

LogicalResult sigmoid(NodeContext &c) {
  return unary(c, [&](Value x) { return c.b.logistic(x); });
}

LogicalResult leakyRelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.01);
  return unary(
      c, [&](Value x) { return c.b.select(c.b.compare(P::lt, x, 0.0), c.b.mul(x, alpha), x); });
}

LogicalResult softmax(NodeContext &c) {
  int64_t rank = c.b.rank(c.in(0)), version = c.intAttr("opset", 13);
  auto axis = axisAttr(c, version < 13 ? 1 : -1);
  if (failed(axis))
    return failure();
  return unary(c, [&](Value x) {
    return version < 13 ? softmaxOver(c.b, x, axesFrom(*axis, rank)) : softmaxOver(c.b, x, *axis);
  });
}

LogicalResult reduceMean(NodeContext &c) {
  int64_t rank = c.b.rank(c.in(0));
  auto axes = axesWithin(c, c.intsAttr("axes").value_or(allAxes(rank)), rank);
  if (failed(axes))
    return failure();
  return unary(c, [&](Value x) { return c.b.mean(x, *axes, c.intAttr("keepdims", 1)); });
}

LogicalResult globalAveragePool(NodeContext &c) {
  int64_t rank = c.b.rank(c.in(0));
  bool last = c.intAttr("channels_last", 0);
  if (rank < 3)
    return c.fail("needs spatial axes");
  SmallVector<int64_t> axes = axesFrom(last ? 1 : 2, last ? rank - 1 : rank);
  return unary(c, [&](Value x) { return c.b.mean(x, axes, true); });
}

LogicalResult averagePool(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto kernel = c.intsAttr("kernel_shape");
  bool last = c.intAttr("channels_last", 0) != 0;
  if (!kernel || b.rank(c.in(0)) < 3)
    return c.fail("needs spatial axes and a 'kernel_shape'");
  auto w = onnxWindow(c, last ? channelsFirst(b, c.in(0)) : c.in(0), *kernel);
  if (failed(w))
    return failure();
  return unary(c, [&](Value given) {
    Value x = last ? channelsFirst(b, given) : given;
    auto back = [&](Value v) { return last ? channelsLast(b, v) : v; };
    auto sumOf = [&](Value v) {
      Value padded = padForWindow(b, v, *w, b.scalar(0, b.elem(v)));
      return b.pool(prim::ReduceKind::sum, padded, w->window, false);
    };
    double count = 1;
    for (int64_t extent : *kernel)
      count *= static_cast<double>(extent);
    if (c.intAttr("count_include_pad", 0))
      return back(b.div(sumOf(x), count));
    return back(b.div(sumOf(x), sumOf(b.full(b.dims(x), 1, b.elem(x)))));
  });
}

/// The result's scale and zero point, then each operand with its own.
LogicalResult concat(NodeContext &c) {
  SmallVector<Value> parts;
  if (c.numInputs() < 5 || (c.numInputs() - 2) % 3 != 0)
    return c.fail("has the wrong number of operands");
  for (size_t i = 2; i < c.numInputs(); i += 3) {
    auto x = dequantized(c, c.in(i), i + 1);
    if (failed(x))
      return failure();
    parts.push_back(*x);
    if (c.b.rank(*x) != c.b.rank(parts[0]))
      return c.fail("operands differ in rank");
  }
  auto axis = axisWithin(c, c.intAttr("axis", 0), c.b.rank(parts[0]));
  if (failed(axis))
    return failure();
  return giveQuantized(c, c.b.concat(parts, *axis), 0, c.b.elem(c.in(2)));
}

/// condition, X and its parameters, Y and its, those of the result.
LogicalResult where(NodeContext &c) {
  auto x = dequantized(c, c.in(1), 2), y = dequantized(c, c.in(4), 5);
  if (failed(x) || failed(y))
    return failure();
  return giveQuantized(c, c.b.select(c.in(0), *x, *y), 7, c.b.elem(c.in(1)));
}

/// An integer product as f32: times both scales, plus a bias.
FailureOr<Value> scaledProduct(NodeContext &c, Value product, Value xScale, Value y, size_t yScale,
                               size_t bias) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  auto spread = spreadParameter(c, c.in(yScale), y, -1);
  if (failed(spread))
    return failure();
  Value result = b.mul(b.cast(product, f32), b.mul(xScale, *spread));
  return c.has(bias) ? b.add(result, c.in(bias)) : result;
}

/// A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias.
LogicalResult matmulIntegerToFloat(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value product = integerProduct(b, c.in(0), c.in(1), c.inOr(4, {}), c.inOr(5, {}));
  auto scale = spreadParameter(c, c.in(2), c.in(0), -2);
  if (failed(scale))
    return failure();
  auto result = scaledProduct(c, product, *scale, c.in(1), 3, 6);
  return failed(result) ? failure() : c.give(*result);
}

/// A (f32), B, b_scale, b_zero_point, bias.
LogicalResult dynamicQuantizeMatmul(NodeContext &c) {
  PrimBuilder &b = c.b;
  Quantized q = quantizeDynamically(b, c.in(0));
  Value product = integerProduct(b, q.value, c.in(1), q.zero, c.inOr(3, {}));
  auto result = scaledProduct(c, product, q.scale, c.in(1), 2, 4);
  return failed(result) ? failure() : c.give(*result);
}

/// A and its parameters, B and its, C, those of the result (none: f32).
LogicalResult gemm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  Value x = c.in(0), y = c.in(3);
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return c.fail("needs two matrices");
  if (c.intAttr("transA", 0))
    x = b.transpose(x, {1, 0});
  if (c.intAttr("transB", 0))
    y = b.transpose(y, {1, 0});
  Value product = integerProduct(b, x, y, c.inOr(2, {}), c.inOr(5, {}));
  if (c.has(6))
    product = b.add(product, b.cast(c.in(6), b.elem(product)));
  auto xScale = scalarOperand(c, 1);
  auto yScale = spreadParameter(c, c.in(4), y, -1);
  if (failed(xScale) || failed(yScale))
    return failure();
  Value result = b.mul(b.cast(product, f32), b.mul(*xScale, *yScale));
  result = b.mul(result, c.floatAttr("alpha", 1));
  return c.has(7) ? giveQuantized(c, result, 7, b.elem(x)) : c.give(result);
}

/// A [.., K] by B, of which each column is in blocks of 4-bit (or 2-, 8-bit)
/// numbers [N, blocks, bytes] with a scale and a zero point each.
LogicalResult matmulNBits(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t k = c.intAttr("K", 0), n = c.intAttr("N", 0), bits = c.intAttr("bits", 4),
          block = c.intAttr("block_size", 0);
  if (k < 1 || n < 1 || block < 1 || (bits != 2 && bits != 4 && bits != 8))
    return c.fail("needs K, N, 2, 4 or 8 bits and a block size");
  constexpr int64_t kMost = int64_t(1) << 30; // what they make together is a number of 64 bits
  if (std::max({k, n, block}) > kMost)
    return c.fail("K, N and the block size are 2^30 at most");
  int64_t blocks = (k + block - 1) / block, perByte = 8 / bits;
  auto requireCount = [&](unsigned input, int64_t perColumn, StringRef what) {
    requireSame(b, b.productOf(b.dims(c.in(input))), b.dim(n * perColumn), what);
  };
  requireCount(1, blocks * block / perByte, "the bytes of B");
  requireCount(2, blocks, "the scales");
  Type own = b.elem(c.in(0)), wide = wideType(own);
  auto unpacked = [&](Value packed, ArrayRef<Dim> shape) {
    return b.reshape(unpackedBits(b, packed, bits), shape);
  };
  Dim padded = b.dim(blocks * block);
  Value weight = b.cast(unpacked(b.reshape(c.in(1), {b.dim(n), b.dim(blocks * block / perByte)}),
                                 {b.dim(n), b.dim(blocks), b.dim(block)}),
                        wide);
  Value zero = b.scalar(1 << (bits - 1), wide);
  if (c.has(3)) {
    if (isa<FloatType>(b.elem(c.in(3)))) {
      requireCount(3, blocks, "the zero points");
      zero = b.reshape(b.cast(c.in(3), wide), {b.dim(n), b.dim(blocks), b.dim(1)});
    } else {
      int64_t bytes = (blocks + perByte - 1) / perByte;
      requireCount(3, bytes, "the bytes of the zero points");
      Value all = unpacked(b.reshape(c.in(3), {b.dim(n), b.dim(bytes)}),
                           {b.dim(n), b.dim(bytes * perByte)});
      zero = b.unsqueeze(b.cast(b.sliceAxis(all, 1, b.dim(0), b.dim(blocks)), wide), {2});
    }
  }
  Value scale = b.reshape(b.cast(c.in(2), wide), {b.dim(n), b.dim(blocks), b.dim(1)});
  if (c.has(4)) { // which block's each number of a column is, where they are not in order
    Value of = c.in(4);
    requireSame(b, b.productOf(b.dims(of)), b.dim(k), "the numbers of a column and g_idx");
    requireInRange(b, of, b.dim(blocks));
    auto each = [&](Value v) {
      return b.rank(v) == 0 ? v : b.take(b.squeeze(v, {2}), b.reshape(of, {b.dim(k)}), 1);
    };
    weight = b.sliceAxis(b.reshape(weight, {b.dim(n), padded}), 1, b.dim(0), b.dim(k));
    weight = b.mul(b.sub(weight, each(zero)), each(scale));
  } else {
    weight = b.reshape(b.mul(b.sub(weight, zero), scale), {b.dim(n), padded});
    weight = b.sliceAxis(weight, 1, b.dim(0), b.dim(k));
  }
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  if (rank < 1)
    return c.fail("needs a matrix");
  Value result = b.dot(b.cast(x, wide), weight, {}, {}, {rank - 1}, {1}, wide);
  if (c.has(5))
    result = b.add(result, b.cast(c.in(5), wide));
  return c.give(b.cast(result, own));
}

/// A [.., K] by B [N, K], of which 4 bits, the high ones first, name one of 16 numbers (those of
/// QLoRA, or floats of 4 bits), times the largest one of its block.
LogicalResult matmulBnb4(NodeContext &c) {
  static constexpr float kTables[2][16] = {
      {0, 5.208333333e-03F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.F,
       -5.208333333e-03F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
      {-1, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F, -0.28444138169288635F,
       -0.18477343022823334F, -0.09105003625154495F, 0, 0.07958029955625534F, 0.16093020141124725F,
       0.24611230194568634F, 0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
       0.7229568362236023F, 1}};
  PrimBuilder &b = c.b;
  int64_t k = c.intAttr("K", 0), n = c.intAttr("N", 0), block = c.intAttr("block_size", 0),
          kind = c.intAttr("quant_type", 0), rank = b.rank(c.in(0));
  if (k < 1 || n < 1 || block < 1 || kind < 0 || kind > 1 || rank < 1)
    return c.fail("needs a matrix, K, N, a block size and a 'quant_type' of 0 or 1");
  int64_t count = k * n, bytes = (count + 1) / 2, blocks = (count + block - 1) / block;
  Type own = b.elem(c.in(0)), wide = wideType(own), index = b.builder().getI64Type();
  if (!b.elem(c.in(1)).isUnsignedInteger(8))
    return c.fail("needs a B of bytes");
  requireSame(b, b.productOf(b.dims(c.in(1))), b.dim(bytes), "the bytes of B");
  requireSame(b, b.productOf(b.dims(c.in(2))), b.dim(blocks), "the blocks of B");
  Value pairs = unpackedBits(b, b.reshape(c.in(1), {b.dim(bytes), b.dim(1)}), 4);
  Value names = b.cast(b.reshape(b.reverse(pairs, {1}), {b.dim(2 * bytes)}), index);
  names = b.sliceAxis(names, 0, b.dim(0), b.dim(count));
  auto table = DenseElementsAttr::get(RankedTensorType::get({16}, b.builder().getF32Type()),
                                      ArrayRef<float>(kTables[kind]));
  Value numbers = b.cast(b.take(b.constant(table), names, 0), wide);
  Value largest = b.cast(b.reshape(c.in(2), {b.dim(blocks)}), wide);
  Value places = b.binary<prim::FloorDivOp>(b.iota({b.dim(count)}, 0, index),
                                            b.scalar(static_cast<double>(block), index));
  Value weight = b.reshape(b.mul(numbers, b.take(largest, places, 0)), {b.dim(n), b.dim(k)});
  Value product = b.dot(b.cast(c.in(0), wide), weight, {}, {}, {rank - 1}, {1}, wide);
  return c.give(b.cast(product, own));
}

/// Rows of a table that is in blocks of small numbers along another axis (or the one it is gathered
/// on): what is gathered is dequantised, not the table. Bytes hold their numbers along the last
/// axis.
LogicalResult gatherBlockQuantized(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value data = c.in(0), scales = c.in(2);
  int64_t rank = b.rank(data), bits = c.intAttr("bits", 4), block = c.intAttr("block_size", 128);
  auto onAxis = axisWithin(c, c.intAttr("gather_axis", 0), rank);
  auto blockAxis = axisWithin(c, c.intAttr("quantize_axis", 1), rank);
  if (failed(onAxis) || failed(blockAxis))
    return failure();
  if (!isa<IntegerType>(b.elem(data)))
    return c.fail("a table of floats is not supported");
  if (block < 1 || b.rank(scales) != rank || (c.has(3) && b.rank(c.in(3)) != rank))
    return c.fail("needs a block size, and scales and zero points of the table's rank");
  bool bytes = b.elem(data).isUnsignedInteger(8);
  if (bytes && (*onAxis != 0 || *onAxis == *blockAxis || (bits != 2 && bits != 4 && bits != 8)))
    return c.fail("bytes hold 2, 4 or 8 bits and are gathered on axis 0, in blocks of another one");
  Value indices = b.wrapIndices(c.in(1), b.dim(data, *onAxis));
  int64_t at = *blockAxis + (*onAxis < *blockAxis ? b.rank(indices) - 1 : 0);
  Value rows = b.take(data, indices, *onAxis);
  if (bytes)
    rows = unpackedBits(b, rows, bits);
  // One parameter for each gathered number: of its row and its block.
  Type index = b.builder().getI64Type();
  auto blockOf = [&](Value position) {
    return b.binary<prim::FloorDivOp>(b.cast(position, index),
                                      b.scalar(static_cast<double>(block), index));
  };
  auto spread = [&](Value parameter, bool packed) {
    if (*onAxis == *blockAxis)
      return b.take(parameter, blockOf(indices), *onAxis);
    Value own = b.take(parameter, indices, *onAxis);
    own = packed ? unpackedBits(b, own, bits) : own;
    return b.take(own, blockOf(b.iota({b.dim(rows, at)}, 0, index)), at);
  };
  Type wide = wideType(b.elem(scales));
  Value zero = b.scalar(bytes ? 1 << (bits - 1) : 0, wide);
  if (c.has(3))
    zero = b.cast(spread(c.in(3), bytes), wide);
  Value scale = b.cast(spread(scales, false), wide);
  Value result = b.mul(b.sub(b.cast(rows, wide), zero), scale);
  return c.give(b.cast(result, b.elem(scales)));
}

} // namespace

void tcc::populateOnnxContribQuantizedRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"QLinearAdd", binary<prim::AddOp>},
      {"QLinearMul", binary<prim::MulOp>},
      {"QLinearSigmoid", sigmoid},
      {"QLinearLeakyRelu", leakyRelu},
      {"QLinearSoftmax", softmax},
      {"QLinearReduceMean", reduceMean},
      {"QLinearGlobalAveragePool", globalAveragePool},
      {"QLinearAveragePool", averagePool},
      {"QLinearConcat", concat},
      {"QLinearWhere", where},
      {"MatMulIntegerToFloat", matmulIntegerToFloat},
      {"DynamicQuantizeMatMul", dynamicQuantizeMatmul},
      {"QGemm", gemm},
      {"GatherBlockQuantized", gatherBlockQuantized},
      {"MatMulBnb4", matmulBnb4},
      {"MatMulNBits", matmulNBits}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
}
