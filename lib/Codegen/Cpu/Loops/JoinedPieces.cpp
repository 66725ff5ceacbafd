//===- JoinedPieces.cpp - Concatenations of long pieces -------------------===//
//
// What is put together along an axis in the middle is, for each index before that axis, a line of
// pieces: an operand's axis and those behind it lie in memory as one. So cut, a line asks once
// where a piece begins, instead of each of its rows which operand it is of, and its pieces are as
// long as they can be.
//
//   concat (4x64x3136, 4x64x3136) axis 1 -> 4x128x3136
//   concat (4x200704, 4x200704) axis 1 -> 4x401408
//
// Where a run knows the extents, or operands are parts of tensors along the axis, the axes are one
// inside of the kernel alone. What comes round (a roll) is two such parts, what is stacked an
// operand seen with an axis of one.
//
//===----------------------------------------------------------------------===//
#include "../Rows/CollapsedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tcc;

/// Axes before `axis`, and the product of it and those behind, which a run may know.
static SmallVector<int64_t> lineOf(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape().take_front(axis));
  int64_t points = 1;
  for (int64_t extent : type.getShape().drop_front(axis))
    points = ShapedType::isDynamic(extent) || ShapedType::isDynamic(points) ? ShapedType::kDynamic
                                                                            : points * extent;
  shape.push_back(points);
  return shape;
}

/// The argument that `operand` is, as it lies, or null.
static BlockArgument argumentOf(Value operand) {
  if (auto reshape = operand.getDefiningOp<prim::ReshapeOp>())
    operand = reshape.getX();
  return dyn_cast<BlockArgument>(operand);
}

/// The concatenation that is all that `launch` does, if its pieces are long enough.
static prim::ConcatOp concatenation(kernel::LaunchOp launch) {
  constexpr int64_t kLeastPoints = 64, kShortRow = 16; // rows that else fill a vector each
  constexpr size_t kMostPieces = 64;
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  auto concat = yield.getValues().front().getDefiningOp<prim::ConcatOp>();
  if (!concat || yield.getValues().size() != 1 || concat.getInputs().size() > kMostPieces)
    return nullptr;
  RankedTensorType type = tensorType(concat.getResult());
  int64_t axis = concat.getAxis();
  if (axis + 1 == type.getRank() || ShapedType::isDynamicShape(type.getShape().drop_front(axis)))
    return nullptr;
  int64_t behind = lineOf(type, axis + 1).back(), all = lineOf(type, axis).back();
  int64_t pieces = concat.getInputs().size();
  bool areShort = behind < kShortRow && all >= kLeastPoints && all >= kShortRow * pieces;
  for (Value input : concat.getInputs()) {
    BlockArgument argument = argumentOf(input);
    bool free = argument && (argument.hasOneUse() || llvm::all_equal(argument.getUsers()));
    // Before its axis all have the same extents, in as many axes unless they are known.
    free &= type.hasStaticShape() || input == argument;
    if (!free || (!areShort && lineOf(tensorType(input), axis).back() < kLeastPoints))
      return nullptr;
  }
  return concat;
}

void tcc::codegen::joinPieces(kernel::LaunchOp launch) {
  prim::ConcatOp concat = concatenation(launch);
  if (!concat)
    return;
  OpBuilder b(launch);
  int64_t axis = concat.getAxis();
  for (OpOperand &input : concat->getOpOperands()) {
    BlockArgument argument = argumentOf(input.get());
    if (axis + 1 == tensorType(input.get()).getRank()) // given twice
      continue;
    auto type = tensorType(input.get()).clone(lineOf(tensorType(input.get()), axis));
    if (argument.getType() != type) {
      OpOperand &given = launch.getInputsMutable()[argument.getArgNumber()];
      given.set(prim::ReshapeOp::create(b, launch.getLoc(), type, given.get(),
                                        openExtents(b, given.get())));
      argument.setType(type);
    }
    Operation *reshape = input.get().getDefiningOp();
    input.set(argument);
    if (reshape && reshape->use_empty())
      reshape->erase();
  }
  RankedTensorType before = tensorType(concat.getResult());
  auto type = before.clone(lineOf(before, axis));
  concat.getResult().setType(type);
  Value result = launch.getResult(0);
  result.setType(type);
  b.setInsertionPointAfter(launch);
  auto seen = prim::ReshapeOp::create(b, launch.getLoc(), before, result, launch.getSizes());
  result.replaceAllUsesExcept(seen, seen);
}

