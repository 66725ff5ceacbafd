#include "Dialect/Prim/Verify.h"

using namespace mlir;
using namespace tcc::prim;

/// Operands and result of one domain: floats, integers or complex numbers; an
/// element of the result holds any of theirs.
static LogicalResult verifyProduct(Operation *op, Value lhs, Value rhs, Value result) {
  auto element = [](Value value) { return tensorType(value).getElementType(); };
  Type to = element(result);
  for (Value operand : {lhs, rhs}) {
    Type from = element(operand);
    if (isa<FloatType>(from) != isa<FloatType>(to) ||
        isa<ComplexType>(from) != isa<ComplexType>(to))
      return op->emitOpError("multiplies ") << from << " into " << to;
    std::optional<tcc::DType> narrow = dtypeOf(from), wide = dtypeOf(to);
    if (!narrow || !wide || tcc::bitWidth(*narrow) > tcc::bitWidth(*wide))
      return op->emitOpError("multiplies ") << from << " into " << to;
  }
  return success();
}

LogicalResult DotOp::verify() {
  auto lhs = tensorType(getLhs()), rhs = tensorType(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size())
    return emitOpError("pairs a different number of axes on the two sides");
  SmallVector<int64_t> lhsUsed(getLhsBatch()), rhsUsed(getRhsBatch());
  llvm::append_range(lhsUsed, getLhsContract());
  llvm::append_range(rhsUsed, getRhsContract());
  if (failed(verifyAxes(*this, lhsUsed, getLhs())) || failed(verifyAxes(*this, rhsUsed, getRhs())))
    return failure();
  for (auto [l, r] : llvm::zip(lhsUsed, rhsUsed))
    if (!lhs.isDynamicDim(l) && !rhs.isDynamicDim(r) && lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOpError("pairs axes of extent ")
             << lhs.getDimSize(l) << " and " << rhs.getDimSize(r);
  if (failed(verifyProduct(*this, getLhs(), getRhs(), getResult())))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t axis : getLhsBatch())
    expected.push_back(lhs.getDimSize(axis));
  for (int64_t i = 0; i < lhs.getRank(); ++i)
    if (!llvm::is_contained(lhsUsed, i))
      expected.push_back(lhs.getDimSize(i));
  for (int64_t i = 0; i < rhs.getRank(); ++i)
    if (!llvm::is_contained(rhsUsed, i))
      expected.push_back(rhs.getDimSize(i));
  return verifyShape(*this, getResult(), expected);
}

LogicalResult ConvOp::verify() {
  auto x = tensorType(getX()), w = tensorType(getW());
  size_t spatial = getStrides().size();
  if (x.getRank() != static_cast<int64_t>(spatial) + 2 || w.getRank() != x.getRank())
    return emitOpError("has ") << spatial << " strides for tensors of rank " << x.getRank()
                               << " and " << w.getRank();
  for (ArrayRef<int64_t> list : {getDilations(), getInputDilation(), getLow(), getHigh()})
    if (list.size() != spatial)
      return emitOpError("needs one entry for each of ") << spatial << " spatial axes";
  int64_t channels = x.getDimSize(getChannelsLast() ? x.getRank() - 1 : 1);
  if (getGroups() < 1)
    return emitOpError("has ") << getGroups() << " groups";
  if (!ShapedType::isDynamic(channels) && !w.isDynamicDim(1) &&
      channels != w.getDimSize(1) * static_cast<int64_t>(getGroups()))
    return emitOpError("has ") << channels << " input channels, its weight expects "
                               << w.getDimSize(1) * static_cast<int64_t>(getGroups());
  if (!w.isDynamicDim(0) && w.getDimSize(0) % static_cast<int64_t>(getGroups()) != 0)
    return emitOpError("has ") << w.getDimSize(0) << " output channels for " << getGroups()
                               << " groups";
  for (ArrayRef<int64_t> list : {getStrides(), getDilations(), getInputDilation()})
    if (llvm::any_of(list, [](int64_t n) { return n < 1; }))
      return emitOpError("has a stride or dilation below 1");
  SmallVector<int64_t> expected(x.getRank(), ShapedType::kDynamic);
  expected[0] = x.getDimSize(0);
  expected[getChannelsLast() ? x.getRank() - 1 : 1] = w.getDimSize(0);
  if (failed(verifyShape(*this, getResult(), expected)) ||
      failed(verifyProduct(*this, getX(), getW(), getResult())))
    return failure();
  return verifySizes(*this, getSizes(), getResult());
}

