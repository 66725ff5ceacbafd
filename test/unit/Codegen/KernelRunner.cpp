#include "KernelRunner.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
namespace tcc::test {

using Clock = std::chrono::steady_clock;
static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Time that this thread ran: others may be using the machine.
static double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
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
  double start = threadSeconds();
  if (failed(codegen::lowerKernelModule(module)))
    llvm::report_fatal_error("lowering failed");
  lowerMs = (threadSeconds() - start) * 1e3;
  start = threadSeconds();
  llvm::SmallVector<char, 0> object = llvm::cantFail(emit::emitObject(module, cpu, options));
  emitMs = (threadSeconds() - start) * 1e3;
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

std::vector<std::string> hostLevels() {
  auto target = [](llvm::StringRef name) { return llvm::cantFail(CpuTarget::create(name)); };
  CpuTarget host = target("native");
  std::vector<std::string> levels = {"native"};
  for (const char *name : {"v2", "v3", "v4"})
    if (CpuTarget level = target(name);
        level.vectorBits <= host.vectorBits && (!level.fma || host.fma))
      levels.push_back(name);
  return levels;
}

GuardedFloats::GuardedFloats(size_t count) : count(count) {
  size_t page = sysconf(_SC_PAGESIZE);
  size_t used = (count * sizeof(float) + page - 1) / page * page;
  bytes = used + page;
  mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED || mprotect(static_cast<char *>(mapping) + used, page, PROT_NONE))
    llvm::report_fatal_error("no memory");
  values = reinterpret_cast<float *>(static_cast<char *>(mapping) + used) - count;
}

GuardedFloats::~GuardedFloats() { munmap(mapping, bytes); }

void GuardedFloats::fill(unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  for (size_t i = 0; i < count; ++i)
    values[i] = uniform(engine);
}

std::string assemblyOf(ModuleOp module, const CpuTarget &cpu) {
  if (failed(codegen::lowerKernelModule(module)))
    llvm::report_fatal_error("lowering failed");
  emit::EmitOptions options;
  options.kind = emit::OutputKind::Assembly;
  llvm::SmallVector<char, 0> text = llvm::cantFail(emit::emitObject(module, cpu, options));
  return std::string(text.data(), text.size());
}

Seconds measure(llvm::function_ref<void()> fn, double budgetSeconds) {
  fn();
  std::vector<double> times;
  Clock::time_point begin = Clock::now();
  do {
    double start = threadSeconds();
    fn();
    times.push_back(threadSeconds() - start);
  } while (times.size() < 5 || (secondsSince(begin) < budgetSeconds && times.size() < 10000));
  llvm::sort(times);
  return {times.front(), times[times.size() / 2]};
}

} // namespace tcc::test