/// Whether `slice` takes a part along the axis of `concat`, and all of the axes behind it.
static bool isPartOf(prim::ConcatOp concat, prim::SliceOp slice) {
  RankedTensorType from = tensorType(slice.getX()), to = tensorType(slice.getResult());
  if (to.getRank() != tensorType(concat.getResult()).getRank())
    return false; // of what becomes a piece further on
  int64_t axis = concat.getAxis();
  auto behind = [&](auto entries) { return ArrayRef(entries).drop_front(axis + 1); };
  return isa<BlockArgument>(slice.getX()) && slice.getSteps()[axis] == 1 &&
         !ShapedType::isDynamicShape(behind(to.getShape())) &&
         behind(from.getShape()) == behind(to.getShape()) &&
         llvm::all_of(behind(slice.getStaticStarts()), [](int64_t start) { return start == 0; }) &&
         llvm::all_of(behind(slice.getSteps()), [](int64_t step) { return step == 1; });
}

/// What `op` is of the concatenation of pieces that only a run knows.
enum class PieceOp { Part, Seen, Size, None };

/// `sizes`: the operators found to give nothing but sizes of what is seen in another shape, behind
/// which this one stands; those that nothing asks for are such too.
static PieceOp pieceOp(prim::ConcatOp concat, Operation &op,
                       const llvm::SmallPtrSetImpl<Operation *> &sizes) {
  if (auto slice = dyn_cast<prim::SliceOp>(op))
    return isPartOf(concat, slice) ? PieceOp::Part : PieceOp::None;
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(reshape.getX());
    bool areSeen =
        argument && llvm::all_of(argument.getUsers(), [&](Operation *user) {
          return isa<prim::DimOp>(user) ||
                 (isa<prim::ReshapeOp>(user) && user->getResultTypes()[0] == reshape.getType());
        });
    return areSeen && !op.use_empty() && llvm::all_equal(op.getUsers()) &&
                   *op.user_begin() == concat
               ? PieceOp::Seen
               : PieceOp::None;
  }
  bool isSize = isPure(&op) && op.getNumRegions() == 0 &&
                llvm::all_of(op.getResultTypes(), [](Type t) { return t.isIndex(); }) &&
                llvm::all_of(op.getUsers(), [&](Operation *user) { return sizes.contains(user); });
  return isSize ? PieceOp::Size : PieceOp::None;
}

/// The concatenation that `launch` stores, or null.
static prim::ConcatOp storedConcat(kernel::LaunchOp launch) {
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  return yield.getValues().front().getDefiningOp<prim::ConcatOp>();
}

prim::ConcatOp tcc::codegen::openPieces(kernel::LaunchOp launch) {
  Block &body = launch.getBody().front();
  prim::ConcatOp concat = storedConcat(launch);
  if (!concat || launch.getNumResults() != 1)
    return nullptr;
  auto line = tensorType(concat.getResult()).getShape().drop_front(concat.getAxis());
  bool hasParts = ShapedType::isDynamicShape(line); // others are reshaped around the launch
  if (line.size() < 2)
    return nullptr;
  llvm::SmallPtrSet<Operation *, 8> sizes;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (&op == concat)
      continue;
    PieceOp kind = pieceOp(concat, op, sizes);
    if (kind == PieceOp::None)
      return nullptr;
    if (kind == PieceOp::Part)
      hasParts = true;
    else
      sizes.insert(&op);
    hasParts |= kind == PieceOp::Seen &&
                !tensorType(cast<prim::ReshapeOp>(op).getResult()).hasStaticShape();
  }
  auto isPiece = [](Value v) {
    Operation *op = v.getDefiningOp();
    return !op || isa<prim::SliceOp, prim::ReshapeOp>(op);
  };
  return hasParts && llvm::all_of(concat.getInputs(), isPiece) ? concat : nullptr;
}

