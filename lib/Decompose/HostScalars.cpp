//===- HostScalars.cpp - Arithmetic of the host program ------------------===//
//
// Shapes are computed by the model itself: Shape, Gather, Div, Cast to float and back. Such values
// become index arithmetic here, and constants are folded by the reference interpreter, because two
// definitions of an integer division would differ some day. Floats that are an extent times a
// number are recognised, since exporters write sizes so.
//
//===----------------------------------------------------------------------===//
#include "HostScalars.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tcc;

namespace {
enum class Fn { Add, Sub, Mul, Div, FloorDiv, Rem, Mod, Max, Min, Pow, And, Or, Xor, None };
} // namespace

static Fn functionOf(StringRef op) {
  return llvm::StringSwitch<Fn>(op)
      .Case("prim.add", Fn::Add)
      .Case("prim.sub", Fn::Sub)
      .Case("prim.mul", Fn::Mul)
      .Case("prim.div", Fn::Div)
      .Case("prim.floor_div", Fn::FloorDiv)
      .Case("prim.rem", Fn::Rem)
      .Case("prim.mod", Fn::Mod)
      .Case("prim.maximum", Fn::Max)
      .Case("prim.minimum", Fn::Min)
      .Case("prim.pow", Fn::Pow)
      .Case("prim.and", Fn::And)
      .Case("prim.or", Fn::Or)
      .Case("prim.xor", Fn::Xor)
      .Default(Fn::None);
}

static bool isConstant(Dim d) { return isa<Attribute>(d); }

/// `op` on constants of the element types `types`, as the reference interpreter has it.
static Dim evaluated(PrimBuilder &pb, StringRef op, ArrayRef<Dim> operands, ArrayRef<Type> types,
                     Type resultType, ArrayRef<NamedAttribute> attributes = {}) {
  OperationState state(pb.location(), op);
  for (auto [d, type] : llvm::zip_equal(operands, types))
    state.addOperands(pb.fromHost({d}, {}, type));
  state.addTypes(RankedTensorType::get({}, resultType));
  state.addAttributes(attributes);
  SmallVector<Value> constants(state.operands.begin(), state.operands.end());
  Operation *made = pb.builder().create(state);
  Value result = pb.folded(made);
  Dim element;
  if (result.getDefiningOp<prim::ConstantOp>())
    element = pb.hostElements(result)->front();
  constants.push_back(result);
  for (Value v : llvm::reverse(constants))
    if (v.use_empty())
      v.getDefiningOp()->erase();
  return element;
}

