//===- PrimBuilderHost.cpp - Small tensors of host scalars ----------------===//
//
// Exporters write shape computation as tensor operators on tiny i64 (and i32,
// bool, f32) tensors. Their elements are followed here as host scalars: index
// values for integers, i1 for bool, floats as they are. Whatever can be done on
// host scalars is, and gives prim.constant or prim.from_elements. Operators on
// constants alone, of any element type, are evaluated as constant folding does.
//
//===----------------------------------------------------------------------===//
#include "HostReads.h"
#include "HostScalars.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include <cmath>

using namespace mlir;
using namespace tcc;

static constexpr int64_t kMaxHostElements = 64;

/// A value as an attribute when it is a constant.
static Dim simplest(Value v) {
  Attribute attr;
  if (matchPattern(v, m_Constant(&attr)))
    return attr;
  return v;
}

std::optional<Dims> PrimBuilder::hostElements(Value tensor) {
  auto t = dyn_cast<RankedTensorType>(tensor.getType());
  if (!t || !t.hasStaticShape() || t.getNumElements() > kMaxHostElements ||
      !isHostType(t.getElementType()))
    return std::nullopt;
  Dims elements;
  if (auto from = tensor.getDefiningOp<prim::FromElementsOp>()) {
    for (Value v : from.getElements())
      elements.push_back(simplest(v));
    return elements;
  }
  auto constant = tensor.getDefiningOp<prim::ConstantOp>();
  if (!constant)
    return std::nullopt;
  if (isa<FloatType>(t.getElementType())) {
    for (APFloat v : constant.getElements().getValues<APFloat>())
      elements.push_back(b.getFloatAttr(t.getElementType(), v));
  } else if (t.getElementType().isInteger(1)) {
    for (bool v : constant.getElements().getValues<bool>())
      elements.push_back(b.getBoolAttr(v));
  } else {
    for (APInt v : constant.getElements().getValues<APInt>())
      elements.push_back(dim(v.getSExtValue()));
  }
  return elements;
}

Dims tcc::extractElements(PrimBuilder &pb, Value tensor) {
  Type e = pb.elem(tensor);
  Type scalar = e.isInteger(1) || isa<FloatType>(e) ? e : pb.builder().getIndexType();
  Dims elements;
  for (int64_t i = 0, n = pb.type(tensor).getNumElements(); i < n; ++i)
    elements.push_back(
        prim::ExtractOp::create(pb.builder(), pb.location(), scalar, tensor, i).getResult());
  return elements;
}

Dims PrimBuilder::readElements(Value tensor) {
  if (auto computed = hostReads(*this, tensor))
    return *computed;
  return extractElements(*this, tensor);
}

/// Element `i` of dense bytes as its bits; sub-byte types are packed, low bits first.
static APInt bitsAt(const Weight &weight, unsigned width, uint64_t i) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(weight.bytes.data());
  if (width < 8)
    return APInt(width, (bytes[i * width / 8] >> (i * width % 8)) & ((1u << width) - 1));
  uint64_t bits = 0;
  for (unsigned k = 0; k < width / 8; ++k)
    bits |= static_cast<uint64_t>(bytes[i * (width / 8) + k]) << (8 * k);
  return APInt(width, bits);
}

static unsigned storedWidth(const Weight &weight) {
  return weight.dtype == DType::Bool ? 8 : bitWidth(weight.dtype);
}

Value PrimBuilder::constant(const Weight &weight) {
  Type type = prim::elementType(context(), weight.dtype);
  auto t = RankedTensorType::get(weight.shape, type);
  unsigned width = storedWidth(weight);
  auto at = [&](uint64_t i, unsigned bits) { return bitsAt(weight, bits, i); };
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    const auto &semantics = cast<FloatType>(complexType.getElementType()).getFloatSemantics();
    SmallVector<std::complex<APFloat>> values;
    for (uint64_t i = 0; i < weight.elements(); ++i)
      values.emplace_back(APFloat(semantics, at(2 * i, width / 2)),
                          APFloat(semantics, at(2 * i + 1, width / 2)));
    return constant(DenseElementsAttr::get(t, values));
  }
  if (auto floatType = dyn_cast<FloatType>(type)) {
    SmallVector<APFloat> values;
    for (uint64_t i = 0; i < weight.elements(); ++i)
      values.emplace_back(floatType.getFloatSemantics(), at(i, width));
    return constant(DenseElementsAttr::get(t, values));
  }
  SmallVector<APInt> values;
  for (uint64_t i = 0; i < weight.elements(); ++i)
    values.push_back(weight.dtype == DType::Bool ? APInt(1, at(i, 8) != 0) : at(i, width));
  return constant(DenseElementsAttr::get(t, values));
}

