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

/// Whether `v` is an extent of what the launch reads or makes, or one and a small number.
static bool isExtent(kernel::LaunchOp launch, Value v) {
  if (std::optional<int64_t> known = getConstantIntValue(v))
    return std::abs(*known) < kWordElements;
  if (auto sum = v.getDefiningOp<arith::AddIOp>())
    return getConstantIntValue(sum.getRhs()) && isExtent(launch, sum.getRhs()) &&
           !sum.getLhs().getDefiningOp<arith::AddIOp>() && isExtent(launch, sum.getLhs());
  if (auto dim = v.getDefiningOp<prim::DimOp>())
    return llvm::is_contained(launch.getInputs(), dim.getX());
  return llvm::is_contained(launch.getSizes(), v);
}

/// Whether indices in `op` are those of elements. Of numbers, floats and extents alone are known to
/// be no others.
static bool countsElements(kernel::LaunchOp launch, Operation &op) {
  if (auto numbers = dyn_cast<prim::FromElementsOp>(op))
    return isa<FloatType>(tensorType(numbers.getResult()).getElementType()) ||
           llvm::all_of(numbers.getOperands(), [&](Value v) {
             auto argument = dyn_cast<BlockArgument>(v);
             return argument && argument.getOwner() == &launch.getBody().front() &&
                    isExtent(launch, launch.getInputs()[argument.getArgNumber()]);
           });
  // Sums and products may pass a word where what they lead to is none larger.
  if (isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return op.getResult(0).getType().isIndex();
  return prim::isElementwise(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
         op.hasTrait<prim::PointAccess>() || op.hasTrait<prim::View>() ||
         op.hasTrait<prim::Rearrangement>() || op.hasTrait<prim::Reduction>() ||
         op.hasTrait<prim::Contraction>() || op.hasTrait<prim::Generated>() || isa<prim::DimOp>(op);
}

namespace {

/// Tensors of a region that have no more elements than the largest that comes in or goes out, if
/// they have any. What slices are taken from, itself computed point by point, may have more, but is
/// never counted through: no axis of it is longer.
class Bounded {
public:
  explicit Bounded(kernel::LaunchOp launch) : body(launch.getBody().front()) {
    known.insert(body.args_begin(), body.args_end());
    known.insert(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end());
    for (bool found = true; found;) {
      size_t before = known.size() + shortAxes.size();
      for (Operation &op : body.without_terminator()) {
        look(op);
        lookAtAxes(op);
      }
      found = known.size() + shortAxes.size() != before;
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
    return !type || type.hasStaticShape() || known.contains(v) || isTakenFrom(v);
  }
  bool isShort(Value v, int64_t axis) const {
    return !tensorType(v).isDynamicDim(axis) || known.contains(v) || shortAxes.contains({v, axis});
  }
  /// What is computed point by point, for such points alone, or as slices or places of others.
  bool isTakenFrom(Value v) const {
    Operation *op = v.getDefiningOp();
    auto reads = [](Operation *user) {
      return prim::isElementwise(user) || isa<prim::TakeOp>(user);
    };
    return (prim::isElementwise(op) || isa<prim::TakeOp, prim::BroadcastOp>(op)) &&
           llvm::all_of(v.getUsers(), reads) &&
           llvm::all_of(llvm::seq<int64_t>(0, tensorType(v).getRank()),
                        [&](int64_t axis) { return isShort(v, axis); });
  }
  void learnShort(Value v, int64_t axis) {
    shortAxes.insert({v, axis});
    if (tensorType(v).getNumDynamicDims() == 1 && tensorType(v).isDynamicDim(axis))
      known.insert(v);
  }
  void lookAtAxes(Operation &op) {
    if (auto take = dyn_cast<prim::TakeOp>(op))
      return lookAtTaken(take);
    if (auto broadcast = dyn_cast<prim::BroadcastOp>(op)) {
      for (auto [from, to] : llvm::enumerate(broadcast.getAxes()))
        if (isShort(broadcast.getResult(), to))
          learnShort(broadcast.getX(), from);
      return;
    }
    if (!prim::isElementwise(&op))
      return;
    SmallVector<Value> all(op.getOperands());
    llvm::append_range(all, op.getResults());
    for (int64_t axis = 0; axis < tensorType(op.getResult(0)).getRank(); ++axis)
      if (llvm::any_of(all, [&](Value v) { return isShort(v, axis); }))
        for (Value v : all)
          learnShort(v, axis);
  }
  /// An axis of slices is one of the indices, or of what they are taken from.
  void lookAtTaken(prim::TakeOp take) {
    int64_t first = take.getAxis(), count = tensorType(take.getIndices()).getRank();
    for (int64_t axis = 0; axis < tensorType(take.getResult()).getRank(); ++axis) {
      bool isIndex = axis >= first && axis < first + count;
      Value from = isIndex ? take.getIndices() : take.getX();
      int64_t there = isIndex ? axis - first : axis < first ? axis : axis - count + 1;
      if (!isShort(take.getResult(), axis) && !isShort(from, there))
        continue;
      learnShort(take.getResult(), axis);
      learnShort(from, there);
    }
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
  DenseSet<std::pair<Value, int64_t>> shortAxes;
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
                        return countsElements(launch, op) &&
                               llvm::all_of(op.getResultTypes(), fits);
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
