//===- Dims.cpp - Extents as host values ----------------------------------===//
//
// A dynamic extent is traced from a value back through its producer to where
// it is made: a `sizes` operand, arithmetic on operand extents (concat), or in
// the end `prim.dim` of a function argument or of an operator whose extents
// depend on data (nonzero). Extents that come from one place thus become one
// SSA value, which is how later phases know that they are equal; inputs whose
// dims bear the same symbol share theirs.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Prim/Verify.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "tcc/Dialect/Prim/DimTraces.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using tcc::Port;
using tcc::Signature;
using namespace tcc;
using namespace tcc::prim;

namespace {

/// Whether `op` may be used where `builder` inserts.
bool dominates(OpBuilder &builder, Operation *op) {
  Block *block = builder.getInsertionBlock();
  Block::iterator point = builder.getInsertionPoint();
  while (block && block != op->getBlock()) {
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
    if (block)
      point = parent->getIterator();
  }
  return block && (point == block->end() || op->isBeforeInBlock(&*point));
}

/// An op of this kind on `operand` that `fits` and may be used here, or a new one.
template <typename Op, typename Fits, typename Make>
Value reuse(OpBuilder &builder, Value operand, Fits fits, Make make) {
  for (Operation *user : operand.getUsers())
    if (auto op = dyn_cast<Op>(user); op && fits(op) && dominates(builder, op))
      return op->getResult(0);
  return make();
}

/// The first model input, and its axis, that has the same symbolic dim.
std::pair<Value, unsigned> firstWithSymbol(Value value, unsigned axis) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument
                      ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp())
                      : FunctionOpInterface();
  if (!function || !argument.getOwner()->isEntryBlock())
    return {value, axis};
  Signature signature(function);
  Port port = signature.argument(argument.getArgNumber());
  StringRef wanted = port.symbol(axis);
  if (wanted.empty())
    return {value, axis};
  auto first = [&](Value tensor, const Port &named, unsigned end) -> std::optional<unsigned> {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    for (unsigned at = 0; type && at < end; ++at)
      if (type.isDynamicDim(at) && named.symbol(at) == wanted)
        return at;
    return std::nullopt;
  };
  for (unsigned i = 0; i < argument.getArgNumber(); ++i) {
    Value other = argument.getOwner()->getArgument(i);
    auto type = dyn_cast<RankedTensorType>(other.getType());
    if (auto at = first(other, signature.argument(i), type ? type.getRank() : 0))
      return {other, *at};
  }
  return {value, first(value, port, axis).value_or(axis)};
}

/// The `sizes` operand that gives dim `axis` of `result`.
Value sizeOperand(ValueRange sizes, Value result, unsigned axis) {
  return sizes[tensorType(result).getDynamicDimIndex(axis)];
}

/// An extent of an operand that equals result extent `axis`: (operand, axis).
std::optional<std::pair<Value, unsigned>> sameExtent(Operation *op, unsigned axis) {
  using Pair = std::optional<std::pair<Value, unsigned>>;
  if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (!tensorType(operand).isDynamicDim(axis))
        return Pair({operand, axis});
    return Pair({op->getOperand(0), axis});
  }
  return llvm::TypeSwitch<Operation *, Pair>(op)
      .Case([&](TransposeOp o) { return Pair({o.getX(), o.getPermutation()[axis]}); })
      .Case([&](ReverseOp o) { return Pair({o.getX(), axis}); })
      .Case([&](ReduceOp o) -> Pair {
        unsigned kept = 0;
        for (int64_t i = 0, e = tensorType(o.getX()).getRank(); i < e; ++i)
          if (!llvm::is_contained(o.getAxes(), i) && kept++ == axis)
            return Pair({o.getX(), i});
        return std::nullopt;
      })
      .Case([&](ArgReduceOp o) { return Pair({o.getX(), axis < o.getAxis() ? axis : axis + 1}); })
      .Case([&](CumulativeOp o) { return Pair({o.getX(), axis}); })
      .Case<SortOp, KthOp>([&](auto o) { return Pair({o.getX(), axis}); })
      .Case([&](FftOp o) { return Pair({o.getX(), axis}); })
      .Case([&](FourierOp o) { return Pair({o.getRe(), axis}); })
      .Case<LuOp, CholeskyOp, QrOp, SymmetricEigenOp>(
          [&](auto o) { return Pair({o.getX(), axis}); })
      .Case([&](TriangularSolveOp o) { return Pair({o.getRhs(), axis}); })
      .Case([&](ReflectOp o) { return Pair({o.getY(), axis}); })
      .Case<ScatterAlongOp, ScatterNdOp, ScatterRunsOp, InsertSliceOp>(
          [&](auto o) { return Pair({o.getX(), axis}); })
      .Case([&](TakeAlongOp o) { return Pair({o.getIndices(), axis}); })
      .Case([&](TakeOp o) {
        unsigned at = o.getAxis(), inner = tensorType(o.getIndices()).getRank();
        if (axis < at)
          return Pair({o.getX(), axis});
        return axis < at + inner ? Pair({o.getIndices(), axis - at})
                                 : Pair({o.getX(), axis - inner + 1});
      })
      .Case([&](GatherNdOp o) {
        auto indices = tensorType(o.getIndices());
        unsigned outer = indices.getRank() - 1;
        return axis < outer
                   ? Pair({o.getIndices(), axis})
                   : Pair({o.getX(), axis - outer + o.getBatchDims() + indices.getShape().back()});
      })
      .Case([&](TopKOp o) -> Pair { return axis == o.getAxis() ? Pair() : Pair({o.getX(), axis}); })
      .Case([&](DotOp o) -> Pair {
        unsigned at = axis;
        if (at < o.getLhsBatch().size())
          return Pair({o.getLhs(), o.getLhsBatch()[at]});
        at -= o.getLhsBatch().size();
        auto free = [&](Value side, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) -> Pair {
          for (int64_t i = 0, e = tensorType(side).getRank(); i < e; ++i)
            if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i) && at-- == 0)
              return Pair({side, i});
          return std::nullopt;
        };
        if (Pair lhs = free(o.getLhs(), o.getLhsBatch(), o.getLhsContract()))
          return lhs;
        return free(o.getRhs(), o.getRhsBatch(), o.getRhsContract());
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// The operand that says extent `axis` of `value`, or null.
Value givenSize(Operation *op, Value value, unsigned axis) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<IotaOp, ReshapeOp, BroadcastOp, SliceOp, PadOp, PoolOp, ConvOp, RandomBitsOp>(
          [&](auto o) { return sizeOperand(o.getSizes(), value, axis); })
      .Default([](Operation *) { return Value(); });
}

