//===- Driver.cpp - From options to files ---------------------------------===//
//
// One compile: what the user asked for becomes options of the phases, the phases run, and what they
// give gets its name when all of it is there. Whatever can fail late (checksums, the hash of the
// input, --verify) runs beside the phases or after them, and a failure leaves nothing behind.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "DeviceHere.h"
#include "ModelLog.h"
#include "OwnFiles.h"
#include "TargetOptions.h"
#include "WriteCode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/Crossings.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Driver/CrashReport.h"
#include "tcc/Driver/TorchOptions.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/FileHash.h"
#include "tcc/Support/Logging.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <thread>

using namespace llvm;
using namespace tcc;

std::string tcc::defaultCacheDir() {
  SmallString<128> path;
  if (const char *own = std::getenv("TCC_CACHE_DIR"))
    return own;
  if (!sys::path::cache_directory(path))
    return "";
  sys::path::append(path, "tcc", "kernels");
  return std::string(path);
}

/// "node 'conv1': " when the location names a node of the model.
static std::string nodePrefix(mlir::Location loc) {
  std::string name;
  loc->walk([&](mlir::Location part) {
    if (auto named = mlir::dyn_cast<mlir::NameLoc>(part)) {
      name = printable(named.getName());
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return name.empty() ? name : "node '" + name + "': ";
}

unsigned DriverOptions::threads() const {
  return jobs ? jobs : std::max(1u, std::thread::hardware_concurrency());
}

bool DriverOptions::tunes() const {
  return StringRef(mode).starts_with("max-autotune") || any_of(options, [](StringRef text) {
           auto [name, value] = text.split('=');
           return name == "max_autotune" && (value.equals_insensitive("true") || value == "1");
         });
}

std::vector<std::string> DriverOptions::resultFlags() const {
  std::vector<std::string> flags;
  if (backend != kOwnBackend)
    flags.push_back("--backend=" + backend);
  if (!cpu.empty())
    flags.push_back("--cpu=" + cpu);
  if (!target.empty())
    flags.push_back("--target=" + target);
  if (!archs.empty())
    flags.push_back("--arch=" + archs);
  if (mode != "default")
    flags.push_back("--mode=" + mode);
  for (const std::string &text : options)
    flags.push_back("--options=" + text);
  if (precision != Precision::F32)
    flags.push_back("--precision=" + nameOf(precision).str());
  for (const std::string &text : shapes)
    flags.push_back("--shape=" + text);
  for (const std::string &text : dims)
    flags.push_back("--dim=" + text);
  return flags;
}

mlir::LogicalResult Compile::collect(mlir::Diagnostic &d) {
  if (d.getSeverity() == mlir::DiagnosticSeverity::Error && diagnostic.empty())
    diagnostic = nodePrefix(d.getLocation()) + printable(d.str(), 1000);
  return mlir::success();
}

StringRef tcc::nameOf(InputFormat format) {
  switch (format) {
  case InputFormat::Onnx:
    return "onnx";
  case InputFormat::TorchExport:
    return "pt2";
  case InputFormat::Mlir:
    return "mlir";
  }
  llvm_unreachable("all formats are handled above");
}

void Compile::phaseStarts(Phase phase) {
  progress.show("tcc: " + phaseName(phase));
  crashPhase(phase);
  log::write(log::Topic::Phases, phaseName(phase) + " starts");
  if (options.reproducer.empty())
    return;
  // What the emit phase takes is in memory only: its input is that of codegen.
  if (phase != Phase::Import && phase != Phase::Emit)
    reproducer.keep(phase, model);
}

void Compile::phaseDone(Phase phase, mlir::ModuleOp module) {
  dump.module(phase, module);
  logPhase(phase, module);
  summary.phaseSeconds.push_back({phaseName(phase).str(), secondsSince(phaseStart)});
  phaseStart = CompileClock::now();
}

/// The phase whose result importModel gives.
Phase Compile::firstPhase() const {
  return options.startFrom ? static_cast<Phase>(static_cast<int>(*options.startFrom) - 1)
                           : Phase::Import;
}

Expected<Model> Compile::importModel() {
  Model result;
  if (options.startFrom) {
    if (Error error = readCheckpoint(result, options.input, context))
      return std::move(error);
    filesRead = {options.input};
    if (std::string weights = checkpointWeightsPath(options.input); sys::fs::exists(weights))
      filesRead.push_back(std::move(weights));
    if (failed(mayFollow(result, firstPhase())))
      return userError("it is not what phase '" + phaseName(firstPhase()) +
                       "' leaves: --start-from names the phase after that of --stop-after");
    return std::move(result);
  }
  ImportOptions import;
  for (const std::string &text : options.shapes)
    if (Error error = addShapeOption(import, text))
      return std::move(error);
  for (const std::string &text : options.dims)
    if (Error error = addDimOption(import, text))
      return std::move(error);
  import.hasRule = [](StringRef domain, StringRef op, int64_t version) {
    return hasRule(domain, op, version);
  };
  filesRead.clear();
  import.fileRead = [this](StringRef path) {
    log::write(log::Topic::Import, "reads " + printable(path, 1000));
    filesRead.push_back(path.str());
  };
  import.note = [this](std::string note) { summary.notes.push_back(std::move(note)); };
  auto module = format == InputFormat::TorchExport
                    ? importTorchExport(options.input, import, *result.weights, context)
                    : importOnnx(options.input, import, *result.weights, context);
  if (!module)
    return module.takeError();
  result.module = std::move(*module);
  return std::move(result);
}

/// A rule for Make and Ninja: the output depends on every file that was read.
Error Compile::writeDepfile() {
  auto escaped = [](StringRef path) {
    std::string out;
    for (char c : path) {
      if (c == ' ' || c == '#' || c == '\\')
        out += '\\';
      if (c == '$')
        out += '$';
      out += c;
    }
    return out;
  };
  std::string text = escaped(options.output) + ":";
  for (const std::string &path : filesRead)
    text += " \\\n  " + escaped(path);
  return files.write(options.depfile, text + "\n");
}

/// Errors name the model; our own diagnostics say where in it.
Error Compile::withDiagnostic(Error error) {
  if (error.isA<UserError>()) {
    std::string text = toString(std::move(error));
    std::string file = printable(options.input);
    if (!diagnostic.empty())
      text += ": " + diagnostic;
    return userError(StringRef(text).contains(file) ? text : file + ": " + text);
  }
  if (diagnostic.empty())
    return error;
  std::string what = toString(std::move(error));
  return createStringError(what + ": " + diagnostic);
}

/// Holds an archive's entries against their checksums, beside the phases; what cannot be read, the
/// importer tells.
void Compile::startChecking() {
  DiskCache cache(options.cacheDir);
  if (format == InputFormat::TorchExport)
    damage = std::async(std::launch::async, [this, cache] {
      return toString(checkTorchExportSums(options.input, cache));
    });
}

/// The hash of the whole input, beside the phases after import: a file that is refused may be far
/// larger than anybody wants to read.
void Compile::startHashing() {
  DiskCache cache(options.cacheDir);
  if (options.emit == EmitKind::So && options.stopAfter == Phase::Emit)
    inputHash = std::async(std::launch::async,
                           [this, cache] { return hashOfFile(options.input, cache).value_or(""); });
}

/// Waits for the checksums; to be asked before anything gets its name.
Error Compile::checkSums() {
  std::string text = damage.valid() ? damage.get() : "";
  return text.empty() ? Error::success() : userError(text);
}

Error Compile::finish(CompiledModel *compiled) {
  if (!compiled)
    return writeCheckpoint(model, options.output, files);
  if (options.emit != EmitKind::So)
    return writeCode(*compiled, options, target, files);
  artefact.emplace();
  auto hash = [&] { return inputHash.get(); };
  Error error = artefact->write(model, *compiled, options, target, {nameOf(format), hash}, files);
  summary.weightBytes = artefact->weightBytes;
  return error;
}

/// What is written and, where asked for, verified gets its names.
Error Compile::publish() {
  if (artefact)
    dump.manifest(artefact->manifest);
  if (Error error = dump.failure())
    return error;
  if (!options.depfile.empty())
    if (Error error = writeDepfile())
      return error;
  for (const std::string &path : filesRead) // weights of the model
    for (const std::string &output : {options.output, options.depfile})
      if (sys::fs::equivalent(path, output))
        return userError("the output '" + printable(output) +
                         "' is a file that the model reads: " + "name another");
  return files.commit();
}

/// Where the user asked for one: the fault, in a folder.
Error Compile::withReproducer(Error error, bool phaseFailed) {
  if (options.reproducer.empty() || target.host.name.empty())
    return error;
  bool user = error.isA<UserError>();
  std::string text = error ? toString(std::move(error)) : "";
  Error written = reproducer.write(options, text, phaseFailed);
  if (text.empty())
    return written;
  if (written)
    text += "; no reproducer: " + toString(std::move(written));
  else
    text += " (reproducer in " + printable(options.reproducer) + ")";
  return user ? userError(text) : createStringError(text);
}

/// Nothing is lost that the user did not name: neither the model nor a file whose name is derived.
Error Compile::checkOutput() const {
  for (const std::string &path : {options.output, options.depfile})
    if (sys::fs::equivalent(options.input, path))
      return userError("the output '" + printable(path) +
                       "' is the model itself: name another file");
  bool library = options.emit == EmitKind::So && options.stopAfter == Phase::Emit;
  if (options.outputIsDefault)
    if (Error error = mayReplace(options.output, library ? OwnFile::Library : OwnFile::Text))
      return error;
  if (library && !isSpecialFile(options.output))
    return mayReplace(manifestPath(options.output), OwnFile::Manifest);
  bool text = options.emit == EmitKind::Mlir || options.stopAfter < Phase::Codegen;
  return text ? mayReplace(checkpointWeightsPath(options.output), OwnFile::Weights)
              : Error::success();
}

/// What max-autotune does not do, and why.
void Compile::noteTuning() {
  const GpuTarget &devices = target.devices;
  if (devices.empty() || !(options.tunes() || options.verify))
    return;
  deviceHere = !devices.simulated() && runsHere(devices); // before any thread is started
  if (!options.tunes() || tunes())
    return;
  std::string why = devices.simulated() ? "nothing is measured on the simulated device"
                                        : "no GPU of this machine runs code for " + options.archs;
  summary.notes.push_back("max-autotune: " + why + "; schedules are " +
                          (options.tuning.empty() ? "those that the model of the GPU prefers"
                                                  : "those of the --tuning record, and else those "
                                                    "that the model of the GPU prefers"));
}

/// Options into what the phases take.
Error Compile::prepare() {
  context.loadAllAvailableDialects();
  auto notes = checkTorchOptions(options.mode, options.options);
  if (!notes)
    return notes.takeError();
  for (ArrayRef<std::string> idle : {ArrayRef(*notes), ArrayRef(options.idle)})
    for (const std::string &name : idle)
      summary.notes.push_back(name + " changes nothing on this target yet");
  if (std::string refusal = DiskCache(options.cacheDir).refusal(); !refusal.empty())
    summary.notes.push_back(refusal);
  if (Error error = targetOf(options).moveInto(target))
    return error;
  noteTuning();
  auto backend = createBackend(options.backend, target);
  if (!backend)
    return backend.takeError();
  pipeline.backend = std::move(*backend);
  for (const std::string &note : pipeline.backend->notes())
    summary.notes.push_back(note);
  if (options.verify &&
      Triple(target.host.triple).getArch() != Triple(sys::getProcessTriple()).getArch())
    return userError("--verify runs the model, and this machine cannot run code for " +
                     target.host.triple);
  if (options.verify && firstPhase() >= Phase::Plan)
    return userError("--verify compares with the values of the model, and the phase plan leaves "
                     "memory only: start from plan or an earlier phase");
  if (options.startFrom && !(options.shapes.empty() && options.dims.empty()))
    return userError("--shape and --dim are for the phase import, which this IR has behind it");
  if (options.precision != Precision::F32 && firstPhase() >= Phase::Layout)
    return userError("--precision is for the phase layout, which this IR has behind it");
  format = options.startFrom                     ? InputFormat::Mlir
           : looksLikeTorchExport(options.input) ? InputFormat::TorchExport
                                                 : InputFormat::Onnx;
  if (format == InputFormat::Onnx && looksLikeCheckpoint(options.input))
    return userError("'" + printable(options.input) +
                     "' is IR: --start-from names the phase to go on with");
  if (Error error = checkOutput())
    return error;
  if (Error error = dump.prepare())
    return error;
  emit::OutputFiles trial; // what cannot be written is told before anything is
  if (!options.depfile.empty())
    if (Error error = trial.create(options.depfile).takeError())
      return error;
  if (Error error = readTuning())
    return error;
  pipeline.precision = options.precision;
  pipeline.jobs = options.threads();
  pipeline.cacheDir = options.cacheDir;
  pipeline.code = codeForm(options.emit);
  pipeline.codeObserver = dump.codeObserver();
  pipeline.beforePhase = [this](Phase phase) { phaseStarts(phase); };
  pipeline.afterPhase = [this](Phase phase, mlir::ModuleOp module) { phaseDone(phase, module); };
  pipeline.kernelDone = [this](unsigned done, unsigned total) {
    progress.show("tcc: codegen " + Twine(done) + "/" + Twine(total));
  };
  return Error::success();
}

/// The kernels that took the most time to compile, if any was compiled.
static std::vector<std::pair<std::string, double>> slowest(ArrayRef<CompiledKernel> kernels) {
  constexpr size_t kept = 5;
  std::vector<std::pair<std::string, double>> result;
  for (const CompiledKernel &kernel : kernels)
    if (kernel.seconds > 0)
      result.emplace_back(kernel.symbol, kernel.seconds);
  llvm::sort(result, [](auto &a, auto &b) {
    return std::pair(-a.second, StringRef(a.first)) < std::pair(-b.second, StringRef(b.first));
  });
  result.resize(std::min(result.size(), kept));
  return result;
}

/// The last two phases.
Error Compile::generate() {
  phaseStarts(Phase::Codegen);
  auto compiled = generateCode(model, pipeline);
  if (!compiled)
    return withDiagnostic(compiled.takeError());
  phaseDone(Phase::Codegen, *model.module);
  summary.kernels = compiled->kernels.size();
  summary.cacheHits = count_if(compiled->kernels, [](const auto &k) { return k.cached; });
  summary.slowestKernels = slowest(compiled->kernels);
  summary.arenaBytes = compiled->arenaSize;
  phaseStarts(Phase::Emit);
  if (Error error = finish(&*compiled))
    return error;
  phaseDone(Phase::Emit, *model.module);
  return Error::success();
}

/// The error of --no-fallback.
static Error refuseCrossings(mlir::ModuleOp module) {
  std::vector<Crossing> found = crossings(module);
  if (none_of(found, [](const Crossing &c) { return c.stalls; }))
    return Error::success();
  return userError("--no-fallback: " + StringRef(crossingReport(found)).rtrim());
}

Error Compile::compileAll() {
  if (Error error = tuneKernels()) // before any thread is started: it forks
    return error;
  startChecking();
  phaseStarts(Phase::Import);
  auto imported = importModel();
  if (!imported)
    return withDiagnostic(imported.takeError());
  startHashing();
  model = std::move(*imported);
  if (!options.startFrom)
    phaseDone(Phase::Import, *model.module);
  Phase last =
      options.emit == EmitKind::Mlir ? std::min(options.stopAfter, Phase::Plan) : options.stopAfter;
  if (Error error = runPhases(model, firstPhase(), last, pipeline)) {
    if (Error damage = tuned->damage()) {
      consumeError(std::move(error));
      return damage;
    }
    return withDiagnostic(std::move(error));
  }
  if (options.printPlan && last >= Phase::Plan)
    summary.plan = planReport(*model.module);
  if (options.noFallback && last >= Phase::Plan)
    if (Error error = refuseCrossings(*model.module))
      return error;
  return last < Phase::Codegen ? finish(nullptr) : generate();
}

Expected<CompileSummary> Compile::run() {
  CompileClock::time_point start = CompileClock::now();
  Error error = prepare();
  if (!error)
    error = compileAll();
  if (Error damaged = checkSums()) { // the reason for whatever else failed
    consumeError(std::move(error));
    error = std::move(damaged);
  }
  bool phaseFailed = static_cast<bool>(error);
  if (!phaseFailed && options.verify)
    error = verifyLibrary();
  error = withReproducer(std::move(error), phaseFailed);
  if (!error)
    error = publish();
  progress.clear();
  if (error)
    return std::move(error);
  summary.seconds = secondsSince(start);
  return summary;
}

Expected<CompileSummary> tcc::compile(const DriverOptions &options) {
  return Compile(options).run();
}
