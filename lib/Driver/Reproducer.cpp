#include "Reproducer.h"
#include "Artefact.h"
#include "tcc/Emit/OutputFiles.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace tcc;

/// Shares the bytes of the weights, which nothing changes.
static Model copyOf(Model &model) {
  Model copy;
  copy.module = model.module->clone();
  for (const std::string &name : model.weights->names())
    copy.weights->add(name, *model.weights->lookup(name));
  return copy;
}

void Reproducer::keep(Phase next, Model &model) {
  (first ? last : first) = Kept{next, copyOf(model)};
}

Error Reproducer::write(const DriverOptions &options, const CpuTarget &cpu, StringRef fault,
                        bool phaseFailed) {
  if (std::error_code code = sys::fs::create_directories(options.reproducer))
    return userError("cannot make '" + printable(options.reproducer) + "': " + code.message());
  std::string text =
      "tcc " TCC_VERSION " for " + cpu.triple + ", " + cpu.name + "\n" + options.command + "\n";
  text += fault.empty() ? "nothing failed\n" : "error: " + fault.str() + "\n";
  std::optional<Kept> &kept = phaseFailed && last ? last : first;
  if (kept) {
    text += "\nto repeat it, in this folder:\n  tcc --start-from " + phaseName(kept->phase).str() +
            " model.mlir -o model.so --cpu " + cpu.name + " --target " + cpu.triple;
    if (options.verify)
      text += " --verify";
    text += "\n";
    if (Error error = writeCheckpoint(kept->model, options.reproducer + "/model.mlir"))
      return error;
  }
  emit::OutputFiles files;
  if (Error error = files.write(options.reproducer + "/repeat.txt", text))
    return error;
  return files.commit();
}
