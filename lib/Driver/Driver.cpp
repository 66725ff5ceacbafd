#include "tcc/Driver/Driver.h"
#include "Artefact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Driver/TorchOptions.h"
#include "tcc/Emit/Link.h"
#include "tcc/Emit/OutputFiles.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <thread>

using namespace llvm;
using namespace tcc;

using Clock = std::chrono::steady_clock;

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

std::vector<std::string> DriverOptions::resultFlags() const {
  std::vector<std::string> flags;
  if (!cpu.empty())
    flags.push_back("--cpu=" + cpu);
  if (!target.empty())
    flags.push_back("--target=" + target);
  if (mode != "default")
    flags.push_back("--mode=" + mode);
  for (const std::string &text : options)
    flags.push_back("--options=" + text);
  for (const std::string &text : shapes)
    flags.push_back("--shape=" + text);
  for (const std::string &text : dims)
    flags.push_back("--dim=" + text);
  return flags;
}

namespace {

class Compile {
public:
  explicit Compile(const DriverOptions &options)
      : options(options), context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &d) { return collect(d); }) {}
  Expected<CompileSummary> run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  mlir::LogicalResult collect(mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && diagnostic.empty())
      diagnostic = nodePrefix(d.getLocation()) + printable(d.str(), 1000);
    return mlir::success();
  }
  Error import();
  void dump(Phase phase, mlir::ModuleOp module);
  void phaseDone(Phase phase);
  Error withDiagnostic(Error error);
  Error writeCode(CompiledModel &compiled);
  Error writeDepfile(emit::OutputFiles &files);
  Error finish(CompiledModel *compiled);

  const DriverOptions &options;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string diagnostic;
  std::vector<std::string> filesRead;
  CpuTarget cpu;
  Model model;
  CompileSummary summary;
  Clock::time_point phaseStart = Clock::now();
};

} // namespace

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Compile::dump(Phase phase, mlir::ModuleOp module) {
  if (options.dumpDir.empty() ||
      (!options.dumpPhases.empty() && !is_contained(options.dumpPhases, phaseName(phase))))
    return;
  (void)sys::fs::create_directories(options.dumpDir);
  std::string path = options.dumpDir + "/" + std::to_string(static_cast<int>(phase)) + "-" +
                     phaseName(phase).str() + ".mlir";
  std::error_code ec;
  raw_fd_ostream os(path, ec);
  if (!ec)
    module.print(os);
}

void Compile::phaseDone(Phase phase) {
  dump(phase, *model.module);
  summary.phaseSeconds.push_back({phaseName(phase).str(), secondsSince(phaseStart)});
  phaseStart = Clock::now();
}

Error Compile::import() {
  if (options.startFrom)
    return readCheckpoint(model, options.input, context);
  ImportOptions import;
  for (const std::string &text : options.shapes)
    if (Error error = addShapeOption(import, text))
      return error;
  for (const std::string &text : options.dims)
    if (Error error = addDimOption(import, text))
      return error;
  import.hasRule = [](StringRef domain, StringRef op, int64_t version) {
    return hasRule(domain, op, version);
  };
  import.fileRead = [this](StringRef path) { filesRead.push_back(path.str()); };
  auto module = looksLikeTorchExport(options.input)
                    ? importTorchExport(options.input, import, *model.weights, context)
                    : importOnnx(options.input, import, *model.weights, context);
  if (!module)
    return module.takeError();
  model.module = std::move(*module);
  phaseDone(Phase::Import);
  return Error::success();
}

/// A rule for Make and Ninja: the output depends on every file that was read.
Error Compile::writeDepfile(emit::OutputFiles &files) {
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
  if (filesRead.empty())
    filesRead.push_back(options.input);
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

/// Compiled code as text, or as one relocatable object.
Error Compile::writeCode(CompiledModel &compiled) {
  emit::OutputFiles files;
  auto path = files.create(options.output);
  if (!path)
    return path.takeError();
  if (options.emit == EmitKind::Obj) {
    emit::LinkJob job;
    job.triple = Triple(cpu.triple);
    for (auto &object : compiled.objects)
      job.objects.push_back(MemoryBufferRef(StringRef(object.data(), object.size()), "object"));
    if (Error error = emit::linkRelocatable(job, *path))
      return error;
  } else {
    std::error_code ec;
    raw_fd_ostream os(*path, ec);
    if (ec)
      return createStringError(ec, "cannot write " + *path);
    for (auto &object : compiled.objects)
      os.write(object.data(), object.size());
  }
  return files.commit();
}

Error Compile::finish(CompiledModel *compiled) {
  if (compiled && options.emit == EmitKind::So) {
    auto weightBytes = writeArtefact(model, *compiled, options, cpu);
    if (!weightBytes)
      return weightBytes.takeError();
    summary.weightBytes = *weightBytes;
  } else if (compiled) {
    if (Error error = writeCode(*compiled))
      return error;
  } else if (Error error = writeCheckpoint(model, options.output)) {
    return error;
  }
  if (options.depfile.empty())
    return Error::success();
  emit::OutputFiles files;
  if (Error error = writeDepfile(files))
    return error;
  return files.commit();
}

Expected<CompileSummary> Compile::run() {
  Clock::time_point start = Clock::now();
  context.loadAllAvailableDialects();
  auto notes = checkTorchOptions(options.mode, options.options);
  if (!notes)
    return notes.takeError();
  summary.notes = *notes;
  llvm::append_range(summary.notes, options.idle);
  auto target = CpuTarget::create(options.cpu, options.target);
  if (!target)
    return target.takeError();
  cpu = *target;
  PipelineOptions pipeline;
  pipeline.cpu = cpu;
  pipeline.jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  pipeline.cacheDir = options.cacheDir;
  pipeline.code = options.emit == EmitKind::Asm    ? PipelineOptions::Code::Assembly
                  : options.emit == EmitKind::Llvm ? PipelineOptions::Code::LlvmIr
                                                   : PipelineOptions::Code::Object;
  pipeline.afterPhase = [this](Phase phase, mlir::ModuleOp) { phaseDone(phase); };
  if (Error error = import())
    return withDiagnostic(std::move(error));
  Phase first = options.startFrom ? static_cast<Phase>(static_cast<int>(*options.startFrom) - 1)
                                  : Phase::Import;
  Phase last =
      options.emit == EmitKind::Mlir ? std::min(options.stopAfter, Phase::Plan) : options.stopAfter;
  if (Error error = runPhases(model, first, last, pipeline))
    return withDiagnostic(std::move(error));
  if (options.printPlan && last >= Phase::Plan)
    summary.plan = planReport(*model.module);
  if (last < Phase::Codegen) {
    if (Error error = finish(nullptr))
      return std::move(error);
  } else {
    auto compiled = generateCode(model, pipeline);
    if (!compiled)
      return withDiagnostic(compiled.takeError());
    phaseDone(Phase::Codegen);
    summary.kernels = compiled->kernels;
    summary.cacheHits = compiled->cacheHits;
    summary.arenaBytes = compiled->arenaSize;
    if (Error error = finish(&*compiled))
      return std::move(error);
    phaseDone(Phase::Emit);
  }
  summary.seconds = secondsSince(start);
  return summary;
}

Expected<CompileSummary> tcc::compile(const DriverOptions &options) {
  return Compile(options).run();
}
