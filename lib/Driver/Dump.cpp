#include "Dump.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tcc;

bool Dump::wants(Phase phase) const {
  return !options.dumpDir.empty() &&
         (options.dumpPhases.empty() || is_contained(options.dumpPhases, phaseName(phase)));
}

std::string Dump::path(Phase phase, const Twine &rest) const {
  return (options.dumpDir + "/" + Twine(static_cast<int>(phase)) + "-" + phaseName(phase) + rest)
      .str();
}

Error Dump::prepare() const {
  if (options.dumpDir.empty())
    return Error::success();
  std::string folder =
      wants(Phase::Codegen) ? path(Phase::Codegen, "") : std::string(options.dumpDir);
  if (std::error_code ec = sys::fs::create_directories(folder))
    return userError("--dump-ir: cannot make folder '" + printable(folder, 1000) +
                     "': " + ec.message());
  return Error::success();
}

void Dump::write(const std::string &path, function_ref<void(raw_ostream &)> print) {
  log::write(log::Topic::Emit, printable(path, 1000));
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (!code) {
    print(os);
    os.close(); // shows a full disk
    code = os.error();
    os.clear_error();
    if (code)
      (void)sys::fs::remove(path);
  }
  std::lock_guard guard(mutex);
  if (code && failed.empty())
    failed = "cannot write '" + printable(path, 1000) + "': " + code.message();
}

void Dump::module(Phase phase, mlir::ModuleOp module) {
  if (wants(phase) && phase < Phase::Codegen)
    write(path(phase, ".mlir"), [&](raw_ostream &os) { module.print(os); });
}

CodeObserver Dump::codeObserver() {
  if (!wants(Phase::Codegen))
    return nullptr;
  return [this](StringRef symbol, StringRef suffix, StringRef text) {
    write(path(Phase::Codegen, "/" + symbol + suffix), [&](raw_ostream &os) { os << text; });
  };
}

void Dump::manifest(StringRef text) {
  if (wants(Phase::Emit))
    write(path(Phase::Emit, ".json"), [&](raw_ostream &os) { os << text; });
}

Error Dump::failure() {
  std::lock_guard guard(mutex);
  return failed.empty() ? Error::success() : userError("--dump-ir: " + failed);
}
