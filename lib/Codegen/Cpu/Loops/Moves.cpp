//===- Moves.cpp - What operators that compute nothing do -----------------===//
#include "Moves.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Move tcc::codegen::moveOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Move>(op)
      .Case([](prim::ConstantOp) { return Move::Constant; })
      .Case([](prim::IotaOp) { return Move::Position; })
      .Case([](prim::BroadcastOp) { return Move::Repeat; })
      .Case([](prim::ReshapeOp) { return Move::Reshape; })
      .Case([](prim::TransposeOp) { return Move::Transpose; })
      .Case([](prim::ReverseOp) { return Move::Reverse; })
      .Case([](prim::SliceOp slice) {
        bool neighbours = llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
        return neighbours ? Move::Cut : Move::Step;
      })
      .Case([](prim::PadOp) { return Move::Border; })
      .Case([](prim::ConcatOp) { return Move::Join; })
      .Default(Move::None);
}
