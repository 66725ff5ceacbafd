//===- PlanReport.cpp - What --print-plan prints --------------------------===//
#include "Artefact.h"
#include "DeviceProgram.h"
#include "DynamicPeak.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/Crossings.h"
#include "tcc/Analysis/PeakMemory.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tcc;

/// Elements, with dims that are `?` counted as 1.
static double elements(ShapedType type) {
  double n = 1;
  for (int64_t d : type.getShape())
    n *= ShapedType::isDynamic(d) ? 1 : static_cast<double>(d);
  return n;
}

/// Floating-point operations: two a multiply-add, one an element of anything else. Those of the
/// operator, however its kernel computes it.
static double flops(kernel::LaunchOp launch) {
  double total = 0;
  launch.getBody().walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    double out = elements(tensorType(op->getResult(0)));
    if (auto dot = dyn_cast<prim::DotOp>(op)) {
      double k = 1;
      for (int64_t axis : dot.getLhsContract())
        k *= std::max<int64_t>(1, tensorType(dot.getLhs()).getDimSize(axis));
      total += 2 * k * out;
    } else if (auto conv = dyn_cast<prim::ConvOp>(op)) {
      total += 2 * elements(tensorType(conv.getW())) / tensorType(conv.getW()).getDimSize(0) * out;
    } else if (op->hasTrait<prim::Reduction>()) {
      total += elements(tensorType(op->getOperand(0)));
    } else if (prim::isElementwise(op)) {
      total += out;
    }
  });
  return total;
}

/// Compulsory traffic: every input and result once.
static double bytes(kernel::LaunchOp launch) {
  double total = 0;
  auto add = [&](Type t) {
    if (auto type = dyn_cast<RankedTensorType>(t))
      total += elements(prim::storedType(type)) * elementBytes(type.getElementType());
  };
  for (Type t : launch.getInputs().getTypes())
    add(t);
  for (Type t : launch.getResultTypes())
    add(t);
  return total;
}

static std::string text(const emit::ManifestAmount &amount) {
  const int64_t *number = std::get_if<int64_t>(&amount);
  return number ? std::to_string(*number) : std::get<std::string>(amount);
}

std::string tcc::planReport(ModuleOp module) {
  std::string report;
  llvm::raw_string_ostream os(report);
  os << llvm::formatv("{0,-36} {1,10} {2,10}  {3}\n", "kernel", "MFLOP", "kB", "nodes");
  double totalFlops = 0, totalBytes = 0, weights = 0;
  bool dynamic = false;
  std::string placed;
  module.walk([&](host::LaunchOp started) {
    kernel::LaunchOp launch = started.getKernelOp().getKernelLaunch();
    if (!launch)
      return;
    double f = flops(launch), b = bytes(launch);
    totalFlops += f;
    totalBytes += b;
    std::string kind = kernel::stringifyKernelKind(launch.getKind()).str();
    if (kernel::OnHostAttr here = started.getOnHostAttr()) {
      kind += ", on the host";
      placed += llvm::formatv("  {0}: {1:f1} us, on the device {2:f1}: {3}\n", launch.getName(),
                              here.getHere() / 1e3, here.getDevice() / 1e3,
                              sourceNodes(started.getLoc()));
    }
    os << llvm::formatv("{0,-36} {1,10:f3} {2,10:f1}  {3}\n",
                        (launch.getName() + " (" + kind + ")").str(), f / 1e6, b / 1e3,
                        sourceNodes(started.getLoc()));
    for (Type t : launch.getResultTypes())
      dynamic |= !cast<RankedTensorType>(t).hasStaticShape();
  });
  module.walk(
      [&](host::WeightOp op) { weights += static_cast<double>(tensorBytes(op.getType())); });
  os << llvm::formatv("total {0:f3} MFLOP, {1:f1} kB moved, weights {2:f1} kB\n", totalFlops / 1e6,
                      totalBytes / 1e3, weights / 1e3);
  int64_t arena = arenaBytes(module) + arenaBytes(module, host::MemorySpace::device);
  emit::ManifestAmount peak = peakBytes(module.lookupSymbol<func::FuncOp>("main"), arena);
  os << llvm::formatv("arena {0} bytes; peak {1} bytes{2}\n", arena, text(peak),
                      dynamic ? "; `?` counts as 1 in MFLOP and kB" : "");
  if (!placed.empty())
    os << "on the host, which would wait for the device longer, by what was predicted of each:\n"
       << placed;
  os << crossingReport(crossings(module));
  return report;
}

/// FLOPs and bytes are those of one launch, with open dims counted as 1.
std::vector<emit::ManifestKernel> tcc::manifestKernels(const CompiledModel &compiled) {
  std::vector<emit::ManifestKernel> kernels;
  for (const CompiledKernel &kernel : compiled.kernels) {
    SmallVector<std::string> nodes;
    for (Operation *launch : kernel.launches)
      collectNodes(launch->getLoc(), nodes);
    auto definition = cast<kernel::LaunchOp>(kernel.definition);
    std::vector<emit::ManifestCode> code = manifestCode(kernel);
    auto archs = llvm::map_range(code, [](const emit::ManifestCode &c) { return c.arch; });
    kernels.push_back({kernel.symbol,
                       {nodes.begin(), nodes.end()},
                       static_cast<int64_t>(flops(definition)),
                       static_cast<int64_t>(bytes(definition)),
                       kernel.launches.size(),
                       code.empty() ? "cpu" : llvm::join(archs, ","),
                       code});
  }
  return kernels;
}
