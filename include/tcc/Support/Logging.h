//===- Logging.h - What the compiler tells on request ----------*- C++ -*-===//
//
// Topics as torch's TORCH_LOGS has them: silent until `--logs` or TCC_LOGS turns
// one on, each at its own level. Lines go to stderr, from any thread. A text that
// costs something to make is made only when `on` says that somebody reads it:
//
//   if (log::on(log::Topic::Cache))
//     log::write(log::Topic::Cache, "hit " + key);
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tcc::log {

enum class Topic {
  Import,
  Phases,
  Dynamic,
  Guards,
  Fusion,
  Plan,
  Codegen,
  Cache,
  Emit,
  Verify,
  Tuning
};
enum class Level { Debug, Info, Error };

bool on(Topic topic, Level level = Level::Info);
void write(Topic topic, const llvm::Twine &message, Level level = Level::Info);

/// "fusion,+codegen,-cache,all": a topic at level info, with + debug, with - errors only.
llvm::Error configure(llvm::StringRef text);
/// The topics and what each tells, a line each.
std::string help();

} // namespace tcc::log
