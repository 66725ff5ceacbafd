//===- ScheduleModel.h - Ways to run a launch on a CPU ----------*- C++ -*-===//
#pragma once
#include "tcc/Analysis/ScheduleModel.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

class CpuScheduleModel final : public ScheduleModel {
public:
  explicit CpuScheduleModel(CpuTarget cpu) : cpu(std::move(cpu)) {}
  void registerDialects(mlir::DialectRegistry &registry) const override;
  llvm::SmallVector<kernel::Schedule> candidates(kernel::LaunchOp launch,
                                                 Asked asked) const override;
  void reshape(kernel::LaunchOp launch) const override;
  bool prefersAttention(const AttentionForm &form) const override;
  bool readsParts(const AttentionForm &form, unsigned parts) const override;
  bool computesForRows(mlir::Operation *op, int64_t rows, int64_t length) const override;
  bool reducesAboveLines(mlir::Operation *op) const override;
  bool asksForPoints(mlir::Operation *op) const override;
  bool copiesTurnedRows() const override { return true; }
  bool computesForPoints(mlir::Operation *op, mlir::Operation *operand) const override;
  bool storesTransposed(mlir::Operation *product, mlir::Type stored) const override;
  bool turnsParts() const override { return false; }
  llvm::SmallVector<TimePart> timeParts(kernel::LaunchOp launch) const override;
  int64_t version() const override { return 7; }

private:
  CpuTarget cpu;
};

} // namespace tcc::codegen
