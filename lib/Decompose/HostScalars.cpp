#include "HostScalars.h"
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

static std::optional<APFloat> constantFloat(Dim d) {
  if (auto attr = dyn_cast<Attribute>(d))
    if (auto f = dyn_cast<FloatAttr>(attr))
      return f.getValue();
  return std::nullopt;
}

static double toDouble(APFloat v) {
  bool lost;
  v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return v.convertToDouble();
}

static Dim floatBinary(PrimBuilder &pb, Fn fn, Type type, Dim x, Dim y) {
  auto cx = constantFloat(x), cy = constantFloat(y);
  OpBuilder &b = pb.builder();
  if (cx && cy) {
    double l = toDouble(*cx), r = toDouble(*cy);
    switch (fn) {
    case Fn::Add:
      return Dim(b.getFloatAttr(type, l + r));
    case Fn::Sub:
      return Dim(b.getFloatAttr(type, l - r));
    case Fn::Mul:
      return Dim(b.getFloatAttr(type, l * r));
    case Fn::Div:
      return Dim(b.getFloatAttr(type, l / r));
    case Fn::Max:
      return std::isnan(l) || std::isnan(r) ? Dim() : Dim(b.getFloatAttr(type, std::max(l, r)));
    case Fn::Min:
      return std::isnan(l) || std::isnan(r) ? Dim() : Dim(b.getFloatAttr(type, std::min(l, r)));
    case Fn::Pow:
      return Dim(b.getFloatAttr(type, std::pow(l, r)));
    default:
      return {};
    }
  }
  Location loc = pb.location();
  auto make = [&](auto op) -> Dim {
    return decltype(op)::create(b, loc, hostValue(pb, x), hostValue(pb, y)).getResult();
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
  auto cx = pb.known(x), cy = pb.known(y);
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  Value vx = hostValue(pb, x), vy = hostValue(pb, y);
  switch (fn) {
  case Fn::And:
  case Fn::Mul:
  case Fn::Min:
    return cx && cy ? Dim(b.getBoolAttr(*cx && *cy))
                    : Dim(arith::AndIOp::create(b, loc, vx, vy).getResult());
  case Fn::Or:
  case Fn::Add:
  case Fn::Max:
    return cx && cy ? Dim(b.getBoolAttr(*cx || *cy))
                    : Dim(arith::OrIOp::create(b, loc, vx, vy).getResult());
  case Fn::Xor:
    return cx && cy ? Dim(b.getBoolAttr(!*cx != !*cy))
                    : Dim(arith::XOrIOp::create(b, loc, vx, vy).getResult());
  default:
    return {};
  }
}

Dim tcc::hostBinary(PrimBuilder &pb, StringRef op, Type type, Dim x, Dim y) {
  Fn fn = functionOf(op);
  if (isa<FloatType>(type))
    return floatBinary(pb, fn, type, x, y);
  if (type.isInteger(1))
    return boolBinary(pb, fn, x, y);
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
    return divisor && *divisor != 0 ? pb.floorDivDims(x, y) : Dim();
  case Fn::Div: {
    if (!divisor || *divisor == 0)
      return {};
    if (auto cx = pb.known(x))
      return pb.dim(*cx / *divisor);
    // Extents are not negative, but a difference of them may be: truncate exactly.
    Dim negative = pb.compareDims(arith::CmpIPredicate::slt, x, pb.dim(0));
    bool extent = isa<Value>(x) && cast<Value>(x).getDefiningOp<prim::DimOp>();
    Dim floor = pb.floorDivDims(x, y);
    return extent && *divisor > 0 ? floor : pb.selectDims(negative, pb.ceilDivDims(x, y), floor);
  }
  case Fn::Rem:
  case Fn::Mod: {
    auto cx = pb.known(x);
    if (!cx || !divisor || *divisor == 0)
      return {};
    int64_t rest = *cx % *divisor;
    if (fn == Fn::Mod && rest != 0 && (rest < 0) != (*divisor < 0))
      rest += *divisor;
    return pb.dim(rest);
  }
  default:
    return {};
  }
}

static Dim wholeExtent(PrimBuilder &pb, Value v);

/// floor or ceil of a host float by way of an integer, in arith alone.
static Dim roundedTo(PrimBuilder &pb, Type type, Dim x, bool up) {
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  Value v = hostValue(pb, x);
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
  return arith::SelectOp::create(b, loc, beyond, next, whole).getResult();
}

