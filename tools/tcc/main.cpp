// tcc: the command line. Everything it does is in lib/Driver.
#include "tcc/Driver/Driver.h"
#include "tcc/Driver/TorchOptions.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace tcc;

static int fail(llvm::Error error) {
  bool user = error.isA<UserError>();
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return user ? 2 : 1;
}

static llvm::Error parsePhaseOption(const std::string &name, std::optional<Phase> &phase) {
  if (name.empty())
    return llvm::Error::success();
  phase = parsePhase(name);
  return phase ? llvm::Error::success() : userError("no phase is called '" + printable(name) + "'");
}

static llvm::Error parseEmit(const std::string &name, EmitKind &kind) {
  const std::pair<const char *, EmitKind> kinds[] = {{"so", EmitKind::So},
                                                     {"obj", EmitKind::Obj},
                                                     {"llvm", EmitKind::Llvm},
                                                     {"asm", EmitKind::Asm},
                                                     {"mlir", EmitKind::Mlir}};
  for (auto &[text, value] : kinds)
    if (name == text) {
      kind = value;
      return llvm::Error::success();
    }
  return userError("--emit '" + printable(name) + "' is none of so, obj, llvm, asm, mlir");
}

/// DIR or DIR=phase,phase
static llvm::Error parseDump(llvm::StringRef text, DriverOptions &options) {
  auto [folder, phases] = text.split('=');
  options.dumpDir = folder.str();
  llvm::SmallVector<llvm::StringRef> names;
  phases.split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    if (!parsePhase(name))
      return userError("no phase is called '" + printable(name) + "'");
    options.dumpPhases.push_back(name.str());
  }
  return llvm::Error::success();
}

static void printSummary(const DriverOptions &options, const CompileSummary &s) {
  for (const std::string &note : s.notes)
    llvm::errs() << "note: " << note << " changes nothing on this target yet\n";
  if (!s.plan.empty())
    llvm::outs() << s.plan;
  if (options.timing)
    for (auto &[phase, seconds] : s.phaseSeconds)
      llvm::outs() << llvm::formatv("{0,-14} {1:f3} s\n", phase, seconds);
  llvm::errs() << llvm::formatv(
      "{0}: {1} kernels ({2} from cache), weights {3:f1} MB, arena {4:f1} MB, {5:f2} s\n",
      printable(options.output), s.kernels, s.cacheHits, s.weightBytes / 1e6, s.arenaBytes / 1e6,
      s.seconds);
}

static void printOptions() {
  for (const TorchOption &o : torchOptions())
    llvm::outs() << llvm::formatv("{0,-32} {1,-7} {2}\n", o.name, o.type, o.what);
}

static void printModes() {
  llvm::outs() << "default\nreduce-overhead               triton.cudagraphs=true\n"
                  "max-autotune                  max_autotune=true triton.cudagraphs=true "
                  "coordinate_descent_tuning=true\nmax-autotune-no-cudagraphs    max_autotune=true "
                  "coordinate_descent_tuning=true\n";
}

int main(int argc, char **argv) {
  DriverOptions options;
  options.cacheDir = defaultCacheDir();
  std::string stopAfter, startFrom, dump, emitKind = "so";
  std::string backend = "inductor", dynamic = "auto";
  bool fullgraph = false, disable = false;
  bool listModes = false, listOptions = false, listBackends = false;
  CLI::App app("Compiles an exported model (ONNX, or torch.export's .pt2) to one model.so", "tcc");
  app.set_version_flag("--version", "tcc " TCC_VERSION);
  app.add_option("model", options.input, "model.onnx, model.pt2 or IR of --stop-after");
  app.add_option("-o,--output", options.output, "file to write (default: MODEL.so)");
  app.add_option("--mode", options.mode, "torch.compile's mode");
  app.add_option("--options", options.options, "torch.compile's options, key=value");
  app.add_option("--backend", backend, "torch.compile's backend: inductor");
  app.add_option("--dynamic", dynamic, "auto, true or false: which dims stay open");
  app.add_flag("--fullgraph", fullgraph, "refuse graph breaks; an exported model has none");
  app.add_flag("--disable", disable, "compile without optimising");
  app.add_option("--cpu", options.cpu,
                 "native, x86-64-v2, x86-64-v3, x86-64-v4 or a name LLVM knows; by default native, "
                 "with --target the least that target has");
  app.add_option("--target", options.target, "triple to compile for, such as aarch64-linux");
  app.add_option("--shape", options.shapes, "shape of an input: x=1x3x224x224");
  app.add_option("--dim", options.dims, "range or value of a symbolic dim: N=1..64");
  app.add_option("--emit", emitKind, "so, obj, llvm, asm or mlir");
  app.add_option("--stop-after", stopAfter, "write the IR after this phase and stop");
  app.add_option("--start-from", startFrom, "the model is IR; go on with this phase");
  app.add_option("--dump-ir", dump, "folder for the IR after each phase: DIR or DIR=phase,phase");
  app.add_option("--depfile", options.depfile, "write a Make rule with every file read");
  app.add_option("--cache", options.cacheDir, "folder for compiled kernels; \"\" for none");
  app.add_option("--jobs", options.jobs, "threads to compile with (default: all)");
  app.add_flag("--timing", options.timing, "print the time of each phase");
  app.add_flag("--print-plan", options.printPlan, "print kernels, FLOPs, bytes and memory");
  app.add_flag("--list-mode-options", listModes, "print what each mode sets");
  app.add_flag("--list-options", listOptions, "print the names that --options knows");
  app.add_flag("--list-backends", listBackends, "print the backends");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0)
      return app.exit(e);
    llvm::errs() << "error: " << printable(e.what()) << " (see tcc --help)\n";
    return 2;
  }
  if (listModes || listOptions || listBackends) {
    listModes ? printModes() : listOptions ? printOptions() : (void)(llvm::outs() << "inductor\n");
    return 0;
  }
  if (options.input.empty())
    return fail(userError("no model is given (see tcc --help)"));
  if (!llvm::is_contained(torchBackends(), backend))
    return fail(
        userError("--backend '" + printable(backend) + "' is unknown (see --list-backends)"));
  if (!llvm::is_contained({"auto", "true", "false"}, dynamic))
    return fail(userError("--dynamic '" + printable(dynamic) + "' is none of auto, true, false"));
  options.idle = {};
  if (dynamic != "auto")
    options.idle.push_back("--dynamic");
  if (disable)
    options.idle.push_back("--disable");
  std::optional<Phase> stop;
  if (llvm::Error error = llvm::joinErrors(
          llvm::joinErrors(parsePhaseOption(stopAfter, stop),
                           parsePhaseOption(startFrom, options.startFrom)),
          llvm::joinErrors(parseEmit(emitKind, options.emit), parseDump(dump, options))))
    return fail(std::move(error));
  options.stopAfter = stop.value_or(Phase::Emit);
  if (options.output.empty())
    options.output = options.input.substr(0, options.input.rfind('.')) + ".so";
  auto summary = compile(options);
  if (!summary)
    return fail(summary.takeError());
  printSummary(options, *summary);
  return 0;
}
