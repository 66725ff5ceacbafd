//===- CrashReport.cpp - The end of a tcc that is at fault ----------------===//
//
// A fault of tcc itself may be a signal, an assertion or LLVM giving up. It still
// ends as every other error does: one line, exit code 1, no file left behind. The
// handlers below do so in the process itself, with what a signal handler may call.
//
// A reproducer cannot be written from there. Where one is asked for, the compile
// runs in a child process: the parent sees how it ended and in which phase, and has
// another child compile once more up to that phase, which is how the model was when
// it started. The phase and LLVM's words are on a page that they share.
//
//===----------------------------------------------------------------------===//
#include "tcc/Driver/CrashReport.h"
#include "Reproducer.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/LargeStack.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tcc;

namespace {

struct CrashState {
  std::atomic<int> phase{-1}; ///< that runs, as a number
  std::atomic<IrText> text{IrText::None};
  char reason[1000] = {};
};

constexpr int kGaveUp = 70; ///< exit code of a child that left a reason; EX_SOFTWARE

CrashState ownState;
CrashState *state = &ownState;
bool supervised = false;

} // namespace

void tcc::crashPhase(std::optional<Phase> phase) {
  state->phase = phase ? static_cast<int>(*phase) : -1;
}

void tcc::crashWhileReadingIr(IrText text) { state->text = text; }

static std::optional<Phase> phaseOf(const CrashState &state) {
  int number = state.phase;
  return number < 0 ? std::nullopt : std::optional(static_cast<Phase>(number));
}

static void say(StringRef text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Async-signal-safe.
static void sayWhere(StringRef what) {
  say(isatty(STDERR_FILENO) ? "\r\x1b[Kerror: " : "error: ");
  say(what);
  if (std::optional<Phase> phase = phaseOf(*state)) {
    say(" in phase '");
    say(phaseName(*phase));
    say("'");
  }
  say(": a fault of tcc, please report it; --reproducer DIR saves what is needed for that\n");
}

static void onSignal(void *) {
  if (state->text == IrText::IsRead)
    say("error: the model is not IR that --stop-after wrote: its text cannot be parsed\n");
  if (state->text != IrText::None)
    _exit(2);
  if (supervised)
    return; // to die of it: the parent tells
  sayWhere("tcc crashed");
  _exit(1);
}

[[noreturn]] static void giveUp(StringRef reason) {
  sys::RunInterruptHandlers(); // removes temporary files
  if (supervised) {
    strncpy(state->reason, printable(reason, 900).c_str(), sizeof state->reason - 1);
    _exit(kGaveUp);
  }
  sayWhere(printable(reason, 900));
  _exit(1);
}

void tcc::installCrashHandlers() {
  sys::AddSignalHandler(onSignal, nullptr);
  install_fatal_error_handler([](void *, const char *reason, bool) { giveUp(reason); });
  install_bad_alloc_error_handler([](void *, const char *, bool) { giveUp("out of memory"); });
  std::set_new_handler([] { giveUp("out of memory"); });
  std::set_terminate([] { giveUp("an exception that nobody caught"); });
  // What is beyond a limit on file sizes is an error of write, as on a full disk.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Runs `work` in a child process and gives how it ended, as waitpid does.
static Expected<int> inChild(function_ref<int()> work) {
  outs().flush();
  pid_t child = fork();
  if (child < 0)
    return errorCodeToError(std::error_code(errno, std::generic_category()));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    supervised = true;
    int code = work();
    outs().flush();
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

static std::string faultText(int status) {
  std::string text = WIFSIGNALED(status)
                         ? std::string("tcc crashed (") + strsignal(WTERMSIG(status)) + ")"
                         : state->reason;
  if (std::optional<Phase> phase = phaseOf(*state))
    text += " in phase '" + phaseName(*phase).str() + "'";
  return text + ": a fault of tcc, please report it";
}

/// The model as `phase` found it, made by another child.
static bool writeModel(const DriverOptions &options, Phase phase) {
  Phase first = options.startFrom.value_or(Phase::Decompose);
  if (phase < first)
    return false;
  DriverOptions before = options;
  before.output = options.reproducer + "/model.mlir";
  before.stopAfter = static_cast<Phase>(static_cast<int>(phase) - 1);
  before.emit = EmitKind::Mlir;
  before.reproducer = before.dumpDir = before.depfile = "";
  before.verify = before.printPlan = false;
  auto status = inChild([&] {
    bool written = false;
    runWithLargeStack([&] { written = !errorToBool(compile(before).takeError()); });
    return written ? 0 : 1;
  });
  if (!status)
    consumeError(status.takeError());
  return status && *status == 0;
}

int tcc::withCrashReproducer(const DriverOptions &options, function_ref<int()> work) {
  void *page =
      mmap(nullptr, sizeof(CrashState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return work();
  state = new (page) CrashState;
  Expected<int> status = inChild(work);
  if (!status) {
    consumeError(status.takeError());
    return work();
  }
  bool gaveUp = WIFEXITED(*status) && WEXITSTATUS(*status) == kGaveUp;
  if (WIFEXITED(*status) && !gaveUp)
    return WEXITSTATUS(*status);
  int signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGPIPE)
    return 128 + signal; // somebody ended it
  std::string text = faultText(*status);
  std::optional<Phase> phase = phaseOf(*state); // before the next child changes it
  if (phase)                                    // emit's input is in memory only
    phase = std::min(*phase, Phase::Codegen);
  Error written = writeReproducerFolder(options);
  if (!written) {
    bool kept = phase && writeModel(options, *phase);
    written = writeRepeatText(options, text, kept ? phase : std::nullopt);
  }
  text += written ? "; no reproducer: " + toString(std::move(written))
                  : " (reproducer in " + printable(options.reproducer) + ")";
  errs() << "error: " << text << "\n";
  return 1;
}
