//===- AttentionTile.cpp - What attention needs for matrix units ----------===//
#include "AttentionTile.h"
#include "tcc/Codegen/Common/Elemental.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

// 32 rows of a warp read shared memory half as often for each. Few queries are left to few warps,
// and the others take keys. One of 32 by 32 fits every architecture with the widest heads.
constexpr AttentionTile kTiles[] = {
    {128, 64, 32, 64}, {128, 64, 16, 64}, {64, 64, 16, 64},  {32, 64, 16, 32}, {32, 128, 16, 64},
    {16, 64, 16, 16},  {16, 128, 16, 32}, {16, 256, 16, 32}, {64, 32, 16, 32}, {32, 32, 16, 16}};

ArrayRef<AttentionTile> AttentionTile::all() { return kTiles; }

AttentionTile AttentionTile::of(Schedule schedule) {
  unsigned sharing = schedule.getRowThreads() / 4, down = schedule.getThreads() / 32 / sharing;
  return {schedule.getRows(), schedule.getColumns(), schedule.getRows() / down,
          schedule.getColumns() / sharing};
}

std::optional<MatrixAttention> device::matrixAttention(const AttentionForm &form) {
  auto instructionOf = [](prim::DotOp dot) {
    auto instruction = MatrixInstruction::of(tensorType(dot.getLhs()).getElementType(),
                                             tensorType(dot.getRhs()).getElementType());
    Type sum = computeType(sumType(tensorType(dot.getResult()).getElementType()));
    bool fits = instruction && instruction->elementBytes() == 2 && sum == instruction->sum;
    return fits ? instruction : std::nullopt;
  };
  auto scores = instructionOf(form.scores), values = instructionOf(form.values);
  if (!scores || !values)
    return std::nullopt;
  constexpr int64_t kMost = 256;
  ProductSizes sizes = ProductSizes::of(prim::DotOp(form.scores));
  int64_t width = tensorType(prim::DotOp(form.values).getResult()).getShape().back();
  if (sizes.inner < 1 || sizes.inner > kMost || width < 1 || width > kMost)
    return std::nullopt;
  return MatrixAttention{sizes.batch, sizes.rows, sizes.columns, sizes.inner,
                         width,       *scores,    *values};
}
