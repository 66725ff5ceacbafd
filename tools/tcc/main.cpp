// tcc: parses the command line, compiles and prints. Everything it does is in lib/Driver.
#include "tcc/Driver/CommandLine.h"
#include "tcc/Driver/CrashReport.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/LargeStack.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstdlib>

using namespace tcc;

static int fail(llvm::Error error) {
  bool user = error.isA<UserError>();
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return user ? 2 : 1;
}

static void printTiming(const CompileSummary &s) {
  llvm::outs() << llvm::formatv("{0,-14} {1,9}  {2}\n", "phase", "seconds", "share");
  for (auto &[phase, seconds] : s.phaseSeconds)
    llvm::outs() << llvm::formatv("{0,-14} {1,9:f3} {2,5:f1}%\n", phase, seconds,
                                  100 * seconds / s.seconds);
  llvm::outs() << llvm::formatv("{0,-14} {1,9:f3}\n", "total", s.seconds);
  if (s.slowestKernels.empty())
    return;
  llvm::outs() << "\nslowest kernels, seconds of one thread\n";
  for (auto &[kernel, seconds] : s.slowestKernels)
    llvm::outs() << llvm::formatv("{0,9:f3}  {1}\n", seconds, kernel);
}

static void printSummary(const DriverOptions &options, const CompileSummary &s) {
  for (const std::string &note : s.notes)
    llvm::errs() << "note: " << note << "\n";
  if (!s.plan.empty())
    llvm::outs() << s.plan;
  if (options.timing)
    printTiming(s);
  std::string verified = s.verified.empty() ? "" : "; " + s.verified;
  if (!s.tuned.empty())
    verified += "; " + s.tuned;
  llvm::errs() << llvm::formatv(
      "{0}: {1} kernels ({2} from cache), weights {3:f1} MB, arena {4:f1} MB, {5:f2} s{6}\n",
      printable(options.output), s.kernels, s.cacheHits, s.weightBytes / 1e6, s.arenaBytes / 1e6,
      s.seconds, verified);
}

static int run(const DriverOptions &options) {
  auto summary = compile(options);
  if (!summary)
    return fail(summary.takeError());
  printSummary(options, *summary);
  return 0;
}

/// A full disk behind standard output is an error like any other; behind standard error nothing
/// can be told.
static int flushed(int code) {
  llvm::errs().clear_error();
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  return error && code == 0 ? fail(userError("cannot write standard output: " + error.message()))
                            : code;
}

static int toolMain(int argc, char **argv) {
  // Else the first file that is opened becomes a standard stream that was closed.
  llvm::sys::Process::FixupStandardFileDescriptors();
  installCrashHandlers();
  auto command = parseCommandLine(argc, argv);
  if (!command)
    return flushed(fail(command.takeError()));
  if (!command->print.empty()) {
    llvm::outs() << command->print;
    return flushed(0);
  }
  const DriverOptions &options = command->options;
  auto work = [&] {
    int code = 0;
    runWithLargeStack([&] { code = run(options); });
    return flushed(code);
  };
  return options.reproducer.empty() ? work() : withCrashReproducer(options, work);
}

/// Without taking apart what is static, ONNX's thousand schemas above all.
int main(int argc, char **argv) {
  int code = toolMain(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);
}
