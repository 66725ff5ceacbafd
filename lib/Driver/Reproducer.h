//===- Reproducer.h - A fault in a folder ------------------------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"

namespace tcc {

/// A word of a command line, quoted for a shell where it must be.
std::string shellWord(llvm::StringRef word);

/// Makes the folder.
llvm::Error writeReproducerFolder(const DriverOptions &options);
/// Writes repeat.txt: `fault`, empty where there was none, and the command that goes on
/// from model.mlir in `phase`, if there is one.
llvm::Error writeRepeatText(const DriverOptions &options, llvm::StringRef fault,
                            std::optional<Phase> phase);

/// What --reproducer writes: the model as it was when the phase that failed started, and the
/// command that goes on from there.
class Reproducer {
public:
  /// Keeps the model as `next` will find it.
  void keep(Phase next, Model &model);
  /// Writes folder `options.reproducer`: repeat.txt and, if something was kept, model.mlir with
  /// its weights: as it was last kept or, where no phase failed, first. `fault` is empty where
  /// nothing did.
  llvm::Error write(const DriverOptions &options, llvm::StringRef fault, bool phaseFailed);

private:
  struct Kept {
    Phase phase;
    Model model;
  };
  std::optional<Kept> first, last;
};

} // namespace tcc
