#include "tcc/Codegen/Gpu/DeviceLaunch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

const DeviceLaunchEmitter::Geometry &DeviceLaunchEmitter::geometryOf(host::KernelOp kernel) {
  auto [at, fresh] = known.try_emplace(kernel);
  Geometry &geometry = at->second;
  if (!fresh)
    return geometry;
  geometry.kernel = kernel.clone();
  kernel::LaunchOp launch = geometry.kernel->getKernelLaunch();
  OpBuilder b(launch);
  auto schedules = cast<tcc::gpu::SchedulesAttr>(launch.getScheduleAttr());
  for (Schedule schedule : schedules.getSchedules()) {
    geometry.numbers.push_back(gridOf(b, launch, schedule));
    geometry.numbers.push_back(b.getIndexAttr(schedule.getScratchBytes()));
    for (const TensorMap &map : tensorMapsOf(b, launch, schedule))
      llvm::append_range(geometry.numbers, map.extents);
  }
  return geometry;
}

void DeviceLaunchEmitter::emit(HostCode &code, const LaunchSite &site) {
  host::KernelOp kernel = host::LaunchOp(site.launch).getKernelOp();
  SmallVector<Value> words = site.words;
  int64_t count = words.size();
  for (OpFoldResult number : geometryOf(kernel).numbers)
    words.push_back(code.toI64(site.valueOf(code, number)));
  Value all = code.onStack(words);
  auto i32 = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(code.b, code.b.getI32IntegerAttr(static_cast<int32_t>(v)));
  };
  code.callVoid("tcc_rt_launch", {code.frame, i32(site.kernel), all, i32(count),
                                  code.offsetPointer(all, count * int64_t(sizeof(int64_t)))});
}