static std::optional<double> constantFloat(Dim d) {
  auto attr = dyn_cast<Attribute>(d);
  auto number = attr ? dyn_cast<FloatAttr>(attr) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

static Dim floatBinary(PrimBuilder &pb, Fn fn, Dim x, Dim y) {
  // So that an extent is still seen to be one.
  std::optional<double> right = constantFloat(y);
  bool same = (right == 0.0 && fn == Fn::Sub) || (right == 1.0 && (fn == Fn::Mul || fn == Fn::Div));
  if (same)
    return x;
  auto make = [&](auto op) -> Dim {
    return decltype(op)::create(pb.builder(), pb.location(), hostValue(pb, x), hostValue(pb, y))
        .getResult();
  };
  switch (fn) {
  case Fn::Add:
    return make(arith::AddFOp());
  case Fn::Sub:
    return make(arith::SubFOp());
  case Fn::Mul:
    return make(arith::MulFOp());
  case Fn::Div:
    return make(arith::DivFOp());
  case Fn::Max:
    return make(arith::MaximumFOp());
  case Fn::Min:
    return make(arith::MinimumFOp());
  default:
    return {};
  }
}

static Dim boolBinary(PrimBuilder &pb, Fn fn, Dim x, Dim y) {
  auto make = [&](auto op) -> Dim {
    return decltype(op)::create(pb.builder(), pb.location(), hostValue(pb, x), hostValue(pb, y))
        .getResult();
  };
  switch (fn) {
  case Fn::And:
  case Fn::Mul:
  case Fn::Min:
    return make(arith::AndIOp());
  case Fn::Or:
  case Fn::Add:
  case Fn::Max:
    return make(arith::OrIOp());
  case Fn::Xor:
    return make(arith::XOrIOp());
  default:
    return {};
  }
}

/// Truncates towards zero, as a quotient of extents, which are not negative, does by itself.
static Dim quotient(PrimBuilder &pb, Dim x, Dim y, int64_t divisor) {
  if (divisor == -1)
    return pb.subDims(pb.dim(0), x);
  Dim floor = pb.floorDivDims(x, y);
  if (divisor > 0 && isa<Value>(x) && cast<Value>(x).getDefiningOp<prim::DimOp>())
    return floor;
  Dim negative = pb.compareDims(arith::CmpIPredicate::slt, x, pb.dim(0));
  Dim ceil = pb.ceilDivDims(x, y);
  return divisor > 0 ? pb.selectDims(negative, ceil, floor) : pb.selectDims(negative, floor, ceil);
}

static Dim integerBinary(PrimBuilder &pb, Fn fn, Dim x, Dim y) {
  auto divisor = pb.known(y);
  switch (fn) {
  case Fn::Add:
    return pb.addDims(x, y);
  case Fn::Sub:
    return pb.subDims(x, y);
  case Fn::Mul:
    return pb.mulDims(x, y);
  case Fn::Max:
    return pb.maxDims(x, y);
  case Fn::Min:
    return pb.minDims(x, y);
  case Fn::FloorDiv:
    if (!divisor || *divisor == 0)
      return {};
    return *divisor == -1 ? pb.subDims(pb.dim(0), x) : pb.floorDivDims(x, y);
  case Fn::Div:
    return divisor && *divisor != 0 ? quotient(pb, x, y, *divisor) : Dim();
  default:
    return {};
  }
}

bool tcc::isHostType(Type t) {
  return t.isInteger(1) || t.isSignlessInteger(32) || t.isSignlessInteger(64) || t.isF32() ||
         t.isF64();
}

Dim tcc::hostBinary(PrimBuilder &pb, StringRef op, Type type, Dim x, Dim y) {
  if (isConstant(x) && isConstant(y))
    return evaluated(pb, op, {x, y}, {type, type}, type);
  Fn fn = functionOf(op);
  if (isa<FloatType>(type))
    return floatBinary(pb, fn, x, y);
  return type.isInteger(1) ? boolBinary(pb, fn, x, y) : integerBinary(pb, fn, x, y);
}

static Dim asExtent(Value v);
static Dim wholeExtent(PrimBuilder &pb, Value v);

/// Whether a host float lies in [low, high); NaN does not.
static Value isWithin(PrimBuilder &pb, Value v, double low, double high) {
  OpBuilder &b = pb.builder();
  auto compare = [&](arith::CmpFPredicate predicate, double bound) {
    Value c = arith::ConstantOp::create(b, pb.location(), b.getFloatAttr(v.getType(), bound));
    return arith::CmpFOp::create(b, pb.location(), predicate, v, c).getResult();
  };
  return arith::AndIOp::create(b, pb.location(), compare(arith::CmpFPredicate::OGE, low),
                               compare(arith::CmpFPredicate::OLT, high));
}

/// floor or ceil of a host float by way of an integer, in arith alone; what no i64 holds is
/// whole already. The sign of a zero is lost.
static Dim roundedTo(PrimBuilder &pb, Type type, Dim x, bool up) {
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  Value v = hostValue(pb, x);
  if (asExtent(v))
    return x;
  if (!up)
    if (Dim extent = wholeExtent(pb, v)) {
      Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), pb.indexValue(extent));
      return arith::SIToFPOp::create(b, loc, type, integer).getResult();
    }
  Value whole = arith::FPToSIOp::create(b, loc, b.getI64Type(), v);
  whole = arith::SIToFPOp::create(b, loc, type, whole);
  Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, up ? 1.0 : -1.0));
  Value next = arith::AddFOp::create(b, loc, whole, one);
  auto predicate = up ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
  Value beyond = arith::CmpFOp::create(b, loc, predicate, whole, v);
  Value rounded = arith::SelectOp::create(b, loc, beyond, next, whole);
  return arith::SelectOp::create(b, loc, isWithin(pb, v, -0x1p63, 0x1p63), rounded, v).getResult();
}

