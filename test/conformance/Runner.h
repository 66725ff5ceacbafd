//===- Runner.h - Compiled cases run in a process of their own ----*- C++ -*-===//
//
// A GPU's driver takes a part of a second to start, and a process that has started it is
// slow to start others, such as the assembler. So what compiles cases never touches the
// driver: another process, forked before it, runs them one after the other and keeps the
// device open. When it dies or hangs, only the case is lost.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Report.h"
#include <sys/types.h>

namespace tcc::conformance {

class Runner {
public:
  using Run = std::function<Result(const Case &, const std::string &library)>;
  /// `run` is called in the other process, which is started by the first case.
  Runner(Run run, unsigned seconds) : run(std::move(run)), seconds(seconds) {}
  ~Runner() { stop(); }
  Runner(const Runner &) = delete;

  /// What `run` gives for the library at this path; `c` must be older than the other process.
  Result operator()(const Case &c, const std::string &library);

private:
  bool start();
  void stop();
  [[noreturn]] void serve(int in, int out);
  std::optional<Result> answer(std::string &why);

  Run run;
  unsigned seconds; ///< for one case
  pid_t pid = -1;
  int to = -1, from = -1;
};

} // namespace tcc::conformance
