// Whatever ends the compiler must look like an error to who called it. Each case is a child
// process that really ends so.
#include "tcc/Driver/CrashReport.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tcc;

/// What a process says that does `work` after the handlers are installed; its exit code.
static std::string endOf(function_ref<void()> work, int &code) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    sys::unregisterHandlers(); // LLVM installs them once, which a test before may have done
    for (int signal : {SIGSEGV, SIGABRT}) // Catch's go first otherwise
      std::signal(signal, SIG_DFL);
    installCrashHandlers();
    crashPhase(Phase::Fuse);
    work();
    _exit(99);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return text;
}

TEST_CASE("whatever ends tcc, it is one error and exit code 1") {
  std::function<void()> ends[] = {[] { report_fatal_error("cannot select"); },
                                  [] { abort(); },
                                  [] { std::raise(SIGSEGV); },
                                  [] { std::terminate(); },
                                  [] { (void)::operator new(size_t(1) << 60); },
                                  [] { report_bad_alloc_error("no room"); }};
  for (const auto &end : ends) {
    int code = 0;
    std::string text = endOf(end, code);
    INFO(text);
    CHECK(code == 1);
    CHECK(StringRef(text).starts_with("error: "));
    CHECK(StringRef(text).contains("in phase 'fuse'"));
    CHECK(StringRef(text).count('\n') == 1);
  }
}

TEST_CASE("temporary files go with it") {
  SmallString<128> path;
  REQUIRE(!sys::fs::createTemporaryFile("tcc-crash", "tmp", path));
  for (bool fatal : {true, false}) {
    std::ofstream(path.c_str()) << "x";
    int code = 0;
    endOf(
        [&] {
          sys::RemoveFileOnSignal(path);
          fatal ? report_fatal_error("the end") : abort();
        },
        code);
    CHECK(code == 1);
    CHECK(!sys::fs::exists(path));
  }
}
