#include "Decompose/Onnx/Operands.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;

Type tcc::onnxElementType(MLIRContext *context, int64_t code) {
  static constexpr DType kByCode[] = {
      DType::F32,  DType::U8,       DType::I8,         DType::U16,       DType::I16,
      DType::I32,  DType::I64,      DType::Bool,       DType::Bool,      DType::F16,
      DType::F64,  DType::U32,      DType::U64,        DType::C64,       DType::C128,
      DType::BF16, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2,    DType::F8E5M2FNUZ,
      DType::U4,   DType::I4,       DType::F4E2M1FN,   DType::F8E8M0FNU, DType::U2,
      DType::I2};
  constexpr int64_t kString = 8;
  if (code < 1 || code > static_cast<int64_t>(std::size(kByCode)) || code == kString)
    return {};
  return prim::elementType(context, kByCode[code - 1]);
}

FailureOr<int64_t> tcc::axisWithin(NodeContext &c, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return c.fail("axis " + llvm::Twine(axis) + " is out of range for rank " + llvm::Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> tcc::axesWithin(NodeContext &c, ArrayRef<int64_t> axes,
                                                int64_t rank) {
  SmallVector<int64_t> sorted;
  for (int64_t axis : axes) {
    auto within = axisWithin(c, axis, rank);
    if (failed(within))
      return failure();
    sorted.push_back(*within);
  }
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return c.fail("an axis is named twice");
  return sorted;
}

FailureOr<int64_t> tcc::axisAttr(NodeContext &c, int64_t otherwise) {
  return axisWithin(c, c.intAttr("axis", otherwise), c.b.rank(c.in(0)));
}

FailureOr<Dims> tcc::hostInts(NodeContext &c, size_t i, std::optional<int64_t> count) {
  Value v = c.in(i);
  RankedTensorType t = c.b.type(v);
  if (!isa<IntegerType>(t.getElementType()))
    return c.fail("operand " + llvm::Twine(i) + " must be integers");
  if (auto constants = c.b.constantInts(v)) {
    Dims list;
    for (int64_t value : *constants)
      list.push_back(c.b.dim(value));
    return list;
  }
  constexpr int64_t kMany = 1024;
  if (t.hasStaticShape() && t.getNumElements() <= kMany)
    return c.b.readElements(v);
  if (t.getRank() != 1 || !count || !t.isDynamicDim(0) || *count > kMany)
    return c.fail("operand " + llvm::Twine(i) + " has an unknown number of elements");
  c.b.check(c.b.compareDims(arith::CmpIPredicate::eq, c.b.dim(v, 0), c.b.dim(*count)),
            "a shape operand has an unexpected number of elements");
  return c.b.readElements(c.b.reshape(v, {c.b.dim(*count)}));
}

FailureOr<Dim> tcc::hostInt(NodeContext &c, size_t i) {
  auto list = hostInts(c, i, 1);
  if (failed(list))
    return failure();
  if (list->size() != 1)
    return c.fail("operand " + llvm::Twine(i) + " must have one element");
  return list->front();
}

std::optional<int64_t> tcc::resultRank(NodeContext &c, size_t i) {
  if (i >= c.numResults())
    return std::nullopt;
  auto t = dyn_cast<RankedTensorType>(c.node.getResult(i).getType());
  return t ? std::optional(t.getRank()) : std::nullopt;
}

FailureOr<Value> tcc::scalarOperand(NodeContext &c, size_t i) {
  Value v = c.in(i);
  for (Dim d : c.b.dims(v)) {
    if (c.b.known(d).value_or(1) != 1)
      return c.fail("operand " + llvm::Twine(i) + " must have one element");
    requireSame(c.b, d, c.b.dim(1), "an operand of one element");
  }
  return c.b.reshape(v, ArrayRef<Dim>());
}

std::optional<SmallVector<Value>> tcc::tensorsOf(ArrayRef<Lowered> list) {
  SmallVector<Value> values;
  for (const Lowered &l : list) {
    if (l.kind != Lowered::Kind::Tensor)
      return std::nullopt;
    values.push_back(l.value);
  }
  return values;
}

LogicalResult tcc::giveAll(NodeContext &c, ArrayRef<Lowered> values) {
  if (values.size() < c.numResults())
    return c.fail("the subgraph has " + llvm::Twine(values.size()) + " outputs");
  for (size_t i = 0; i < c.numResults(); ++i)
    (void)c.give(i, values[i]);
  return success();
}

Dim tcc::isNamedAxis(PrimBuilder &b, ArrayRef<Dim> axes, int64_t axis, int64_t rank) {
  Dim any = b.builder().getBoolAttr(false);
  for (Dim named : axes)
    for (int64_t form : {axis, axis - rank})
      any = b.orDims(any, b.compareDims(arith::CmpIPredicate::eq, named, b.dim(form)));
  return any;
}

Dims tcc::keptExtents(PrimBuilder &b, ArrayRef<Dim> extents, ArrayRef<Dim> gone, int64_t count) {
  Dims kept(count, b.dim(1));
  Dim position = b.dim(0);
  for (auto [extent, isGone] : llvm::zip(extents, gone)) {
    for (int64_t i = 0; i < count; ++i) {
      Dim at = b.compareDims(arith::CmpIPredicate::eq, position, b.dim(i));
      kept[i] = b.selectDims(b.andDims(b.notDim(isGone), at), extent, kept[i]);
    }
    position = b.addDims(position, b.selectDims(isGone, b.dim(0), b.dim(1)));
  }
  return kept;
}
