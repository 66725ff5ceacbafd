//===- Crossings.cpp - Where the host waits for a device ------------------===//
#include "tcc/Analysis/Crossings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Host/Host.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tcc;

static bool readsDevice(host::ReadOp read) {
  return host::memorySpace(cast<MemRefType>(read.getMemory().getType())) ==
         host::MemorySpace::device;
}

/// Whether nothing is launched after `op`, and it stands in no loop or branch.
static bool isLast(Operation *op) {
  if (!isa<func::FuncOp>(op->getParentOp()))
    return false;
  for (Operation *later = op->getNextNode(); later; later = later->getNextNode())
    if (later->walk([](host::LaunchOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return false;
  return true;
}

std::vector<Crossing> tcc::crossings(ModuleOp module) {
  std::vector<Crossing> found;
  module.walk([&](host::ReadOp read) {
    if (readsDevice(read))
      found.push_back({read, bool(read->getParentOfType<scf::WhileOp>()), !isLast(read)});
  });
  return found;
}

std::string tcc::crossingReport(ArrayRef<Crossing> crossings) {
  auto stalls = [](const Crossing &c) { return c.stalls; };
  size_t stalling = llvm::count_if(crossings, stalls);
  if (crossings.empty())
    return "";
  std::string report =
      llvm::formatv("the host reads what the device computes in {0} places, after the last launch "
                    "in {1}\n",
                    crossings.size(), crossings.size() - stalling);
  for (const Crossing &c : llvm::make_filter_range(crossings, stalls)) {
    std::string nodes = sourceNodes(c.read->getLoc());
    report += llvm::formatv("  waits{0}: {1}\n", c.repeated ? " in every turn of a loop" : "",
                            nodes.empty() ? "the compiler's own" : nodes);
  }
  return report;
}
