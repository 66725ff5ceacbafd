//===- PoolLines.cpp - Pools whose windows are taken from lines -----------===//
#include "tcc/Dialect/Cpu/PoolLines.h"

using namespace mlir;
using namespace tcc;

bool tcc::cpu::takesLines(prim::PoolOp pool) {
  constexpr unsigned leastBits = 8;
  auto type = tensorType(pool.getX());
  if (pool.getChannelsLast() || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() < leastBits)
    return false;
  return llvm::product_of(pool.getWindow().drop_back(), int64_t(1)) > 1 &&
         pool.getWindow().back() > 1;
}
