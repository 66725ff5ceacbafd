#include "Report.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <map>

using namespace tcc::conformance;

static constexpr llvm::StringLiteral kNames[] = {"passed", "wrong", "refused", "broken"};

std::vector<Result> tcc::conformance::runCases(llvm::ArrayRef<Case> cases,
                                               llvm::function_ref<Result(const Case &)> run) {
  llvm::CrashRecoveryContext::Enable();
  std::vector<Result> results(cases.size());
  for (auto [i, c] : llvm::enumerate(cases)) {
    llvm::CrashRecoveryContext recovery;
    if (!recovery.RunSafely([&, i = i, &c = c] { results[i] = run(c); }))
      results[i] = {Outcome::Broken, "crashed"};
  }
  llvm::CrashRecoveryContext::Disable();
  return results;
}

void tcc::conformance::printByOperator(llvm::raw_ostream &os, llvm::ArrayRef<Case> cases,
                                       llvm::ArrayRef<Result> results) {
  std::map<std::string, std::array<int, 4>> table;
  std::array<int, 4> total = {};
  for (auto [c, r] : llvm::zip(cases, results)) {
    ++table[c.op][static_cast<size_t>(r.outcome)];
    ++total[static_cast<size_t>(r.outcome)];
  }
  auto line = [&](const std::string &name, const std::array<int, 4> &n) {
    os << llvm::formatv("{0,-32} {1,6} {2,6} {3,8} {4,7}\n", name, n[0], n[1], n[2], n[3]);
  };
  os << llvm::formatv("{0,-32} {1,6} {2,6} {3,8} {4,7}\n", "operator", kNames[0], kNames[1],
                      kNames[2], kNames[3]);
  for (const auto &[op, counts] : table)
    line(op, counts);
  line("total", total);
}

void tcc::conformance::printReasons(llvm::raw_ostream &os, llvm::ArrayRef<Case> cases,
                                    llvm::ArrayRef<Result> results) {
  for (auto [c, r] : llvm::zip(cases, results)) {
    if (r.outcome == Outcome::Passed)
      continue;
    std::string reason = r.reason;
    for (char &ch : reason)
      ch = ch == '\n' ? ' ' : ch;
    os << kNames[static_cast<size_t>(r.outcome)] << ' ' << c.name << " (" << c.op << "): " << reason
       << '\n';
  }
}
