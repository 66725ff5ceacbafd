// tcc: the command line. Everything it does is in lib/Driver.
#include "tcc/Driver/Driver.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace tcc;

static int fail(llvm::Error error) {
  bool user = error.isA<UserError>();
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return user ? 2 : 1;
}

static void printSummary(const DriverOptions &options, const CompileSummary &s) {
  for (auto &[phase, seconds] : s.phaseSeconds)
    if (options.timing)
      llvm::outs() << llvm::formatv("{0,-14} {1:f3} s\n", phase, seconds);
  llvm::outs() << llvm::formatv(
      "{0}: {1} kernels ({2} from cache), weights {3:f1} MB, arena {4:f1} MB, {5:f2} s\n",
      options.output, s.kernels, s.cacheHits, s.weightBytes / 1e6, s.arenaBytes / 1e6, s.seconds);
}

int main(int argc, char **argv) {
  DriverOptions options;
  options.cacheDir = defaultCacheDir();
  std::string stopAfter, mode = "default", emitKind = "so";
  CLI::App app("Compiles an exported model (ONNX, or torch.export's .pt2) to one model.so", "tcc");
  app.add_option("model", options.input, "model.onnx or model.pt2")->required();
  app.add_option("-o,--output", options.output, "file to write (default: MODEL.so)");
  app.add_option("--cpu", options.cpu,
                 "native, x86-64-v2, x86-64-v3, x86-64-v4 or a name LLVM knows");
  app.add_option("--target", options.target, "triple to compile for, such as aarch64-linux");
  app.add_option("--shape", options.shapes, "shape of an input: x=1x3x224x224");
  app.add_option("--dim", options.dims, "range or value of a symbolic dim: N=1..64");
  app.add_option("--stop-after", stopAfter, "write the IR after this phase");
  app.add_option("--dump-ir", options.dumpDir, "folder for the IR after each phase");
  app.add_option("--cache", options.cacheDir, "folder for compiled kernels; \"\" for none");
  app.add_option("--jobs", options.jobs, "threads to compile with (default: all)");
  app.add_flag("--timing", options.timing, "print the time of each phase");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0)
      return app.exit(e);
    llvm::errs() << "error: " << printable(e.what()) << " (see tcc --help)\n";
    return 2;
  }
  if (!stopAfter.empty()) {
    auto phase = parsePhase(stopAfter);
    if (!phase)
      return fail(userError("no phase is called '" + printable(stopAfter) + "'"));
    options.stopAfter = *phase;
  }
  if (options.output.empty())
    options.output = options.input.substr(0, options.input.rfind('.')) + ".so";
  auto summary = compile(options);
  if (!summary)
    return fail(summary.takeError());
  printSummary(options, *summary);
  return 0;
}
