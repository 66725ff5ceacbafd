#include "tcc/Analysis/SourceNodes.h"
#include "mlir/IR/Location.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

void tcc::collectNodes(Location loc, llvm::SmallVectorImpl<std::string> &names) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectNodes(part, names);
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string text = printable(name.getName(), 60);
    if (!llvm::is_contained(names, text))
      names.push_back(text);
  }
}

std::string tcc::sourceNodes(Location loc) {
  llvm::SmallVector<std::string> names;
  collectNodes(loc, names);
  return llvm::join(names, ", ");
}
