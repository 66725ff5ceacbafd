#include "Progress.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <unistd.h>

using namespace tcc;

static bool isTerminal() {
  const char *kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && llvm::StringRef(kind) != "dumb";
}

Progress::Progress() : terminal(isTerminal()) {}

// "\r" goes back to the first column, "\x1b[K" wipes what stands there.
void Progress::show(const llvm::Twine &what) {
  if (!terminal)
    return;
  std::lock_guard guard(mutex);
  llvm::errs() << "\r" << what << "\x1b[K";
  llvm::errs().flush();
  shown = true;
}

void Progress::clear() {
  std::lock_guard guard(mutex);
  if (shown)
    llvm::errs() << "\r\x1b[K";
  shown = false;
}