Dim tcc::hostUnary(PrimBuilder &pb, StringRef op, Type type, Dim x) {
  if (isConstant(x))
    return evaluated(pb, op, {x}, {type}, type);
  OpBuilder &b = pb.builder();
  if (type.isInteger(1)) {
    if (op != "prim.not")
      return {};
    Value one = arith::ConstantOp::create(b, pb.location(), b.getBoolAttr(true));
    return arith::XOrIOp::create(b, pb.location(), hostValue(pb, x), one).getResult();
  }
  if (isa<IntegerType>(type))
    return op == "prim.neg" ? pb.subDims(pb.dim(0), x) : Dim();
  if (op == "prim.floor" || op == "prim.ceil")
    return roundedTo(pb, type, x, op == "prim.ceil");
  if (op != "prim.neg" && op != "prim.abs")
    return {};
  Value v = hostValue(pb, x);
  Value negated = arith::NegFOp::create(b, pb.location(), v);
  return op == "prim.neg" ? Dim(negated)
                          : arith::MaximumFOp::create(b, pb.location(), v, negated).getResult();
}

Dim tcc::hostCompare(PrimBuilder &pb, prim::ComparePredicate predicate, Type type, Dim x, Dim y) {
  using P = prim::ComparePredicate;
  OpBuilder &b = pb.builder();
  if (isConstant(x) && isConstant(y)) {
    auto attr = prim::ComparePredicateAttr::get(b.getContext(), predicate);
    return evaluated(pb, "prim.compare", {x, y}, {type, type}, b.getI1Type(),
                     b.getNamedAttr("predicate", attr));
  }
  if (isa<FloatType>(type)) {
    static const std::map<P, arith::CmpFPredicate> table = {
        {P::eq, arith::CmpFPredicate::OEQ}, {P::ne, arith::CmpFPredicate::UNE},
        {P::lt, arith::CmpFPredicate::OLT}, {P::le, arith::CmpFPredicate::OLE},
        {P::gt, arith::CmpFPredicate::OGT}, {P::ge, arith::CmpFPredicate::OGE}};
    return arith::CmpFOp::create(b, pb.location(), table.at(predicate), hostValue(pb, x),
                                 hostValue(pb, y))
        .getResult();
  }
  if (type.isInteger(1))
    return {};
  static const std::map<P, arith::CmpIPredicate> table = {
      {P::eq, arith::CmpIPredicate::eq},  {P::ne, arith::CmpIPredicate::ne},
      {P::lt, arith::CmpIPredicate::slt}, {P::le, arith::CmpIPredicate::sle},
      {P::gt, arith::CmpIPredicate::sgt}, {P::ge, arith::CmpIPredicate::sge}};
  return pb.compareDims(table.at(predicate), x, y);
}

Dim tcc::hostSelect(PrimBuilder &pb, Type type, Dim condition, Dim x, Dim y) {
  if (auto c = pb.known(condition))
    return *c ? x : y;
  if (isa<IntegerType>(type) && !type.isInteger(1))
    return pb.selectDims(condition, x, y);
  return arith::SelectOp::create(pb.builder(), pb.location(), hostValue(pb, condition),
                                 hostValue(pb, x), hostValue(pb, y))
      .getResult();
}