Value traced(OpBuilder &builder, Location loc, Operation *op, Value value, unsigned axis) {
  if (Value size = givenSize(op, value, axis))
    return size;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](TopKOp o) { return axis == o.getAxis() ? o.getK() : Value(); })
      .Case([&](NonzeroOp o) { return axis == 1 ? o.getCount() : Value(); })
      .Case([&](SvdOp o) {
        unsigned rows = tensorType(o.getX()).getRank() - 2, columns = rows + 1, of = axis;
        if (value == o.getLeft())
          of = axis == rows ? columns : axis == columns ? rows : axis;
        else if (axis == rows && (value == o.getValues() || value == o.getRight()))
          of = columns;
        return getValueOrCreateConstantIndexOp(builder, loc, dimOf(builder, loc, o.getX(), of));
      })
      .Case([&](ConcatOp o) -> Value {
        if (axis != o.getAxis())
          return getValueOrCreateConstantIndexOp(builder, loc,
                                                 dimOf(builder, loc, o.getInputs()[0], axis));
        Value sum;
        for (Value input : o.getInputs()) {
          Value dim =
              getValueOrCreateConstantIndexOp(builder, loc, dimOf(builder, loc, input, axis));
          if (!sum) {
            sum = dim;
            continue;
          }
          sum = reuse<arith::AddIOp>(
              builder, dim.getDefiningOp<arith::ConstantOp>() ? sum : dim,
              [&](arith::AddIOp add) {
                return add.getLhs() == sum && isEqualConstantIntOrValue(add.getRhs(), dim);
              },
              [&] { return arith::AddIOp::create(builder, loc, sum, dim).getResult(); });
        }
        return sum;
      })
      .Default([&](Operation *o) -> Value {
        auto shaped = dyn_cast<ReifyRankedShapedTypeOpInterface>(o);
        ReifiedRankedShapedTypeDims shapes;
        if (!shaped || failed(shaped.reifyResultShapes(builder, shapes)))
          return {};
        return dyn_cast<Value>(shapes[cast<OpResult>(value).getResultNumber()][axis]);
      });
}

/// The end of the way back from `extent` through operators that have the extent of an operand.
DimTraces::Extent followed(const OpBuilder &builder, DimTraces::Extent extent) {
  DimTraces *traces = DimTraces::of(builder);
  SmallVector<DimTraces::Extent, 8> path;
  while (tensorType(extent.first).isDynamicDim(extent.second)) {
    Operation *op = extent.first.getDefiningOp();
    DimTraces::Extent nearer = traces ? traces->lookup(extent) : DimTraces::Extent();
    if (op && !nearer.first)
      nearer = sameExtent(op, extent.second).value_or(DimTraces::Extent());
    if (!nearer.first)
      break;
    if (traces)
      path.push_back(extent);
    extent = nearer;
  }
  if (traces)
    traces->remember(path, extent);
  return extent;
}

} // namespace

OpFoldResult tcc::prim::dimOf(OpBuilder &builder, Location loc, Value value, unsigned axis) {
  std::tie(value, axis) = followed(builder, {value, axis});
  auto type = tensorType(value);
  if (!type.isDynamicDim(axis))
    return builder.getIndexAttr(type.getDimSize(axis));
  Operation *op = value.getDefiningOp();
  if (Value size = op ? traced(builder, loc, op, value, axis) : Value()) {
    if (auto constant = getConstantIntValue(size))
      return builder.getIndexAttr(*constant);
    return size;
  }
  std::tie(value, axis) = firstWithSymbol(value, axis);
  return reuse<DimOp>(
      builder, value, [&](DimOp op) { return op.getAxis() == axis; },
      [&] { return DimOp::create(builder, loc, builder.getIndexType(), value, axis).getResult(); });
}

DimTraces::Extent tcc::prim::extentOrigin(Value value, unsigned axis) {
  while (tensorType(value).isDynamicDim(axis)) {
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    if (auto nearer = sameExtent(op, axis)) {
      std::tie(value, axis) = *nearer;
      continue;
    }
    Value size = givenSize(op, value, axis);
    auto dim = size ? size.getDefiningOp<DimOp>() : DimOp();
    if (!dim)
      return size ? DimTraces::Extent(size, 0) : DimTraces::Extent(value, axis);
    value = dim.getX();
    axis = dim.getAxis();
  }
  return {value, axis};
}

SmallVector<OpFoldResult> tcc::prim::dimsOf(OpBuilder &builder, Location loc, Value value) {
  SmallVector<OpFoldResult> dims;
  for (unsigned i = 0, e = tensorType(value).getRank(); i < e; ++i)
    dims.push_back(dimOf(builder, loc, value, i));
  return dims;
}
