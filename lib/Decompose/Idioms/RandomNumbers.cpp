#include "Decompose/Idioms/RandomNumbers.h"
#include "mlir/IR/BuiltinOps.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;

/// The generator that the node calls its own, numbered in the module from 1 on.
static int64_t generatorOf(Operation *node, OpBuilder &builder) {
  constexpr StringLiteral kGenerator = "generator";
  if (auto own = node->getAttrOfType<IntegerAttr>(kGenerator))
    return own.getInt();
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto known = module->getAttrOfType<IntegerAttr>(prim::kGeneratorsAttr);
  IntegerAttr number = builder.getI64IntegerAttr((known ? known.getInt() : 0) + 1);
  module->setAttr(prim::kGeneratorsAttr, number);
  node->setAttr(kGenerator, number);
  return number.getInt();
}

RandomNumbers::RandomNumbers(PrimBuilder &b, int64_t seed, Operation *node)
    : b(b), generator(generatorOf(node, b.builder())), seed(seed) {}

RandomNumbers::RandomNumbers(PrimBuilder &b, Value seed, Value draw)
    : b(b), givenSeed(seed), givenDraw(draw) {}

/// A generator with a seed of its own counts with the highest bit set, so that it gives other
/// numbers than a context of the same seed.
Value RandomNumbers::words(ArrayRef<Dim> shape, unsigned bits) {
  OpBuilder &builder = b.builder();
  Location loc = b.location();
  auto integer = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(v));
  };
  Type i64 = builder.getI64Type();
  auto read = [&](Value tensor) -> Value {
    Value element = b.indexValue(b.readElements(tensor)[0]);
    return arith::IndexCastOp::create(builder, loc, i64, element);
  };
  Value offset =
      givenDraw ? read(givenDraw) : Value(prim::RandomDrawOp::create(builder, loc, i64, generator));
  Value key = givenSeed ? read(givenSeed)
              : seed    ? integer(*seed)
                        : Value(prim::RandomSeedOp::create(builder, loc, i64));
  if (seed || givenSeed)
    offset = arith::OrIOp::create(builder, loc, offset, integer(INT64_MIN));
  RankedTensorType type = b.typeOf(shape, builder.getIntegerType(bits, /*isSigned=*/false));
  return prim::RandomBitsOp::create(builder, loc, type, key, offset, b.dynamicSizes(shape))
      .getResult();
}

static unsigned wordBits(FloatType type) { return type.isF64() ? 64 : 32; }

/// The highest bits, as many as the type has digits: all of these are exact.
Value RandomNumbers::halfOpen(Value words, FloatType type) {
  int digits = static_cast<int>(type.getFPMantissaWidth());
  double shift = static_cast<int>(wordBits(type)) - digits;
  Value high = b.binary<prim::ShiftRightOp>(words, b.scalar(shift, b.elem(words)));
  return b.mul(b.cast(high, type), std::ldexp(1.0, -digits));
}

/// In (0, 1], as fine near 0 as the words allow, for a logarithm.
Value RandomNumbers::aboveZero(Value words, FloatType type) {
  int bits = static_cast<int>(wordBits(type));
  return b.add(b.mul(b.cast(words, type), std::ldexp(1.0, -bits)), std::ldexp(1.0, -bits - 1));
}

Value RandomNumbers::uniform(ArrayRef<Dim> shape, FloatType type) {
  return halfOpen(words(shape, wordBits(type)), type);
}

/// Box and Muller's transform. The two words of an element are neighbours, so that it does not
/// depend on the shape.
Value RandomNumbers::normal(ArrayRef<Dim> shape, FloatType type) {
  Value first, second;
  if (type.isF64()) {
    Dims pairs(shape);
    pairs.push_back(b.dim(2));
    int64_t axis = static_cast<int64_t>(shape.size());
    Value both = words(pairs, 64);
    first = b.squeeze(b.sliceAxis(both, axis, b.dim(0), b.dim(1)), {axis});
    second = b.squeeze(b.sliceAxis(both, axis, b.dim(1), b.dim(1)), {axis});
  } else {
    Type u32 = b.builder().getIntegerType(32, /*isSigned=*/false);
    Value both = words(shape, 64);
    Value high = b.binary<prim::ShiftRightOp>(both, b.scalar(32, b.elem(both)));
    first = b.cast(both, u32);
    second = b.cast(high, u32);
  }
  Value radius = b.sqrt(b.mul(b.log(aboveZero(first, type)), -2.0));
  return b.mul(radius, b.unary<prim::CosOp>(b.mul(halfOpen(second, type), 2 * std::numbers::pi)));
}

/// What rounds to 0 is half the distance of 1 from its neighbour, as in PyTorch.
Value RandomNumbers::exponential(ArrayRef<Dim> shape, FloatType type) {
  Value u = aboveZero(words(shape, wordBits(type)), type);
  int digits = static_cast<int>(type.getFPMantissaWidth());
  return b.maximum(b.neg(b.log(u)), std::ldexp(1.0, -digits - 1));
}

/// The remainder of 64 bits: no integer is likelier than another by more than count / 2^64.
Value RandomNumbers::integers(ArrayRef<Dim> shape, Value low, Value count) {
  Type i64 = b.builder().getI64Type(), u64 = b.builder().getIntegerType(64, /*isSigned=*/false);
  Value range = b.cast(count, u64);
  Value below = b.binary<prim::RemOp>(words(shape, 64), range);
  return b.add(b.cast(below, i64), low);
}

/// By the inverse of the cumulative weights, in f64: with 24 bits, classes that are less likely
/// than 2^-24 would be drawn too often or never. A sum that is passed is one that the drawn number
/// has reached, so that no class of weight 0 is drawn.
Value RandomNumbers::classes(Value weights, Dim draws) {
  Type i64 = b.builder().getI64Type();
  auto f64 = b.builder().getF64Type();
  int64_t axis = b.rank(weights) - 1;
  weights = b.cast(weights, f64);
  Value sums = prim::CumulativeOp::create(b.builder(), b.location(), weights.getType(),
                                          prim::ReduceKind::sum, weights, axis, false, false);
  Dim last = b.subDims(b.dim(sums, axis), b.dim(1));
  Value total = b.sliceAxis(sums, axis, last, b.dim(1));
  Dims shape = b.dims(weights);
  shape[axis] = draws;
  Value at = b.mul(uniform(shape, f64), total);
  Value passed =
      b.compare(prim::ComparePredicate::le, b.unsqueeze(sums, {axis}), b.unsqueeze(at, {axis + 1}));
  Value index = b.reduce(prim::ReduceKind::sum, b.cast(passed, i64), {axis + 1}, false);
  // Weights that are not numbers pass nothing or everything.
  return b.minimum(index, b.fromHost({last}, {}, i64));
}
