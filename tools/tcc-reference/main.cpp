// Prints what the reference pages in docs/reference are made of; see scripts/generate-docs.
#include "Primitives.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Driver/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tcc;

/// A line "DOMAIN OPERATOR SINCE" for every rule of decompose.
static std::string operators() {
  std::string text;
  allRules().forEach([&](llvm::StringRef domain, llvm::StringRef op, int64_t since) {
    text += llvm::formatv("{0} {1} {2}\n", domain, op, since);
  });
  return text;
}

/// A line "PHASE ARGUMENT DESCRIPTION" for every pass, in the order in which they run.
static std::string passes() {
  std::string text;
  forEachPass([&](Phase phase, llvm::StringRef argument, llvm::StringRef description) {
    text += llvm::formatv("{0} {1} {2}\n", phaseName(phase), argument, description);
  });
  return text;
}

int main(int argc, char **argv) {
  llvm::StringRef what = argc > 1 ? argv[1] : "";
  if (what == "command-line") {
    llvm::outs() << commandLineReference();
  } else if (what == "operators") {
    llvm::outs() << operators();
  } else if (what == "passes") {
    llvm::outs() << passes();
  } else if (what == "primitives") {
    auto text = listPrimitives(std::vector<std::string>(argv + 2, argv + argc));
    if (!text) {
      llvm::errs() << "error: " << llvm::toString(text.takeError()) << "\n";
      return 1;
    }
    llvm::outs() << *text;
  } else {
    llvm::errs() << "error: tcc-reference command-line | operators | passes | primitives FILE...\n";
    return 2;
  }
  return 0;
}
