//===- CommandLine.cpp - Flags of tcc ------------------------------------===//
//
// One table of flags gives parsing, --help, and the reference in docs/, so that these cannot
// differ. Flags are torch.compile's words where it has one. What a flag would change nothing of is
// said in its help, because an option that is silently ignored costs its user an afternoon.
//
//===----------------------------------------------------------------------===//
#include "tcc/Driver/CommandLine.h"
#include "CacheCommand.h"
#include "OwnFiles.h"
#include "Reproducer.h"
#include "tcc/Driver/TorchOptions.h"
#include "tcc/Support/DiskCache.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>
#include <cmath>

using namespace llvm;
using namespace tcc;

namespace {

/// What the flags write to, as typed.
struct Arguments {
  DriverOptions options;
  std::string stopAfter, startFrom, dump, logs, emit = "so";
  std::string dynamic = "auto", precision = "f32";
  bool fullgraph = false, disable = false;
  bool listModes = false, listOptions = false, listBackends = false, listAll = false;
};

constexpr std::pair<const char *, EmitKind> kEmitKinds[] = {
    {"so", EmitKind::So},    {"obj", EmitKind::Obj}, {"llvm", EmitKind::Llvm},
    {"asm", EmitKind::Asm},  {"ptx", EmitKind::Ptx}, {"cubin", EmitKind::Cubin},
    {"mlir", EmitKind::Mlir}};

} // namespace

/// What changes nothing says so before it is used (afterwards it is a note).
static constexpr const char *kIdle = "are accepted and change nothing on this target yet";

static std::string modeHelp() {
  SmallVector<std::string> working, idle;
  for (const TorchMode &mode : torchModes())
    (hasEffect(mode) ? working : idle).push_back(mode.name.str());
  return join(working, ", ") + (idle.empty() ? "" : "; " + join(idle, ", ") + " " + kIdle);
}

static std::string optionsHelp() {
  bool none = none_of(torchOptions(), [](const TorchOption &o) { return o.hasEffect; });
  return "One of torch.compile's options, key=value; may be repeated; " +
         (none ? std::string("all of them ") + kIdle
               : "those that --list-options leaves out " + std::string(kIdle));
}

static void defineFiles(CLI::App &app, Arguments &args) {
  auto add = [&](const char *name, std::string &value, const char *what) {
    return app.add_option(name, value, what)->group("Files");
  };
  DriverOptions &o = args.options;
  add("model", o.input, "model.onnx, model.pt2, or the IR that --stop-after wrote");
  add("-o,--output", o.output,
      "File to write (default: the model's name with .so, or .o, .ll, .s, .mlir for other kinds); "
      "beside a library lies its manifest, FILE.json");
  add("--emit", args.emit,
      "so: a library that runs; obj: its code as one relocatable object, with kernels for GPUs "
      "as data; llvm, asm: the code as text; ptx, cubin: the kernels for one GPU; mlir: the IR "
      "after the plan phase");
  add("--depfile", o.depfile, "Write a Make rule that names every file that was read");
  add("--cache", o.cacheDir,
      "Folder for compiled kernels and the hashes of models, \"\" for none (default: "
      "$TCC_CACHE_DIR, else ~/.cache/tcc/kernels); only a folder that nobody else can write is "
      "used; $TCC_CACHE_LIMIT bounds it, in megabytes (1000)");
}

/// An option that may be given many times, with one value each.
static void addList(CLI::App &app, const char *group, const char *name,
                    std::vector<std::string> &values, const std::string &what) {
  app.add_option(name, values, what)->group(group)->allow_extra_args(false);
}

