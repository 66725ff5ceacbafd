//===- BlockQuantization.cpp - torchao's affine quantization -----------------===//
//
// As in Quantization.cpp, with a scale and a zero point for each block of a tensor: `block_size`
// says how much of each axis is in one, and 1, all or a part of the axis may be. The operand is
// seen with each axis of several blocks as two, and what belongs to a block with 1 along its
// inside. Results are rounded where torchao's kernels round them, to the type of the operand.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

struct Blocks {
  Dims split;                 ///< the operand's extents, axes of several blocks as two
  Dims each;                  ///< the same with 1 inside of blocks
  Dims counts;                ///< of blocks along the operand's axes
  SmallVector<int64_t> inner; ///< axes of `split` inside of blocks
};

FailureOr<Blocks> blocksOf(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  auto sizes = a.extents("block_size");
  if (!sizes || static_cast<int64_t>(sizes->size()) != b.rank(x))
    return a.fail("needs the size of a block along each axis");
  Blocks blocks;
  Dim one = b.dim(1);
  for (auto [axis, size] : llvm::enumerate(*sizes)) {
    Dim extent = b.dim(x, axis);
    auto known = b.known(size);
    if (known && *known < 1)
      return a.fail("has a block without elements");
    bool whole = b.same(size, extent), single = known == 1;
    blocks.counts.push_back(whole ? one : single ? extent : b.floorDivDims(extent, size));
    if (!whole && !single) {
      b.check(b.compareDims(arith::CmpIPredicate::eq, b.remDims(extent, size), b.dim(0)),
              "an axis is no whole number of blocks");
      blocks.split.push_back(blocks.counts.back());
      blocks.each.push_back(blocks.counts.back());
    }
    if (!single)
      blocks.inner.push_back(blocks.split.size());
    blocks.split.push_back(single ? extent : size);
    blocks.each.push_back(single ? extent : one);
  }
  return blocks;
}

Type common(PrimBuilder &b, Type x, Type y) {
  return x == y                   ? x
         : x.isF64() || y.isF64() ? Type(b.builder().getF64Type())
                                  : b.builder().getF32Type();
}

/// What integers of the dtype range over, or what the node says.
struct Range {
  double least, most;
};
FailureOr<Range> rangeOf(AtenNode &a, StringRef argument) {
  auto type = dyn_cast_or_null<IntegerType>(a.dtype(argument));
  bool given = a.has("quant_min") && a.has("quant_max");
  if (!type && !given)
    return a.fail("needs integers, or what they range over");
  double least = 0, most = 0;
  if (type) {
    bool isSigned = !type.isUnsigned();
    most = std::ldexp(1.0, type.getWidth() - isSigned) - 1;
    least = isSigned ? -most - 1 : 0;
  }
  return Range{a.real("quant_min", least), a.real("quant_max", most)};
}

LogicalResult quantizeAffine(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("input"), scale = a.tensor("scale"), zero = a.tensor("zero_point");
  auto blocks = blocksOf(a, x);
  auto range = rangeOf(a, "output_dtype");
  if (failed(blocks) || failed(range) || !AtenNode::isFloat(b.elem(x)) ||
      !AtenNode::isFloat(b.elem(scale)))
    return a.c.why.empty() ? a.fail("needs floats") : failure();
  Type type = common(b, b.elem(x), b.elem(scale));
  Value inverse = b.div(b.scalar(1, b.elem(scale)), b.reshape(scale, blocks->each));
  Value scaled = b.mul(b.cast(b.reshape(x, blocks->split), type), b.cast(inverse, type));
  scaled = b.unary<prim::RoundOp>(scaled);
  if (zero && b.known(b.productOf(b.dims(zero))) != 0)
    scaled = b.add(scaled, b.cast(b.reshape(zero, blocks->each), type));
  scaled = b.minimum(b.maximum(scaled, range->least), range->most);
  return a.give(b.reshape(scaled, b.dims(x)));
}

LogicalResult dequantizeAffine(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value q = a.tensor("input"), scale = a.tensor("scale"), zero = a.tensor("zero_point");
  auto blocks = blocksOf(a, q);
  if (failed(blocks))
    return failure();
  Value x = a.cast(b.reshape(q, blocks->split), a.own());
  if (zero && b.known(b.productOf(b.dims(zero))) != 0)
    x = b.sub(x, a.cast(b.reshape(zero, blocks->each), a.own()));
  Type type = common(b, a.own(), b.elem(scale));
  x = b.mul(b.cast(x, type), b.cast(b.reshape(scale, blocks->each), type));
  return a.give(b.reshape(x, b.dims(q)));
}

LogicalResult chooseAffine(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("input");
  auto blocks = blocksOf(a, x);
  auto range = rangeOf(a, "target_dtype");
  if (failed(blocks) || failed(range))
    return failure();
  if (blocks->inner.empty())
    return a.fail("has blocks of one element");
  Type type = b.elem(x);
  auto floats = dyn_cast<FloatType>(type);
  StringRef mapping = a.text("mapping_type");
  bool symmetric = mapping == "SYMMETRIC", unclipped = mapping == "SYMMETRIC_NO_CLIPPING_ERR";
  if (!floats || (!symmetric && !unclipped && mapping != "ASYMMETRIC"))
    return a.fail("needs floats, and a mapping that is symmetric or not");
  // Numbers are not rounded to the operand's type, results are.
  Type wide = AtenNode::wide(type);
  auto rounded = [&](Value v) { return b.cast(v, type); };
  auto by = [&](Value v, double number) { return rounded(b.div(b.cast(v, wide), number)); };
  x = b.reshape(x, blocks->split);
  Value low = b.minimum(b.reduce(K::min, x, blocks->inner, false), 0.0);
  Value high = b.maximum(b.reduce(K::max, x, blocks->inner, false), 0.0);
  double eps =
      a.has("eps")
          ? a.real("eps", 0)
          : llvm::APFloat::getSmallestNormalized(floats.getFloatSemantics()).convertToDouble();
  double span = range->most - range->least;
  Value scale, zero;
  auto atLeast = [&](Value v) { return rounded(b.maximum(b.cast(v, wide), eps)); };
  if (symmetric || unclipped) {
    Value below = by(low, range->least), above = by(high, range->most);
    scale = atLeast(symmetric ? by(b.maximum(b.neg(low), high), span / 2)
                              : b.select(b.compare(P::gt, below, above), below, above));
    double middle = std::trunc((range->most + range->least + 1) / 2);
    zero = b.full(b.dims(scale), middle, type);
  } else {
    scale = atLeast(by(b.sub(high, low), span));
    zero = b.unary<prim::RoundOp>(b.div(low, scale));
    zero = rounded(b.sub(b.scalar(range->least, wide), b.cast(zero, wide)));
    zero = b.minimum(b.maximum(zero, range->least), range->most);
  }
  if (a.flag("keepdim", false)) {
    scale = b.reshape(scale, blocks->counts);
    zero = b.reshape(zero, blocks->counts);
  }
  (void)a.give(0, scale);
  return a.give(1, zero);
}

} // namespace

void tcc::populateAtenBlockQuantizationRules(RuleSet &rules) {
  addRules(rules,
           {{"quantize_affine", "default", "input scale", quantizeAffine},
            {"dequantize_affine", "default", "input scale", dequantizeAffine},
            {"choose_qparams_affine", "default", "input", chooseAffine}},
           "torchao");
}
