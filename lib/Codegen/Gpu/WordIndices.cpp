//===- WordIndices.cpp - Open extents in runs whose indices are words -----===//
//
// What a launch of open extents counts may need 64 bits, in which a division is many instructions
// or a branch, and each point of a loop divides once an axis. Most runs are small: they have the
// same kernel with indices of 32 bits, where what it reads is no larger, by a factor that is known,
// than its first result, by which the host tells runs apart.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ScheduleChoice.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static constexpr int64_t kWordElements = int64_t(1)
                                         << 30; // elements, with room for threads past the end

/// The known extents of a tensor, all together.
static int64_t knownElements(RankedTensorType type) {
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    elements = std::min(kWordElements, elements * (ShapedType::isDynamic(extent) ? 1 : extent));
  return elements;
}

/// Whether every open extent of what `op` reads is one of what it gives, or within one.
static bool keepsOpenExtents(Operation &op, ArrayRef<int64_t> points) {
  // Extents may say how large a view is, since no view has more elements; else their product might.
  if (isa<prim::DimOp>(op))
    return llvm::all_of(op.getUsers(), [](Operation *user) {
      return isa<prim::BroadcastOp, prim::ReshapeOp>(user);
    });
  if (auto numbers = dyn_cast<prim::FromElementsOp>(op))
    return isa<FloatType>(tensorType(numbers.getResult()).getElementType());
  if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
    ArrayRef<int64_t> shape = tensorType(reduce.getX()).getShape();
    return shape == points || llvm::none_of(reduce.getAxes(), [&](int64_t axis) {
             return ShapedType::isDynamic(shape[axis]);
           });
  }
  if (auto dot = dyn_cast<prim::DotOp>(op))
    return llvm::none_of(dot.getLhsContract(),
                         [&](int64_t axis) { return tensorType(dot.getLhs()).isDynamicDim(axis); });
  return prim::isElementwise(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
         isa<prim::BroadcastOp, prim::ReshapeOp, prim::TransposeOp, prim::ReverseOp, prim::ConcatOp,
             prim::ConstantOp>(op);
}

SmallVector<FewRows> device::scheduleWords(kernel::LaunchOp launch, Schedule many) {
  auto result = cast<RankedTensorType>(launch.getResultTypes()[0]);
  int64_t own = std::max<int64_t>(1, knownElements(result)), factor = 1;
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return !type.isInteger(64);
    int64_t known = knownElements(tensor);
    if (tensor.getNumDynamicDims())
      factor = std::max(factor, int64_t(llvm::divideCeil(known, own)));
    return tensor.getNumDynamicDims() <= result.getNumDynamicDims() && known < kWordElements;
  };
  auto fitsWithin = [&](Operation &op) {
    return keepsOpenExtents(op, result.getShape()) &&
           (isa<prim::DimOp>(op) || llvm::all_of(op.getResultTypes(), fits));
  };
  bool words = many.getIndexBits() != 32 && !result.hasStaticShape() &&
               llvm::all_of(launch.getBody().front(), fitsWithin) &&
               llvm::all_of(launch->getOperandTypes(), fits) &&
               llvm::all_of(launch.getResultTypes(), fits);
  // Points that are numbered through, or lie along one axis, are not divided for.
  bool divides = many.getForm() != Form::Loop || (!isFlat(launch) && result.getRank() > 1);
  if (!words || !divides || factor >= kWordElements)
    return {};
  ScheduleChoice choice(many);
  choice.indexBits = 32;
  return {{choice.attr(launch.getContext()), kWordElements / factor}};
}
