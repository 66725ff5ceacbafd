//===- ScheduleModel.cpp - What the phases ask of a GPU ------------------===//
//
// Ways to run each launch on each architecture of a target, and what fusion, layout and placement
// want to know of its kernels before there is a launch.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "Attention/AttentionTile.h"
#include "Products/MmaTile.h"
#include "ScheduleChoice.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;

void codegen::GpuScheduleModel::registerDialects(DialectRegistry &registry) const {
  registry.insert<tcc::gpu::GpuDialect>();
}

/// The best for each architecture, of products of open rows those for few of them as well; then
/// those in which one architecture has another, since what is measured says something about one GPU
/// alone.
SmallVector<kernel::Schedule> codegen::GpuScheduleModel::candidates(kernel::LaunchOp launch,
                                                                    Asked asked) const {
  MLIRContext *context = launch.getContext();
  SmallVector<StringAttr> archs;
  SmallVector<SmallVector<device::Schedule>> choices;
  SmallVector<tcc::gpu::ScheduleAttr> best;
  for (const GpuCode &code : target.codes) {
    archs.push_back(StringAttr::get(context, code.arch->name));
    choices.push_back(device::schedulesFor(launch, *code.arch, target.tf32));
    best.push_back(choices.back().front());
  }
  SmallVector<kernel::Schedule> all{tcc::gpu::SchedulesAttr::get(context, archs, best)};
  SmallVector<SmallVector<device::FewRows>> few;
  SmallVector<int64_t> limits;
  for (auto [i, code] : llvm::enumerate(target.codes)) {
    few.push_back(device::scheduleFewRows(launch, best[i], *code.arch));
    for (const device::FewRows &rows : few.back())
      limits.push_back(rows.below);
  }
  llvm::sort(limits, std::greater());
  limits.erase(llvm::unique(limits), limits.end());
  for (int64_t below : limits) {
    SmallVector<tcc::gpu::ScheduleAttr> small(best);
    for (auto [own, ways] : llvm::zip_equal(small, few)) {
      const auto *found = llvm::find_if(ways, [&](const auto &way) { return way.below >= below; });
      if (found != ways.end())
        own = found->schedule;
    }
    all[0] = kernel::BySizeAttr::get(context, tcc::gpu::SchedulesAttr::get(context, archs, small),
                                     below, all[0], /*largest=*/false);
  }
  if (asked == Asked::Best)
    return all;
  for (auto [i, own] : llvm::enumerate(choices)) {
    SmallVector<device::Schedule> others(ArrayRef(own).drop_front());
    llvm::append_range(others, device::otherSchedulesFor(launch, *target.codes[i].arch, own));
    for (device::Schedule other : others) {
      SmallVector<tcc::gpu::ScheduleAttr> schedules(best);
      schedules[i] = other;
      all.push_back(tcc::gpu::SchedulesAttr::get(context, archs, schedules));
    }
  }
  return all;
}

bool codegen::GpuScheduleModel::computesQueries(const AttentionForm &form) const {
  // One tile of rows, of which each block brings all anyway; more of them come in boxes.
  constexpr int64_t kFewRows = 16;
  std::optional<device::MatrixAttention> sizes = device::matrixAttention(form);
  return sizes && sizes->rows > 0 && sizes->rows <= kFewRows;
}

bool codegen::GpuScheduleModel::prefersTogether(Operation *first, Operation *second) const {
  // Few rows wait for memory alone, and what brings one right operand brings two as well.
  return llvm::all_of(target.codes, [&](const GpuCode &code) {
    return code.arch->matrixUnit != MatrixUnit::None && device::sharesFewRows(first, second);
  });
}

bool codegen::GpuScheduleModel::addsToProduct(Operation *product) const {
  // Copies bring what is added while the tiles of many rows are multiplied; of few, everything
  // waits for the launch, and a row kernel reads both at once.
  constexpr int64_t kManyRows = 1024;
  int64_t rows = device::ProductSizes::of(product).rows;
  return rows >= kManyRows && llvm::all_of(target.codes, [](const GpuCode &code) {
           return code.arch->matrixUnit == MatrixUnit::Wgmma;
         });
}

