//===- CollapsedRows.cpp - Several axes as one line -----------------------===//
//
// A row that is reduced along several axes (the pixels of a channel, a group of channels) lies in
// memory as one line, and so do the last axes of what is computed point by point. Walked axis by
// axis, each of its lines ends in a part of a vector, and is too short for several sums that do not
// wait for each other. The last axes, as many as the kernel's operators do not tell apart, are one
// axis: all of them, or those of a channel where each has a scale.
//
// What is the same for each line (a bias of seven columns) has a period along lines that are one.
// Of lines of a few elements it is seen so: its broadcast is reshaped (PeriodicLines.cpp).
//
// Rows change when their code is made. Schedules count points of a loop's shape, or a row's
// columns, and of an open axis the launch is given the length: such a launch changes before it has
// one, and what it reads and gives is reshaped around it.
//
//===----------------------------------------------------------------------===//
#include "CollapsedRows.h"
#include "../Loops/LoopPieces.h"
#include "../Loops/Moves.h"
#include "PeriodicLines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Dialect/Cpu/ColumnBlocks.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"
#include "tcc/Dialect/Prim/DimTraces.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tcc;
using codegen::Move, codegen::moves;

namespace {
class Collapse {
public:
  explicit Collapse(kernel::LaunchOp launch) : launch(launch), rows(launch.getRows().value_or(0)) {
    Type all = launch.getResultTypes().front();
    if (launch.getKind() == kernel::KernelKind::Row) {
      auto reduce = *launch.getBody().front().getOps<prim::ReduceOp>().begin();
      all = reduce.getX().getType();
      if ((columns = reducesColumns(reduce)))
        rows = reduce.getAxes().back() + 1;
    }
    shape.assign(cast<RankedTensorType>(all).getShape());
    first = rows;
  }
  /// Of the last `joined` axes, of which `applies` says that they may be one.
  Collapse(kernel::LaunchOp launch, unsigned joined) : Collapse(launch) {
    first = shape.size() - joined;
  }
  bool isRows() { return launch.getKind() == kernel::KernelKind::Row && !columns; }
  int64_t lineLength() const { return shape.empty() ? 1 : shape.back(); }
  /// Whether any axes are one, the most possible from here on. `periods`: also where something is
  /// the same for each of their lines.
  bool applies(bool periods = false);
  /// Whether those of results are, some of which a run knows, that change inside of a kernel alone.
  bool appliesInside() {
    inside = true;
    return applies() && isOpen();
  }
  /// `openLength`: of the axis that becomes one where a run knows it, inside of the launch.
  void apply(Value openLength = {});
  Type collapsed(Value v);
  /// Of the axis that those from the first on become.
  int64_t length() const {
    auto inner = ArrayRef(shape).drop_front(first);
    return ShapedType::isDynamicShape(inner) ? ShapedType::kDynamic
                                             : ShapedType::getNumElements(inner);
  }
  bool isOpen() const { return ShapedType::isDynamic(length()); }
  /// Whether `v` has all of the axes that become one.
  bool isFull(Value v) { return formOf(v) == Form::Full; }
  size_t joined() const { return shape.size() - first; }
  SmallVector<Value> joinedSizes(RankedTensorType type, ValueRange sizes, Value openLength);

private:
  /// The axes from the first on, each of one element, or another shape, in which they do not occur.
  enum class Form { Full, Unit, Other };
  Form formOf(Value v);
  bool applies(Operation *op);
  bool applies(prim::BroadcastOp op);
  /// Whether only a run knows all extents of a kernel of points.
  bool hasOpenPoints() { return !isRows() && llvm::is_contained(shape, ShapedType::kDynamic); }
  bool isPeriodic(prim::BroadcastOp op) {
    return periods && !hasOpenPoints() && formOf(op.getResult()) == Form::Full &&
           formOf(op.getX()) == Form::Other && codegen::periodOf(op, shape.size() - first) > 0;
  }
  bool keepsTogether(Operation *op);
  bool keepsLast(prim::ReshapeOp op);
  bool keepsExtents(Value x, Value result);
  bool isLineSize(prim::DimOp dim);

