#include "Document.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <map>

using namespace tcc::conformance;

static constexpr llvm::StringLiteral kWords[] = {"passed", "wrong", "refused", "broken"};

namespace {

struct Row {
  std::array<int, 4> counts = {};
  std::vector<size_t> failing;
  int cases() const { return counts[0] + counts[1] + counts[2] + counts[3]; }
};

} // namespace

static constexpr const char *kOutcomes = R"(
- passed: every output of every data set agrees; outputs that the specification leaves to chance have the stated distribution over 4000 runs.
- wrong: it compiled, and at least one output does not agree or the run failed.
- refused: the compiler says that it does not support this, and why.
- broken: a fault of the compiler: an internal error or a crash.

)";

static std::string headOf(llvm::StringRef arch) {
  std::string title = "# ONNX conformance", option, where, test = "conformance.onnx";
  bool isTested = arch.empty() || arch == "sim"; // others need a GPU
  if (!arch.empty()) {
    title += (" of code for " + arch).str();
    option = ("--arch " + arch + " ").str();
    where = isTested ? ", kernels as code for GPUs on the simulated device,"
                     : (", kernels on a GPU of architecture " + arch + ",").str();
    test += ("-" + arch).str();
  }
  std::string held =
      isTested ? " The test `" + test + "` fails when a case passes no longer."
               : " `scripts/gpu-test` packs what a machine with such a GPU needs for that.";
  return llvm::formatv(
      "{0}\nWritten by `conformance-onnx {1}--write`, which compiles and runs every case of ONNX's "
      "backend tests (the onnx 1.22.0 wheel){2} and compares all outputs with the stored ones at "
      "the tolerances of ONNX's own runner.{3}\n{4}",
      title, option, where, held, kOutcomes);
}

/// The first line, short, and such that a Markdown table or list keeps it.
static std::string shortReason(const Case &c, llvm::StringRef reason) {
  std::string text = reason.split('\n').first.trim().str();
  // Errors name the file, which lies elsewhere on each machine.
  for (size_t at; !c.model.empty() && (at = text.find(c.model + ": ")) != std::string::npos;)
    text.erase(at, c.model.size() + 2);
  for (size_t at; !c.model.empty() && (at = text.find(c.model)) != std::string::npos;)
    text.replace(at, c.model.size(), "the model");
  std::string out;
  for (char ch : text) {
    if (out.size() > 160) {
      out += " ...";
      break;
    }
    if (llvm::StringRef("<>*_|\\`").contains(ch))
      out += '\\';
    out += ch;
  }
  return out;
}

std::string tcc::conformance::documentText(llvm::StringRef arch, llvm::ArrayRef<Case> cases,
                                           llvm::ArrayRef<Result> results) {
  std::map<std::string, Row> rows;
  Row total;
  for (auto [i, c] : llvm::enumerate(cases)) {
    Row &row = rows[c.op];
    size_t outcome = static_cast<size_t>(results[i].outcome);
    ++row.counts[outcome];
    ++total.counts[outcome];
    if (results[i].outcome != Outcome::Passed)
      row.failing.push_back(i);
  }
  std::string text = headOf(arch);
  llvm::raw_string_ostream os(text);
  os << "| operator | cases | passed | wrong | refused | broken |\n|---|---|---|---|---|---|\n";
  auto line = [&](llvm::StringRef name, const Row &row) {
    os << "| " << name << " | " << row.cases();
    for (int n : row.counts)
      os << " | " << n;
    os << " |\n";
  };
  line("**all**", total);
  for (const auto &[op, row] : rows)
    line(op, row);
  os << "\n## Cases that do not pass\n";
  for (const auto &[op, row] : rows) {
    if (row.failing.empty())
      continue;
    os << "\n### " << op << "\n";
    for (size_t i : row.failing)
      os << "- `" << cases[i].name << "` " << kWords[static_cast<size_t>(results[i].outcome)]
         << ": " << shortReason(cases[i], results[i].reason) << "\n";
  }
  return text;
}

std::set<std::string> tcc::conformance::casesThatFail(llvm::StringRef text) {
  std::set<std::string> names;
  llvm::StringRef line;
  while (!text.empty()) {
    std::tie(line, text) = text.split('\n');
    if (line.consume_front("- `"))
      names.insert(line.split('`').first.str());
  }
  return names;
}