llvm::SmallVector<BlockArgument> tcc::codegen::seenPieces(kernel::LaunchOp launch) {
  SmallVector<BlockArgument> seen;
  for (Value input : storedConcat(launch).getInputs())
    if (auto reshape = input.getDefiningOp<prim::ReshapeOp>())
      seen.push_back(cast<BlockArgument>(reshape.getX()));
  return seen;
}

codegen::Memory tcc::codegen::lineSeen(codegen::LaunchFrame &f, const codegen::Memory &memory,
                                       RankedTensorType type) {
  auto product = [&](ArrayRef<Value> extents) {
    Value all = f.e.index(1);
    for (Value extent : extents)
      all = f.e.mulIndex(all, extent);
    return all;
  };
  // Before the line are the result's extents; it is the rest, whatever the shape was.
  unsigned axis = type.getRank() - 1;
  codegen::Memory line = memory;
  line.extents.assign(f.results[0].extents.begin(), f.results[0].extents.begin() + axis);
  Value lines = arith::MaxUIOp::create(f.b, product(line.extents), f.e.index(1));
  line.extents.push_back(type.isDynamicDim(axis) ? f.e.divIndex(product(memory.extents), lines)
                                                 : f.e.index(type.getDimSize(axis)));
  return line;
}

void tcc::codegen::joinOpenPieces(kernel::LaunchOp launch) {
  prim::ConcatOp concat = storedConcat(launch);
  int64_t axis = concat.getAxis();
  auto join = [&](Value v) { v.setType(tensorType(v).clone(lineOf(tensorType(v), axis))); };
  for (auto slice : launch.getBody().getOps<prim::SliceOp>()) {
    RankedTensorType type = tensorType(slice.getResult());
    int64_t points = lineOf(type, axis + 1).back();
    OpBuilder b(slice);
    auto times = [&](OpOperand &size) {
      Value factor = arith::ConstantIndexOp::create(b, slice.getLoc(), points);
      size.set(arith::MulIOp::create(b, slice.getLoc(), size.get(), factor));
    };
    SmallVector<int64_t> starts(slice.getStaticStarts().take_front(axis + 1));
    if (starts.back() == prim::kDynamicStart)
      times(slice.getStartsMutable()[slice.getStarts().size() - 1]);
    else
      starts.back() *= points;
    if (type.isDynamicDim(axis))
      times(slice.getSizesMutable()[slice.getSizes().size() - 1]);
    slice.setStaticStarts(starts);
    slice.setSteps(slice.getSteps().take_front(axis + 1));
    join(slice.getResult());
  }
  for (Value v : launch.getBody().getArguments())
    if (isa<RankedTensorType>(v.getType()) &&
        llvm::none_of(v.getUsers(), [](Operation *user) { return isa<prim::ReshapeOp>(user); }))
      join(v);
  SmallVector<Operation *> inside;
  for (Operation &op : launch.getBody().front().without_terminator())
    inside.push_back(&op);
  for (Operation *op : llvm::reverse(inside))
    if (auto reshape = dyn_cast<prim::ReshapeOp>(op)) {
      join(reshape.getResult());
      reshape.getX().setType(reshape.getType());
      reshape.replaceAllUsesWith(reshape.getX());
      reshape.erase();
    } else if (isOpTriviallyDead(op)) { // a size of what was seen
      op->erase();
    }
  join(concat.getResult());
  join(launch.getResult(0));
}
