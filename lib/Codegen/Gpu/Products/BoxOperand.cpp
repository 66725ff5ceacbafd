//===- BoxOperand.cpp - Operands that bulk copies bring -------------------===//
//
// Each axis of the memory is cut where the view cuts it. A copy fills with zeros what lies outside
// of the tensor that its map describes; the map's outermost axis can end where the view ends, the
// others are as long as memory has them.
//
//===----------------------------------------------------------------------===//
#include "BoxOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Which axis of the view a factor belongs to, and how far one step along it goes there.
static std::pair<int, int64_t> placeInView(const ViewFactors &view, unsigned id) {
  for (auto [axis, factors] : llvm::enumerate(view.axes())) {
    int64_t divisor = 1;
    for (unsigned factor : llvm::reverse(factors)) {
      if (factor == id)
        return {int(axis), divisor};
      divisor *= *getConstantIntValue(view.factor(factor).extent);
    }
  }
  return {-1, 1};
}

/// The memory's axes, cut as the view cuts them; open ones, whose extent is kDynamic, are whole.
/// None where a cut leaves a remainder.
static std::optional<SmallVector<BoxAxis, 5>> cutAxes(const ViewFactors &view) {
  SmallVector<BoxAxis, 5> axes;
  for (auto [axis, given, begin] : llvm::enumerate(view.sourceExtents(), view.starts())) {
    int64_t left = *getConstantIntValue(given), start = begin;
    if (ShapedType::isDynamic(left)) {
      const auto *id = llvm::find_if(
          view.order(), [&, axis = axis](unsigned id) { return view.factor(id).axis == axis; });
      axes.push_back({left, 0, placeInView(view, *id).first, 1, left, static_cast<unsigned>(axis)});
      continue;
    }
    for (unsigned id : view.order()) {
      const ViewFactors::Factor &factor = view.factor(id);
      if (factor.axis != axis)
        continue;
      int64_t count = *getConstantIntValue(factor.extent), extent = left / factor.scale;
      auto [of, divisor] = placeInView(view, id);
      if (left % factor.scale != 0 || start / factor.scale + count > extent)
        return std::nullopt;
      axes.push_back({extent, start / factor.scale, of, divisor, count});
      left = factor.scale;
      start %= factor.scale;
    }
    if (left != 1)
      axes.push_back({left, start, -1, 1, 1});
  }
  return axes;
}

std::optional<BoxOperand> device::boxOperand(prim::DotOp dot, unsigned which, int64_t rowAxis) {
  constexpr size_t kRank = 5;
  constexpr int64_t kPitch = GpuArch::accessBytes / 2; // elements in 16 bytes
  ArrayRef<int64_t> summed = which ? dot.getRhsContract() : dot.getLhsContract();
  Value operand = dot->getOperand(which);
  auto type = tensorType(operand);
  auto extents = [&](Value v) {
    return getAsIndexOpFoldResult(v.getContext(), tensorType(v).getShape());
  };
  auto isStatic = [](Value v) { return tensorType(v).hasStaticShape(); };
  // A reshape would have to know which open extents are the same.
  auto through = [&](Operation *op) {
    return isa<prim::TransposeOp>(op) ||
           (isStatic(op->getOperand(0)) && isStatic(op->getResult(0)));
  };
  auto view = ViewFactors::of(operand, extents, through);
  auto memory = dyn_cast<BlockArgument>(view.source());
  if (!memory || prim::layoutOf(memory) || summed.size() != 1 ||
      type.getElementTypeBitWidth() != 16 || llvm::is_contained(type.getShape(), 0))
    return std::nullopt;
  std::optional<SmallVector<BoxAxis, 5>> axes = cutAxes(view);
  if (!axes || axes->empty() || axes->size() > kRank || axes->back().open ||
      axes->back().extent % kPitch != 0)
    return std::nullopt;
  int last = axes->back().of;
  if (last != rowAxis && last != summed[0])
    return std::nullopt;
  BoxOperand box{memory, *axes, int(rowAxis), int(summed[0]), 0};
  if (last == rowAxis)
    std::swap(box.rowAxis, box.columnAxis);
  box.rows = type.getDimSize(box.rowAxis);
  // A matrix has one axis of memory for its rows, and one for its columns.
  auto ofAxis = [&](int axis) {
    return llvm::count_if(box.axes, [&](const BoxAxis &a) { return a.of == axis; });
  };
  if (ofAxis(box.rowAxis) != 1 || ofAxis(box.columnAxis) != 1 || box.axes.back().start % kPitch)
    return std::nullopt;
  BoxAxis &outermost = box.axes.front();
  if (!outermost.open)
    outermost.extent = outermost.start + outermost.count;
  return box;
}

bool BoxOperand::endsWith(int axis) const {
  return llvm::all_of(axes, [&](const BoxAxis &a) {
    return a.of != axis || a.open || a.start + a.count == a.extent;
  });
}

TensorMap BoxOperand::map(OpBuilder &b, unsigned boxRows, ArrayRef<OpFoldResult> extents) const {
  TensorMap map{false, memory.getArgNumber(), {}, {}};
  for (const BoxAxis &axis : axes) {
    map.extents.push_back(axis.open ? extents[*axis.open] : b.getIndexAttr(axis.extent));
    map.box.push_back(axis.of == rowAxis ? boxRows : axis.of == columnAxis ? columns : 1);
  }
  return map;
}

SmallVector<Value> BoxOperand::place(ImplicitLocOpBuilder &b,
                                     function_ref<Value(int)> index) const {
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(v)));
  };
  SmallVector<Value> place;
  for (const BoxAxis &axis : llvm::reverse(axes)) {
    if (axis.of < 0) {
      place.push_back(constant(axis.start));
      continue;
    }
    Value at = index(axis.of);
    if (axis.divisor != 1)
      at = arith::DivUIOp::create(b, at, constant(axis.divisor));
    bool isMatrix = axis.of == rowAxis || axis.of == columnAxis;
    // The outermost factor of an axis has no remainder.
    bool isOutermost = isMatrix || llvm::none_of(axes, [&](const BoxAxis &other) {
                         return other.of == axis.of && other.divisor > axis.divisor;
                       });
    if (!isOutermost)
      at = arith::RemUIOp::create(b, at, constant(axis.count));
    if (axis.start)
      at = arith::AddIOp::create(b, at, constant(axis.start));
    place.push_back(at);
  }
  return place;
}
