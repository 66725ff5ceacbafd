//===- SimulatedDevice.cpp - A GPU's threads on this machine -------------===//
//
// Threads of a block are fibers that are run in turns on one thread of the machine: whoever waits
// for a warp or a block gives way to the others, and every run has the same order. A fiber is begun
// with makecontext and changed with _setjmp and _longjmp: swapcontext asks the system for the mask
// of signals at every change, which took nine tenths of the time of kernels whose threads meet.
//
//===----------------------------------------------------------------------===//
#include "SimulatedDevice.h"
#include "Simulated.h"
#include "tcc/Codegen/Gpu/Simulate.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <csetjmp>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <vector>

using namespace mlir;
/// The runtime's own: compilers' libraries have it for CPUs without such an instruction, the later
/// ones alone.
extern "C" __bf16 __truncsfbf2(float value);

namespace tcc::test {
namespace {

//===----------------------------------------------------------------------===//
// Threads of a block
//===----------------------------------------------------------------------===//

constexpr unsigned kWarp = GpuArch::warp;
/// Of a thread: code that is not optimised keeps what it computes there, of sixteen elements at
/// once. What lies at its end must stay.
constexpr size_t kStack = 512 << 10;
constexpr uint64_t kStackEnd = 0x5ca1ab1e0ddba115;

enum class Waits : uint8_t { No, Warp, Block };

struct Fiber {
  ucontext_t begin;
  jmp_buf context;
  std::unique_ptr<uint64_t[]> stack; ///< memory that nobody touches takes none
  bool begun = false;
  Waits waits = Waits::No;
  bool done = false;
  unsigned turn = 0;      ///< of the two slots below
  uint64_t slots[2] = {}; ///< what it gives to the other lanes
};

struct Machine {
  std::vector<Fiber> fibers;
  jmp_buf scheduler;
  unsigned thread = 0, threads = 0;
  int64_t block = 0;
  void (*entry)(const int64_t *) = nullptr;
  const int64_t *words = nullptr;

  /// From a fiber to the scheduler, until that resumes it.
  [[gnu::noinline]] void wait(Waits what) {
    Fiber &fiber = fibers[thread];
    fiber.waits = what;
    if (!_setjmp(fiber.context))
      _longjmp(scheduler, 1);
  }

