#include "ModelLog.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/PeakMemory.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tcc;
using log::Level;
using log::Topic;

template <typename T> static std::string text(T value) {
  std::string out;
  llvm::raw_string_ostream(out) << value;
  return out;
}

static std::string named(func::FuncOp function, unsigned i) {
  StringRef name = Signature(function).argument(i).name;
  return "'" + (name.empty() ? std::to_string(i) : printable(name)) + "'";
}

static void logImport(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    log::write(Topic::Import,
               "input " + named(function, i) + ": " + text(function.getArgumentTypes()[i]));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    log::write(Topic::Import,
               "output " + llvm::Twine(i) + ": " + text(function.getResultTypes()[i]));
  if (!log::on(Topic::Import, Level::Debug))
    return;
  std::map<std::string, unsigned> count;
  function.walk([&](graph::NodeOp node) { ++count[printable(node.getTarget())]; });
  for (auto &[op, number] : count)
    log::write(Topic::Import, op + ": " + llvm::Twine(number), Level::Debug);
}

static void logInputs(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type)
      continue;
    Port port = Signature(function).argument(i);
    log::write(Topic::Guards, "input " + named(function, i) + " has elements " +
                                  text(type.getElementType()) + " and rank " +
                                  llvm::Twine(type.getRank()));
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      std::string where = "dim " + std::to_string(axis) + " of input " + named(function, i);
      StringRef symbol = port.symbol(axis);
      if (!ShapedType::isDynamic(size))
        log::write(Topic::Guards, where + " is " + llvm::Twine(size));
      else
        log::write(Topic::Dynamic,
                   where + " is open" + (symbol.empty() ? "" : " (" + printable(symbol) + ")"));
    }
  }
  for (const Symbol &symbol : Signature(function).rangedSymbols())
    log::write(Topic::Dynamic,
               printable(symbol.name) + " is at least " + llvm::Twine(symbol.min) +
                   (symbol.max == INT64_MAX ? "" : " and at most " + std::to_string(symbol.max)));
}

static void logKernels(func::FuncOp function) {
  unsigned kernels = 0;
  function.walk([&](kernel::LaunchOp launch) {
    ++kernels;
    log::write(Topic::Fusion, launch.getName() + ": " + sourceNodes(launch.getLoc()));
    if (log::on(Topic::Fusion, Level::Debug))
      for (Type type : launch.getResultTypes())
        log::write(Topic::Fusion, launch.getName() + " gives " + text(type), Level::Debug);
  });
  log::write(Topic::Fusion, llvm::Twine(kernels) + " kernels");
}

static void logPlan(ModuleOp module, func::FuncOp function) {
  log::write(Topic::Plan, "arena of " + llvm::Twine(arenaBytes(module)) + " bytes");
  function.walk([&](host::LaunchOp launch) {
    for (Type type : launch.getOuts().getTypes())
      if (!cast<MemRefType>(type).hasStaticShape())
        log::write(Topic::Plan, launch.getKernel() + " gives " + text(type) +
                                    ", whose memory is taken at run time");
  });
}

void tcc::logPhase(Phase phase, ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return;
  if (log::on(Topic::Phases)) {
    unsigned ops = 0;
    function.walk([&](Operation *) { ++ops; });
    log::write(Topic::Phases, phaseName(phase) + " gives " + llvm::Twine(ops) + " operators");
  }
  if (phase == Phase::Import && log::on(Topic::Import))
    logImport(function);
  if (phase == Phase::Decompose && (log::on(Topic::Dynamic) || log::on(Topic::Guards)))
    logInputs(function);
  if (phase == Phase::Fuse && log::on(Topic::Fusion))
    logKernels(function);
  if (phase == Phase::Plan && log::on(Topic::Plan))
    logPlan(module, function);
}
