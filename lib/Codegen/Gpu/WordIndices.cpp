//===- WordIndices.cpp - Open extents in runs whose indices are words -----===//
//
// What a launch of open extents counts may need 64 bits, of which an address takes twice as many
// registers and instructions, and a division is a branch or a call. Most runs are small: they have
// the same kernels with indices of 32 bits, where the largest tensor that the launch reads or makes
// has few enough elements, as the host finds out.
//
// That tells about all that a kernel counts only where nothing in it is larger, or computed from an
// extent; and it comes last, since it changes nothing else about how the launch runs.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ScheduleChoice.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"

namespace tcc {
#define GEN_PASS_DEF_WORDINDICESPASS
#include "tcc/Codegen/Common/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;
using kernel::BySizeAttr;
using tcc::gpu::SchedulesAttr;

static constexpr int64_t kWordElements = int64_t(1)
                                         << 30; // elements, with room for threads past the end

/// Whether indices in `op` are those of elements. Of numbers, floats alone are known to be none.
static bool countsElements(Operation &op) {
  if (auto numbers = dyn_cast<prim::FromElementsOp>(op))
    return isa<FloatType>(tensorType(numbers.getResult()).getElementType());
  return prim::isElementwise(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
         op.hasTrait<prim::PointAccess>() || op.hasTrait<prim::View>() ||
         op.hasTrait<prim::Rearrangement>() || op.hasTrait<prim::Reduction>() ||
         op.hasTrait<prim::Contraction>() || op.hasTrait<prim::Generated>() || isa<prim::DimOp>(op);
}

namespace {

/// Tensors of a region that have no more elements than the largest that comes in or goes out, if
/// they have any.
class Bounded {
public:
  explicit Bounded(kernel::LaunchOp launch) : body(launch.getBody().front()) {
    known.insert(body.args_begin(), body.args_end());
    known.insert(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end());
    for (bool found = true; found;) {
      size_t before = known.size();
      for (Operation &op : body.without_terminator())
        look(op);
      found = known.size() != before;
    }
  }
  bool all() const {
    return llvm::all_of(body.without_terminator(), [&](Operation &op) {
      return llvm::all_of(op.getResults(), [&](Value v) { return has(v); });
    });
  }

private:
  /// Numbers are no tensors; extents that are known are looked at beside this.
  bool has(Value v) const {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return !type || type.hasStaticShape() || known.contains(v);
  }
  void look(Operation &op) {
    auto learn = [&](ValueRange values) { known.insert(values.begin(), values.end()); };
    bool isSame =
        prim::isElementwise(&op) || isa<prim::ReshapeOp, prim::TransposeOp, prim::ReverseOp>(op);
    bool givesMore = isSame || isa<prim::BroadcastOp, prim::ConcatOp>(op),
         givesFewer = isSame || isa<prim::ReduceOp, prim::SliceOp>(op);
    auto isOpen = [&](Value v) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      return type && !type.hasStaticShape() && known.contains(v);
    };
    if (givesMore && llvm::any_of(op.getResults(), isOpen))
      learn(op.getOperands());
    if (givesFewer && llvm::any_of(op.getOperands(), isOpen))
      learn(op.getResults());
  }

  Block &body;
  DenseSet<Value> known;
};

/// Whether indices of words are those of all runs whose largest tensor has few elements.
bool fitsWords(kernel::LaunchOp launch) {
  auto fits = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return !type.isInteger(64);
    int64_t elements = 1;
    for (int64_t extent : tensor.getShape())
      elements = std::min(kWordElements, elements * (ShapedType::isDynamic(extent) ? 1 : extent));
    return elements < kWordElements;
  };
  return llvm::all_of(launch->getOperandTypes(), fits) &&
         llvm::all_of(launch.getResultTypes(), fits) &&
         llvm::all_of(launch.getBody().front(),
                      [&](Operation &op) {
                        return countsElements(op) && llvm::all_of(op.getResultTypes(), fits);
                      }) &&
         Bounded(launch).all();
}

/// Whether a kernel takes less time with words.
bool gains(kernel::LaunchOp launch, Schedule s) {
  if (s.getIndexBits() == 32)
    return false;
  switch (s.getForm()) {
  case Form::Loop:
    // Points that are numbered through, or lie along one axis, are not divided for. Strips count in
    // words; depthwise 5 x 5 of open batches took 6.3 us on an H200, and 10.3 with indices of
    // words.
    return !s.getRows() && !isFlat(launch) &&
           cast<RankedTensorType>(launch.getResultTypes()[0]).getRank() > 1;
  case Form::Transpose:
  case Form::Column:
  case Form::Row:
  case Form::Product:
  case Form::Mma:
    return true;
  default:
    return false;
  }
}

/// Calls `visit` with each schedule of one size and architecture, and puts what it gives there.
kernel::Schedule mapSchedules(kernel::Schedule recorded, function_ref<Schedule(Schedule)> visit) {
  MLIRContext *context = recorded.getContext();
  if (auto bySize = dyn_cast<BySizeAttr>(recorded))
    return BySizeAttr::get(context, mapSchedules(bySize.getSmall(), visit), bySize.getBelow(),
                           mapSchedules(bySize.getLarge(), visit), bySize.getLargest());
  auto schedules = cast<SchedulesAttr>(recorded);
  return SchedulesAttr::get(context, schedules.getArchs(),
                            llvm::map_to_vector(schedules.getSchedules(), visit));
}

class WordIndicesPass : public tcc::impl::WordIndicesPassBase<WordIndicesPass> {
  void runOnOperation() override {
    getOperation()->walk([](kernel::LaunchOp launch) {
      kernel::Schedule given = launch.getScheduleAttr(), large = given;
      while (auto bySize = dyn_cast_or_null<BySizeAttr>(large))
        large = bySize.getLarge();
      if (!isa_and_nonnull<SchedulesAttr>(large) || launch.getKind() == kernel::KernelKind::Special)
        return;
      bool pays = false;
      mapSchedules(large, [&](Schedule s) {
        pays |= gains(launch, s);
        return s;
      });
      auto isOpen = [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && !tensor.hasStaticShape();
      };
      bool open = llvm::any_of(launch->getOperandTypes(), isOpen) ||
                  llvm::any_of(launch.getResultTypes(), isOpen);
      if (!pays || !open || !fitsWords(launch))
        return;
      kernel::Schedule small = mapSchedules(given, [](Schedule s) {
        ScheduleChoice choice(s);
        choice.indexBits = 32;
        return choice.attr(s.getContext());
      });
      launch.setScheduleAttr(
          BySizeAttr::get(launch.getContext(), small, kWordElements, large, /*largest=*/true));
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::codegen::createWordIndicesPass() {
  return std::make_unique<WordIndicesPass>();
}
