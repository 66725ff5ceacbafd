#include "tcc/Support/LargeStack.h"
#include "llvm/ADT/ArrayRef.h"
#include <csignal>
#include <memory>

using namespace llvm;

static constexpr unsigned kStack = 256u << 20, kSignalStack = 64 << 10;

/// Handlers of signals run here, for instance when the thread's stack is full.
static void useSignalStack(MutableArrayRef<char> memory) {
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
}

llvm::thread tcc::startWithLargeStack(unique_function<void()> work) {
  return llvm::thread(std::optional<unsigned>(kStack), [work = std::move(work)]() mutable {
    std::unique_ptr<char[]> memory(new char[kSignalStack]);
    useSignalStack(MutableArrayRef<char>(memory.get(), kSignalStack));
    work();
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  });
}

void tcc::runWithLargeStack(unique_function<void()> work) {
  startWithLargeStack(std::move(work)).join();
}
