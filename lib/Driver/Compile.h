//===- Compile.h - One compile of the driver ---------------------*- C++ -*-===//
//
// Internal to lib/Driver: what the steps of one compile share. Driver.cpp has the way from options
// to files; Candidates.cpp what is compiled aside, to be timed or verified.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Artefact.h"
#include "Dump.h"
#include "Progress.h"
#include "Reproducer.h"
#include "Tune.h"
#include "tcc/Driver/Driver.h"
#include "tcc/Emit/OutputFiles.h"
#include <chrono>
#include <future>

namespace tcc {

using CompileClock = std::chrono::steady_clock;

inline double secondsSince(CompileClock::time_point start) {
  return std::chrono::duration<double>(CompileClock::now() - start).count();
}

/// What the input is; its content tells, in prepare, and nobody else asks.
enum class InputFormat { Onnx, TorchExport, Mlir };

class Compile {
public:
  explicit Compile(const DriverOptions &options)
      : options(options), context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &d) { return collect(d); }) {}
  llvm::Expected<CompileSummary> run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  mlir::LogicalResult collect(mlir::Diagnostic &d);
  llvm::Error prepare();
  llvm::Error checkOutput() const;
  bool tunes() const { return options.tunes() && (target.devices.empty() || deviceHere); }
  void noteTuning();
  llvm::Expected<Model> importModel();
  llvm::Error compileAll();
  llvm::Error generate();
  llvm::Error verifyLibrary();
  llvm::Error readTuning();
  llvm::Error tuneKernels();
  llvm::Error buildAside(Model &candidate, const PipelineOptions &how, const Target &where,
                         Phase from, const std::string &path, CompiledModel &compiled);
  llvm::Error simulateInstead(Target &where, PipelineOptions &how);
  void phaseStarts(Phase phase);
  void phaseDone(Phase phase, mlir::ModuleOp module);
  Phase firstPhase() const;
  llvm::Error withDiagnostic(llvm::Error error);
  llvm::Error withReproducer(llvm::Error error, bool phaseFailed);
  llvm::Error writeDepfile();
  llvm::Error finish(CompiledModel *compiled);
  llvm::Error publish();
  void startChecking();
  void startHashing();
  llvm::Error checkSums();

  const DriverOptions &options;
  Dump dump{options};
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string diagnostic;
  std::vector<std::string> filesRead;
  Target target;
  bool deviceHere = false; ///< this machine has a GPU that runs the model
  InputFormat format = InputFormat::Onnx;
  PipelineOptions pipeline;
  std::optional<TunedChoices> tuned;
  Model model;
  CompileSummary summary;
  emit::OutputFiles files; ///< get their names when all else is done
  std::optional<Artefact> artefact;
  Reproducer reproducer;
  Progress progress;
  std::future<std::string> inputHash; ///< for the manifest, computed aside
  std::future<std::string> damage;    ///< what the archive's checksums tell, computed aside
  CompileClock::time_point phaseStart = CompileClock::now();
};

/// As the manifest calls it.
llvm::StringRef nameOf(InputFormat format);

} // namespace tcc
