//===- ConvChannels.cpp - Channels as matrix units read them --------------===//
#include "ConvChannels.h"
#include "ZeroPadding.h"

using namespace mlir;
using namespace tcc;

/// Operands that some matrix unit multiplies.
bool tcc::isForMatrixUnits(Type x, Type w) {
  return (x.isInteger(8) && w.isInteger(8)) || (x == w && (x.isF16() || x.isBF16()));
}

/// The transpose that puts the channels of a convolution's input last; null where it has none.
prim::TransposeOp tcc::turnOf(prim::ConvOp op) {
  SmallVector<int64_t> channelsLast{0};
  llvm::append_range(channelsLast, llvm::seq<int64_t>(2, tensorType(op.getX()).getRank()));
  channelsLast.push_back(1);
  auto turn = op.getX().getDefiningOp<prim::TransposeOp>();
  return turn && turn.getPermutation() == ArrayRef(channelsLast) ? turn : nullptr;
}

/// `x` with zeros behind the last index of an axis.
static Value withExtent(OpBuilder &b, Value x, unsigned axis, int64_t extent) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape[axis] = extent;
  return filledUp(b, x, shape);
}

/// The input of a convolution with zeros for the channels that it lacks. `turn`: what puts them
/// last, so that both are one copy; or null.
Value tcc::withChannels(prim::ConvOp op, int64_t channels, prim::TransposeOp turn) {
  OpBuilder b(op);
  auto x = tensorType(op.getX());
  if (!turn)
    return withExtent(b, op.getX(), x.getRank() - 1, channels);
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = channels;
  Value planes = withExtent(b, turn.getX(), 1, channels);
  return prim::TransposeOp::create(b, op.getLoc(), x.clone(shape), planes, turn.getPermutation());
}

/// Whether channels are read in less than 8 bytes at once.
static bool areOdd(int64_t channels, RankedTensorType x) {
  return channels * x.getElementTypeBitWidth() % 64 != 0;
}

int64_t tcc::wholeChannels(prim::ConvOp op, int64_t channels) {
  constexpr int64_t kAccess = 128; // bits
  // Fewer leave most of a slice of k empty: 20 channels of 112^2 to 32 took 6.4 us as they are and
  // 8.5 filled up, 30 of 14^2 to 96 7.9 and 4.5, 100 of 20^2 to 100 14.0 and 12.0 (H200).
  constexpr int64_t kFewest = 64, kFewestOdd = 16;
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  bool fills = channels >= (areOdd(channels, x) ? kFewestOdd : kFewest) && turnOf(op) &&
               isForMatrixUnits(x.getElementType(), w.getElementType());
  return fills ? int64_t(llvm::alignTo(channels, kAccess / x.getElementTypeBitWidth())) : channels;
}

int64_t tcc::groupsTogether(prim::ConvOp op) {
  constexpr int64_t kFewest = 4, kTogether = 64, kMost = 128; // channels
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  int64_t channels = w.getDimSize(1), groups = op.getGroups();
  if (channels < kFewest || channels >= kTogether || !isa<FloatType>(x.getElementType()) ||
      !isForMatrixUnits(x.getElementType(), w.getElementType()))
    return 1;
  // Odd ones are read one by one, unless all groups are one, which is filled up.
  if (areOdd(channels, x) && groups * channels <= kMost && turnOf(op))
    return groups;
  int64_t together = kTogether % channels == 0 ? std::min(kTogether / channels, groups) : 1;
  return groups % together == 0 ? together : 1;
}