static void defineTarget(CLI::App &app, Arguments &args) {
  const char *group = "Shapes and target";
  DriverOptions &o = args.options;
  addList(app, group, "--shape", o.shapes, "Shape of an input, x=1x3x224x224; may be repeated");
  addList(app, group, "--dim", o.dims,
          "Range or value of a named dimension, N=1..64 or N=8; may be repeated");
  app.add_option("--dynamic", args.dynamic,
                 std::string("auto: those dims stay open that the model leaves open; true and "
                             "false (torch.compile) ") +
                     kIdle)
      ->group(group);
  app.add_option(
         "--cpu", o.cpu,
         "native, x86-64-v2, x86-64-v3, x86-64-v4, or any CPU that LLVM knows (default: native; "
         "with --target, what all CPUs of the target have; with --arch, x86-64-v3 or, on AArch64, "
         "generic)")
      ->group(group);
  app.add_option("--target", o.target,
                 "Triple to compile for, such as aarch64-linux (default: "
                 "this machine)")
      ->group(group);
  app.add_option("--arch", o.archs,
                 "GPU architectures that kernels are for, such as sm_80,sm_90a; sm_100+ptx keeps "
                 "PTX for later ones as well; sim: this machine's CPU in the place of a GPU, for "
                 "tests (default: none, all runs on the CPU)")
      ->group(group);
  app.add_flag(
         "--no-fallback", o.noFallback,
         "Refuse a model of which the host must read what the GPU computes before the GPU can "
         "go on (extents and conditions that depend on data)")
      ->group(group);
  app.add_option("--ptxas", o.ptxas,
                 "NVIDIA's assembler (default: that of PATH, $CUDA_HOME, /usr/local/cuda or the "
                 "Python environment that is active; without one the library has PTX alone)")
      ->group(group);
}

static void definePrecision(CLI::App &app, Arguments &args) {
  app.add_option("--precision", args.precision,
                 std::string("What products of f32 values are computed in, and what values between "
                             "kernels and weights are stored in: f32 is exact; bf16 and f16 halve "
                             "memory, with sums, norms and softmax in f32; inputs and outputs keep "
                             "their types; tf32 is for GPUs and ") +
                     "changes nothing on this target")
      ->group("Shapes and target")
      ->capture_default_str();
}

static void defineTorch(CLI::App &app, Arguments &args) {
  const char *group = "Words of torch.compile";
  app.add_option("--mode", args.options.mode, modeHelp())->group(group)->capture_default_str();
  addList(app, group, "--options", args.options.options, optionsHelp());
  app.add_option("--backend", args.options.backend,
                 "What kernels become: inductor is tcc's own code for the target; "
                 "--list-backends prints the others")
      ->group(group)
      ->capture_default_str();
  app.add_option("--tuning", args.options.tuning,
                 "Record of the schedules and orders of weights that were measured to be fastest: "
                 "read and gone by; with "
                 "max-autotune, kernels that it lacks are measured and added")
      ->group(group);
  app.add_option("--tune-budget", args.options.tuneBudget, "Seconds that max-autotune may measure")
      ->group(group)
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_flag("--fullgraph", args.fullgraph,
               "Refuse graph breaks; an exported model has none, so nothing changes")
      ->group(group);
  app.add_flag("--disable", args.disable,
               "Compile without optimising (torch.compile); changes nothing on this target yet")
      ->group(group);
  app.add_flag("--list-mode-options", args.listModes, "Print what each mode sets")->group(group);
  auto *list = app.add_flag("--list-options", args.listOptions,
                            "Print the names of --options that change something")
                   ->group(group);
  app.add_flag("--all", args.listAll,
               "With --list-options: also the names that are accepted and change nothing yet")
      ->group(group)
      ->needs(list);
  app.add_flag("--list-backends", args.listBackends, "Print the backends")->group(group);
}

