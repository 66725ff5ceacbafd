#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "AttentionTile.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"

using namespace mlir;
using namespace tcc;

SmallVector<kernel::Schedule> codegen::GpuScheduleModel::candidates(kernel::LaunchOp launch,
                                                                    Asked) const {
  MLIRContext *context = launch.getContext();
  SmallVector<StringAttr> archs;
  SmallVector<kernel::GpuScheduleAttr> schedules;
  for (const GpuCode &code : target.codes) {
    archs.push_back(StringAttr::get(context, code.arch->name));
    schedules.push_back(device::chooseSchedule(launch, *code.arch, target.tf32));
  }
  return {kernel::GpuSchedulesAttr::get(context, archs, schedules)};
}

bool codegen::GpuScheduleModel::prefersAttention(const AttentionForm &form) const {
  // The general form multiplies without matrix units, which the products alone would have.
  return llvm::all_of(target.codes, [&](const GpuCode &code) {
    return code.arch->matrixUnit != MatrixUnit::None && device::matrixAttention(form);
  });
}