/// The extent that a host float is, when it is one as it stands.
static Dim asExtent(Value v) {
  if (auto wider = v.getDefiningOp<arith::ExtFOp>())
    v = wider.getIn();
  auto toFloat = v.getDefiningOp<arith::SIToFPOp>();
  auto fromIndex =
      toFloat ? toFloat.getIn().getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
  return fromIndex && fromIndex.getIn().getType().isIndex() ? Dim(fromIndex.getIn()) : Dim();
}

/// A host float as an integer when it is an extent times or (rounded down) by a
/// whole number, as exporters write sizes. Extents are small enough to be exact.
static Dim wholeExtent(PrimBuilder &pb, Value v) {
  if (Dim d = asExtent(v))
    return d;
  auto whole = [](Value c) -> std::optional<int64_t> {
    double d = constantFloat(getAsOpFoldResult(c)).value_or(0);
    return d == std::floor(d) && d >= 1 && d <= 4096 ? std::optional<int64_t>(d) : std::nullopt;
  };
  if (auto product = v.getDefiningOp<arith::MulFOp>())
    for (int i : {0, 1})
      if (auto times = whole(product->getOperand(1 - i)))
        if (Dim d = asExtent(product->getOperand(i)))
          return pb.mulDims(d, pb.dim(*times));
  if (auto ratio = v.getDefiningOp<arith::DivFOp>())
    if (auto by = whole(ratio.getRhs()))
      if (Dim d = asExtent(ratio.getLhs()); d && pb.nonNegative(d))
        return pb.floorDivDims(d, pb.dim(*by));
  return {};
}

/// A host float as an index: the nearest that the integer type `to` holds, 0 for NaN.
static Dim truncated(PrimBuilder &pb, Value v, Type to) {
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  unsigned width = to.getIntOrFloatBitWidth();
  double end = std::ldexp(1.0, static_cast<int>(width) - 1);
  auto integer = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)).getResult();
  };
  auto select = [&](Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y).getResult();
  };
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(v.getType(), 0));
  Value negative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, v, zero);
  Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, v, v);
  Value bound = select(negative, integer(llvm::minIntN(width)), integer(llvm::maxIntN(width)));
  Value inside = arith::FPToSIOp::create(b, loc, b.getI64Type(), v);
  Value nearest = select(isWithin(pb, v, -end, end), inside, select(isNumber, bound, integer(0)));
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), nearest).getResult();
}

Dim tcc::hostCast(PrimBuilder &pb, Type from, Type to, Dim x) {
  if (isConstant(x))
    return evaluated(pb, "prim.cast", {x}, {from}, to);
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  bool fromBool = from.isInteger(1), toBool = to.isInteger(1);
  if (isa<FloatType>(from)) {
    Value v = hostValue(pb, x);
    if (to == from)
      return x;
    if (toBool) {
      Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(from, 0));
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, v, zero).getResult();
    }
    if (to.isF64())
      return arith::ExtFOp::create(b, loc, to, v).getResult();
    if (to.isF32())
      return arith::TruncFOp::create(b, loc, to, v).getResult();
    if (Dim extent = wholeExtent(pb, hostValue(pb, x)))
      return extent;
    return truncated(pb, hostValue(pb, x), to);
  }
  if (isa<FloatType>(to)) {
    if (fromBool)
      return arith::SelectOp::create(b, loc, hostValue(pb, x),
                                     arith::ConstantOp::create(b, loc, b.getFloatAttr(to, 1.0)),
                                     arith::ConstantOp::create(b, loc, b.getFloatAttr(to, 0.0)))
          .getResult();
    Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), hostValue(pb, x));
    return arith::SIToFPOp::create(b, loc, to, integer).getResult();
  }
  if (fromBool)
    return pb.selectDims(x, pb.dim(1), pb.dim(0));
  if (toBool)
    return pb.compareDims(arith::CmpIPredicate::ne, x, pb.dim(0));
  return x; // i32 and i64 are both index here
}
