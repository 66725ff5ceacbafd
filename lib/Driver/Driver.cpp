#include "tcc/Driver/Driver.h"
#include "Artefact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Emit/OutputFiles.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
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
      diagnostic = d.str();
    return mlir::success();
  }
  Error import();
  void dump(Phase phase, mlir::ModuleOp module);
  void phaseDone(Phase phase);
  Error withDiagnostic(Error error);
  Error writeText(mlir::ModuleOp module);

  const DriverOptions &options;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string diagnostic;
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
  auto module = importOnnx(options.input, import, *model.weights, context);
  if (!module)
    return module.takeError();
  model.module = std::move(*module);
  phaseDone(Phase::Import);
  return Error::success();
}

/// Our own diagnostics say where; an error of the pipeline says only what failed.
Error Compile::withDiagnostic(Error error) {
  if (error.isA<UserError>() || diagnostic.empty())
    return error;
  std::string what = toString(std::move(error));
  return createStringError(what + ": " + printable(diagnostic, 1000));
}

Error Compile::writeText(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream os(text);
  module.print(os);
  emit::OutputFiles files;
  if (Error error = files.write(options.output, text))
    return error;
  return files.commit();
}

Expected<CompileSummary> Compile::run() {
  Clock::time_point start = Clock::now();
  context.loadAllAvailableDialects();
  auto cpu = CpuTarget::create(options.cpu, options.target);
  if (!cpu)
    return cpu.takeError();
  PipelineOptions pipeline;
  pipeline.cpu = *cpu;
  pipeline.jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  pipeline.cacheDir = options.cacheDir;
  pipeline.afterPhase = [this](Phase phase, mlir::ModuleOp) { phaseDone(phase); };
  if (Error error = import())
    return std::move(error);
  Phase last =
      options.emit == EmitKind::Mlir ? std::min(options.stopAfter, Phase::Plan) : options.stopAfter;
  if (Error error = runPhases(model, Phase::Import, last, pipeline))
    return withDiagnostic(std::move(error));
  if (last < Phase::Codegen) {
    if (Error error = writeText(*model.module))
      return std::move(error);
    summary.seconds = secondsSince(start);
    return summary;
  }
  auto compiled = generateCode(model, pipeline);
  if (!compiled)
    return withDiagnostic(compiled.takeError());
  phaseDone(Phase::Codegen);
  summary.kernels = compiled->kernels;
  summary.cacheHits = compiled->cacheHits;
  summary.arenaBytes = compiled->arenaSize;
  auto weightBytes = writeArtefact(model, *compiled, options, *cpu);
  if (!weightBytes)
    return weightBytes.takeError();
  summary.weightBytes = *weightBytes;
  phaseDone(Phase::Emit);
  summary.seconds = secondsSince(start);
  return summary;
}

Expected<CompileSummary> tcc::compile(const DriverOptions &options) {
  return Compile(options).run();
}
