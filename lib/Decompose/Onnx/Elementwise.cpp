//===- Elementwise.cpp - Arithmetic ---------------------------------------===//
//
// Arithmetic is a table from operator to primitive; the rest of this file is history: opsets
// before 7 align operands by an attribute, Pow mixes types, and casts to sub-byte and exponent-
// only types round in ways of their own.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

template <typename Op> LogicalResult unary(NodeContext &c) {
  return c.give(c.b.unary<Op>(c.in(0)));
}

/// Before opset 7, `broadcast` and `axis` said how the second operand aligns.
FailureOr<Value> alignedOperand(NodeContext &c) {
  Value y = c.in(1);
  int64_t rank = c.b.rank(c.in(0)), own = c.b.rank(y), axis = c.intAttr("axis", -1);
  if (c.version() >= 7 || !c.hasAttr("axis"))
    return y;
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis + own > rank)
    return c.fail("axis is out of range");
  SmallVector<int64_t> trailing;
  for (int64_t i = own; i < rank - axis; ++i)
    trailing.push_back(i);
  return c.b.unsqueeze(y, trailing);
}

template <typename Op> LogicalResult binary(NodeContext &c) {
  auto y = alignedOperand(c);
  if (failed(y))
    return failure();
  if (c.b.elem(c.in(0)) != c.b.elem(*y))
    return c.fail("operands differ in element type");
  return c.give(c.b.binary<Op>(c.in(0), *y));
}

template <typename Op> LogicalResult variadic(NodeContext &c) {
  Value result = c.in(0);
  for (size_t i = 1; i < c.numInputs(); ++i)
    result = c.b.binary<Op>(result, c.in(i));
  return c.give(result);
}

LogicalResult meanOf(NodeContext &c) {
  Type own = c.b.elem(c.in(0));
  Value sum = widen(c.b, c.in(0));
  for (size_t i = 1; i < c.numInputs(); ++i)
    sum = c.b.add(sum, widen(c.b, c.in(i)));
  return c.give(c.b.cast(c.b.div(sum, static_cast<double>(c.numInputs())), own));
}

/// The result has the base's type; a mixed pair is computed in the float type, in the wider of two.
LogicalResult power(NodeContext &c) {
  auto aligned = alignedOperand(c);
  if (failed(aligned))
    return failure();
  Value base = c.in(0), exponent = *aligned;
  Type own = c.b.elem(base), other = c.b.elem(exponent), common = own;
  if (isa<FloatType>(other) && own != other &&
      (isa<IntegerType>(own) || other.getIntOrFloatBitWidth() >= own.getIntOrFloatBitWidth()))
    common = isa<IntegerType>(own) ? other : wideType(other);
  return c.give(c.b.cast(c.b.pow(c.b.cast(base, common), c.b.cast(exponent, common)), own));
}

LogicalResult modulo(NodeContext &c) {
  Value x = c.in(0), y = c.in(1);
  if (isa<FloatType>(c.b.elem(x)) && !c.intAttr("fmod", 0))
    return c.fail("fmod must be 1 for floats");
  return c.give(c.intAttr("fmod", 0) ? c.b.binary<prim::RemOp>(x, y)
                                     : c.b.binary<prim::ModOp>(x, y));
}

LogicalResult reciprocal(NodeContext &c) {
  return c.give(c.b.div(c.b.scalar(1, c.b.elem(c.in(0))), c.in(0)));
}

LogicalResult isInf(NodeContext &c) {
  using P = prim::ComparePredicate;
  Value x = c.in(0);
  bool negative = c.intAttr("detect_negative", 1), positive = c.intAttr("detect_positive", 1);
  Value inf = c.b.predicate<prim::IsInfOp>(x);
  if (negative && positive)
    return c.give(inf);
  if (!negative && !positive)
    return c.give(c.b.full(c.b.dims(x), 0, c.b.builder().getI1Type()));
  Value sign = c.b.compare(positive ? P::gt : P::lt, widen(c.b, x), 0.0);
  return c.give(c.b.binary<prim::AndOp>(inf, sign));
}

LogicalResult isNan(NodeContext &c) { return c.give(c.b.predicate<prim::IsNanOp>(c.in(0))); }

template <prim::ComparePredicate predicate> LogicalResult comparison(NodeContext &c) {
  auto y = alignedOperand(c);
  if (failed(y))
    return failure();
  return c.give(c.b.compare(predicate, c.in(0), *y));
}

LogicalResult where(NodeContext &c) { return c.give(c.b.select(c.in(0), c.in(1), c.in(2))); }

LogicalResult bitShift(NodeContext &c) {
  Value x = c.in(0), y = c.in(1);
  return c.give(c.stringAttr("direction", "") == "LEFT" ? c.b.binary<prim::ShiftLeftOp>(x, y)
                                                        : c.b.binary<prim::ShiftRightOp>(x, y));
}

