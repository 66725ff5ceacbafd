//===- Workers.cpp - Cases in child processes ----------------------------===//
//
// A case may crash, hang or use all memory, and the others must still be counted. Children run
// many cases each, since starting one costs more than most cases.
//
//===----------------------------------------------------------------------===//
#include "Workers.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tcc::conformance;

namespace {

/// What a child sends: a case begins (no text) or has ended.
struct Message {
  enum Kind : uint32_t { Begins, Ended } kind;
  uint32_t index;
  Outcome outcome;
  uint32_t textSize;
};

/// One child, seen from the parent.
struct Worker {
  pid_t pid = -1;
  int pipe = -1;
  std::optional<uint32_t> at; ///< the case that it runs
  std::string received;
};

class Team {
public:
  Team(llvm::ArrayRef<Case> cases, llvm::function_ref<Result(const Case &)> run,
       const WorkerOptions &options)
      : cases(cases), run(run), options(options), results(cases.size()),
        workers(std::max(1u, options.jobs)) {
    // Shared with the children: the first case that nobody has taken.
    void *page =
        mmap(nullptr, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    next = new (page) std::atomic<uint32_t>(0);
  }
  ~Team() { munmap(next, sizeof(*next)); }
  std::vector<Result> work();

private:
  void start(Worker &worker);
  [[noreturn]] void child(int out);
  void receive(Worker &worker);
  void buried(Worker &worker);
  void finished(uint32_t index, Result result);

  llvm::ArrayRef<Case> cases;
  llvm::function_ref<Result(const Case &)> run;
  const WorkerOptions &options;
  std::vector<Result> results;
  std::vector<Worker> workers;
  std::atomic<uint32_t> *next;
};

} // namespace

static void writeAll(int out, const void *data, size_t size) {
  for (const char *at = static_cast<const char *>(data); size;) {
    ssize_t n = write(out, at, size);
    if (n <= 0)
      _exit(1);
    at += n;
    size -= static_cast<size_t>(n);
  }
}

/// The kernel ends the child when this case has used `seconds` of CPU time.
static void limitCpu(unsigned seconds) {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  rlimit limit;
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds;
  setrlimit(RLIMIT_CPU, &limit);
}

void Team::child(int out) {
  if (!options.showErrors)
    if (int null = ::open("/dev/null", O_WRONLY); null >= 0)
      dup2(null, STDERR_FILENO);
  rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  for (uint32_t i; (i = (*next)++) < cases.size();) {
    limitCpu(options.caseSeconds);
    Message message = {Message::Begins, i, Outcome::Passed, 0};
    writeAll(out, &message, sizeof message);
    Result result = run(cases[i]);
    message = {Message::Ended, i, result.outcome, static_cast<uint32_t>(result.reason.size())};
    writeAll(out, &message, sizeof message);
    writeAll(out, result.reason.data(), result.reason.size());
  }
  _exit(0);
}

void Team::start(Worker &worker) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    llvm::report_fatal_error("no pipe");
  worker = Worker();
  worker.pid = fork();
  if (worker.pid < 0)
    llvm::report_fatal_error("no process");
  if (worker.pid == 0)
    child(ends[1]);
  close(ends[1]);
  worker.pipe = ends[0];
}

void Team::finished(uint32_t index, Result result) {
  results[index] = std::move(result);
  if (options.done)
    options.done(cases[index], results[index]);
}

/// The child is gone: of its own accord, or at a case that ended it.
void Team::buried(Worker &worker) {
  int status = 0;
  waitpid(worker.pid, &status, 0);
  close(worker.pipe);
  auto at = worker.at;
  worker = Worker();
  if (!at)
    return;
  std::string reason = "crashed";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    reason = llvm::formatv("needs more than {0} s of CPU time", options.caseSeconds);
  else if (WIFSIGNALED(status))
    reason = llvm::formatv("crashed: {0}", strsignal(WTERMSIG(status)));
  finished(*at, {Outcome::Broken, reason});
  start(worker);
}

void Team::receive(Worker &worker) {
  char buffer[4096];
  ssize_t n = read(worker.pipe, buffer, sizeof buffer);
  if (n <= 0)
    return buried(worker);
  worker.received.append(buffer, static_cast<size_t>(n));
  Message message;
  while (worker.received.size() >= sizeof message) {
    std::memcpy(&message, worker.received.data(), sizeof message);
    if (worker.received.size() < sizeof message + message.textSize)
      return;
    std::string text = worker.received.substr(sizeof message, message.textSize);
    worker.received.erase(0, sizeof message + message.textSize);
    if (message.kind == Message::Begins) {
      worker.at = message.index;
    } else {
      worker.at.reset();
      finished(message.index, {message.outcome, text});
    }
  }
}

std::vector<Result> Team::work() {
  for (Worker &worker : workers)
    start(worker);
  for (;;) {
    std::vector<pollfd> files;
    std::vector<Worker *> owners;
    for (Worker &worker : workers)
      if (worker.pipe >= 0) {
        files.push_back({worker.pipe, POLLIN, 0});
        owners.push_back(&worker);
      }
    if (files.empty())
      return std::move(results);
    poll(files.data(), files.size(), -1);
    for (auto [file, owner] : llvm::zip(files, owners))
      if (file.revents)
        receive(*owner);
  }
}

std::vector<Result> tcc::conformance::runInWorkers(llvm::ArrayRef<Case> cases,
                                                   llvm::function_ref<Result(const Case &)> run,
                                                   const WorkerOptions &options) {
  return Team(cases, run, options).work();
}
