//===- LaneWindows.cpp - Lanes picked from a few vectors ------------------===//
//
// A row that is resized takes, for each lane, an element near the one before: all lanes lie in a
// few vectors that begin at the first. Their indices come from memory, so whether they do is
// asked when the kernel runs; a gather, which costs an access a lane, is left for those that do not
// and for the end of the memory.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/LaneAccess.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

void LaneAccess::supposeWindow(const Coord &c, int64_t extent, int64_t count) {
  constexpr int64_t kMost = 4, kUsual = 2; // elements from one lane to the next at most, and mostly
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(count)) {
    extent = kUsual;
    count = 1;
  }
  int64_t lanes = numLanes, reach = count > 0 ? (lanes - 1) * extent / count + 1 : 0;
  int64_t vectors = llvm::divideCeil(reach, lanes);
  if (!c.vector || !picker || numLanes != pickedLanes || vectors < 1 || vectors > kMost)
    return;
  Value first = vector::ExtractOp::create(b, c.vector, int64_t(0));
  Value distances = arith::SubIOp::create(b, c.vector, splat(first, numLanes));
  Value close = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, distances,
                                      splat(index(vectors * lanes), numLanes));
  if (mask) {
    auto maskType = cast<VectorType>(mask.getType());
    Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(maskType, true));
    close = arith::OrIOp::create(b, close, arith::XOrIOp::create(b, mask, all));
  }
  Value holds = vector::ReductionOp::create(b, vector::CombiningKind::AND, close);
  distances = arith::IndexCastOp::create(b, VectorType::get({lanes}, b.getI32Type()), distances);
  windows[c.vector] = {first, static_cast<unsigned>(vectors), distances, holds};
}

Value LaneAccess::keepWindow(Value vector, Value offset, Value moved) {
  if (auto it = windows.find(vector); it != windows.end()) {
    Window window = it->second;
    window.first = addIndex(window.first, offset);
    windows[moved] = window;
  }
  return moved;
}

/// As stored; null if no window is supposed.
Value LaneAccess::loadFromWindow(const Memory &memory, const Coord &linear) {
  constexpr unsigned kBits = 32;
  Type element = storageType(memory.elementType);
  auto it = windows.find(linear.vector);
  if (it == windows.end() || element.getIntOrFloatBitWidth() != kBits)
    return {};
  const Window &w = it->second;
  auto type = VectorType::get({numLanes}, element);
  Value count = index(1);
  for (Value extent : memory.extents)
    count = mulIndex(count, extent);
  Value end = addIndex(w.first, index(int64_t(w.vectors) * numLanes));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, end, count);
  auto branch = scf::IfOp::create(b, type, arith::AndIOp::create(b, w.holds, inside),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> vectors;
  for (unsigned v = 0; v < w.vectors; ++v) {
    Value at = addIndex(w.first, index(int64_t(v) * numLanes));
    vectors.push_back(LLVM::LoadOp::create(b, type, pointerAt(memory, at), kBits / 8));
  }
  scf::YieldOp::create(b, picker(vectors, w.distances));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, gather(memory, linear));
  return branch.getResult(0);
}