bool codegen::GpuScheduleModel::computesForRows(Operation *op, int64_t rows, int64_t length) const {
  // Blocks share a row that is reduced in one pass to one value, and a launch more takes less than
  // one block for all of a long row.
  constexpr int64_t kLong = 32768, kIdle = 4; // of so many multiprocessors one has a row, at most
  return !isa<prim::ReduceOp>(op) || length < kLong ||
         llvm::any_of(
             target.codes,
             [&](const GpuCode &code) {
               return rows * kIdle > int64_t(code.arch->multiprocessors);
             });
}

/// Whether something else is computed from what `v` is computed from, point by point.
static bool isReadBeside(Value v) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    if (!v.hasOneUse())
      return true;
    Operation *op = v.getDefiningOp();
    if (!op || !prim::isElementwise(op))
      return false;
    auto tensors = llvm::make_filter_range(op->getOperands(), [&](Value operand) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      return type && type.getShape() == tensorType(v).getShape() &&
             !operand.getDefiningOp<prim::BroadcastOp>() &&
             !operand.getDefiningOp<prim::ConstantOp>();
    });
    if (std::distance(tensors.begin(), tensors.end()) != 1)
      return false;
    v = *tensors.begin();
  }
  return false;
}

bool codegen::GpuScheduleModel::reducesAboveLines(Operation *op) const {
  // A reduction alone is shared by the threads of a block.
  auto reduce = dyn_cast<prim::ReduceOp>(op);
  return reduce && isReadBeside(reduce.getX()) &&
         llvm::all_of(target.codes, [&](const GpuCode &code) {
           return device::reducesBeforeLines(reduce, *code.arch);
         });
}

bool codegen::GpuScheduleModel::storesTransposed(Operation *product, Type) const {
  // Bulk copies and the strips of depthwise convolutions want neighbouring channels together: with
  // a transpose behind it, it takes the time of both and less, up to a thirtieth of one kernel's.
  return !isa<prim::ConvOp>(product);
}

bool codegen::GpuScheduleModel::storesTwice(kernel::LaunchOp launch) const {
  // A launch takes longer than a few more stores. The other templates have one result.
  std::function<bool(kernel::Schedule)> stores = [&](kernel::Schedule recorded) {
    if (auto bySize = dyn_cast<kernel::BySizeAttr>(recorded))
      return stores(bySize.getSmall()) && stores(bySize.getLarge());
    auto schedules = cast<tcc::gpu::SchedulesAttr>(recorded).getSchedules();
    return llvm::all_of(schedules, [](tcc::gpu::ScheduleAttr schedule) {
      return llvm::is_contained({tcc::gpu::Form::Loop, tcc::gpu::Form::Product},
                                schedule.getForm());
    });
  };
  return stores(launch.getScheduleAttr());
}

/// Of launches that may run on the host as well, which are small: how soon the next one can start,
/// and what is read and written.
SmallVector<ScheduleModel::TimePart>
codegen::GpuScheduleModel::timeParts(kernel::LaunchOp launch) const {
  constexpr double kLaunch = 2500;
  double bytes = 0;
  for (TypeRange types :
       {TypeRange(launch.getInputs().getTypes()), TypeRange(launch->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes += typicalBytes(tensor);
  double rate = static_cast<double>(target.codes.back().arch->bytesPerSecond) / 1e9;
  return {{"launch", 1, kLaunch}, {"byte", bytes, bytes / rate}};
}

std::optional<ScheduleModel::CrossingTimes> codegen::GpuScheduleModel::crossingTimes() const {
  // A copy to memory that the driver does not know, and the wait for it; one from there.
  constexpr double kWait = 10000, kSend = 2500, kBytesPerNanosecond = 10;
  return CrossingTimes{kWait, kSend, 1 / kBytesPerNanosecond};
}

bool codegen::GpuScheduleModel::prefersAttention(const AttentionForm &form) const {
  // The general form multiplies without matrix units, which the products alone would have.
  return llvm::all_of(target.codes, [&](const GpuCode &code) {
    return (code.arch->matrixUnit != MatrixUnit::None && device::matrixAttention(form)) ||
           (!target.tf32 && device::generalAttention(form, *code.arch));
  });
}
