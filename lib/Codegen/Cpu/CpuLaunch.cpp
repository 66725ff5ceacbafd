#include "tcc/Codegen/Cpu/CpuLaunch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

const CpuLaunchEmitter::Tasks &CpuLaunchEmitter::tasksOf(host::KernelOp kernel) {
  auto [at, fresh] = known.try_emplace(kernel);
  if (fresh) {
    at->second.kernel = kernel.clone();
    kernel::LaunchOp launch = at->second.kernel->getKernelLaunch();
    OpBuilder b(launch);
    at->second.space = taskSpace(b, launch, cpu);
  }
  return at->second;
}

void CpuLaunchEmitter::emit(HostCode &code, const LaunchSite &site) {
  host::KernelOp kernel = host::LaunchOp(site.launch).getKernelOp();
  const TaskSpace &space = tasksOf(kernel).space;
  Value args = code.onStack(site.words);
  Value tasks = code.toI64(site.valueOf(code, space.tasks));
  Value grain = code.toI64(site.valueOf(code, space.grain));
  code.declare(kernel.getSymName(), LLVM::LLVMVoidType::get(code.b.getContext()),
               {code.pointer, code.i64, code.i64});
  Value function = LLVM::AddressOfOp::create(code.b, code.pointer, kernel.getSymName());
  code.callVoid("tcc_rt_parallel", {code.frame, function, args, tasks, grain});
}
