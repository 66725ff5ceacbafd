#include "SimulatedDevice.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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

//===----------------------------------------------------------------------===//
// From the device's operations to calls
//===----------------------------------------------------------------------===//

class Rewriter {
public:
  explicit Rewriter(ModuleOp module) : module(module) {}

  /// Whether threads wait for each other anywhere.
  bool run() {
    bool meets = false;
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<NVVM::NVVMDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Type i32 = b.getI32Type();
      Value result;
      if (isa<NVVM::ThreadIdXOp>(op)) {
        result = call(b, "simThread", i32, {});
      } else if (isa<NVVM::BlockIdXOp>(op)) {
        result = call(b, "simBlock", i32, {});
      } else if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
        Value word = shuffle.getVal();
        bool isFloat = word.getType().isF32();
        if (isFloat)
          word = LLVM::BitcastOp::create(b, i32, word);
        result = call(b, "simExchange", i32, {word, shuffle.getOffset()});
        if (isFloat)
          result = LLVM::BitcastOp::create(b, b.getF32Type(), result);
        meets = true;
      } else if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op)) {
        result = call(b, "simBallot", i32, {LLVM::ZExtOp::create(b, i32, vote.getPred())});
        meets = true;
      } else if (isa<NVVM::SyncWarpOp>(op)) {
        call(b, "simWarpBarrier", {}, {});
        meets = true;
      } else if (isa<NVVM::Barrier0Op, NVVM::BarrierOp>(op)) {
        call(b, "simBarrier", {}, {});
        meets = true;
      } else {
        op->emitError("is not simulated");
        llvm::report_fatal_error("an operation of the kernel is not simulated");
      }
      if (result)
        op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
    return meets;
  }

  /// A function that takes the kernel's words from memory.
  void wrap(LLVM::LLVMFuncOp kernel) {
    for (NamedAttribute attribute : llvm::to_vector(kernel->getDialectAttrs()))
      kernel->removeAttr(attribute.getName());
    auto b = ImplicitLocOpBuilder::atBlockEnd(kernel.getLoc(), module.getBody());
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type nothing = LLVM::LLVMVoidType::get(b.getContext());
    auto wrapper =
        LLVM::LLVMFuncOp::create(b, "simEntry", LLVM::LLVMFunctionType::get(nothing, {pointer}));
    Block *body = wrapper.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    SmallVector<Value> words;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      Value at = LLVM::GEPOp::create(b, pointer, b.getI64Type(), body->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      words.push_back(LLVM::LoadOp::create(b, type, at, 8));
    }
    LLVM::CallOp::create(b, kernel, words);
    LLVM::ReturnOp::create(b, ValueRange());
  }

private:
  Value call(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      Type type = result ? result : LLVM::LLVMVoidType::get(b.getContext());
      function = LLVM::LLVMFuncOp::create(
          top, b.getLoc(), name,
          LLVM::LLVMFunctionType::get(type, llvm::to_vector(operands.getTypes())));
    }
    auto made = LLVM::CallOp::create(b, function, operands);
    return result ? made.getResult() : Value();
  }

  ModuleOp module;
};

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
  Rewriter rewriter(module);
  meets = rewriter.run();
  rewriter.wrap(module.lookupSymbol<LLVM::LLVMFuncOp>(name));
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
  define("simThread", simThread);
  define("simBlock", simBlock);
  define("simBarrier", simBarrier);
  define("simWarpBarrier", simWarpBarrier);
  define("simExchange", simExchange);
  define("simBallot", simBallot);
  jit->getMainJITDylib().addGenerator(
      llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()), "kernel")));
  entry = llvm::cantFail(jit->lookup("simEntry")).toPtr<void (*)(const int64_t *)>();
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