  kernel::LaunchOp launch;
  size_t rows, first; ///< axes before those of a row, and before those that become one
  SmallVector<int64_t> shape;
  bool periods = false; ///< a broadcast along lines may be seen as one line
  bool inside = false;  ///< nobody else sees the results' shape
  bool columns = false; ///< rows are reduced along axes before those
};

} // namespace

Collapse::Form Collapse::formOf(Value v) {
  ArrayRef<int64_t> own = tensorType(v).getShape(), inner = ArrayRef(shape).drop_front(first);
  // What is spread over a loop's points may lack axes before those.
  if (own.size() < inner.size() || (isRows() && own.size() != shape.size()))
    return Form::Other;
  own = own.take_back(inner.size());
  if (own == inner)
    return Form::Full;
  return llvm::all_of(own, [](int64_t d) { return d == 1; }) ? Form::Unit : Form::Other;
}

Type Collapse::collapsed(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || formOf(v) == Form::Other)
    return v.getType();
  SmallVector<int64_t> own(type.getShape().drop_back(shape.size() - first));
  own.push_back(formOf(v) == Form::Full ? length() : 1);
  return type.clone(own);
}

/// What is spread over all points may name fewer axes than become one, each of one element.
static bool isOneElement(Value x) {
  return llvm::all_of(tensorType(x).getShape(), [](int64_t d) { return d == 1; });
}

/// Whether a broadcast keeps the axes together, or does not see them.
bool Collapse::applies(prim::BroadcastOp op) {
  int64_t before = op.getType().getRank() - static_cast<int64_t>(shape.size() - first);
  if (formOf(op.getResult()) == Form::Other)
    return formOf(op.getX()) == Form::Other;
  // An extent that a run knows may be 1 in what is repeated.
  if (isOpen() && isFull(op.getX()) && !keepsExtents(op.getX(), op.getResult()))
    return false;
  if (formOf(op.getX()) == Form::Other)
    return isPeriodic(op) || isOneElement(op.getX()) ||
           llvm::all_of(op.getAxes(), [&](int64_t axis) { return axis < before; });
  auto inner = llvm::seq<int64_t>(before, op.getType().getRank());
  return llvm::equal(op.getAxes().take_back(shape.size() - first), inner);
}

/// Whether what an operator of a kernel of points moves or reduces it does along axes before those.
bool Collapse::keepsTogether(Operation *op) {
  Value result = op->getResult(0);
  Form form = formOf(result);
  if (auto iota = dyn_cast<prim::IotaOp>(op))
    return form == Form::Other || iota.getAxis() + (shape.size() - first) <
                                      static_cast<size_t>(tensorType(result).getRank());
  auto moved = isa<prim::ConcatOp>(op) ? op->getOperands() : op->getOperands().take_front();
  if (!llvm::all_of(moved, [&](Value x) { return formOf(x) == form; }))
    return false;
  auto take = dyn_cast<prim::TakeOp>(op);
  if (take && formOf(take.getIndices()) != Form::Other)
    return false;
  if (form == Form::Other)
    return true;
  size_t count = shape.size() - first;
  int64_t before = tensorType(moved.front()).getRank() - static_cast<int64_t>(count);
  if (auto transpose = dyn_cast<prim::TransposeOp>(op))
    return llvm::equal(transpose.getPermutation().take_back(count),
                       llvm::seq<int64_t>(before, before + count));
  if (auto slice = dyn_cast<prim::SliceOp>(op))
    return llvm::all_of(slice.getStaticStarts().take_back(count), [](int64_t s) { return !s; }) &&
           llvm::all_of(slice.getSteps().take_back(count), [](int64_t s) { return s == 1; });
  auto isBefore = [&](int64_t axis) { return axis < before; };
  if (auto reverse = dyn_cast<prim::ReverseOp>(op))
    return llvm::all_of(reverse.getAxes(), isBefore);
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return llvm::all_of(reduce.getAxes(), isBefore);
  if (auto line = codegen::lineAxis(op))
    return isBefore(line->second);
  return isBefore(take ? take.getAxis() : cast<prim::ConcatOp>(op).getAxis());
}

