//===- AtenNode.cpp - Arguments of an FX node ----------------------------===//
//
// FX leaves out arguments that have their default, gives numbers as constants or as computed
// values, and lists of both. Rules must not see the difference. An argument that is there but is
// not a constant never passes for its default: that would compile another model.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/ComplexMath.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value AtenNode::tensor(StringRef name) const {
  Value v = c.arg(name);
  return v && b.rank(v) == 0 && llvm::is_contained(asVectors, name) ? b.unsqueeze(v, {0}) : v;
}

namespace {

/// An integer or, as Python has it, True as 1: the one bit of a BoolAttr is -1 as a signed integer.
std::optional<int64_t> wholeNumber(Attribute value) {
  if (auto truth = dyn_cast_or_null<BoolAttr>(value))
    return truth.getValue();
  auto integer = dyn_cast_or_null<IntegerAttr>(value);
  return integer ? std::optional(integer.getInt()) : std::nullopt;
}

} // namespace

bool AtenNode::has(StringRef name) const {
  Attribute value = c.attr(name);
  return value && !isa<UnitAttr>(value);
}

Value AtenNode::constant(Attribute value, Type elementType) const {
  auto type = RankedTensorType::get({}, elementType);
  if (auto truth = dyn_cast_or_null<BoolAttr>(value))
    return b.scalar(truth.getValue(), elementType);
  if (auto integer = dyn_cast_or_null<IntegerAttr>(value)) {
    if (auto t = dyn_cast<IntegerType>(elementType); t && t.getWidth() > 1)
      return b.constant(DenseElementsAttr::get(type, integer.getValue().sextOrTrunc(t.getWidth())));
    return b.scalar(static_cast<double>(integer.getInt()), elementType);
  }
  if (auto real = dyn_cast_or_null<FloatAttr>(value))
    return b.scalar(real.getValueAsDouble(), elementType);
  auto parts = dyn_cast_or_null<DictionaryAttr>(value);
  auto complex = dyn_cast<ComplexType>(elementType);
  auto re = parts ? dyn_cast_or_null<FloatAttr>(parts.get("real")) : FloatAttr();
  auto im = parts ? dyn_cast_or_null<FloatAttr>(parts.get("imag")) : FloatAttr();
  if (!complex || !re || !im)
    return {};
  Value x = b.scalar(re.getValueAsDouble(), complex.getElementType());
  Value y = b.scalar(im.getValueAsDouble(), complex.getElementType());
  return prim::ComplexOp::create(b.builder(), b.location(), type, x, y).getResult();
}

Value AtenNode::number(StringRef name, Type elementType) const {
  if (Value v = tensor(name))
    return cast(v, elementType);
  return has(name) ? constant(c.attr(name), elementType) : Value();
}

Value AtenNode::number(StringRef name, double otherwise, Type elementType) const {
  Value v = number(name, elementType);
  return v ? v : b.scalar(otherwise, elementType);
}

Value AtenNode::bound(StringRef name, Type elementType) const {
  auto t = dyn_cast<IntegerType>(elementType);
  auto integer = dyn_cast_or_null<IntegerAttr>(c.attr(name));
  if (!t || t.getWidth() == 1 || t.getWidth() == 64 || !integer)
    return number(name, elementType);
  int64_t low = t.isUnsigned() ? 0 : llvm::minIntN(t.getWidth());
  int64_t high = t.isUnsigned() ? llvm::maxUIntN(t.getWidth()) : llvm::maxIntN(t.getWidth());
  int64_t nearest = std::clamp(*wholeNumber(integer), low, high);
  return b.constant(
      DenseElementsAttr::get(RankedTensorType::get({}, t),
                             llvm::APInt(64, nearest, /*isSigned=*/true).trunc(t.getWidth())));
}

