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

/// Runs `print` on a stream to the file; what cannot be written is logged, not fatal.
static void writeFile(const std::string &path, function_ref<void(raw_ostream &)> print) {
  log::write(log::Topic::Emit, printable(path, 1000));
  std::error_code ec;
  raw_fd_ostream os(path, ec);
  if (!ec)
    print(os);
  os.flush();
  if (ec || os.has_error())
    log::write(log::Topic::Emit, "cannot write " + printable(path, 1000));
  os.clear_error();
}

void Dump::module(Phase phase, mlir::ModuleOp module) const {
  if (wants(phase) && phase < Phase::Codegen)
    writeFile(path(phase, ".mlir"), [&](raw_ostream &os) { module.print(os); });
}

CodeObserver Dump::codeObserver() const {
  if (!wants(Phase::Codegen))
    return nullptr;
  return [this](StringRef symbol, StringRef suffix, StringRef text) {
    writeFile(path(Phase::Codegen, "/" + symbol + suffix), [&](raw_ostream &os) { os << text; });
  };
}

void Dump::manifest(StringRef from) const {
  if (wants(Phase::Emit))
    (void)sys::fs::copy_file(from, path(Phase::Emit, ".json"));
}
