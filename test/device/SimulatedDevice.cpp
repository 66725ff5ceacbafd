#include "SimulatedDevice.h"
#include "tcc/Codegen/Gpu/Simulate.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <vector>

using namespace mlir;
namespace tcc::test {
namespace {

//===----------------------------------------------------------------------===//
// Threads of a block
//===----------------------------------------------------------------------===//

constexpr unsigned kWarp = GpuArch::warp;

enum class Waits : uint8_t { No, Warp, Block };

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Waits waits = Waits::No;
  bool done = false;
  unsigned turn = 0;      ///< of the two slots below
  uint32_t slots[2] = {}; ///< what it gives to the other lanes
};

struct Machine {
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  unsigned thread = 0, threads = 0;
  int64_t block = 0;
  void (*entry)(const int64_t *) = nullptr;
  const int64_t *words = nullptr;

  void wait(Waits what) {
    Fiber &fiber = fibers[thread];
    fiber.waits = what;
    swapcontext(&fiber.context, &scheduler);
  }
  /// Gives `word` to the warp and takes that of every lane.
  template <typename Fn> uint32_t exchange(uint32_t word, Fn take) {
    unsigned turn = fibers[thread].turn++ % 2, first = thread / kWarp * kWarp;
    fibers[thread].slots[turn] = word;
    wait(Waits::Warp);
    return take([&](unsigned lane) { return fibers[first + lane].slots[turn]; });
  }
};
Machine machine;

void runFiber() {
  machine.entry(machine.words);
  machine.fibers[machine.thread].done = true;
  machine.fibers[machine.thread].waits = Waits::No;
}

/// Lets go whoever has all the others of its warp or block waiting with it.
bool release(MutableArrayRef<Fiber> group, Waits what) {
  bool any = false;
  for (Fiber &fiber : group) {
    if (!fiber.done && fiber.waits != what)
      return false;
    any |= !fiber.done;
  }
  for (Fiber &fiber : group)
    fiber.waits = Waits::No;
  return any;
}

void runBlock(ArrayRef<unsigned> order) {
  for (Fiber &fiber : machine.fibers) {
    fiber.done = false;
    fiber.waits = Waits::No;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &machine.scheduler;
    makecontext(&fiber.context, runFiber, 0);
  }
  while (true) {
    bool ran = false;
    for (unsigned thread : order) {
      Fiber &fiber = machine.fibers[thread];
      if (fiber.done || fiber.waits != Waits::No)
        continue;
      machine.thread = thread;
      swapcontext(&machine.scheduler, &fiber.context);
      ran = true;
    }
    MutableArrayRef<Fiber> all(machine.fibers);
    for (unsigned first = 0; first < all.size(); first += kWarp)
      ran |= release(all.slice(first, std::min<size_t>(kWarp, all.size() - first)), Waits::Warp);
    ran |= release(all, Waits::Block);
    if (llvm::all_of(all, [](const Fiber &fiber) { return fiber.done; }))
      return;
    if (!ran)
      llvm::report_fatal_error("a barrier of the kernel is not reached by all threads");
  }
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

uint32_t simThread() { return machine.thread; }
uint32_t simBlock() { return static_cast<uint32_t>(machine.block); }
void simBarrier() { machine.wait(Waits::Block); }
void simWarpBarrier() { machine.wait(Waits::Warp); }
uint32_t simExchange(uint32_t word, uint32_t distance) {
  return machine.exchange(word,
                          [&](auto lane) { return lane((machine.thread % kWarp) ^ distance); });
}
uint32_t simBallot(uint32_t vote) {
  return machine.exchange(vote, [](auto lane) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < kWarp; ++i)
      bits |= lane(i) << i;
    return bits;
  });
}

} // namespace

const CpuTarget &simulatingCpu() {
  static const CpuTarget cpu = llvm::cantFail(CpuTarget::create("native"));
  return cpu;
}

SimulatedKernel::SimulatedKernel(ModuleOp module, llvm::StringRef name,
                                 codegen::device::Schedule schedule)
    : threads(schedule.getThreads()) {
  if (failed(codegen::device::lowerKernelModule(module, schedule)))
    llvm::report_fatal_error("lowering failed");
  FailureOr<bool> simulated = codegen::device::simulateKernel(module, name);
  if (failed(simulated))
    llvm::report_fatal_error("an operation of the kernel is not simulated");
  meets = *simulated;
  emit::EmitOptions options;
  options.optLevel = 1;
  llvm::SmallVector<char, 0> object =
      llvm::cantFail(emit::emitObject(module, simulatingCpu(), options));
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *symbol, auto *function) {
    symbols[jit->mangleAndIntern(symbol)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                             llvm::JITSymbolFlags::Exported};
  };
  define("tcc_sim_thread", simThread);
  define("tcc_sim_block", simBlock);
  define("tcc_sim_barrier", simBarrier);
  define("tcc_sim_warp_barrier", simWarpBarrier);
  define("tcc_sim_exchange", simExchange);
  define("tcc_sim_ballot", simBallot);
  jit->getMainJITDylib().addGenerator(
      llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()), "kernel")));
  entry = llvm::cantFail(jit->lookup(name)).toPtr<void (*)(const int64_t *)>();
}

SimulatedKernel::~SimulatedKernel() = default;

void SimulatedKernel::launch(llvm::ArrayRef<int64_t> words, int64_t blocks, unsigned seed) const {
  std::vector<unsigned> order(threads);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  machine.entry = entry;
  machine.words = words.data();
  if (meets) {
    constexpr size_t kStack = 64 << 10;
    machine.fibers.resize(threads);
    for (Fiber &fiber : machine.fibers)
      fiber.stack.resize(kStack);
  }
  for (machine.block = 0; machine.block < blocks; ++machine.block) {
    if (meets) {
      runBlock(order);
      continue;
    }
    for (unsigned thread : order) {
      machine.thread = thread;
      entry(words.data());
    }
  }
}

} // namespace tcc::test