  /// From the scheduler to a fiber, until that waits.
  [[gnu::noinline]] void resume(unsigned next) {
    thread = next;
    Fiber &fiber = fibers[thread];
    if (_setjmp(scheduler))
      return;
    if (fiber.begun)
      _longjmp(fiber.context, 1);
    fiber.begun = true;
    setcontext(&fiber.begin);
  }
};
Machine machine;

/// A thread of every block of a launch, one after the other.
void runFiber() {
  while (true) {
    machine.entry(machine.words);
    machine.fibers[machine.thread].done = true;
    machine.wait(Waits::No);
  }
}

void makeFibers(unsigned threads) {
  machine.fibers.resize(threads);
  for (Fiber &fiber : machine.fibers) {
    fiber.begun = false;
    if (!fiber.stack)
      fiber.stack.reset(new uint64_t[kStack / sizeof(uint64_t)]);
    fiber.stack[0] = kStackEnd;
    getcontext(&fiber.begin);
    fiber.begin.uc_stack.ss_sp = fiber.stack.get();
    fiber.begin.uc_stack.ss_size = kStack;
    makecontext(&fiber.begin, runFiber, 0);
  }
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
  tcc_sim_begin_block(static_cast<uint32_t>(machine.block) + order[0]);
  for (Fiber &fiber : machine.fibers) {
    fiber.done = false;
    fiber.waits = Waits::No;
  }
  while (true) {
    bool ran = false;
    for (unsigned thread : order) {
      Fiber &fiber = machine.fibers[thread];
      if (fiber.done || fiber.waits != Waits::No)
        continue;
      machine.resume(thread);
      ran = true;
    }
    MutableArrayRef<Fiber> all(machine.fibers);
    for (unsigned first = 0; first < all.size(); first += kWarp)
      ran |= release(all.slice(first, std::min<size_t>(kWarp, all.size() - first)), Waits::Warp);
    ran |= release(all, Waits::Block);
    if (llvm::any_of(all, [](const Fiber &fiber) { return fiber.stack[0] != kStackEnd; }))
      llvm::report_fatal_error("a thread of the kernel needs more stack than it has");
    if (llvm::all_of(all, [](const Fiber &fiber) { return fiber.done; }))
      return;
    if (!ran)
      llvm::report_fatal_error("a barrier of the kernel is not reached by all threads");
  }
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

} // namespace
} // namespace tcc::test

using namespace tcc::test;

uint32_t tcc_sim_thread() { return machine.thread; }
uint32_t tcc_sim_block() { return static_cast<uint32_t>(machine.block); }
void tcc_sim_barrier() { machine.wait(Waits::Block); }
void tcc_sim_warp_barrier() { machine.wait(Waits::Warp); }

/// Gives `word` to the warp and waits for the words of its other lanes: in which slot they are.
static unsigned give(uint64_t word) {
  Fiber &fiber = machine.fibers[machine.thread];
  unsigned turn = fiber.turn++ % 2;
  fiber.slots[turn] = word;
  machine.wait(Waits::Warp);
  return turn;
}
static const Fiber *warp() { return &machine.fibers[machine.thread / kWarp * kWarp]; }

uint64_t *tcc_sim_share(uint64_t word, uint64_t lanes[32]) {
  unsigned turn = give(word);
  for (unsigned lane = 0; lane < kWarp; ++lane)
    lanes[lane] = warp()[lane].slots[turn];
  return lanes;
}
uint32_t tcc_sim_exchange(uint32_t word, uint32_t distance) {
  unsigned turn = give(word);
  return static_cast<uint32_t>(warp()[(machine.thread % kWarp) ^ distance].slots[turn]);
}
uint32_t tcc_sim_ballot(uint32_t vote) {
  unsigned turn = give(vote);
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane)
    bits |= static_cast<uint32_t>(warp()[lane].slots[turn]) << lane;
  return bits;
}

namespace tcc::test {
const CpuTarget &simulatingCpu() {
  static const CpuTarget cpu = llvm::cantFail(CpuTarget::create("native"));
  return cpu;
}

SimulatedKernel::SimulatedKernel(ModuleOp module, llvm::StringRef name,
                                 codegen::device::Schedule schedule)
    : threads(schedule.getThreads()) {
  if (failed(codegen::device::lowerKernelModule(module, schedule)))
    llvm::report_fatal_error("lowering failed");
  FailureOr<bool> simulated =
      codegen::device::simulateKernel(module, name, schedule.getSharedBytes());
  if (failed(simulated))
    llvm::report_fatal_error("an operation of the kernel is not simulated");
  meets = *simulated;
  emit::EmitOptions options;
  options.optLevel = 0; // a kernel runs for less time than it would be optimised
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
  define("__truncsfbf2", __truncsfbf2);
  define("tcc_sim_thread", tcc_sim_thread);
  define("tcc_sim_block", tcc_sim_block);
  define("tcc_sim_barrier", tcc_sim_barrier);
  define("tcc_sim_warp_barrier", tcc_sim_warp_barrier);
  define("tcc_sim_exchange", tcc_sim_exchange);
  define("tcc_sim_ballot", tcc_sim_ballot);
  define("tcc_sim_give", tcc_sim_give);
  define("tcc_sim_take", tcc_sim_take);
  define("tcc_sim_multiply", tcc_sim_multiply);
  define("tcc_sim_round_tf32", tcc_sim_round_tf32);
  define("tcc_sim_exp2", tcc_sim_exp2);
  define("tcc_sim_load_matrices", tcc_sim_load_matrices);
  define("tcc_sim_copy_async", tcc_sim_copy_async);
  define("tcc_sim_commit_copies", tcc_sim_commit_copies);
  define("tcc_sim_await_copies", tcc_sim_await_copies);
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
  if (meets)
    makeFibers(threads);
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
