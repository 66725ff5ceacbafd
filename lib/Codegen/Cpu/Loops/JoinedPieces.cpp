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
//===----------------------------------------------------------------------===//
#include "../Rows/CollapsedRows.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

/// Axes before `axis`, and the product of it and those behind.
static SmallVector<int64_t> lineOf(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape().take_front(axis));
  int64_t points = 1;
  for (int64_t extent : type.getShape().drop_front(axis))
    points *= extent;
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
