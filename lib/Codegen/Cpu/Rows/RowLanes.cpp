//===- RowLanes.cpp - Lanes of a row's loops ------------------------------===//
//
// A loop that does no more than find extremes waits in each step for what takes care of a NaN in
// the one before, and four registers of lanes wait no longer than one. How rows of a matrix are
// read depends on how long they are, and on how much is computed for a line of the cache.
//
//===----------------------------------------------------------------------===//
#include "RowLanes.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool findsExtremes(KernelFrame &f, prim::ReduceOp reduce) {
  bool extreme =
      reduce.getKind() == prim::ReduceKind::max || reduce.getKind() == prim::ReduceKind::min;
  return extreme && isa<FloatType>(tensorType(reduce.getX()).getElementType()) &&
         llvm::none_of(f.launch.getBody().front(), [&](Operation &op) {
           return op.hasTrait<prim::Costly>() && dependsOn(reduce.getX(), {&op});
         });
}

unsigned tcc::codegen::lanesOfStage(KernelFrame &f, const RowStage &stage, Value length,
                                    unsigned lanes) {
  constexpr unsigned kRegisters = 4;
  constexpr int64_t kLeastTurns = 4;
  auto known = getConstantIntValue(length);
  unsigned most = kRegisters * f.cpu.lanes(32);
  bool isLong = !known || *known >= kLeastTurns * most;
  bool waits = isLong && lanes > 1 && lanes < most &&
               llvm::all_of(stage, [&](prim::ReduceOp r) { return findsExtremes(f, r); });
  return waits ? most : lanes;
}

/// The type of what has most elements of the kernel's operands, or null.
static RankedTensorType largestInput(kernel::LaunchOp launch) {
  RankedTensorType most;
  for (Value input : launch.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type)
      continue;
    if (!most || type.getRank() > most.getRank() ||
        (type.hasStaticShape() && most.hasStaticShape() &&
         type.getNumElements() > most.getNumElements()))
      most = type;
  }
  return most;
}

bool tcc::codegen::longRows(KernelFrame &f, Value space, unsigned rows) {
  constexpr int64_t kShortBytes = 3072;
  RankedTensorType most = largestInput(f.launch);
  int64_t bytes = most ? elementBytes(most.getElementType()) : 0;
  for (int64_t extent : tensorType(space).getShape().drop_front(rows))
    bytes *= ShapedType::isDynamic(extent) ? 1 : extent;
  return bytes > kShortBytes;
}

const Memory *tcc::codegen::farNarrowMatrix(KernelFrame &f, Value space) {
  constexpr int64_t kNarrow = 2, kFar = 16; // bytes of an element, times L2
  constexpr unsigned kManyRegisters = 32;
  RankedTensorType most = largestInput(f.launch);
  if (!most || !most.hasStaticShape() || most.getShape() != tensorType(space).getShape())
    return nullptr;
  int64_t bytes = elementBytes(most.getElementType());
  if (bytes != kNarrow || f.cpu.vectorRegisters < kManyRegisters ||
      most.getNumElements() * bytes < kFar * int64_t(f.cpu.l2Bytes))
    return nullptr;
  for (auto [outer, inner] :
       llvm::zip_equal(f.launch.getInputs(), f.launch.getBody().getArguments()))
    if (outer.getType() == most)
      return f.e.memoryOf(inner);
  return nullptr;
}