/// x as `to`. A float becomes a sub-byte integer by way of i32, whose high bits
/// are then dropped. f8E8M0FNU holds powers of two, and integers are rounded to
/// them as floats are: `round_mode` "up" (the default) and "down" choose by
/// dropping the fraction's bits.
Value castTo(NodeContext &c, Value x, Type to) {
  PrimBuilder &b = c.b;
  bool tiny = isa<IntegerType>(to) && to.getIntOrFloatBitWidth() < 8 && !to.isInteger(1);
  if (tiny && isa<FloatType>(b.elem(x)))
    return b.cast(b.cast(x, b.builder().getI32Type()), to);
  std::string mode = c.stringAttr("round_mode", "up");
  if (isa<Float8E8M0FNUType>(to) && !b.elem(x).isInteger(1) && mode != "nearest") {
    // A float32 would round what lies just above a power of two to it.
    bool isWide = b.elem(x).getIntOrFloatBitWidth() >= 32 && !b.elem(x).isF32();
    Type real = isWide ? b.builder().getF64Type() : b.builder().getF32Type();
    Type word = isWide ? b.builder().getI64Type() : b.builder().getI32Type();
    const double kFraction = isWide ? 0x1p52 - 1 : 0x1p23 - 1;
    auto bitcast = [&](Value v, Type t) {
      return prim::BitcastOp::create(b.builder(), b.location(), b.type(v).clone(t), v).getResult();
    };
    Value wide = b.cast(x, real), bits = bitcast(wide, word);
    if (mode == "up")
      bits = b.add(bits, kFraction);
    Value power = b.binary<prim::AndOp>(bits, b.scalar(-kFraction - 1, word));
    x = b.select(b.predicate<prim::IsFiniteOp>(wide), bitcast(power, real), wide);
  }
  return b.cast(x, to, c.intAttr("saturate", 1));
}

LogicalResult cast(NodeContext &c) {
  static const llvm::StringMap<int64_t> kNames = {
      {"FLOAT", 1}, {"UINT8", 2}, {"INT8", 3},     {"UINT16", 4},  {"INT16", 5},   {"INT32", 6},
      {"INT64", 7}, {"BOOL", 9},  {"FLOAT16", 10}, {"DOUBLE", 11}, {"UINT32", 12}, {"UINT64", 13}};
  int64_t code = c.version() < 6 ? kNames.lookup(c.stringAttr("to", "")) : 0;
  Type to = onnxElementType(c.b.context(), code ? code : c.intAttr("to", 0));
  if (!to)
    return c.fail("cannot cast to this element type");
  return c.give(castTo(c, c.in(0), to));
}

LogicalResult castLike(NodeContext &c) { return c.give(castTo(c, c.in(0), c.b.elem(c.in(1)))); }

LogicalResult bitCast(NodeContext &c) {
  Type to = onnxElementType(c.b.context(), c.intAttr("to", 0));
  Value x = c.in(0);
  Type from = c.b.elem(x);
  if (!to || isa<ComplexType>(to) || isa<ComplexType>(from))
    return c.fail("needs two number types of one width");
  // A bool is stored as a byte.
  auto width = [](Type t) { return t.isInteger(1) ? 8 : t.getIntOrFloatBitWidth(); };
  if (width(from) != width(to))
    return c.fail("needs two number types of one width");
  Type byte = c.b.builder().getIntegerType(8, false);
  if (from.isInteger(1))
    x = c.b.cast(x, byte);
  auto bitcast = [&](Type t) {
    return c.b.elem(x) == t
               ? x
               : prim::BitcastOp::create(c.b.builder(), c.b.location(), c.b.type(x).clone(t), x)
                     .getResult();
  };
  return c.give(to.isInteger(1) ? c.b.cast(bitcast(byte), to) : bitcast(to));
}

} // namespace

void tcc::populateOnnxElementwiseRules(RuleSet &rules) {
  using P = prim::ComparePredicate;
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Abs", unary<prim::AbsOp>},
      {"Neg", unary<prim::NegOp>},
      {"Sign", unary<prim::SignOp>},
      {"Floor", unary<prim::FloorOp>},
      {"Ceil", unary<prim::CeilOp>},
      {"Round", unary<prim::RoundOp>},
      {"Sqrt", unary<prim::SqrtOp>},
      {"Exp", unary<prim::ExpOp>},
      {"Log", unary<prim::LogOp>},
      {"Erf", unary<prim::ErfOp>},
      {"Sin", unary<prim::SinOp>},
      {"Cos", unary<prim::CosOp>},
      {"Tan", unary<prim::TanOp>},
      {"Asin", unary<prim::AsinOp>},
      {"Acos", unary<prim::AcosOp>},
      {"Atan", unary<prim::AtanOp>},
      {"Sinh", unary<prim::SinhOp>},
      {"Cosh", unary<prim::CoshOp>},
      {"Asinh", unary<prim::AsinhOp>},
      {"Acosh", unary<prim::AcoshOp>},
      {"Atanh", unary<prim::AtanhOp>},
      {"Not", unary<prim::NotOp>},
      {"BitwiseNot", unary<prim::NotOp>},
      {"Add", binary<prim::AddOp>},
      {"Sub", binary<prim::SubOp>},
      {"Mul", binary<prim::MulOp>},
      {"Div", binary<prim::DivOp>},
      {"And", binary<prim::AndOp>},
      {"Or", binary<prim::OrOp>},
      {"Xor", binary<prim::XorOp>},
      {"BitwiseAnd", binary<prim::AndOp>},
      {"BitwiseOr", binary<prim::OrOp>},
      {"BitwiseXor", binary<prim::XorOp>},
      {"Max", variadic<prim::MaximumOp>},
      {"Min", variadic<prim::MinimumOp>},
      {"Sum", variadic<prim::AddOp>},
      {"Mean", meanOf},
      {"Pow", power},
      {"Mod", modulo},
      {"Reciprocal", reciprocal},
      {"IsInf", isInf},
      {"IsNaN", isNan},
      {"Equal", comparison<P::eq>},
      {"Less", comparison<P::lt>},
      {"Greater", comparison<P::gt>},
      {"LessOrEqual", comparison<P::le>},
      {"GreaterOrEqual", comparison<P::ge>},
      {"Where", where},
      {"BitShift", bitShift},
      {"Cast", cast},
      {"CastLike", castLike},
      {"BitCast", bitCast}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
