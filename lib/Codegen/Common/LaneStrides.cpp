//===- LaneStrides.cpp - Lanes a few elements apart ------------------===//
//
// Lanes that lie 2 to 4 elements apart, or backwards, are between the first lane and
// the last, so whole vectors from there are loaded and the lanes picked out of them, under a
// mask those elements alone that a lane takes;
// values that together fill such gaps (the channels of a picture's pixel, real and
// imaginary parts) are shuffled together and stored as whole vectors. Gathers and
// scatters cost an access a lane, where the target has them at all.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/LaneAccess.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

constexpr int64_t kFarthest = 4; ///< elements from one lane to the next

/// Picks element `from[i]` of the vectors laid end to end, each `lanes` long.
static Value pick(ImplicitLocOpBuilder &b, ArrayRef<Value> vectors, ArrayRef<int64_t> from) {
  int64_t lanes = from.size();
  Value result = vectors[0];
  SmallVector<int64_t> mask(lanes, 0);
  for (auto [i, element] : llvm::enumerate(from))
    if (element < lanes)
      mask[i] = element;
  result = vector::ShuffleOp::create(b, result, result, mask);
  for (int64_t v = 1; v < static_cast<int64_t>(vectors.size()); ++v) {
    bool used = false;
    for (auto [i, element] : llvm::enumerate(from)) {
      bool here = element / lanes == v;
      mask[i] = here ? lanes + element % lanes : i;
      used |= here;
    }
    if (used)
      result = vector::ShuffleOp::create(b, result, vectors[v], mask);
  }
  return result;
}

/// As stored; null if the lanes are not few elements apart.
Value LaneAccess::loadStrided(const Memory &memory, const Coord &linear) {
  int64_t step = linear.step, lanes = numLanes;
  constexpr int64_t kFewLanes = 4; // of which a gather costs less than masks
  if (linear.vector || (step != -1 && (step < 2 || step > kFarthest)) ||
      (mask && lanes <= kFewLanes))
    return {};
  Type element = storageType(memory.elementType);
  auto vectorType = VectorType::get({lanes}, element);
  unsigned align = std::max<unsigned>(1, element.getIntOrFloatBitWidth() / 8);
  SmallVector<int64_t> offsets, from;
  if (step == -1) {
    offsets.push_back(1 - lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      from.push_back(lanes - 1 - lane);
  } else {
    // The last vector ends with the last lane.
    int64_t last = (lanes - 1) * step + 1 - lanes;
    for (int64_t v = 0; v < step; ++v)
      offsets.push_back(v + 1 < step ? v * lanes : last);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t at = lane * step, vector = at / lanes;
      from.push_back(vector + 1 < step ? at : (step - 1) * lanes + at - last);
    }
  }
  SmallVector<Value> vectors;
  for (auto [v, offset] : llvm::enumerate(offsets)) {
    Value pointer = pointerAt(memory, addIndex(linear.base, index(offset)));
    if (!mask) {
      vectors.push_back(LLVM::LoadOp::create(b, vectorType, pointer, align));
      continue;
    }
    SmallVector<int64_t> taker(lanes, lanes); // nobody: a zero
    for (auto [lane, element] : llvm::enumerate(from))
      if (element / lanes == int64_t(v))
        taker[element % lanes] = lane;
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(mask.getType()));
    Value taken = vector::ShuffleOp::create(b, mask, none, taker);
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(vectorType)));
    vectors.push_back(LLVM::MaskedLoadOp::create(b, vectorType, pointer, taken, zero,
                                                 b.getI32IntegerAttr(align)));
  }
  return pick(b, vectors, from);
}

void LaneAccess::storeAll(const Memory &memory, ArrayRef<Coords> ats, ArrayRef<Value> elements) {
  int64_t count = ats.size(), lanes = numLanes;
  Coord linear = linearIndex(memory.extents, ats[0]);
  bool interleaved =
      count > 1 && count <= kFarthest && lanes > 1 && !linear.vector && linear.step == count;
  if (!interleaved) {
    for (auto [at, element] : llvm::zip(ats, elements))
      store(memory, at, element);
    return;
  }
  SmallVector<Value> vectors;
  for (Value element : elements)
    vectors.push_back(toStorage(b, widen(element, true), memory.elementType));
  unsigned align =
      std::max<unsigned>(1, storageType(memory.elementType).getIntOrFloatBitWidth() / 8);
  for (int64_t v = 0; v < count; ++v) {
    SmallVector<int64_t> from, lane;
    for (int64_t i = v * lanes; i < (v + 1) * lanes; ++i) {
      from.push_back(i % count * lanes + i / count);
      lane.push_back(i / count);
    }
    Value picked = pick(b, vectors, from);
    Value pointer = pointerAt(memory, addIndex(linear.base, index(v * lanes)));
    if (mask)
      LLVM::MaskedStoreOp::create(b, picked, pointer,
                                  vector::ShuffleOp::create(b, mask, mask, lane),
                                  b.getI32IntegerAttr(align));
    else
      LLVM::StoreOp::create(b, picked, pointer, align);
  }
}