/// Whether extents of those that become one, which only a run knows, are known to be the same in
/// `x` and in what is made of it.
bool Collapse::keepsExtents(Value x, Value result) {
  RankedTensorType from = tensorType(x), to = tensorType(result);
  return llvm::all_of(llvm::seq<unsigned>(1, joined() + 1), [&](unsigned behind) {
    unsigned axis = to.getRank() - behind;
    return !to.isDynamicDim(axis) ||
           prim::extentOrigin(x, from.getRank() - behind) == prim::extentOrigin(result, axis);
  });
}

/// Whether an extent of those that become one says nothing but the sizes of such.
bool Collapse::isLineSize(prim::DimOp dim) {
  return llvm::all_of(dim->getUsers(), [&](Operation *user) {
    if (!isa<prim::ReshapeOp, prim::BroadcastOp>(user) || !isFull(user->getResult(0)))
      return false;
    auto before = tensorType(user->getResult(0)).getShape().drop_back(joined());
    auto sizes = user->getOperands().drop_front();
    return !llvm::is_contained(sizes.take_front(llvm::count(before, ShapedType::kDynamic)),
                               dim.getResult());
  });
}

/// Whether a reshape changes axes before those alone: the extents of those are known to be the
/// same, or one of them is open and all of the others are known.
bool Collapse::keepsLast(prim::ReshapeOp op) {
  if (!isFull(op.getX()) || !isFull(op.getResult()))
    return false;
  if (keepsExtents(op.getX(), op.getResult()))
    return true;
  if (llvm::count(ArrayRef(shape).drop_front(first), ShapedType::kDynamic) != 1)
    return false;
  auto before = [&](Value v) { return tensorType(v).getShape().drop_back(joined()); };
  return !ShapedType::isDynamicShape(before(op.getX())) &&
         !ShapedType::isDynamicShape(before(op.getResult()));
}

bool Collapse::applies(Operation *op) {
  if (isa<kernel::YieldOp>(op) || prim::isElementwise(op))
    return true;
  if (auto dim = dyn_cast<prim::DimOp>(op))
    return formOf(dim.getX()) == Form::Other ||
           dim.getAxis() + joined() < static_cast<size_t>(tensorType(dim.getX()).getRank()) ||
           (isOpen() && isLineSize(dim));
  // Equal types are equal extents where points are computed, repeated and summed up.
  auto reshape = dyn_cast<prim::ReshapeOp>(op);
  if (reshape && (isOpen() || columns) && keepsLast(reshape))
    return true;
  if (hasOpenPoints() && isOpen() && !moves(op, Move::Repeat, Move::Constant) &&
      !isa<prim::FromElementsOp, prim::ReduceOp>(op))
    return false;
  // Extents of rows are beside the axes that become one.
  auto isKnown = [&](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    bool open = isRows() || hasOpenPoints();
    return type ? type.hasStaticShape() || open : open && v.getType().isIntOrIndexOrFloat();
  };
  if (!llvm::all_of(op->getOperands(), isKnown))
    return false;
  if (isa<prim::FromElementsOp>(op))
    return isOpen() && formOf(op->getResult(0)) == Form::Other;
  auto hasAxes = [&](Value v) { return formOf(v) != Form::Other; };
  if (auto reduce = dyn_cast<prim::ReduceOp>(op); reduce && isRows())
    return formOf(reduce.getX()) == Form::Full &&
           llvm::equal(reduce.getAxes(), llvm::seq<int64_t>(rows, shape.size()));
  if (auto constant = dyn_cast<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return !hasAxes(constant.getResult()) || dense;
  }
  if (reshape)
    return isOpen() ? !isFull(reshape.getX()) && !isFull(reshape.getResult())
                    : isa<BlockArgument>(reshape.getX()) || !isFull(reshape.getX());
  if (moves(op, Move::Position, Move::Transpose, Move::Reverse, Move::Cut, Move::Step,
            Move::Join) ||
      isa<prim::ReduceOp, prim::TakeOp>(op) || codegen::lineAxis(op))
    return !isRows() && keepsTogether(op);
  auto broadcast = dyn_cast<prim::BroadcastOp>(op);
  return broadcast && applies(broadcast);
}