static void definePhases(CLI::App &app, Arguments &args) {
  const char *group = "Looking inside";
  DriverOptions &o = args.options;
  auto add = [&](const char *name, std::string &value, const char *what) {
    app.add_option(name, value, what)->group(group);
  };
  add("--stop-after", args.stopAfter,
      "Write the IR after this phase to the output, and the weights beside it, and stop");
  add("--start-from", args.startFrom, "The model is such IR; go on with this phase");
  add("--dump-ir", args.dump,
      "Write the IR after each phase to a folder, and each kernel as loops, LLVM IR and assembly: "
      "DIR, or DIR=phase,phase");
  add("--logs", args.logs,
      "Tell more on stderr: topics with commas, +topic in detail; `--logs help` lists them "
      "(also TCC_LOGS)");
  add("--reproducer", o.reproducer,
      "Write a folder from which a fault can be repeated: the command, the version, and the IR at "
      "the start of the phase that failed (if none did: of decompose)");
  app.add_flag("--verify", o.verify,
               "Run the result beside the reference interpreter on seeded inputs (for a GPU that "
               "this machine lacks, on the simulated device); if it differs, name the first node "
               "that does, exit code 1")
      ->group(group);
  app.add_flag("--timing", o.timing,
               "Print the time of each phase and the kernels that took longest to compile")
      ->group(group);
  app.add_flag(
         "--print-plan", o.printPlan,
         "Print the kernels with their nodes, FLOPs and bytes, the memory plan, and where and why "
         "the host waits for a device")
      ->group(group);
  constexpr unsigned mostJobs = 1024;
  app.add_option("--jobs", o.jobs, "Threads to compile with (default: one a core)")
      ->group(group)
      ->check(CLI::Range(0u, mostJobs));
}

static void define(CLI::App &app, Arguments &args) {
  args.options.cacheDir = defaultCacheDir();
  app.set_version_flag("--version", "tcc " TCC_VERSION, "Print the version and stop");
  app.set_help_flag("-h,--help", "Print this help and stop");
  defineFiles(app, args);
  defineTarget(app, args);
  definePrecision(app, args);
  defineTorch(app, args);
  definePhases(app, args);
}

static constexpr const char *kWhat =
    "Compiles an exported model (ONNX, or torch.export's .pt2) to one model.so";

//===----------------------------------------------------------------------===//
// From text to options
//===----------------------------------------------------------------------===//

static Error parsePhaseOption(const std::string &name, std::optional<Phase> &phase) {
  if (name.empty())
    return Error::success();
  phase = parsePhase(name);
  if (phase)
    return Error::success();
  std::string names = join(map_range(kPhases, [](Phase p) { return phaseName(p).str(); }), ", ");
  return userError("no phase is called '" + printable(name) + "', they are: " + names);
}

static Error parsePrecision(StringRef name, DriverOptions &options) {
  std::optional<Precision> precision = precisionOf(name);
  if (!precision)
    return userError("--precision '" + printable(name) + "' is none of f32, tf32, bf16, f16");
  options.precision = *precision;
  if (options.precision == Precision::TF32 && options.archs.empty())
    options.idle.push_back("--precision tf32");
  return Error::success();
}

static Error parseEmit(const std::string &name, EmitKind &kind) {
  for (auto &[text, value] : kEmitKinds)
    if (name == text) {
      kind = value;
      return Error::success();
    }
  return userError("--emit '" + printable(name) +
                   "' is none of so, obj, llvm, asm, ptx, cubin, mlir");
}

/// DIR or DIR=phase,phase
static Error parseDump(StringRef text, DriverOptions &options) {
  auto [folder, phases] = text.split('=');
  options.dumpDir = folder.str();
  SmallVector<StringRef> names;
  phases.split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    std::optional<Phase> phase;
    if (Error error = parsePhaseOption(name.str(), phase))
      return error;
    options.dumpPhases.push_back(name.str());
  }
  return Error::success();
}

static Error parseTorchWords(const Arguments &args, DriverOptions &options) {
  if (!is_contained({"auto", "true", "false"}, args.dynamic))
    return userError("--dynamic '" + printable(args.dynamic) + "' is none of auto, true, false");
  if (args.dynamic != "auto")
    options.idle.push_back("--dynamic");
  if (args.disable)
    options.idle.push_back("--disable");
  return Error::success();
}

