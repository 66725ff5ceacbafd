//===- Candidates.cpp - Libraries that are built aside --------------------===//
//
// Tuning times candidates and --verify looks for the node at fault; both need libraries of the
// model, or of changed copies of it, that are no outputs. They are built by the same phases and
// options, but tell nobody: no dumps, no progress, no files that stay.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "tcc/Driver/CrashReport.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/TemporaryFolder.h"
#include "tcc/Verify/Verify.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace tcc;

/// What layout, fuse and schedule go by: the record, and later what tuning adds to it.
Error Compile::readTuning() {
  tuned.emplace(*pipeline.backend, options.tuning);
  if (Error error = tuned->read())
    return error;
  if (!tunes() && options.tuning.empty())
    return Error::success();
  if (!tunes() && !sys::fs::exists(options.tuning))
    return userError("there is no --tuning " + printable(options.tuning, 1000) +
                     " (--mode max-autotune writes one)");
  pipeline.chooseLayout = tuned->layoutChooser();
  pipeline.chooseCut = tuned->cutChooser();
  pipeline.chooseSchedule = tuned->scheduleChooser();
  return Error::success();
}

/// Measures the kernels that the record lacks, on a copy of the model.
Error Compile::tuneKernels() {
  if (!tunes())
    return Error::success();
  PipelineOptions quiet = pipeline;
  quiet.beforePhase = nullptr;
  quiet.afterPhase = nullptr;
  quiet.codeObserver = nullptr;
  quiet.kernelDone = nullptr;
  quiet.code = CodeForm::Object;
  TuneHooks hooks;
  hooks.load = [&](LayoutChooser chooser) -> Expected<Model> {
    auto loaded = importModel();
    if (!loaded)
      return loaded;
    PipelineOptions how = quiet;
    how.chooseLayout = std::move(chooser);
    how.chooseCut = nullptr;
    if (Error error = runPhases(*loaded, firstPhase(), Phase::Fuse, how))
      return std::move(error);
    return loaded;
  };
  hooks.build = [&](Model &candidate, const std::string &path,
                    ScheduleChooser chooser) -> Expected<CompiledModel> {
    PipelineOptions how = quiet;
    how.chooseSchedule = std::move(chooser);
    CompiledModel compiled;
    if (Error error = buildAside(candidate, how, target, Phase::Fuse, path, compiled))
      return std::move(error);
    return std::move(compiled);
  };
  hooks.foreign = Triple(target.host.triple).getArch() != Triple(sys::getProcessTriple()).getArch();
  hooks.show = [&](const Twine &what) { progress.show(what); };
  if (options.precision == Precision::BF16)
    hooks.between = DType::BF16;
  else if (options.precision != Precision::F32)
    hooks.between = DType::F16; // TF32 has as many bits
  auto found = tune(hooks, *tuned, *pipeline.backend, options.tuneBudget);
  if (!found)
    return withDiagnostic(found.takeError());
  summary.tuned = *found;
  summary.phaseSeconds.push_back({"tuning", secondsSince(phaseStart)});
  phaseStart = CompileClock::now();
  return options.tuning.empty() ? Error::success()
                                : files.write(options.tuning, tuned->record.text());
}

/// A library at `path`, for `where`, of a model that has done the phases up to `from`.
Error Compile::buildAside(Model &candidate, const PipelineOptions &how, const Target &where,
                          Phase from, const std::string &path, CompiledModel &compiled) {
  if (Error error = runPhases(candidate, from, Phase::Plan, how))
    return error;
  auto code = generateCode(candidate, how);
  if (!code)
    return code.takeError();
  compiled = std::move(*code);
  DriverOptions elsewhere = options;
  elsewhere.output = path;
  Artefact probed;
  emit::OutputFiles own;
  if (Error error = probed.write(candidate, compiled, elsewhere, where,
                                 {nameOf(format), [] { return ""; }}, own))
    return error;
  return own.commit();
}

/// For a model whose GPU is not here: the same phases, with the simulated device in its place.
Error Compile::simulateInstead(Target &where, PipelineOptions &how) {
  bool tf32 = where.devices.tf32;
  if (Error error = GpuTarget::parse("sim").moveInto(where.devices))
    return error;
  where.devices.tf32 = tf32;
  auto backend = createBackend(options.backend, where);
  if (!backend)
    return backend.takeError();
  how.backend = std::move(*backend);
  how.chooseSchedule = nullptr; // a record is of the GPU's schedules
  how.chooseCut = nullptr;
  how.chooseLayout = nullptr;
  return Error::success();
}

/// Compiles the model once more up to primitives; --verify takes it from there.
Error Compile::verifyLibrary() {
  model = Model(); // its memory is needed now
  PipelineOptions quiet = pipeline;
  Target where = target;
  quiet.beforePhase = nullptr;
  quiet.afterPhase = nullptr;
  quiet.codeObserver = nullptr;
  // Where values are rounded to 16 bits is a choice, not a fault: layout makes it.
  bool isNarrow = options.precision == Precision::BF16 || options.precision == Precision::F16;
  Phase first = std::max(firstPhase(), isNarrow ? Phase::Layout : Phase::Decompose);
  VerifyHooks hooks;
  hooks.mayExpose = !isNarrow && first < Phase::Fuse;
  hooks.tf32 = where.devices.tf32 && !where.devices.empty();
  hooks.load = [&]() -> Expected<Model> {
    auto loaded = importModel();
    if (!loaded)
      return loaded;
    if (Error error = runPhases(*loaded, firstPhase(), first, quiet))
      return std::move(error);
    return loaded;
  };
  hooks.build = [&](Model &changed, const std::string &path, VerifyBuild how) -> Error {
    CompiledModel compiled;
    PipelineOptions chosen = quiet;
    chosen.fuse = how.fuse;
    chosen.inPlace = how.inPlace;
    return buildAside(changed, chosen, where, first, path, compiled);
  };
  progress.show("tcc: verify");
  crashPhase(std::nullopt);
  VerifiedFiles files{artefact->libraryPath, artefact->weightsPath};
  TemporaryFolder folder;
  std::string simulated;
  if (!target.devices.empty() && !target.devices.simulated() && !deviceHere) {
    simulated = "on the simulated device, since no GPU of this machine runs code for " +
                options.archs + ": ";
    if (Error error = TemporaryFolder::create("tcc-verify").moveInto(folder))
      return error;
    if (Error error = simulateInstead(where, quiet))
      return error;
    auto fresh = hooks.load();
    if (!fresh)
      return withDiagnostic(fresh.takeError());
    files = {folder.file("model.so"), ""};
    if (Error error = hooks.build(*fresh, files.library, VerifyBuild()))
      return withDiagnostic(std::move(error));
  }
  auto result = verify(files, hooks);
  if (!result)
    return withDiagnostic(result.takeError());
  result->text = simulated + result->text;
  summary.phaseSeconds.push_back({"verify", secondsSince(phaseStart)});
  summary.verified = result->text;
  return result->agrees ? Error::success() : createStringError(result->text);
}
