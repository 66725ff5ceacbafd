//===- Crossings.cpp - Where the host waits for a device ------------------===//
#include "tcc/Analysis/Crossings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Host/Host.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tcc;

static bool onDevice(Value memory) {
  return host::memorySpace(cast<MemRefType>(memory.getType())) == host::MemorySpace::device;
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

/// What an operator of the host does with what was read, if it is no arithmetic.
static StringRef purposeOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](host::AssertOp) { return "a check"; })
      .Case([](scf::IfOp) { return "a branch"; })
      .Case([](scf::ConditionOp) { return "the end of a loop"; })
      .Case([](host::ReadOp) { return "the place of another element"; })
      .Case([](host::LaunchOp) { return "a number that a kernel takes"; })
      .Case<host::AllocOp, host::AllocArenaOp, host::SliceOp, host::OutputOp, host::ViewOp>(
          [](auto) { return "an extent"; })
      .Case([](func::ReturnOp) { return "a result"; })
      .Default([](Operation *) { return StringRef(); });
}

/// What `read` is for, by way of arithmetic and of what regions hand on; of several purposes the
/// one that is nearest.
static std::string reasonOf(host::ReadOp read) {
  llvm::SmallSetVector<Value, 8> values;
  values.insert(read.getResult());
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : Value(values[i]).getUses()) {
      Operation *user = use.getOwner();
      if (StringRef purpose = purposeOf(user); !purpose.empty())
        return purpose.str();
      values.insert(user->result_begin(), user->result_end());
      if (isa<scf::YieldOp>(user) && isa<scf::IfOp>(user->getParentOp()))
        values.insert(user->getParentOp()->getResult(use.getOperandNumber()));
    }
  return "arithmetic of the host";
}

std::vector<Crossing> tcc::crossings(ModuleOp module) {
  std::vector<Crossing> found;
  auto add = [&](Operation *op, std::string reason) {
    found.push_back(
        {op, bool(op->getParentOfType<scf::WhileOp>()), !isLast(op), std::move(reason)});
  };
  module.walk([&](Operation *op) {
    auto read = dyn_cast<host::ReadOp>(op);
    auto copy = dyn_cast<host::CopyOp>(op);
    if (read && onDevice(read.getMemory()))
      add(op, reasonOf(read));
    else if (copy && onDevice(copy.getFrom()) && !onDevice(copy.getTo()))
      add(op, "a kernel on the host");
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
  for (const Crossing &c : crossings) {
    std::string nodes = sourceNodes(c.read->getLoc());
    report += llvm::formatv("  {0} for {1}{2}: {3}\n", c.stalls ? "waits" : "reads at the end",
                            c.reason, c.repeated ? ", in every turn of a loop" : "",
                            nodes.empty() ? "the compiler's own" : nodes);
  }
  return report;
}