static Error parseLogs(StringRef text) {
  if (const char *environment = std::getenv("TCC_LOGS"))
    if (Error error = log::configure(environment))
      return error;
  return log::configure(text);
}

static std::string optionList(bool all) {
  std::string working, idle;
  for (const TorchOption &o : torchOptions())
    (o.hasEffect ? working : idle) +=
        StringRef(formatv("{0,-48} {1,-7} {2}", o.name, o.type, o.what).str()).rtrim().str() + "\n";
  if (working.empty())
    working = "no option changes anything on this target yet\n";
  return working + (all ? "\naccepted, change nothing on this target yet:\n" + idle
                        : "(--list-options --all prints all names that are accepted)\n");
}

static std::string modeList() {
  std::string text;
  for (const TorchMode &mode : torchModes())
    text += StringRef(formatv("{0,-28} {1}{2}", mode.name, mode.sets,
                              hasEffect(mode) ? "" : "  (changes nothing on this target yet)")
                          .str())
                .rtrim()
                .str() +
            "\n";
  return text;
}

static std::string backendList() {
  std::string text = formatv("{0,-12} tcc's own code for the target (the default)\n", kOwnBackend);
  for (const BackendKind &kind : backendKinds())
    text += formatv("{0,-12} {1}\n", kind.name, kind.what);
  return text;
}

static std::string listAskedFor(const Arguments &args) {
  return args.listModes        ? modeList()
         : args.listOptions    ? optionList(args.listAll)
         : args.listBackends   ? backendList()
         : args.logs == "help" ? log::help()
                               : "";
}

/// As typed, quoted for a shell where needed.
static std::string commandText(int argc, const char *const *argv) {
  std::string text = "tcc";
  for (int i = 1; i < argc; ++i)
    text += " " + shellWord(argv[i]);
  return text;
}

/// Of the default output: what it holds.
static StringRef outputExtension(const DriverOptions &options) {
  if (options.stopAfter < Phase::Codegen)
    return ".mlir";
  switch (options.emit) {
  case EmitKind::So:
    return ".so";
  case EmitKind::Obj:
    return ".o";
  case EmitKind::Llvm:
    return ".ll";
  case EmitKind::Asm:
    return ".s";
  case EmitKind::Ptx:
    return ".ptx";
  case EmitKind::Cubin:
    return ".cubin";
  case EmitKind::Mlir:
    return ".mlir";
  }
  llvm_unreachable("all kinds are handled above");
}

static Expected<CommandLine> understand(Arguments &args) {
  CommandLine result;
  result.print = listAskedFor(args);
  if (!result.print.empty())
    return result;
  DriverOptions &options = args.options;
  if (options.input.empty())
    return userError("no model is given (see tcc --help)");
  std::optional<Phase> stop;
  for (const auto &parse : std::initializer_list<std::function<Error()>>{
           [&] { return parseTorchWords(args, options); },
           [&] { return parsePhaseOption(args.stopAfter, stop); },
           [&] { return parsePhaseOption(args.startFrom, options.startFrom); },
           [&] { return parseEmit(args.emit, options.emit); },
           [&] { return parsePrecision(args.precision, options); },
           [&] { return parseDump(args.dump, options); }, [&] { return parseLogs(args.logs); }})
    if (Error error = parse())
      return std::move(error);
  options.stopAfter = stop.value_or(Phase::Emit);
  if (options.stopAfter == Phase::Codegen)
    return userError(
        "--stop-after codegen: there is no IR of that phase, which writes code; --emit "
        "obj, llvm or asm gives it");
  if (options.stopAfter < Phase::Codegen &&
      !is_contained({EmitKind::So, EmitKind::Mlir}, options.emit))
    return userError("--stop-after " + args.stopAfter + " writes IR: leave out --emit " +
                     args.emit);
  if (Error error = checkCacheLimit())
    return std::move(error);
  if (std::isnan(options.tuneBudget))
    return userError("--tune-budget: 'nan' is no number of seconds");
  if (options.tuneBudget != DriverOptions().tuneBudget && !options.tunes())
    options.idle.push_back("--tune-budget without --mode max-autotune");
  if (!options.ptxas.empty() && options.archs.empty())
    options.idle.push_back("--ptxas without --arch");
  if (options.startFrom == Phase::Import)
    options.startFrom = std::nullopt; // that is where it starts anyway
  if (options.verify && (options.emit != EmitKind::So || options.stopAfter != Phase::Emit))
    return userError("--verify needs a library to run: leave out --emit and --stop-after");
  options.outputIsDefault = options.output.empty();
  if (options.outputIsDefault)
    options.output = defaultOutput(options.input, outputExtension(options));
  result.options = std::move(options);
  return result;
}