bool Collapse::applies(bool periods) {
  this->periods = periods;
  for (first = rows; first + 2 <= shape.size() && (isOpen() || length() > 1); ++first)
    if ((inside || !isOpen() ||
         llvm::none_of(launch.getResults(), [&](Value v) { return isFull(v); })) &&
        llvm::all_of(launch.getBody().front(), [&](Operation &op) { return applies(&op); }))
      return true;
  return false;
}

void Collapse::apply(Value openLength) {
  SmallVector<std::pair<Value, Type>> types; // which say a value's form: they change at the end
  SmallVector<prim::BroadcastOp> periodic, ofOne;
  SmallVector<Operation *> kept; // whose line is that of their operand
  Block &body = launch.getBody().front();
  for (Value v : body.getArguments())
    types.push_back({v, collapsed(v)});
  for (Operation &op : body) {
    if (auto broadcast = dyn_cast<prim::BroadcastOp>(op); broadcast && isPeriodic(broadcast)) {
      periodic.push_back(broadcast);
      continue;
    }
    for (Value v : op.getResults())
      types.push_back({v, collapsed(v)});
    if (auto reduce = dyn_cast<prim::ReduceOp>(op); reduce && isRows())
      reduce.setAxes(llvm::to_vector(llvm::seq<int64_t>(rows, first + 1)));
    if (isa<prim::BroadcastOp, prim::ReshapeOp>(op) && isOpen() && isFull(op.getOperand(0)) &&
        isFull(op.getResult(0)))
      kept.push_back(&op);
    if (auto broadcast = dyn_cast<prim::BroadcastOp>(op)) {
      if (formOf(broadcast.getX()) != Form::Other)
        broadcast.setAxes(llvm::to_vector(broadcast.getAxes().drop_back(joined() - 1)));
      else if (formOf(broadcast.getResult()) != Form::Other && isOneElement(broadcast.getX()))
        ofOne.push_back(broadcast);
      if (isOpen() && isFull(broadcast.getResult()))
        broadcast.getSizesMutable().assign(
            joinedSizes(broadcast.getType(), broadcast.getSizes(), openLength));
    }
    if (auto reshape = dyn_cast<prim::ReshapeOp>(op);
        reshape && isOpen() && isFull(reshape.getResult()))
      reshape.getSizesMutable().assign(
          joinedSizes(reshape.getType(), reshape.getSizes(), openLength));
    else if (auto transpose = dyn_cast<prim::TransposeOp>(op);
             transpose && formOf(transpose.getX()) != Form::Other)
      transpose.setPermutation(llvm::to_vector(transpose.getPermutation().drop_back(joined() - 1)));
    else if (auto slice = dyn_cast<prim::SliceOp>(op);
             slice && formOf(slice.getX()) != Form::Other) {
      slice.setSteps(llvm::to_vector(slice.getSteps().drop_back(joined() - 1)));
      slice.setStaticStarts(llvm::to_vector(slice.getStaticStarts().drop_back(joined() - 1)));
    } else if (auto constant = dyn_cast<prim::ConstantOp>(op);
               constant && formOf(constant.getResult()) != Form::Other)
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getElements())
                                .reshape(cast<ShapedType>(collapsed(constant.getResult()))));
  }
  for (Value v : launch.getResults())
    types.push_back({v, collapsed(v)});
  OpBuilder inside(launch.getContext());
  for (prim::BroadcastOp op : periodic) {
    inside.setInsertionPointAfter(op);
    auto seen = prim::ReshapeOp::create(inside, op.getLoc(), collapsed(op.getResult()),
                                        op.getResult(), /*sizes=*/ValueRange());
    op.getResult().replaceAllUsesExcept(seen, seen);
  }
  for (auto [value, type] : types)
    value.setType(type);
  for (prim::BroadcastOp op : ofOne) {
    int64_t to = op.getType().getRank(), from = tensorType(op.getX()).getRank();
    inside.setInsertionPoint(op);
    if (auto scalar = RankedTensorType::get({}, op.getType().getElementType()); from > to)
      op.setOperand(0, prim::ReshapeOp::create(inside, op.getLoc(), scalar, op.getX(), {}));
    op.setAxes(llvm::to_vector(llvm::seq<int64_t>(from > to ? to : to - from, to)));
  }
  for (Operation *op : kept) {
    Value x = op->getOperand(0);
    inside.setInsertionPoint(op);
    auto line = cast<Value>(prim::dimOf(inside, op->getLoc(), x, tensorType(x).getRank() - 1));
    op->setOperand(op->getNumOperands() - 1, line);
  }
  for (auto dim : llvm::make_early_inc_range(body.getOps<prim::DimOp>()))
    if (dim->use_empty())
      dim->erase();
}

