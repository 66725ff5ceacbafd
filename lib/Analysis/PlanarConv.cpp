//===- PlanarConv.cpp - Convolutions of planes ----------------------------===//
#include "tcc/Analysis/PlanarConv.h"

using namespace mlir;
using namespace tcc;

bool tcc::isPlanar(prim::ConvOp conv) {
  auto w = tensorType(conv.getW());
  return !conv.getChannelsLast() && conv.getGroups() > 1 && w.hasStaticShape() &&
         w.getDimSize(1) == 1 &&
         llvm::all_of(conv.getInputDilation(), [](int64_t d) { return d == 1; });
}
