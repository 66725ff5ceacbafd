// Compiles and runs ONNX's backend cases, all in this one program.
//
//   conformance-onnx [--data DIR] [--document FILE] [--filter TEXT] [--exact] [-v] [--jobs N]
//                    [--every N] [--apart] [--write] [--dynamic] [--arch NAME] [--backend NAME]
//
// --filter TEXT: only the cases whose name contains TEXT; --exact: is TEXT.
// --every N: only every Nth case.
// --apart: libraries run in a process that compiles nothing, as those for GPUs do.
// -v: a line for each case that does not pass, how far it is, and what the children print.
// --write: writes the document. Otherwise exit code 1 when a case fails that the
// document does not list.
// --arch NAME: compiled for a GPU architecture and run there: sim is this machine. It has a
// document of its own.
// --backend NAME: compiles for this back-end; what fails then is compared with the same document.
// --dynamic: every dim of every input is known only at run time. Operators whose
// operands tell them a rank or a number of results cannot all be compiled so; it
// finds faults, and is not compared with the document.
#include "Agreement.h"
#include "Chance.h"
#include "CompiledModel.h"
#include "Document.h"
#include "Runner.h"
#include "Workers.h"
#include "tcc/Driver/Driver.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <unistd.h>

using namespace tcc;
using namespace tcc::conformance;
namespace fs = llvm::sys::fs;

namespace {

struct Options {
  std::string data = TCC_ONNX_TEST_DATA, document, filter, arch, backend = kOwnBackend.str();
  bool exact = false, verbose = false, write = false, dynamic = false, apart = false;
  unsigned jobs = 2, every = 1;
};

/// A UserError refuses the case, any other error is our fault.
Result failureOf(llvm::Error error) {
  Outcome outcome = error.isA<UserError>() ? Outcome::Refused : Outcome::Broken;
  return {outcome, llvm::toString(std::move(error))};
}

/// Runs the library at `path` on every data set of the case.
Result run(const Case &c, const std::string &path) {
  auto sets = loadDataSets(c);
  if (!sets)
    return failureOf(sets.takeError());
  auto model = conformance::CompiledModel::open(path);
  if (!model)
    return failureOf(model.takeError());
  // A device closes with its last model, and takes longer to open than a case to run.
  static std::unique_ptr<conformance::CompiledModel> first;
  auto &opened = first ? *model : (first = std::move(*model));
  for (const DataSet &set : *sets) {
    if (isRandom(c)) {
      if (auto what = unlikelihood(c, set, [&](auto inputs) { return opened->run(inputs); }))
        return {Outcome::Wrong, *what};
      continue;
    }
    auto outputs = opened->run(set.inputs);
    if (!outputs)
      return {Outcome::Wrong, llvm::toString(outputs.takeError())};
    if (auto what = disagreement(*outputs, set.outputs, c.rtol, c.atol))
      return {Outcome::Wrong, *what};
  }
  return {};
}

/// Whether the code is for a device with a driver, or the user wants to see what it would be.
bool runsApart(const Options &how) { return how.apart || (!how.arch.empty() && how.arch != "sim"); }

Result compileAndRun(const Case &c, const std::string &folder, const Options &how) {
  auto sets = loadDataSets(c);
  if (!sets)
    return failureOf(sets.takeError());
  if (sets->empty())
    return {Outcome::Refused, "the case has no data"};
  DriverOptions options;
  options.input = c.model;
  options.output = folder + "/" + c.name + ".so";
  options.jobs = 1;
  options.archs = how.arch;
  options.backend = how.backend;
  if (how.dynamic) {
    auto shapes = dynamicShapes(c);
    if (!shapes)
      return failureOf(shapes.takeError());
    options.shapes = *shapes;
  }
  if (auto summary = compile(options); !summary)
    return failureOf(summary.takeError());
  static Runner elsewhere(run, /*seconds=*/60);
  return runsApart(how) ? elsewhere(c, options.output) : run(c, options.output);
}

Result runCase(const Case &c, const std::string &folder, const Options &how) {
  Result result = compileAndRun(c, folder, how);
  std::string stem = folder + "/" + c.name;
  for (llvm::StringRef end : {".so", ".so.json", ".so.safetensors"})
    fs::remove(stem + end);
  return result;
}

std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    bool more = i + 1 < argc;
    if (argument == "-v")
      options.verbose = true;
    else if (argument == "--write")
      options.write = true;
    else if (argument == "--dynamic")
      options.dynamic = true;
    else if (argument == "--apart")
      options.apart = true;
    else if (argument == "--exact")
      options.exact = true;
    else if (argument == "--data" && more)
      options.data = argv[++i];
    else if (argument == "--document" && more)
      options.document = argv[++i];
    else if (argument == "--arch" && more)
      options.arch = argv[++i];
    else if (argument == "--backend" && more)
      options.backend = argv[++i];
    else if (argument == "--filter" && more)
      options.filter = argv[++i];
    else if (argument == "--jobs" && more &&
             !llvm::StringRef(argv[i + 1]).getAsInteger(10, options.jobs))
      ++i;
    else if (argument == "--every" && more &&
             !llvm::StringRef(argv[i + 1]).getAsInteger(10, options.every) && options.every)
      ++i;
    else
      return std::nullopt;
  }
  if (options.document.empty())
    options.document =
        TCC_DOCS "/conformance-onnx" + (options.arch.empty() ? "" : "-" + options.arch) + ".md";
  return options;
}