SmallVector<Value> AtenNode::tensors(StringRef name) const {
  SmallVector<Value> list;
  auto array = dyn_cast_or_null<ArrayAttr>(c.attr(name));
  if (!array)
    return list;
  for (Attribute element : array) {
    auto ref = dyn_cast<graph::OperandAttr>(element);
    list.push_back(ref && c.has(ref.getIndex()) ? c.in(ref.getIndex()) : Value());
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// An argument that is there but not as a constant must not pass for its default.
void AtenNode::needConstant(StringRef name) const {
  if (has(name))
    b.fault("'" + name + "' must be a constant");
}

int64_t AtenNode::integer(StringRef name, int64_t otherwise) const {
  auto value = extent(name);
  auto constant = value ? b.known(*value) : std::nullopt;
  if (!constant)
    needConstant(name);
  return constant.value_or(otherwise);
}

double AtenNode::real(StringRef name, double otherwise) const {
  Attribute value = c.attr(name);
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    return f.getValueAsDouble();
  if (auto i = wholeNumber(value))
    return static_cast<double>(*i);
  if (!isa_and_nonnull<StringAttr>(value))
    needConstant(name);
  return otherwise;
}

bool AtenNode::flag(StringRef name, bool otherwise) const {
  auto value = dyn_cast_or_null<BoolAttr>(c.attr(name));
  if (!value)
    needConstant(name);
  return value ? value.getValue() : otherwise;
}

StringRef AtenNode::text(StringRef name, StringRef otherwise) const {
  auto value = dyn_cast_or_null<StringAttr>(c.attr(name));
  return value ? value.getValue() : otherwise;
}

Dim AtenNode::extentOf(Attribute value) const {
  if (auto i = wholeNumber(value))
    return b.dim(*i);
  auto ref = dyn_cast_or_null<graph::OperandAttr>(value);
  if (!ref || !c.has(ref.getIndex()))
    return {};
  Value v = c.in(ref.getIndex());
  if (!isa<IntegerType>(b.elem(v)) || b.elem(v).isInteger(1) || !b.type(v).hasStaticShape() ||
      b.type(v).getNumElements() != 1)
    return {};
  return b.readElements(v)[0];
}

std::optional<Dim> AtenNode::extent(StringRef name) const {
  Dim d = extentOf(c.attr(name));
  return d ? std::optional(d) : std::nullopt;
}

Dim AtenNode::extent(StringRef name, int64_t otherwise) const {
  return extent(name).value_or(b.dim(otherwise));
}

std::optional<Dims> AtenNode::extents(StringRef name) const {
  auto array = dyn_cast_or_null<ArrayAttr>(c.attr(name));
  if (!array) {
    auto one = extent(name);
    return one ? std::optional(Dims{*one}) : std::nullopt;
  }
  Dims list;
  for (Attribute element : array) {
    Dim d = extentOf(element);
    if (!d)
      return std::nullopt;
    list.push_back(d);
  }
  return list;
}

std::optional<SmallVector<int64_t>> AtenNode::integers(StringRef name) const {
  auto list = extents(name);
  if (!list)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (Dim d : *list) {
    auto constant = b.known(d);
    if (!constant)
      return std::nullopt;
    values.push_back(*constant);
  }
  return values;
}

std::optional<SmallVector<double>> AtenNode::reals(StringRef name) const {
  auto array = dyn_cast_or_null<ArrayAttr>(c.attr(name));
  if (!array)
    return std::nullopt;
  SmallVector<double> values;
  for (Attribute element : array) {
    if (auto f = dyn_cast<FloatAttr>(element))
      values.push_back(f.getValueAsDouble());
    else if (auto i = wholeNumber(element))
      values.push_back(static_cast<double>(*i));
    else
      return std::nullopt;
  }
  return values;
}

FailureOr<SmallVector<int64_t>> AtenNode::window(StringRef name, size_t count,
                                                 int64_t otherwise) const {
  auto given = integers(name);
  if (!given)
    needConstant(name);
  SmallVector<int64_t> list = given.value_or(SmallVector<int64_t>());
  if (list.empty())
    list.push_back(otherwise);
  if (list.size() == 1)
    list.resize(count, list[0]);
  if (list.size() != count)
    return fail("'" + name + "' has " + llvm::Twine(list.size()) + " entries for " +
                llvm::Twine(count) + " axes");
  if (llvm::any_of(list, [](int64_t v) { return v < 0 || v > INT32_MAX; }))
    return fail("'" + name + "' has an entry out of range");
  return list;
}

FailureOr<int64_t> AtenNode::within(int64_t axis, int64_t rank) const {
  rank = std::max<int64_t>(rank, 1);
  if (axis < -rank || axis >= rank)
    return fail("axis " + llvm::Twine(axis) + " is out of range for rank " + llvm::Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<int64_t> AtenNode::axis(StringRef name, int64_t otherwise, int64_t rank) const {
  return within(integer(name, otherwise), rank);
}

FailureOr<SmallVector<int64_t>> AtenNode::axes(StringRef name, int64_t rank) const {
  auto given = integers(name);
  if (!given)
    needConstant(name);
  SmallVector<int64_t> list = given.value_or(SmallVector<int64_t>());
  if (list.empty() || rank == 0)
    return allAxes(rank);
  for (int64_t &axis : list) {
    auto inside = within(axis, rank);
    if (failed(inside))
      return failure();
    axis = *inside;
  }
  llvm::sort(list);
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    return fail("an axis is named twice");
  return list;
}

Type AtenNode::dtype(StringRef name) const {
  auto dtype = parseDType(text(name));
  return dtype ? prim::elementType(b.context(), *dtype) : Type();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type AtenNode::own(size_t i) const {
  auto elementOf = [&](size_t result) {
    auto t = dyn_cast<RankedTensorType>(c.node.getResult(result).getType());
    return t ? t.getElementType() : Type();
  };
  if (i < c.numResults())
    if (Type own = elementOf(i))
      return own;
  // What a mask leaves out or nobody reads has no type; the other gradients have the operand's.
  for (size_t other : llvm::seq(c.numResults()))
    if (Type own = elementOf(other); own && isFloat(own))
      return own;
  return b.builder().getF32Type();
}

Type AtenNode::wide(Type elementType) {
  if (auto f = dyn_cast<FloatType>(elementType); f && f.getWidth() < 32)
    return Float32Type::get(f.getContext());
  return elementType;
}

Type AtenNode::wide(size_t i) const { return wide(own(i)); }

namespace {

/// bool < integer < float < complex.
int category(Type t) {
  if (isa<ComplexType>(t))
    return 3;
  if (isa<FloatType>(t))
    return 2;
  return t.isInteger(1) ? 0 : 1;
}

/// Of what is complex and as precise as this real type; halves are complex<f32> here.
Type complexOf(Type real) {
  Type f32 = Float32Type::get(real.getContext());
  return ComplexType::get(real.isF64() ? real : f32);
}

Type wider(Type x, Type y) {
  if (!x || x == y)
    return y;
  if (category(x) > category(y))
    std::swap(x, y);
  if (isa<FloatType>(x) && isa<ComplexType>(y) && x.isF64())
    return complexOf(x);
  if (category(x) != category(y))
    return category(x) < category(y) ? y : x;
  if (auto cx = dyn_cast<ComplexType>(x))
    return cx.getElementType().getIntOrFloatBitWidth() >= 64 ? x : y;
  unsigned wx = x.getIntOrFloatBitWidth(), wy = y.getIntOrFloatBitWidth();
  if (wx == wy) // f16 with bf16 is f32; u8 with i8 is i16
    return isa<FloatType>(x) ? Type(Float32Type::get(x.getContext()))
                             : Type(IntegerType::get(x.getContext(), std::min(2 * wx, 64u)));
  Type big = wx > wy ? x : y;
  return big.isUnsignedInteger() && !(wx > wy ? y : x).isUnsignedInteger() && !x.isInteger(1)
             ? Type(
                   IntegerType::get(x.getContext(), std::min(2 * big.getIntOrFloatBitWidth(), 64u)))
             : big;
}

} // namespace

Type AtenNode::promoted(ArrayRef<StringRef> names) const {
  // Tensors with axes count before rank-0 tensors, and those before numbers,
  // unless the later ones are of a higher category.
  Type byPriority[3];
  Type f32 = b.builder().getF32Type(), i64 = b.builder().getI64Type();
  for (StringRef name : names) {
    if (Value v = tensor(name)) {
      Type &slot = byPriority[b.rank(v) == 0 ? 1 : 0];
      slot = wider(slot, b.elem(v));
      continue;
    }
    Attribute value = c.attr(name);
    Type t = isa_and_nonnull<BoolAttr>(value)         ? Type(b.builder().getI1Type())
             : isa_and_nonnull<IntegerAttr>(value)    ? i64
             : isa_and_nonnull<FloatAttr>(value)      ? f32
             : isa_and_nonnull<DictionaryAttr>(value) ? Type(ComplexType::get(f32))
                                                      : Type();
    if (t)
      byPriority[2] = wider(byPriority[2], t);
  }
  Type result = byPriority[0];
  for (Type t : {byPriority[1], byPriority[2]})
    if (t && (!result || category(t) > category(result)))
      result = result && isa<FloatType>(result) ? complexOf(result) : t;
  return result ? result : f32;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Of the floats of 8 bits, torch holds at the largest those alone that have no infinity but NaN of
/// both signs; others overflow to what they have beyond it.
static Value castAsTorch(PrimBuilder &b, Value v, Type t) {
  bool overflows = isa<Float8E5M2Type, Float8E4M3FNUZType, Float8E5M2FNUZType>(t);
  return b.cast(v, t, /*saturate=*/!overflows);
}

LogicalResult AtenNode::give(size_t i, Value v) {
  if (i >= c.numResults() || isa<NoneType>(c.node.getResult(i).getType()))
    return success();
  auto stated = dyn_cast<RankedTensorType>(c.node.getResult(i).getType());
  if (!asVectors.empty() && stated && stated.getRank() == 0 && b.rank(v) == 1)
    v = b.reshape(v, ArrayRef<int64_t>{});
  return c.give(i, castAsTorch(b, v, own(i)));
}

Value AtenNode::cast(Value v, Type t) const {
  if (isa<ComplexType>(b.elem(v)) && !isa<ComplexType>(t) && !t.isInteger(1))
    b.fault("complex operands are not supported");
  return castAsTorch(b, v, t);
}

Value AtenNode::wideTensor(StringRef name) const {
  Value v = tensor(name);
  return isa<ComplexType>(b.elem(v)) && !isa<ComplexType>(own()) ? v : cast(v, wide());
}

Value AtenNode::difference(StringRef x, StringRef y) const {
  Type common = promoted({x, y});
  if (!isa<IntegerType>(common))
    return b.sub(wideTensor(x), wideTensor(y));
  return b.sub(cast(tensor(x), common), cast(tensor(y), common));
}

Value AtenNode::magnitude(Value v) const { return complexmath::magnitudeOf(b, v); }
Value AtenNode::conjugate(Value v) const { return complexmath::conjugate(b, v); }

Value AtenNode::extentTensor(Dim d, Type elementType) const {
  return b.cast(b.fromHost({d}, {}, b.builder().getI64Type()), elementType);
}

LogicalResult AtenNode::giveExtent(Dim d) { return give(extentTensor(d, own())); }

void tcc::aten::addRules(RuleSet &rules, std::initializer_list<AtenEntry> table, StringRef domain) {
  for (const AtenEntry &entry : table) {
    SmallVector<StringRef> overloads, required, asVectors;
    entry.overloads.split(overloads, ' ', -1, false);
    entry.required.split(required, ' ', -1, false);
    entry.asVectors.split(asVectors, ' ', -1, false);
    auto rule = [required, asVectors, body = entry.rule](NodeContext &c) -> LogicalResult {
      AtenNode a(c, asVectors);
      for (StringRef name : required)
        if (!a.tensor(name))
          return c.fail("argument '" + name + "' is no tensor");
      return body(a);
    };
    if (overloads.empty())
      rules.add(domain, entry.op, rule);
    for (StringRef overload : overloads)
      rules.add(domain, (entry.op + "." + overload).str(), rule);
  }
}