Dim tcc::hostUnary(PrimBuilder &pb, StringRef op, Type type, Dim x) {
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  if (type.isInteger(1)) {
    if (op != "prim.not")
      return {};
    if (auto c = pb.known(x))
      return b.getBoolAttr(!*c);
    Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    return arith::XOrIOp::create(b, loc, hostValue(pb, x), one).getResult();
  }
  if (isa<IntegerType>(type))
    return op == "prim.neg" ? pb.subDims(pb.dim(0), x) : Dim();
  auto c = constantFloat(x);
  if (op == "prim.floor")
    return c ? Dim(b.getFloatAttr(type, std::floor(toDouble(*c)))) : roundedTo(pb, type, x, false);
  if (op == "prim.ceil")
    return c ? Dim(b.getFloatAttr(type, std::ceil(toDouble(*c)))) : roundedTo(pb, type, x, true);
  if (!c)
    return {};
  if (op == "prim.neg")
    return b.getFloatAttr(type, -toDouble(*c));
  if (op == "prim.sqrt")
    return b.getFloatAttr(type, std::sqrt(toDouble(*c)));
  return {};
}

Dim tcc::hostCompare(PrimBuilder &pb, prim::ComparePredicate predicate, Type type, Dim x, Dim y) {
  using P = prim::ComparePredicate;
  OpBuilder &b = pb.builder();
  if (isa<FloatType>(type)) {
    auto cx = constantFloat(x), cy = constantFloat(y);
    if (!cx || !cy)
      return {};
    double l = toDouble(*cx), r = toDouble(*cy);
    bool holds = predicate == P::eq   ? l == r
                 : predicate == P::ne ? l != r
                 : predicate == P::lt ? l < r
                 : predicate == P::le ? l <= r
                 : predicate == P::gt ? l > r
                                      : l >= r;
    return b.getBoolAttr(holds);
  }
  static const std::map<P, arith::CmpIPredicate> table = {
      {P::eq, arith::CmpIPredicate::eq},  {P::ne, arith::CmpIPredicate::ne},
      {P::lt, arith::CmpIPredicate::slt}, {P::le, arith::CmpIPredicate::sle},
      {P::gt, arith::CmpIPredicate::sgt}, {P::ge, arith::CmpIPredicate::sge}};
  if (!type.isInteger(1))
    return pb.compareDims(table.at(predicate), x, y);
  auto cx = pb.known(x), cy = pb.known(y);
  if (!cx || !cy || (predicate != P::eq && predicate != P::ne))
    return {};
  return b.getBoolAttr((!*cx == !*cy) == (predicate == P::eq));
}

Dim tcc::hostSelect(PrimBuilder &pb, Type type, Dim condition, Dim x, Dim y) {
  if (auto c = pb.known(condition))
    return *c ? x : y;
  if (isa<IntegerType>(type) && !type.isInteger(1))
    return pb.selectDims(condition, x, y);
  return {};
}

/// The extent that a host float is, when it is one as it stands.
static Dim asExtent(Value v) {
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
    auto value = constantFloat(getAsOpFoldResult(c));
    if (!value)
      return std::nullopt;
    double d = toDouble(*value);
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

Dim tcc::hostCast(PrimBuilder &pb, Type from, Type to, Dim x) {
  OpBuilder &b = pb.builder();
  Location loc = pb.location();
  bool fromBool = from.isInteger(1), toBool = to.isInteger(1);
  if (from == to)
    return x;
  if (isa<FloatType>(from)) {
    auto c = constantFloat(x);
    if (c && isa<FloatType>(to))
      return b.getFloatAttr(to, toDouble(*c));
    if (c && toBool)
      return b.getBoolAttr(!c->isZero());
    if (c && std::isfinite(toDouble(*c)) && std::fabs(toDouble(*c)) < 9e18)
      return pb.dim(static_cast<int64_t>(toDouble(*c)));
    if (c || isa<FloatType>(to) || toBool)
      return {};
    if (Dim extent = wholeExtent(pb, hostValue(pb, x)))
      return extent;
    Value integer = arith::FPToSIOp::create(b, loc, b.getI64Type(), hostValue(pb, x));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), integer).getResult();
  }
  auto c = pb.known(x);
  if (isa<FloatType>(to)) {
    if (c)
      return b.getFloatAttr(to, fromBool ? (*c ? 1.0 : 0.0) : static_cast<double>(*c));
    if (fromBool)
      return arith::SelectOp::create(b, loc, hostValue(pb, x),
                                     arith::ConstantOp::create(b, loc, b.getFloatAttr(to, 1.0)),
                                     arith::ConstantOp::create(b, loc, b.getFloatAttr(to, 0.0)))
          .getResult();
    Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), hostValue(pb, x));
    return arith::SIToFPOp::create(b, loc, to, integer).getResult();
  }
  if (fromBool)
    return c ? pb.dim(*c ? 1 : 0) : pb.selectDims(x, pb.dim(1), pb.dim(0));
  if (toBool)
    return pb.compareDims(arith::CmpIPredicate::ne, x, pb.dim(0));
  return x; // i32 and i64 are both index here
}