static LogicalResult verifyPanels(Operation *op, Value panels) {
  auto type = tensorType(panels);
  bool bytes = type.getRank() == 5 && type.getElementType().isInteger(8);
  if ((type.getRank() != 4 && !bytes) || !type.hasStaticShape())
    return op->emitOpError("needs panels of static shape [groups, panels, k, width], or "
                           "[groups, panels, steps, width, size] of bytes");
  return success();
}

LogicalResult PackedDotOp::verify() {
  if (failed(verifyPanels(*this, getPanels())))
    return failure();
  auto lhs = tensorType(getLhs());
  auto panels = tensorType(getPanels());
  int64_t k = panels.getDimSize(2);
  if (panels.getRank() == 5) {
    // One step more may hold column sums.
    int64_t size = panels.getDimSize(4);
    bool isKnown = lhs.getRank() > 0 && !lhs.isDynamicDim(lhs.getRank() - 1) && size > 0;
    int64_t steps = isKnown ? llvm::divideCeil(lhs.getShape().back(), size) : -1;
    if (steps != k && steps != k - 1)
      return emitOpError("contracts an axis that does not fill ") << k << " steps of " << size;
  } else if (lhs.getRank() == 0 ||
             (!lhs.isDynamicDim(lhs.getRank() - 1) && lhs.getShape().back() != k)) {
    return emitOpError("contracts an axis that is not ") << k << " long";
  }
  SmallVector<int64_t> expected(lhs.getShape().drop_back());
  expected.push_back(getColumns());
  return verifyShape(*this, getResult(), expected);
}

static LogicalResult verifyWinograd(PackedConvOp op) {
  if (op.getWinograd() != 2)
    return op.emitOpError("has tiles of ") << op.getWinograd() << " outputs a side, 2 exist";
  auto ones = [](ArrayRef<int64_t> list) { return llvm::all_equal(list) && list[0] == 1; };
  if (op.getWindow() != ArrayRef<int64_t>({3, 3}) || !ones(op.getStrides()) ||
      !ones(op.getDilations()) || op.getGroups() != 1)
    return op.emitOpError("is in tiles, which need a 3x3 window, stride, dilation and groups 1");
  auto x = tensorType(op.getX()), panels = tensorType(op.getPanels());
  for (Value value : {op.getX(), op.getPanels(), op.getResult()})
    if (!tensorType(value).getElementType().isF32())
      return op.emitOpError("is in tiles, which need f32");
  auto filters = static_cast<int64_t>(op.getFilters());
  if (panels.getDimSize(1) != 16 || panels.getDimSize(2) != x.getShape().back() ||
      panels.getDimSize(0) * panels.getDimSize(3) < filters)
    return op.emitOpError("needs panels of 16 points, ")
           << x.getShape().back() << " channels and at least " << filters << " columns";
  return verifySizes(op, op.getSizes(), op.getResult());
}

LogicalResult PackedConvOp::verify() {
  if (failed(verifyPanels(*this, getPanels())))
    return failure();
  size_t spatial = getWindow().size();
  if (tensorType(getX()).getRank() != static_cast<int64_t>(spatial) + 2)
    return emitOpError("has a window of ")
           << spatial << " axes for a tensor of rank " << tensorType(getX()).getRank();
  for (ArrayRef<int64_t> list : {getStrides(), getDilations(), getLow()})
    if (list.size() != spatial)
      return emitOpError("needs one entry for each of ") << spatial << " spatial axes";
  for (ArrayRef<int64_t> list : {getWindow(), getStrides(), getDilations()})
    if (llvm::any_of(list, [](int64_t n) { return n < 1; }))
      return emitOpError("has a window, stride or dilation below 1");
  if (getWinograd())
    return verifyWinograd(*this);
  auto groups = static_cast<int64_t>(getGroups()), filters = static_cast<int64_t>(getFilters());
  int64_t packed = tensorType(getPanels()).getDimSize(0);
  if (groups < 1 || filters % groups != 0 || (packed != groups && packed != 1))
    return emitOpError("has ") << filters << " filters in " << groups << " groups, its panels "
                               << packed << " groups";
  return verifySizes(*this, getSizes(), getResult());
}

LogicalResult FftOp::verify() {
  auto x = tensorType(getX());
  if (failed(verifyAxis(*this, getAxis(), getX())) ||
      failed(verifyElementType(*this, getResult(), x.getElementType())))
    return failure();
  return verifyShape(*this, getResult(), x.getShape());
}