/// Compares with the record; the exit code.
int judge(const Options &options, llvm::ArrayRef<Case> cases, llvm::ArrayRef<Result> results) {
  auto document = llvm::MemoryBuffer::getFile(options.document);
  if (!document) {
    llvm::errs() << "cannot read " << options.document << "; make it with --write\n";
    return 1;
  }
  std::set<std::string> known = casesThatFail((*document)->getBuffer());
  int lost = 0, gained = 0;
  for (auto [c, r] : llvm::zip(cases, results)) {
    bool passed = r.outcome == Outcome::Passed;
    gained += passed && known.count(c.name);
    if (passed || known.count(c.name))
      continue;
    ++lost;
    llvm::errs() << "passes no longer: " << c.name << ": " << r.reason << '\n';
  }
  if (gained)
    llvm::outs() << gained << " cases pass that " << options.document
                 << " says do not: run conformance-onnx --write\n";
  return lost ? 1 : 0;
}

int write(const Options &options, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream os(options.document, error);
  if (!error)
    os << text;
  else
    llvm::errs() << "cannot write " << options.document << '\n';
  return error ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  auto options = parse(argc, argv);
  if (!options) {
    llvm::errs()
        << "usage: conformance-onnx [--data DIR] [--document FILE] [--filter TEXT] "
           "[--exact] [-v] [--jobs N] [--every N] [--apart] [--write] [--dynamic] [--arch NAME] "
           "[--backend NAME]\n";
    return 2;
  }
  auto all = enumerateCases(options->data);
  if (!all) {
    llvm::errs() << llvm::toString(all.takeError()) << '\n';
    return 1;
  }
  std::vector<Case> cases;
  for (auto [i, c] : llvm::enumerate(*all))
    if (i % options->every == 0 &&
        (options->exact ? c.name == options->filter
                        : llvm::StringRef(c.name).contains(options->filter)))
      cases.push_back(c);
  llvm::SmallString<128> folder;
  if (fs::createUniqueDirectory("conformance", folder)) {
    llvm::errs() << "no temporary folder\n";
    return 1;
  }
  WorkerOptions workers;
  workers.jobs = options->jobs;
  workers.showErrors = options->verbose;
  size_t done = 0;
  if (options->verbose)
    workers.done = [&](const Case &c, const Result &r) {
      printReasons(llvm::outs(), c, r);
      if (++done % 100 == 0)
        llvm::outs() << done << " of " << cases.size() << " cases\n";
      llvm::outs().flush();
    };
  auto results = runInWorkers(
      cases, [&](const Case &c) { return runCase(c, folder.str().str(), *options); }, workers);
  fs::remove_directories(folder);
  printByOperator(llvm::outs(), cases, results);
  if (options->dynamic)
    return 0;
  if (options->write && options->filter.empty() && options->every == 1)
    return write(*options, documentText(options->arch, cases, results));
  return judge(*options, cases, results);
}