/// The open extents of `type`, of whose axes those that become one are open, as `sizes` says them.
SmallVector<Value> Collapse::joinedSizes(RankedTensorType type, ValueRange sizes,
                                         Value openLength) {
  auto before = type.getShape().drop_back(joined());
  SmallVector<Value> kept(sizes.take_front(llvm::count(before, ShapedType::kDynamic)));
  kept.push_back(openLength);
  return kept;
}

std::optional<int64_t> tcc::codegen::collapsedLength(kernel::LaunchOp launch) {
  Collapse collapse(launch);
  return collapse.applies() && !collapse.isOpen() ? std::optional(collapse.length()) : std::nullopt;
}

void tcc::codegen::collapseRows(kernel::LaunchOp launch) {
  if (Collapse collapse(launch); collapse.applies() && !collapse.isOpen())
    collapse.apply();
}

/// The first argument that has all axes that are one.
static Value fullArgument(kernel::LaunchOp launch, Collapse &collapse) {
  for (Value v : launch.getBody().getArguments())
    if (isa<RankedTensorType>(v.getType()) && collapse.isFull(v))
      return v;
  return {};
}

/// Makes one axis of those that `collapse` found, and reshapes around the launch what it reads and
/// gives. Where a run knows how long that axis is, the launch takes its length, of an operand that
/// has all of it, and no result has it: results of a product of extents would share no memory with
/// those of the extents.
static void joinAxes(kernel::LaunchOp launch, Collapse &collapse) {
  OpBuilder b(launch);
  Location loc = launch.getLoc();
  Block &body = launch.getBody().front();
  Value length, inside;
  if (collapse.isOpen()) {
    auto full = cast_or_null<BlockArgument>(fullArgument(launch, collapse));
    if (!full)
      return;
    Value operand = launch.getInputs()[full.getArgNumber()];
    int64_t rank = tensorType(operand).getRank();
    for (int64_t axis = rank - int64_t(collapse.joined()); axis < rank; ++axis) {
      Value extent = getValueOrCreateConstantIndexOp(b, loc, prim::dimOf(b, loc, operand, axis));
      length = length ? Value(arith::MulIOp::create(b, loc, length, extent)) : extent;
    }
  }
  for (auto [argument, operand] : llvm::zip(body.getArguments(), launch.getInputsMutable()))
    if (Type type = collapse.collapsed(argument); type != argument.getType()) {
      SmallVector<Value> sizes = openExtents(b, operand.get());
      if (length && collapse.isFull(argument))
        sizes = collapse.joinedSizes(tensorType(operand.get()), sizes, length);
      operand.set(prim::ReshapeOp::create(b, loc, type, operand.get(), sizes));
    }
  SmallVector<Type> given(launch.getResultTypes());
  if (length) {
    launch.getInputsMutable().append(length);
    inside = body.addArgument(b.getIndexType(), loc);
  }
  collapse.apply(inside);
  b.setInsertionPointAfter(launch);
  ValueRange sizes = launch.getSizes();
  for (auto [result, type] : llvm::zip(launch.getResults(), given)) {
    size_t open = tensorType(result).getNumDynamicDims();
    if (!length) {
      auto seen = prim::ReshapeOp::create(b, loc, type, result, sizes.take_front(open));
      result.replaceAllUsesExcept(seen, seen);
    }
    sizes = sizes.drop_front(open);
  }
}