Expected<CommandLine> tcc::parseCommandLine(int argc, const char *const *argv) {
  if (argc > 1 && StringRef(argv[1]) == "cache") { // a model of this name is ./cache
    Expected<std::string> text = cacheCommand(argc - 1, argv + 1);
    if (!text)
      return text.takeError();
    return CommandLine{{}, *text};
  }
  Arguments args;
  CLI::App app(kWhat, "tcc");
  define(app, args);
  app.footer("tcc cache --stats, --prune: looks after the compiled kernels (see tcc cache --help)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return CommandLine{{}, app.help()};
  } catch (const CLI::CallForVersion &version) {
    return CommandLine{{}, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError &error) {
    return userError(printable(error.what()) + " (see tcc --help)");
  }
  for (const char *file : {"--output", "--depfile"})
    if (const CLI::Option *option = app.get_option(file);
        option->count() && option->as<std::string>().empty())
      return userError(std::string(file) + ": '' names no file");
  args.options.command = commandText(argc, argv);
  return understand(args);
}

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

/// `|` divides the cells of a table.
static std::string cell(StringRef text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string tcc::commandLineReference() {
  Arguments args;
  CLI::App app(kWhat, "tcc");
  define(app, args);
  std::string text = "# The command line of tcc\n\n`tcc [OPTIONS] model`\n\n" + std::string(kWhat) +
                     ".\n\n| exit code | meaning |\n|---|---|\n| 0 | done |\n"
                     "| 1 | a fault of tcc, or --verify found a difference; nothing is written |\n"
                     "| 2 | a fault in what was given; nothing is written |\n";
  std::vector<std::string> groups;
  for (const CLI::Option *option : app.get_options())
    if (!is_contained(groups, option->get_group()))
      groups.push_back(option->get_group());
  std::rotate(groups.begin(), groups.begin() + 1, groups.end()); // --help and --version last
  for (const std::string &group : groups) {
    text += "\n## " + (group == "Options" ? "Help" : group) + "\n\n| flag | meaning |\n|---|---|\n";
    for (const CLI::Option *option : app.get_options()) {
      if (option->get_group() != group)
        continue;
      std::string usual = option->get_default_str();
      text += "| `" + option->get_name(/*positional=*/true, /*all_options=*/true) + "` | " +
              cell(option->get_description()) + (usual.empty() ? "" : " (default: " + usual + ")") +
              " |\n";
    }
  }
  text += "\n## Phases\n\n`--stop-after`, `--start-from` and `--dump-ir` go by these names: ";
  text += join(map_range(kPhases, [](Phase p) { return "`" + phaseName(p).str() + "`"; }), ", ") +
          ".\n";
  text += "\n## tcc cache\n\n```\n" + StringRef(cacheCommandHelp()).trim().str() + "\n```\n";
  text += "\n## Log topics\n\n```\n" + log::help() + "```\n";
  return text;
}
