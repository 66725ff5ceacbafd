#include "Runner.h"
#include "llvm/Support/FormatVariadic.h"
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tcc::conformance;

namespace {

struct Request {
  const Case *testCase; ///< the same address in both processes
  uint32_t pathSize;
};

struct Answer {
  Outcome outcome;
  uint32_t textSize;
};

} // namespace

static bool writeAll(int out, const void *data, size_t size) {
  for (const char *at = static_cast<const char *>(data); size;) {
    ssize_t n = write(out, at, size);
    if (n <= 0)
      return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// Waits until `end` (of CLOCK_MONOTONIC; 0: for ever) for each part.
static bool readAll(int in, void *data, size_t size, time_t end) {
  for (char *at = static_cast<char *>(data); size;) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pollfd file = {in, POLLIN, 0};
    int left = end ? static_cast<int>(std::max<time_t>(end - now.tv_sec, 0) * 1000) : -1;
    if (poll(&file, 1, left) != 1)
      return false;
    ssize_t n = read(in, at, size);
    if (n <= 0)
      return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

void Runner::serve(int in, int out) {
  rlimit limit; // that of the case in which this process began
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CPU, &limit);
  for (Request request; readAll(in, &request, sizeof request, 0);) {
    std::string path(request.pathSize, 0);
    if (!readAll(in, path.data(), path.size(), 0))
      break;
    Result result = run(*request.testCase, path);
    Answer answer = {result.outcome, static_cast<uint32_t>(result.reason.size())};
    if (!writeAll(out, &answer, sizeof answer) ||
        !writeAll(out, result.reason.data(), result.reason.size()))
      break;
  }
  _exit(0);
}

bool Runner::start() {
  if (pid > 0)
    return true;
  signal(SIGPIPE, SIG_IGN); // one that ended between two cases is seen when it is written to
  int requests[2], answers[2];
  if (pipe2(requests, O_CLOEXEC))
    return false;
  if (pipe2(answers, O_CLOEXEC)) {
    close(requests[0]);
    close(requests[1]);
    return false;
  }
  pid = fork();
  if (pid == 0) {
    close(requests[1]);
    close(answers[0]);
    serve(requests[0], answers[1]);
  }
  close(requests[0]);
  close(answers[1]);
  to = requests[1];
  from = answers[0];
  return pid > 0;
}

void Runner::stop() {
  if (pid <= 0)
    return;
  close(to);
  close(from);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  pid = -1;
}

/// Nothing, and why, when the other process is no more or takes too long.
std::optional<Result> Runner::answer(std::string &why) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  time_t end = now.tv_sec + seconds;
  Answer answer;
  Result result;
  if (readAll(from, &answer, sizeof answer, end)) {
    result.outcome = answer.outcome;
    result.reason.resize(answer.textSize);
    if (readAll(from, result.reason.data(), result.reason.size(), end))
      return result;
  }
  int status = 0;
  clock_gettime(CLOCK_MONOTONIC, &now);
  bool ended = now.tv_sec < end && waitpid(pid, &status, 0) == pid;
  if (ended)
    pid = -1;
  why = !ended                ? llvm::formatv("does not end within {0} s", seconds).str()
        : WIFSIGNALED(status) ? std::string("crashed: ") + strsignal(WTERMSIG(status))
                              : "the process ended";
  return std::nullopt;
}

Result Runner::operator()(const Case &c, const std::string &library) {
  Request request = {&c, static_cast<uint32_t>(library.size())};
  if (!start() || !writeAll(to, &request, sizeof request) ||
      !writeAll(to, library.data(), library.size()))
    return {Outcome::Broken, "there is no process to run it"};
  std::string why;
  if (auto result = answer(why))
    return *result;
  if (pid > 0) {
    stop();
  } else {
    close(to);
    close(from);
  }
  return {Outcome::Broken, why};
}