constexpr int64_t kWholeVector = 16;

static bool fillsVectors(int64_t length) {
  return !ShapedType::isDynamic(length) && length % kWholeVector == 0;
}

/// Whether lines of so many points are as good as longer ones.
static bool areLongLines(int64_t length) {
  constexpr int64_t kShortLine = 256;
  return fillsVectors(length) && length >= kShortLine;
}

void tcc::codegen::joinShortLines(kernel::LaunchOp launch) {
  constexpr int64_t kFewPoints = 4, kFewVectors = 2;
  Collapse collapse(launch);
  int64_t length = collapse.lineLength();
  bool periods =
      length > kFewPoints && length < kFewVectors * kWholeVector && !fillsVectors(length);
  if (areLongLines(length) || !collapse.applies(periods) || phasedLines(launch))
    return;
  joinAxes(launch, collapse);
}

void tcc::codegen::joinRows(kernel::LaunchOp launch) {
  Collapse collapse(launch);
  if (collapse.applies() && (collapse.isOpen() || !collapse.isRows()))
    joinAxes(launch, collapse);
}

void tcc::codegen::joinLines(kernel::LaunchOp launch) {
  if (!lineAxis(kernel::specialOf(launch)))
    return;
  if (Collapse collapse(launch); collapse.applies())
    joinAxes(launch, collapse);
}

//===----------------------------------------------------------------------===//
// Axes that only a run knows, inside of a kernel
//===----------------------------------------------------------------------===//

codegen::JoinedAxes tcc::codegen::joinedAxes(kernel::LaunchOp launch) {
  auto isPlain = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || !tensor.getEncoding();
  };
  if (launch.getKind() != kernel::KernelKind::Loop ||
      !llvm::all_of(launch.getBody().getArgumentTypes(), isPlain))
    return {};
  if (prim::ConcatOp concat = openPieces(launch)) {
    int64_t rank = tensorType(concat.getResult()).getRank();
    return {static_cast<unsigned>(rank - concat.getAxis()), /*pieces=*/true};
  }
  Collapse collapse(launch);
  bool joins = !areLongLines(collapse.lineLength()) && collapse.appliesInside() &&
               fullArgument(launch, collapse);
  return {joins ? static_cast<unsigned>(collapse.joined()) : 1};
}

void tcc::codegen::joinAxesInside(kernel::LaunchOp launch, JoinedAxes joined) {
  if (joined.pieces)
    return joinOpenPieces(launch);
  Collapse collapse(launch, joined.count);
  Value full = fullArgument(launch, collapse);
  OpBuilder b = OpBuilder::atBlockBegin(&launch.getBody().front());
  int64_t axis = tensorType(full).getRank() - static_cast<int64_t>(joined.count);
  collapse.apply(prim::DimOp::create(b, launch.getLoc(), b.getIndexType(), full, axis));
}

void tcc::codegen::joinAxesInside(LaunchFrame &f, JoinedAxes axes) {
  auto join = [&](Memory memory, RankedTensorType type) {
    size_t kept = type.getRank() - 1;
    for (Value extent : ArrayRef(memory.extents).drop_front(kept + 1))
      memory.extents[kept] = f.e.mulIndex(memory.extents[kept], extent);
    memory.extents.resize(kept + 1);
    return memory;
  };
  SmallVector<BlockArgument> seen;
  if (axes.pieces)
    seen = seenPieces(f.launch);
  joinAxesInside(f.launch, axes);
  for (BlockArgument argument : f.launch.getBody().getArguments())
    if (const Memory *memory = f.e.memoryOf(argument)) {
      bool isSeen = llvm::is_contained(seen, argument);
      auto type = tensorType(argument);
      f.e.bindMemory(argument, isSeen ? lineSeen(f, *memory, type) : join(*memory, type));
    }
  for (auto [memory, type] : llvm::zip(f.results, f.launch.getResultTypes()))
    memory = join(memory, cast<RankedTensorType>(type));
}