/// The weight that `tensor` is, when it has not too many elements to look at, or null.
static const Weight *moderateWeight(const WeightTable *weights, Value tensor) {
  constexpr uint64_t kMany = 1 << 20;
  auto op = tensor.getDefiningOp<prim::WeightOp>();
  const Weight *weight = op && weights ? weights->describe(op.getName()) : nullptr;
  return weight && weight->elements() <= kMany ? weights->lookup(op.getName()) : nullptr;
}

static std::optional<SmallVector<int64_t>> weightInts(const WeightTable *weights, Value tensor) {
  const Weight *weight = moderateWeight(weights, tensor);
  if (!weight)
    return std::nullopt;
  bool isSigned = isSignedInt(weight->dtype);
  if (!isSigned && !isUnsignedInt(weight->dtype) && weight->dtype != DType::Bool)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (uint64_t i = 0; i < weight->elements(); ++i) {
    APInt bits = bitsAt(*weight, storedWidth(*weight), i);
    values.push_back(isSigned ? bits.getSExtValue() : static_cast<int64_t>(bits.getZExtValue()));
  }
  return values;
}

std::optional<SmallVector<int64_t>> PrimBuilder::constantInts(Value tensor) {
  SmallVector<int64_t> values;
  if (auto fromWeight = weightInts(weights, tensor))
    return fromWeight;
  auto constant = tensor.getDefiningOp<prim::ConstantOp>();
  if (constant && isa<IntegerType>(elem(tensor))) {
    bool isUnsigned = prim::isUnsigned(elem(tensor));
    for (APInt v : constant.getElements().getValues<APInt>())
      values.push_back(isUnsigned ? v.getZExtValue() : v.getSExtValue());
    return values;
  }
  if (auto elements = hostElements(tensor)) {
    for (Dim d : *elements) {
      auto value = known(d);
      if (!value)
        return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }
  return std::nullopt;
}

std::optional<SmallVector<double>> PrimBuilder::constantFloats(Value tensor) {
  auto floatType = dyn_cast<FloatType>(elem(tensor));
  if (!floatType)
    return std::nullopt;
  SmallVector<double> values;
  auto keep = [&](APFloat v) {
    bool lost;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    values.push_back(v.convertToDouble());
  };
  if (const Weight *weight = moderateWeight(weights, tensor)) {
    for (uint64_t i = 0; i < weight->elements(); ++i)
      keep(APFloat(floatType.getFloatSemantics(), bitsAt(*weight, storedWidth(*weight), i)));
    return values;
  }
  auto constant = tensor.getDefiningOp<prim::ConstantOp>();
  if (!constant)
    return std::nullopt;
  for (APFloat v : constant.getElements().getValues<APFloat>())
    keep(v);
  return values;
}

Value PrimBuilder::constant(ElementsAttr value) {
  return prim::ConstantOp::create(b, loc, value.getType(), cast<TypedAttr>(value)).getResult();
}

Attribute tcc::numberAttr(Type t, double value) {
  Builder b(t.getContext());
  if (auto f = dyn_cast<FloatType>(t))
    return b.getFloatAttr(f, value);
  if (auto i = dyn_cast<IntegerType>(t)) {
    if (i.getWidth() == 1)
      return b.getBoolAttr(value != 0);
    // The nearest of 64 bits; a negative number stands for what it wraps to.
    APSInt nearest(64, i.isUnsigned() && value >= 0);
    bool exact;
    APFloat(value).convertToInteger(nearest, APFloat::rmTowardZero, &exact);
    return IntegerAttr::get(t, nearest.trunc(i.getWidth()));
  }
  auto part = cast<FloatType>(cast<ComplexType>(t).getElementType());
  return b.getArrayAttr({b.getFloatAttr(part, value), b.getFloatAttr(part, 0)});
}

Value PrimBuilder::scalar(double value, Type elementType) {
  auto t = RankedTensorType::get({}, elementType);
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    auto part = cast<FloatType>(complex.getElementType());
    bool lost;
    APFloat re(value), im(0.0);
    re.convert(part.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    im.convert(part.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return constant(DenseElementsAttr::get(t, std::complex<APFloat>(re, im)));
  }
  return constant(DenseElementsAttr::get(t, numberAttr(elementType, value)));
}

Value PrimBuilder::ints(ArrayRef<int64_t> values) {
  auto t = RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type());
  return constant(DenseElementsAttr::get(t, values));
}

Value PrimBuilder::fromHost(ArrayRef<Dim> elements, ArrayRef<int64_t> shape, Type elementType) {
  auto t = RankedTensorType::get(shape, elementType);
  if (llvm::all_of(elements, [](Dim d) { return isa<Attribute>(d); })) {
    SmallVector<Attribute> attrs;
    for (Dim d : elements) {
      auto attr = cast<Attribute>(d);
      if (auto i = dyn_cast<IntegerAttr>(attr); i && i.getType() != elementType)
        attr = IntegerAttr::get(elementType,
                                i.getValue().sextOrTrunc(elementType.getIntOrFloatBitWidth()));
      attrs.push_back(attr);
    }
    return constant(DenseElementsAttr::get(t, attrs));
  }
  SmallVector<Value> values;
  for (Dim d : elements)
    values.push_back(hostValue(*this, d));
  return prim::FromElementsOp::create(b, loc, t, values).getResult();
}

Value tcc::hostValue(PrimBuilder &pb, Dim d) {
  if (auto v = dyn_cast<Value>(d))
    return v;
  auto attr = cast<TypedAttr>(cast<Attribute>(d));
  return arith::ConstantOp::create(pb.builder(), pb.location(), attr).getResult();
}

//===----------------------------------------------------------------------===//
// Folding of elementwise operators
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> tcc::broadcastStatic(ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  SmallVector<int64_t> shape(std::max(x.size(), y.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t ex = i < x.size() ? x[x.size() - 1 - i] : 1,
            ey = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (ex != ey && ex != 1 && ey != 1)
      return std::nullopt;
    shape[shape.size() - 1 - i] = ex == 1 ? ey : ex;
  }
  int64_t count = 1;
  for (int64_t e : shape)
    count *= e;
  return count > kMaxHostElements ? std::nullopt : std::optional(shape);
}

int64_t tcc::broadcastIndex(int64_t linear, ArrayRef<int64_t> result, ArrayRef<int64_t> operand) {
  int64_t index = 0, stride = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t extent = result[result.size() - 1 - i], at = linear % extent;
    linear /= extent;
    if (i < operand.size()) {
      int64_t own = operand[operand.size() - 1 - i];
      index += (own == 1 ? 0 : at) * stride;
      stride *= own;
    }
  }
  return index;
}

static bool isSmall(Value v) {
  auto t = cast<RankedTensorType>(v.getType());
  return t.hasStaticShape() && t.getNumElements() <= kMaxHostElements;
}

/// What `op` gives for `operands`, if the reference interpreter can tell.
static std::optional<reference::Tensor> evaluate(Operation *op,
                                                 ArrayRef<reference::Tensor> operands) {
  auto results = reference::evaluateOp(op, operands, WeightTable());
  if (results)
    return (*results)[0];
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

/// The value of a small constant, or of one that is broadcast.
static std::optional<reference::Tensor> constantValue(Value v) {
  if (!isSmall(v))
    return std::nullopt;
  if (auto constant = v.getDefiningOp<prim::ConstantOp>()) {
    auto tensor = reference::tensorOf(constant.getElements());
    if (tensor)
      return std::move(*tensor);
    llvm::consumeError(tensor.takeError());
  }
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  auto x = broadcast ? constantValue(broadcast.getX()) : std::nullopt;
  return x ? evaluate(broadcast, *x) : std::nullopt;
}

Value PrimBuilder::folded(Operation *op) {
  Value result = op->getResult(0);
  SmallVector<reference::Tensor> operands;
  if (!problem.empty() || !isSmall(result)) // what a fault left behind may not even verify
    return result;
  for (Value operand : op->getOperands()) {
    auto value = constantValue(operand);
    if (!value)
      return result;
    operands.push_back(std::move(*value));
  }
  auto value = evaluate(op, operands);
  if (!value)
    return result;
  RankedTensorType t = type(result);
  op->erase();
  return constant(reference::attributeOf(*value, t));
}

/// Whether the host should compute on these: the elements of all are known, and those
/// of one at run time only.
static bool collect(PrimBuilder &pb, ArrayRef<Value> operands, SmallVectorImpl<Dims> &lists) {
  bool constant = true;
  for (Value v : operands) {
    auto elements = pb.hostElements(v);
    if (!elements)
      return false;
    constant &= v.getDefiningOp<prim::ConstantOp>() != nullptr;
    lists.push_back(std::move(*elements));
  }
  return !constant;
}

Value PrimBuilder::foldBinary(StringRef op, Value x, Value y) {
  SmallVector<Dims, 2> lists;
  if (elem(x) != elem(y) || !collect(*this, {x, y}, lists))
    return {};
  auto shape = broadcastStatic(type(x).getShape(), type(y).getShape());
  if (!shape)
    return {};
  Dims result;
  for (int64_t i = 0, n = ShapedType::getNumElements(*shape); i < n; ++i) {
    Dim d = hostBinary(*this, op, elem(x), lists[0][broadcastIndex(i, *shape, type(x).getShape())],
                       lists[1][broadcastIndex(i, *shape, type(y).getShape())]);
    if (!d)
      return {};
    result.push_back(d);
  }
  return fromHost(result, *shape, elem(x));
}

Value PrimBuilder::foldUnary(StringRef op, Value x) {
  SmallVector<Dims, 1> lists;
  if (!collect(*this, {x}, lists))
    return {};
  Dims result;
  for (Dim d : lists[0]) {
    Dim folded = hostUnary(*this, op, elem(x), d);
    if (!folded)
      return {};
    result.push_back(folded);
  }
  return fromHost(result, type(x).getShape(), elem(x));
}
