//===- RowLanes.cpp - Lanes of a row's loops ------------------------------===//
//
// A loop that does no more than find extremes waits in each step for what takes care of a NaN in
// the one before, and four registers of lanes wait no longer than one.
//
//===----------------------------------------------------------------------===//
#include "RowLanes.h"

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
  bool waits = known && lanes > 1 && lanes < most && *known >= kLeastTurns * most &&
               llvm::all_of(stage, [&](prim::ReduceOp r) { return findsExtremes(f, r); });
  return waits ? most : lanes;
}
