#include "KernelRunner.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <chrono>

using namespace mlir;
namespace tcc::test {

using Clock = std::chrono::steady_clock;
static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::unique_ptr<MLIRContext> kernelContext() {
  DialectRegistry registry;
  codegen::registerKernelDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

CompiledKernels::CompiledKernels(ModuleOp module, const CpuTarget &cpu,
                                 const emit::EmitOptions &options) {
  Clock::time_point start = Clock::now();
  if (failed(codegen::lowerKernelModule(module)))
    llvm::report_fatal_error("lowering failed");
  lowerMs = secondsSince(start) * 1e3;
  start = Clock::now();
  llvm::SmallVector<char, 0> object = llvm::cantFail(emit::emitObject(module, cpu, options));
  emitMs = secondsSince(start) * 1e3;
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()), "kernels")));
}

CompiledKernels::~CompiledKernels() = default;

KernelFn CompiledKernels::get(llvm::StringRef name) const {
  return llvm::cantFail(jit->lookup(name)).toPtr<KernelFn>();
}

std::string assemblyOf(ModuleOp module, const CpuTarget &cpu) {
  if (failed(codegen::lowerKernelModule(module)))
    llvm::report_fatal_error("lowering failed");
  emit::EmitOptions options;
  options.kind = emit::OutputKind::Assembly;
  llvm::SmallVector<char, 0> text = llvm::cantFail(emit::emitObject(module, cpu, options));
  return std::string(text.data(), text.size());
}

double medianSeconds(llvm::function_ref<void()> fn, double budgetSeconds) {
  fn();
  std::vector<double> times;
  Clock::time_point begin = Clock::now();
  do {
    Clock::time_point start = Clock::now();
    fn();
    times.push_back(secondsSince(start));
  } while (times.size() < 5 || (secondsSince(begin) < budgetSeconds && times.size() < 10000));
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

} // namespace tcc::test
