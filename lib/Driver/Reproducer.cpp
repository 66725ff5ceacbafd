#include "Reproducer.h"
#include "Artefact.h"
#include "TargetOptions.h"
#include "tcc/Emit/OutputFiles.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace tcc;

/// Shares the bytes of the weights, which nothing changes.
static Model copyOf(Model &model) {
  Model copy;
  copy.module = model.module->clone();
  for (const std::string &name : model.weights->names())
    copy.weights->add(name, *model.weights->describe(name));
  return copy;
}

void Reproducer::keep(Phase next, Model &model) {
  (first ? last : first) = Kept{next, copyOf(model)};
}

Error tcc::writeReproducerFolder(const DriverOptions &options) {
  if (std::error_code code = sys::fs::create_directories(options.reproducer))
    return userError("cannot make '" + printable(options.reproducer) + "': " + code.message());
  return Error::success();
}

std::string tcc::shellWord(StringRef word) {
  bool plain = !word.empty() &&
               all_of(word, [](char c) { return isAlnum(c) || StringRef("-_./=,:+").contains(c); });
  if (plain)
    return word.str();
  std::string quoted = "'";
  for (char c : printable(word, 4000))
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The flags that matter from `phase` on, the target spelled out: the fault may be another
/// machine's.
static std::string flagsFrom(Phase phase, DriverOptions options, const std::string &cpu,
                             const std::string &triple) {
  options.cpu = cpu;
  options.target = triple;
  options.shapes.clear(); // import has seen to these
  options.dims.clear();
  if (phase > Phase::Layout)
    options.precision = Precision::F32; // which layout has seen to
  std::string text;
  for (const std::string &flag : options.resultFlags())
    text += " " + shellWord(flag);
  return text + (options.verify ? " --verify" : "");
}

Error tcc::writeRepeatText(const DriverOptions &options, StringRef fault,
                           std::optional<Phase> phase) {
  std::string cpuName = options.cpu, triple = options.target;
  if (auto target = targetOf(options)) {
    cpuName = target->host.name;
    triple = target->host.triple;
  } else {
    consumeError(target.takeError()); // a fault before it mattered
  }
  std::string text =
      "tcc " TCC_VERSION " for " + triple + ", " + cpuName + "\n" + options.command + "\n";
  text += fault.empty() ? "nothing failed\n" : "error: " + fault.str() + "\n";
  if (phase)
    text += "\nto repeat it, in this folder:\n  tcc --start-from " + phaseName(*phase).str() +
            " model.mlir -o model.so" + flagsFrom(*phase, options, cpuName, triple) + "\n";
  emit::OutputFiles files;
  if (Error error = files.write(options.reproducer + "/repeat.txt", text))
    return error;
  return files.commit();
}

Error Reproducer::write(const DriverOptions &options, StringRef fault, bool phaseFailed) {
  if (Error error = writeReproducerFolder(options))
    return error;
  std::optional<Kept> &kept = phaseFailed && last ? last : first;
  emit::OutputFiles files;
  if (kept)
    if (Error error = writeCheckpoint(kept->model, options.reproducer + "/model.mlir", files))
      return error;
  if (Error error = files.commit())
    return error;
  return writeRepeatText(options, fault, kept ? std::optional(kept->phase) : std::nullopt);
}
