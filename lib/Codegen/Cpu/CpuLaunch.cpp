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
  Value grain = code.toI64(site.valueOf(code, space.grain));
  code.declare(kernel.getSymName(), LLVM::LLVMVoidType::get(code.b.getContext()),
               {code.pointer, code.i64, code.i64});
  Value function = LLVM::AddressOfOp::create(code.b, code.pointer, kernel.getSymName());
  auto start = [&](OpFoldResult tasks, ArrayRef<Value> words) {
    Value args = code.onStack(words);
    Value count = code.toI64(site.valueOf(code, tasks));
    code.callVoid("tcc_rt_parallel", {code.frame, function, args, count, grain});
  };
  if (!space.secondTasks)
    return start(space.tasks, site.words);
  Value bytes = code.toI64(site.valueOf(code, space.scratchBytes));
  Value scratch = code.call("tcc_rt_alloc", code.pointer, {code.frame, bytes});
  SmallVector<Value> words = site.words;
  words.push_back(LLVM::PtrToIntOp::create(code.b, code.i64, scratch));
  words.push_back(code.constant(0));
  start(space.tasks, words);
  words.back() = code.constant(1);
  start(space.secondTasks, words);
  code.callVoid("tcc_rt_free", {code.frame, scratch});
}
