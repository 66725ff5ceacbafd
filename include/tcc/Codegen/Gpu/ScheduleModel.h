//===- ScheduleModel.h - Ways to run a launch on GPUs -----------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"
#include "tcc/Analysis/ScheduleModel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Target/Gpu.h"

namespace tcc::codegen {

/// Gives a launch one schedule for each architecture of the target.
class GpuScheduleModel final : public ScheduleModel {
public:
  explicit GpuScheduleModel(GpuTarget target) : target(std::move(target)) {}
  void registerDialects(mlir::DialectRegistry &registry) const override;
  llvm::SmallVector<kernel::Schedule> candidates(kernel::LaunchOp launch,
                                                 Asked asked) const override;
  bool prefersAttention(const AttentionForm &form) const override;
  bool computesQueries(const AttentionForm &form) const override;
  bool prefersTogether(mlir::Operation *first, mlir::Operation *second) const override;
  bool addsToProduct(mlir::Operation *product) const override;
  bool computesForRows(mlir::Operation *op, int64_t rows, int64_t length) const override;
  int64_t fewPoints() const override { return 1 << 22; } // of each, about a hundred operators
  bool reducesAboveLines(mlir::Operation *op) const override;
  bool storesTransposed(mlir::Operation *product, mlir::Type) const override;
  bool asksForPoints(mlir::Operation *op) const override {
    auto scan = mlir::dyn_cast<prim::CumulativeOp>(op);
    return mlir::isa<prim::FourierOp>(op) || (scan && tensorType(scan.getX()).hasStaticShape());
  }
  bool fillsFirst(mlir::Operation *op) const override {
    return mlir::isa<prim::ScatterAlongOp, prim::ScatterNdOp>(op);
  }
  bool storesTwice(kernel::LaunchOp launch) const override;
  llvm::SmallVector<TimePart> timeParts(kernel::LaunchOp launch) const override;
  std::optional<CrossingTimes> crossingTimes() const override;
  int64_t version() const override { return 10; }

private:
  GpuTarget target;
};

/// Whether a block of each of these GPUs has room for a matrix of prim.symmetric_eigen or prim.svd.
bool hasSpectralKernel(mlir::Operation *factor, const GpuTarget &target);

/// tcc-schedule-recurrences: see lib/Codegen/Gpu/Recurrence/RecurrenceLaunch.cpp.
std::unique_ptr<mlir::Pass> createRecurrenceLaunchesPass(GpuTarget target);

/// tcc-schedule-join-checks: see lib/Codegen/Gpu/JoinedChecks.cpp.
std::unique_ptr<mlir::Pass> createJoinChecksPass();

/// tcc-schedule-early-starts: see lib/Codegen/Gpu/EarlyStarts.cpp.
std::unique_ptr<mlir::Pass> createEarlyStartsPass();

/// tcc-schedule-word-indices: see lib/Codegen/Gpu/WordIndices.cpp.
std::unique_ptr<mlir::Pass> createWordIndicesPass();

} // namespace tcc::codegen
